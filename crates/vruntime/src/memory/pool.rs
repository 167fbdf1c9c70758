//! Pools of stream-ordered memory.
//!
//! Owns nothing but the names: properties, attributes, access descriptors and export data have the same
//! layouts and numbers in both APIs (driver_types.h, cuda.h: `cudaMemPoolProps` is `CUmemPoolProps`).
//! Must not know: other memory.

use cushim_abi::types::*;

use crate::context;
use crate::forward::{forwards, functions, pass};

functions! {
    cudaMemPoolSetAccess (memPool: Ptr, descList: Ptr, count: usize) {
        // The driver refuses an empty list; the runtime does not (measured).
        if count == 0 {
            return context::with(|| 0);
        }
        pass!(cuMemPoolSetAccess(memPool, descList, count))
    }
}

forwards! {
    cudaMemPoolCreate (memPool: Out<Ptr>, poolProps: Ptr) = cuMemPoolCreate(memPool, poolProps);
    cudaMemPoolDestroy (memPool: Ptr) = cuMemPoolDestroy(memPool);
    cudaMemPoolTrimTo (memPool: Ptr, minBytesToKeep: usize) = cuMemPoolTrimTo(memPool, minBytesToKeep);
    cudaMallocFromPoolAsync / cudaMallocFromPoolAsync_ptsz (ptr: Out<Ptr>, size: usize, memPool: Ptr, stream: Stream) = cuMemAllocFromPoolAsync(ptr, size, memPool, stream);
    cudaMemPoolGetAttribute (memPool: Ptr, attr: i32, value: Ptr) = cuMemPoolGetAttribute(memPool, attr, value);
    cudaMemPoolSetAttribute (memPool: Ptr, attr: i32, value: Ptr) = cuMemPoolSetAttribute(memPool, attr, value);
    cudaMemPoolGetAccess (flags: Out<i32>, memPool: Ptr, location: Ptr) = cuMemPoolGetAccess(flags, memPool, location);
    cudaMemPoolExportToShareableHandle (shareableHandle: Ptr, memPool: Ptr, handleType: i32, flags: Flags) = cuMemPoolExportToShareableHandle(shareableHandle, memPool, handleType, Flags64(flags.0.into()));
    cudaMemPoolImportFromShareableHandle (memPool: Out<Ptr>, shareableHandle: Ptr, handleType: i32, flags: Flags) = cuMemPoolImportFromShareableHandle(memPool, shareableHandle, handleType, Flags64(flags.0.into()));
    cudaMemPoolExportPointer (exportData: Ptr, ptr: Ptr) = cuMemPoolExportPointer(exportData, ptr);
    cudaMemPoolImportPointer (ptr: Out<Ptr>, memPool: Ptr, exportData: Ptr) = cuMemPoolImportPointer(ptr, memPool, exportData);
    cudaDeviceGetDefaultMemPool (memPool: Out<Ptr>, device: Device) = cuDeviceGetDefaultMemPool(memPool, device);
    cudaDeviceGetMemPool (memPool: Out<Ptr>, device: Device) = cuDeviceGetMemPool(memPool, device);
    cudaDeviceSetMemPool (device: Device, memPool: Ptr) = cuDeviceSetMemPool(device, memPool);
    cudaMemGetDefaultMemPool (memPool: Out<Ptr>, location: Ptr, type_: i32) = cuMemGetDefaultMemPool(memPool, location, type_);
    cudaMemGetMemPool (memPool: Out<Ptr>, location: Ptr, type_: i32) = cuMemGetMemPool(memPool, location, type_);
    cudaMemSetMemPool (location: Ptr, type_: i32, memPool: Ptr) = cuMemSetMemPool(location, type_, memPool);
}
