//! Memory: allocated and registered ranges, and synchronous copies.
//!
//! Owns the table of addresses: ranges in it are device or host memory that the GPU can access; all else is the
//! program's own memory. Device memory is coarse-grained; host and managed memory is fine-grained host memory that
//! every GPU can access at the program's address. Must not know: queues, code, CUDA.

use std::alloc::Layout;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Arc, RwLock};

use cushim_accel::locks::{read, write};
use cushim_accel::{Copy, Failure, Fill, MemoryKind};

use crate::agents::{Gpu, Host};
use crate::api::Api;
use crate::ffi::*;
use crate::rectangle::Rectangle;

/// The kind of memory at an end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Memory of the GPU with this number.
    Gpu(usize),
    /// The host's, accessible to GPUs.
    Host,
    /// The program's own, not accessible to GPUs.
    Program,
}

/// A row of bytes that the device copies.
pub struct Row {
    /// First byte written, at its GPU address.
    pub to: u64,
    /// First byte read.
    pub from: u64,
    /// How many.
    pub bytes: usize,
    /// The agents of both ends.
    pub agents: [Agent; 2],
}

#[derive(Clone, Copy, Debug)]
struct Range {
    bytes: u64,
    side: Side,
    /// Its GPU address.
    device: u64,
    /// What is freed.
    origin: Origin,
}

#[derive(Clone, Copy, Debug)]
enum Origin {
    /// What the pool returned.
    Pool(u64),
    Registered,
    /// A variable of loaded code, which the executable holds.
    Code,
}

/// All memory.
pub struct Memory {
    api: Api,
    gpus: Arc<[Gpu]>,
    host: Host,
    /// The agents of all GPUs.
    agents: Vec<Agent>,
    ranges: RwLock<BTreeMap<u64, Range>>,
}

/// The least alignment of a pool's addresses.
const PAGE: u64 = 4096;

impl Memory {
    /// Nothing allocated yet.
    pub fn new(api: Api, gpus: Arc<[Gpu]>, host: Host) -> Memory {
        let agents = gpus.iter().map(|gpu| gpu.agent).collect();
        Memory { api, gpus, host, agents, ranges: RwLock::default() }
    }

