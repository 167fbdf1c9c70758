//! A table of coefficients, and the polynomial that they belong to.
//!
//! Owns how coefficients lie in memory. It must not know functions.

/// Coefficients of `N` intervals.
pub(super) struct Table<const N: usize> {
    /// The value at the beginning of each.
    pub(super) first: [u32; N],
    /// The factor of the place in the interval, 20 bits, and that of its square, 12.
    pub(super) factors: [i32; N],
    /// Both, for who loads them by one load: the value is in the lower half.
    pub(super) both: [u64; N],
}

impl<const N: usize> Table<N> {
    pub(super) const fn new(rows: [(u32, i32, i32); N]) -> Self {
        let mut table = Table { first: [0; N], factors: [0; N], both: [0; N] };
        let mut n = 0;
        while n < N {
            let (first, factors) = (rows[n].0, rows[n].1 << 12 | rows[n].2 & 0xfff);
            table.first[n] = first;
            table.factors[n] = factors;
            table.both[n] = (factors.cast_unsigned() as u64) << 32 | first as u64;
            n += 1;
        }
        table
    }

    /// What the polynomial takes in an interval, at a place of 17 bits.
    #[inline(always)]
    pub(super) fn row(&self, interval: u32, place: u32) -> Row {
        let both = self.both[interval as usize % N];
        Row { first: both as u32, factors: (both >> 32) as i32, square: super::square(place) }
    }
}

/// What a polynomial takes beside the place: the value at the beginning of an interval, the factors as a table has them, and the
/// unit's square of the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The value at the beginning.
    pub first: u32,
    /// The factor of the place, the upper 20 bits, and that of its square, 12.
    pub factors: i32,
    /// The square, cut off as the unit does.
    pub square: u32,
}

/// The polynomial in an interval; the first coefficient and that of the square are shifted left.
#[inline(always)]
pub(super) fn sum(row: Row, place: u32, [first, last]: [u32; 2]) -> i64 {
    let (b, c) = (row.factors >> 12, row.factors << 20 >> 20);
    (i64::from(row.first) << first)
        + i64::from(b) * i64::from(place)
        + (i64::from(c * row.square.cast_signed()) << last)
}

/// Bits that are added up by themselves in [`narrow_sum`].
const BELOW: u32 = 10;

/// `(sum + round) >> right`, of a sum below 2^41 and 16 bits to be cut off at most, in numbers of 32 bits: the lower ten bits of the factor of the
/// place, the square and `round` make one sum, of which what is above ten bits is carried to the other.
#[inline(always)]
pub(super) fn narrow_sum(
    row: Row,
    place: u32,
    [first, last]: [u32; 2],
    round: i32,
    right: u32,
) -> u32 {
    let place = place.cast_signed();
    let (upper, lower) = (row.factors >> (12 + BELOW), row.factors >> 12 & ((1 << BELOW) - 1));
    let c = row.factors << 20 >> 20;
    let below = lower * place + ((c * row.square.cast_signed()) << last) + round;
    let v = (row.first << (first - BELOW)).cast_signed() + upper * place + (below >> BELOW);
    (v >> (right - BELOW)).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::super::tables::{EX2, RCP, RSQRT, SQRT};
    use super::*;

    /// In 32 bits, all places of all intervals give what 64 bits do.
    #[test]
    fn no_place_has_another_fraction() {
        fn all<const N: usize>(
            table: &Table<N>,
            places: u32,
            shifts: [u32; 2],
            round: i32,
            right: u32,
        ) {
            for interval in 0..N as u32 {
                for place in 0..places {
                    let row = table.row(interval, place * ((1 << 17) / places));
                    let wide = (sum(row, place, shifts) + i64::from(round)) >> right;
                    assert_eq!(
                        i64::from(narrow_sum(row, place, shifts, round, right)),
                        wide,
                        "{interval} {place}"
                    );
                }
            }
        }
        all(&RCP, 1 << 16, [13, 0], 0x47e7, 15);
        all(&RSQRT, 1 << 17, [14, 2], 0x7fff, 16);
        all(&SQRT, 1 << 17, [15, 0], 0xffff, 17);
        all(&EX2, 1 << 17, [13, 0], 0x77e2, 15);
    }
}
