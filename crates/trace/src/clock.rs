//! The recorder's clock: the time-stamp counter if it is invariant, else the monotonic clock.
//!
//! Must not know: files or events.

use crate::layout::Calibration;

/// Whether this machine's time-stamp counter runs at one rate on all cores and in all power states
/// (CPUID 8000_0007h, EDX bit 8; AMD and Intel manuals agree).
pub fn has_invariant_tsc() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid;
        __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The time-stamp counter.
#[inline(always)]
pub fn tsc() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: RDTSC exists on every x86-64; where the kernel forbids it (PR_TSC_SIGSEGV) the process
    // asked for that itself.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// A clock of the system, ns.
pub fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer; the two clocks asked for always exist.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Now, on all clocks; `use_tsc` says which one `ticks` is.
pub fn calibrate(use_tsc: bool) -> Calibration {
    // The first call may have to set up the clock, and any call may be interrupted: the quickest of
    // three is kept.
    let mut best = (u64::MAX, Calibration::default());
    for _ in 0..3 {
        let before = tsc();
        let monotonic_ns = clock_ns(libc::CLOCK_MONOTONIC);
        let after = tsc();
        let realtime_ns = clock_ns(libc::CLOCK_REALTIME);
        let took = tsc().wrapping_sub(before);
        let ticks = if use_tsc { before + (after - before) / 2 } else { monotonic_ns };
        if took < best.0 {
            best = (took, Calibration { ticks, monotonic_ns, realtime_ns });
        }
    }
    best.1
}

/// From ticks to monotonic nanoseconds: the line through two calibrations.
#[derive(Clone, Copy, Debug)]
pub struct Timeline {
    origin: Calibration,
    ns_per_tick: f64,
}

impl Timeline {
    /// The line through `first` and `latest`; one tick is one nanosecond where they give no rate.
    pub fn new(first: Calibration, latest: Calibration) -> Self {
        let ticks = latest.ticks.saturating_sub(first.ticks);
        let ns = latest.monotonic_ns.saturating_sub(first.monotonic_ns);
        let ns_per_tick = if ticks == 0 || ns == 0 { 1.0 } else { ns as f64 / ticks as f64 };
        Timeline { origin: first, ns_per_tick }
    }
    /// Monotonic nanoseconds at `ticks`.
    pub fn ns(&self, ticks: u64) -> u64 {
        let delta = ticks.wrapping_sub(self.origin.ticks) as i64;
        let ns = (delta as f64 * self.ns_per_tick) as i64;
        self.origin.monotonic_ns.wrapping_add_signed(ns)
    }
    /// Ticks at `ns` monotonic nanoseconds: the inverse of [`Timeline::ns`].
    pub fn ticks(&self, ns: u64) -> u64 {
        let delta = ns.wrapping_sub(self.origin.monotonic_ns) as i64;
        self.origin.ticks.wrapping_add_signed((delta as f64 / self.ns_per_tick) as i64)
    }
    /// A span of ticks in nanoseconds.
    pub fn span_ns(&self, begin: u64, end: u64) -> u64 {
        (end.saturating_sub(begin) as f64 * self.ns_per_tick).round() as u64
    }
    /// Monotonic nanoseconds at the first calibration, when recording began.
    pub fn origin_ns(&self) -> u64 {
        self.origin.monotonic_ns
    }
    /// Nanoseconds since 1970 minus monotonic nanoseconds.
    pub fn realtime_offset_ns(&self) -> i64 {
        self.origin.realtime_ns.wrapping_sub(self.origin.monotonic_ns) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_two_points() {
        let first = Calibration { ticks: 1000, monotonic_ns: 500, realtime_ns: 9 };
        let latest = Calibration { ticks: 3000, monotonic_ns: 1500, realtime_ns: 10 };
        let line = Timeline::new(first, latest);
        assert_eq!(line.ns(2000), 1000);
        assert_eq!(line.ns(0), 0);
        assert_eq!((line.ticks(1000), line.ticks(0)), (2000, 0));
        assert_eq!(line.span_ns(1000, 1002), 1);
        assert_eq!(Timeline::new(first, first).span_ns(10, 15), 5);
        // There is no rate either if one of the clocks stood still.
        for still in
            [Calibration { ticks: 9000, ..first }, Calibration { monotonic_ns: 900, ..first }]
        {
            assert_eq!(Timeline::new(first, still).span_ns(10, 15), 5);
        }
    }
}
