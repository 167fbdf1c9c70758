//! Plain memory: bytes from an address on, for one thread.
//!
//! Owns such memory, for running kernels without a device: tests and tools. Must not know its contents.

use std::cell::{Ref, RefCell};

use super::memory::{BadAddress, Memory};

/// Bytes from an address on.
#[derive(Debug)]
pub struct PlainMemory {
    base: u64,
    bytes: RefCell<Vec<u8>>,
}

impl PlainMemory {
    /// These bytes, the first of them at `base`.
    pub fn new(base: u64, bytes: Vec<u8>) -> PlainMemory {
        PlainMemory { base, bytes: RefCell::new(bytes) }
    }

    /// Appends `bytes` zeros, at a multiple of `align`; returns their address.
    pub fn grow(&self, bytes: u64, align: usize) -> u64 {
        let mut all = self.bytes.borrow_mut();
        let at = all.len().next_multiple_of(align.max(1));
        all.resize(at + bytes as usize, 0);
        self.base + at as u64
    }

    /// All of it.
    pub fn bytes(&self) -> Ref<'_, [u8]> {
        Ref::map(self.bytes.borrow(), Vec::as_slice)
    }

    /// Where `bytes` from an address on stand.
    fn place(&self, address: u64, bytes: usize) -> Result<std::ops::Range<usize>, BadAddress> {
        let start = address.checked_sub(self.base).ok_or(BadAddress)?;
        let start = usize::try_from(start).map_err(|_| BadAddress)?;
        Ok(start..start.checked_add(bytes).ok_or(BadAddress)?)
    }
}

impl Memory for PlainMemory {
    fn load(&self, address: u64, bytes: &mut [u8]) -> Result<(), BadAddress> {
        let place = self.place(address, bytes.len())?;
        bytes.copy_from_slice(self.bytes.borrow().get(place).ok_or(BadAddress)?);
        Ok(())
    }

    fn store(&self, address: u64, bytes: &[u8]) -> Result<(), BadAddress> {
        let place = self.place(address, bytes.len())?;
        self.bytes.borrow_mut().get_mut(place).ok_or(BadAddress)?.copy_from_slice(bytes);
        Ok(())
    }

    fn update(
        &self,
        address: u64,
        bytes: u32,
        new: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, BadAddress> {
        let mut word = [0; 8];
        let bytes = word.get_mut(..bytes as usize).ok_or(BadAddress)?;
        self.load(address, bytes)?;
        let count = bytes.len();
        let old = u64::from_le_bytes(word);
        let new = new(old).to_le_bytes();
        self.store(address, new.get(..count).ok_or(BadAddress)?)?;
        Ok(old)
    }

    fn update_pair(
        &self,
        address: u64,
        new: &mut dyn FnMut([u64; 2]) -> [u64; 2],
    ) -> Result<[u64; 2], BadAddress> {
        let mut words = [[0; 8]; 2];
        self.load(address, words.as_flattened_mut())?;
        let old = words.map(u64::from_le_bytes);
        self.store(address, new(old).map(u64::to_le_bytes).as_flattened())?;
        Ok(old)
    }
}
