//! The calls by which a program passes images and gets modules.
//!
//! Must not know: what happens to an image.

/// How a module is loaded: decides the form of its image, and the functions that load it and look
/// up kernels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `cuModule*`: in the current context.
    Module,
    /// `cuLibrary*`, `cudaLibrary*`.
    Library,
}
