//! A table of coefficients, and the polynomial that they belong to.
//!
//! Owns how coefficients lie in memory. It must not know functions.

/// Coefficients of `N` intervals.
pub(super) struct Table<const N: usize> {
    /// The value at the beginning of each.
    pub(super) first: [u32; N],
    /// The factor of the place in the interval, 20 bits, and that of its square, 12.
    pub(super) factors: [i32; N],
}

impl<const N: usize> Table<N> {
    pub(super) const fn new(rows: [(u32, i32, i32); N]) -> Self {
        let mut table = Table { first: [0; N], factors: [0; N] };
        let mut n = 0;
        while n < N {
            table.first[n] = rows[n].0;
            table.factors[n] = rows[n].1 << 12 | rows[n].2 & 0xfff;
            n += 1;
        }
        table
    }

    /// The coefficients of an interval.
    #[inline(always)]
    pub(super) fn row(&self, interval: u32) -> Row {
        let interval = interval as usize % N;
        (self.first[interval], self.factors[interval])
    }
}

/// The value at the beginning of an interval, and the factors as a table has them.
pub type Row = (u32, i32);

/// The polynomial in an interval; the first coefficient and that of the square are shifted left.
#[inline(always)]
pub(super) fn sum(row: Row, place: u32, square: u32, [first, last]: [u32; 2]) -> i64 {
    let (b, c) = (row.1 >> 12, row.1 << 20 >> 20);
    (i64::from(row.0) << first)
        + i64::from(b) * i64::from(place)
        + (i64::from(c * square.cast_signed()) << last)
}
