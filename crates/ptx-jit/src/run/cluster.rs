//! The blocks of a cluster: their turns, and the cluster's barrier. In a launch without clusters, each block is a
//! cluster of one.

use super::block::{BlockSlot, Outcome};
use super::launch::Exec;
use cushim_ptx::exec::{Fault, cluster};

/// Reused storage for one cluster at a time.
pub(super) struct Cluster<'e> {
    blocks: Vec<BlockSlot<'e>>,
    /// Where each block's shared memory is, by rank.
    _shared: Vec<*mut u8>,
}

impl<'e> Cluster<'e> {
    pub(super) fn new(exec: &'e Exec<'e>) -> Cluster<'e> {
        let size = exec.launch.cluster_size();
        let mut blocks: Vec<BlockSlot<'_>> = (0..size).map(|_| BlockSlot::new(exec)).collect();
        let shared: Vec<*mut u8> = blocks.iter().map(BlockSlot::shared).collect();
        for (block, rank) in blocks.iter_mut().zip(0..) {
            block.join(&shared, rank);
        }
        Cluster { blocks, _shared: shared }
    }

    /// Begins a cluster; without clusters a block, and those that follow it along x.
    pub(super) fn start(&mut self, exec: &Exec<'_>, number: u64, count: u32) {
        let launch = exec.launch;
        if let [block] = &mut self.blocks[..] {
            let [gx, gy, _] = launch.grid.map(u64::from);
            let index = [number % gx, number / gx % gy, number / gx / gy];
            return block.start(exec, index.map(|v| v as u32), count);
        }
        for (block, rank) in self.blocks.iter_mut().zip(0..) {
            block.start(exec, cluster::block(launch.grid, launch.cluster, number, rank), 1);
        }
    }

    /// The first block that has not exited.
    pub(super) fn index(&self) -> [u32; 3] {
        let block = self.blocks.iter().find(|block| !block.is_done()).or(self.blocks.first());
        block.map_or([0; 3], BlockSlot::index)
    }

    /// Gives every block a turn that has not exited.
    pub(super) fn turn(&mut self, exec: &Exec<'_>) -> Result<Outcome, Fault> {
        let (mut done, mut ran) = (true, false);
        for block in self.blocks.iter_mut().filter(|block| !block.is_done()) {
            let outcome = block.turn(exec)?;
            done &= outcome == Outcome::Done;
            ran |= outcome != Outcome::Stuck;
        }
        if done {
            return Ok(Outcome::Done);
        }
        Ok(if self.meet() || ran { Outcome::Ran } else { Outcome::Stuck })
    }

    /// Releases the lanes that wait at the cluster's barrier, if all have arrived. True if there were any.
    fn meet(&mut self) -> bool {
        if self.blocks.iter_mut().all(|block| block.at_cluster().1) {
            self.blocks.iter_mut().for_each(|block| block.at_cluster().0.release());
        }
        self.blocks.iter_mut().fold(false, |any, block| block.release_cluster() | any)
    }
}
