//! The data that the special function unit's polynomials need, for all lanes.
//!
//! Owns its layout. Must not know where the data comes from.

use super::singles::Lanes;
use cushim_ptx::alu::sfu::Row;

/// What the polynomials of lanes take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    pub(super) first: Lanes,
    pub(super) factors: [i32; 32],
    pub(super) square: Lanes,
}

impl Rows {
    /// The row of a lane.
    #[inline(always)]
    pub(super) fn row(&self, lane: usize) -> Row {
        Row { first: self.first[lane], factors: self.factors[lane], square: self.square[lane] }
    }
}
