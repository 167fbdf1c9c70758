//! Model check of queues and signals: the crate's own source files, compiled with loom's locks and atomics, in every
//! interleaving of threads. Loom also reports a thread that is never woken.

#[allow(dead_code)]
#[path = "../src/queue.rs"]
mod queue;
#[allow(dead_code)]
#[path = "../src/signal.rs"]
mod signal;

mod locks {
    pub use loom::sync::{Condvar, Mutex, MutexGuard};
    use std::sync::PoisonError;

    pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn wait<'a, T>(changed: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        changed.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }
}

mod sync {
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    pub use loom::sync::{Condvar, Mutex, MutexGuard};

    /// One look: further looks repeat the same orders.
    pub const fn looks(_times: usize) -> usize {
        1
    }

    pub fn thread(_name: &str, body: impl FnOnce() + Send + 'static) -> bool {
        loom::thread::spawn(body);
        true
    }
}

use std::sync::Arc;

mod failure {
    pub use cushim_accel::Failure;
}
use cushim_accel::{Copy, Dispatch, Failure, Fill, Work};
use loom::cell::UnsafeCell;
use queue::{Executor, SoftwareQueue};
use signal::{Outcome, Signal};

/// The crate's `Packet`, with signals of the model.
struct Packet {
    work: Work,
    waits: Vec<Signal>,
    done: Signal,
}

/// The crate's `Queue`.
trait Queue {
    fn submit(&self, packet: Packet);
}

/// Records its copies without a lock: loom reports two packets that run at the same time, and one that
/// does not see the write of the one before.
struct Notes(UnsafeCell<Vec<u64>>);

// SAFETY: a queue runs one packet at a time, which this test checks.
unsafe impl Sync for Notes {}

/// Copies to this address and above count as short.
const SHORT: u64 = 100;

impl Executor for Notes {
    fn dispatch(&self, _: &Dispatch) -> Result<(), Failure> {
        Ok(())
    }
    fn copy(&self, copy: &Copy) -> Result<(), Failure> {
        // SAFETY: loom checks the access.
        self.0.with_mut(|notes| unsafe { (*notes).push(copy.to) });
        Ok(())
    }
    fn fill(&self, _: &Fill) -> Result<(), Failure> {
        Ok(())
    }
    fn now(&self) -> u64 {
        1
    }
    fn is_short(&self, work: &Work) -> bool {
        matches!(work, Work::Copy(copy) if copy.to >= SHORT)
    }
}

impl Notes {
    fn new() -> Arc<Self> {
        Arc::new(Notes(UnsafeCell::new(Vec::new())))
    }

    fn read(&self) -> Vec<u64> {
        // SAFETY: loom checks the access.
        self.0.with(|notes| unsafe { (*notes).clone() })
    }
}

fn submit(queue: &SoftwareQueue<Notes>, to: u64, waits: &[&Signal]) -> Signal {
    let copy = Copy { to, from: 0, width: 0, height: 0, depth: 0, row: [0; 2], plane: [0; 2] };
    let done = Signal::new();
    let waits = waits.iter().map(|&signal| signal.clone()).collect();
    queue.submit(Packet { work: Work::Copy(copy), waits, done: done.clone() });
    done
}

/// Waits, and expects success.
fn ended(signal: &Signal) {
    assert_eq!(signal.wait().failure, None);
}

/// Tries all orders with at most this number of preemptions.
fn model(interruptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(interruptions);
    builder.check(body);
}

#[test]
fn work_runs_in_order_wherever_it_runs() {
    model(3, || {
        let notes = Notes::new();
        let queue = SoftwareQueue::new(notes.clone());
        let first = submit(&queue, 1, &[]);
        let second = submit(&queue, SHORT, &[]);
        ended(&second);
        assert!(first.is_done());
        assert_eq!(notes.read(), [1, SHORT]);
        // This thread runs it, unless the queue's thread is still at its last packet.
        ended(&submit(&queue, SHORT + 1, &[]));
        assert_eq!(notes.read(), [1, SHORT, SHORT + 1]);
    });
}

#[test]
fn two_threads_submit_to_one_queue() {
    model(2, || {
        let notes = Notes::new();
        let queue = Arc::new(SoftwareQueue::new(notes.clone()));
        let other = queue.clone();
        let thread = loom::thread::spawn(move || ended(&submit(&other, SHORT, &[])));
        ended(&submit(&queue, 1, &[]));
        assert!(thread.join().is_ok());
        let mut all = notes.read();
        all.sort_unstable();
        assert_eq!(all, [1, SHORT]);
    });
}

#[test]
fn what_waits_for_another_threads_signal_runs_after_it() {
    model(2, || {
        let notes = Notes::new();
        let queue = SoftwareQueue::new(notes.clone());
        let gate = Signal::new();
        let opened = gate.clone();
        let thread = loom::thread::spawn(move || opened.complete(Outcome::default()));
        let done = submit(&queue, SHORT, &[&gate]);
        // Submitted work runs even after the queue was dropped.
        drop(queue);
        ended(&done);
        assert!(gate.is_done());
        assert_eq!(notes.read(), [SHORT]);
        assert!(thread.join().is_ok());
    });
}

#[test]
fn a_signal_wakes_who_waits_and_runs_once_what_is_attached() {
    loom::model(|| {
        let (signal, count) = (Signal::new(), Arc::new(sync::AtomicUsize::new(0)));
        let ending = signal.clone();
        let thread = loom::thread::spawn(move || {
            ending.complete(Outcome { end: 7, ..Outcome::default() });
        });
        let counted = count.clone();
        signal.then(move || {
            counted.fetch_add(1, sync::Ordering::Relaxed);
        });
        assert_eq!(signal.wait().end, 7);
        assert!(thread.join().is_ok());
        assert_eq!(count.load(sync::Ordering::Relaxed), 1);
    });
}

#[test]
fn two_that_end_a_signal_end_it_once() {
    loom::model(|| {
        let signal = Signal::all(vec![], || 1);
        assert!(signal.is_done());
        let parts = [Signal::new(), Signal::new()];
        let all = Signal::all(parts.to_vec(), || 9);
        let [first, second] = parts;
        let thread = loom::thread::spawn(move || first.complete(Outcome::default()));
        second.complete(Outcome::default());
        assert_eq!(all.wait().end, 9);
        assert!(second.outcome().is_some_and(|outcome| outcome.failure.is_none()));
        assert!(thread.join().is_ok());
    });
}
