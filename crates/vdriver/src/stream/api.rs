//! The API functions on streams.
//!
//! Source: CUDA Driver API, "Stream Management"; the attributes' defaults were measured. Must not know: events,
//! capture.

use std::sync::Arc;

use cushim_abi::types::{self as abi, *};

use super::{GREATEST, Kind, LEAST, STREAMS, Stream as Object, capture, resolve, resolve_anywhere};
use crate::argument::Place;
use crate::context;
use crate::entry::{entry, on_stream};
use crate::memory::pool;
use crate::state::{accelerator, check, give, offer, pointer};
use crate::status;
use cushim_accel::locks::lock;

fn create(to: Place<abi::Stream>, flags: u32, priority: i32) -> Result<(), i32> {
    let context = context::current()?;
    if to.is_null() || flags > 1 {
        return Err(status::INVALID_VALUE);
    }
    let priority = priority.clamp(GREATEST, LEAST);
    let stream = context.streams.add(Kind::Created, flags == 0, priority);
    give(to, abi::Stream(STREAMS.add(stream)))
}

/// Waits for everything in a stream, and does what CUDA does at synchronisation.
///
/// # Errors
/// That of the context.
pub fn synchronize(stream: &Arc<Object>) -> Result<(), i32> {
    stream.context()?;
    capture::refuse(stream)?;
    capture::refuse_unsafe()?;
    let result = stream.synchronize();
    accelerator().flush_output();
    pool::reclaim();
    result
}

/// The size of a stored attribute, by number (`CUstreamAttrID`).
fn size(attribute: i32) -> Option<usize> {
    Some(match attribute {
        // Access policy window; synchronisation policy; priority; map and number of the domain.
        1 => 32,
        3 | 8 => 4,
        9 => 2,
        10 => 4,
        _ => return None,
    })
}

impl Object {
    fn attribute(&self, number: i32) -> [u8; 64] {
        let mut value = [0; 64];
        let word = match number {
            // Until it is set, no value of CUsynchronizationPolicy (measured).
            3 => u32::MAX,
            8 => self.priority as u32,
            // The default domain is 0, the remote one 1.
            9 => 0x100,
            _ => 0,
        };
        value.iter_mut().zip(word.to_le_bytes()).for_each(|(to, from)| *to = from);
        let kept = lock(&self.attributes);
        kept.iter().find(|(kept, _)| *kept == number).map_or(value, |(_, value)| *value)
    }

    fn set_attribute(&self, number: i32, value: [u8; 64]) {
        let mut kept = lock(&self.attributes);
        kept.retain(|(other, _)| *other != number);
        kept.push((number, value));
    }
}

unsafe fn get_attribute(stream: abi::Stream, number: i32, to: Ptr) -> Result<(), i32> {
    let stream = resolve(stream)?;
    let bytes = size(number).filter(|_| to.0 != 0).ok_or(status::INVALID_VALUE)?;
    let value = stream.attribute(number);
    // SAFETY: the caller's place has the attribute's size, at most 64 bytes.
    unsafe { pointer::<u8>(to).copy_from_nonoverlapping(value.as_ptr(), bytes) };
    Ok(())
}

unsafe fn set_attribute(stream: abi::Stream, number: i32, from: Ptr) -> Result<(), i32> {
    let stream = resolve(stream)?;
    let bytes = size(number).filter(|_| from.0 != 0).ok_or(status::INVALID_VALUE)?;
    let mut value = [0; 64];
    // SAFETY: the caller's value has the attribute's size, at most 64 bytes.
    unsafe { value.as_mut_ptr().copy_from_nonoverlapping(pointer::<u8>(from), bytes) };
    let word = u32::from_le_bytes([value[0], value[1], value[2], value[3]]);
    let fits = match number {
        3 => (1..=4).contains(&word),
        10 => word <= 1,
        // The priority must be the one that the stream was created with.
        8 => word as i32 == stream.priority,
        _ => true,
    };
    if !fits {
        return Err(status::INVALID_VALUE);
    }
    stream.set_attribute(number, value);
    Ok(())
}

fn copy_attributes(to: abi::Stream, from: abi::Stream) -> Result<(), i32> {
    let (to, from) = (resolve(to)?, resolve(from)?);
    let kept = lock(&from.attributes).clone();
    kept.into_iter().filter(|(number, _)| *number != 8).for_each(|(n, v)| to.set_attribute(n, v));
    Ok(())
}

