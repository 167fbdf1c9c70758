//! Structures of hsakmttypes.h, filled field by field.
//!
//! Owns: writing values at offsets of a structure. The header packs its structures to four bytes; offsets are those
//! of version 5.2.3, and a test compiles the header and compares.

/// The bytes of a structure to be written.
pub struct Fields<const N: usize>([u8; N]);

impl<const N: usize> Default for Fields<N> {
    fn default() -> Fields<N> {
        Fields::new()
    }
}

impl<const N: usize> Fields<N> {
    /// All zero.
    pub fn new() -> Fields<N> {
        Fields([0; N])
    }

    fn put(mut self, at: usize, bytes: &[u8]) -> Fields<N> {
        if let Some(to) = self.0.get_mut(at..at + bytes.len()) {
            to.copy_from_slice(bytes);
        }
        self
    }

    /// A byte at an offset.
    pub fn u8(self, at: usize, value: u8) -> Fields<N> {
        self.put(at, &[value])
    }

    /// Two bytes at an offset.
    pub fn u16(self, at: usize, value: u16) -> Fields<N> {
        self.put(at, &value.to_le_bytes())
    }

    /// Four bytes at an offset.
    pub fn u32(self, at: usize, value: u32) -> Fields<N> {
        self.put(at, &value.to_le_bytes())
    }

    /// Eight bytes at an offset.
    pub fn u64(self, at: usize, value: u64) -> Fields<N> {
        self.put(at, &value.to_le_bytes())
    }

    /// ASCII.
    pub fn text(self, at: usize, text: &str) -> Fields<N> {
        self.put(at, text.as_bytes())
    }

    /// UTF-16.
    pub fn wide(self, at: usize, text: &str) -> Fields<N> {
        let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        self.put(at, &units)
    }

    /// Writes the structure. Errors: `to` is null.
    ///
    /// # Safety
    ///
    /// `to` is null or has room for the structure.
    pub unsafe fn write(self, to: *mut u8) -> crate::Status {
        if to.is_null() {
            return crate::Status::InvalidParameter;
        }
        // SAFETY: there is room, by the caller's promise; bytes have no alignment.
        unsafe { to.copy_from_nonoverlapping(self.0.as_ptr(), N) };
        crate::Status::Success
    }
}
