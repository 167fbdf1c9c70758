//! Cooperative launches: all blocks of a grid are resident on the GPU at once.
//!
//! Owns how many blocks fit on a GPU, the workspaces of `grid.sync()`, and that no two such grids run on a GPU at the
//! same time, because each could occupy what the other still needs. AMD's cooperative queues do no more: all blocks
//! are resident because there are not too many. Must not know: packets.

use std::sync::{Arc, Mutex, MutexGuard};

use cushim_accel::Failure;
use cushim_accel::locks::lock;
use cushim_translate::abi::Lanes;

use crate::agents::Gpu;
use crate::memory::Memory;
use crate::signals::Native;

/// Bytes of a workspace.
const WORKSPACE: u64 = 64;
/// Bytes of device memory that are allocated for workspaces at a time.
const BLOCK: u64 = 4096;
/// The most workgroups of a compute unit, which is the number of its barriers.
const MOST: u32 = 16;
/// SIMDs of a compute unit.
const SIMDS: u32 = 4;

/// A device's state for cooperative launches.
pub struct Cooperative {
    device: usize,
    memory: Arc<Memory>,
    /// The end of the last cooperative launch.
    last: Mutex<Option<Arc<Native>>>,
    state: Arc<Mutex<Spaces>>,
}

#[derive(Default)]
struct Spaces {
    blocks: Vec<u64>,
    free: Vec<u64>,
}

/// A workspace in use.
pub struct Workspace {
    /// Where it lies.
    pub address: u64,
    state: Arc<Mutex<Spaces>>,
}

impl Drop for Workspace {
    fn drop(&mut self) {
        lock(&self.state).free.push(self.address);
    }
}

impl Cooperative {
    /// Nothing yet.
    pub fn new(device: usize, memory: &Arc<Memory>) -> Cooperative {
        let (last, state) = (Mutex::default(), Arc::default());
        Cooperative { device, memory: memory.clone(), last, state }
    }

    /// The end of the last cooperative launch; locked until the next one has stored its own.
    pub fn last(&self) -> MutexGuard<'_, Option<Arc<Native>>> {
        lock(&self.last)
    }

    /// A zeroed workspace.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn workspace(&self) -> Result<Workspace, Failure> {
        let mut spaces = lock(&self.state);
        if spaces.free.is_empty() {
            let block = self.memory.take_of(self.device, BLOCK)?;
            spaces.blocks.push(block);
            spaces.free.extend((0..BLOCK / WORKSPACE).map(|n| block + n * WORKSPACE));
        }
        let Some(address) = spaces.free.pop() else { return Err(Failure::OutOfMemory) };
        drop(spaces);
        let space = Workspace { address, state: self.state.clone() };
        self.memory.write_device(address, &[0; WORKSPACE as usize])?;
        Ok(space)
    }

    /// Frees all memory.
    pub fn end(&self) {
        let spaces = std::mem::take(&mut *lock(&self.state));
        spaces.blocks.into_iter().for_each(|block| self.memory.give(block));
    }
}

/// How many workgroups a GPU holds at once, given their work-items, local data share and vector
/// registers.
pub fn most(gpu: &Gpu, items: u32, group: u32, registers: u32) -> u64 {
    let waves = items.div_ceil(gpu.wavefront.max(1)).max(1);
    let of_a_lane = crate::describe::registers(gpu) / (64 * SIMDS);
    let by_registers = of_a_lane / registers.next_multiple_of(8).max(8);
    let held = by_registers.min(gpu.waves / SIMDS).max(1) * SIMDS;
    let by_share = gpu.group.checked_div(group).unwrap_or(MOST);
    u64::from((held / waves).min(by_share).min(MOST)) * u64::from(gpu.units)
}

/// Registers of a translated kernel's thread, as CUDA's occupancy counts them, so that a multiprocessor holds no more
/// blocks than a compute unit: eight waves of a SIMD leave 64 to each lane, and in half waves a thread has two lanes.
pub fn counted(lanes: &[Lanes], registers: u32) -> u32 {
    let of_a_lane = registers.next_multiple_of(8).max(64);
    if lanes.first() == Some(&Lanes::Full) { of_a_lane } else { 2 * of_a_lane }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_scarcest_counts() {
        let gpu = Gpu {
            name: "gfx90a".into(),
            wavefront: 64,
            waves: 32,
            units: 8,
            group: 64 << 10,
            ..Gpu::default()
        };
        assert_eq!(most(&gpu, 64, 0, 32), 16 * 8);
        assert_eq!(most(&gpu, 1024, 0, 64), 2 * 8);
        assert_eq!(most(&gpu, 1024, 0, 128), 8);
        assert_eq!(most(&gpu, 128, 20 << 10, 8), 3 * 8);
        assert_eq!(most(&gpu, 65, 0, 65), 14 * 8);
    }
}
