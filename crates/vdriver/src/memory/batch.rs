//! Batched prefetches and discards: checked only, because nothing moves and nothing is dropped here.
//!
//! A read of discarded memory before the next write may return anything, also the old contents. Source: CUDA Driver
//! API, `cuMemPrefetchBatchAsync`, `cuMemDiscardBatchAsync`. Must not know: where memory is.

use cushim_abi::types::{self as abi, *};

use super::alloc::{managed, prefetch_to};
use crate::entry::on_stream;
use crate::state::take_all;
use crate::status;
use crate::stream::{Kind, capture, resolve};

/// Ranges: address, bytes.
type Ranges = Vec<(Ptr, usize)>;

/// The checks of both kinds of batches.
unsafe fn ranges(
    [at, sizes]: [Ptr; 2],
    count: usize,
    flags: Flags64,
    stream: abi::Stream,
) -> Result<Ranges, i32> {
    let stream = resolve(stream)?;
    stream.context()?;
    if count == 0 || flags.0 != 0 || stream.kind == Kind::Legacy {
        return Err(status::INVALID_VALUE);
    }
    capture::refuse(&stream)?;
    // SAFETY: the caller's arrays have that many elements.
    let (at, sizes): (Vec<usize>, Vec<usize>) =
        unsafe { (take_all(at, count)?, take_all(sizes, count)?) };
    Ok(at.into_iter().map(Ptr).zip(sizes).collect())
}

unsafe fn prefetch(ranges: Ranges, [locations, firsts]: [Ptr; 2], count: usize) -> Result<(), i32> {
    if count == 0 || count > ranges.len() {
        return Err(status::INVALID_VALUE);
    }
    // SAFETY: the caller's arrays have that many elements.
    let (locations, firsts): (Vec<u64>, Vec<usize>) =
        unsafe { (take_all(locations, count)?, take_all(firsts, count)?) };
    let ordered = firsts.first() == Some(&0) && firsts.is_sorted_by(|a, b| a < b);
    if !ordered || firsts.last().is_none_or(|last| *last >= ranges.len()) {
        return Err(status::INVALID_VALUE);
    }
    for (index, (at, bytes)) in ranges.into_iter().enumerate() {
        let own = firsts.iter().rposition(|first| *first <= index);
        let location = own.and_then(|own| locations.get(own)).copied().unwrap_or(0);
        prefetch_to(at, bytes, Location(location))?;
    }
    Ok(())
}

on_stream! { hStream;
    fn cuMemPrefetchBatchAsync cuMemPrefetchBatchAsync_ptsz (dptrs: Ptr, sizes: Ptr, count: usize, prefetchLocs: Ptr, prefetchLocIdxs: Ptr, numPrefetchLocs: usize, flags: Flags64, hStream: Stream) {
        // SAFETY: as many of each as the call says.
        unsafe {
            let all = ranges([dptrs, sizes], count, flags, hStream)?;
            prefetch(all, [prefetchLocs, prefetchLocIdxs], numPrefetchLocs)
        }
    }

    fn cuMemDiscardAndPrefetchBatchAsync cuMemDiscardAndPrefetchBatchAsync_ptsz (dptrs: Ptr, sizes: Ptr, count: usize, prefetchLocs: Ptr, prefetchLocIdxs: Ptr, numPrefetchLocs: usize, flags: Flags64, hStream: Stream) {
        // SAFETY: as many of each as the call says.
        unsafe {
            let all = ranges([dptrs, sizes], count, flags, hStream)?;
            prefetch(all, [prefetchLocs, prefetchLocIdxs], numPrefetchLocs)
        }
    }

    fn cuMemDiscardBatchAsync cuMemDiscardBatchAsync_ptsz (dptrs: Ptr, sizes: Ptr, count: usize, flags: Flags64, hStream: Stream) {
        // SAFETY: as many of each as the call says.
        for (at, bytes) in unsafe { ranges([dptrs, sizes], count, flags, hStream)? } {
            if bytes == 0 {
                return Err(status::INVALID_VALUE);
            }
            managed(at, bytes)?;
        }
        Ok(())
    }
}
