//! Structures that CUDA passes by pointer, as far as cushim reads them: prefixes, never the whole.
//!
//! Later versions may append fields, so nothing copies these structures by their size. Offsets are those of x86-64;
//! source: driver_types.h, cuda.h (11.8 to 13.0), fatbinary_section.h.

use crate::types::{Dim3, Extent};

/// `__fatBinC_Wrapper_t`, the argument of `__cudaRegisterFatBinary` and `cuLibraryLoadData`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FatBinaryWrapper {
    /// [`FAT_BINARY_WRAPPER_MAGIC`].
    pub magic: u32,
    /// 1 for an ordinary one, 2 for the result of a device link.
    pub version: u32,
    /// The fat binary.
    pub data: usize,
    /// Version 2: the relocatable fat binaries that were linked.
    pub filename_or_list: usize,
}

/// `FATBINC_MAGIC`.
pub const FAT_BINARY_WRAPPER_MAGIC: u32 = 0x4662_43B1;

/// The magic of HIP's wrapper, `HIPF`: the same fields, with a clang bundle or an AMD code object
/// as the image.
pub const HIP_WRAPPER_MAGIC: u32 = 0x4849_5046;

/// `cudaLaunchConfig_t`, `hipLaunchConfig_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig {
    /// Blocks.
    pub grid: Dim3,
    /// Threads per block.
    pub block: Dim3,
    /// Dynamic shared memory, bytes.
    pub shared: usize,
    /// Stream.
    pub stream: usize,
    /// Array of `cudaLaunchAttribute`.
    pub attributes: usize,
    /// Its length.
    pub attribute_count: u32,
}

/// `CUlaunchConfig`, `HIP_LAUNCH_CONFIG`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DriverLaunchConfig {
    /// Blocks.
    pub grid: Dim3,
    /// Threads per block.
    pub block: Dim3,
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// Stream.
    pub stream: usize,
    /// Array of `CUlaunchAttribute`.
    pub attributes: usize,
    /// Its length.
    pub attribute_count: u32,
}

/// `cudaLaunchAttribute`, `CUlaunchAttribute`, `hipLaunchAttribute`: an id, padding to 8, a 64-byte value.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LaunchAttribute {
    /// `cudaLaunchAttributeID`.
    pub id: u32,
    /// Zero.
    pub pad: u32,
    /// The value's first words.
    pub value: [u32; 16],
}

/// `cudaLaunchAttributeCooperative`, `hipLaunchAttributeCooperative`.
pub const ATTRIBUTE_COOPERATIVE: u32 = 2;
/// `cudaLaunchAttributeClusterDimension`: three unsigned.
pub const ATTRIBUTE_CLUSTER_DIMENSION: u32 = 4;

/// `cudaLaunchParams` of cooperative launches on several devices.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LaunchParams {
    /// Host stub.
    pub func: usize,
    /// Blocks.
    pub grid: Dim3,
    /// Threads per block.
    pub block: Dim3,
    /// Argument pointers.
    pub args: usize,
    /// Dynamic shared memory, bytes.
    pub shared: usize,
    /// Stream.
    pub stream: usize,
}

/// `CUDA_LAUNCH_PARAMS`, `hipFunctionLaunchParams` of cooperative launches on several devices.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DriverLaunchParams {
    /// Function.
    pub func: usize,
    /// Blocks.
    pub grid: Dim3,
    /// Threads per block.
    pub block: Dim3,
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// Stream.
    pub stream: usize,
    /// Argument pointers.
    pub args: usize,
}

/// `cudaKernelNodeParams`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelNodeParams {
    /// Host stub or kernel handle.
    pub func: usize,
    /// Blocks.
    pub grid: Dim3,
    /// Threads per block.
    pub block: Dim3,
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// Argument pointers.
    pub args: usize,
    /// Argument buffer list.
    pub extra: usize,
}

/// `hipKernelNodeParams`: CUDA's fields in another order.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HipKernelNodeParams {
    /// Work-items per block.
    pub block: Dim3,
    /// Argument buffer list.
    pub extra: usize,
    /// Host stub or function.
    pub func: usize,
    /// Blocks.
    pub grid: Dim3,
    /// Argument pointers.
    pub args: usize,
    /// Dynamic shared memory, bytes.
    pub shared: u32,
}

