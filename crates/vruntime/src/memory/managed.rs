//! Managed memory: allocated, advised, prefetched, queried, attached to streams.
//!
//! Owns the forms by major: a device ordinal (11 and 12), a location (`_v2` of 12, plain in 13). The
//! numbers of advices, attributes and location types are the driver's. Must not know: other memory.

use cushim_abi::types::*;

use super::device::nothing;
use crate::forward::{forwards, functions, pass};

functions! {
    cudaMallocManaged (devPtr: Out<Ptr>, size: usize, flags: Flags) {
        // Zero bytes are no error for the runtime (measured), but one for the driver.
        if size == 0 {
            return nothing(devPtr);
        }
        pass!(cuMemAllocManaged(devPtr, size, flags))
    }
}

forwards! {
    cudaMemAdvise_12 (devPtr: Ptr, count: usize, advice: i32, device: Device) = cuMemAdvise(devPtr, count, advice, device);
    cudaMemAdvise (devPtr: Ptr, count: usize, advice: i32, location: Location) = cuMemAdvise_v2(devPtr, count, advice, location);
    cudaMemAdvise_v2 (devPtr: Ptr, count: usize, advice: i32, location: Location) = cuMemAdvise_v2(devPtr, count, advice, location);
    cudaMemPrefetchAsync_12 / cudaMemPrefetchAsync_ptsz_12 (devPtr: Ptr, count: usize, dstDevice: Device, stream: Stream) = cuMemPrefetchAsync(devPtr, count, dstDevice, stream);
    cudaMemPrefetchAsync / cudaMemPrefetchAsync_ptsz (devPtr: Ptr, count: usize, location: Location, flags: Flags, stream: Stream) = cuMemPrefetchAsync_v2(devPtr, count, location, flags, stream);
    cudaMemPrefetchAsync_v2 / cudaMemPrefetchAsync_v2_ptsz (devPtr: Ptr, count: usize, location: Location, flags: Flags, stream: Stream) = cuMemPrefetchAsync_v2(devPtr, count, location, flags, stream);
    cudaMemPrefetchBatchAsync / cudaMemPrefetchBatchAsync_ptsz (dptrs: Ptr, sizes: Ptr, count: usize, prefetchLocs: Ptr, prefetchLocIdxs: Ptr, numPrefetchLocs: usize, flags: Flags64, stream: Stream) = cuMemPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, stream);
    cudaMemDiscardAndPrefetchBatchAsync / cudaMemDiscardAndPrefetchBatchAsync_ptsz (dptrs: Ptr, sizes: Ptr, count: usize, prefetchLocs: Ptr, prefetchLocIdxs: Ptr, numPrefetchLocs: usize, flags: Flags64, stream: Stream) = cuMemDiscardAndPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, stream);
    cudaMemDiscardBatchAsync / cudaMemDiscardBatchAsync_ptsz (dptrs: Ptr, sizes: Ptr, count: usize, flags: Flags64, stream: Stream) = cuMemDiscardBatchAsync(dptrs, sizes, count, flags, stream);
    cudaMemRangeGetAttribute (data: Ptr, dataSize: usize, attribute: i32, devPtr: Ptr, count: usize) = cuMemRangeGetAttribute(data, dataSize, attribute, devPtr, count);
    cudaMemRangeGetAttributes (data: Ptr, dataSizes: Ptr, attributes: Ptr, numAttributes: usize, devPtr: Ptr, count: usize) = cuMemRangeGetAttributes(data, dataSizes, attributes, numAttributes, devPtr, count);
    cudaStreamAttachMemAsync / cudaStreamAttachMemAsync_ptsz (stream: Stream, devPtr: Ptr, length: usize, flags: Flags) = cuStreamAttachMemAsync(stream, devPtr, length, flags);
    cudaMemGetLocationInfo (devPtr: Ptr, size: usize, summaryGranularity: usize, samplingGranularity: usize, location_out: Ptr) = cuMemGetLocationInfo(devPtr, size, summaryGranularity, samplingGranularity, location_out);
}
