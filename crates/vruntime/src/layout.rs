//! Structures that the runtime's calls take and return by pointer, and the driver's counterparts.
//!
//! Owns their layouts on x86-64 as in the headers of 11.8, 12.4, 12.9 and 13.5 (driver_types.h, texture_types.h,
//! cuda.h). If a major appended fields, the longest form is declared here, and each reader says how far it reads.
//! Structures that are the same in both APIs (pool properties, stream attributes, semaphore signals, instantiation
//! parameters) are passed through and are not here. Must not know: the calls.

pub use cushim_abi::structs::{
    DriverResourceDesc, DriverResourceViewDesc, DriverTextureDesc, ResourceViewDesc,
};
use cushim_abi::types::{ChannelDesc, Dim3, Extent, PitchedPtr};

/// `cudaPos`: in elements of the array or memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Pos {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Memcpy3DParms {
    pub src_array: usize,
    pub src_pos: Pos,
    pub src_ptr: PitchedPtr,
    pub dst_array: usize,
    pub dst_pos: Pos,
    pub dst_ptr: PitchedPtr,
    pub extent: Extent,
    pub kind: i32,
}

/// `cudaMemcpy3DPeerParms`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Memcpy3DPeerParms {
    pub src_array: usize,
    pub src_pos: Pos,
    pub src_ptr: PitchedPtr,
    pub src_device: i32,
    pub dst_array: usize,
    pub dst_pos: Pos,
    pub dst_ptr: PitchedPtr,
    pub dst_device: i32,
    pub extent: Extent,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct DriverMemcpy2D {
    pub src: Side2D,
    pub dst: Side2D,
    pub width: usize,
    pub height: usize,
}

/// One side of [`DriverMemcpy2D`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Side2D {
    pub x: usize,
    pub y: usize,
    pub memory: i32,
    pub host: usize,
    pub device: usize,
    pub array: usize,
    pub pitch: usize,
}

/// `CUDA_MEMCPY3D`, `CUDA_MEMCPY3D_PEER`: they differ in the name of one field of a side.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct DriverMemcpy3D {
    pub src: Side3D,
    pub dst: Side3D,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// One side of [`DriverMemcpy3D`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Side3D {
    pub x: usize,
    pub y: usize,
    pub z: usize,
    pub lod: usize,
    pub memory: i32,
    pub host: usize,
    pub device: usize,
    pub array: usize,
    /// Reserved, or the context of a copy between devices.
    pub context: usize,
    pub pitch: usize,
    pub height: usize,
}

/// `CUmemorytype`.
pub mod memory {
    #![allow(missing_docs)]
    pub const HOST: i32 = 1;
    pub const DEVICE: i32 = 2;
    pub const ARRAY: i32 = 3;
    pub const UNIFIED: i32 = 4;
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ArrayDescriptor {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub format: u32,
    pub channels: u32,
    pub flags: u32,
}

/// `cudaPointerAttributes` of 11 and 12; 13 appends eight words.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct PointerAttributes {
    pub kind: i32,
    pub device: i32,
    pub device_pointer: usize,
    pub host_pointer: usize,
}

/// The part that 13 appends to [`PointerAttributes`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct PointerAttributesTail {
    pub locality_domain: i64,
    pub reserved: [i64; 7],
}

/// `cudaResourceDesc` up to the end of its largest member; 13 appends a reserved field and flags.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct ResourceDesc {
    pub kind: i32,
    /// Array, mipmapped array or address.
    pub at: usize,
    /// Linear and pitched memory.
    pub desc: ChannelDesc,
    /// Bytes of linear memory, width of pitched memory.
    pub width: usize,
    pub height: usize,
    pub pitch: usize,
}

/// `cudaTextureDesc`; the form of 11 (`cudaCreateTextureObject` without `_v2`) ends before the last field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct TextureDesc {
    pub address_mode: [i32; 3],
    pub filter_mode: i32,
    pub read_mode: i32,
    pub srgb: i32,
    pub border: [f32; 4],
    pub normalized: i32,
    pub max_anisotropy: u32,
    pub mipmap_filter: i32,
    pub mipmap_bias: f32,
    pub mipmap_min: f32,
    pub mipmap_max: f32,
    pub disable_trilinear: i32,
    pub seamless: i32,
}

/// `textureReference` of 11, up to its reserved words.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct TextureReference {
    pub normalized: i32,
    pub filter_mode: i32,
    pub address_mode: [i32; 3],
    pub desc: ChannelDesc,
    pub srgb: i32,
    pub max_anisotropy: u32,
    pub mipmap_filter: i32,
    pub mipmap_bias: f32,
    pub mipmap_min: f32,
    pub mipmap_max: f32,
    pub disable_trilinear: i32,
}

/// `cudaExternalMemoryMipmappedArrayDesc`, the part in 11.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct ExternalMipmappedArrayDesc {
    pub offset: u64,
    pub desc: ChannelDesc,
    pub extent: Extent,
    pub flags: u32,
    pub levels: u32,
}

