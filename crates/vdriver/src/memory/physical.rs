//! Physical memory without an address: created, counted, exported to other processes, released.
//!
//! Owns its handles and properties. The memory stays as long as a handle or a mapping uses it, in this process or
//! another. Source: CUDA Driver API, "Virtual Memory Management" (`cuMemCreate`, `cuMemRelease`,
//! `cuMemExportToShareableHandle`). Must not know: where it is mapped ([`super::mapped`]).

use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cushim_abi::types::*;

use crate::argument::At;
use crate::device::device;
use crate::entry::entry;
use crate::handle::{Handles, handle};
use crate::state::{check, give, sharing, take};
use crate::status;
use cushim_accel::file;
use cushim_accel::locks::lock;

/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
pub const DESCRIPTOR: i32 = 1;
/// The purpose in the names of such memory's files.
const WHAT: &str = "physical";
/// `CU_MEM_LOCATION_TYPE_DEVICE`.
pub const ON_DEVICE: i32 = 1;

/// Where memory is: `CUmemLocation`.
pub type Location = [i32; 2];

/// Memory.
pub struct Physical {
    /// `CUmemLocation`.
    pub location: Location,
    /// Its size.
    pub bytes: u64,
    file: OwnedFd,
    /// `CUmemAllocationHandleType` that it may be exported as.
    exported: i32,
    /// Made by this process, and counted as used.
    own: bool,
    /// References of its handle; 0: the handle is invalid.
    references: Mutex<u64>,
}

static ALL: Handles<Physical> = Handles::new();

