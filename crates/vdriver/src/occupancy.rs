//! How many blocks of a kernel fit on a multiprocessor at a time.
//!
//! Owns the calculation and `cuOccupancy*`. Source: CUDA Driver API, "Occupancy"; the granularities (warps of
//! 32 threads, 256 registers of a warp) are those of every GPU since compute capability 3.0. Must not know:
//! launches.

use cushim_abi::structs::DriverLaunchConfig;
use cushim_abi::types::*;

use super::entry::entry;
use super::function::Function;
use super::function_api::of;
use super::state::{accelerator, give, take};
use super::status;
use super::{cluster, device};
use crate::argument::Place;
use cushim_accel::Kernel;

/// `CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE`, the only flag.
const FLAGS: u32 = 1;
const WARP: u32 = 32;
const REGISTERS_OF_WARP: u32 = 256;

/// The resources of a multiprocessor, by `CUdevice_attribute`.
struct Processor {
    threads: u32,
    blocks: u32,
    shared: u32,
    registers: u32,
    /// Shared memory that the system reserves per block.
    reserved: u32,
    /// The most shared memory of a block.
    most_shared: u32,
    count: u32,
}

impl Processor {
    fn of(number: usize) -> Processor {
        let found = accelerator().devices().get(number);
        let value = |attribute| {
            let value = found.and_then(|found| device::attribute(found, number as i32, attribute));
            value.and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
        };
        Processor {
            threads: value(39),
            blocks: value(106),
            shared: value(81),
            registers: value(82),
            reserved: value(111),
            most_shared: value(97),
            count: value(16).max(1),
        }
    }
}

/// How many blocks with these threads and this dynamic shared memory a multiprocessor holds.
pub fn blocks(function: &Function, threads: u32, dynamic: u32) -> u32 {
    of_kernel(&function.kernel, function.device, threads, dynamic)
}

/// As [`blocks`], for a kernel on a device.
pub fn of_kernel(kernel: &Kernel, device: usize, threads: u32, dynamic: u32) -> u32 {
    let has = Processor::of(device);
    let shared = kernel.static_shared.saturating_add(dynamic);
    if threads == 0 || threads > kernel.max_threads || shared > has.most_shared {
        return 0;
    }
    let warps = threads.div_ceil(WARP);
    let registers = kernel.registers.saturating_mul(WARP).next_multiple_of(REGISTERS_OF_WARP);
    let limits = [
        has.blocks,
        has.threads / (warps * WARP),
        has.shared.checked_div(shared.saturating_add(has.reserved)).unwrap_or(u32::MAX),
        has.registers.checked_div(registers.saturating_mul(warps)).unwrap_or(u32::MAX),
    ];
    limits.into_iter().min().unwrap_or(0)
}

fn positive(value: i32) -> Result<u32, i32> {
    u32::try_from(value).ok().filter(|value| *value > 0).ok_or(status::INVALID_VALUE)
}

fn active(to: Place<i32>, func: Func, block: i32, dynamic: usize, flags: u32) -> Result<(), i32> {
    let function = of(func)?;
    if to.is_null() || flags & !FLAGS != 0 {
        return Err(status::INVALID_VALUE);
    }
    let dynamic = u32::try_from(dynamic).unwrap_or(u32::MAX);
    let found = blocks(&function, positive(block)?, dynamic);
    give(to, found as i32)
}

/// The block size with the most resident threads, the largest of equals, and the number of blocks
/// that fill the device.
fn potential(
    grid: Place<i32>,
    block: Place<i32>,
    func: Func,
    shared_of: Ptr,
    shared: usize,
    limit: i32,
    flags: u32,
) -> Result<(), i32> {
    let function = of(func)?;
    if grid.is_null() || block.is_null() || flags & !FLAGS != 0 || limit < 0 {
        return Err(status::INVALID_VALUE);
    }
    let dynamic = |threads: u32| -> u32 {
        let bytes = match shared_of.0 {
            0 => shared,
            address => {
                type SharedOf = unsafe extern "C" fn(i32) -> usize;
                // SAFETY: CUoccupancyB2DSize of the caller's.
                let function = unsafe { std::mem::transmute::<usize, SharedOf>(address) };
                // SAFETY: the caller's function takes a block's size.
                unsafe { function(threads as i32) }
            }
        };
        u32::try_from(bytes).unwrap_or(u32::MAX)
    };
    let most = match limit {
        0 => function.kernel.max_threads,
        limit => function.kernel.max_threads.min(limit as u32),
    };
    // Whole warps, and the limit itself where it is no multiple of a warp.
    let first = most.next_multiple_of(WARP);
    let sizes = (1..=first / WARP).rev().map(|warps| (warps * WARP).min(most));
    let mut best = (0, 0, 0);
    for threads in sizes {
        let together = blocks(&function, threads, dynamic(threads));
        if together * threads > best.0 {
            best = (together * threads, threads, together);
        }
    }
    let (_, threads, together) = best;
    give(grid, (together * Processor::of(function.device).count) as i32)?;
    give(block, threads as i32)
}

