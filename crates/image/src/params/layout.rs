//! The layout of a kernel's parameters. Must not know the image that it came from.

/// One parameter of a kernel, in bytes from the start of the parameter block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Param {
    /// Where it begins.
    pub offset: u32,
    /// Its size.
    pub size: u32,
}

/// The type of a parameter, as far as the image tells. Compilers do not distinguish signed and
/// unsigned integers.
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

/// A kernel's parameter block. Two are equal if their parameters have the same layout.
#[derive(Debug, Clone, Default)]
pub struct ParamLayout {
    /// Bytes in all, without trailing padding.
    pub size: u32,
    /// The parameters in their order in the source.
    pub params: Vec<Param>,
    /// The type of each; empty where the image does not say (only PTX does).
    pub types: Vec<ParamType>,
}

impl PartialEq for ParamLayout {
    fn eq(&self, other: &Self) -> bool {
        (self.size, &self.params) == (other.size, &other.params)
    }
}

impl Eq for ParamLayout {}
