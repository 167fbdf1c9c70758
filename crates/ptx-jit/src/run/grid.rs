//! A grid: blocks over threads.
//!
//! Blocks start in order, each on whatever thread is free. One that does not
//! end for long (it may wait for another one) lets the next start beside it on
//! its thread. Blocks of a cooperative grid are all there from the start.

use super::block::{Outcome, Seat};
use super::kernel::{Arena, Variant};
use super::launch::Exec;
use cushim_ptx::interp::{Cause, Fault, Host, Launch, shared_layout};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How many blocks that do not end may be in the air on one thread.
const MOST: usize = 64;
/// Turns after which a block lets others start beside it.
const PATIENCE: u32 = 256;

pub(super) fn run(
    variant: &Variant,
    launch: &Launch<'_>,
    arena: &Arena,
    host: &(dyn Host + Sync),
    threads: usize,
) -> Result<(), Fault> {
    let (_, fixed) = shared_layout(launch.module, launch.kernel);
    let kernel = &launch.module.functions[launch.kernel as usize];
    let exec = Exec {
        launch,
        variant,
        arena: *arena,
        host,
        shared_size: fixed.saturating_add(launch.dynamic_shared),
        local_size: kernel.local_size,
        threads: launch.block.iter().product(),
        next: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        start: Instant::now(),
    };
    if launch.params.len() < kernel.params_size as usize {
        let (found, expected) = (launch.params.len(), kernel.params_size);
        return Err(exec.fault(Cause::Parameters { found, expected }, None, [0; 3], [0; 3]));
    }
    let total = exec.blocks();
    if total == 0 || exec.threads == 0 {
        return Ok(());
    }
    let threads = threads.clamp(1, total.min(1024) as usize);
    let first: Mutex<Option<Fault>> = Mutex::new(None);
    let work = |lead: bool, share: u64| {
        let done = if launch.cooperative {
            together(&exec, share, threads as u64, lead)
        } else {
            in_order(&exec, lead)
        };
        if let Err(fault) = done {
            exec.stop.store(true, Ordering::Relaxed);
            first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
        }
    };
    if threads == 1 {
        work(true, 0);
    } else {
        std::thread::scope(|s| {
            for k in 1..threads {
                let work = &work;
                s.spawn(move || work(false, k as u64));
            }
            work(true, 0);
        });
    }
    match first.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(fault) => Err(fault),
        None => Ok(()),
    }
}

/// Whether the launch is to end early; an interruption by the host is an error.
fn stopped(exec: &Exec<'_>, lead: bool) -> Result<bool, Fault> {
    if lead && exec.host.interrupted() {
        return Err(exec.fault(Cause::Interrupted, None, [0; 3], [0; 3]));
    }
    Ok(exec.stop.load(Ordering::Relaxed))
}

fn in_order(exec: &Exec<'_>, lead: bool) -> Result<(), Fault> {
    let total = exec.blocks();
    let mut seats = vec![Seat::new(exec)];
    let mut taken = vec![false];
    let mut window = 1;
    let mut turns = 0u32;
    loop {
        if stopped(exec, lead)? {
            return Ok(());
        }
        let mut any = false;
        let mut ran = false;
        for k in 0..window {
            if !taken[k] {
                let number = exec.next.fetch_add(1, Ordering::Relaxed);
                if number >= total {
                    continue;
                }
                seats[k].start(exec, number);
                taken[k] = true;
            }
            any = true;
            // A block alone runs on until it ends; among others it takes turns.
            loop {
                match seats[k].turn(exec)? {
                    Outcome::Done => {
                        (taken[k], ran, turns) = (false, true, 0);
                        break;
                    }
                    Outcome::Stuck => break,
                    Outcome::Ran => {
                        ran = true;
                        turns += 1;
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
        let more = exec.next.load(Ordering::Relaxed) < total && window < MOST;
        if !ran && !more {
            // Barriers are within blocks: nobody else can help these.
            let at = taken.iter().position(|t| *t).unwrap_or(0);
            return Err(exec.fault(Cause::Deadlock, None, seats[at].index, [0; 3]));
        }
        if turns >= PATIENCE {
            turns = 0;
            std::thread::yield_now();
            if more {
                seats.push(Seat::new(exec));
                taken.push(false);
                window += 1;
            }
        }
    }
}

/// All blocks of a thread's share take turns from the start.
fn together(exec: &Exec<'_>, share: u64, of: u64, lead: bool) -> Result<(), Fault> {
    let mut seats = Vec::new();
    for number in (share..exec.blocks()).step_by(of as usize) {
        let mut seat = Seat::new(exec);
        seat.start(exec, number);
        seats.push(seat);
    }
    while !seats.is_empty() {
        if stopped(exec, lead)? {
            return Ok(());
        }
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
            let index = seats.first().map_or([0; 3], |s| s.index);
            return Err(exec.fault(Cause::Deadlock, None, index, [0; 3]));
        }
        std::thread::yield_now();
    }
    Ok(())
}
