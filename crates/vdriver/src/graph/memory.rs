//! Memory that graphs allocate and free.
//!
//! Owns the allocations. The address is known when the node is created, so the memory is allocated then, and freed
//! when neither a graph, nor an instance, nor the program uses it any more. Source: CUDA Programming Guide, "Graph
//! Memory Nodes". Must not know: pools.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use cushim_abi::types::*;

use crate::argument::{At, In};
use crate::context::Context as Owner;
use crate::device::device;
use crate::entry::entry;
use crate::memory::{self, Range, Source};
use crate::state::{accelerator, give};
use crate::status;
use cushim_accel::MemoryKind;
use cushim_accel::locks::lock;

/// An allocation of a graph.
pub struct Allocation {
    /// Its address.
    pub address: u64,
    /// Its bytes.
    pub bytes: usize,
    /// Its device.
    pub device: usize,
}

#[derive(Default)]
struct State {
    /// All allocations, by address.
    known: Vec<(u64, Weak<Allocation>)>,
    /// Those that a launch has allocated and that were not freed.
    live: HashMap<u64, Arc<Allocation>>,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);
static USED: AtomicU64 = AtomicU64::new(0);
static USED_HIGH: AtomicU64 = AtomicU64::new(0);
static RESERVED: AtomicU64 = AtomicU64::new(0);
static RESERVED_HIGH: AtomicU64 = AtomicU64::new(0);

fn with<R>(change: impl FnOnce(&mut State) -> R) -> R {
    change(lock(&STATE).get_or_insert_default())
}

impl Allocation {
    /// Memory of a device for a node.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE for no bytes, CUDA_ERROR_OUT_OF_MEMORY.
    pub fn new(context: &Arc<Owner>, device: usize, bytes: usize) -> Result<Arc<Self>, i32> {
        if bytes == 0 {
            return Err(status::INVALID_VALUE);
        }
        let address = memory::take::allocate(device, MemoryKind::Device, bytes)?;
        memory::insert(Arc::new(Range {
            base: address,
            bytes,
            source: Source::Graph,
            device,
            context: context.id,
            context_handle: context.handle(),
            flags: 0,
            host: 0,
            device_address: address,
            id: memory::next_id(),
            pool: 0,
            sync: AtomicU32::new(0),
        }));
        let now = RESERVED.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        RESERVED_HIGH.fetch_max(now, Ordering::Relaxed);
        let allocation = Arc::new(Allocation { address, bytes, device });
        with(|state| {
            state.known.retain(|(_, known)| known.strong_count() > 0);
            state.known.push((address, Arc::downgrade(&allocation)));
        });
        Ok(allocation)
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        memory::remove(self.address);
        accelerator().free(self.address);
        RESERVED.fetch_sub(self.bytes as u64, Ordering::Relaxed);
    }
}

/// The allocation at an address.
pub fn at_address(address: u64) -> Option<Arc<Allocation>> {
    with(|state| {
        let known =
            state.known.iter().find(|(at, known)| *at == address && known.strong_count() > 0);
        known.and_then(|(_, known)| known.upgrade())
    })
}

/// Whether a launch has allocated it and it was not freed.
pub fn is_live(allocation: &Allocation) -> bool {
    with(|state| state.live.contains_key(&allocation.address))
}

/// Notes that a launch allocates it.
pub fn take_now(allocation: &Arc<Allocation>) {
    let before = with(|state| state.live.insert(allocation.address, allocation.clone()));
    if before.is_none() {
        let bytes = allocation.bytes as u64;
        let now = USED.fetch_add(bytes, Ordering::Relaxed) + bytes;
        USED_HIGH.fetch_max(now, Ordering::Relaxed);
    }
}

/// Frees the allocation at an address and returns it, if it was live. The caller must keep it until
/// the work has ended.
pub fn give_back(address: u64) -> Option<Arc<Allocation>> {
    let allocation = with(|state| state.live.remove(&address))?;
    USED.fetch_sub(allocation.bytes as u64, Ordering::Relaxed);
    Some(allocation)
}

entry! {
    fn cuDeviceGraphMemTrim (dev: Device) {
        // Unused memory was freed at once.
        device(dev).map(drop)
    }

    fn cuDeviceGetGraphMemAttribute (dev: Device, attr: i32, value: At<u64>) {
        device(dev)?;
        let of = [&USED, &USED_HIGH, &RESERVED, &RESERVED_HIGH];
        let of = usize::try_from(attr).ok().and_then(|attr| of.get(attr).copied());
        give(value, of.ok_or(status::INVALID_VALUE)?.load(Ordering::Relaxed))
    }

    fn cuDeviceSetGraphMemAttribute (dev: Device, attr: i32, value: In<u64>) {
        device(dev)?;
        let value = value.read()?;
        // Only high-water marks can be set, and only to the present use.
        match (attr, value) {
            (1, 0) => USED_HIGH.store(USED.load(Ordering::Relaxed), Ordering::Relaxed),
            (3, 0) => RESERVED_HIGH.store(RESERVED.load(Ordering::Relaxed), Ordering::Relaxed),
            _ => return Err(status::INVALID_VALUE),
        }
        Ok(())
    }
}