entry! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor (numBlocks: Out<i32>, func: Func, blockSize: i32, dynamicSMemSize: usize) {
        active(numBlocks, func, blockSize, dynamicSMemSize, 0)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags (numBlocks: Out<i32>, func: Func, blockSize: i32, dynamicSMemSize: usize, flags: Flags) {
        active(numBlocks, func, blockSize, dynamicSMemSize, flags.0)
    }

    fn cuOccupancyMaxPotentialBlockSize (minGridSize: Out<i32>, blockSize: Out<i32>, func: Func, blockSizeToDynamicSMemSize: Ptr, dynamicSMemSize: usize, blockSizeLimit: i32) {
        potential(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit, 0)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags (minGridSize: Out<i32>, blockSize: Out<i32>, func: Func, blockSizeToDynamicSMemSize: Ptr, dynamicSMemSize: usize, blockSizeLimit: i32, flags: Flags) {
        potential(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit, flags.0)
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock (dynamicSmemSize: Out<usize>, func: Func, numBlocks: i32, blockSize: i32) {
        let function = of(func)?;
        let (number, threads) = (positive(numBlocks)?, positive(blockSize)?);
        let (kernel, has) = (&function.kernel, Processor::of(function.device));
        if threads > kernel.max_threads || number > blocks(&function, threads, 0) {
            return Err(status::INVALID_VALUE);
        }
        let share = (has.shared / number).saturating_sub(has.reserved).min(has.most_shared);
        // Shared memory is allocated in units of 128 bytes, and a launch takes no more than the kernel's attribute allows.
        let free = share.saturating_sub(kernel.static_shared) & !127;
        give(dynamicSmemSize, free.min(function.most_dynamic()) as usize)
    }

    fn cuOccupancyMaxPotentialClusterSize (clusterSize: Out<i32>, func: Func, config: Ptr) {
        let function = of(func)?;
        // SAFETY: null, or a configuration with as many attributes as it says.
        let (_, together) = unsafe { clusters(&function, config)? };
        // The blocks of a cluster run in turns, so a multiprocessor's size is no limit.
        let most = if together > 0 { cluster::most(&function.settings) } else { 0 };
        give(clusterSize, most as i32)
    }

    fn cuOccupancyMaxActiveClusters (numClusters: Out<i32>, func: Func, config: Ptr) {
        let function = of(func)?;
        // SAFETY: null, or a configuration with as many attributes as it says.
        let (sides, together) = unsafe { clusters(&function, config)? };
        // Measured: 0 without a cluster size.
        let Some(sides) = sides else { return give(numClusters, 0) };
        let all = together * Processor::of(function.device).count;
        let size = sides.iter().product::<u32>().max(1);
        give(numClusters, (all / size).max(u32::from(together > 0)) as i32)
    }
}

/// The size of a configuration's clusters, and how many of its blocks a multiprocessor holds.
///
/// # Safety
/// `config` is null or a configuration with as many attributes as it says.
unsafe fn clusters(function: &Function, config: Ptr) -> Result<(Option<[u32; 3]>, u32), i32> {
    // SAFETY: null, which `take` refuses, or a configuration by the caller's promise.
    let config = unsafe { take::<DriverLaunchConfig>(config) }?;
    // SAFETY: it has as many attributes as it says, by the caller's promise.
    let given = unsafe { cluster::named(&config) }?;
    let (grid, threads) = ([config.grid.x, config.grid.y, config.grid.z], threads(&config));
    if threads == 0 {
        return Err(status::INVALID_VALUE);
    }
    let sides = cluster::size(function, grid, given)?;
    let fits = config.shared <= function.most_dynamic();
    Ok((sides, if fits { blocks(function, threads, config.shared) } else { 0 }))
}

/// Threads of a block.
fn threads(config: &DriverLaunchConfig) -> u32 {
    let sides = [config.block.x, config.block.y, config.block.z];
    sides.into_iter().fold(1u32, |product, side| product.saturating_mul(side))
}
