//! One thread's part of a grid.
//!
//! Blocks start in the order in which they are given out. One that does not
//! end for long (it may wait for another one) lets the next start beside it on
//! its thread. Blocks of a cooperative grid are all there from the start, shared among threads.

use super::arena::{Arena, Mapped};
use super::block::{Outcome, Seat};
use super::launch::Exec;
use super::stack::Stack;
use super::tier::Variant;
use super::trap;
use cushim_ptx::exec::{Cause, Fault, Host, Launch, shared_layout};
use std::ops::Range;
use std::time::Instant;

/// How many blocks that do not end may be in the air on one thread.
const MOST: usize = 64;
/// Turns after which a block lets others start beside it.
const PATIENCE: u32 = 256;
/// The most blocks that one stay in the code runs, one after the other.
const LONGEST_RUN: u64 = 64;
/// And the most instructions of warps in them: some tens of microseconds.
const RUN_STEPS: u64 = 1 << 14;

/// A launch of a kernel by its code for such blocks; `hot`: that is worth making better.
pub(super) fn exec<'a>(
    variant: &'a Variant,
    hot: &'a dyn Fn(),
    launch: &'a Launch<'a>,
    arena: &Arena,
    memory: &'a dyn Mapped,
    host: &'a dyn Host,
) -> Exec<'a> {
    let (_, fixed) = shared_layout(launch.module, launch.kernel);
    Exec {
        launch,
        variant,
        hot,
        arena: *arena,
        memory,
        host,
        shared_size: fixed.saturating_add(launch.dynamic_shared),
        local_size: variant.local_size(),
        threads: launch.block.iter().product(),
        start: Instant::now(),
        stack: 0,
    }
}

/// Runs blocks of a launch, by code whose stack that is.
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
    let mut watch = Watch { since: exec.start, rounds: 0 };
    let ended = match launch.cooperative {
        true => together(&exec, &mut watch, next),
        false => in_order(&exec, &mut watch, next),
    };
    watch.look(&exec);
    ended
}

/// How long code runs, looked at now and then.
struct Watch {
    since: Instant,
    rounds: u32,
}

impl Watch {
    /// A turn of a block has ended; those that do not end the block are longer.
    fn tick(&mut self, exec: &Exec<'_>, weight: u32) {
        self.rounds += weight;
        if self.rounds >= 64 {
            self.look(exec);
        }
    }

    fn look(&mut self, exec: &Exec<'_>) {
        self.rounds = 0;
        let now = Instant::now();
        if exec.variant.count(now - std::mem::replace(&mut self.since, now)) {
            (exec.hot)();
        }
    }
}

/// An interruption by the host is an error.
fn check(exec: &Exec<'_>) -> Result<(), Fault> {
    match exec.host.interrupted() {
        true => Err(exec.fault(Cause::Interrupted, None, [0; 3], [0; 3])),
        false => Ok(()),
    }
}

/// How many blocks one stay in the code may run. Only blocks without loops run so, which wait for no other and
/// end soon, and only few of a grid at once, of which each thread is to have its share.
fn longest_run(exec: &Exec<'_>) -> u64 {
    let Some(steps) = exec.variant.steps else { return 1 };
    // Memory that is empty when a block begins is emptied outside the code, as are stacks.
    if exec.shared_size > 0 || exec.local_size > 0 || exec.variant.flat.moving {
        return 1;
    }
    let block = u64::from(exec.threads.div_ceil(32)).saturating_mul(steps).max(1);
    let all = exec.launch.grid.iter().fold(1u64, |n, k| n.saturating_mul((*k).into()));
    LONGEST_RUN.min(RUN_STEPS / block).min(all / 64).max(1)
}

/// Blocks given to this thread.
struct Given<'a> {
    next: &'a dyn Fn(u64) -> Range<u64>,
    /// How many are asked for at once. Blocks that may wait for others are not kept from other threads.
    share: u64,
    /// Those that have not begun.
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

fn in_order(
    exec: &Exec<'_>,
    watch: &mut Watch,
    next: &dyn Fn(u64) -> Range<u64>,
) -> Result<(), Fault> {
    let share = if exec.variant.steps.is_some() { u64::MAX } else { 1 };
    let (longest, row) = (longest_run(exec), exec.launch.grid[0].into());
    let mut given = Given { next, share, ahead: next(share), longest, row };
    if given.ahead.is_empty() {
        return Ok(());
    }
    let mut seats = vec![Seat::new(exec)];
    let mut exhausted = false;
    let mut taken = vec![false];
    let mut counts = vec![1];
    let mut window = 1;
    let mut turns = 0u32;
    loop {
        check(exec)?;
        let mut any = false;
        let mut ran = false;
        for k in 0..window {
            if !taken[k] {
                let Some((number, count)) = (if exhausted { None } else { given.take() }) else {
                    exhausted = true;
                    continue;
                };
                seats[k].start(exec, number, count);
                counts[k] = count;
                taken[k] = true;
            }
            any = true;
            // A block alone runs on until it ends; among others it takes turns.
            loop {
                match seats[k].turn(exec)? {
                    Outcome::Done => {
                        (taken[k], ran, turns) = (false, true, 0);
                        watch.tick(exec, counts[k]);
                        break;
                    }
                    Outcome::Stuck => break,
                    Outcome::Ran => {
                        ran = true;
                        turns += 1;
                        watch.tick(exec, 8);
                        if window > 1 || turns >= PATIENCE {
                            break;
                        }
                    }
                }
            }
        }
        if !any {
            return Ok(());
        }
        let more = !exhausted && window < MOST;
        if !ran && !more {
            // Barriers are within blocks: nobody else can help these.
            let at = taken.iter().position(|t| *t).unwrap_or(0);
            return Err(exec.fault(Cause::Deadlock, None, seats[at].index(), [0; 3]));
        }
        // One that waits may wait for another block: let that start.
        if turns >= PATIENCE || !ran {
            turns = 0;
            std::thread::yield_now();
            if more {
                seats.push(Seat::new(exec));
                taken.push(false);
                counts.push(1);
                window += 1;
            }
        }
    }
}

/// All blocks take turns from the start, those of this thread on it.
fn together(
    exec: &Exec<'_>,
    watch: &mut Watch,
    next: &dyn Fn(u64) -> Range<u64>,
) -> Result<(), Fault> {
    let mut seats = Vec::new();
    // One after the other, each with a turn of its own: so other threads have their share of them. Where none
    // comes, this one seats all.
    while let Some(number) = next(1).next() {
        check(exec)?;
        let mut seat = Seat::new(exec);
        seat.start(exec, number, 1);
        if seat.turn(exec)? != Outcome::Done {
            seats.push(seat);
        }
    }
    while !seats.is_empty() {
        check(exec)?;
        watch.tick(exec, 8);
        let mut ran = false;
        let mut fault = None;
        seats.retain_mut(|seat| match seat.turn(exec) {
            Ok(Outcome::Done) => {
                ran = true;
                false
            }
            Ok(Outcome::Ran) => {
                ran = true;
                true
            }
            Ok(Outcome::Stuck) => true,
            Err(f) => {
                fault = Some(f);
                true
            }
        });
        if let Some(f) = fault {
            return Err(f);
        }
        if !ran {
            let index = seats.first().map_or([0; 3], Seat::index);
            return Err(exec.fault(Cause::Deadlock, None, index, [0; 3]));
        }
        std::thread::yield_now();
    }
    Ok(())
}
