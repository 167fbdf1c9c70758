//! When each graph launch began, by CUPTI's correlation id.
//!
//! CUPTI writes a record for each kernel node of a graph. The record of a node that a kernel disabled carries stale
//! times: 1.65 s before the launch in one case (measured on an H100, driver 580, CUPTI of CUDA 13.0, `device_nodes`
//! of c-tests). So a graph's work whose times precede its launch did not run in that launch.
//!
//! Owns: the table of the latest launches. Threads insert without a lock; one thread looks up. Must not know: the
//! records of work.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many launches of graphs are remembered; times of work of a forgotten one are not checked.
const ENTRIES: usize = 1 << 16;
/// How far the clocks may be apart: CUPTI converts the GPU's times to cushim's clock.
const EARLY_NS: u64 = 50_000;
/// The same where CUPTI's times count from 1970, since the two clocks were compared at another
/// moment.
const EARLY_REALTIME_NS: u64 = 5_000_000;

/// The time, and a check of time and number: halves of two stores fit no number.
type Entry = [AtomicU64; 2];

static BEGUN: [Entry; ENTRIES] = [const { [const { AtomicU64::new(0) }; 2] }; ENTRIES];

/// CUPTI's numbers of functions that launch graphs, a bit each; the driver has 800 functions.
static GRAPHS: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// Notes that the driver's function with this CUPTI number launches graphs.
pub fn graph(function: u32) {
    if let Some(bits) = GRAPHS.get(function as usize / 64) {
        bits.fetch_or(1 << (function % 64), Ordering::Relaxed);
    }
}

/// Whether [`graph`] was called with it.
pub fn is_graph(function: u32) -> bool {
    let bits = GRAPHS.get(function as usize / 64).map_or(0, |bits| bits.load(Ordering::Relaxed));
    bits & 1 << (function % 64) != 0
}

/// CUPTI's call `number`, which launches a graph, begins at `ns` of the monotonic clock.
pub fn tell(number: u32, ns: u64) {
    if let Some([place, beside]) = BEGUN.get(number as usize % ENTRIES) {
        place.store(ns, Ordering::Relaxed);
        beside.store(check(number, ns), Ordering::Relaxed);
    }
}

/// Whether work of call `number` that began at `ns` of the monotonic clock began before the call.
/// `own_clock`: CUPTI took its times from that clock.
pub fn precedes(number: u32, ns: u64, own_clock: bool) -> bool {
    let Some([place, beside]) = BEGUN.get(number as usize % ENTRIES) else { return false };
    let (begun, beside) = (place.load(Ordering::Relaxed), beside.load(Ordering::Relaxed));
    let early = if own_clock { EARLY_NS } else { EARLY_REALTIME_NS };
    begun != 0 && beside == check(number, begun) && ns.saturating_add(early) < begun
}

/// Different for two numbers with the same time, and for two times with the same number.
fn check(number: u32, ns: u64) -> u64 {
    ns ^ (u64::from(number) << 32) ^ u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_before_its_launch_is_told_from_work_behind_it() {
        let (number, at) = (91_000, 7_000_000_000);
        assert!(!precedes(number, 1, true), "no such launch");
        tell(number, at);
        for (ns, own, rightly) in [
            (at + 1, true, false),
            (at - EARLY_NS, true, false),
            (at - EARLY_NS - 1, true, true),
            (at - EARLY_NS - 1, false, false),
            (at - EARLY_REALTIME_NS - 1, false, true),
            (1, true, true),
        ] {
            assert_eq!(precedes(number, ns, own), rightly, "{ns} {own}");
        }
        // The same table entry, another launch.
        let later = number + ENTRIES as u32;
        assert!(!precedes(later, 1, true));
        tell(later, at);
        assert!(!precedes(number, 1, true) && precedes(later, 1, true));
    }
}
