//! Accesses that code leaves to functions that preserve its registers, on processors with AVX2.
//!
//! Owns their numbers, and the scratch slots of their addresses and values.

/// A function, by its index in the table at [`super::Warp::together`]. Per-lane addresses are in slot 0, values to
/// store in slot 1, and loaded values go to slot [`Together::RESULTS`]. The functions may change the addresses of
/// inactive lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Together {
    LoadRow4,
    LoadRow8,
    StoreRow4,
    StoreRow8,
    Load4,
    Load8,
    LoadShared4,
    Store4,
    Store8,
    StoreShared4,
}

impl Together {
    pub(crate) const COUNT: usize = 10;
    /// After the operands of all accesses that have code.
    pub(crate) const RESULTS: usize = 5;
}