    /// Memory by [`cushim_accel::Accelerator::allocate`]'s rules.
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`]; [`Failure::Device`].
    pub fn allocate(
        &self,
        device: usize,
        kind: MemoryKind,
        layout: Layout,
    ) -> Result<u64, Failure> {
        let gpu = self.gpus.get(device).ok_or(Failure::OutOfMemory)?;
        let (pool, side) = match kind {
            MemoryKind::Device => (gpu.pool, Side::Gpu(device)),
            MemoryKind::Host | MemoryKind::Managed => (self.host.fine, Side::Host),
        };
        let align = layout.align() as u64;
        let spare = if align > PAGE { align } else { 0 };
        let size = (layout.size() as u64).max(1).checked_add(spare).ok_or(Failure::OutOfMemory)?;
        let origin = self.take(pool, size)?;
        let address = origin.next_multiple_of(align);
        let origin = Origin::Pool(origin);
        let range = Range { bytes: layout.size() as u64, side, device: address, origin };
        write(&self.ranges).insert(address, range);
        Ok(address)
    }

    /// Bytes of a pool, accessible to every GPU that can.
    ///
    /// # Errors
    /// As [`Memory::allocate`].
    pub fn take(&self, pool: Pool, bytes: u64) -> Result<u64, Failure> {
        let bytes = bytes.checked_next_multiple_of(PAGE).ok_or(Failure::OutOfMemory)?;
        let mut place = std::ptr::null_mut();
        // SAFETY: a place for a pointer.
        let status = unsafe {
            (self.api.hsa_amd_memory_pool_allocate)(pool, bytes as usize, 0, &raw mut place)
        };
        self.api.check("hsa_amd_memory_pool_allocate", status)?;
        let address = place.expose_provenance() as u64;
        self.open(pool, address).inspect_err(|_| self.give(address))?;
        Ok(address)
    }

    /// Makes memory of a pool accessible to every GPU that can.
    fn open(&self, pool: Pool, address: u64) -> Result<(), Failure> {
        let mut able = Vec::with_capacity(self.agents.len());
        for agent in &self.agents {
            if self.may_reach(*agent, pool)? {
                able.push(*agent);
            }
        }
        if able.is_empty() {
            return Ok(());
        }
        // SAFETY: a list of that length; memory that was just allocated.
        let status = unsafe {
            let (count, list) = (able.len() as u32, able.as_ptr());
            let place = pointer(address);
            (self.api.hsa_amd_agents_allow_access)(count, list, std::ptr::null(), place)
        };
        self.api.check("hsa_amd_agents_allow_access", status)
    }

    /// Frees memory of [`Memory::take`].
    pub fn give(&self, address: u64) {
        // SAFETY: the caller's: allocated, and nothing uses it any more.
        let _ = unsafe { (self.api.hsa_amd_memory_pool_free)(pointer(address)) };
    }

    /// Bytes of a device's own memory that are not in the table: not the program's.
    ///
    /// # Errors
    /// As [`Memory::allocate`].
    pub fn take_of(&self, device: usize, bytes: u64) -> Result<u64, Failure> {
        let gpu = self.gpus.get(device).ok_or(Failure::OutOfMemory)?;
        self.take(gpu.pool, bytes)
    }

    /// Writes to memory of [`Memory::take_of`].
    ///
    /// # Errors
    /// What the runtime says.
    pub fn write_device(&self, to: u64, bytes: &[u8]) -> Result<(), Failure> {
        // SAFETY: the caller's: device memory of at least that size, and bytes of the host.
        let status =
            unsafe { (self.api.hsa_memory_copy)(pointer(to), bytes.as_ptr().cast(), bytes.len()) };
        self.api.check("hsa_memory_copy", status)
    }

    /// Reads memory of a device that is not in the table.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn read_device(&self, from: u64, bytes: &mut [u8]) -> Result<(), Failure> {
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's: device memory of at least that size, and bytes of the host.
        let status = unsafe {
            (self.api.hsa_memory_copy)(bytes.as_mut_ptr().cast(), pointer(from), bytes.len())
        };
        self.api.check("hsa_memory_copy", status)
    }

    /// The host's fine-grained pool.
    pub fn fine(&self) -> Pool {
        self.host.fine
    }

    /// The pool for kernels' arguments.
    pub fn kernarg(&self) -> Pool {
        self.host.kernarg
    }

    fn may_reach(&self, agent: Agent, pool: Pool) -> Result<bool, Failure> {
        let mut access = pool::NEVER;
        // SAFETY: a place for the answer.
        let status = unsafe {
            (self.api.hsa_amd_agent_memory_pool_get_info)(
                agent,
                pool,
                pool::ACCESS,
                (&raw mut access).cast(),
            )
        };
        self.api.check("hsa_amd_agent_memory_pool_get_info", status)?;
        Ok(access != pool::NEVER)
    }

    /// Frees memory of [`Memory::allocate`].
    pub fn free(&self, address: u64) {
        let range = write(&self.ranges).remove(&address);
        if let Some(Range { origin: Origin::Pool(origin), .. }) = range {
            self.give(origin);
        }
    }

    /// Makes memory of the program accessible to every GPU; returns its GPU address.
    ///
    /// # Errors
    /// [`Failure::InvalidAddress`] where there is no memory; the runtime's.
    pub fn register(&self, address: u64, bytes: u64) -> Result<u64, Failure> {
        if !is_mapped(address, bytes) {
            return Err(Failure::InvalidAddress(address));
        }
        let mut place = std::ptr::null_mut();
        // SAFETY: existing memory of the program; a list of agents of that length.
        let status = unsafe {
            (self.api.hsa_amd_memory_lock)(
                pointer(address),
                bytes as usize,
                self.agents.as_ptr(),
                self.agents.len() as i32,
                &raw mut place,
            )
        };
        self.api.check("hsa_amd_memory_lock", status)?;
        let device = place.expose_provenance() as u64;
        let range = Range { bytes, side: Side::Host, device, origin: Origin::Registered };
        write(&self.ranges).insert(address, range);
        Ok(device)
    }

    /// Ends [`Memory::register`].
    pub fn unregister(&self, address: u64) {
        let range = write(&self.ranges).remove(&address);
        if let Some(Range { origin: Origin::Registered, .. }) = range {
            // SAFETY: locked by `register`.
            let _ = unsafe { (self.api.hsa_amd_memory_unlock)(pointer(address)) };
        }
    }

    /// Adds a variable of code that was loaded for a GPU.
    pub fn adopt(&self, device: usize, address: u64, bytes: u64) {
        let (side, origin) = (Side::Gpu(device), Origin::Code);
        write(&self.ranges).insert(address, Range { bytes, side, device: address, origin });
    }

    /// Removes it.
    pub fn forget(&self, address: u64) {
        write(&self.ranges).remove(&address);
    }

    /// The kind of memory of `bytes` at an address, and their GPU address.
    ///
    /// # Errors
    /// [`Failure::InvalidAddress`] beyond the end of device memory, and for an address without
    /// memory.
    pub fn side(&self, address: u64, bytes: u64) -> Result<(Side, u64), Failure> {
        let wrong = Failure::InvalidAddress(address);
        let end = address.checked_add(bytes).filter(|_| address >= PAGE).ok_or(wrong.clone())?;
        let ranges = read(&self.ranges);
        let Some((at, range)) = ranges.range(..=address).next_back() else {
            return Ok((Side::Program, address));
        };
        let offset = address - at;
        match (offset < range.bytes.max(1), end <= at + range.bytes) {
            (false, _) => Ok((Side::Program, address)),
            (true, true) => Ok((range.side, range.device + offset)),
            // A block of the program that is partly registered.
            (true, false) if range.side == Side::Host => Ok((Side::Program, address)),
            (true, false) => Err(wrong),
        }
    }

    /// The copy as one row, if the device can copy it by itself: both ends accessible to the GPU,
    /// one its own.
    pub fn row(&self, copy: &Copy) -> Option<Result<Row, Failure>> {
        let (to, from, bytes) = copy.linear()?;
        let side = |address| self.side(address, bytes as u64);
        let ((to_side, to), (from_side, from)) = match (side(to), side(from)) {
            (Ok(to), Ok(from)) => (to, from),
            (Err(failure), _) | (_, Err(failure)) => return Some(Err(failure)),
        };
        let of_gpu = |side| matches!(side, Side::Gpu(_));
        let own = to_side != Side::Program && from_side != Side::Program;
        let agents = [self.agent(to_side), self.agent(from_side)];
        let row = Row { to, from, bytes, agents };
        (own && (of_gpu(to_side) || of_gpu(from_side))).then_some(Ok(row))
    }

    /// Whether the device copies it, or refuses it.
    pub fn is_for_device(&self, copy: &Copy) -> bool {
        self.row(copy).is_some() || Rectangle::of(self, copy).is_some()
    }

    /// The agent of a side, as copies name it.
    pub fn agent(&self, side: Side) -> Agent {
        match side {
            Side::Gpu(n) => self.gpus.get(n).map_or(self.host.agent, |gpu| gpu.agent),
            Side::Host | Side::Program => self.host.agent,
        }
    }

    /// Copies bytes now.
    ///
    /// # Errors
    /// [`Failure::InvalidAddress`]; the runtime's.
    pub fn copy_bytes(&self, to: u64, from: u64, bytes: usize) -> Result<(), Failure> {
        if bytes == 0 {
            return Ok(());
        }
        let ends = [self.side(to, bytes as u64)?.0, self.side(from, bytes as u64)?.0];
        for (side, address) in ends.into_iter().zip([to, from]) {
            if side == Side::Program && !is_mapped(address, bytes as u64) {
                return Err(Failure::InvalidAddress(address));
            }
        }
        if ends.iter().any(|side| matches!(side, Side::Gpu(_))) {
            // SAFETY: existing device memory, and mapped host memory.
            let status = unsafe { (self.api.hsa_memory_copy)(pointer(to), pointer(from), bytes) };
            return self.api.check("hsa_memory_copy", status);
        }
        // SAFETY: memory of the host that is mapped.
        unsafe { std::ptr::copy(pointer(from).cast::<u8>(), pointer(to).cast(), bytes) };
        Ok(())
    }

    /// Copies rows and planes now.
    ///
    /// # Errors
    /// As [`Memory::copy_bytes`].
    pub fn copy(&self, copy: &Copy) -> Result<(), Failure> {
        if let Some((to, from, bytes)) = copy.linear() {
            return self.copy_bytes(to, from, bytes);
        }
        copy.rows().try_for_each(|(to, from)| self.copy_bytes(to, from, copy.width))
    }

    /// Repeats a value now.
    ///
    /// # Errors
    /// As [`Memory::copy_bytes`].
    pub fn fill(&self, fill: &Fill) -> Result<(), Failure> {
        let size = fill.size.clamp(1, 4);
        let row = fill.row_bytes();
        let [a, b, c, d] = fill.value.to_le_bytes();
        let pattern = match size {
            1 => [a; 4],
            2 => [a, b, a, b],
            _ => [a, b, c, d],
        };
        if fill.pitch == row {
            return self.fill_row(fill.to, pattern, row * fill.height);
        }
        fill.rows().try_for_each(|to| self.fill_row(to, pattern, row))
    }

    /// Fills `bytes` bytes with a pattern that repeats at every multiple of its value's size.
    fn fill_row(&self, to: u64, pattern: [u8; 4], bytes: usize) -> Result<(), Failure> {
        if bytes == 0 {
            return Ok(());
        }
        let side = self.side(to, bytes as u64)?.0;
        if side == Side::Program && !is_mapped(to, bytes as u64) {
            return Err(Failure::InvalidAddress(to));
        }
        let repeat = |count: usize| pattern.into_iter().cycle().take(count).collect::<Vec<u8>>();
        if !matches!(side, Side::Gpu(_)) {
            let row = repeat(bytes);
            // SAFETY: memory of the host that is mapped.
            unsafe { std::ptr::copy_nonoverlapping(row.as_ptr(), pointer(to).cast(), bytes) };
            return Ok(());
        }
        // The runtime fills words: bytes before the first and behind the last one are copied. A
        // value of two bytes begins at an even address, so that its halves are as in the pattern of
        // a row; of four, at a word.
        let head = (to.next_multiple_of(4) - to).min(bytes as u64) as usize;
        let words = (bytes - head) / 4;
        let tail = bytes - head - words * 4;
        if head > 0 {
            let row = repeat(head);
            self.copy_bytes(to, row.as_ptr().expose_provenance() as u64, head)?;
        }
        let mut turned = pattern;
        turned.rotate_left(head % 4);
        if words > 0 {
            let word = u32::from_le_bytes(turned);
            // SAFETY: words of existing device memory.
            let status =
                unsafe { (self.api.hsa_amd_memory_fill)(pointer(to + head as u64), word, words) };
            self.api.check("hsa_amd_memory_fill", status)?;
        }
        if tail > 0 {
            let at = to + (head + words * 4) as u64;
            self.copy_bytes(at, turned.as_ptr().expose_provenance() as u64, tail)?;
        }
        Ok(())
    }
}

fn pointer(address: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

fn is_mapped(address: u64, bytes: u64) -> bool {
    cushim_process::memory::is_mapped(address as usize, bytes as usize)
}
