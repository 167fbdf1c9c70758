//! Memory that the process allocated or registered, and its mappings to the GPU.
//!
//! Owns: blocks, mappings, and when memory is freed. Must not know: who uses it.
//!
//! An address of the GPU is an address of the process. A freed block is returned to the system only when no kernel
//! runs: waves may still hold ranges of it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, RwLock};

use cushim_amdgpu::memory::Range;

use crate::model;
use crate::status::Status;

const PAGE: u64 = 4096;
/// HsaMemFlags.
const READ_ONLY: u32 = 1 << 3;
const GDS: u32 = 1 << 8;
const SCRATCH: u32 = 1 << 9;
const FIXED: u32 = 1 << 15;

/// A block.
#[derive(Clone, Copy, Debug)]
struct Block {
    bytes: u64,
    flags: u32,
    node: u32,
    /// The program's own memory.
    registered: bool,
    user: u64,
}

#[derive(Debug, Default)]
struct Blocks {
    blocks: BTreeMap<u64, Block>,
    /// Freed while a kernel ran.
    later: Vec<(u64, u64)>,
}

static BLOCKS: Mutex<Blocks> = Mutex::new(Blocks { blocks: BTreeMap::new(), later: Vec::new() });
/// A range that GPUs may access.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    end: u64,
    /// How often it was mapped.
    count: u32,
    write: bool,
    /// Which GPUs, a bit for each node.
    nodes: u32,
}

/// By the start.
static MAPPED: RwLock<BTreeMap<u64, Mapping>> = RwLock::new(BTreeMap::new());
/// Every GPU.
pub const ALL: u32 = u32::MAX;
/// Kernels and copies that run.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
static PAGE_OF_MAILBOXES: OnceLock<u64> = OnceLock::new();

fn blocks() -> MutexGuard<'static, Blocks> {
    BLOCKS.lock().unwrap_or_else(|e| e.into_inner())
}

fn map_pages(bytes: u64, reserve_only: bool) -> Option<u64> {
    let flags = libc::MAP_PRIVATE
        | libc::MAP_ANONYMOUS
        | if reserve_only { libc::MAP_NORESERVE } else { 0 };
    let bytes = usize::try_from(bytes).ok()?;
    // SAFETY: new memory.
    let at = unsafe {
        libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    };
    (at != libc::MAP_FAILED).then_some(at as u64)
}

fn unmap_pages(at: u64, bytes: u64) {
    // SAFETY: a block of ours that is in no list any more, and no kernel runs.
    unsafe { libc::munmap(at as *mut libc::c_void, bytes as usize) };
}

/// Keeps memory while the GPU works; dropping it frees what was freed meanwhile.
pub struct Busy(());

impl Busy {
    /// Work begins.
    pub fn begin() -> Busy {
        // Under the lock, so that no thread that frees sees it too late.
        let _blocks = blocks();
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Busy(())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let mut blocks = blocks();
        if RUNNING.fetch_sub(1, Ordering::SeqCst) == 1 {
            for (at, bytes) in std::mem::take(&mut blocks.later) {
                unmap_pages(at, bytes);
            }
        }
    }
}

/// The mailboxes of events, mapped to the GPU.
pub fn mailboxes() -> u64 {
    *PAGE_OF_MAILBOXES.get_or_init(|| {
        let bytes = crate::event::MOST as u64 * 8;
        let at = map_pages(bytes, false).unwrap_or(0);
        if at != 0 {
            insert(at, bytes, true, ALL);
        }
        at
    })
}

/// Empties a mailbox; returns whether it held something.
pub fn take_mail(number: usize) -> bool {
    let base = mailboxes();
    if base == 0 || number >= crate::event::MOST {
        return false;
    }
    // SAFETY: the page of mailboxes stays for ever, and `number` is one of it.
    let mailbox = unsafe { AtomicU64::from_ptr((base as *mut u64).add(number)) };
    mailbox.swap(0, Ordering::SeqCst) != 0
}

fn insert(start: u64, bytes: u64, write: bool, nodes: u32) {
    let mut mapped = MAPPED.write().unwrap_or_else(|e| e.into_inner());
    let end = start.saturating_add(bytes);
    let entry = mapped.entry(start).or_insert(Mapping { end, count: 0, write, nodes });
    entry.end = entry.end.max(end);
    entry.count += 1;
    entry.write |= write;
    // The last call decides which GPUs may access it.
    entry.nodes = nodes;
}

/// The range that a node's GPU may access and that holds an address.
pub fn find(node: u32, address: u64) -> Option<Range> {
    let (start, mapping) = mapping(address)?;
    let may = mapping.nodes & bit(node) != 0;
    may.then_some(Range { start, end: mapping.end, write: mapping.write })
}

/// A node's bit in masks.
pub fn bit(node: u32) -> u32 {
    1u32.checked_shl(node).unwrap_or(0)
}

fn mapping(address: u64) -> Option<(u64, Mapping)> {
    let mapped = MAPPED.read().unwrap_or_else(|e| e.into_inner());
    let near = mapped.range(..=address).rev().take(16);
    near.into_iter().find(|(_, mapping)| mapping.end > address).map(|(start, m)| (*start, *m))
}

