//! Fourier transforms: cuFFT's functions, by kernels that every backend compiles.
//!
//! cuFFT's wheels contain machine code only. `crates/compilers` redirects its functions here. A transform is a
//! sequence of launches in the plan's stream: the data is read into the work area as complex numbers, each dimension
//! is transformed there, and the result is written. So copies, graph captures, invalid addresses and `cushim check`
//! work as for any kernel.
//!
//! - [`kind`]: types of elements and of transforms;
//! - [`layout`]: the addresses of elements;
//! - [`factor`]: the algorithm for a length;
//! - [`table`]: roots of unity;
//! - [`plan`]: a transform, checked; its work area;
//! - [`steps`]: the launches;
//! - [`kernel`], [`pass`]: the PTX;
//! - [`made`]: a plan on a device.
//!
//! Owns: the transforms. Must not know: cuFFT's handles, or who calls.

pub mod factor;
pub mod kernel;
pub mod kind;
pub mod layout;
pub mod made;
pub mod pass;
pub mod plan;
pub mod steps;
pub mod table;

/// `cufftResult`. Source: cufft.h.
pub mod status {
    /// It was done.
    pub const SUCCESS: i32 = 0;
    /// The handle is invalid, or was planned before.
    pub const INVALID_PLAN: i32 = 1;
    /// There is no memory.
    pub const ALLOC_FAILED: i32 = 2;
    /// The type is invalid, or differs where it must not.
    pub const INVALID_TYPE: i32 = 3;
    /// A pointer or parameter is wrong.
    pub const INVALID_VALUE: i32 = 4;
    /// The driver failed.
    pub const INTERNAL_ERROR: i32 = 5;
    /// A launch failed.
    pub const EXEC_FAILED: i32 = 6;
    /// There is no device.
    pub const SETUP_FAILED: i32 = 7;
    /// A length or batch is not supported.
    pub const INVALID_SIZE: i32 = 8;
    /// The program has to bring a work area, and has not.
    pub const NO_WORKSPACE: i32 = 13;
    /// Not on this device.
    pub const NOT_SUPPORTED: i32 = 16;
}
