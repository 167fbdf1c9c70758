//! GPU time of launches by event pairs, if there is no CUPTI: cushim records one CUDA event in the stream before a
//! launch and one after it, and the GPU stamps each.
//!
//! Owns: what happens around a launch. The events come from a pool that was filled in advance; nothing waits. cushim
//! records no event into a graph, nor into a stream that is being captured, where it would become a node of the
//! program's graph. [`harvest`] fetches the times.
//!
//! The measured time is more than the kernel's: it starts when all earlier work of the stream is complete. On an idle
//! stream it starts before the launch itself reaches the GPU, and a thread that loses its processor leaves the GPU idle
//! between the events (a launch of which much may be such a wait gets no time, see [`harvest`]); and two kernels of one stream that would have overlapped no longer do. It does not include loading a
//! kernel's code: see [`loaded`].
//!
//! Must not know: CUPTI.

mod api;
mod counts;
mod harvest;
mod loaded;
mod pool;

use std::sync::atomic::Ordering;

use cushim_trace::clock;

use super::flush;
use super::source::Source;
use crate::config::GpuTime;
use crate::life::Global;
use crate::record::launch::LaunchRecord;
use crate::site::Site;
use crate::thread::Thread;

use counts::{COST_NS, TIMED, UNTIMED};
pub use harvest::ending;

/// Bits of [`Thread::pair`] with the pair's number; the bits above hold the pool's.
const PAIR_BITS: u32 = 16;

/// Preserves errno over cushim's calls.
struct Errno(i32);

impl Errno {
    fn keep() -> Self {
        // SAFETY: errno is this thread's.
        Errno(unsafe { *libc::__errno_location() })
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: errno is this thread's.
        unsafe { *libc::__errno_location() = self.0 };
    }
}

/// A launch that is recorded is about to be forwarded.
#[cold]
pub fn before(
    global: &'static Global,
    thread: &mut Thread,
    site: &'static Site,
    launch: &LaunchRecord,
) {
    // A list of launches has one link, that of the first launch.
    if thread.pair == 0 && is_used(global) {
        let _errno = Errno::keep();
        let mut begun = clock::clock_ns(libc::CLOCK_MONOTONIC);
        thread.pair = begin(global, site, &mut begun, launch).unwrap_or(0);
        // The first timed launch also makes the events: its cost is not counted.
        if TIMED.load(Ordering::Relaxed) > 0 {
            let now = clock::clock_ns(libc::CLOCK_MONOTONIC);
            COST_NS.fetch_add(now.saturating_sub(begun), Ordering::Relaxed);
        }
    }
}

/// Whether launches of this process are timed by events.
fn is_used(global: &'static Global) -> bool {
    if Source::Unknown.is_chosen() {
        match global.gpu_time_by {
            GpuTime::Events => Source::Events.choose(),
            // The driver loads CUPTI's clients before there is a context: this driver does not.
            GpuTime::Auto if api::get().is_some_and(|api| api.context(0) != 0) => {
                Source::Events.choose();
            }
            _ => return false,
        }
    }
    Source::Events.is_chosen()
}

/// Records the first event; returns the value for [`Thread::pair`]. `begun` is when this began; it
/// is moved past work that the launch would have done itself.
fn begin(
    global: &'static Global,
    site: &'static Site,
    begun: &mut u64,
    launch: &LaunchRecord,
) -> Option<u32> {
    let stream = site.stream(launch.stream);
    let untimed = || {
        // This is reported at the end, even if no launch was timed. (A forked child may see its
        // parent's pools, which are not its own.)
        if UNTIMED.fetch_add(1, Ordering::Relaxed) == 0 && pool::all().next().is_none() {
            flush::at_end(global, harvest::finish);
        }
    };
    let api = api::get().or_else(|| {
        untimed();
        None
    })?;
    // CUDA's runtime makes its context in the first call that needs one; no capture is possible
    // before.
    if !api.has_context(stream) {
        untimed();
        return None;
    }
    if api.is_capturing(stream) {
        return None;
    }
    let taken = match api.context(stream) {
        0 => None,
        context => harvest::take(global, api, context),
    };
    let Some((number, pool, pair)) = taken else {
        untimed();
        return None;
    };
    let data = pool.data(pair)?;
    data.loads = false;
    if !loaded::is(number, launch.kernel.number) {
        data.loads = !loaded::load(number, site, launch);
        *begun = clock::clock_ns(libc::CLOCK_MONOTONIC);
    }
    (data.stream, data.called_ns, data.link) = (stream, *begun, 0);
    (data.kernel, data.shared) =
        (launch.kernel.number, launch.shared.min(u32::MAX as usize) as u32);
    data.grid = [launch.grid.x, launch.grid.y, launch.grid.z];
    data.block = [launch.block.x, launch.block.y, launch.block.z];
    // SAFETY: the function's signature; an event of ours, a stream that is about to be launched into.
    if !data.loads && unsafe { (api.record)(data.begin, stream) } != 0 {
        pool.give_back(pair);
        untimed();
        return None;
    }
    Some((number as u32) << PAIR_BITS | pair)
}

/// The launch that the thread is in was recorded, with its link.
#[inline]
pub fn name(thread: &Thread, link: u64) {
    if thread.pair != 0
        && let Some(data) = pool_of(thread.pair).and_then(|(pool, pair)| pool.data(pair))
        && data.link == 0
    {
        data.link = link;
        // After the time that the record has: no kernel begins before its launch.
        data.forwarded_ns = clock::clock_ns(libc::CLOCK_MONOTONIC);
    }
}

fn pool_of(pair: u32) -> Option<(&'static pool::Pool, u32)> {
    pool::at((pair >> PAIR_BITS) as usize).map(|pool| (pool, pair & ((1 << PAIR_BITS) - 1)))
}

/// The launch came back with `status`.
#[cold]
pub fn after(global: &'static Global, thread: &mut Thread, status: i32) {
    let taken = std::mem::take(&mut thread.pair);
    let number = (taken >> PAIR_BITS) as usize;
    let Some((pool, pair)) = pool_of(taken).filter(|(_, n)| *n != 0) else { return };
    let _errno = Errno::keep();
    let begun = clock::clock_ns(libc::CLOCK_MONOTONIC);
    let is_done = match (pool.data(pair), api::get()) {
        (Some(data), _) if data.loads => {
            if status == 0 {
                loaded::set(number, data.kernel);
            }
            UNTIMED.fetch_add(1, Ordering::Relaxed);
            false
        }
        // A pair has no link where its event found no room.
        (Some(data), Some(api)) if status == 0 && data.link != 0 && pool.context().is_some() => {
            // SAFETY: the function's signature; an event of ours, the stream that was launched into.
            let is_put =
                flush::is_here(global) && unsafe { (api.record)(data.end, data.stream) } == 0;
            data.over_ns = clock::clock_ns(libc::CLOCK_MONOTONIC);
            is_put
        }
        _ => false,
    };
    if is_done {
        pool.launched(pair);
        TIMED.fetch_add(1, Ordering::Relaxed);
    } else {
        pool.give_back(pair);
    }
    let now = clock::clock_ns(libc::CLOCK_MONOTONIC);
    COST_NS.fetch_add(now.saturating_sub(begun), Ordering::Relaxed);
}
