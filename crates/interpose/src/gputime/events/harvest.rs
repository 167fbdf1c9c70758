//! Creates and fills pools of events, and fetches the events' times; never during a launch.
//!
//! Owns: mapping GPU times to the host clock. It records an event on an idle stream of its own and waits for it
//! between two readings of the clock: an *anchor*. Every time is the distance from an earlier anchor. Anchors are
//! renewed, because distances are 32-bit numbers.
//!
//! Only one thread at a time runs this code; a launch that finds another thread in it skips it.

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use cushim_trace::clock;
use cushim_trace::layout::{GPU_KERNEL, GpuBody};

use super::super::flush;
use super::super::records::Out;
use super::super::source::{Source, note};
use super::api::{self, Api};
use super::counts::{COST_NS, TIMED, UNTIMED};
use super::pool::{self, Data, Pool};
use crate::life::{self, Global};
use crate::log::Level;
use crate::thread;

/// Pairs that a pool begins with, and that a launch adds where none is left.
const FIRST: usize = 256;
const FEW: usize = 16;
/// How long a launch waits at most for another thread that makes pairs, which takes microseconds.
const PATIENCE_NS: u64 = 1_000_000_000;
/// How often times are fetched while there are launches.
const BUSY: Duration = Duration::from_millis(2);
/// How long an anchor is used, and how many are kept.
const ANCHOR_NS: u64 = 1_000_000_000;
const ANCHORS: usize = 8;
/// An anchor is good where it was reached within the first time, and useless after the second, ns.
const GOOD_NS: u64 = 30_000;
const USELESS_NS: u64 = 1_000_000;

/// An event whose time is known.
#[derive(Clone, Copy)]
struct Anchor {
    event: usize,
    /// `CLOCK_MONOTONIC` when the GPU reached it, once that is known.
    ns: Option<i64>,
    /// By how much that may be wrong, ns.
    within: i64,
    /// `CLOCK_MONOTONIC` when it was known to be reached: later launches come after it.
    over_ns: u64,
}

/// What is known of a pool's context.
struct Context {
    device: i32,
    stream: usize,
    anchors: Vec<Anchor>,
    /// Pairs that wait for the GPU, by stream.
    waiting: HashMap<usize, VecDeque<u32>>,
    /// Numbers of the streams.
    streams: HashMap<usize, u32>,
}

static CONTEXTS: Mutex<Vec<Context>> = Mutex::new(Vec::new());
/// Held while pairs are added to a pool in use.
static MAKING: Mutex<()> = Mutex::new(());
/// The thread that ends a context, 0 for none.
static ENDING: AtomicI64 = AtomicI64::new(0);

fn now() -> u64 {
    clock::clock_ns(libc::CLOCK_MONOTONIC)
}

fn lock() -> MutexGuard<'static, Vec<Context>> {
    CONTEXTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A pair for a launch in `context`, with its pool and the pool's number.
pub fn take(
    global: &'static Global,
    api: &Api,
    context: usize,
) -> Option<(usize, &'static Pool, u32)> {
    match pool::of(context) {
        Some((number, pool)) if flush::is_here(global) => {
            let pair = pool.take().or_else(|| more(api, pool, context));
            pair.map(|pair| (number, pool, pair))
        }
        // A child of a fork has the parent's pools, and no CUDA.
        Some(_) => None,
        None => make(global, api, context),
    }
}

/// No pair is left: adds some, unless another thread is about to.
#[cold]
fn more(api: &Api, pool: &Pool, context: usize) -> Option<u32> {
    let begun = now();
    while now() - begun < PATIENCE_NS {
        if let Ok(_making) = MAKING.try_lock() {
            api.inside(context, || add(api, pool, FEW));
            return pool.take();
        }
        std::thread::yield_now();
        if let Some(pair) = pool.take() {
            return Some(pair);
        }
    }
    None
}

