//! The cluster size of a launch: from the launch itself, from what the kernel requires, or from what was set for it.
//!
//! Owns which sizes are accepted, with CUDA's error codes as recorded from an H200. Source: CUDA Programming Guide,
//! "Thread Block Clusters"; CUDA Driver API, `CUfunction_attribute`. Must not know: how clusters run.

use std::sync::atomic::Ordering;

use cushim_abi::structs::{ATTRIBUTE_CLUSTER_DIMENSION, DriverLaunchConfig, LaunchAttribute};
use cushim_abi::types::Ptr;

use crate::function::{Function, Settings};
use crate::state::{accelerator, take};
use crate::{device, status};
use cushim_accel::Kernel;

/// `CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH`.
const CLUSTER_LAUNCH: i32 = 120;
/// More attributes than there are kinds.
pub const MOST: u32 = 256;
/// Blocks of a cluster: the portable maximum, and the maximum where a kernel allows more.
pub const SIZES: (u32, u32) = (8, 16);

/// The size that a kernel must be launched with: compiled in, or set.
pub fn required(kernel: &Kernel, settings: &Settings) -> Option<[u32; 3]> {
    let set = [1, 2, 3].map(|n: usize| {
        let value = settings.cluster.get(n).map_or(0, |value| value.load(Ordering::Relaxed));
        u32::try_from(value).unwrap_or(0)
    });
    kernel.required_cluster.or((set != [0; 3]).then(|| set.map(|side| side.max(1))))
}

/// The most blocks of a cluster of this kernel.
pub fn most(settings: &Settings) -> u32 {
    let allowed = settings.cluster.get(4).is_some_and(|value| value.load(Ordering::Relaxed) != 0);
    if allowed { SIZES.1 } else { SIZES.0 }
}

/// The size of a launch's clusters, if it has any.
///
/// # Errors
/// CUDA_ERROR_INVALID_CLUSTER_SIZE for one that is too large, not the required one, or does not
/// divide the grid; CUDA_ERROR_NOT_SUPPORTED where the device has no clusters.
pub fn size(
    function: &Function,
    grid: [u32; 3],
    given: Option<[u32; 3]>,
) -> Result<Option<[u32; 3]>, i32> {
    let required = required(&function.kernel, &function.settings);
    let Some(sides) = given.or(required) else { return Ok(None) };
    if required.is_some_and(|required| required != sides) {
        return Err(status::INVALID_CLUSTER_SIZE);
    }
    let whole = grid.iter().zip(sides).all(|(grid, side)| side > 0 && grid.is_multiple_of(side));
    let blocks = sides.iter().fold(1u32, |product, side| product.saturating_mul(*side));
    if !whole || blocks > most(&function.settings) {
        return Err(status::INVALID_CLUSTER_SIZE);
    }
    let found = accelerator().devices().get(function.device);
    let number = function.device as i32;
    let has = found.and_then(|found| device::attribute(found, number, CLUSTER_LAUNCH));
    if blocks > 1 && has.is_none_or(|value| value == 0) {
        cushim_vbase::unsupported::note("a launch with clusters of several blocks");
        return Err(status::NOT_SUPPORTED);
    }
    Ok(Some(sides))
}

/// Number `n` of a configuration's attributes.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE where their address is null.
///
/// # Safety
/// It has as many attributes as it says.
pub unsafe fn attribute(config: &DriverLaunchConfig, n: u32) -> Result<LaunchAttribute, i32> {
    if config.attributes == 0 {
        return Err(status::INVALID_VALUE);
    }
    let place = config.attributes.wrapping_add(n as usize * size_of::<LaunchAttribute>());
    // SAFETY: `n` is below the number of attributes that the configuration says it has, and it has them by the
    // caller's promise.
    unsafe { take(Ptr(place)) }
}

/// The size of clusters that a configuration names.
///
/// # Errors
/// As [`attribute`].
///
/// # Safety
/// It has as many attributes as it says.
pub unsafe fn named(config: &DriverLaunchConfig) -> Result<Option<[u32; 3]>, i32> {
    let mut found = None;
    for n in 0..config.attribute_count.min(MOST) {
        // SAFETY: `n` is below the number of attributes that the configuration says it has.
        let attribute = unsafe { attribute(config, n) }?;
        if let (ATTRIBUTE_CLUSTER_DIMENSION, [x, y, z, ..]) = (attribute.id, attribute.value) {
            found = Some([x, y, z]).filter(|sides| *sides != [0; 3]);
        }
    }
    Ok(found)
}
