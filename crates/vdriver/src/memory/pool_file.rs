//! The file from which a pool takes its memory if other processes use the pool, too.
//!
//! Owns the allocation of the file's parts. Must not know: pools.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;

use crate::state::{accelerator, sharing};
use crate::status;
use cushim_accel::file;
use cushim_accel::locks::lock;

/// The purpose in the names of pools' files.
pub const WHAT: &str = "pool";
/// Size of such a file, which is sparse: only written parts take memory.
const BYTES: u64 = 1 << 40;

/// The file of a pool.
pub struct Backing {
    /// The file.
    pub file: OwnedFd,
    /// Its secret.
    pub secret: u128,
    /// Its size.
    pub bytes: u64,
    /// It is another process's pool.
    pub imported: bool,
    state: Mutex<Places>,
}

#[derive(Default)]
struct Places {
    /// The end of the part that was ever in use.
    end: u64,
    /// Free places, by their length.
    free: BTreeMap<u64, Vec<u64>>,
    /// Place and length by address.
    taken: HashMap<u64, (u64, u64)>,
}

impl Backing {
    /// The file of a new pool of a device.
    ///
    /// # Errors
    /// CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_OUT_OF_MEMORY.
    pub fn new(device: usize) -> Result<Backing, i32> {
        sharing("cuMemPoolCreate with a kind of handle")?;
        let file = file::create(&format!("{WHAT}-{device}"), BYTES);
        Backing::of(file.ok_or(status::OUT_OF_MEMORY)?, false).ok_or(status::OUT_OF_MEMORY)
    }

    /// Opens a file; `None` if it is not one of cushim's.
    pub fn of(file: OwnedFd, imported: bool) -> Option<Backing> {
        let known = file::known(file.as_fd())?;
        let state = Mutex::default();
        Some(Backing { file, secret: known.secret, bytes: known.bytes, imported, state })
    }

    /// Memory of the pool.
    ///
    /// # Errors
    /// CUDA_ERROR_OUT_OF_MEMORY.
    pub fn allocate(&self, bytes: usize) -> Result<u64, i32> {
        let sharing = sharing("memory of a shared pool")?;
        let length = (bytes as u64).checked_next_multiple_of(sharing.granule());
        let length = length.ok_or(status::OUT_OF_MEMORY)?;
        let mut state = lock(&self.state);
        let used = state.free.get_mut(&length).and_then(Vec::pop);
        let from = used.unwrap_or(state.end);
        if self.bytes.saturating_sub(from) < length {
            return Err(status::OUT_OF_MEMORY);
        }
        let made = sharing.attach(self.file.as_fd(), from, length);
        match &made {
            Ok(address) => {
                state.end = state.end.max(from + length);
                state.taken.insert(*address, (from, length));
            }
            Err(_) if used.is_some() => state.free.entry(length).or_default().push(from),
            Err(_) => {}
        }
        made.map_err(|failure| status::of(&failure))
    }

    /// Frees memory of the pool.
    pub fn free(&self, address: u64) {
        accelerator().free(address);
        let mut state = lock(&self.state);
        if let Some((from, length)) = state.taken.remove(&address) {
            file::empty(self.file.as_fd(), from, length);
            state.free.entry(length).or_default().push(from);
        }
    }

    /// Offset and length of an allocation in the file.
    pub fn place(&self, address: u64) -> Option<(u64, u64)> {
        lock(&self.state).taken.get(&address).copied()
    }
}
