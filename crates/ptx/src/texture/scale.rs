//! The representation of a channel's values while they are summed.

/// Parts of a unit that fractions have while they are summed.
pub const EIGHTHS: i64 = 8;

/// What a channel's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Bits of `f32`.
    Single,
    /// The same, for halves.
    Half,
    /// Integers, in eighths of the unit of which so many are 1.
    Fraction(u32),
}
