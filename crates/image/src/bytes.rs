//! Checked little-endian reads. Owns bounds checking and nothing else: it must
//! not know any format.
//!
//! Everything here is safe code on unaligned bytes; on the targets that run
//! CUDA the compiler turns each read into one load and one comparison.

use crate::error::{Error, Result};

/// A slice with its offset and a description, for error messages.
#[derive(Debug, Clone, Copy)]
pub struct Bytes<'a> {
    data: &'a [u8],
    base: u64,
    what: &'static str,
}

impl<'a> Bytes<'a> {
    /// Wraps `data`, which begins at offset `base` of the outermost bytes.
    pub fn new(data: &'a [u8], base: u64, what: &'static str) -> Self {
        Self { data, base, what }
    }

    /// The bytes themselves.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// Offset of the first byte in the outermost bytes.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// `len` bytes from `at`.
    pub fn slice(&self, at: u64, len: u64) -> Result<&'a [u8]> {
        let end = at.checked_add(len).filter(|&end| end <= self.data.len() as u64);
        match end {
            Some(end) => Ok(self.data.get(at as usize..end as usize).unwrap_or_default()),
            None => Err(Error::Truncated {
                what: self.what,
                at: self.base.saturating_add(at),
                need: len,
                have: (self.data.len() as u64).saturating_sub(at),
            }),
        }
    }

    /// The part of `len` bytes from `at`, with a new description.
    pub fn part(&self, at: u64, len: u64, what: &'static str) -> Result<Bytes<'a>> {
        let data = Bytes { what, ..*self }.slice(at, len)?;
        Ok(Bytes { data, base: self.base + at, what })
    }

    fn array<const N: usize>(&self, at: u64) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.slice(at, N as u64)?);
        Ok(out)
    }

    /// One byte.
    pub fn u8(&self, at: u64) -> Result<u8> {
        Ok(self.array::<1>(at)?[0])
    }

    /// A little-endian `u16`.
    pub fn u16(&self, at: u64) -> Result<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    /// A little-endian `u32`.
    pub fn u32(&self, at: u64) -> Result<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    /// A little-endian `u64`.
    pub fn u64(&self, at: u64) -> Result<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    /// The error for a field of this structure.
    pub fn field(
        &self,
        at: u64,
        field: &'static str,
        found: u64,
        expected: impl Into<String>,
    ) -> Error {
        let at = self.base.saturating_add(at);
        Error::Field { what: self.what, field, at, found, expected: expected.into() }
    }
}

/// `value` rounded up to a multiple of `to`, a power of two.
pub fn align_up(value: u64, to: u64) -> u64 {
    value.saturating_add(to - 1) & !(to - 1)
}

/// How many zero bytes `data` begins with.
pub fn zeros(data: &[u8]) -> usize {
    const STEP: usize = 64;
    let whole = data.chunks_exact(STEP).take_while(|chunk| **chunk == [0; STEP]).count() * STEP;
    whole + data.get(whole..).unwrap_or_default().iter().take_while(|&&byte| byte == 0).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_zeros() {
        for length in [0, 1, 63, 64, 65, 200] {
            let mut data = vec![0; length];
            assert_eq!(zeros(&data), length);
            data.extend_from_slice(&[1, 0, 0]);
            assert_eq!(zeros(&data), length);
        }
    }

    #[test]
    fn reads_are_checked() {
        let bytes = Bytes::new(&[1, 2, 3, 4], 0x10, "test");
        assert_eq!(bytes.u16(1), Ok(0x0302));
        assert_eq!(
            bytes.u32(u64::MAX).unwrap_err().to_string(),
            "test at offset 0xffffffffffffffff: needs 4 bytes, found 0"
        );
        assert_eq!(
            bytes.u32(1).unwrap_err().to_string(),
            "test at offset 0x11: needs 4 bytes, found 3"
        );
        assert_eq!((align_up(0, 8), align_up(9, 8), align_up(u64::MAX, 8)), (0, 16, !7));
    }
}
