//! Compares the layouts of structures with NVIDIA's headers (CUDA 13.0), through cudarc's generated
//! bindings. The test `shim` of `cushim-cli` compares the signatures with the headers of all majors.

use std::mem::{offset_of, size_of};

use cudarc::driver::sys as driver;
use cudarc::runtime::sys as runtime;
use cushim_abi::structs::*;
use cushim_abi::types::*;

macro_rules! same {
    ($ours:ident, $theirs:ty, whole: $whole:literal, $($field:ident = $their:ident),+) => {
        $(assert_eq!(offset_of!($ours, $field), offset_of!($theirs, $their), stringify!($ours.$field));)+
        if $whole {
            assert_eq!(size_of::<$ours>(), size_of::<$theirs>(), stringify!($ours));
        } else {
            assert!(size_of::<$ours>() <= size_of::<$theirs>(), stringify!($ours));
        }
    };
}

#[test]
fn structures_lie_as_in_the_headers() {
    same!(LaunchConfig, runtime::cudaLaunchConfig_st, whole: true,
        grid = gridDim, block = blockDim, shared = dynamicSmemBytes, stream = stream,
        attributes = attrs, attribute_count = numAttrs);
    same!(DriverLaunchConfig, driver::CUlaunchConfig_st, whole: true,
        grid = gridDimX, block = blockDimX, shared = sharedMemBytes, stream = hStream,
        attributes = attrs, attribute_count = numAttrs);
    same!(LaunchAttribute, runtime::cudaLaunchAttribute_st, whole: true, id = id, value = val);
    same!(LaunchAttribute, driver::CUlaunchAttribute_st, whole: true, id = id, value = value);
    same!(DriverLaunchParams, driver::CUDA_LAUNCH_PARAMS_st, whole: true,
        func = function, grid = gridDimX, block = blockDimX, shared = sharedMemBytes,
        stream = hStream, args = kernelParams);
    same!(KernelNodeParams, runtime::cudaKernelNodeParams, whole: true,
        func = func, grid = gridDim, block = blockDim, shared = sharedMemBytes,
        args = kernelParams, extra = extra);
    same!(DriverKernelNodeParams, driver::CUDA_KERNEL_NODE_PARAMS_v2_st, whole: false,
        func = func, grid = gridDimX, block = blockDimX, shared = sharedMemBytes,
        args = kernelParams, extra = extra, kern = kern);
    same!(GraphNodeParams, driver::CUgraphNodeParams_st, whole: false, kind = type_, reserved = reserved0);
    assert_eq!(
        size_of::<GraphNodeParams>(),
        offset_of!(runtime::cudaGraphNodeParams, __bindgen_anon_1)
    );
    same!(Extent, runtime::cudaExtent, whole: true, width = width, height = height, depth = depth);
    same!(PitchedPtr, runtime::cudaPitchedPtr, whole: true,
        ptr = ptr, pitch = pitch, xsize = xsize, ysize = ysize);
    same!(Dim3, runtime::dim3, whole: true, x = x, y = y, z = z);
    assert_eq!(size_of::<Location>(), size_of::<runtime::cudaMemLocation>());
    assert_eq!(size_of::<Location>(), size_of::<driver::CUmemLocation_st>());
}

#[test]
fn numbers_mean_what_the_headers_say() {
    use driver::cudaError_enum as cu;
    assert_eq!(SYMBOL_NOT_FOUND, cu::CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND as i32);
    assert_eq!(SYMBOL_NOT_FOUND, runtime::cudaError::cudaErrorSharedObjectSymbolNotFound as i32);
    assert_eq!(NOT_READY, cu::CUDA_ERROR_NOT_READY as i32);
    assert_eq!(DEINITIALIZED, cu::CUDA_ERROR_DEINITIALIZED as i32);
    use driver::CUlaunchAttributeID_enum as attribute;
    assert_eq!(ATTRIBUTE_COOPERATIVE, attribute::CU_LAUNCH_ATTRIBUTE_COOPERATIVE as u32);
    assert_eq!(
        ATTRIBUTE_CLUSTER_DIMENSION,
        attribute::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION as u32
    );
}
