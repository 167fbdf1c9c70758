//! A table of coefficients, and their polynomial.
//!
//! Owns the layout of coefficients in memory, the square of the offset in the interval, and the sum. Must not know
//! functions.

/// Coefficients of `N` intervals.
pub(super) struct Table<const N: usize> {
    /// The value at the beginning of each.
    pub(super) first: [u32; N],
    /// The factor of the offset in the interval, 20 bits, and that of its square, 12.
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

    /// The inputs of the polynomial: an interval, and an offset of 17 bits in it.
    #[inline(always)]
    pub(super) fn row(&self, interval: u32, place: u32) -> Row {
        let both = self.both[interval as usize % N];
        Row { first: both as u32, factors: (both >> 32) as i32, square: square(place) }
    }
}

/// The inputs of the polynomial besides the offset: the value at the start of an interval, the factors as a table has
/// them, and the unit's square of the offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The value at the beginning.
    pub first: u32,
    /// The factor of the offset, the upper 20 bits, and that of its square, 12.
    pub factors: i32,
    /// The square, cut off as the unit does.
    pub square: u32,
}

/// The upper 16 bits of the square of 17, of which the partial products below the 18th column are left out.
#[inline(always)]
pub(super) fn square(x: u32) -> u32 {
    // All products of the upper 8 bits are included, none of the lower 9; of the mixed products, twice this triangle.
    let (upper, lower) = (x >> 9, x >> 2 & 0x7f);
    let mut sum = 0;
    for k in 0..7 {
        sum += (lower >> (6 - k)) & 0u32.wrapping_sub(upper >> (k + 1) & 1);
    }
    ((upper * upper) >> 1) + sum
}

/// The polynomial in an interval; the first coefficient and that of the square are shifted left.
#[inline(always)]
pub(super) fn sum(row: Row, place: u32, [first, last]: [u32; 2]) -> i64 {
    let (b, c) = (row.factors >> 12, row.factors << 20 >> 20);
    (i64::from(row.first) << first)
        + i64::from(b) * i64::from(place)
        + (i64::from(c * row.square.cast_signed()) << last)
}

/// Low bits that are added separately in [`narrow_sum`].
const BELOW: u32 = 10;

/// `(sum + round) >> right`, for a sum below 2^41 and at most 16 truncated bits, in 32-bit arithmetic: the lower ten
/// bits of the offset's factor, the square and `round` make one sum, whose carry beyond ten bits is added to the
/// other.
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
