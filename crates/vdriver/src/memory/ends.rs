//! Boxes as the program describes them.
//!
//! Owns the layouts, which graph nodes store, too. Source: cuda.h 13.0. Must not know: what they mean
//! ([`super::shape`]).

use crate::argument::Plain;

/// One end of a 3-D copy: `CUDA_MEMCPY3D` has two such groups of words and then the extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct End {
    /// First byte of a row, first row, first plane, level of a mipmapped array.
    pub origin: [usize; 4],
    /// `CUmemorytype`: 1 host, 2 device, 3 array, 4 unified; the upper half is padding.
    pub kind: u64,
    /// The address, for host memory.
    pub host: usize,
    /// The address, for device and unified memory.
    pub device: usize,
    /// The array.
    pub array: usize,
    /// Reserved; in `CUDA_MEMCPY3D_PEER` the context.
    pub context: usize,
    /// Bytes from row to row.
    pub pitch: usize,
    /// Rows from plane to plane.
    pub height: usize,
}

/// `CUDA_MEMCPY3D`, `CUDA_MEMCPY3D_PEER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Shape {
    /// The source.
    pub from: End,
    /// The destination.
    pub to: End,
    /// Bytes of a row, rows, planes.
    pub extent: [usize; 3],
}

// SAFETY: numbers.
unsafe impl Plain for Shape {}

const _: () = assert!(size_of::<Shape>() == 200);
