//! One thread's part of a grid.
//!
//! Owns how many blocks one entry into the code runs, and watching how long code runs. [`cushim_ptx::exec::schedule`]
//! defines the order of blocks.

use super::arena::{Arena, Mapped};
use super::block::Outcome;
use super::cluster::Cluster;
use super::launch::Exec;
use super::stack::Stack;
use super::tier::Variant;
use super::trap;
use super::turn::Turn;
use cushim_ptx::exec::schedule::{self, Engine};
use cushim_ptx::exec::{Cause, Fault, Host, KernelLaunch, shared_size};
use std::cell::Cell;
use std::ops::Range;
use std::time::Instant;

/// The most blocks that one entry of the code runs, one after the other.
const LONGEST_RUN: u64 = 256;
/// And the most instructions of warps in them: some tens of microseconds.
const RUN_STEPS: u64 = 1 << 14;

/// A launch of a kernel by its code for such blocks; `hot`: worth compiling again.
pub(super) fn exec<'a>(
    variant: &'a Variant,
    hot: &'a dyn Fn(),
    launch: &'a KernelLaunch<'a>,
    arena: &Arena,
    memory: &'a dyn Mapped,
    host: &'a dyn Host,
) -> Exec<'a> {
    Exec {
        launch,
        variant,
        hot,
        arena: *arena,
        memory,
        host,
        shared_size: shared_size(variant.needs.shared, launch.dynamic_shared),
        local_size: variant.local_size(),
        threads: launch.block.iter().product(),
        start: Instant::now(),
        stack: 0,
        by_llvm: false.into(),
    }
}

/// Runs blocks of a launch, by code that uses that stack.
pub(super) fn run_blocks(
    mut exec: Exec<'_>,
    stack: &Stack,
    next: &dyn Fn(u64) -> Range<u64>,
) -> Result<(), Fault> {
    exec.stack = stack.top();
    let launch = exec.launch;
    let kernel = &launch.module.functions[launch.kernel as usize];
    if launch.params.len() < kernel.params_size as usize {
        let (found, expected) = (launch.params.len(), kernel.params_size);
        return Err(exec.fault(Cause::Parameters { found, expected }, None, [0; 3], [0; 3]));
    }
    if exec.threads == 0 {
        return Ok(());
    }
    trap::install();
    // Blocks that may wait for others are not kept from other threads.
    let share = if exec.variant.steps.is_some() && !launch.cooperative { u64::MAX } else { 1 };
    let (longest, row) = (longest_run(&exec), launch.grid[0].into());
    let mut given = Given { next, share, ahead: 0..0, longest, row };
    let watch = Watch { since: exec.start.into(), rounds: 0.into() };
    let grid = Grid { exec: &exec, watch, turn: Turn::new(&exec) };
    let ended = schedule::run(&grid, launch.cooperative, &mut || given.take());
    grid.watch.look(&exec);
    grid.turn.end(&exec);
    ended
}

/// A launch by generated code, as an engine.
struct Grid<'a> {
    exec: &'a Exec<'a>,
    watch: Watch,
    turn: Turn,
}

impl<'a> Engine for Grid<'a> {
    type Slot = Cluster<'a>;
    const PATIENCE: u32 = 256;

    fn slot(&self) -> Cluster<'a> {
        Cluster::new(self.exec)
    }

    fn start(&self, slot: &mut Cluster<'a>, number: u64, count: u32) {
        slot.start(self.exec, number, count);
    }

    fn turn(&self, slot: &mut Cluster<'a>, _: bool) -> Result<Outcome, Fault> {
        slot.turn(self.exec)
    }

    fn ended(&self, outcome: Outcome, count: u32) {
        match outcome {
            Outcome::Done => {
                self.watch.tick(self.exec, count);
                self.turn.ended(self.exec, count);
            }
            // Turns that do not end the block are longer.
            Outcome::Ran => self.watch.tick(self.exec, 8),
            Outcome::Stuck => {}
        }
    }

    fn index(&self, slot: &Cluster<'a>) -> [u32; 3] {
        slot.index()
    }

    fn interrupted(&self) -> bool {
        self.exec.host.interrupted()
    }

    fn fault(&self, cause: Cause, block: [u32; 3]) -> Fault {
        self.exec.fault(cause, None, block, [0; 3])
    }
}

/// How long code runs, looked at now and then.
struct Watch {
    since: Cell<Instant>,
    rounds: Cell<u32>,
}

impl Watch {
    /// A turn of a block has ended.
    fn tick(&self, exec: &Exec<'_>, weight: u32) {
        self.rounds.set(self.rounds.get() + weight);
        if self.rounds.get() >= 64 {
            self.look(exec);
        }
    }

    fn look(&self, exec: &Exec<'_>) {
        self.rounds.set(0);
        let now = Instant::now();
        if exec.variant.count(now - self.since.replace(now)) {
            (exec.hot)();
        }
    }
}

/// How many blocks one entry of the code may run, of those that a thread was given. Only blocks without loops run so, which
/// wait for no other and end soon.
fn longest_run(exec: &Exec<'_>) -> u64 {
    let Some(steps) = exec.variant.steps else { return 1 };
    // Checkers are notified of each block.
    if exec.host.watch().is_some() {
        return 1;
    }
    // Memory that must be cleared at the start of a block is cleared outside the code, as are stacks; blocks of a
    // cluster take turns.
    if exec.launch.cluster_size() > 1
        || exec.shared_size > 0
        || exec.local_size > 0
        || exec.variant.lowered.moving
    {
        return 1;
    }
    let block = u64::from(exec.threads.div_ceil(32)).saturating_mul(steps).max(1);
    LONGEST_RUN.min(RUN_STEPS / block).max(1)
}

/// Blocks given to this thread.
struct Given<'a> {
    next: &'a dyn Fn(u64) -> Range<u64>,
    /// How many are requested at once.
    share: u64,
    /// The blocks that have not started.
    ahead: Range<u64>,
    /// The most of a run, and the length of a row of the grid.
    longest: u64,
    row: u64,
}

impl Given<'_> {
    /// A block, and how many follow it in its row of the grid in one run, itself included.
    fn take(&mut self) -> Option<(u64, u32)> {
        if self.ahead.is_empty() {
            self.ahead = (self.next)(self.share);
        }
        let Range { start: first, end } = self.ahead;
        if first >= end {
            return None;
        }
        let count = self.longest.min(self.row - first % self.row).min(end - first);
        self.ahead.start += count;
        Some((first, count as u32))
    }
}
