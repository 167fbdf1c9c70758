//! A software queue: it runs packets in order, one at a time, on the thread that can do so with the least delay.
//!
//! Owns the thread, its start at first use and its end with the queue. All accelerators without hardware queues share
//! it: an [`Executor`] runs a packet. A packet that waits delays only its own queue. Passing work to a thread and
//! learning of its end costs more than a small kernel, so short work runs on the thread that submits it, and a
//! waiting thread runs ready packets itself. Must not know: CUDA's streams, memory, code.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use super::signal::Help;
use super::{Copy, Dispatch, Failure, Fill, Outcome, Packet, Queue, Signal, Work};
use crate::locks::{lock, wait};
use crate::sync::{AtomicUsize, Condvar, Mutex, Ordering, looks, spin_loop, thread};

/// Runs the work of packets, each call on some queue's thread.
pub trait Executor: Send + Sync + 'static {
    /// Runs a kernel to its end.
    ///
    /// # Errors
    /// The kernel's failure.
    fn dispatch(&self, dispatch: &Dispatch) -> Result<(), Failure>;

    /// Copies.
    ///
    /// # Errors
    /// [`Failure::InvalidAddress`].
    fn copy(&self, copy: &Copy) -> Result<(), Failure>;

    /// Fills.
    ///
    /// # Errors
    /// [`Failure::InvalidAddress`].
    fn fill(&self, fill: &Fill) -> Result<(), Failure>;

    /// Nanoseconds of the accelerator's clock.
    fn now(&self) -> u64;

    /// Whether work always takes less time than waking a thread, some ten microseconds.
    fn is_short(&self, _work: &Work) -> bool {
        false
    }
}

/// Polls for a packet before the thread sleeps: some 20 µs, enough for the next launch of a loop.
const SPINS: usize = 1_000;

/// A queue that runs its packets on its own thread.
pub struct SoftwareQueue<E: Executor> {
    shared: Arc<Shared<E>>,
}

struct Shared<E> {
    executor: Arc<E>,
    /// How many packets are in the list; a spinning thread reads it without the lock.
    count: AtomicUsize,
    list: Mutex<List>,
    changed: Condvar,
}

#[derive(Default)]
struct List {
    packets: VecDeque<Packet>,
    /// The thread runs.
    started: bool,
    /// A thread runs a packet.
    busy: bool,
    /// The thread sleeps.
    asleep: bool,
    /// No more packets can be submitted.
    closed: bool,
}

impl<E: Executor> SoftwareQueue<E> {
    /// An empty queue; its thread starts with the first packet.
    pub fn new(executor: Arc<E>) -> Self {
        let shared = Shared {
            executor,
            count: AtomicUsize::new(0),
            list: Mutex::default(),
            changed: Condvar::new(),
        };
        SoftwareQueue { shared: Arc::new(shared) }
    }
}

impl<E: Executor> Queue for SoftwareQueue<E> {
    fn submit(&self, packet: Packet) {
        let shared = &self.shared;
        let mut list = lock(&shared.list);
        let idle = list.packets.is_empty() && !list.busy;
        if idle && packet.waits.iter().all(Signal::is_done) {
            // Nothing to do and nothing before it.
            if matches!(packet.work, Work::Barrier) {
                drop(list);
                let now = shared.executor.now();
                packet.done.complete(Outcome { begin: now, end: now, failure: None });
                return;
            }
            if shared.executor.is_short(&packet.work) {
                list.busy = true;
                drop(list);
                run(&*shared.executor, packet);
                shared.leave();
                return;
            }
        }
        if !list.started {
            match start(shared) {
                true => list.started = true,
                false => {
                    drop(list);
                    let failure = Some(Failure::OutOfMemory);
                    packet.done.complete(Outcome { failure, ..Outcome::default() });
                    return;
                }
            }
        }
        let help: Weak<Shared<E>> = Arc::downgrade(shared);
        packet.done.set_help(help);
        list.packets.push_back(packet);
        shared.count.fetch_add(1, Ordering::Release);
        if list.asleep {
            shared.changed.notify_one();
        }
    }
}

impl<E: Executor> Shared<E> {
    /// Takes the first packet, if no thread runs one: the caller then runs it.
    fn take(&self, list: &mut List, ready: impl Fn(&Packet) -> bool) -> Option<Packet> {
        if list.busy || !list.packets.front().is_some_and(ready) {
            return None;
        }
        let packet = list.packets.pop_front()?;
        self.count.fetch_sub(1, Ordering::Relaxed);
        list.busy = true;
        Some(packet)
    }

    /// A thread other than the queue's has run a packet: packets that came meanwhile are left to
    /// the queue's thread.
    fn leave(&self) {
        let mut list = lock(&self.list);
        list.busy = false;
        if list.asleep && (!list.packets.is_empty() || list.closed) {
            self.changed.notify_one();
        }
    }
}

impl<E: Executor> Help for Shared<E> {
    fn help(&self, until: &Signal) {
        while !until.is_done() {
            let ready = |packet: &Packet| packet.waits.iter().all(Signal::is_done);
            let Some(packet) = self.take(&mut lock(&self.list), ready) else { return };
            run(&*self.executor, packet);
            self.leave();
        }
    }
}

impl<E: Executor> Drop for SoftwareQueue<E> {
    fn drop(&mut self) {
        lock(&self.shared.list).closed = true;
        self.shared.changed.notify_one();
    }
}

/// Starts a thread that no signal handler of the program runs on; false where the system has none.
/// Fault signals are not blocked: a blocked one would end the process, and those of kernels are
/// handled.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> bool {
    // SAFETY: both sets are written before they are read; the mask of this thread is put back.
    unsafe {
        let (mut all, mut old) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP] {
            libc::sigdelset(&raw mut all, fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
        let started = thread(name, body);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut());
        started
    }
}

fn start<E: Executor>(shared: &Arc<Shared<E>>) -> bool {
    let shared = shared.clone();
    spawn("cuda-queue", move || {
        while let Some(packet) = next(&shared) {
            run(&*shared.executor, packet);
            lock(&shared.list).busy = false;
        }
    })
}

/// The next packet; `None` when the queue is closed and empty.
fn next<E: Executor>(shared: &Shared<E>) -> Option<Packet> {
    for _ in 0..looks(SPINS) {
        if shared.count.load(Ordering::Acquire) > 0 {
            break;
        }
        spin_loop();
    }
    let mut list = lock(&shared.list);
    loop {
        if let Some(packet) = shared.take(&mut list, |_| true) {
            return Some(packet);
        }
        if list.closed && list.packets.is_empty() {
            return None;
        }
        list.asleep = true;
        list = wait(&shared.changed, list);
        list.asleep = false;
    }
}

fn run(executor: &impl Executor, packet: Packet) {
    for signal in &packet.waits {
        signal.wait();
    }
    let begin = executor.now();
    // An executor that panics has a bug; the program sees a failed kernel.
    let result = catch_unwind(AssertUnwindSafe(|| match &packet.work {
        Work::Barrier => Ok(()),
        Work::Dispatch(dispatch) => executor.dispatch(dispatch),
        Work::Copy(copy) => executor.copy(copy),
        Work::Fill(fill) => executor.fill(fill),
    }));
    let failure = match result {
        Ok(result) => result.err(),
        Err(_) => {
            Some(Failure::Launch("internal error in cushim's queue: the operation panicked".into()))
        }
    };
    // The work's resources are freed before its end is signalled.
    drop(packet.work);
    packet.done.complete(Outcome { begin, end: executor.now(), failure });
}
