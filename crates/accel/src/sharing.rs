//! Memory that several processes have, and addresses apart from memory: what an accelerator may offer beside
//! [`super::Accelerator`].
//!
//! Owns the trait. Memory is handed on as files of ours ([`super::file`]); every place and size is a multiple of
//! [`Sharing::granule`]. Must not know: CUDA's handles, how processes find each other's files.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use super::failure::Failure;

/// What can be shared and mapped.
pub trait Sharing: Send + Sync {
    /// Bytes that every place and size here is a multiple of; a power of two.
    fn granule(&self) -> u64;

    /// Makes what [`super::Accelerator::allocate`] gave a part of a file, and keeps what is in it: the file, and where
    /// in it the allocation lies. What lies on one granule is in one file. Nothing is under way: the caller has
    /// waited, and holds others up.
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`], [`Failure::NotSupported`].
    fn share(&self, address: u64) -> Result<(Arc<OwnedFd>, u64), Failure>;

    /// Memory of a device that is a part of a file; [`super::Accelerator::free`] gives it back.
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`].
    fn attach(&self, file: BorrowedFd<'_>, from: u64, bytes: u64) -> Result<u64, Failure>;

    /// Addresses for what is mapped later, at `near` where nothing is, aligned to `align` (a power of two, or 0).
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`].
    fn reserve(&self, bytes: u64, align: u64, near: u64) -> Result<u64, Failure>;

    /// Gives back what [`Sharing::reserve`] gave; nothing is mapped there.
    fn release(&self, address: u64);

    /// Maps a part of a file at reserved addresses, where nobody can touch it yet; `None`: takes away what is there.
    ///
    /// # Errors
    /// [`Failure::InvalidAddress`] for addresses that were not reserved, [`Failure::OutOfMemory`].
    fn map(
        &self,
        address: u64,
        bytes: u64,
        file: Option<(BorrowedFd<'_>, u64)>,
    ) -> Result<(), Failure>;

    /// Lets what is mapped be touched, or no more.
    ///
    /// # Errors
    /// As [`Sharing::map`].
    fn open(&self, address: u64, bytes: u64, open: bool) -> Result<(), Failure>;
}
