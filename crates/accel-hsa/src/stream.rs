//! A queue of the trait: packets that the device executes by itself, and packets that the host executes between them.
//!
//! Owns the order. Packets for the device are submitted at once, after its own signals. A packet that needs the host
//! (memory that the GPU cannot access, rows, fills, a wait for a host function) holds back later packets until a
//! thread has executed it. That thread also handles every completion, unless a waiting thread does so first. Must not
//! know: packets' bytes, CUDA.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::Duration;

use cushim_accel::locks::{lock, wait};
use cushim_accel::queue::spawn;
use cushim_accel::signal::Help;
use cushim_accel::{Failure, Outcome, Packet, Queue, Signal, Work};

use crate::flight::{Flight, What};
use crate::launch::{Last, Launched, Place};
use crate::ring::Ring;
use crate::runtime::Core;

/// Bytes up to which the submitting thread does the host's work itself, where nothing is before it:
/// another thread would take longer, and CUDA's own fills of this size are over at the next call.
const SHORT: usize = 64 << 10;
/// Rows of such work.
const FEW: usize = 16;
/// Time between two attempts at a full ring.
const PAUSE: Duration = Duration::from_micros(50);

/// A queue.
pub struct Stream {
    shared: Arc<Shared>,
}

struct Shared {
    ring: Arc<Ring>,
    core: Arc<Core>,
    device: usize,
    list: Mutex<List>,
    changed: Condvar,
}

#[derive(Default)]
struct List {
    /// First the device's packets, then those held back.
    entries: VecDeque<Entry>,
    /// How many are held back, including the one that the host works on.
    held: usize,
    last: Last,
    /// A thread handles the first entry.
    busy: bool,
    started: bool,
    asleep: bool,
    /// No more packets can be submitted.
    closed: bool,
}

enum Entry {
    Flying(Arc<Flight>, Signal),
    Over(Failure, Signal),
    Held(Packet),
}

impl Stream {
    /// An empty queue of a device.
    pub fn new(core: Arc<Core>, device: usize, ring: Arc<Ring>) -> Stream {
        let (list, changed) = (Mutex::default(), Condvar::new());
        Stream { shared: Arc::new(Shared { ring, core, device, list, changed }) }
    }
}

impl Queue for Stream {
    fn submit(&self, packet: Packet) {
        let shared = &self.shared;
        let mut list = lock(&shared.list);
        let idle = list.entries.is_empty() && list.held == 0 && !list.busy;
        if idle && matches!(packet.work, Work::Barrier) && packet.waits.iter().all(Signal::is_done)
        {
            drop(list);
            let now = shared.core.now();
            return packet.done.complete(Outcome { begin: now, end: now, failure: None });
        }
        let ready = idle && packet.waits.iter().all(Signal::is_done);
        if ready && shared.is_short(&packet.work) {
            return shared.at_once(packet, list);
        }
        if !list.started {
            list.started = start(shared);
            if !list.started {
                drop(list);
                let failure = Some(Failure::OutOfMemory);
                return packet.done.complete(Outcome { failure, ..Outcome::default() });
            }
        }
        let help: Weak<Shared> = Arc::downgrade(shared);
        packet.done.set_help(help);
        let entry = match list.held {
            0 => shared.launch(packet, &mut list),
            _ => Err(packet),
        };
        let entry = entry.unwrap_or_else(|packet| {
            list.held += 1;
            Entry::Held(packet)
        });
        list.entries.push_back(entry);
        if list.asleep {
            shared.changed.notify_one();
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        lock(&self.shared.list).closed = true;
        self.shared.changed.notify_one();
    }
}

impl Help for Shared {
    fn help(&self, until: &Signal) {
        while !until.is_done() {
            let list = lock(&self.list);
            // The first entry is before what is waited for, or is it; after it has ended, the next
            // one may wait for work that only this thread does.
            let open = match list.entries.front() {
                Some(Entry::Held(packet)) => !packet.waits.iter().all(Signal::is_done),
                Some(_) => false,
                None => true,
            };
            if list.busy || open || until.is_done() {
                return;
            }
            drop(self.step(list));
            let list = lock(&self.list);
            if list.asleep && (!list.entries.is_empty() || list.closed) {
                self.changed.notify_one();
            }
        }
    }
}

fn start(shared: &Arc<Shared>) -> bool {
    let shared = shared.clone();
    spawn("cuda-hsa", move || {
        let mut list = lock(&shared.list);
        loop {
            if !list.busy && !list.entries.is_empty() {
                list = shared.step(list);
            } else if list.closed && list.entries.is_empty() && list.held == 0 && !list.busy {
                return;
            } else {
                list.asleep = true;
                list = wait(&shared.changed, list);
                list.asleep = false;
            }
        }
    })
}

impl Shared {
    /// Whether work is for the host, and short.
    fn is_short(&self, work: &Work) -> bool {
        match work {
            Work::Fill(fill) => {
                let bytes = fill.width.saturating_mul(fill.size);
                fill.height <= FEW && bytes.saturating_mul(fill.height) <= SHORT
            }
            Work::Copy(copy) => {
                let rows = copy.height.max(1).saturating_mul(copy.depth.max(1));
                rows <= FEW
                    && copy.width.saturating_mul(rows) <= SHORT
                    && !self.core.memory.is_for_device(copy)
            }
            Work::Barrier | Work::Dispatch(_) => false,
        }
    }

