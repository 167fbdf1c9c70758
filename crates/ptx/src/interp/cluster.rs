//! The blocks of a cluster: their shared memory, their turns, and the cluster's barrier. In a launch without
//! clusters, each block is a cluster of one.

use super::block::Block;
use super::launch::Exec;
use crate::exec::{Fault, cluster};

pub(super) struct Cluster {
    blocks: Vec<Block>,
    /// The shared memory of each block, by rank.
    shared: Vec<Vec<u8>>,
}

impl Cluster {
    /// A cluster of the launch; [`Cluster::start`] makes it one with a number.
    pub(super) fn new(exec: &Exec<'_>) -> Cluster {
        let size = exec.launch.cluster_size() as usize;
        let blocks = (0..size).map(|_| Block::new(exec)).collect();
        Cluster { blocks, shared: vec![vec![0; exec.shared_size as usize]; size] }
    }

    /// All blocks at the first instruction, with memory and registers all zero.
    pub(super) fn start(&mut self, exec: &Exec<'_>, number: u64) {
        let launch = exec.launch;
        for (rank, block) in self.blocks.iter_mut().enumerate() {
            let index = cluster::block(launch.grid, launch.cluster, number, rank as u64);
            block.start(exec, index, rank);
        }
        self.shared.iter_mut().for_each(|memory| memory.fill(0));
    }

    pub(super) fn is_done(&self) -> bool {
        self.blocks.iter().all(Block::is_done)
    }

    /// The first block that has not exited.
    pub(super) fn index(&self) -> [u32; 3] {
        let block = self.blocks.iter().find(|block| !block.is_done()).or(self.blocks.first());
        block.map_or([0; 3], |block| block.index)
    }

    /// Runs until nothing can proceed, or about `budget` instructions of each block. Returns how many ran.
    pub(super) fn run(&mut self, exec: &Exec<'_>, budget: u64) -> Result<u64, Fault> {
        let mut ran = 0;
        loop {
            for block in self.blocks.iter_mut().filter(|block| !block.is_done()) {
                std::mem::swap(&mut block.common.shared, &mut self.shared);
                let result = block.run(exec, budget);
                std::mem::swap(&mut block.common.shared, &mut self.shared);
                ran += result?;
            }
            let released = self.meet();
            if !released || ran >= budget || self.is_done() {
                return Ok(ran + u64::from(released));
            }
        }
    }

    /// Releases the lanes that wait at the cluster's barrier, if all have arrived. True if there were any.
    fn meet(&mut self) -> bool {
        let used = self.blocks.iter().any(|block| block.common.arrivals.is_used());
        let complete = |block: &Block| {
            block.common.arrivals.is_complete(block.warps.iter().map(|warp| warp.live))
        };
        if used && self.blocks.iter().all(complete) {
            self.blocks.iter_mut().for_each(|block| block.common.arrivals.release());
        }
        self.blocks.iter_mut().fold(false, |any, block| block.release_cluster() | any)
    }
}
