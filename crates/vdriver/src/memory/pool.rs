//! Pools: memory that is allocated and freed in stream order.
//!
//! Owns the pools, their attributes, and when freed memory returns to the accelerator. The stream that freed memory
//! may reuse it at once; other streams may when the free is complete. Source: CUDA Driver API, "Stream Ordered Memory
//! Allocator". Must not know: graphs' own memory.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use cushim_abi::types::*;

use super::Range;
use super::heap::Heap;
use super::pool_file::Backing;
use crate::device::device;
use crate::handle::Handles;
use crate::state::{accelerator, check};
use crate::status;
use cushim_accel::locks::lock;
use cushim_accel::{MemoryKind, Signal};

/// A pool.
pub struct Pool {
    /// Its device.
    pub device: usize,
    /// The kind of its memory.
    pub kind: MemoryKind,
    /// It is the device's own and cannot be destroyed.
    pub default: bool,
    /// The file that backs its memory, if it is shared with other processes.
    backing: Option<Arc<Backing>>,
    pub(super) state: Mutex<State>,
}

/// The changing part of a pool.
#[derive(Default)]
pub(super) struct State {
    free: Vec<Block>,
    /// The reserved blocks and the allocations in them.
    pub(super) heap: Heap,
    places: HashMap<u64, u64>,
    /// Bytes taken from the accelerator, never more than are reserved.
    held: u64,
    /// Attributes 1 to 3: the policies of reuse. They are only stored: every value is correct here.
    pub(super) reuse: [i32; 3],
    pub(super) threshold: u64,
    /// Bytes that may be reserved; 0 for no limit.
    most: u64,
    pub(super) reserved_high: u64,
    pub(super) used: u64,
    pub(super) used_high: u64,
    destroyed: bool,
    release: Release,
    /// The devices that the program gave access to.
    pub(super) devices: BTreeSet<usize>,
    /// It gave access to the host.
    pub(super) host: bool,
}

/// Frees memory to its source.
#[derive(Clone, Default)]
struct Release(Option<Arc<Backing>>);

impl Release {
    fn free(&self, address: u64) {
        match &self.0 {
            Some(backing) => backing.free(address),
            None => accelerator().free(address),
        }
    }
}

struct Block {
    address: u64,
    bytes: usize,
    /// Complete when it is no longer in use.
    free: Signal,
    /// The stream that it was freed in.
    stream: u64,
}

/// Pools by handle.
pub static POOLS: Handles<Pool> = Handles::new();

/// How many free blocks pools hold.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// Memory is allocated in multiples of this.
const GRAIN: usize = super::heap::GRAIN as usize;

impl Pool {
    /// A new one.
    pub fn new(device: usize, kind: MemoryKind, default: bool, most: u64) -> Arc<Pool> {
        Pool::make(device, kind, default, None, most)
    }

    /// A pool of a device with memory in a file.
    pub fn shared(device: usize, backing: Backing, most: u64) -> Arc<Pool> {
        Pool::make(device, MemoryKind::Device, false, Some(Arc::new(backing)), most)
    }

    fn make(
        device: usize,
        kind: MemoryKind,
        default: bool,
        backing: Option<Arc<Backing>>,
        most: u64,
    ) -> Arc<Pool> {
        let release = Release(backing.clone());
        let state = State { reuse: [1; 3], most, release, ..State::default() };
        let pool = Arc::new(Pool { device, kind, default, backing, state: Mutex::new(state) });
        POOLS.add(pool.clone());
        pool
    }

    /// The file that backs its memory, if it is shared with other processes.
    pub fn backing(&self) -> Option<&Arc<Backing>> {
        self.backing.as_ref()
    }

    /// Whether it is another process's.
    pub fn is_imported(&self) -> bool {
        self.backing.as_ref().is_some_and(|backing| backing.imported)
    }

    /// Whether a device's own access cannot be revoked.
    pub fn is_of(&self, device: usize) -> bool {
        self.kind == MemoryKind::Device && self.device == device
    }

    /// Whether a device may use its memory. Managed memory moves to whoever uses it, with and without access.
    pub fn is_open_to(&self, device: usize) -> bool {
        self.kind == MemoryKind::Managed
            || self.is_of(device)
            || lock(&self.state).devices.contains(&device)
    }

    /// Whether freed memory is never reused: where the program's accesses are checked.
    fn keeps_apart(&self) -> bool {
        self.backing.is_none() && cushim_accel::checks().is_some_and(|checks| checks.keeps_apart())
    }

    fn memory(&self, bytes: usize) -> Result<u64, i32> {
        match &self.backing {
            Some(_) if !super::take::has(self.device, 0) => Err(status::OUT_OF_MEMORY),
            Some(backing) => backing.allocate(bytes),
            None => super::take::allocate_reserved(self.device, self.kind, bytes),
        }
    }