    /// Does the host's work on this thread; packets submitted meanwhile are held back behind it.
    fn at_once(&self, packet: Packet, mut list: MutexGuard<'_, List>) {
        list.busy = true;
        list.held += 1;
        drop(list);
        self.run(packet);
        let mut list = lock(&self.list);
        list.held -= 1;
        self.advance(&mut list);
        list.busy = false;
        if list.asleep && (!list.entries.is_empty() || list.closed) {
            self.changed.notify_one();
        }
    }

    /// Submits a packet to the device; returns it where the host must do it.
    fn launch(&self, packet: Packet, list: &mut List) -> Result<Entry, Packet> {
        let Ok(device) = self.core.device(self.device) else { return Err(packet) };
        let place = Place { core: &self.core, device, ring: &self.ring };
        match place.launch(&packet, &mut list.last) {
            Launched::Flying(flight) => Ok(Entry::Flying(flight, packet.done)),
            Launched::Over(failure) => Ok(Entry::Over(failure, packet.done)),
            Launched::Later | Launched::Host => Err(packet),
        }
    }

    /// Submits held back packets that may go now.
    fn advance(&self, list: &mut List) {
        let held = |entry: &Entry| matches!(entry, Entry::Held(_));
        while let Some(at) = list.entries.iter().position(held) {
            let Some(Entry::Held(packet)) = list.entries.remove(at) else { return };
            match self.launch(packet, list) {
                Ok(entry) => {
                    list.held -= 1;
                    list.entries.insert(at, entry);
                }
                Err(packet) => return list.entries.insert(at, Entry::Held(packet)),
            }
        }
    }

    /// Handles the first entry to its end.
    fn step<'a>(&'a self, mut list: MutexGuard<'a, List>) -> MutexGuard<'a, List> {
        list.busy = true;
        let mut list = match list.entries.front() {
            Some(Entry::Flying(flight, _)) => {
                let flight = flight.clone();
                drop(list);
                let failure = flight.wait();
                // Work that ended without the device has no times.
                let times = if failure.is_none() { self.times(&flight) } else { None };
                self.forget(&flight);
                drop(flight);
                self.leave(times, failure)
            }
            Some(Entry::Over(failure, _)) => {
                let failure = failure.clone();
                drop(list);
                self.leave(None, Some(failure))
            }
            Some(Entry::Held(_)) => match list.entries.pop_front() {
                Some(Entry::Held(packet)) => {
                    drop(list);
                    self.host(packet)
                }
                _ => list,
            },
            None => list,
        };
        if list.entries.is_empty() {
            list.last = None;
        }
        self.advance(&mut list);
        list.busy = false;
        list
    }

