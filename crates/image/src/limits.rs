//! How much a hostile image may cost its reader.

/// Upper bounds that every reader of this crate keeps. Exceeding one is an
/// [`Error::TooBig`](crate::Error::TooBig) that names the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes one image may unpack to, and most bytes a header may claim.
    pub max_image: u64,
    /// Most bytes out per byte in, checked only for images that would unpack
    /// to more than [`Limits::RATIO_FLOOR`]: a small image of zeros is
    /// harmless and real (an initialised `__device__` array).
    pub max_ratio: u64,
    /// Most elements of any one table: entries of a fat binary, kernels of a
    /// cubin, parameters of a kernel, entries of a bundle.
    pub max_items: usize,
    /// How deep containers may nest (archive > object > bundle > fatbin > group).
    pub max_depth: u32,
}

impl Limits {
    /// Below this unpacked size the ratio is not checked.
    pub const RATIO_FLOOR: u64 = 64 << 20;
    /// The defaults: 4 GiB an image, 1,000 to 1, a million items, 8 levels.
    pub const DEFAULT: Self =
        Self { max_image: 4 << 30, max_ratio: 1000, max_items: 1 << 20, max_depth: 8 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
