//! Host memory that the device may access: allocated, or the program's own.
//!
//! Owns what the runtime adds to the driver's calls: sizes of 0. Must not know: device memory.

use cushim_abi::types::*;

use super::device::nothing;
use crate::forward::{forwards, functions, pass};

functions! {
    cudaMallocHost (ptr: Out<Ptr>, size: usize) {
        if size == 0 {
            return nothing(ptr);
        }
        pass!(cuMemAllocHost_v2(ptr, size))
    }

    cudaHostAlloc (pHost: Out<Ptr>, size: usize, flags: Flags) {
        if size == 0 {
            return nothing(pHost);
        }
        pass!(cuMemHostAlloc(pHost, size, flags))
    }

    cudaFreeHost (ptr: Ptr) {
        if ptr.0 == 0 {
            // As for a null device pointer: an error of the context is returned.
            return pass!(cuMemFree_v2(ptr));
        }
        pass!(cuMemFreeHost(ptr))
    }
}

// The flags have the same bits on both sides (driver_types.h, cuda.h).
forwards! {
    cudaHostRegister (ptr: Ptr, size: usize, flags: Flags) = cuMemHostRegister_v2(ptr, size, flags);
    cudaHostUnregister (ptr: Ptr) = cuMemHostUnregister(ptr);
    cudaHostGetDevicePointer (pDevice: Out<Ptr>, pHost: Ptr, flags: Flags) = cuMemHostGetDevicePointer_v2(pDevice, pHost, flags);
    cudaHostGetFlags (pFlags: Out<u32>, pHost: Ptr) = cuMemHostGetFlags(pFlags, pHost);
}
