//! The launch calls, in their forms since CUDA 4.
//!
//! Owns `cuLaunchKernel`, `cuLaunchKernelEx`, `cuLaunchCooperativeKernel`. Must not know: how a launch is
//! checked.

use std::sync::Arc;

use cushim_abi::structs::{
    ATTRIBUTE_CLUSTER_DIMENSION, ATTRIBUTE_COOPERATIVE, DriverLaunchConfig, LaunchAttribute,
};
use cushim_abi::types::{Dim3, Event, Func, Ptr, Stream};

use super::LaunchCall;
use crate::cluster::{MOST, attribute};
use crate::entry::PER_THREAD;
use crate::entry::entry;
use crate::graph::{Node, device};
use crate::state::{at, give, take};
use crate::status;
use crate::stream::{capture, resolve_anywhere};

/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT`, `_LAUNCH_COMPLETION_EVENT`.
const EVENTS: [u32; 2] = [7, 12];
/// `CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE`.
const DEVICE_UPDATABLE: u32 = 13;

/// The default stream as the functions with suffix `_ptsz` take it.
fn ptsz(stream: Stream) -> Stream {
    if stream.0 == 0 { PER_THREAD } else { stream }
}

/// No attributes.
const PLAIN: (bool, Option<[u32; 3]>) = (false, None);
/// Cooperative.
const TOGETHER: (bool, Option<[u32; 3]>) = (true, None);

unsafe fn run(
    function: Func,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: Stream,
    arguments: (Ptr, Ptr),
    (cooperative, cluster): (bool, Option<[u32; 3]>),
) -> Result<(), i32> {
    let (params, extra) = arguments;
    let launch = LaunchCall { function, grid, block, shared, cluster, cooperative, params, extra };
    // SAFETY: an entry point's arguments: the kernel's parameters are as its image asks for.
    unsafe { super::launch(stream, &launch) }
}

/// `CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY`, `_CLUSTER_SCHEDULING_POLICY_PREFERENCE`, a number
/// between them that is unused, and the first one after CUDA 13.0.
const SYNCHRONIZATION_POLICY: u32 = 3;
const CLUSTER_POLICY: u32 = 5;
const NO_ATTRIBUTE: u32 = 15;
const LATER: u32 = 17;

/// The last node of a captured stream.
fn captured(stream: Stream) -> Result<Arc<Node>, i32> {
    let info = capture::info(&*resolve_anywhere(stream)?)?.ok_or(status::INVALID_VALUE)?;
    let last = info.after.last().ok_or(status::INVALID_VALUE)?;
    info.graph.node(*last).ok_or(status::INVALID_VALUE)
}

/// A launch with a configuration. `stream` maps its stream to the one that the caller means.
unsafe fn configured(
    config: Ptr,
    function: Func,
    params: Ptr,
    extra: Ptr,
    stream: impl Fn(Stream) -> Stream,
) -> Result<(), i32> {
    // SAFETY: null or a configuration.
    let config = unsafe { take::<DriverLaunchConfig>(config) }?;
    if config.attribute_count > MOST {
        return Err(status::INVALID_VALUE);
    }
    let stream = stream(Stream(config.stream));
    let (mut cooperative, mut cluster, mut events) = (false, None, Vec::new());
    let mut updatable = None;
    for n in 0..config.attribute_count {
        // SAFETY: as many attributes as it says.
        let attribute = unsafe { attribute(&config, n) }?;
        let [a, b, c, ..] = attribute.value;
        match attribute.id {
            ATTRIBUTE_COOPERATIVE => cooperative = a != 0,
            // A device may use the preferred size instead of this one; devices here do not.
            ATTRIBUTE_CLUSTER_DIMENSION => {
                cluster = Some([a, b, c]).filter(|sides| *sides != [0; 3])
            }
            DEVICE_UPDATABLE if a != 0 => updatable = Some(n),
            // Recorded behind the kernel: never too early.
            id if EVENTS.contains(&id) => {
                events.push(Event((u64::from(a) | u64::from(b) << 32) as usize));
            }
            // The synchronisation policy must exist; an unknown attribute is refused (measured).
            SYNCHRONIZATION_POLICY if !(1..=4).contains(&a) => return Err(status::INVALID_VALUE),
            CLUSTER_POLICY if a > 2 => return Err(status::INVALID_VALUE),
            NO_ATTRIBUTE | LATER.. => return Err(status::INVALID_VALUE),
            // Priorities and cache hints have no effect; the requested orders are kept in any case.
            _ => {}
        }
    }
    // Only graph nodes can be device-updatable.
    if updatable.is_some() && capture::info(&*resolve_anywhere(stream)?)?.is_none() {
        return Err(status::INVALID_VALUE);
    }
    let sides = |dim: Dim3| [dim.x, dim.y, dim.z];
    let (grid, block) = (sides(config.grid), sides(config.block));
    let arguments = (params, extra);
    // SAFETY: an entry point's arguments: the kernel's parameters are as its image asks for.
    unsafe {
        run(function, grid, block, config.shared, stream, arguments, (cooperative, cluster))
    }?;
    if let Some(n) = updatable {
        let node = captured(stream)?;
        let value = device::allow(&node, 1)?;
        // The attribute's value follows its number.
        let place = config.attributes + n as usize * size_of::<LaunchAttribute>() + 8;
        // SAFETY: an attribute of the configuration, which takes the handle of the node.
        give(unsafe { at(Ptr(place)) }, value)?;
    }
    for event in events {
        // SAFETY: no pointers.
        match unsafe { cushim_vbase::api::cuEventRecord(event, stream) } {
            0 => {}
            code => return Err(code),
        }
    }
    Ok(())
}

entry! {
    fn cuLaunchKernel (f: Func, gridDimX: u32, gridDimY: u32, gridDimZ: u32, blockDimX: u32, blockDimY: u32, blockDimZ: u32, sharedMemBytes: u32, hStream: Stream, kernelParams: Ptr, extra: Ptr) {
        let (grid, block) = ([gridDimX, gridDimY, gridDimZ], [blockDimX, blockDimY, blockDimZ]);
        // SAFETY: arguments as the kernel's parameters ask for.
        unsafe { run(f, grid, block, sharedMemBytes, hStream, (kernelParams, extra), PLAIN) }
    }

    fn cuLaunchKernel_ptsz (f: Func, gridDimX: u32, gridDimY: u32, gridDimZ: u32, blockDimX: u32, blockDimY: u32, blockDimZ: u32, sharedMemBytes: u32, hStream: Stream, kernelParams: Ptr, extra: Ptr) {
        let (grid, block) = ([gridDimX, gridDimY, gridDimZ], [blockDimX, blockDimY, blockDimZ]);
        // SAFETY: arguments as the kernel's parameters ask for.
        unsafe { run(f, grid, block, sharedMemBytes, ptsz(hStream), (kernelParams, extra), PLAIN) }
    }

    fn cuLaunchKernelEx (config: Ptr, f: Func, kernelParams: Ptr, extra: Ptr) {
        // SAFETY: a CUlaunchConfig with as many attributes as it says; arguments as the kernel asks for.
        unsafe { configured(config, f, kernelParams, extra, |stream| stream) }
    }

    fn cuLaunchKernelEx_ptsz (config: Ptr, f: Func, kernelParams: Ptr, extra: Ptr) {
        // SAFETY: a CUlaunchConfig with as many attributes as it says; arguments as the kernel asks for.
        unsafe { configured(config, f, kernelParams, extra, ptsz) }
    }

    fn cuLaunchCooperativeKernel (f: Func, gridDimX: u32, gridDimY: u32, gridDimZ: u32, blockDimX: u32, blockDimY: u32, blockDimZ: u32, sharedMemBytes: u32, hStream: Stream, kernelParams: Ptr) {
        let (grid, block) = ([gridDimX, gridDimY, gridDimZ], [blockDimX, blockDimY, blockDimZ]);
        // SAFETY: arguments as the kernel's parameters ask for.
        unsafe { run(f, grid, block, sharedMemBytes, hStream, (kernelParams, Ptr(0)), TOGETHER) }
    }

    fn cuLaunchCooperativeKernel_ptsz (f: Func, gridDimX: u32, gridDimY: u32, gridDimZ: u32, blockDimX: u32, blockDimY: u32, blockDimZ: u32, sharedMemBytes: u32, hStream: Stream, kernelParams: Ptr) {
        let (grid, block) = ([gridDimX, gridDimY, gridDimZ], [blockDimX, blockDimY, blockDimZ]);
        // SAFETY: arguments as the kernel's parameters ask for.
        unsafe { run(f, grid, block, sharedMemBytes, ptsz(hStream), (kernelParams, Ptr(0)), TOGETHER) }
    }
}
