//! The mock's memory: device memory whose addresses the processor cannot access, and host memory.
//!
//! Owns which addresses exist. No address is ever reused, so a use after free is detected. Must not know: the
//! contents of memory.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use cushim_accel::locks::lock;
use cushim_accel::{Copy, Failure, Fill, MemoryKind};

/// Begin of device memory: not an address of a process on x86-64.
const BASE: u64 = 1 << 52;
/// Distance from device to device.
const DEVICE: u64 = 1 << 44;
/// Free addresses behind every allocation.
const GAP: u64 = 4096;

/// Whether an address is a device's, in use or not.
pub(super) fn is_device(address: u64) -> bool {
    address >= BASE
}

/// All memory.
pub(super) struct Memory {
    limit: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By first address.
    device: BTreeMap<u64, Block>,
    host: BTreeMap<u64, Block>,
    used: HashMap<usize, u64>,
    next: HashMap<usize, u64>,
}

struct Block {
    bytes: usize,
    device: usize,
    place: *mut u8,
    layout: Layout,
}

// SAFETY: the place is only freed here.
unsafe impl Send for Block {}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.place, self.layout) };
    }
}

impl Memory {
    pub(super) fn new(limit: u64) -> Self {
        Memory { limit, state: Mutex::default() }
    }

    pub(super) fn allocate(
        &self,
        device: usize,
        kind: MemoryKind,
        wanted: Layout,
    ) -> Result<u64, Failure> {
        let (bytes, align) = (wanted.size(), wanted.align());
        let mut state = lock(&self.state);
        let used = state.used.get(&device).copied().unwrap_or(0);
        let total = used.checked_add(bytes as u64).filter(|total| *total <= self.limit);
        if kind == MemoryKind::Device && total.is_none() {
            return Err(Failure::OutOfMemory);
        }
        let layout = Layout::from_size_align(bytes.max(1), align.max(16))
            .map_err(|_| Failure::OutOfMemory)?;
        // SAFETY: a layout of at least one byte.
        let place = unsafe { alloc_zeroed(layout) };
        if place.is_null() {
            return Err(Failure::OutOfMemory);
        }
        let block = Block { bytes, device, place, layout };
        if kind != MemoryKind::Device {
            let address = place.expose_provenance() as u64;
            state.host.insert(address, block);
            return Ok(address);
        }
        state.used.insert(device, total.unwrap_or(used));
        let first = BASE + device as u64 * DEVICE;
        let next = state.next.entry(device).or_insert(first);
        let address = next.next_multiple_of(align.max(256) as u64);
        *next = address + bytes as u64 + GAP;
        state.device.insert(address, block);
        Ok(address)
    }

    pub(super) fn free(&self, address: u64) {
        let mut state = lock(&self.state);
        if let Some(block) = state.device.remove(&address) {
            if let Some(used) = state.used.get_mut(&block.device) {
                *used = used.saturating_sub(block.bytes as u64);
            }
        } else {
            state.host.remove(&address);
        }
    }

    /// The real address of `bytes`.
    pub(super) fn at(&self, address: u64, bytes: usize) -> Result<*mut u8, Failure> {
        let wrong = Failure::InvalidAddress(address);
        if address < BASE {
            // The program has no memory in the first page.
            return if address < 4096 {
                Err(wrong)
            } else {
                Ok(std::ptr::with_exposed_provenance_mut(address as usize))
            };
        }
        let state = lock(&self.state);
        let Some((first, block)) = state.device.range(..=address).next_back() else {
            return Err(wrong);
        };
        let offset = (address - first) as usize;
        match offset.checked_add(bytes) {
            // SAFETY: inside the block.
            Some(end) if end <= block.bytes => Ok(unsafe { block.place.add(offset) }),
            _ => Err(wrong),
        }
    }

    pub(super) fn copy(&self, copy: &Copy) -> Result<(), Failure> {
        if copy.width == 0 {
            return Ok(());
        }
        for (to, from) in copy.rows() {
            let (to, from) = (self.at(to, copy.width)?, self.at(from, copy.width)?);
            // SAFETY: both are `width` bytes of memory; the caller vouches for host addresses.
            unsafe { std::ptr::copy(from, to, copy.width) };
        }
        Ok(())
    }

    pub(super) fn fill(&self, fill: &Fill) -> Result<(), Failure> {
        let value = fill.value.to_le_bytes();
        let value = value.get(..fill.size).unwrap_or(&value);
        for to in fill.rows() {
            let to = self.at(to, fill.row_bytes())?;
            for at in 0..fill.width {
                // SAFETY: inside the row that was just looked up.
                unsafe { to.add(at * fill.size).copy_from(value.as_ptr(), value.len()) };
            }
        }
        Ok(())
    }
}
