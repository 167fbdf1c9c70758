//! Where modules come from.
//!
//! Must not know: modules.

/// How a module came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `__cudaRegisterFatBinary`.
    Registered,
    /// `cuModuleLoad` and the like.
    Module,
    /// `cudaLibraryLoadData`, `cuLibraryLoadData` and the like.
    Library,
    /// libomptarget, or cushim itself.
    Other,
}
