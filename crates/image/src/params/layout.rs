//! How a kernel's parameters are laid out. Must not know who says so.

/// One parameter of a kernel, in bytes from the start of the parameter block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Param {
    /// Where it begins.
    pub offset: u32,
    /// Its size.
    pub size: u32,
}

/// What an image says of a parameter beside its place. Compilers write integers of both signs alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParamType {
    /// Nothing.
    #[default]
    Unknown,
    /// A number of 32 bits.
    Float,
    /// A number of 64 bits.
    Double,
    /// An integer with a sign.
    Signed,
    /// An address.
    Pointer,
}

/// A kernel's parameter block. Two are equal where parameters lie alike.
#[derive(Debug, Clone, Default)]
pub struct ParamLayout {
    /// Bytes in all, without trailing padding.
    pub size: u32,
    /// The parameters in their order in the source.
    pub params: Vec<Param>,
    /// What each is; empty where the image does not say (PTX says).
    pub types: Vec<ParamType>,
}

impl PartialEq for ParamLayout {
    fn eq(&self, other: &Self) -> bool {
        (self.size, &self.params) == (other.size, &other.params)
    }
}

impl Eq for ParamLayout {}
