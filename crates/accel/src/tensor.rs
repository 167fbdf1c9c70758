//! The description of a tensor map, which the driver passes to an accelerator.
//!
//! Owns the description, with CUDA's numbers for types and modes (cuda.h). Must not know: how it is stored.

/// A tensor in global memory, and the box of it that kernels copy at once: `cuTensorMapEncodeTiled`,
/// `cuTensorMapEncodeIm2col`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// `CUtensorMapDataType`.
    pub data_type: i32,
    /// Address of the first element.
    pub address: u64,
    /// Elements along each axis, the innermost first; 1 to 5 axes.
    pub sizes: Vec<u64>,
    /// Bytes from one index to the next, for every axis but the innermost.
    pub strides: Vec<u64>,
    /// Elements of the box along each axis; for im2col, the channels of a pixel, and the pixels.
    pub boxes: Vec<u32>,
    /// The element strides: every how many elements of the box one is copied.
    pub steps: Vec<u32>,
    /// `CUtensorMapInterleave`.
    pub interleave: i32,
    /// `CUtensorMapSwizzle`.
    pub swizzle: i32,
    /// `CUtensorMapFloatOOBfill`.
    pub fill: i32,
    /// For im2col, the lower and upper corners of the pixel box.
    pub columns: Option<[Vec<i32>; 2]>,
}
