//! Running whole kernels, instruction by instruction.
//!
//! Owns warps, barriers, calls and the order in which lanes run. It is the
//! oracle for compiled code and the fallback where there is none. It must not
//! know where device memory is or what prints: [`Memory`] and [`Host`] do.
//!
//! Instructions are decoded once for a launch, block by block as they are reached.
//! What programs are made of is computed for all lanes at once ([`lanewise`]), in
//! accesses in a row, too ([`access`]); anything else lane by lane ([`step`]).
//!
//! A warp is a set of fragments: lanes at one place with one call stack. They
//! part at a branch and join where they meet; the one that is furthest behind
//! runs first, but none starves, so a lane may spin on another. Every fragment
//! can wait (barrier, shuffle) and go on later; so can warps and blocks. Blocks
//! of a cooperative grid all take turns; others start in order, and the next
//! one starts too when those before it do not end.

mod access;
mod barrier;
mod block;
mod call;
mod choose;
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
mod turn;
mod versions;
mod warp;

use crate::exec::{Cause, Fault, Host, Launch, Memory};
use block::Block;
use launch::Exec;
use std::collections::VecDeque;

/// How many blocks that do not end may be in the air at once (non-cooperative).
const MAX_RESIDENT: usize = 64;
/// Instructions a block runs before others start beside it.
const LONG_SLICE: u64 = 1 << 18;
/// Instructions a block runs before the next one has its turn, where several
/// are in the air: short, since those that spin use theirs up.
const SHORT_SLICE: u64 = 1 << 10;

/// Runs a launch to its end.
///
/// # Errors
/// The first [`Fault`], with kernel, block and thread.
pub fn run(launch: &Launch<'_>, memory: &dyn Memory, host: &dyn Host) -> Result<(), Fault> {
    let total = launch.grid.iter().map(|n| u64::from(*n)).product();
    let next = std::cell::Cell::new(0u64);
    run_blocks(launch, memory, host, &|| {
        let index = next.get();
        next.set(index + 1);
        (index < total).then_some(index)
    })
}

/// Runs blocks of a launch until `next` gives no more and those it gave have
/// ended. Blocks are numbered with x running fastest. Several threads may run
/// parts of one grid at the same time by giving out each number once; of a
/// cooperative grid one of them takes all.
///
/// # Errors
/// The first [`Fault`] of these blocks; the others' stay unknown to it.
pub fn run_blocks(
    launch: &Launch<'_>,
    memory: &dyn Memory,
    host: &dyn Host,
    next: &dyn Fn() -> Option<u64>,
) -> Result<(), Fault> {
    let exec = Exec::new(launch, memory, host)?;
    let [gx, gy, _] = launch.grid.map(u64::from);
    let mut exhausted = false;
    let mut resident: VecDeque<Block> = VecDeque::new();
    // Their room is taken again.
    let mut ended: Vec<Block> = Vec::new();
    let mut window = if launch.cooperative { usize::MAX } else { 1 };
    loop {
        while !exhausted && resident.len() < window {
            let Some(n) = next() else {
                exhausted = true;
                break;
            };
            let (x, y, z) = (n % gx, n / gx % gy, n / gx / gy);
            let mut block = ended.pop().unwrap_or_else(|| Block::new(&exec));
            block.start(&exec, [x as u32, y as u32, z as u32]);
            resident.push_back(block);
        }
        if resident.is_empty() {
            return Ok(());
        }
        let before = resident.len();
        let mut steps = 0;
        let slice = if before == 1 { LONG_SLICE } else { SHORT_SLICE };
        for block in &mut resident {
            steps += block.run(&exec, slice)?;
        }
        for _ in 0..before {
            let Some(block) = resident.pop_front() else { break };
            if block.is_done() { ended.push(block) } else { resident.push_back(block) }
        }
        if steps == 0 && resident.len() == before && (exhausted || before >= MAX_RESIDENT) {
            let cause = Cause::Deadlock;
            let index = resident.front().map_or([0; 3], |b| b.index);
            return Err(exec.fault(cause, None, index, [0; 3]));
        }
        if resident.len() == before && !launch.cooperative {
            window = (window + 1).min(MAX_RESIDENT);
        }
        if host.interrupted() {
            return Err(exec.fault(Cause::Interrupted, None, [0; 3], [0; 3]));
        }
    }
}