/// Adds pairs; [`MAKING`] is held.
fn add(api: &Api, pool: &Pool, count: usize) {
    for _ in 0..count {
        match (api.event(), api.event()) {
            (Some(begin), Some(end)) if pool.add(begin, end) => {}
            _ => break,
        }
    }
}

/// The first launch in a context.
#[cold]
fn make(global: &'static Global, api: &Api, context: usize) -> Option<(usize, &'static Pool, u32)> {
    // Another thread may be making the same pool.
    let begun = now();
    let mut contexts = loop {
        match CONTEXTS.try_lock() {
            Ok(contexts) => break contexts,
            Err(_) if now() - begun < PATIENCE_NS => std::thread::yield_now(),
            Err(_) => return None,
        }
    };
    if let Some((number, pool)) = pool::of(context) {
        return pool.take().map(|pair| (number, pool, pair));
    }
    if !flush::is_here(global) && !contexts.is_empty() {
        return None;
    }
    let (number, pool) = pool::unused()?;
    let known = api.inside(context, || {
        /// CU_STREAM_NON_BLOCKING.
        const NON_BLOCKING: u32 = 1;
        let (mut device, mut stream) = (0, 0);
        // SAFETY: the functions' signatures; the places are valid.
        let ok = unsafe {
            (api.device)(&mut device) == 0 && (api.stream)(&mut stream, NON_BLOCKING) == 0
        };
        // The event is queried later; all launches come after it.
        let event = api.event().filter(|_| ok)?;
        // SAFETY: an event and a stream of ours.
        (unsafe { (api.record)(event, stream) } == 0).then(|| {
            add(api, pool, FIRST);
            let anchors = vec![Anchor { event, ns: None, within: 0, over_ns: 0 }];
            let (waiting, streams) = Default::default();
            Context { device, stream, anchors, waiting, streams }
        })
    });
    contexts.push(known.flatten()?);
    pool.open(context);
    if contexts.len() == 1 {
        flush::start(global, round, finish);
        note(
            Level::Info,
            "GPU times are those between two events around each launch: they include what the GPU needs to \
             get to the kernel, copies, sets, graphs and captured launches have none, and kernels of one \
             stream do not overlap",
        );
    }
    pool.take().map(|pair| (number, pool, pair))
}

/// Fetches the times of launches that the GPU has finished.
fn round(is_last: bool) -> Duration {
    let done = std::panic::catch_unwind(|| {
        let mut contexts = lock();
        fetch(&mut contexts)
    });
    match done {
        Ok(true) if !is_last => BUSY,
        _ => flush::PERIOD,
    }
}

/// Fetches what is finished; returns whether there was anything. Without new launches the driver is
/// not asked.
fn fetch(contexts: &mut [Context]) -> bool {
    let Some(api) = api::get() else { return false };
    let Some(global) = life::current() else { return false };
    let Some(recorder) = &global.recorder else { return false };
    let out = Out::new(global, recorder);
    let mut any = false;
    for ((number, pool), known) in pool::all().zip(contexts) {
        let Some(context) = pool.context() else { continue };
        for pair in pool.take_launched() {
            let stream = pool.data(pair).map_or(0, |data| data.stream);
            known.waiting.entry(stream).or_default().push_back(pair);
        }
        if known.waiting.is_empty() {
            continue;
        }
        any = true;
        let entered = api.inside(context, || {
            known.fetch(api, pool, number, &out);
            let wanted = pool.wanted();
            if wanted > 0
                && let Ok(_making) = MAKING.try_lock()
            {
                add(api, pool, wanted);
            }
        });
        if entered.is_none() {
            // The context ended by a call that no hook saw.
            known.forget(pool);
        }
    }
    any
}

