//! Memory of other processes, by handles of 64 bytes that programs pass on as they like.
//!
//! Owns the contents of a handle, and which handles were opened. A handle names a file by the process that has it
//! open, its descriptor there, and a secret of the file. The system lets only users with access to that process open
//! it, and a file without the secret is not used. Source: CUDA Driver API, `cuIpcGetMemHandle`, `cuIpcOpenMemHandle`;
//! the result for a process's own handle was measured. Must not know: events ([`crate::event`]), pools.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex};

use cushim_abi::types::*;

use super::{Range, Source, find};
use crate::argument::{At, Plain};
use crate::context::{Context as Owner, current};
use crate::entry::entry;
use crate::state::{accelerator, give, sharing};
use crate::{status, stream};
use cushim_accel::file;
use cushim_accel::locks::lock;

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`.
const LAZY_PEERS: u32 = 1;

/// What a handle is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum What {
    /// Memory.
    Memory = 1,
    /// An event.
    Event = 2,
    /// Memory of a pool, which has a file of its own.
    Pool = 3,
}

/// The contents of a handle. It comes from outside: everything in it is checked.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Handle {
    magic: [u8; 8],
    what: u32,
    process: u32,
    /// The file's number there.
    number: u32,
    /// The device of the memory.
    pub device: u32,
    secret: [u8; 16],
    /// Its offset in the file.
    pub from: u64,
    /// Its size.
    pub bytes: u64,
    /// Distinguishes allocations at the same place.
    id: u64,
}

// SAFETY: numbers.
unsafe impl Plain for Handle {}

const MAGIC: [u8; 8] = *b"cushimH1";
const _: () = assert!(size_of::<Handle>() == 64);

impl Handle {
    /// A handle for a file of this process.
    ///
    /// # Errors
    /// CUDA_ERROR_OPERATING_SYSTEM.
    pub fn new(what: What, file: &OwnedFd) -> Result<Handle, i32> {
        let known = file::known(file.as_fd()).ok_or(status::OPERATING_SYSTEM)?;
        Ok(Handle {
            magic: MAGIC,
            what: what as u32,
            process: std::process::id(),
            number: file.as_raw_fd() as u32,
            device: 0,
            secret: known.secret.to_le_bytes(),
            from: 0,
            bytes: known.bytes,
            id: 0,
        })
    }

    /// Reads one.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE for an invalid handle, or one of another kind.
    pub fn read(bytes: [u8; 64], what: What) -> Result<Handle, i32> {
        // SAFETY: the same size, and every bit pattern is a value.
        let found = unsafe { std::mem::transmute::<[u8; 64], Handle>(bytes) };
        let right = found.magic == MAGIC && found.what == what as u32;
        if right { Ok(found) } else { Err(status::INVALID_VALUE) }
    }

    /// The secret that only processes with the handle know.
    pub fn secret(&self) -> u128 {
        u128::from_le_bytes(self.secret)
    }

    /// The file, of another process.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_CONTEXT for this process's own, CUDA_ERROR_INVALID_HANDLE where that
    /// process has no such file (any more), or does not let this one open it.
    pub fn open(&self) -> Result<(OwnedFd, file::Known), i32> {
        if self.process == std::process::id() {
            return Err(status::INVALID_CONTEXT);
        }
        let file = file::of_process(self.process, self.number).ok_or(status::INVALID_HANDLE)?;
        let known = file::known(file.as_fd()).filter(|known| known.secret == self.secret());
        known.map(|known| (file, known)).ok_or(status::INVALID_HANDLE)
    }

    /// The offset and size of the granules with this memory in a file of `bytes`, and the memory's
    /// offset in them.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE where it is not within the file.
    pub fn granules(&self, granule: u64, bytes: u64) -> Result<(u64, u64, u64), i32> {
        let end = self.from.checked_add(self.bytes).filter(|end| *end <= bytes && self.bytes > 0);
        let end = end.and_then(|end| end.checked_next_multiple_of(granule));
        let first = self.from / granule * granule;
        let end = end.filter(|end| *end <= bytes).ok_or(status::INVALID_VALUE)?;
        Ok((first, end - first, self.from - first))
    }
}

/// Memory of another process.
struct Opened {
    /// The accelerator's address for it.
    base: u64,
    /// Its address.
    address: u64,
    count: u64,
}

/// By context, file, and offset in it.
type Key = (u64, u128, u64, u64);

static OPENED: Mutex<Option<HashMap<Key, Opened>>> = Mutex::new(None);

/// Adds a range of memory that is shared with other processes.
pub fn note(
    context: &Arc<Owner>,
    source: Source,
    (base, bytes): (u64, usize),
    device: usize,
    pool: usize,
) {
    super::insert(Arc::new(Range {
        base,
        bytes,
        source,
        device,
        context: context.id,
        context_handle: context.handle(),
        flags: 0,
        host: 0,
        device_address: base,
        id: super::next_id(),
        pool,
        sync: AtomicU32::new(0),
    }));
}

fn open(handle: &Handle) -> Result<u64, i32> {
    let context = current()?;
    let sharing = sharing("cuIpcOpenMemHandle")?;
    let key = (context.id, handle.secret(), handle.from, handle.id);
    let (file, known) = handle.open()?;
    if known.what != "memory" || handle.device as usize >= accelerator().devices().len() {
        return Err(status::INVALID_VALUE);
    }
    let mut all = lock(&OPENED);
    let all = all.get_or_insert_default();
    if let Some(opened) = all.get_mut(&key) {
        opened.count += 1;
        return Ok(opened.address);
    }
    let (first, length, inner) = handle.granules(sharing.granule(), known.bytes)?;
    let base = sharing.attach(file.as_fd(), first, length);
    let base = base.map_err(|failure| status::of(&failure))?;
    let address = base + inner;
    let bytes = handle.bytes as usize;
    note(&context, Source::Imported, (address, bytes), handle.device as usize, 0);
    all.insert(key, Opened { base, address, count: 1 });
    Ok(address)
}

fn close(address: u64) -> Result<(), i32> {
    let context = current()?;
    let mut all = lock(&OPENED);
    let all = all.get_or_insert_default();
    let own =
        |(key, opened): &(&Key, &mut Opened)| opened.address == address && key.0 == context.id;
    let (key, opened) = all.iter_mut().find(own).ok_or(status::INVALID_VALUE)?;
    opened.count -= 1;
    if opened.count > 0 {
        return Ok(());
    }
    let key = *key;
    if let Some(opened) = all.remove(&key) {
        super::remove(opened.address);
        super::quiesce();
        accelerator().free(opened.base);
    }
    Ok(())
}

/// A context has ended: forgets what was opened in it.
pub fn forget(address: u64) {
    if let Some(all) = &mut *lock(&OPENED) {
        let gone = all.extract_if(|_, opened| opened.address == address);
        gone.for_each(|(_, opened)| accelerator().free(opened.base));
    }
}

entry! {
    fn cuIpcGetMemHandle (pHandle: At<Handle>, dptr: Ptr) {
        current()?;
        let range = find(dptr.0 as u64).filter(|range| range.source == Source::Device);
        let range = range.filter(|_| !pHandle.is_null()).ok_or(status::INVALID_VALUE)?;
        let sharing = sharing("cuIpcGetMemHandle")?;
        // Writes during the copy would be lost.
        let shared = stream::alone(|| sharing.share(range.base));
        let (file, from) = shared.map_err(|failure| status::of(&failure))?;
        // Writes of other processes are not reported to the checks.
        super::count_as_written(range.base, range.bytes);
        let made = Handle::new(What::Memory, &file)?;
        let (device, bytes, id) = (range.device as u32, range.bytes as u64, range.id);
        give(pHandle, Handle { device, from, bytes, id, ..made })
    }

    fn cuIpcOpenMemHandle cuIpcOpenMemHandle_v2 (pdptr: Out<Ptr>, handle: IpcHandle, flags: Flags) {
        current()?;
        if pdptr.is_null() || flags.0 != LAZY_PEERS {
            return Err(status::INVALID_VALUE);
        }
        let found = Handle::read(handle.0, What::Memory)?;
        give(pdptr, Ptr(open(&found)? as usize))
    }

    fn cuIpcCloseMemHandle (dptr: Ptr) {
        close(dptr.0 as u64)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn handles_are_doubted() {
        let file = file::create("memory", 4 << 20).unwrap();
        let made = Handle::new(What::Memory, &file).unwrap();
        // SAFETY: plain bytes.
        let raw = |handle: Handle| unsafe { std::mem::transmute::<Handle, [u8; 64]>(handle) };
        assert!(Handle::read(raw(made), What::Memory).is_ok());
        assert!(Handle::read(raw(made), What::Event).is_err());
        assert!(Handle::read([0; 64], What::Memory).is_err());
        assert_eq!(made.open().err(), Some(status::INVALID_CONTEXT));
        let other = Handle { process: 1 << 30, ..made };
        assert_eq!(other.open().err(), Some(status::INVALID_HANDLE));
        let whole = 4 << 20;
        let at = |from, bytes| Handle { from, bytes, ..made }.granules(2 << 20, whole);
        assert_eq!(at(512, 512), Ok((0, 2 << 20, 512)));
        assert_eq!(at(3 << 20, 1 << 20), Ok((2 << 20, 2 << 20, 1 << 20)));
        for (from, bytes) in [(0, 0), (0, whole + 1), (u64::MAX, 2), (whole, 1), (1, u64::MAX)] {
            assert_eq!(at(from, bytes), Err(status::INVALID_VALUE));
        }
    }
}
