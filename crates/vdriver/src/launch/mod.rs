//! Launches: the checks, gathering the arguments, and submitting a kernel to a stream.
//!
//! Owns [`prepare`], which converts a launch to work (graph nodes use it, too), and [`launch`]. Each refusal has
//! CUDA's own code, as recorded from an H200. Source: CUDA Driver API, "Execution Control". Must not know: the forms
//! of the calls ([`api`], [`legacy`]).

pub mod api;
pub mod legacy;

use std::sync::Arc;

use cushim_abi::structs::launch_param;
use cushim_abi::types::{self as abi, Func, Ptr};

use super::context;
use super::function::Function;
use super::function_api;
use super::handle::handle;
use super::state::{accelerator, pointer, take};
use super::stream::submit::submit;
use super::stream::{self, STREAMS};
use super::{cluster, device, occupancy, status};
use cushim_accel::{Dispatch, Kernel, Work};
use cushim_vbase::code::say_once;

/// A launch as the program asks for it.
#[derive(Clone, Copy, Debug)]
pub struct LaunchCall {
    /// A `CUfunction`, or a `CUkernel`.
    pub function: Func,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// Blocks of a cluster in x, y, z, if the launch names a size.
    pub cluster: Option<[u32; 3]>,
    /// Blocks wait for each other.
    pub cooperative: bool,
    /// `void **kernelParams`, or null.
    pub params: Ptr,
    /// `void **extra`, or null.
    pub extra: Ptr,
}

/// Submits a launch to a stream; does not wait.
///
/// # Safety
/// The arguments are as the kernel's parameters ask for.
///
/// # Errors
/// Those of [`prepare`] and of [`submit`].
pub unsafe fn launch(stream: abi::Stream, launch: &LaunchCall) -> Result<(), i32> {
    let context = match context::current() {
        // A stream that the program created names its context: LLVM's libomptarget launches from threads without a current one.
        Err(status::INVALID_CONTEXT) => stream::resolve_anywhere(stream)?.context()?,
        current => current?,
    };
    accelerator().flush_output();
    let function = function_api::of(launch.function)?;
    // The stream must be of the function's context.
    let own = match STREAMS.get(stream.0) {
        Some(stream) => stream.context.clone(),
        None => Arc::downgrade(&context),
    };
    if !own.ptr_eq(&function.context) {
        return Err(status::INVALID_HANDLE);
    }
    // SAFETY: the arguments are as this kernel's parameters ask for, by the caller's promise.
    let dispatch = unsafe { prepare(&function, launch) }.inspect_err(|_| {
        if let Ok(stream) = stream::resolve_anywhere(stream) {
            stream::capture::spoil(&stream);
        }
    })?;
    submit(stream, Work::Dispatch(Box::new(dispatch)))
}

/// A launch as work, its arguments copied.
///
/// # Safety
/// The arguments are as the kernel's parameters ask for.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE for invalid shapes and arguments, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
/// CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE; CUDA_ERROR_NOT_SUPPORTED for a kernel that the
/// accelerator does not run, with the reason on standard error.
pub unsafe fn prepare(function: &Arc<Function>, launch: &LaunchCall) -> Result<Dispatch, i32> {
    check(function, launch)?;
    // SAFETY: the arguments are as this kernel's parameters ask for, by the caller's promise.
    let arguments = unsafe { arguments(&function.kernel, launch.params, launch.extra) }?;
    let dispatch = Dispatch {
        tag: handle(function),
        code: function.code.clone(),
        kernel: function.index,
        grid: launch.grid,
        block: launch.block,
        cluster: cluster::size(function, launch.grid, launch.cluster)?,
        dynamic_shared: launch.shared,
        arguments,
        cooperative: launch.cooperative,
        call: cushim_accel::calls::number(),
        trail: cushim_accel::checks().and_then(|checks| checks.here()),
        stream: None,
        graph: None,
    };
    accelerator().check(&dispatch).map_err(|why| {
        say_once(&why.to_string());
        status::of(&why)
    })?;
    Ok(dispatch)
}

