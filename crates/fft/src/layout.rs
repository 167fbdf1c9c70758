//! The layout of a transform's elements in the program's memory.
//!
//! Owns: the basic and the advanced layout. Source: cuFFT's documentation, "Data Layout" and "Advanced Data Layout".
//! Must not know: the computation.

use crate::kind::Kind;

/// The lengths of up to three dimensions, the slowest first; missing dimensions come first and are 1.
pub type Lengths = [u64; 3];

/// Bytes from an element to the next one of the batch and of each dimension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strides {
    /// To the next transform of the batch.
    pub batch: i64,
    /// To the next element of each dimension.
    pub of: [i64; 3],
}

/// The advanced layout of one side, in elements: storage dimensions as [`Lengths`], the distance from element to element, and
/// that from transform to transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Embed {
    /// The dimensions of the storage.
    pub lengths: [i64; 3],
    /// From an element of the last dimension to the next.
    pub stride: i64,
    /// From a transform to the next.
    pub distance: i64,
}

/// Which side of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The elements to transform.
    Input,
    /// The result.
    Output,
}

impl Embed {
    /// Strides in bytes, of elements with `size` bytes; none where they overflow.
    pub fn strides(&self, size: u64) -> Option<Strides> {
        let size = i64::try_from(size).ok()?;
        let [_, middle, last] = self.lengths;
        let fast = self.stride.checked_mul(size)?;
        let second = fast.checked_mul(last)?;
        let slow = second.checked_mul(middle)?;
        Some(Strides { batch: self.distance.checked_mul(size)?, of: [slow, second, fast] })
    }
}

/// The basic layout of one side. Elements are contiguous; a side with the half of a symmetric transform has `n / 2 +
/// 1` of them in the last dimension, and real numbers have room for that if input and output are the same memory.
pub fn basic(kind: Kind, lengths: Lengths, side: Side, in_place: bool) -> Option<Strides> {
    let [slow, middle, last] = lengths;
    let ([input, output], sizes) = (kind.complex(), kind.sizes());
    let (complex, size) = match side {
        Side::Input => (input, sizes[0]),
        Side::Output => (output, sizes[1]),
    };
    let half = last / 2 + 1;
    let last = match (input && output, complex) {
        (true, _) => last,
        (false, true) => half,
        (false, false) if in_place => 2 * half,
        (false, false) => last,
    };
    let signed = |value: u64| i64::try_from(value).ok();
    let distance = slow.checked_mul(middle)?.checked_mul(last)?;
    let embed = Embed {
        lengths: [signed(slow)?, signed(middle)?, signed(last)?],
        stride: 1,
        distance: signed(distance)?,
    };
    embed.strides(size)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::kind::{Map, Part};

    const REAL: Kind = Kind { map: Map::FromReal, part: Part::F64 };

    #[test]
    fn real_numbers_have_room_for_their_transform_in_place() {
        let input = |in_place| basic(REAL, [1, 3, 5], Side::Input, in_place).unwrap();
        assert_eq!(input(false), Strides { batch: 15 * 8, of: [15 * 8, 5 * 8, 8] });
        assert_eq!(input(true), Strides { batch: 18 * 8, of: [18 * 8, 6 * 8, 8] });
        let output = basic(REAL, [1, 3, 5], Side::Output, false).unwrap();
        assert_eq!(output, Strides { batch: 9 * 16, of: [9 * 16, 3 * 16, 16] });
        assert_eq!(basic(REAL, [1, 3, 5], Side::Output, true), Some(output));
    }

    #[test]
    fn sizes_do_not_overflow() {
        let wide = Embed { lengths: [1, i64::MAX / 8, 4], stride: 1, distance: 1 };
        assert_eq!(wide.strides(8), None);
        assert_eq!(basic(REAL, [u64::MAX, 2, 2], Side::Input, false), None);
    }
}
