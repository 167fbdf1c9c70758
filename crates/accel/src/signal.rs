//! A signal: it completes once, and any thread can wait for it.
//!
//! Owns the waiting, as HSA's signals with one step do. A waiting thread helps with the work if it can ([`Help`]),
//! spins for a moment and then sleeps; dependent work may be attached instead. Must not know: what the signal stands
//! for.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};

use super::failure::Failure;
use crate::sync::{
    AtomicBool, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, looks, spin_loop,
};

/// How work ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// When it began, nanoseconds of the accelerator's clock.
    pub begin: u64,
    /// When it ended.
    pub end: u64,
    /// Its failure.
    pub failure: Option<Failure>,
}

/// A signal; clones are the same one.
#[derive(Clone, Default)]
pub struct Signal(Arc<Inner>);

#[derive(Default)]
struct Inner {
    done: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

/// Work that a waiting thread can help with.
pub trait Help: Send + Sync {
    /// Does the work before this signal is complete; returns when it is, or when others do the
    /// work.
    fn help(&self, until: &Signal);
}

type First = Box<dyn FnOnce(&Outcome) + Send>;

#[derive(Default)]
struct State {
    outcome: Option<Outcome>,
    /// A thread is completing it.
    ending: bool,
    /// Threads sleep until it completes: without any, completing it saves the system call that wakes them.
    sleeping: bool,
    first: Vec<First>,
    then: Vec<Box<dyn FnOnce() + Send>>,
    help: Option<Weak<dyn Help>>,
    own: Option<Arc<dyn Any + Send + Sync>>,
}

/// Polls before a waiting thread sleeps: a short kernel has ended by then.
const SPINS: usize = 2_000;

impl Signal {
    /// A signal that is not complete.
    pub fn new() -> Self {
        Self::default()
    }

    /// A complete signal.
    pub fn completed() -> Self {
        let signal = Self::new();
        signal.complete(Outcome::default());
        signal
    }

    /// A signal that is complete when all of these are; `now` returns the time of that.
    pub fn all(signals: Vec<Signal>, now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        let (all, left) = (Self::new(), Arc::new(AtomicUsize::new(signals.len() + 1)));
        let now = Arc::new(now);
        let one = |all: &Signal| {
            let (all, left, now) = (all.clone(), left.clone(), now.clone());
            move || {
                if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                    let now = now();
                    all.complete(Outcome { begin: now, end: now, failure: None });
                }
            }
        };
        signals.iter().for_each(|signal| signal.then(one(&all)));
        one(&all)();
        all
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether it is complete.
    pub fn is_done(&self) -> bool {
        self.0.done.load(Ordering::Acquire)
    }

    /// Completes it; attached functions run on this thread. A second call changes nothing.
    pub fn complete(&self, outcome: Outcome) {
        let first = {
            let mut state = self.state();
            if std::mem::replace(&mut state.ending, true) {
                return;
            }
            std::mem::take(&mut state.first)
        };
        for next in first {
            next(&outcome);
        }
        let (then, sleeping) = {
            let mut state = self.state();
            state.outcome = Some(outcome);
            self.0.done.store(true, Ordering::Release);
            (std::mem::take(&mut state.then), state.sleeping)
        };
        if sleeping {
            self.0.changed.notify_all();
        }
        for next in then {
            next();
        }
    }

    /// Waits for it.
    pub fn wait(&self) -> Outcome {
        if !self.is_done() {
            let help = self.state().help.as_ref().and_then(Weak::upgrade);
            if let Some(help) = help {
                help.help(self);
            }
        }
        for _ in 0..looks(SPINS) {
            if self.is_done() {
                break;
            }
            spin_loop();
        }
        let mut state = self.state();
        loop {
            if let Some(outcome) = &state.outcome {
                return outcome.clone();
            }
            state.sleeping = true;
            state = self.0.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// Sets the work that its waiters can help with.
    pub fn set_help(&self, help: Weak<dyn Help>) {
        self.state().help = Some(help);
    }

    /// Sets the accelerator's own signal for it, by which its queues wait for each other without
    /// the host. Set when the packet that completes it was passed to the device.
    pub fn set_own(&self, own: Arc<dyn Any + Send + Sync>) {
        self.state().own = Some(own);
    }

    /// The signal of [`Signal::set_own`], if any.
    pub fn own(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.state().own.clone()
    }

    /// How it ended, if it has.
    pub fn outcome(&self) -> Option<Outcome> {
        if self.is_done() { self.state().outcome.clone() } else { None }
    }

    /// Runs `next` when it is about to complete, before waiters see it. No thread may be completing
    /// it yet.
    pub fn first(&self, next: impl FnOnce(&Outcome) + Send + 'static) {
        self.state().first.push(Box::new(next));
    }

    /// Runs `next` when it is complete: at once if it is, else on the thread that completes it,
    /// which must not be blocked.
    pub fn then(&self, next: impl FnOnce() + Send + 'static) {
        {
            let mut state = self.state();
            if state.outcome.is_none() {
                state.then.push(Box::new(next));
                return;
            }
        }
        next();
    }

    /// Whether both are one signal.
    pub fn is(&self, other: &Signal) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signal({})", if self.is_done() { "complete" } else { "not complete" })
    }
}
