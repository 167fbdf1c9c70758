//! The nodes: a CPU, and GPUs in software.
//!
//! Owns: the properties that the runtime gets. Must not know: how they are used.

use crate::Status;
use crate::fields::Fields;
use crate::model::{self, Model};

/// How many compute units the GPU reports: few, as each is a share of the CPU.
const UNITS: u32 = cushim_amdgpu::launch::UNITS;
/// HsaNodeProperties, HsaMemoryProperties, HsaCacheProperties and HsaIoLinkProperties in bytes.
const NODE: usize = 356;
const MEMORY: usize = 32;
const CACHE: usize = 1056;
const LINK: usize = 48;

fn bytes_of_memory() -> u64 {
    // SAFETY: both queries have no side effects.
    let (pages, size) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages.saturating_mul(size)).unwrap_or(1 << 30).max(1 << 30)
}

/// How much local memory a GPU reports: its share of half of the machine's.
fn local_memory() -> u64 {
    (bytes_of_memory() / 2 / model::all().len().max(1) as u64) & !0x1f_ffff
}

/// How many GPUs there are.
fn gpus() -> u32 {
    model::all().len() as u32
}

/// Whether a node is a GPU's.
pub fn is_gpu(node: u32) -> bool {
    model::of(node).is_some()
}

/// How many threads execute a kernel.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// hsaKmtAcquireSystemProperties.
///
/// # Safety
///
/// `to` is null or an HsaSystemProperties.
pub unsafe fn system(to: *mut u8) -> Status {
    // SAFETY: `to` is null, which `write` refuses, or an HsaSystemProperties by the caller's promise, and that has as many bytes.
    unsafe { Fields::<16>::new().u32(0, 1 + gpus()).write(to) }
}

/// hsaKmtGetNodeProperties.
///
/// # Safety
///
/// `to` is null or an HsaNodeProperties.
pub unsafe fn node(number: u32, to: *mut u8) -> Status {
    let fields = match number {
        0 => Fields::<NODE>::new()
            .u32(0, threads() as u32)
            .u32(8, 1)
            .u32(12, 1)
            .u32(16, gpus())
            .wide(100, "cushim host")
            .u32(92, 1000),
        _ => match model::of(number) {
            Some(model) => gpu(number, model),
            None => return Status::InvalidNode,
        },
    };
    // SAFETY: `to` is null, which `write` refuses, or an HsaNodeProperties by the caller's promise, and that has as many bytes.
    unsafe { fields.write(to) }
}

fn gpu(node: u32, model: &Model) -> Fields<NODE> {
    // Doorbells of 64 bits.
    let capability = 2 << 12 | if model.ecc { 1 << 26 } else { 0 };
    // Firmware version 1.
    let [major, minor, stepping] = model.version;
    let engine = 1 | major << 10 | minor << 16 | stepping << 24;
    Fields::<NODE>::new()
        .u32(4, UNITS * model.simds)
        .u32(8, 3)
        .u32(12, 2)
        .u32(16, gpus())
        .u32(24, 0x8000_0000)
        .u32(28, capability)
        .u32(32, 8)
        .u32(36, 64)
        .u32(44, model.lanes)
        .u32(48, 1)
        .u32(52, 1)
        .u32(56, UNITS)
        .u32(60, model.simds)
        .u32(64, 32)
        .u32(68, engine)
        .u16(72, 0x1002)
        .u16(74, model.device)
        .u32(76, 0x100 * node)
        .u64(80, local_memory())
        .u32(88, 1000)
        .u32(92, 1000)
        .u32(96, 128)
        .wide(100, &format!("cushim {} (software)", model.name))
        .text(228, model.name)
        .u32(312, 1)
        .u8(320, 2)
        .u8(321, 4)
        .u64(328, 0x6375_7368_696d_0000 | u64::from(node))
        .u32(336, model.registers[0])
        .u32(340, model.registers[1])
}

