//! How a program hands over images and gets modules of them.
//!
//! Must not know: what becomes of an image.

/// How a module comes into being: what its image must look like, and who loads and looks up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `cuModule*`: in the current context.
    Module,
    /// `cuLibrary*`, `cudaLibrary*`.
    Library,
}