    /// Removes the first entry, which has ended, and completes its signal. Its resources are freed
    /// before.
    fn leave(&self, times: Option<(u64, u64)>, failure: Option<Failure>) -> MutexGuard<'_, List> {
        let entry = lock(&self.list).entries.pop_front();
        if let Some(Entry::Flying(_, done) | Entry::Over(_, done)) = entry {
            self.complete(&done, times, failure);
        }
        lock(&self.list)
    }

    /// Handles a held back packet that is the first now: waits for its signals, then submits it to
    /// the device or does it here.
    fn host(&self, mut packet: Packet) -> MutexGuard<'_, List> {
        for signal in std::mem::take(&mut packet.waits) {
            signal.wait();
        }
        loop {
            let mut list = lock(&self.list);
            list.last = None;
            let launched = match self.core.device(self.device) {
                Ok(device) => {
                    let place = Place { core: &self.core, device, ring: &self.ring };
                    place.launch(&packet, &mut list.last)
                }
                Err(failure) => Launched::Over(failure),
            };
            let entry = match launched {
                Launched::Flying(flight) => Entry::Flying(flight, packet.done),
                Launched::Over(failure) => Entry::Over(failure, packet.done),
                Launched::Later => {
                    drop(list);
                    std::thread::sleep(PAUSE);
                    continue;
                }
                Launched::Host => {
                    drop(list);
                    self.run(packet);
                    let mut list = lock(&self.list);
                    list.held -= 1;
                    return list;
                }
            };
            list.entries.push_front(entry);
            list.held -= 1;
            return list;
        }
    }

    /// Does work on this thread that the device cannot.
    fn run(&self, packet: Packet) {
        let begin = self.core.now();
        let memory = &self.core.memory;
        let work = || match &packet.work {
            Work::Copy(copy) => memory.copy(copy),
            Work::Fill(fill) => memory.fill(fill),
            Work::Barrier | Work::Dispatch(_) => Ok(()),
        };
        let result = catch_unwind(AssertUnwindSafe(work));
        let failure = result.unwrap_or_else(|_| {
            Err(Failure::Launch("internal error in cushim's queue: the operation panicked".into()))
        });
        drop(packet.work);
        let times = Some((begin, self.core.now()));
        self.complete(&packet.done, times, failure.err());
    }

    /// When the device worked on it; `None` where the times are missing or impossible.
    fn times(&self, flight: &Flight) -> Option<(u64, u64)> {
        let ticks = match flight.what {
            What::Copy => {
                let mut times = crate::ffi::Times::default();
                let api = &self.core.api;
                // SAFETY: a signal that a copy has completed, and a place for the answer.
                let status = unsafe {
                    (api.hsa_amd_profiling_get_async_copy_time)(flight.signal.sig, &raw mut times)
                };
                (status == crate::ffi::SUCCESS).then_some(times)
            }
            What::Kernel(_) | What::Barrier => self.ring.times(flight.signal.sig),
        }?;
        let (begin, end) = (self.core.nanoseconds(ticks.begin), self.core.nanoseconds(ticks.end));
        (flight.since <= begin && begin <= end && end <= self.core.now()).then_some((begin, end))
    }

    fn forget(&self, flight: &Arc<Flight>) {
        match (&flight.what, self.core.device(self.device)) {
            (What::Copy, Ok(device)) => device.copies.remove(flight),
            _ => self.ring.flights().remove(flight),
        }
    }

    fn complete(&self, done: &Signal, times: Option<(u64, u64)>, failure: Option<Failure>) {
        let (begin, end) = times.unwrap_or_else(|| {
            let now = self.core.now();
            (now, now)
        });
        done.complete(Outcome { begin, end, failure });
    }
}
