//! The description of a texture or surface, which the driver passes to an accelerator.
//!
//! Owns the description, with CUDA's numbers for formats and modes (cuda.h). Must not know: arrays, handles of CUDA.

/// Something that kernels sample, or read and write by coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    /// Address of each level's first byte; rows and planes are stored consecutively.
    pub levels: Vec<u64>,
    /// Width, rows, planes or layers of the first level, in elements; 0 for missing axes.
    pub extent: [usize; 3],
    /// Planes are layers.
    pub layered: bool,
    /// Six layers are the faces of a cube.
    pub cube: bool,
    /// It is linear memory of one row, to which no mode applies.
    pub linear: bool,
    /// Bytes from row to row; 0 where rows are contiguous.
    pub pitch: usize,
    /// `CUarray_format`.
    pub format: u32,
    /// Channels of an element.
    pub channels: u32,
    /// How it is sampled; a surface is not.
    pub sampler: Option<Sampler>,
}

/// How a texture is sampled: `CUDA_TEXTURE_DESC`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// `CUaddress_mode` by axis.
    pub address: [i32; 3],
    /// `CUfilter_mode`.
    pub filter: i32,
    /// `CUfilter_mode` between levels.
    pub mipmap_filter: i32,
    /// `CU_TRSF_*`.
    pub flags: u32,
    /// The most samples of an anisotropic filter.
    pub anisotropy: u32,
    /// Added to the level.
    pub bias: f32,
    /// The least and the greatest level.
    pub clamp: [f32; 2],
    /// The colour outside.
    pub border: [f32; 4],
}