entry! {
    // The green context of a stream without one is null; no stream here has one.
    fn cuStreamGetGreenCtx (hStream: Stream, phCtx: Out<Ptr>) {
        resolve_anywhere(hStream)?;
        give(phCtx, Ptr(0))
    }

    fn cuStreamCreate (phStream: Out<Stream>, flags: Flags) {
        create(phStream, flags.0, LEAST)
    }

    fn cuStreamCreateWithPriority (phStream: Out<Stream>, flags: Flags, priority: i32) {
        create(phStream, flags.0, priority)
    }

    fn cuStreamDestroy cuStreamDestroy_v2 (hStream: Stream) {
        check()?;
        // An invalid stream is reported before an error of the context (measured).
        if hStream.0 == 0 {
            return Err(status::INVALID_HANDLE);
        }
        context::current()?;
        let stream = STREAMS.remove(hStream.0).ok_or(status::INVALID_HANDLE)?;
        capture::forget(&stream);
        stream.abandon();
        Ok(())
    }

    fn cuStreamSetAttribute (hStream: Stream, attr: i32, param: Ptr) {
        // SAFETY: a value of the attribute.
        unsafe { set_attribute(hStream, attr, param) }
    }

    fn cuStreamSetAttribute_ptsz (hStream: Stream, attr: i32, value: Ptr) {
        // SAFETY: a value of the attribute.
        unsafe { set_attribute(crate::entry::own(hStream), attr, value) }
    }

    fn cuStreamCopyAttributes (dstStream: Stream, srcStream: Stream) {
        copy_attributes(dstStream, srcStream)
    }

    fn cuStreamCopyAttributes_ptsz (dst: Stream, src: Stream) {
        let own = crate::entry::own;
        copy_attributes(own(dst), own(src))
    }
}

on_stream! { hStream;
    fn cuStreamQuery cuStreamQuery_ptsz (hStream: Stream) {
        let stream = resolve_anywhere(hStream)?;
        stream.context()?;
        capture::refuse(&stream)?;
        let done = stream.last().is_done();
        super::ordered::may_be();
        stream.context()?;
        if done { Ok(()) } else { Err(status::NOT_READY) }
    }

    fn cuStreamSynchronize cuStreamSynchronize_ptsz (hStream: Stream) {
        // Without a context, this function reports the default stream as invalid, unlike others
        // (H200).
        let no_context = |e| if e == status::INVALID_CONTEXT { status::INVALID_HANDLE } else { e };
        synchronize(&resolve_anywhere(hStream).map_err(no_context)?)
    }

    fn cuStreamGetPriority cuStreamGetPriority_ptsz (hStream: Stream, priority: Out<i32>) {
        give(priority, resolve_anywhere(hStream)?.priority)
    }

    fn cuStreamGetFlags cuStreamGetFlags_ptsz (hStream: Stream, flags: Out<u32>) {
        let stream = resolve_anywhere(hStream)?;
        give(flags, u32::from(!stream.blocking))
    }

    fn cuStreamGetId cuStreamGetId_ptsz (hStream: Stream, streamId: Out<u64>) {
        give(streamId, resolve_anywhere(hStream)?.id)
    }

    fn cuStreamGetCtx cuStreamGetCtx_ptsz (hStream: Stream, pctx: Out<Context>) {
        let context = resolve_anywhere(hStream)?.context()?;
        give(pctx, abi::Context(context.handle()))
    }

    fn cuStreamGetCtx_v2 cuStreamGetCtx_v2_ptsz (hStream: Stream, pCtx: Out<Context>, pGreenCtx: Out<Ptr>) {
        let context = resolve_anywhere(hStream)?.context()?;
        give(pCtx, abi::Context(context.handle()))?;
        // There are no green contexts here.
        offer(pGreenCtx, Ptr(0));
        Ok(())
    }

    fn cuStreamGetDevice cuStreamGetDevice_ptsz (hStream: Stream, device: Out<Device>) {
        give(device, abi::Device(resolve_anywhere(hStream)?.context()?.device as i32))
    }

    fn cuStreamGetAttribute cuStreamGetAttribute_ptsz (hStream: Stream, attr: i32, value: Ptr) {
        // SAFETY: room for the attribute's value.
        unsafe { get_attribute(hStream, attr, value) }
    }
}
