//! A limit on the work that an input may cause: counted, not timed.
//!
//! Owns the bound that makes every reader linear. Tables of a hostile file may claim the same bytes again and again,
//! each claim within bounds. So a reader charges the bytes that it reads, copies or unpacks, and stops with
//! [`Error::TooBig`] if they are many times more than its input. Must not know any format.

use crate::error::{Error, Result};
use crate::limits::Limits;

/// The remaining work of a reader.
#[derive(Debug, Clone)]
pub struct Work {
    limit: u64,
    spent: u64,
    unpack_limit: u64,
    unpacked: u64,
}

impl Work {
    /// Bytes that may be read beyond the multiple: small inputs are cheap.
    const FLOOR: u64 = 64 << 10;

    /// For an input of `length` bytes.
    pub fn new(length: usize, limits: &Limits) -> Self {
        let length = length as u64;
        Self {
            limit: length.saturating_mul(limits.max_looks).saturating_add(Self::FLOOR),
            spent: 0,
            unpack_limit: length
                .saturating_mul(limits.max_total_ratio)
                .saturating_add(Limits::TOTAL_FLOOR)
                .min(limits.max_total),
            unpacked: 0,
        }
    }

    /// Bytes charged by [`Work::look`] until now.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Bytes charged by [`Work::unpack`] until now.
    pub fn unpacked(&self) -> u64 {
        self.unpacked
    }

    /// Bytes that may still be unpacked.
    pub fn unpackable(&self) -> u64 {
        self.unpack_limit.saturating_sub(self.unpacked)
    }

    /// Whether nothing is left.
    pub fn is_over(&self) -> bool {
        self.spent > self.limit
    }

    /// Charges `bytes` that are about to be read or copied, from `at`.
    ///
    /// # Errors
    /// [`Error::TooBig`] once the sum is over `max_looks` times the input.
    pub fn look(&mut self, bytes: u64, at: u64) -> Result<()> {
        if !self.is_over() {
            self.spent = self.spent.saturating_add(bytes);
        }
        if !self.is_over() {
            return Ok(());
        }
        let (what, found, limit) = ("bytes claimed again and again", self.spent, self.limit);
        Err(Error::TooBig { what, at, found, limit, name: "max_looks" })
    }

    /// Charges `bytes` that are about to be unpacked from `at`; they may be read as often as the
    /// input's.
    ///
    /// # Errors
    /// [`Error::TooBig`] (`max_total`) once the sum is over that, or over
    /// `max_total_ratio` times the input.
    pub fn unpack(&mut self, bytes: u64, at: u64, limits: &Limits) -> Result<()> {
        let found = self.unpacked.saturating_add(bytes);
        let limit = self.unpack_limit;
        if found > limit {
            let what = "unpacked images together";
            return Err(Error::TooBig { what, at, found, limit, name: "max_total" });
        }
        self.unpacked = found;
        self.limit = self.limit.saturating_add(bytes.saturating_mul(limits.max_looks));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_the_bound_is_refused_and_stays_so() {
        let limits = Limits { max_looks: 2, max_total_ratio: 10, ..Limits::DEFAULT };
        let mut work = Work::new(1000, &limits);
        assert_eq!(work.look(2000 + Work::FLOOR, 0), Ok(()));
        let error = work.look(1, 7).unwrap_err();
        assert!(matches!(error, Error::TooBig { name: "max_looks", at: 7, .. }), "{error}");
        assert!(work.is_over() && work.look(0, 0).is_err());

        let mut work = Work::new(1000, &limits);
        let most = 10_000 + Limits::TOTAL_FLOOR;
        assert_eq!(work.unpackable(), most);
        assert_eq!(work.unpack(most, 0, &limits), Ok(()));
        let error = work.unpack(1, 0, &limits).unwrap_err();
        assert!(matches!(error, Error::TooBig { name: "max_total", .. }), "{error}");
        // Unpacked bytes may be read, too.
        assert_eq!(work.look(2 * most, 0), Ok(()));

        let limits = Limits { max_total: 5, ..limits };
        let error = Work::new(1000, &limits).unpack(6, 0, &limits).unwrap_err();
        assert!(matches!(error, Error::TooBig { name: "max_total", .. }), "{error}");
    }
}
