//! Memory that several processes share, and address ranges separate from memory: an optional interface of an
//! accelerator beside [`super::Accelerator`].
//!
//! Owns the trait. Memory is passed on as files ([`super::file`]); every address and size is a multiple of
//! [`Sharing::granule`]. Must not know: CUDA's handles, how processes find each other's files.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use super::failure::Failure;

/// What kernels and copies may do with mapped memory; more is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Nothing.
    None,
    /// Read it.
    Read,
    /// Read and write it.
    Write,
}

/// An interface to share and map memory.
pub trait Sharing: Send + Sync {
    /// The unit of every address and size here; a power of two.
    fn granule(&self) -> u64;

    /// Moves memory of [`super::Accelerator::allocate`] with its contents into a file; returns the
    /// file, and the allocation's offset in it. Allocations on one granule are in one file. No work
    /// is under way: the caller has waited, and blocks others.
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`], [`Failure::NotSupported`].
    fn share(&self, address: u64) -> Result<(Arc<OwnedFd>, u64), Failure>;

    /// Memory of a device that is a part of a file; [`super::Accelerator::free`] frees it.
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`].
    fn attach(&self, file: BorrowedFd<'_>, from: u64, bytes: u64) -> Result<u64, Failure>;

    /// Reserves addresses for later mappings, at `near` if free, aligned to `align` (a power of
    /// two, or 0).
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`].
    fn reserve(&self, bytes: u64, align: u64, near: u64) -> Result<u64, Failure>;

    /// Releases addresses of [`Sharing::reserve`]; nothing is mapped there.
    fn release(&self, address: u64);

    /// Maps a part of a file at reserved addresses, not accessible yet; `None`: unmaps what is
    /// there.
    ///
    /// # Errors
    /// [`Failure::InvalidAddress`] for addresses that were not reserved, [`Failure::OutOfMemory`].
    fn map(
        &self,
        address: u64,
        bytes: u64,
        file: Option<(BorrowedFd<'_>, u64)>,
    ) -> Result<(), Failure>;

    /// Lets mapped memory be accessed so from now on.
    ///
    /// # Errors
    /// As [`Sharing::map`].
    fn open(&self, address: u64, bytes: u64, access: Access) -> Result<(), Failure>;
}
