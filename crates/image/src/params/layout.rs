//! How a kernel's parameters are laid out. Must not know who says so.

/// One parameter of a kernel, in bytes from the start of the parameter block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Param {
    /// Where it begins.
    pub offset: u32,
    /// Its size.
    pub size: u32,
}

/// A kernel's parameter block.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ParamLayout {
    /// Bytes in all, without trailing padding.
    pub size: u32,
    /// The parameters in their order in the source.
    pub params: Vec<Param>,
}