/// The process ends.
pub fn finish() {
    let waiting = lock().iter().flat_map(|c| c.waiting.values()).map(VecDeque::len).sum::<usize>();
    let timed = TIMED.load(Ordering::Relaxed);
    let untimed = UNTIMED.load(Ordering::Relaxed) + waiting as u64;
    if let Some(each) = COST_NS.load(Ordering::Relaxed).checked_div(timed) {
        note(
            Level::Info,
            &format!(
                "--gpu-time: timing {timed} launches by event pairs cost the host {each} ns each"
            ),
        );
    }
    if untimed > 0 {
        note(
            Level::Info,
            &format!(
                "--gpu-time: {untimed} launches have no GPU time: the first of a context that CUDA had yet \
                 to make, those that loaded their kernel's code or whose call took long, those that were \
                 not over when the process ended, or there was no event left"
            ),
        );
    }
}

/// Runs `call`, which may end `context` (all primary ones where that is `None`), while no thread
/// fetches times in them.
pub fn ending(context: Option<usize>, call: impl FnOnce() -> i32) -> i32 {
    let own = i64::from(thread::id());
    let here = Source::Events.is_chosen() && life::current().is_some_and(flush::is_here);
    if !here || ENDING.load(Ordering::Acquire) == own {
        return call();
    }
    let mut contexts = lock();
    let _ = std::panic::catch_unwind(AssertUnwindSafe(|| fetch(&mut contexts)));
    ENDING.store(own, Ordering::Release);
    let status = call();
    ENDING.store(0, Ordering::Release);
    let Some(api) = api::get() else { return status };
    for ((_, pool), known) in pool::all().zip(contexts.iter_mut()) {
        let is_over = match context {
            Some(ended) => status == 0 && pool.context() == Some(ended),
            None => pool.context().is_some() && !api.has_primary(known.device),
        };
        // Other contexts of the device are added again.
        if is_over {
            known.forget(pool);
        }
    }
    status
}

impl Context {
    /// The context is gone: drops what is known of it.
    fn forget(&mut self, pool: &Pool) {
        pool.close();
        let waiting = self.waiting.drain().map(|(_, pairs)| pairs.len() as u64).sum::<u64>();
        UNTIMED.fetch_add(waiting, Ordering::Relaxed);
    }

    fn fetch(&mut self, api: &Api, pool: &Pool, number: usize, out: &Out<'_>) {
        let newest = self.anchors.last().map_or(0, |anchor| anchor.over_ns);
        if now().saturating_sub(newest) > ANCHOR_NS {
            self.anchor(api);
        }
        if self.anchors.iter().all(|anchor| anchor.ns.is_none()) {
            return;
        }
        for (&stream, pairs) in &mut self.waiting {
            let next = self.streams.len() as u32 + 1;
            let stream = *self.streams.entry(stream).or_insert(next);
            while let Some(&pair) = pairs.front() {
                let Some(data) = pool.data(pair).copied() else { break };
                /// CUDA_ERROR_NOT_READY. Later work of the stream is not over either.
                const NOT_READY: i32 = 600;
                // SAFETY: the function's signature, an event of ours.
                match unsafe { (api.query)(data.end) } {
                    NOT_READY => break,
                    0 => match times(&self.anchors, api, &data) {
                        Some((start_ns, end_ns)) => out.store(
                            GpuBody {
                                what: GPU_KERNEL,
                                device: self.device as u32,
                                context: number as u32 + 1,
                                stream,
                                kernel: data.kernel,
                                link: data.link,
                                start_ns,
                                end_ns,
                                grid: data.grid,
                                block: data.block,
                                shared: data.shared,
                                ..GpuBody::default()
                            },
                            None,
                        ),
                        None => _ = UNTIMED.fetch_add(1, Ordering::Relaxed),
                    },
                    _ => _ = UNTIMED.fetch_add(1, Ordering::Relaxed),
                }
                pairs.pop_front();
                pool.give_back(pair);
            }
        }
        self.waiting.retain(|_, pairs| !pairs.is_empty());
    }