impl Physical {
    fn counted(&self) -> Option<&'static AtomicU64> {
        let [kind, id] = self.location;
        if self.own && kind == ON_DEVICE { super::count(usize::try_from(id).ok()?) } else { None }
    }

    /// Its file.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Returns its handle with one more reference.
    pub fn retain(self: &Arc<Self>) -> usize {
        let mut references = lock(&self.references);
        *references += 1;
        if *references == 1 {
            ALL.add(self.clone());
        }
        handle(self)
    }

    fn release(self: &Arc<Self>) {
        let mut references = lock(&self.references);
        *references = references.saturating_sub(1);
        if *references == 0 {
            ALL.remove(handle(self));
        }
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        if let Some(used) = self.counted() {
            used.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

/// The memory of a handle.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE, and those of [`check`].
pub fn by_handle(handle: Ptr) -> Result<Arc<Physical>, i32> {
    check()?;
    ALL.get(handle.0).ok_or(status::INVALID_VALUE)
}

/// The contents of a `CUmemAllocationProp`.
struct Asked {
    location: Location,
    exported: i32,
}

/// Reads `CUmemAllocationProp`: type, handle types, location (type, id), Windows metadata, flags
/// (compression, GPUDirect, usage).
///
/// # Safety
/// `from` is null or a `CUmemAllocationProp`.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_DEVICE; CUDA_ERROR_NOT_SUPPORTED for features that
/// this device lacks.
unsafe fn asked(from: Ptr) -> Result<Asked, i32> {
    // SAFETY: null, which the first `take` refuses, or a CUmemAllocationProp, of which these are fields.
    let ([kind, exported, place, id], metadata, flags): ([i32; 4], u64, u64) =
        unsafe { (take(from)?, take(Ptr(from.0 + 16))?, take(Ptr(from.0 + 24))?) };
    match kind {
        // CU_MEM_ALLOCATION_TYPE_PINNED.
        1 if metadata == 0 => {}
        // Managed memory.
        2 => return Err(status::NOT_SUPPORTED),
        _ => return Err(status::INVALID_VALUE),
    }
    match exported {
        0 | DESCRIPTOR => {}
        // Fabric handles.
        8 | 9 => return Err(status::NOT_SUPPORTED),
        _ => return Err(status::INVALID_VALUE),
    }
    match place {
        ON_DEVICE => device(Device(id)).map(drop)?,
        // The host; it has only one node.
        2 if exported == 0 => {}
        3 if id == 0 => {}
        _ => return Err(status::INVALID_VALUE),
    }
    // Compression is only a hint; GPUDirect, tile pools and decompression are not supported.
    if flags & 0xffff_ff00 != 0 {
        return Err(status::NOT_SUPPORTED);
    }
    if flags & 0xff > 1 || flags >> 32 != 0 {
        return Err(status::INVALID_VALUE);
    }
    Ok(Asked { location: [place, if place == 2 { 0 } else { id }], exported })
}

fn make(asked: &Asked, bytes: u64) -> Result<Arc<Physical>, i32> {
    let Asked { location, exported } = *asked;
    let number = location[1] as usize;
    if location[0] == ON_DEVICE && !super::take::has(number, bytes) {
        return Err(status::OUT_OF_MEMORY);
    }
    let what = format!("{WHAT}-{}-{}", location[0], location[1]);
    let file = file::create(&what, bytes).ok_or(status::OUT_OF_MEMORY)?;
    let references = Mutex::new(0);
    let made = Physical { location, bytes, file, exported, own: true, references };
    if let Some(used) = made.counted() {
        used.fetch_add(bytes, Ordering::Relaxed);
    }
    Ok(Arc::new(made))
}

/// Memory of a descriptor that the program passes and keeps.
fn import(number: i32, granule: u64) -> Option<Arc<Physical>> {
    // SAFETY: only examined and copied during the call.
    let theirs = (number >= 0).then(|| unsafe { BorrowedFd::borrow_raw(number) })?;
    let known = file::known(theirs)?;
    let (kind, id) = known.what.strip_prefix(WHAT)?.strip_prefix('-')?.split_once('-')?;
    let location = [kind.parse().ok()?, id.parse().ok()?];
    let there = match location {
        [ON_DEVICE, id] => device(Device(id)).is_ok(),
        [2 | 3, 0] => true,
        _ => false,
    };
    if !there || known.bytes == 0 || !known.bytes.is_multiple_of(granule) {
        return None;
    }
    let (file, references) = (theirs.try_clone_to_owned().ok()?, Mutex::new(0));
    let (exported, own) = (DESCRIPTOR, false);
    Some(Arc::new(Physical { location, bytes: known.bytes, file, exported, own, references }))
}

/// A copy of a descriptor, which the program owns.
///
/// # Errors
/// CUDA_ERROR_OPERATING_SYSTEM where there are no more.
pub fn descriptor(file: BorrowedFd<'_>) -> Result<i32, i32> {
    let copy = file.try_clone_to_owned().map_err(|_| status::OPERATING_SYSTEM)?;
    Ok(copy.into_raw_fd())
}

entry! {
    fn cuMemGetAllocationGranularity (granularity: Out<usize>, prop: Ptr, option: i32) {
        check()?;
        let sharing = sharing("cuMemGetAllocationGranularity")?;
        // CU_MEM_ALLOC_GRANULARITY_MINIMUM, _RECOMMENDED.
        if granularity.is_null() || !matches!(option, 0 | 1) {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: a CUmemAllocationProp, or null.
        unsafe { asked(prop)? };
        give(granularity, sharing.granule() as usize)
    }

    fn cuMemCreate (handle: Out<Ptr>, size: usize, prop: Ptr, flags: Flags64) {
        check()?;
        let sharing = sharing("cuMemCreate")?;
        let whole = size > 0 && (size as u64).is_multiple_of(sharing.granule());
        if handle.is_null() || flags.0 != 0 || !whole {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: a CUmemAllocationProp, or null.
        let made = make(&unsafe { asked(prop)? }, size as u64)?;
        give(handle, Ptr(made.retain()))
    }

    fn cuMemRelease (handle: Ptr) {
        by_handle(handle)?.release();
        Ok(())
    }

    fn cuMemGetAllocationPropertiesFromHandle (prop: At<[i32; 8]>, handle: Ptr) {
        let found = by_handle(handle)?;
        let [kind, id] = found.location;
        give(prop, [1, found.exported, kind, id, 0, 0, 0, 0])
    }

    fn cuMemExportToShareableHandle (shareableHandle: At<i32>, handle: Ptr, handleType: i32, flags: Flags64) {
        let found = by_handle(handle)?;
        if shareableHandle.is_null() || flags.0 != 0 || handleType != DESCRIPTOR || found.exported != DESCRIPTOR {
            return Err(status::INVALID_VALUE);
        }
        give(shareableHandle, descriptor(found.file())?)
    }

    fn cuMemImportFromShareableHandle (handle: Out<Ptr>, osHandle: Ptr, shHandleType: i32) {
        check()?;
        let sharing = sharing("cuMemImportFromShareableHandle")?;
        if handle.is_null() {
            return Err(status::INVALID_VALUE);
        }
        match shHandleType {
            DESCRIPTOR => {}
            8 => return Err(status::NOT_SUPPORTED),
            _ => return Err(status::INVALID_VALUE),
        }
        let number = i32::try_from(osHandle.0).map_err(|_| status::INVALID_VALUE)?;
        let made = import(number, sharing.granule()).ok_or(status::INVALID_VALUE)?;
        give(handle, Ptr(made.retain()))
    }
}
