//! Launches as before CUDA 4: shape and parameters are set one by one, then the function is launched.
//!
//! The settings are stored in each function ([`crate::function::Prepared`]). Source: CUDA Driver API, "Execution
//! Control \[DEPRECATED\]". Must not know: how a launch is checked.

use cushim_abi::types::*;

use super::LaunchCall;
use crate::entry::{LEGACY, entry};
use crate::function_api::of;
use crate::state::pointer;
use crate::status;
use cushim_accel::locks::lock;

/// The most bytes of parameters (CUDA C++ Programming Guide, 12.1).
const MOST: usize = 32_764;

fn set(function: Func, offset: i32, bytes: &[u8]) -> Result<(), i32> {
    let function = of(function)?;
    let start = usize::try_from(offset).map_err(|_| status::INVALID_VALUE)?;
    let end = start.checked_add(bytes.len()).filter(|end| *end <= MOST);
    let end = end.ok_or(status::INVALID_VALUE)?;
    let params = &mut lock(&function.prepared).params;
    if params.len() < end {
        params.resize(end, 0);
    }
    if let Some(to) = params.get_mut(start..end) {
        to.copy_from_slice(bytes);
    }
    Ok(())
}

fn run(function: Func, grid: [i32; 2], stream: Stream) -> Result<(), i32> {
    let found = of(function)?;
    let side = |n: i32| u32::try_from(n).map_err(|_| status::INVALID_VALUE);
    let (block, shared, mut params) = {
        let prepared = lock(&found.prepared);
        (prepared.block, prepared.shared, prepared.params.clone())
    };
    // Bytes that the program did not set are zero; bytes beyond the parameters are not passed on.
    let size = found.kernel.params_size as usize;
    params.resize(size, 0);
    let extra = [
        cushim_abi::structs::launch_param::BUFFER_POINTER,
        params.as_ptr().expose_provenance(),
        cushim_abi::structs::launch_param::BUFFER_SIZE,
        (&raw const size).expose_provenance(),
        cushim_abi::structs::launch_param::END,
    ];
    let launch = LaunchCall {
        function,
        grid: [side(grid[0])?, side(grid[1])?, 1],
        block,
        shared,
        cluster: None,
        cooperative: false,
        params: Ptr(0),
        extra: Ptr(extra.as_ptr().expose_provenance()),
    };
    // SAFETY: a buffer of the size that is said.
    unsafe { super::launch(stream, &launch) }
}

entry! {
    fn cuFuncSetBlockShape (hfunc: Func, x: i32, y: i32, z: i32) {
        let function = of(hfunc)?;
        let mut block = [0; 3];
        for (to, side) in block.iter_mut().zip([x, y, z]) {
            *to = u32::try_from(side).ok().filter(|n| *n > 0).ok_or(status::INVALID_VALUE)?;
        }
        lock(&function.prepared).block = block;
        Ok(())
    }

    fn cuFuncSetSharedSize (hfunc: Func, bytes: u32) {
        lock(&of(hfunc)?.prepared).shared = bytes;
        Ok(())
    }

    fn cuParamSetSize (hfunc: Func, numbytes: u32) {
        let function = of(hfunc)?;
        let size = numbytes as usize;
        if size > MOST {
            return Err(status::INVALID_VALUE);
        }
        lock(&function.prepared).params.resize(size, 0);
        Ok(())
    }

    fn cuParamSeti (hfunc: Func, offset: i32, value: u32) {
        set(hfunc, offset, &value.to_le_bytes())
    }

    fn cuParamSetf (hfunc: Func, offset: i32, value: f32) {
        set(hfunc, offset, &value.to_le_bytes())
    }

    fn cuParamSetv (hfunc: Func, offset: i32, ptr: Ptr, numbytes: u32) {
        if ptr.0 == 0 || numbytes as usize > MOST {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: as many bytes as the call says.
        let bytes = unsafe { std::slice::from_raw_parts(pointer::<u8>(ptr).cast_const(), numbytes as usize) };
        set(hfunc, offset, bytes)
    }

    fn cuLaunch (f: Func) {
        run(f, [1, 1], LEGACY)
    }

    fn cuLaunchGrid (f: Func, grid_width: i32, grid_height: i32) {
        run(f, [grid_width, grid_height], LEGACY)
    }

    fn cuLaunchGridAsync (f: Func, grid_width: i32, grid_height: i32, hStream: Stream) {
        run(f, [grid_width, grid_height], hStream)
    }
}
