//! The result of an emitter: code and its tables.

use super::site::Site;

/// What was made of a kernel for one layout of blocks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Output {
    pub(crate) bytes: Vec<u8>,
    pub(crate) sites: Vec<Site>,
    pub(crate) regions: u32,
    pub(crate) frame_size: u32,
    /// Bytes of stack that it uses.
    pub(crate) stack: u32,
    pub(crate) origins: Vec<(u32, Origin)>,
    /// See [`crate::simt::plan::Plan::steps`].
    pub(crate) steps: Option<u64>,
}

/// How code is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quality {
    /// In a fifth of the time, by an allocator of registers that passes once; it takes up to three times as
    /// long to run.
    Quick,
    Best,
}

/// An instruction of the kernel, and the first of the lanes that code is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) inst: u32,
    pub(crate) lane: u32,
}
