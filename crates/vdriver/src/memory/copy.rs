//! Copies of contiguous bytes, and when a copy blocks.
//!
//! Owns when the call returns. Source: CUDA Driver API, "API synchronization behavior": copies between device memory
//! do not block; pageable memory of the program is staged or waited for; all other copies block if the call is
//! synchronous. Must not know: rectangles (see [`super::shape`]).

use cushim_abi::types::{self as abi, *};

use super::home::{Home, Role, home, target};
use crate::argument::In;
use crate::context;
use crate::entry::{in_default_stream, on_stream};
use crate::graph::Payload;
use crate::graph::work::CopyNode;
use crate::state::{accelerator, at, offer, take_all};
use crate::status;
use crate::stream::{self, capture, ordered, resolve};
use cushim_accel::{Copy, Outcome, Signal, Work};

/// The size up to which copies from pageable memory are staged, as in NVIDIA's driver; a larger one
/// waits.
const STAGED: usize = 64 << 10;

/// Where a copy is done.
enum Done {
    /// Here, on this thread; the stream waits for the signal.
    Here(Signal),
    /// In the stream.
    There(Signal),
}

/// Copies in a stream, and waits if the homes of both ends or `blocking` (a synchronous call)
/// require it.
///
/// # Errors
/// Those of the stream, and of the copy where it was waited for.
pub fn copy(
    stream: abi::Stream,
    mut copy: Copy,
    to: Home,
    from: Home,
    blocking: bool,
) -> Result<(), i32> {
    let stream = resolve(stream)?;
    let pageable = to == Home::Pageable || from == Home::Pageable;
    let waits = match blocking {
        true => to != Home::Device || from != Home::Device,
        false => pageable,
    };
    let linear = copy.height <= 1 && copy.depth <= 1;
    if blocking {
        capture::refuse(&stream)?;
    } else if capture::take(&stream, || Ok(Payload::Copy(CopyNode::captured(copy, to, from))))? {
        return Ok(());
    }
    let mut staged = None;
    let done = stream.enter(|slot| {
        if waits && linear && slot.is_idle() {
            // No work is queued before it: this thread copies at once, while others may submit more.
            let done = Signal::new();
            slot.end_with(done.clone());
            return Ok(Done::Here(done));
        }
        if !blocking && to != Home::Pageable && linear && copy.width <= STAGED && pageable {
            // SAFETY: the program's own memory, as its arguments say.
            let bytes: Box<[u8]> = unsafe {
                let from = std::ptr::with_exposed_provenance::<u8>(copy.from as usize);
                std::slice::from_raw_parts(from, copy.width).into()
            };
            copy.from = bytes.as_ptr().expose_provenance() as u64;
            staged = Some(bytes);
        }
        slot.push(Work::Copy(copy), Vec::new()).map(Done::There)
    })?;
    match done {
        Done::Here(done) => {
            let begin = accelerator().now();
            let result = accelerator().copy_now(copy.to, copy.from, copy.width);
            done.complete(Outcome { begin, end: accelerator().now(), failure: None });
            result.map_err(|failure| status::of(&failure))?;
        }
        Done::There(done) => {
            if let Some(bytes) = staged {
                done.then(move || drop(bytes));
                return Ok(());
            }
            if waits {
                let outcome = done.wait();
                outcome.failure.map_or(Ok(()), |failure| Err(status::sticky(&failure)))?;
            }
        }
    }
    if waits {
        ordered::may_be();
        accelerator().flush_output();
        stream.context()?;
    }
    Ok(())
}

/// Copies a row between two addresses.
fn linear(
    stream: abi::Stream,
    (to, to_role): (Ptr, Role),
    (from, from_role): (Ptr, Role),
    bytes: usize,
    blocking: bool,
) -> Result<(), i32> {
    context::current()?;
    if bytes == 0 {
        return resolve(stream).map(drop);
    }
    let (to, from) = (to.0 as u64, from.0 as u64);
    let (to_home, from_home) = (target(to, bytes, to_role)?, home(from, bytes, from_role)?);
    copy(stream, Copy::line(to, from, bytes), to_home, from_home, blocking)
}

use Role::{Any, Device as OnDevice, Peer};

in_default_stream! { stream;
    fn cuMemcpy cuMemcpy_ptds (dst: Ptr, src: Ptr, ByteCount: usize) {
        linear(stream, (dst, Any), (src, Any), ByteCount, true)
    }

    fn cuMemcpyHtoD_v2 cuMemcpyHtoD_v2_ptds (dstDevice: Ptr, srcHost: Ptr, ByteCount: usize) {
        linear(stream, (dstDevice, OnDevice), (srcHost, Any), ByteCount, true)
    }

    fn cuMemcpyDtoH_v2 cuMemcpyDtoH_v2_ptds (dstHost: Ptr, srcDevice: Ptr, ByteCount: usize) {
        linear(stream, (dstHost, Any), (srcDevice, OnDevice), ByteCount, true)
    }

    fn cuMemcpyDtoD_v2 cuMemcpyDtoD_v2_ptds (dstDevice: Ptr, srcDevice: Ptr, ByteCount: usize) {
        linear(stream, (dstDevice, OnDevice), (srcDevice, OnDevice), ByteCount, true)
    }

    fn cuMemcpyPeer cuMemcpyPeer_ptds (dstDevice: Ptr, dstContext: Context, srcDevice: Ptr, srcContext: Context, ByteCount: usize) {
        context::of(dstContext.0)?;
        context::of(srcContext.0)?;
        linear(stream, (dstDevice, Peer), (srcDevice, Peer), ByteCount, true)
    }
}

