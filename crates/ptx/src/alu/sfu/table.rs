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

    /// The polynomial in an interval; the first coefficient and that of the square are shifted left.
    #[inline(always)]
    pub(super) fn sum(
        &self,
        interval: u32,
        place: u32,
        square: u32,
        [first, last]: [u32; 2],
    ) -> i64 {
        let interval = interval as usize % N;
        let factors = self.factors[interval];
        let (b, c) = (factors >> 12, factors << 20 >> 20);
        (i64::from(self.first[interval]) << first)
            + i64::from(b) * i64::from(place)
            + (i64::from(c * square.cast_signed()) << last)
    }
}
