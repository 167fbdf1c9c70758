//! Pools that several processes share.
//!
//! Owns the functions that export a pool and its allocations. A process with the pool's file can map all of it; an
//! allocation is identified by its offset there. Source: CUDA Driver API,
//! `cuMemPoolExportToShareableHandle`, `cuMemPoolExportPointer`. Must not know: when memory is free.

use std::os::fd::{AsFd, BorrowedFd};

use cushim_abi::types::*;

use super::Source;
use super::ipc::{self, Handle, What};
use super::physical::{DESCRIPTOR, descriptor};
use super::pool::{POOLS, Pool, by_handle};
use super::pool_file::{Backing, WHAT};
use crate::argument::{At, In};
use crate::context::current;
use crate::device::device;
use crate::entry::entry;
use crate::state::{check, give, sharing};
use crate::status;
use cushim_accel::file;

/// The device of a pool's file.
fn owner(known: &file::Known) -> Option<usize> {
    let number: i32 = known.what.strip_prefix(WHAT)?.strip_prefix('-')?.parse().ok()?;
    device(Device(number)).ok()?;
    usize::try_from(number).ok()
}

fn import(number: i32) -> Option<usize> {
    // SAFETY: only examined and copied during the call.
    let theirs = (number >= 0).then(|| unsafe { BorrowedFd::borrow_raw(number) })?;
    let device = owner(&file::known(theirs)?)?;
    let backing = Backing::of(theirs.try_clone_to_owned().ok()?, true)?;
    Some(crate::handle::handle(&Pool::shared(device, backing, 0)))
}

/// Checks the kind of a handle: only descriptors are supported.
fn kind(kind: i32, flags: Flags64) -> Result<(), i32> {
    match (kind, flags.0) {
        (DESCRIPTOR, 0) => Ok(()),
        (8, 0) => Err(status::NOT_SUPPORTED),
        _ => Err(status::INVALID_VALUE),
    }
}

fn import_pointer(pool: Ptr, data: [u8; 64]) -> Result<u64, i32> {
    let context = current()?;
    let object = by_handle(pool)?;
    let backing = object.backing().filter(|backing| backing.imported);
    let backing = backing.ok_or(status::INVALID_VALUE)?;
    let found = Handle::read(data, What::Pool)?;
    if found.secret() != backing.secret {
        return Err(status::INVALID_VALUE);
    }
    let sharing = sharing("cuMemPoolImportPointer")?;
    let (first, length, inner) = found.granules(sharing.granule(), backing.bytes)?;
    if inner != 0 {
        return Err(status::INVALID_VALUE);
    }
    let base = sharing.attach(backing.file.as_fd(), first, length);
    let base = base.map_err(|failure| status::of(&failure))?;
    ipc::note(&context, Source::Pool, (base, found.bytes as usize), object.device, pool.0);
    Ok(base)
}

entry! {
    fn cuMemPoolExportToShareableHandle (handle_out: At<i32>, pool: Ptr, handleType: i32, flags: Flags64) {
        let pool = by_handle(pool)?;
        let backing = pool.backing().filter(|backing| !backing.imported);
        let backing = backing.filter(|_| !handle_out.is_null()).ok_or(status::INVALID_VALUE)?;
        kind(handleType, flags)?;
        give(handle_out, descriptor(backing.file.as_fd())?)
    }

    fn cuMemPoolImportFromShareableHandle (pool_out: Out<Ptr>, handle: Ptr, handleType: i32, flags: Flags64) {
        check()?;
        if pool_out.is_null() {
            return Err(status::INVALID_VALUE);
        }
        kind(handleType, flags)?;
        sharing("cuMemPoolImportFromShareableHandle")?;
        let number = i32::try_from(handle.0).map_err(|_| status::INVALID_VALUE)?;
        give(pool_out, Ptr(import(number).ok_or(status::INVALID_VALUE)?))
    }

    fn cuMemPoolExportPointer (shareData_out: At<Handle>, ptr: Ptr) {
        check()?;
        let range = super::find(ptr.0 as u64);
        let range = range.filter(|range| range.source == Source::Pool && range.base == ptr.0 as u64);
        let range = range.filter(|_| !shareData_out.is_null()).ok_or(status::INVALID_VALUE)?;
        let pool = POOLS.get(range.pool).ok_or(status::INVALID_VALUE)?;
        let backing = pool.backing().filter(|backing| !backing.imported);
        let backing = backing.ok_or(status::INVALID_VALUE)?;
        let (from, _) = backing.place(range.base).ok_or(status::INVALID_VALUE)?;
        let mut made = Handle::new(What::Pool, &backing.file)?;
        (made.from, made.bytes) = (from, range.bytes as u64);
        give(shareData_out, made)
    }

    fn cuMemPoolImportPointer (ptr_out: Out<Ptr>, pool: Ptr, shareData: In<[u8; 64]>) {
        check()?;
        if ptr_out.is_null() {
            return Err(status::INVALID_VALUE);
        }
        give(ptr_out, Ptr(import_pointer(pool, shareData.read()?)? as usize))
    }
}
