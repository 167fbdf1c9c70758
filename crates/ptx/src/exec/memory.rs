//! Global and constant memory, as kernels access it.
//!
//! Owns the trait that an engine uses. Only the implementation knows where memory is.

use std::sync::atomic::{self, Ordering};

/// Nothing is mapped there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadAddress;

/// Global and constant memory, by the addresses kernels use.
///
/// Everything takes `&self`: an implementation that is `Sync` may be shared by
/// several interpreters.
pub trait Memory {
    /// Reads bytes.
    ///
    /// # Errors
    /// [`BadAddress`] where nothing is mapped.
    fn load(&self, address: u64, bytes: &mut [u8]) -> Result<(), BadAddress>;

    /// Writes bytes.
    ///
    /// # Errors
    /// [`BadAddress`] where nothing is mapped, or nothing may be written.
    fn store(&self, address: u64, bytes: &[u8]) -> Result<(), BadAddress>;

    /// Replaces a value of 2, 4 or 8 bytes atomically, and returns the old one.
    ///
    /// # Errors
    /// As [`Memory::store`].
    fn update(
        &self,
        address: u64,
        bytes: u32,
        new: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, BadAddress>;

    /// Replaces a pair of 8 bytes each atomically, and returns the old one.
    ///
    /// # Errors
    /// As [`Memory::store`], and where the address is no multiple of 16.
    fn update_pair(
        &self,
        address: u64,
        new: &mut dyn FnMut([u64; 2]) -> [u64; 2],
    ) -> Result<[u64; 2], BadAddress>;

    /// Orders earlier and later accesses for other threads of the process, on which other blocks run; `total`: in one
    /// order with all fences that are ([`crate::fence`]).
    fn fence(&self, total: bool) {
        atomic::fence(if total { Ordering::SeqCst } else { Ordering::AcqRel });
    }
}
