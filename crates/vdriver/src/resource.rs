//! The resources of a device: always all its multiprocessors, because they cannot be divided.
//!
//! Libraries query a stream's number of multiprocessors (cuSOLVER of CUDA 13). Creating a green context, which takes
//! a part, is refused.
//!
//! Source: cuda.h, `CUdevResource`; CUDA Programming Guide, "Green Contexts". Owns: that result. Must not know: the
//! work of streams.

use cushim_abi::types::{Context, Device, Stream};

use crate::argument::At;
use crate::context;
use crate::context_api::by_handle;
use crate::device::{attribute, device};
use crate::entry::{entry, on_stream};
use crate::state::give;
use crate::status;
use crate::stream::resolve_anywhere;

/// `CU_DEV_RESOURCE_TYPE_SM`.
const MULTIPROCESSORS: i32 = 1;
/// `CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT`.
const COUNT: i32 = 16;
/// Words of a `CUdevResource` (144 bytes in CUDA 12.4 to 13.5), and where its part for multiprocessors begins.
const WORDS: usize = 36;
const PART: usize = 24;

/// The resource of this type of a device: count, least part, parts' granule, as words.
fn resource(of: Device, kind: i32) -> Result<[u32; WORDS], i32> {
    let found = device(of)?;
    if kind != MULTIPROCESSORS {
        return Err(status::INVALID_RESOURCE_TYPE);
    }
    let count = attribute(found, of.0, COUNT).ok_or(status::INVALID_RESOURCE_TYPE)? as u32;
    // Parts of a device of capability 8 begin at 4 and grow by 2, later ones' by 8.
    let (least, granule) = if found.capability.0 >= 9 { (8, 8) } else { (4, 2) };
    let mut words = [0; WORDS];
    let values = [(0, kind as u32), (PART, count), (PART + 1, least), (PART + 2, granule)];
    for (at, value) in values {
        if let Some(word) = words.get_mut(at) {
            *word = value;
        }
    }
    Ok(words)
}

entry! {
    fn cuDeviceGetDevResource (device: Device, resource: At<[u32; 36]>, type_: i32) {
        give(resource, self::resource(device, type_)?)
    }

    fn cuCtxGetDevResource (hCtx: Context, resource: At<[u32; 36]>, type_: i32) {
        let context = if hCtx.0 == 0 { context::current()? } else { by_handle(hCtx)? };
        give(resource, self::resource(Device(context.device as i32), type_)?)
    }
}

on_stream! { hStream;
    fn cuStreamGetDevResource cuStreamGetDevResource_ptsz (hStream: Stream, resource: At<[u32; 36]>, type_: i32) {
        let context = resolve_anywhere(hStream)?.context()?;
        give(resource, self::resource(Device(context.device as i32), type_)?)
    }
}
