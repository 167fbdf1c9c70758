//! A launch and its sums.
//!
//! Owns sums of counts by instruction. Must not know how they are counted or reported.

use std::sync::Arc;

use cushim_ptx::ir::Module;

use super::count::Counts;

/// What was launched.
pub struct Launched {
    /// The kernel's module, and its number there.
    pub module: Arc<Module>,
    /// The kernel's number in it.
    pub kernel: u32,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Shared memory that the launch asked for, in bytes.
    pub dynamic_shared: u32,
    /// The recorded call that asked for it, 0 for none.
    pub call: u64,
    /// A kernel launched it that ran for that call.
    pub inner: bool,
    /// Number of its device.
    pub device: usize,
    /// Number of its stream, 0 if unknown.
    pub stream: u64,
    /// When it began, `CLOCK_MONOTONIC`, ns.
    pub start_ns: u64,
}

/// The counts of each instruction of a launch, by function and index.
#[derive(Default)]
pub struct Sums {
    /// By function and index.
    pub counts: Vec<Vec<Counts>>,
    /// Sectors that were written into device memory.
    pub written: u64,
}

impl Sums {
    /// The counts of an instruction, by function and index.
    pub fn at(&mut self, (function, pc): (u32, u32)) -> &mut Counts {
        let (function, pc) = (function as usize, pc as usize);
        if self.counts.len() <= function {
            self.counts.resize_with(function + 1, Vec::new);
        }
        // The list was extended to contain the index just before.
        #[allow(clippy::indexing_slicing)]
        let own = &mut self.counts[function];
        if own.len() <= pc {
            own.resize(pc + 1, Counts::default());
        }
        #[allow(clippy::indexing_slicing)]
        &mut own[pc]
    }

    /// The counts of all instructions together.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        self.counts.iter().flatten().for_each(|counts| total.merge(counts));
        total
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Sums) {
        for (function, counts) in other.counts.iter().enumerate() {
            for (pc, counts) in counts.iter().enumerate() {
                self.at((function as u32, pc as u32)).merge(counts);
            }
        }
        self.written += other.written;
    }
}
