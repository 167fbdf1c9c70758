//! Which runtime functions are ours: each is named here once and hides the one that says "not supported".
//!
//! Must not know: what they do.

pub(super) use super::memory::device::{
    cudaFree, cudaFreeAsync, cudaFreeAsync_ptsz, cudaMalloc, cudaMalloc3D, cudaMallocAsync,
    cudaMallocAsync_ptsz, cudaMallocPitch, cudaMemGetInfo, cudaPointerGetAttributes,
};
pub(super) use super::memory::host::{
    cudaFreeHost, cudaHostAlloc, cudaHostGetDevicePointer, cudaHostGetFlags, cudaHostRegister,
    cudaHostUnregister, cudaMallocHost,
};
pub(super) use super::memory::managed::{
    cudaMallocManaged, cudaMemAdvise, cudaMemAdvise_12, cudaMemAdvise_v2,
    cudaMemDiscardAndPrefetchBatchAsync, cudaMemDiscardAndPrefetchBatchAsync_ptsz,
    cudaMemDiscardBatchAsync, cudaMemDiscardBatchAsync_ptsz, cudaMemGetLocationInfo,
    cudaMemPrefetchAsync, cudaMemPrefetchAsync_12, cudaMemPrefetchAsync_ptsz,
    cudaMemPrefetchAsync_ptsz_12, cudaMemPrefetchAsync_v2, cudaMemPrefetchAsync_v2_ptsz,
    cudaMemPrefetchBatchAsync, cudaMemPrefetchBatchAsync_ptsz, cudaMemRangeGetAttribute,
    cudaMemRangeGetAttributes, cudaStreamAttachMemAsync, cudaStreamAttachMemAsync_ptsz,
};
pub(super) use super::memory::peer::{
    cudaDeviceCanAccessPeer, cudaDeviceDisablePeerAccess, cudaDeviceEnablePeerAccess,
    cudaIpcCloseMemHandle, cudaIpcGetEventHandle, cudaIpcGetMemHandle, cudaIpcOpenEventHandle,
    cudaIpcOpenMemHandle,
};
pub(super) use super::memory::pool::{
    cudaDeviceGetDefaultMemPool, cudaDeviceGetMemPool, cudaDeviceSetMemPool,
    cudaMallocFromPoolAsync, cudaMallocFromPoolAsync_ptsz, cudaMemGetDefaultMemPool,
    cudaMemGetMemPool, cudaMemPoolCreate, cudaMemPoolDestroy, cudaMemPoolExportPointer,
    cudaMemPoolExportToShareableHandle, cudaMemPoolGetAccess, cudaMemPoolGetAttribute,
    cudaMemPoolImportFromShareableHandle, cudaMemPoolImportPointer, cudaMemPoolSetAccess,
    cudaMemPoolSetAttribute, cudaMemPoolTrimTo, cudaMemSetMemPool,
};
pub(super) use super::unsupported::*;