/// Whether a kernel can be launched in this shape.
///
/// # Errors
/// As [`prepare`].
pub fn check(function: &Function, launch: &LaunchCall) -> Result<(), i32> {
    let kernel = &function.kernel;
    let found = device::device(abi::Device(function.device as i32))?;
    let limit = |number| {
        let value = device::attribute(found, function.device as i32, number).unwrap_or(0);
        u32::try_from(value).unwrap_or(0)
    };
    // CUdevice_attribute: 2 to 4 the block's sides, 5 to 7 the grid's.
    let sides = launch.block.iter().chain(&launch.grid).zip(2..);
    for (&side, number) in sides {
        if side == 0 || side > limit(number) {
            return Err(status::INVALID_VALUE);
        }
    }
    // Each side is at most a thousand, so the product fits.
    let threads: u32 = launch.block.iter().product();
    if threads > kernel.max_threads {
        return Err(status::INVALID_VALUE);
    }
    if kernel.required_threads.is_some_and(|required| required != launch.block) {
        return Err(status::INVALID_VALUE);
    }
    if launch.shared > function.most_dynamic() {
        return Err(status::INVALID_VALUE);
    }
    let registers = limit(12);
    if kernel.registers.saturating_mul(threads.next_multiple_of(32)) > registers {
        return Err(status::LAUNCH_OUT_OF_RESOURCES);
    }
    if launch.cooperative {
        let together = occupancy::blocks(function, threads, launch.shared);
        let most = u64::from(together) * u64::from(found.processors);
        if launch.grid.iter().map(|side| u64::from(*side)).product::<u64>() > most {
            return Err(status::COOPERATIVE_LAUNCH_TOO_LARGE);
        }
    }
    if let Some(why) = &kernel.refused {
        say_once(why);
        return Err(status::NOT_SUPPORTED);
    }
    Ok(())
}

/// Arguments as one buffer, laid out as the kernel's parameters.
unsafe fn arguments(kernel: &Kernel, params: Ptr, extra: Ptr) -> Result<Box<[u8]>, i32> {
    let mut buffer = vec![0; kernel.params_size as usize];
    // Measured: an empty `extra` list beside `kernelParams` is no error.
    // SAFETY: the caller's: a list has an end at least.
    let ends =
        params.0 != 0 && extra.0 != 0 && unsafe { take::<usize>(extra) }? == launch_param::END;
    match (params.0 != 0, extra.0 != 0 && !ends) {
        (true, true) => return Err(status::INVALID_VALUE),
        // SAFETY: `extra` is a list that ends with CU_LAUNCH_PARAM_END, as cuLaunchKernel asks.
        (false, true) => unsafe { packed(&mut buffer, extra) }?,
        (false, false) if !kernel.params.is_empty() => return Err(status::INVALID_VALUE),
        (false, false) => {}
        // One pointer for each parameter: programs pass invalid pointers for kernels without
        // parameters.
        (true, false) => {
            for (n, (offset, size)) in kernel.params.iter().enumerate() {
                let place = Ptr(params.0.wrapping_add(n * size_of::<usize>()));
                // SAFETY: one pointer for each parameter.
                let from = unsafe { take::<usize>(place) }?;
                let range = *offset as usize..(*offset + *size) as usize;
                let to = buffer.get_mut(range).ok_or(status::INVALID_VALUE)?;
                if from == 0 && !to.is_empty() {
                    return Err(status::INVALID_VALUE);
                }
                // SAFETY: the parameter's bytes.
                unsafe {
                    pointer::<u8>(Ptr(from)).copy_to_nonoverlapping(to.as_mut_ptr(), to.len())
                };
            }
        }
    }
    Ok(buffer.into())
}

/// `CU_LAUNCH_PARAM_BUFFER_POINTER`, `_SIZE`, `_END`.
unsafe fn packed(to: &mut [u8], extra: Ptr) -> Result<(), i32> {
    let (mut buffer, mut size) = (0, None);
    for n in (0..).step_by(2) {
        let place = |n: usize| Ptr(extra.0.wrapping_add(n * size_of::<usize>()));
        // SAFETY: the list has not ended.
        let name = unsafe { take::<usize>(place(n)) }?;
        if name == launch_param::END {
            break;
        }
        // SAFETY: a name has a value.
        let value = unsafe { take::<usize>(place(n + 1)) }?;
        match name {
            launch_param::BUFFER_POINTER => buffer = value,
            // SAFETY: a place with the size.
            launch_param::BUFFER_SIZE => size = Some(unsafe { take::<usize>(Ptr(value)) }?),
            _ => return Err(status::INVALID_VALUE),
        }
    }
    if to.is_empty() {
        return Ok(());
    }
    // Measured: a buffer that ends behind the parameters, by padding or more, is refused as too much.
    if size.is_some_and(|size| size > to.len()) {
        return Err(status::LAUNCH_OUT_OF_RESOURCES);
    }
    if buffer == 0 || size.is_none_or(|size| size < to.len()) {
        return Err(status::INVALID_VALUE);
    }
    // SAFETY: the buffer has as many bytes as its size says.
    unsafe { pointer::<u8>(Ptr(buffer)).copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
    Ok(())
}