/// hsaKmtAllocMemory.
///
/// # Safety
///
/// `to` is null or points to an address.
pub unsafe fn allocate(node: u32, bytes: u64, flags: u32, to: *mut u64) -> Status {
    if to.is_null() || bytes == 0 || !bytes.is_multiple_of(PAGE) {
        return Status::InvalidParameter;
    }
    if flags & GDS != 0 || flags & FIXED != 0 {
        return Status::NotSupported;
    }
    let Some(at) = map_pages(bytes, flags & SCRATCH != 0) else { return Status::NoMemory };
    let block = Block { bytes, flags, node, registered: false, user: 0 };
    blocks().blocks.insert(at, block);
    // SAFETY: a place for an address, by the caller's promise.
    unsafe { to.write_unaligned(at) };
    Status::Success
}

/// hsaKmtFreeMemory.
pub fn free(at: u64) -> Status {
    let mut blocks = blocks();
    match blocks.blocks.get(&at) {
        Some(block) if !block.registered => {}
        _ => return Status::InvalidParameter,
    }
    let Some(block) = blocks.blocks.remove(&at) else { return Status::InvalidParameter };
    {
        let mut mapped = MAPPED.write().unwrap_or_else(|e| e.into_inner());
        mapped.retain(|start, _| *start < at || *start >= at + block.bytes);
    }
    if RUNNING.load(Ordering::SeqCst) == 0 {
        unmap_pages(at, block.bytes);
    } else {
        blocks.later.push((at, block.bytes));
    }
    Status::Success
}

/// hsaKmtRegisterMemoryWithFlags.
pub fn register(at: u64, bytes: u64, flags: u32) -> Status {
    if at == 0 || bytes == 0 {
        return Status::InvalidParameter;
    }
    let block = Block { bytes, flags, node: 0, registered: true, user: 0 };
    let mut blocks = blocks();
    let here = blocks.blocks.entry(at).or_insert(block);
    if here.registered {
        here.bytes = here.bytes.max(bytes);
    }
    Status::Success
}

/// hsaKmtDeregisterMemory. Our own memory is left unchanged.
pub fn deregister(at: u64) -> Status {
    let mut blocks = blocks();
    match blocks.blocks.get(&at) {
        Some(block) if block.registered => {
            blocks.blocks.remove(&at);
            Status::Success
        }
        Some(_) => Status::Success,
        None => Status::NotRegistered,
    }
}

/// hsaKmtMapMemoryToGPU and the like, for the nodes of a mask.
pub fn map(at: u64, bytes: u64, nodes: u32) -> Status {
    if at == 0 || bytes == 0 || at.checked_add(bytes).is_none() {
        return Status::InvalidParameter;
    }
    let read_only = {
        let blocks = blocks();
        let Some((start, block)) = blocks.blocks.range(..=at).next_back() else {
            return Status::InvalidParameter;
        };
        if at - start >= block.bytes {
            return Status::InvalidParameter;
        }
        block.flags & READ_ONLY != 0
    };
    insert(at, bytes, !read_only, nodes);
    Status::Success
}

/// hsaKmtUnmapMemoryToGPU.
pub fn unmap(at: u64) -> Status {
    let mut mapped = MAPPED.write().unwrap_or_else(|e| e.into_inner());
    match mapped.get_mut(&at) {
        Some(Mapping { count: 1, .. }) => drop(mapped.remove(&at)),
        Some(mapping) => mapping.count -= 1,
        None => return Status::InvalidParameter,
    }
    Status::Success
}

/// The nodes of a mask, as a list that stays.
fn listed(nodes: u32) -> &'static [u32] {
    static LISTS: OnceLock<Vec<Vec<u32>>> = OnceLock::new();
    let count = model::all().len();
    let lists = LISTS.get_or_init(|| {
        let gpus = |mask: u32| (1..=count as u32).filter(|n| mask & bit(*n) != 0).collect();
        (0..1 << count).map(|mask: u32| gpus(mask << 1)).collect()
    });
    lists.get((nodes >> 1) as usize & ((1 << count) - 1)).map_or(&[], Vec::as_slice)
}

/// hsaKmtQueryPointerInfo.
///
/// # Safety
///
/// `to` is null or an HsaPointerInfo.
pub unsafe fn query(address: u64, to: *mut u8) -> Status {
    let fields = crate::fields::Fields::<68>::new();
    let blocks = blocks();
    let found = blocks
        .blocks
        .range(..=address)
        .next_back()
        .filter(|(start, block)| address - **start < block.bytes);
    let Some((start, block)) = found else {
        // SAFETY: `to` is null, which `write` refuses, or an HsaPointerInfo by the caller's promise.
        let status = unsafe { fields.write(to) };
        return if status == Status::Success { Status::Error } else { status };
    };
    let nodes = mapping(address).map_or(&[][..], |(_, mapping)| listed(mapping.nodes));
    let mapped = nodes.len() as u32;
    let fields = fields
        .u32(0, if block.registered { 2 } else { 1 })
        .u32(4, block.node)
        .u32(8, block.flags)
        .u64(12, *start)
        .u64(20, *start)
        .u64(28, block.bytes)
        .u32(36, mapped)
        .u32(40, mapped)
        .u64(44, nodes.as_ptr() as u64)
        .u64(52, nodes.as_ptr() as u64)
        .u64(60, block.user);
    // SAFETY: `to` is null, which `write` refuses, or an HsaPointerInfo by the caller's promise.
    unsafe { fields.write(to) }
}

/// hsaKmtSetMemoryUserData.
pub fn set_user(address: u64, user: u64) -> Status {
    match blocks().blocks.get_mut(&address) {
        Some(block) => {
            block.user = user;
            Status::Success
        }
        None => Status::InvalidParameter,
    }
}