    /// Sets a new anchor; none where the GPU does not reach it soon.
    fn anchor(&mut self, api: &Api) {
        let reused = (self.anchors.len() >= ANCHORS).then(|| self.anchors.remove(0).event);
        let Some(event) = reused.or_else(|| api.event()) else { return };
        let mut seen = None;
        for _ in 0..5 {
            let begun = now();
            // SAFETY: the function's signature; an event and a stream of ours.
            if unsafe { (api.record)(event, self.stream) } != 0 {
                break;
            }
            // SAFETY: the function's signature; an event of ours.
            while unsafe { (api.query)(event) } != 0 && now() - begun < USELESS_NS {
                std::hint::spin_loop();
            }
            let over = now();
            seen = (over - begun < USELESS_NS).then_some((begun, over));
            if over - begun < GOOD_NS {
                break;
            }
        }
        let Some((begun, over_ns)) = seen else { return };
        let within = (over_ns - begun) as i64 / 2;
        let ns = begun as i64 + within;
        // Earlier anchors waited for the time of this event.
        for earlier in self.anchors.iter_mut().filter(|anchor| anchor.ns.is_none()) {
            earlier.ns = api.between(earlier.event, event).map(|gap| ns - gap);
            earlier.within = within;
        }
        self.anchors.push(Anchor { event, ns: Some(ns), within, over_ns });
    }
}

/// When a launch's work began and was over, ns of `CLOCK_MONOTONIC`.
fn times(anchors: &[Anchor], api: &Api, data: &Data) -> Option<(u64, u64)> {
    let known = || anchors.iter().filter(|anchor| anchor.ns.is_some());
    let anchor = known().rfind(|a| a.over_ns <= data.called_ns).or_else(|| known().next())?;
    let took = api.between(data.begin, data.end)?.max(0);
    let start = anchor.ns? + api.between(anchor.event, data.begin)?;
    if is_mostly_the_calls(data, start - anchor.within, start + anchor.within + took) {
        return None;
    }
    // The anchor is exact to some microseconds; nothing ran before it was launched.
    let start = start.max(data.forwarded_ns as i64);
    Some((start as u64, (start + took) as u64))
}

/// Whether much of the time from `start` to `end`, ns of `CLOCK_MONOTONIC`, may be one in which the GPU had nothing
/// to do, as the CPU was still recording the events and launching. That happens with the first launch in a process
/// (280 us, measured on an H200), or where a thread waits for a lock of the driver or for a processor (up to 42 ms with
/// 64 threads on 16 processors). Calls of the usual few microseconds are taken as they are.
fn is_mostly_the_calls(data: &Data, start: i64, end: i64) -> bool {
    const LONG_NS: i64 = 50_000;
    let idle = end.min(data.over_ns as i64) - start.max(data.called_ns as i64);
    idle > LONG_NS && idle > (end - start) / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_is_mostly_the_calls_is_none() {
        const CALLED_NS: i64 = 1_000_000;
        // Nanoseconds from the first call to the end of the last, from there to the GPU's time at the first event,
        // and between the events.
        for (calls, start, took, wrong) in [
            (9_000, 3_000, 6_000, false),
            (280_000, 0, 283_000, true),
            (280_000, 0, 1_000_000, true),
            (280_000, 0, 2_000_000, false),
            // The anchor is not exact.
            (280_000, -5_000, 290_000, true),
            // Earlier work of the stream had not finished before.
            (280_000, 280_000, 3_000, false),
            (280_000, 240_000, 3_000, false),
            (280_000, 9_000_000, 3_000, false),
            (280_000, 200_000, 90_000, true),
            // The thread went on long after the second event.
            (5_000_000, 1_000, 5_000, false),
        ] {
            let data = Data {
                begin: 0,
                end: 0,
                stream: 0,
                called_ns: CALLED_NS as u64,
                forwarded_ns: CALLED_NS as u64,
                over_ns: (CALLED_NS + calls) as u64,
                link: 0,
                loads: false,
                kernel: 0,
                shared: 0,
                grid: [1; 3],
                block: [1; 3],
            };
            let start = CALLED_NS + start;
            assert_eq!(
                is_mostly_the_calls(&data, start, start + took),
                wrong,
                "{calls} {start} {took}"
            );
        }
    }
}
