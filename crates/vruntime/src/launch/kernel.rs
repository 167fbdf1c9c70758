//! Launches of one kernel on one device.
//!
//! Owns the functions, which differ in how they pass the shape. Must not know: tables, errors.

use cushim_abi::structs::{DriverLaunchConfig, LaunchConfig};
use cushim_abi::types::*;

use super::shape::{check_shape, resolve};
use crate::context;
use crate::error::{self, code};
use crate::forward::{PerThread, address, functions};
use cushim_vbase::api;

/// A launch by `$function` of the driver, which takes `$last` after the common arguments.
macro_rules! by {
    ($(#[$attribute:meta])* $name:ident, $function:ident $(, $last:expr)?) => {
        $(#[$attribute])*
        fn $name<const MAJOR: usize>(
            func: Func,
            grid: Dim3,
            block: Dim3,
            args: Ptr,
            shared: usize,
            stream: Stream,
        ) -> Result<(), Status> {
            let kernel = resolve::<MAJOR>(func)?;
            check_shape::<MAJOR>(grid, block)?;
            let bytes = u32::try_from(shared).unwrap_or(u32::MAX);
            let (Dim3 { x: gx, y: gy, z: gz }, Dim3 { x: bx, y: by, z: bz }) = (grid, block);
            context::attempt(|| {
                // SAFETY: a kernel of the driver; the arguments are the program's, as its stub laid them out.
                unsafe { api::$function(kernel, gx, gy, gz, bx, by, bz, bytes, stream, args $(, $last)?) }
            })
        }
    };
}

by! { #[inline(always)] launch, cuLaunchKernel, Ptr(0) }
by! { cooperative, cuLaunchCooperativeKernel }

/// The driver's form of a launch configuration of the program; attributes are the same in both.
///
/// # Errors
/// cudaErrorInvalidValue for null.
///
/// # Safety
/// Null, or a `cudaLaunchConfig_t`.
pub unsafe fn driver_config(config: Ptr) -> Result<DriverLaunchConfig, Status> {
    if config.0 == 0 {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null, so it is one; its places may be anywhere.
    let given =
        unsafe { std::ptr::with_exposed_provenance::<LaunchConfig>(config.0).read_unaligned() };
    Ok(DriverLaunchConfig {
        grid: given.grid,
        block: given.block,
        shared: u32::try_from(given.shared).unwrap_or(u32::MAX),
        stream: given.stream,
        attributes: given.attributes,
        attribute_count: given.attribute_count,
    })
}

fn extensible<const MAJOR: usize>(
    config: Ptr,
    func: Func,
    args: Ptr,
    stream: impl Fn(Stream) -> Stream,
) -> Result<(), Status> {
    context::ready()?;
    // SAFETY: the program's configuration.
    let mut config = unsafe { driver_config(config) }?;
    config.stream = stream(Stream(config.stream)).0;
    let kernel = resolve::<MAJOR>(func)?;
    check_shape::<MAJOR>(config.grid, config.block)?;
    context::attempt(|| {
        // SAFETY: a configuration on this stack, a kernel of the driver, the program's arguments.
        unsafe { api::cuLaunchKernelEx(address(&config), kernel, args, Ptr(0)) }
    })
}

/// Ends a launch.
#[inline(always)]
fn ended(outcome: Result<(), Status>) -> Status {
    match outcome {
        Ok(()) => 0,
        Err(error) => error::failed(error),
    }
}

functions! {
    cudaLaunchKernel / cudaLaunchKernel_ptsz (func: Func, gridDim: Dim3, blockDim: Dim3, args: Ptr, sharedMem: usize, stream: Stream) {
        ended(launch::<MAJOR>(func, gridDim, blockDim, args, sharedMem, stream))
    }

    // A kernel by its handle, or by its stub where getting the handle had failed.
    __cudaLaunchKernel / __cudaLaunchKernel_ptsz (kernel: Func, gridDim: Dim3, blockDim: Dim3, args: Ptr, sharedMem: usize, stream: Stream) {
        ended(launch::<MAJOR>(kernel, gridDim, blockDim, args, sharedMem, stream))
    }

    cudaLaunchCooperativeKernel / cudaLaunchCooperativeKernel_ptsz (func: Func, gridDim: Dim3, blockDim: Dim3, args: Ptr, sharedMem: usize, stream: Stream) {
        ended(cooperative::<MAJOR>(func, gridDim, blockDim, args, sharedMem, stream))
    }

    cudaLaunchKernelExC (config: Ptr, func: Func, args: Ptr) {
        ended(extensible::<MAJOR>(config, func, args, |stream| stream))
    }

    cudaLaunchKernelExC_ptsz (config: Ptr, func: Func, args: Ptr) {
        ended(extensible::<MAJOR>(config, func, args, PerThread::per_thread))
    }
}