/// `CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct DriverExternalMipmappedArrayDesc {
    pub offset: u64,
    pub array: ArrayDescriptor,
    pub levels: u32,
    pub reserved: [u32; 16],
}

/// `cudaExternalMemoryHandleDesc`, the part in 11, then reserved words as in the driver's.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct ExternalMemoryHandleDesc {
    pub kind: i32,
    pub handle: [usize; 2],
    pub size: u64,
    pub flags: u32,
    pub reserved: [u32; 16],
}

/// `cudaExternalSemaphoreHandleDesc`, likewise.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct ExternalSemaphoreHandleDesc {
    pub kind: i32,
    pub handle: [usize; 2],
    pub flags: u32,
    pub reserved: [u32; 16],
}

/// `cudaExternalMemoryBufferDesc`, likewise.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct ExternalMemoryBufferDesc {
    pub offset: u64,
    pub size: u64,
    pub flags: u32,
    pub reserved: [u32; 16],
}

/// `cudaExternalSemaphoreSignalParams_v1`: fence value, fence object, key; flags.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct SignalParamsV1 {
    pub params: [u64; 3],
    pub flags: u32,
}

/// `cudaExternalSemaphoreWaitParams_v1`: as [`SignalParamsV1`], with a time limit behind the key.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct WaitParamsV1 {
    pub params: [u64; 4],
    pub flags: u32,
}

/// `cudaExternalSemaphoreSignalParams`, `…WaitParams` and the driver's: both are 144 bytes with the flags
/// behind the parameters.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct SemaphoreParams {
    pub params: [u64; 9],
    pub flags: u32,
    pub reserved: [u32; 16],
}

/// `cudaMemAllocNodeParams`, `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct MemAllocNodeParams {
    pub pool: [u64; 11],
    pub access: usize,
    pub access_count: usize,
    pub bytes: usize,
    pub ptr: usize,
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`, `_v3`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct DriverKernelNode {
    pub func: usize,
    pub grid: Dim3,
    pub block: Dim3,
    pub shared: u32,
    pub args: usize,
    pub extra: usize,
    pub kernel: usize,
    pub context: usize,
}

/// `cudaKernelNodeParamsV2` as 13.5 has it; the context and the type came after 12.4, in a union that was
/// zero before.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct KernelNodeV2 {
    pub func: usize,
    pub grid: Dim3,
    pub block: Dim3,
    pub shared: u32,
    pub args: usize,
    pub extra: usize,
    pub context: usize,
    pub function_type: i32,
}

/// `cudaMemcpyNodeParams`; the context is reserved in 12.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct MemcpyNode {
    pub flags: i32,
    pub reserved: i32,
    pub context: usize,
    pub copy: Memcpy3DParms,
}

/// `CUDA_MEMCPY_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct DriverMemcpyNode {
    pub flags: i32,
    pub reserved: i32,
    pub context: usize,
    pub copy: DriverMemcpy3D,
}

/// `cudaGraphNodeParams`, `CUgraphNodeParams`: a type and a union of 232 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct NodeParams {
    pub kind: i32,
    pub reserved: [i32; 3],
    pub node: [u64; 29],
    pub tail: u64,
}

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<Memcpy3DParms>() == 160 && size_of::<Memcpy3DPeerParms>() == 168);
    assert!(size_of::<DriverMemcpy2D>() == 128 && size_of::<DriverMemcpy3D>() == 200);
    assert!(size_of::<ArrayDescriptor>() == 40 && size_of::<PointerAttributes>() == 24);
    assert!(size_of::<ResourceDesc>() == 64 && offset_of!(ResourceDesc, width) == 40);
    assert!(size_of::<TextureDesc>() == 72);
    assert!(size_of::<TextureReference>() == 68);
    assert!(size_of::<ExternalMipmappedArrayDesc>() == 64);
    assert!(size_of::<DriverExternalMipmappedArrayDesc>() == 120);
    assert!(offset_of!(ExternalMemoryHandleDesc, reserved) == 36);
    assert!(offset_of!(ExternalSemaphoreHandleDesc, reserved) == 28);
    assert!(offset_of!(ExternalMemoryBufferDesc, reserved) == 20);
    assert!(size_of::<SignalParamsV1>() == 32 && size_of::<WaitParamsV1>() == 40);
    assert!(size_of::<SemaphoreParams>() == 144 && offset_of!(SemaphoreParams, flags) == 72);
    assert!(size_of::<MemAllocNodeParams>() == 120);
    assert!(size_of::<DriverKernelNode>() == 72 && size_of::<KernelNodeV2>() == 72);
    assert!(size_of::<MemcpyNode>() == 176 && size_of::<DriverMemcpyNode>() == 216);
    assert!(size_of::<NodeParams>() == 256);
};