on_stream! { hStream;
    fn cuMemcpyAsync cuMemcpyAsync_ptsz (dst: Ptr, src: Ptr, ByteCount: usize, hStream: Stream) {
        linear(hStream, (dst, Any), (src, Any), ByteCount, false)
    }

    fn cuMemcpyHtoDAsync_v2 cuMemcpyHtoDAsync_v2_ptsz (dstDevice: Ptr, srcHost: Ptr, ByteCount: usize, hStream: Stream) {
        linear(hStream, (dstDevice, OnDevice), (srcHost, Any), ByteCount, false)
    }

    fn cuMemcpyDtoHAsync_v2 cuMemcpyDtoHAsync_v2_ptsz (dstHost: Ptr, srcDevice: Ptr, ByteCount: usize, hStream: Stream) {
        linear(hStream, (dstHost, Any), (srcDevice, OnDevice), ByteCount, false)
    }

    fn cuMemcpyDtoDAsync_v2 cuMemcpyDtoDAsync_v2_ptsz (dstDevice: Ptr, srcDevice: Ptr, ByteCount: usize, hStream: Stream) {
        linear(hStream, (dstDevice, OnDevice), (srcDevice, OnDevice), ByteCount, false)
    }

    fn cuMemcpyPeerAsync cuMemcpyPeerAsync_ptsz (dstDevice: Ptr, dstContext: Context, srcDevice: Ptr, srcContext: Context, ByteCount: usize, hStream: Stream) {
        context::of(dstContext.0)?;
        context::of(srcContext.0)?;
        linear(hStream, (dstDevice, Peer), (srcDevice, Peer), ByteCount, false)
    }

    fn cuMemcpyBatchAsync cuMemcpyBatchAsync_ptsz (dsts: Ptr, srcs: Ptr, sizes: Ptr, count: usize, attrs: Ptr, attrsIdxs: Ptr, numAttrs: usize, failIdx: Ptr, hStream: Stream) {
        // SAFETY: as many of each as the call says.
        unsafe { batch(hStream, [dsts, srcs, sizes], count, [attrs, attrsIdxs], numAttrs, failIdx) }
    }

    fn cuMemcpyBatchAsync_v2 cuMemcpyBatchAsync_v2_ptsz (dsts: Ptr, srcs: Ptr, sizes: Ptr, count: usize, attrs: Ptr, attrsIdxs: Ptr, numAttrs: usize, hStream: Stream) {
        // SAFETY: as many of each as the call says.
        unsafe { batch(hStream, [dsts, srcs, sizes], count, [attrs, attrsIdxs], numAttrs, Ptr(0)) }
    }

    fn cuMemcpyWithAttributesAsync cuMemcpyWithAttributesAsync_ptsz (dst: Ptr, src: Ptr, size: usize, attr: In<[i32; 6]>, hStream: Stream) {
        // CUmemcpyAttributes: the source's access order (1 to 3), both locations, flags.
        let attributes = attr.read()?;
        if !matches!(attributes, [1..=3, ..]) {
            return Err(status::INVALID_VALUE);
        }
        linear(hStream, (dst, Any), (src, Any), size, false)
    }
}

/// Copies in any order: all are checked before the first is performed.
unsafe fn batch(
    stream: abi::Stream,
    [to, from, sizes]: [Ptr; 3],
    count: usize,
    [attributes, firsts]: [Ptr; 2],
    attribute_count: usize,
    failed: Ptr,
) -> Result<(), i32> {
    let object = resolve(stream)?;
    let whole = |code| {
        // SAFETY: null, or the caller's place: SIZE_MAX says that no single copy is at fault.
        offer(unsafe { at(failed) }, usize::MAX);
        code
    };
    let wrong = || whole(status::INVALID_VALUE);
    if count == 0
        || attribute_count == 0
        || attribute_count > count
        || object.kind == stream::Kind::Legacy
    {
        return Err(wrong());
    }
    // SAFETY: the caller's arrays have that many elements.
    let (to, from, sizes, attributes, firsts) = unsafe {
        (
            take_all::<usize>(to, count).map_err(whole)?,
            take_all::<usize>(from, count).map_err(whole)?,
            take_all::<usize>(sizes, count).map_err(whole)?,
            take_all::<[i32; 6]>(attributes, attribute_count).map_err(whole)?,
            take_all::<usize>(firsts, attribute_count).map_err(whole)?,
        )
    };
    let ordered = firsts.first() == Some(&0) && firsts.is_sorted_by(|a, b| a < b);
    if !ordered || firsts.last().is_none_or(|last| *last >= count) {
        return Err(wrong());
    }
    if !attributes.iter().all(|attribute| matches!(attribute, [1..=3, ..])) {
        return Err(wrong());
    }
    let mut all = Vec::with_capacity(count);
    for (index, ((to, from), bytes)) in to.into_iter().zip(from).zip(sizes).enumerate() {
        let (to, from) = (to as u64, from as u64);
        let homes = match bytes {
            0 => Err(status::INVALID_VALUE),
            _ => target(to, bytes, Any).and_then(|a| Ok((a, home(from, bytes, Any)?))),
        };
        let homes = homes.inspect_err(|_| {
            // SAFETY: null, or the caller's place.
            offer(unsafe { at(failed) }, index);
        })?;
        all.push((Copy::line(to, from, bytes), homes));
    }
    for (one, (to, from)) in all {
        copy(stream, one, to, from, false)?;
    }
    Ok(())
}
