//! Memory as the program sees it: all ranges that a CUDA pointer can point into.
//!
//! Owns the table of ranges, in which every pointer is checked before use. Must not know: the contents of memory,
//! streams beyond waiting, where memory comes from ([`take`]) and how it is freed ([`release`]).

pub mod alloc;
pub mod array;
pub mod array_copy;
pub mod batch;
pub mod batch_planes;
pub mod copy;
pub mod ends;
pub mod heap;
pub mod home;
pub mod host;
pub mod ipc;
pub mod mapped;
pub mod mipmap;
pub mod physical;
pub mod pointer;
pub mod pool;
pub mod pool_access;
pub mod pool_api;
mod pool_file;
pub mod pool_share;
pub mod release;
pub mod set;
pub mod shape;
pub mod take;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use super::context::{CONTEXTS, Context};
use super::state::accelerator;
use super::status;
use cushim_accel::locks::{read, write};

/// Where a range came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `cuMemAlloc` and the like.
    Device,
    /// `cuMemHostAlloc`, `cuMemAllocHost`.
    Host,
    /// `cuMemHostRegister`.
    Registered,
    /// `cuMemAllocManaged`.
    Managed,
    /// A pool, to which it returns.
    Pool,
    /// A pool of managed memory, to which it returns.
    ManagedPool,
    /// An allocation node of a graph, which owns it.
    Graph,
    /// A variable of a module, which owns it.
    Variable,
    /// A `__managed__` variable of a module, which owns it.
    ManagedVariable,
    /// Mapped at an address that the program reserved; stays until it unmaps it.
    Mapped,
    /// `cuIpcOpenMemHandle`.
    Imported,
}

/// A range of memory.
#[derive(Debug)]
pub struct Range {
    /// First address.
    pub base: u64,
    /// Its bytes.
    pub bytes: usize,
    /// Where it came from.
    pub source: Source,
    /// The number of its device.
    pub device: usize,
    /// The id of its context.
    pub context: u64,
    /// The context's handle.
    pub context_handle: usize,
    /// The flags that it was allocated with.
    pub flags: u32,
    /// Its address on the host; 0 if it has none (device memory, even where the host could access
    /// it).
    pub host: u64,
    /// Its address for kernels.
    pub device_address: u64,
    /// Unique in the process (`CU_POINTER_ATTRIBUTE_BUFFER_ID`).
    pub id: u64,
    /// The pool's handle.
    pub pool: usize,
    /// `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`.
    pub sync: AtomicU32,
}

static RANGES: RwLock<BTreeMap<u64, Arc<Range>>> = RwLock::new(BTreeMap::new());
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Source {
    /// Whether the host and devices have it at the same time.
    pub fn is_managed(self) -> bool {
        matches!(self, Source::Managed | Source::ManagedVariable | Source::ManagedPool)
    }
}

/// Adds a range.
pub fn add(
    context: &Arc<Context>,
    source: Source,
    base: u64,
    bytes: usize,
    flags: u32,
) -> Arc<Range> {
    let on_host = matches!(
        source,
        Source::Host | Source::Registered | Source::Managed | Source::ManagedVariable
    );
    let range = Arc::new(Range {
        base,
        bytes,
        source,
        device: context.device,
        context: context.id,
        context_handle: context.handle(),
        flags,
        host: if on_host { base } else { 0 },
        device_address: base,
        id: next_id(),
        pool: 0,
        sync: AtomicU32::new(0),
    });
    insert(range.clone());
    range
}

/// Tells the checker of the program that memory counts as written from now on, as some writes are
/// not seen.
pub fn count_as_written(address: u64, bytes: usize) {
    if let Some(checks) = cushim_accel::checks() {
        checks.written(address, bytes as u64);
    }
}

/// A number that no other range has.
pub fn next_id() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Adds a complete range.
pub fn insert(range: Arc<Range>) {
    if let Some((used, bytes)) = size(&range) {
        used.fetch_add(bytes, Ordering::Relaxed);
    }
    write(&RANGES).insert(range.base, range);
}

/// Adds a variable of a module, so that copies may go there; [`remove`] forgets it.
pub fn adopt(context: &Arc<Context>, address: u64, bytes: usize, managed: bool) {
    let source = if managed { Source::ManagedVariable } else { Source::Variable };
    add(context, source, address, bytes, 0);
}

/// Forgets a range and returns it.
pub fn remove(base: u64) -> Option<Arc<Range>> {
    let range = write(&RANGES).remove(&base)?;
    if let Some((used, bytes)) = size(&range) {
        used.fetch_sub(bytes, Ordering::Relaxed);
    }
    Some(range)
}

/// The range that an address lies in; its end does not belong to it.
#[inline]
pub fn find(address: u64) -> Option<Arc<Range>> {
    let ranges = read(&RANGES);
    let (base, range) = ranges.range(..=address).next_back()?;
    (address - base < range.bytes.max(1) as u64).then(|| range.clone())
}

/// The range that `bytes` from `address` on lie in.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE where there is none, or it is too short.
pub fn inside(address: u64, bytes: usize) -> Result<Arc<Range>, i32> {
    let range = find(address).ok_or(status::INVALID_VALUE)?;
    if holds(&range, address, bytes) { Ok(range) } else { Err(status::INVALID_VALUE) }
}

/// Whether a range has these bytes. Adjacent mappings count as one.
pub fn holds(range: &Range, address: u64, bytes: usize) -> bool {
    let mut left = range.bytes as u64 - (address - range.base);
    let mut end = range.base + range.bytes as u64;
    while left < bytes as u64 && range.source == Source::Mapped {
        let Some(next) = find(end).filter(|next| next.source == Source::Mapped) else { break };
        left += next.bytes as u64;
        end += next.bytes as u64;
    }
    bytes as u64 <= left
}

/// Whether the program's own memory may be there: no present or former range of cushim is.
pub fn is_pageable(address: u64) -> bool {
    address != 0 && !accelerator().is_own(address) && find(address).is_none()
}

/// Bytes of each device that are in use.
static USED: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// The count of a device's bytes that are in use outside pools.
pub fn count(device: usize) -> Option<&'static AtomicU64> {
    USED.get(device)
}

/// All bytes of a device that are in use outside pools.
pub fn used(device: usize) -> u64 {
    count(device).map_or(0, |used| used.load(Ordering::Relaxed))
}

/// The count of its device, and the bytes that a range uses of it.
fn size(range: &Range) -> Option<(&'static AtomicU64, u64)> {
    let own = matches!(range.source, Source::Device | Source::Managed | Source::Graph);
    own.then(|| Some((count(range.device)?, range.bytes as u64))).flatten()
}

/// Waits until no work is under way in any context: memory is about to be freed.
pub fn quiesce() {
    for context in CONTEXTS.all() {
        context.streams.wait();
    }
}