/// `CUDA_KERNEL_NODE_PARAMS_v1`, `_v2`, `_v3`: later ones append the kernel handle and a context.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DriverKernelNodeParams {
    /// Function; 0 where only `kern` is given.
    pub func: usize,
    /// Blocks.
    pub grid: Dim3,
    /// Threads per block.
    pub block: Dim3,
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// Argument pointers.
    pub args: usize,
    /// Argument buffer list.
    pub extra: usize,
    /// Kernel, from `_v2` on.
    pub kern: usize,
}

/// `cudaGraphNodeParams`, `CUgraphNodeParams`, `hipGraphNodeParams`: type, padding, then a union; the kernel's is first.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GraphNodeParams {
    /// `cudaGraphNodeType`; 0 is a kernel.
    pub kind: i32,
    /// Reserved.
    pub reserved: [i32; 3],
}

/// `CU_LAUNCH_PARAM_*`: entries of `extra`.
pub mod launch_param {
    /// Ends the list.
    pub const END: usize = 0;
    /// The next entry is the argument buffer.
    pub const BUFFER_POINTER: usize = 1;
    /// The next entry points to the buffer's size.
    pub const BUFFER_SIZE: usize = 2;
    /// Ends HIP's list, which has the same other entries (`HIP_LAUNCH_PARAM_END`).
    pub const HIP_END: usize = 3;
}

/// `CUDA_RESOURCE_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct DriverResourceDesc {
    /// `CUresourcetype`; the upper half is padding.
    pub kind: i32,
    /// Array, mipmapped array or address.
    pub at: usize,
    /// `CUarray_format` of memory.
    pub format: u32,
    /// Channels of memory.
    pub channels: u32,
    /// Bytes of linear memory, width of pitched memory.
    pub width: usize,
    /// Rows of pitched memory.
    pub height: usize,
    /// Bytes from row to row.
    pub pitch: usize,
    /// Nothing.
    pub rest: [u64; 11],
    /// None.
    pub flags: u32,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DriverTextureDesc {
    /// `CUaddress_mode` by axis.
    pub address_mode: [i32; 3],
    /// `CUfilter_mode`.
    pub filter_mode: i32,
    /// `CU_TRSF_*`.
    pub flags: u32,
    /// The most samples of an anisotropic filter.
    pub max_anisotropy: u32,
    /// `CUfilter_mode` between levels.
    pub mipmap_filter: i32,
    /// Added to the level.
    pub mipmap_bias: f32,
    /// The least level.
    pub mipmap_min: f32,
    /// The greatest level.
    pub mipmap_max: f32,
    /// The colour outside.
    pub border: [f32; 4],
    /// Nothing.
    pub reserved: [i32; 12],
}

/// `cudaResourceViewDesc` of 11 and 12; 13 and the driver append 64 reserved bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ResourceViewDesc {
    /// `CUresourceViewFormat`.
    pub format: i32,
    /// Width, height, depth in elements.
    pub extent: Extent,
    /// The first and the last level.
    pub levels: [u32; 2],
    /// The first and the last layer.
    pub layers: [u32; 2],
}

/// `CUDA_RESOURCE_VIEW_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct DriverResourceViewDesc {
    /// The same part as in the runtime's.
    pub view: ResourceViewDesc,
    /// Nothing.
    pub reserved: [u32; 16],
}

const _: () = {
    assert!(std::mem::offset_of!(LaunchConfig, stream) == 32);
    assert!(std::mem::offset_of!(LaunchConfig, attribute_count) == 48);
    assert!(std::mem::offset_of!(DriverLaunchConfig, stream) == 32);
    assert!(std::mem::offset_of!(DriverKernelNodeParams, kern) == 56);
    assert!(std::mem::offset_of!(LaunchParams, args) == 32);
    assert!(size_of::<LaunchParams>() == 56 && size_of::<DriverLaunchParams>() == 56);
    assert!(size_of::<LaunchAttribute>() == 72 && size_of::<FatBinaryWrapper>() == 24);
    assert!(size_of::<GraphNodeParams>() == 16);
    assert!(std::mem::offset_of!(HipKernelNodeParams, func) == 24);
    assert!(std::mem::offset_of!(HipKernelNodeParams, args) == 48);
    assert!(std::mem::offset_of!(HipKernelNodeParams, shared) == 56);
    assert!(size_of::<DriverResourceDesc>() == 144 && size_of::<DriverTextureDesc>() == 104);
    assert!(std::mem::offset_of!(DriverResourceDesc, width) == 24);
    assert!(std::mem::offset_of!(DriverResourceDesc, flags) == 136);
    assert!(size_of::<ResourceViewDesc>() == 48 && size_of::<DriverResourceViewDesc>() == 112);
};
