//! Address ranges that the program reserved, and the memory mapped there.
//!
//! Owns both tables, and access rights: kernels and copies may use an address that a device may access. Source: CUDA
//! Driver API, "Virtual Memory Management" (`cuMemAddressReserve`, `cuMemMap`, `cuMemSetAccess`); that a second
//! unmapping succeeds was measured. Must not know: the memory itself ([`super::physical`]).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use cushim_abi::types::{Device, Flags64, Out, Ptr};

use super::physical::{self, Location, ON_DEVICE, Physical};
use super::{Range, Source};
use crate::argument::In;
use crate::device::device;
use crate::entry::entry;
use crate::state::{check, give, sharing, take};
use crate::status;
use cushim_accel::Access;
use cushim_accel::locks::lock;

/// `CU_MEM_ACCESS_FLAGS_PROT_READWRITE`.
const BOTH: u32 = 3;
/// `CU_MEM_ACCESS_FLAGS_PROT_READ`.
const READ: u32 = 1;
/// The system's pages.
const PAGE: usize = 4096;

/// What is mapped at an address.
struct Mapping {
    bytes: u64,
    physical: Arc<Physical>,
    /// Locations that may access it, and how.
    open: Vec<(Location, Access)>,
}

impl Mapping {
    /// The access that any location is allowed: all of them have the same memory here.
    fn access(&self) -> Access {
        self.open.iter().map(|(_, access)| *access).max().unwrap_or(Access::None)
    }
}

#[derive(Default)]
struct State {
    /// By address: the requested bytes, and the reserved ones.
    reserved: BTreeMap<u64, (usize, u64)>,
    mapped: BTreeMap<u64, Mapping>,
}

/// How many mappings may only be read: mostly none, and then there is nothing to look up.
static READ_ONLY: AtomicUsize = AtomicUsize::new(0);

static STATE: Mutex<State> =
    Mutex::new(State { reserved: BTreeMap::new(), mapped: BTreeMap::new() });

fn state() -> MutexGuard<'static, State> {
    lock(&STATE)
}

impl State {
    /// The mappings in a range, if each lies completely in it.
    fn within(&self, at: u64, bytes: u64) -> Result<Vec<u64>, i32> {
        let end = at.checked_add(bytes).ok_or(status::INVALID_VALUE)?;
        if let Some((first, before)) = self.mapped.range(..at).next_back()
            && first + before.bytes > at
        {
            return Err(status::INVALID_VALUE);
        }
        let all: Vec<u64> = self.mapped.range(at..end).map(|(at, _)| *at).collect();
        let last = all.last().and_then(|at| Some(at + self.mapped.get(at)?.bytes));
        if last.is_some_and(|last| last > end) { Err(status::INVALID_VALUE) } else { Ok(all) }
    }

    fn is_reserved(&self, at: u64, bytes: u64) -> bool {
        let found = self.reserved.range(..=at).next_back();
        let left = |(first, (_, all)): (&u64, &(usize, u64))| all.saturating_sub(at - first);
        found.is_some_and(|found| bytes <= left(found))
    }
}

/// The memory that is mapped at an address.
fn at(address: u64) -> Option<Arc<Physical>> {
    let state = state();
    let (first, found) = state.mapped.range(..=address).next_back()?;
    (address - first < found.bytes).then(|| found.physical.clone())
}

/// Whether any of these bytes may only be read.
pub fn is_read_only(address: u64, bytes: u64) -> bool {
    if READ_ONLY.load(Ordering::Acquire) == 0 {
        return false;
    }
    let state = state();
    let before = state.mapped.range(..=address).next_back();
    let first = before.map_or(address, |(first, _)| *first);
    let mut all = state.mapped.range(first..address.saturating_add(bytes));
    all.any(|(at, mapping)| at + mapping.bytes > address && mapping.access() == Access::Read)
}

/// Counts what may only be read.
fn count(state: &State) {
    let read_only = |mapping: &&Mapping| mapping.access() == Access::Read;
    READ_ONLY.store(state.mapped.values().filter(read_only).count(), Ordering::Release);
}

