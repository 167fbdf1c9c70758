//! Functions of the program in streams.
//!
//! Source: CUDA Driver API, `cuLaunchHostFunc`, `cuStreamAddCallback`: called in stream order on a thread of the
//! driver, in which CUDA calls are refused. Must not know: graphs.

use cushim_abi::types::{self as abi, *};

use super::{capture, resolve};
use crate::entry::on_stream;
use crate::graph::Payload;
use crate::host::{self, Function};
use crate::state::accelerator;
use crate::status;

fn launch(stream: abi::Stream, function: Ptr, data: Ptr) -> Result<(), i32> {
    let stream = resolve(stream)?;
    if function.0 == 0 {
        return Err(status::INVALID_VALUE);
    }
    let function = Function { function: function.0, data: data.0 };
    if capture::take(&stream, || Ok(Payload::Host(function)))? {
        return Ok(());
    }
    stream.enter(|slot| {
        let context = slot.context.clone();
        // It is not called where work before it has failed.
        slot.host(move || {
            if context.healthy().is_ok() {
                function.call()
            }
        })
    })?;
    Ok(())
}

on_stream! { hStream;
    fn cuLaunchHostFunc cuLaunchHostFunc_ptsz (hStream: Stream, fn_: Ptr, userData: Ptr) {
        launch(hStream, fn_, userData)
    }

    fn cuLaunchHostFunc_v2 cuLaunchHostFunc_v2_ptsz (hStream: Stream, fn_: Ptr, userData: Ptr, syncMode: u32) {
        // 0 or 1: how the stream waits for the function. Both do the same here.
        if syncMode > 1 {
            return Err(status::INVALID_VALUE);
        }
        launch(hStream, fn_, userData)
    }

    fn cuStreamAddCallback cuStreamAddCallback_ptsz (hStream: Stream, callback: Ptr, userData: Ptr, flags: Flags) {
        let stream = resolve(hStream)?;
        if callback.0 == 0 || flags.0 != 0 {
            return Err(status::INVALID_VALUE);
        }
        capture::refuse(&stream)?;
        let (of, data) = (hStream.0, userData.0);
        // SAFETY: the program says that this is a CUstreamCallback.
        let callback = unsafe {
            std::mem::transmute::<usize, unsafe extern "C" fn(usize, i32, usize)>(callback.0)
        };
        stream.enter(|slot| {
            let context = slot.context.clone();
            slot.host(move || {
                // The output of earlier kernels is printed first.
                accelerator().flush_output();
                let code = context.healthy().err().unwrap_or(0);
                // SAFETY: the program's function and its arguments.
                host::refusing(|| unsafe { callback(of, code, data) });
            })
        })?;
        Ok(())
    }
}
