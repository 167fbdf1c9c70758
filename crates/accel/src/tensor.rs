//! What a tensor map is made of, as the driver tells an accelerator.
//!
//! Owns the description, with CUDA's numbers for types and modes (cuda.h). Must not know: how it is kept.

/// A tensor in global memory, and the box of it that kernels copy at once: `cuTensorMapEncodeTiled`,
/// `cuTensorMapEncodeIm2col`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// `CUtensorMapDataType`.
    pub data_type: i32,
    /// Where the first element is.
    pub address: u64,
    /// Elements along each axis, the innermost first; 1 to 5 axes.
    pub sizes: Vec<u64>,
    /// Bytes from one index to the next, of every axis but the innermost.
    pub strides: Vec<u64>,
    /// Elements of the box along each axis; of columns the channels of a pixel, and pixels.
    pub boxes: Vec<u32>,
    /// Of which elements of the box every so-manieth is copied.
    pub steps: Vec<u32>,
    /// `CUtensorMapInterleave`.
    pub interleave: i32,
    /// `CUtensorMapSwizzle`.
    pub swizzle: i32,
    /// `CUtensorMapFloatOOBfill`.
    pub fill: i32,
    /// Of columns the corners of the box that pixels lie in, the lower and the upper one.
    pub columns: Option<[Vec<i32>; 2]>,
}
