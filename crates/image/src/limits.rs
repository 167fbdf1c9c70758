//! Bounds on what a hostile image may cost its reader.

/// Upper bounds that every reader of this crate keeps. Exceeding one is an
/// [`Error::TooBig`](crate::error::Error::TooBig) that names the limit.
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
    /// How many times the bytes of an input may be read in all. A well-formed file needs one time
    /// for each level of its containers; tables that claim the same bytes again and again need
    /// more.
    pub max_looks: u64,
    /// Most bytes that all images of an input may unpack to together, per byte
    /// of the input and beyond [`Limits::TOTAL_FLOOR`].
    pub max_total_ratio: u64,
    /// Most bytes that all images of an input may unpack to together.
    pub max_total: u64,
}

impl Limits {
    /// Below this unpacked size the ratio is not checked.
    pub const RATIO_FLOOR: u64 = 64 << 20;
    /// The unpacked size allowed for any input.
    pub const TOTAL_FLOOR: u64 = 1 << 30;
    /// The defaults: 4 GiB an image, 1,000 to 1, a million items, 8 levels; bytes read 64 times,
    /// and 100 to 1 for all images of an input.
    pub const DEFAULT: Self = Self {
        max_image: 4 << 30,
        max_ratio: 1000,
        max_items: 1 << 20,
        max_depth: 8,
        max_looks: 64,
        max_total_ratio: 100,
        max_total: u64::MAX,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