/// Makes a mapping known to copies and pointers.
fn note(base: u64, mapping: &Mapping) {
    let [kind, id] = mapping.physical.location;
    let on_host = kind != ON_DEVICE;
    super::insert(Arc::new(Range {
        base,
        bytes: mapping.bytes as usize,
        source: Source::Mapped,
        device: if on_host { 0 } else { id as usize },
        // It belongs to no context.
        context: 0,
        context_handle: 0,
        flags: 0,
        host: if on_host { base } else { 0 },
        device_address: base,
        id: super::next_id(),
        pool: 0,
        sync: AtomicU32::new(0),
    }));
}

fn map(at: u64, bytes: u64, physical: Arc<Physical>) -> Result<(), i32> {
    let sharing = sharing("cuMemMap")?;
    let mut state = state();
    if !state.is_reserved(at, bytes) || !state.within(at, bytes)?.is_empty() {
        return Err(status::INVALID_VALUE);
    }
    let file = Some((physical.file(), 0));
    sharing.map(at, bytes, file).map_err(|failure| status::of(&failure))?;
    state.mapped.insert(at, Mapping { bytes, physical, open: Vec::new() });
    Ok(())
}

fn unmap(at: u64, bytes: u64) -> Result<(), i32> {
    let sharing = sharing("cuMemUnmap")?;
    {
        let state = state();
        if bytes == 0 || !state.is_reserved(at, bytes) {
            return Err(status::INVALID_VALUE);
        }
        state.within(at, bytes)?;
    }
    super::quiesce();
    let mut state = state();
    for at in state.within(at, bytes)? {
        let Some(gone) = state.mapped.remove(&at) else { continue };
        super::remove(at);
        sharing.map(at, gone.bytes, None).map_err(|failure| status::of(&failure))?;
    }
    count(&state);
    Ok(())
}

/// A `CUmemAccessDesc`: a location, and its access.
fn access([kind, id, flags]: [i32; 3]) -> Result<(Location, Access), i32> {
    match kind {
        ON_DEVICE => device(Device(id)).map(drop)?,
        2 => {}
        3 if id == 0 => {}
        _ => return Err(status::INVALID_VALUE),
    }
    let access = match flags as u32 {
        0 => Access::None,
        BOTH => Access::Write,
        READ => Access::Read,
        _ => return Err(status::INVALID_VALUE),
    };
    Ok(([kind, id], access))
}

fn set_access(at: u64, bytes: u64, wanted: &[(Location, Access)]) -> Result<(), i32> {
    let sharing = sharing("cuMemSetAccess")?;
    super::quiesce();
    let mut state = state();
    let all = state.within(at, bytes)?;
    let mapped: u64 = all.iter().filter_map(|at| state.mapped.get(at)).map(|m| m.bytes).sum();
    if bytes == 0 || mapped != bytes {
        return Err(status::INVALID_VALUE);
    }
    // The host cannot be given access to a device's memory.
    let host =
        |(location, to): &(Location, Access)| location[0] != ON_DEVICE && *to != Access::None;
    let of_device = |at: &u64| state.mapped.get(at).is_some_and(|m| m.physical.location[0] == 1);
    if wanted.iter().any(host) && all.iter().any(of_device) {
        return Err(status::INVALID_VALUE);
    }
    for at in all {
        let Some(mapping) = state.mapped.get_mut(&at) else { continue };
        let before = mapping.access();
        for (location, access) in wanted {
            mapping.open.retain(|(other, _)| other != location);
            if *access != Access::None {
                mapping.open.push((*location, *access));
            }
        }
        let now = mapping.access();
        if now == before {
            continue;
        }
        if let Err(failure) = sharing.open(at, mapping.bytes, now) {
            mapping.open.clear();
            super::remove(at);
            count(&state);
            return Err(status::of(&failure));
        }
        match (before, now) {
            (Access::None, _) => note(at, mapping),
            (_, Access::None) => drop(super::remove(at)),
            _ => {}
        }
    }
    count(&state);
    Ok(())
}