/// hsaKmtGetNodeMemoryProperties.
///
/// # Safety
///
/// `to` has room for `count` HsaMemoryProperties.
pub unsafe fn memory(number: u32, count: u32, to: *mut u8) -> Status {
    // Heap type, bytes, base address.
    let banks: Vec<(u32, u64, u64)> = match number {
        0 => vec![(0, bytes_of_memory(), 0)],
        node if is_gpu(node) => vec![
            (1, local_memory(), 0),
            (4, 64 << 10, cushim_amdgpu::wave::SHARED_BASE),
            (5, 4 << 30, cushim_amdgpu::wave::PRIVATE_BASE),
        ],
        _ => return Status::InvalidNode,
    };
    for (i, (heap, bytes, base)) in banks.into_iter().enumerate().take(count as usize) {
        let fields = Fields::<MEMORY>::new()
            .u32(0, heap)
            .u64(4, bytes)
            .u32(16, 64)
            .u32(20, 1000)
            .u64(24, base);
        // SAFETY: `i` is below `count`, for which there is room.
        let status = unsafe { fields.write(to.wrapping_add(i * MEMORY)) };
        if status != Status::Success {
            return status;
        }
    }
    Status::Success
}

/// hsaKmtGetNodeCacheProperties.
///
/// # Safety
///
/// `to` has room for `count` HsaCacheProperties.
pub unsafe fn cache(number: u32, count: u32, to: *mut u8) -> Status {
    // Level, KiB, bytes of a line, type: 1 data, 4 of the CPU, 8 of the GPU.
    let caches: &[(u32, u32, u32, u32)] = match number {
        0 => &[(2, 1024, 64, 1 | 4)],
        node if is_gpu(node) => &[(1, 16, 64, 1 | 8), (2, 8192, 128, 1 | 8)],
        _ => return Status::InvalidNode,
    };
    for (i, (level, size, line, kind)) in caches.iter().enumerate().take(count as usize) {
        let fields =
            Fields::<CACHE>::new().u32(4, *level).u32(8, *size).u32(12, *line).u32(28, *kind);
        // SAFETY: `i` is below `count`, for which there is room.
        let status = unsafe { fields.write(to.wrapping_add(i * CACHE)) };
        if status != Status::Success {
            return status;
        }
    }
    Status::Success
}

/// hsaKmtGetNodeIoLinkProperties: PCI Express between all.
///
/// # Safety
///
/// `to` has room for `count` HsaIoLinkProperties.
pub unsafe fn links(number: u32, count: u32, to: *mut u8) -> Status {
    if number > gpus() {
        return Status::InvalidNode;
    }
    let others = (0..=gpus()).filter(|other| *other != number);
    for (i, other) in others.enumerate().take(count as usize) {
        // The path between GPUs goes through the CPU.
        let weight = if number != 0 && other != 0 { 40 } else { 20 };
        let fields = Fields::<LINK>::new().u32(0, 2).u32(12, number).u32(16, other).u32(20, weight);
        // SAFETY: `i` is below `count`, for which there is room.
        let status = unsafe { fields.write(to.wrapping_add(i * LINK)) };
        if status != Status::Success {
            return status;
        }
    }
    Status::Success
}

/// hsaKmtGetTileConfig: without images, only the address configuration is queried.
///
/// # Safety
///
/// `to` is null or an HsaGpuTileConfig.
pub unsafe fn tiles(number: u32, to: *mut u8) -> Status {
    if !is_gpu(number) || to.is_null() {
        return Status::InvalidParameter;
    }
    // SAFETY: the caller's promise. Two pointers to arrays and their lengths come first; the caller owns them.
    unsafe {
        to.add(16).cast::<u32>().write_unaligned(0);
        to.add(20).cast::<u32>().write_unaligned(0);
        to.add(24).cast::<u32>().write_unaligned(0x444);
    }
    Status::Success
}

/// Nanoseconds of the clock for all times.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// hsaKmtGetClockCounters.
///
/// # Safety
///
/// `to` is null or an HsaClockCounters.
pub unsafe fn clocks(number: u32, to: *mut u8) -> Status {
    if number > gpus() {
        return Status::InvalidNode;
    }
    let now = now();
    // SAFETY: `to` is null, which `write` refuses, or an HsaClockCounters by the caller's promise, and that has as many bytes.
    unsafe {
        Fields::<32>::new().u64(0, now).u64(8, now).u64(16, now).u64(24, 1_000_000_000).write(to)
    }
}
