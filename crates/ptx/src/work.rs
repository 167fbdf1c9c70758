//! The cost of generating code, for tests and benchmarks.
//!
//! Owns two measurements for the calling thread: the time of each phase, and, with debug assertions, the number of
//! steps of its algorithms, so that a test can detect superlinear algorithms without a clock. It costs nothing while
//! nobody measures. Must not know what the phases are.

use std::cell::{Cell, RefCell};
use std::time::Duration;

/// A completed phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// Its name.
    pub name: &'static str,
    /// By the measuring thread's clock.
    pub time: Duration,
    /// Steps that were counted in it: 0 without debug assertions.
    pub steps: u64,
}

struct Listening {
    clock: fn() -> Duration,
    since: Duration,
    phases: Vec<Phase>,
}

thread_local! {
    static STEPS: Cell<u64> = const { Cell::new(0) };
    static LISTENING: RefCell<Option<Listening>> = const { RefCell::new(None) };
}

/// Counts steps of an algorithm.
#[inline]
pub fn step(count: usize) {
    if cfg!(debug_assertions) {
        STEPS.with(|s| s.set(s.get().wrapping_add(count as u64)));
    }
}

/// Listens to the phases of this thread from now on, timed by a clock.
pub fn listen(clock: fn() -> Duration) {
    STEPS.with(|s| s.set(0));
    let new = Listening { clock, since: clock(), phases: Vec::new() };
    LISTENING.with(|l| *l.borrow_mut() = Some(new));
}

/// Ends a phase that began at the last mark, or when measuring began.
pub fn mark(name: &'static str) {
    LISTENING.with(|l| {
        if let Some(l) = &mut *l.borrow_mut() {
            let now = (l.clock)();
            let time = now - std::mem::replace(&mut l.since, now);
            l.phases.push(Phase { name, time, steps: STEPS.with(|s| s.replace(0)) });
        }
    });
}

/// The measured phases; ends measuring.
pub fn heard() -> Vec<Phase> {
    LISTENING.with(|l| l.borrow_mut().take()).map_or(Vec::new(), |l| l.phases)
}