entry! {
    fn cuMemAddressReserve (ptr: Out<Ptr>, size: usize, alignment: usize, addr: Ptr, flags: Flags64) {
        check()?;
        let sharing = sharing("cuMemAddressReserve")?;
        let aligned = alignment == 0 || alignment.is_power_of_two();
        let pages = size.is_multiple_of(PAGE) && addr.0.is_multiple_of(PAGE);
        if ptr.is_null() || size == 0 || !pages || !aligned || flags.0 != 0 {
            return Err(status::INVALID_VALUE);
        }
        let bytes = (size as u64).checked_next_multiple_of(sharing.granule());
        let bytes = bytes.ok_or(status::OUT_OF_MEMORY)?;
        let mut state = state();
        let at = sharing.reserve(bytes, alignment as u64, addr.0 as u64);
        let at = at.map_err(|failure| status::of(&failure))?;
        state.reserved.insert(at, (size, bytes));
        give(ptr, Ptr(at as usize))
    }

    fn cuMemAddressFree (ptr: Ptr, size: usize) {
        check()?;
        let sharing = sharing("cuMemAddressFree")?;
        let (mut state, at) = (state(), ptr.0 as u64);
        let found = state.reserved.get(&at).filter(|(asked, _)| *asked == size);
        let (_, bytes) = *found.ok_or(status::INVALID_VALUE)?;
        // The program must unmap the whole range first.
        if !state.within(at, bytes)?.is_empty() {
            return Err(status::INVALID_VALUE);
        }
        state.reserved.remove(&at);
        sharing.release(at);
        Ok(())
    }

    fn cuMemMap (ptr: Ptr, size: usize, offset: usize, handle: Ptr, flags: Flags64) {
        let physical = physical::by_handle(handle)?;
        let granule = sharing("cuMemMap")?.granule();
        let (at, bytes) = (ptr.0 as u64, size as u64);
        // The offset must be zero, as the reference says.
        if flags.0 != 0 || offset != 0 || bytes == 0 || !(at | bytes).is_multiple_of(granule) || bytes > physical.bytes {
            return Err(status::INVALID_VALUE);
        }
        map(at, bytes, physical)
    }

    fn cuMemUnmap (ptr: Ptr, size: usize) {
        check()?;
        unmap(ptr.0 as u64, size as u64)
    }

    fn cuMemSetAccess (ptr: Ptr, size: usize, desc: Ptr, count: usize) {
        check()?;
        if count == 0 || count > 1 << 16 {
            return Err(status::INVALID_VALUE);
        }
        let mut wanted = Vec::new();
        for index in 0..count {
            // SAFETY: as many CUmemAccessDesc as the call says.
            let one = unsafe { take(Ptr(desc.0.wrapping_add(index * 12)))? };
            wanted.push(access(one)?);
        }
        set_access(ptr.0 as u64, size as u64, &wanted)
    }

    fn cuMemRetainAllocationHandle (handle: Out<Ptr>, addr: Ptr) {
        check()?;
        if handle.is_null() {
            return Err(status::INVALID_VALUE);
        }
        let found = self::at(addr.0 as u64).ok_or(status::INVALID_VALUE)?;
        give(handle, Ptr(found.retain()))
    }

    fn cuMemGetAccess (flags: Out<u64>, location: In<Location>, ptr: Ptr) {
        check()?;
        let place = location.read()?;
        access([place[0], place[1], 0])?;
        let (state, at) = (state(), ptr.0 as u64);
        let found = state.mapped.range(..=at).next_back();
        let found = found.filter(|(first, mapping)| at - **first < mapping.bytes);
        let (_, mapping) = found.ok_or(status::INVALID_VALUE)?;
        let found = mapping.open.iter().find(|(location, _)| *location == place);
        let flag = match found.map_or(Access::None, |(_, access)| *access) {
            Access::None => 0,
            Access::Read => READ,
            Access::Write => BOTH,
        };
        give(flags, u64::from(flag))
    }
}
