//! Cooperative launches on several devices at once (11 and 12).
//!
//! Owns the conversion of their list. The driver needs a function of each entry's context. Must not know: other
//! launches.

use cushim_abi::structs::{DriverLaunchParams, LaunchParams};
use cushim_abi::types::*;

use super::shape::resolve;
use crate::context;
use crate::error::{self, code};
use crate::forward::{address, done, functions};
use cushim_vbase::api;

/// More devices than any machine has: a longer list is invalid.
const MOST: u32 = 128;

fn translate<const MAJOR: usize>(list: Ptr, count: u32) -> Result<Vec<DriverLaunchParams>, Status> {
    context::ready()?;
    if list.0 == 0 || count == 0 || count > MOST {
        return Err(code::INVALID_VALUE);
    }
    let list = std::ptr::with_exposed_provenance::<LaunchParams>(list.0);
    (0..count as usize)
        .map(|at| {
            // SAFETY: the program's list has as many entries as it says.
            let given = unsafe { list.add(at).read_unaligned() };
            let mut entry = DriverLaunchParams {
                func: resolve::<MAJOR>(Func(given.func))?.0,
                grid: given.grid,
                block: given.block,
                shared: u32::try_from(given.shared).unwrap_or(u32::MAX),
                stream: given.stream,
                args: given.args,
            };
            entry.func = function_of(Func(entry.func), Stream(given.stream))?;
            Ok(entry)
        })
        .collect()
}

/// The function of a kernel in a stream's context.
fn function_of(kernel: Func, stream: Stream) -> Result<usize, Status> {
    let (mut its, mut function, mut old) = (Context(0), Func(0), Context(0));
    // SAFETY: places for handles; what was pushed is popped.
    let result = unsafe {
        match api::cuStreamGetCtx(stream, Out(&raw mut its)) {
            0 => match api::cuCtxPushCurrent_v2(its) {
                0 => {
                    let result = api::cuKernelGetFunction(Out(&raw mut function), kernel);
                    api::cuCtxPopCurrent_v2(Out(&raw mut old));
                    result
                }
                failed => failed,
            },
            failed => failed,
        }
    };
    if result == 0 { Ok(function.0) } else { Err(error::from_driver(result)) }
}

functions! {
    cudaLaunchCooperativeKernelMultiDevice (launchParamsList: Ptr, numDevices: u32, flags: Flags) {
        done(translate::<MAJOR>(launchParamsList, numDevices).and_then(|list| {
            let Some(first) = list.first() else { return Err(code::INVALID_VALUE) };
            // SAFETY: a list on this stack.
            context::attempt(|| unsafe {
                api::cuLaunchCooperativeKernelMultiDevice(address(first), numDevices, flags)
            })
        }))
    }
}