    /// Memory for a stream.
    ///
    /// # Errors
    /// CUDA_ERROR_OUT_OF_MEMORY; CUDA_ERROR_INVALID_VALUE for another process's pool.
    pub fn allocate(&self, asked: usize, stream: u64) -> Result<u64, i32> {
        // Only the process that made the pool allocates from it.
        if self.is_imported() {
            return Err(status::INVALID_VALUE);
        }
        let bytes = asked.checked_next_multiple_of(GRAIN).ok_or(status::OUT_OF_MEMORY)?;
        let memory = accelerator().devices().get(self.device).map_or(0, |device| device.memory);
        if bytes as u64 > memory {
            return Err(status::OUT_OF_MEMORY);
        }
        // Where each allocation has its own memory, it has exactly the requested size.
        let apart = self.keeps_apart();
        let mut state = lock(&self.state);
        let most = state.most;
        let place = state.heap.take(bytes as u64, stream, most).ok_or(status::OUT_OF_MEMORY)?;
        let fits = |block: &Block| {
            block.bytes == bytes && (block.stream == stream || block.free.is_done())
        };
        let address = match state.free.iter().position(fits) {
            Some(place) => {
                HELD.fetch_sub(1, Ordering::Relaxed);
                state.free.swap_remove(place).address
            }
            None => {
                let room = state.heap.reserved().saturating_sub(bytes as u64);
                state.release(room);
                drop(state);
                let address = self.memory(if apart { asked } else { bytes });
                state = lock(&self.state);
                if let Err(error) = address {
                    state.heap.free(place, stream, Signal::completed());
                    state.heap.trim(|_, _| true);
                    return Err(error);
                }
                state.held += bytes as u64;
                address?
            }
        };
        state.places.insert(address, place);
        state.reserved_high = state.reserved_high.max(state.heap.reserved());
        state.used += asked as u64;
        state.used_high = state.used_high.max(state.used);
        Ok(address)
    }

    /// Frees memory, which may be reused when a signal is complete.
    pub fn free(&self, range: &Range, free: Signal, stream: u64) {
        if self.is_imported() {
            let address = range.base;
            free.then(move || accelerator().free(address));
            return;
        }
        let bytes = range.bytes.next_multiple_of(GRAIN);
        let apart = self.keeps_apart();
        let mut state = lock(&self.state);
        state.used = state.used.saturating_sub(range.bytes as u64);
        if let Some(place) = state.places.remove(&range.base) {
            state.heap.free(place, stream, free.clone());
        }
        if apart {
            state.held = state.held.saturating_sub(bytes as u64);
            drop(state);
            let address = range.base;
            if let Some(checks) = cushim_accel::checks() {
                checks.freed_later(address);
            }
            free.then(move || accelerator().free(address));
            return;
        }
        HELD.fetch_add(1, Ordering::Relaxed);
        state.free.push(Block { address: range.base, bytes, free, stream });
    }

    /// Frees memory to the accelerator until at most `keep` bytes are reserved.
    fn reclaim(&self, keep: u64) {
        let mut state = lock(&self.state);
        let keep = if state.destroyed { 0 } else { keep };
        state.heap.trim(|before, _| before > keep);
        state.release(keep);
    }

    /// As [`Pool::reclaim`], as long as at least `keep` bytes stay (cuMemPoolTrimTo).
    pub fn trim(&self, keep: u64) {
        let mut state = lock(&self.state);
        state.heap.trim(|_, after| after >= keep);
        let reserved = state.heap.reserved();
        state.release(reserved.min(keep));
    }

    /// Ends the pool: frees unused memory; no allocation may follow.
    pub fn destroy(&self) {
        let (blocks, release) = {
            let mut state = lock(&self.state);
            state.destroyed = true;
            (std::mem::take(&mut state.free), state.release.clone())
        };
        for block in blocks {
            HELD.fetch_sub(1, Ordering::Relaxed);
            let release = release.clone();
            block.free.then(move || release.free(block.address));
        }
    }
}

impl State {
    /// Frees unused memory to the accelerator until at most `keep` bytes are held.
    fn release(&mut self, keep: u64) {
        let State { free, held, release, .. } = self;
        free.retain(|block| {
            let goes = *held > keep && block.free.is_done();
            if goes {
                HELD.fetch_sub(1, Ordering::Relaxed);
                *held -= block.bytes as u64;
                release.free(block.address);
            }
            !goes
        });
    }
}

/// Frees what has become unused by waiting, above each pool's threshold.
pub fn reclaim() {
    if HELD.load(Ordering::Relaxed) == 0 {
        return;
    }
    for pool in POOLS.all() {
        let threshold = lock(&pool.state).threshold;
        pool.reclaim(threshold);
    }
}

/// As [`reclaim`], but everything unused.
pub fn reclaim_all() {
    POOLS.all().iter().for_each(|pool| pool.reclaim(0));
}

/// Bytes of a device that pools have reserved.
pub fn reserved(device: usize) -> u64 {
    let of_device = |pool: &&Arc<Pool>| pool.device == device && pool.kind == MemoryKind::Device;
    POOLS.all().iter().filter(of_device).map(|pool| lock(&pool.state).heap.reserved()).sum()
}

/// Frees a range whose work has ended.
pub fn give_back(range: &Range) {
    match POOLS.get(range.pool) {
        Some(pool) => pool.free(range, Signal::completed(), 0),
        None => accelerator().free(range.base),
    }
}

/// The default pool of a device, and the current one.
pub struct Own {
    /// It cannot be destroyed.
    pub default: Arc<Pool>,
    /// The pool of `cuMemAllocAsync`.
    pub current: Mutex<Arc<Pool>>,
}

/// The pools of a device.
///
/// # Errors
/// CUDA_ERROR_INVALID_DEVICE, and those of [`check`].
pub fn own(dev: Device) -> Result<&'static Own, i32> {
    static ALL: OnceLock<Vec<Own>> = OnceLock::new();
    device(dev)?;
    let make = |device| {
        let default = Pool::new(device, MemoryKind::Device, true, 0);
        Own { current: Mutex::new(default.clone()), default }
    };
    let all = ALL.get_or_init(|| (0..accelerator().devices().len()).map(make).collect());
    all.get(dev.0 as usize).ok_or(status::INVALID_DEVICE)
}

/// The pool of a handle.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE, and those of [`check`].
pub fn by_handle(pool: Ptr) -> Result<Arc<Pool>, i32> {
    check()?;
    POOLS.get(pool.0).ok_or(status::INVALID_VALUE)
}
