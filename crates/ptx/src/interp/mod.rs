//! Runs whole kernels, instruction by instruction.
//!
//! Owns warps, barriers, calls and the order in which lanes run. It is the oracle for compiled code, and the fallback
//! if there is none. Must not know where device memory is or where output goes: [`Memory`] and [`Host`] do.
//!
//! Instructions are decoded once per launch, block by block as they are reached. Common instructions are computed for
//! all lanes at once ([`lanewise`]), also accesses to consecutive addresses ([`access`]); all others lane by lane
//! ([`step`]).
//!
//! A warp is a set of fragments: lanes at the same instruction with the same call stack. They diverge at a branch and
//! join where they meet; the fragment that is furthest behind runs first, but none starves, so a lane may spin on
//! another. Every fragment can wait (barrier, shuffle) and resume later; so can warps and blocks.
//! [`crate::exec::schedule`] defines the order of blocks.

mod access;
mod asynchronous;
mod barrier;
mod block;
mod call;
mod choose;
mod cluster;
mod collective;
mod common;
mod decode;
mod flow;
mod lanewise;
mod launch;
mod mbarrier;
mod memory;
mod release;
mod rows;
mod step;
mod texture;
mod turn;
mod versions;
mod warp;
mod watched;

use crate::exec::schedule::{self, Engine, Outcome};
use crate::exec::{Cause, Fault, Host, KernelLaunch, Memory};
use cluster::Cluster;
use launch::Exec;

/// Instructions a block runs before others start beside it.
const LONG_SLICE: u64 = 1 << 18;
/// Instructions a block runs before the next one has its turn, where several
/// are in the air: short, since those that spin use theirs up.
const SHORT_SLICE: u64 = 1 << 10;

/// Runs a launch to its end.
///
/// # Errors
/// The first [`Fault`], with kernel, block and thread.
pub fn run(launch: &KernelLaunch<'_>, memory: &dyn Memory, host: &dyn Host) -> Result<(), Fault> {
    let total = launch.clusters();
    let next = std::cell::Cell::new(0u64);
    run_blocks(launch, memory, host, &|| {
        let index = next.get();
        next.set(index + 1);
        (index < total).then_some(index)
    })
}

/// Runs blocks of a launch until `next` gives no more and those it gave have
/// ended. Blocks, or clusters where there are some, are numbered with x running fastest. Several threads may run
/// parts of one grid at the same time by giving out each number once; of a
/// cooperative grid one of them takes all.
///
/// # Errors
/// The first [`Fault`] of these blocks; the others' stay unknown to it.
pub fn run_blocks(
    launch: &KernelLaunch<'_>,
    memory: &dyn Memory,
    host: &dyn Host,
    next: &dyn Fn() -> Option<u64>,
) -> Result<(), Fault> {
    let exec = Exec::new(launch, memory, host)?;
    schedule::run(&exec, launch.cooperative, &mut || next().map(|number| (number, 1)))
}

impl Engine for Exec<'_> {
    type Slot = Cluster;
    const PATIENCE: u32 = 1;

    fn slot(&self) -> Cluster {
        Cluster::new(self)
    }

    fn start(&self, slot: &mut Cluster, number: u64, _: u32) {
        slot.start(self, number);
    }

    fn turn(&self, slot: &mut Cluster, alone: bool) -> Result<Outcome, Fault> {
        let steps = slot.run(self, if alone { LONG_SLICE } else { SHORT_SLICE })?;
        Ok(match (slot.is_done(), steps) {
            (true, _) => Outcome::Done,
            (false, 0) => Outcome::Stuck,
            (false, _) => Outcome::Ran,
        })
    }

    fn index(&self, slot: &Cluster) -> [u32; 3] {
        slot.index()
    }

    fn interrupted(&self) -> bool {
        self.host.interrupted()
    }

    fn fault(&self, cause: Cause, block: [u32; 3]) -> Fault {
        Fault::new(self.module, self.launch.kernel, cause, None, block, [0; 3])
    }
}
