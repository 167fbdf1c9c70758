//! When events are recorded: windows in time, in launches, between the program's own profiler calls, and commands of
//! a user (`cushim ctl`).
//!
//! The control word in the first page of the trace is zero if every call is to be recorded; the hot path tests only
//! that. Otherwise each outermost call asks this module; nested calls follow the outermost.
//!
//! Must not know: what a call does, or how an event is stored.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cushim_trace::clock;
use cushim_trace::layout::{CONTROL_MAIL, CONTROL_OFF, CONTROL_WINDOW};
use cushim_trace::recorder::Recorder;

/// Which window was requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Only between `cudaProfilerStart` and `cudaProfilerStop`.
    pub profiler_range: bool,
    /// Not before this time after the library was loaded, ns.
    pub delay_ns: u64,
    /// The duration from the first recorded call on, ns.
    pub duration_ns: Option<u64>,
    /// How many launches are skipped first.
    pub skip: u64,
    /// How many launches are recorded, with the calls between them.
    pub count: Option<u64>,
    /// Nothing until a user says `on`.
    pub paused: bool,
}

impl Wanted {
    /// The control word at the start.
    pub fn control(&self) -> u32 {
        let everything = Wanted { paused: self.paused, ..Wanted::default() };
        let window = if *self == everything { 0 } else { CONTROL_WINDOW };
        window | if self.paused { CONTROL_OFF } else { 0 }
    }
}

/// The window of this process.
#[derive(Debug, Default)]
pub struct Window {
    wanted: Wanted,
    /// `CLOCK_MONOTONIC` before which nothing is recorded, ns; 0 once that has passed.
    not_before: AtomicU64,
    /// `CLOCK_MONOTONIC` from which on nothing is recorded, ns; 0 before the first event.
    until: AtomicU64,
    /// Between the program's profiler calls.
    in_range: AtomicBool,
    /// Launches seen while all other conditions held.
    launches: AtomicU64,
    /// It will not open again.
    over: AtomicBool,
}

impl Window {
    /// The requested window, in a process whose clock began at `begin_ns`.
    pub fn new(wanted: Wanted, begin_ns: u64) -> Self {
        let not_before = match wanted.delay_ns {
            0 => 0,
            delay => begin_ns.saturating_add(delay),
        };
        Window { wanted, not_before: AtomicU64::new(not_before), ..Window::default() }
    }

    /// Whether an outermost call is to be recorded where the control word says `control`; `launch` says
    /// that it is one. Also takes up marks that wait.
    #[cold]
    pub fn admits(&self, recorder: &Recorder, mut control: u32, launch: bool) -> bool {
        if control & CONTROL_MAIL != 0 {
            recorder.take_mail();
            control = recorder.control() & !CONTROL_MAIL;
        }
        if control & CONTROL_OFF != 0 {
            return false;
        }
        if control & CONTROL_WINDOW == 0 {
            return true;
        }
        let now = || clock::clock_ns(libc::CLOCK_MONOTONIC);
        let open = self.is_open(launch, now);
        if open && !self.can_close() {
            recorder.clear_control(CONTROL_WINDOW);
        }
        open
    }

    fn is_open(&self, launch: bool, now: impl Fn() -> u64) -> bool {
        if self.over.load(Ordering::Relaxed) {
            return false;
        }
        if self.wanted.profiler_range && !self.in_range.load(Ordering::Relaxed) {
            return false;
        }
        let not_before = self.not_before.load(Ordering::Relaxed);
        if not_before != 0 {
            if now() < not_before {
                return false;
            }
            self.not_before.store(0, Ordering::Relaxed);
        }
        let seen = match launch {
            true => self.launches.fetch_add(1, Ordering::Relaxed),
            false => self.launches.load(Ordering::Relaxed),
        };
        if seen < self.wanted.skip {
            return false;
        }
        if self.wanted.count.is_some_and(|count| seen - self.wanted.skip >= count) {
            self.over.store(true, Ordering::Relaxed);
            return false;
        }
        let Some(duration) = self.wanted.duration_ns else { return true };
        let now = now();
        let end = now.saturating_add(duration);
        let until = self.until.compare_exchange(0, end, Ordering::Relaxed, Ordering::Relaxed);
        let open = until.map_or_else(|until| now < until, |_| true);
        if !open {
            self.over.store(true, Ordering::Relaxed);
        }
        open
    }

    /// Whether an open window may close again.
    fn can_close(&self) -> bool {
        let wanted = &self.wanted;
        wanted.profiler_range || wanted.duration_ns.is_some() || wanted.count.is_some()
    }

    /// The program's own range begins or ends.
    pub fn range(&self, open: bool) {
        self.in_range.store(open, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(wanted: Wanted) -> Window {
        Window::new(wanted, 1000)
    }

    #[test]
    fn control_words() {
        assert_eq!(Wanted::default().control(), 0);
        assert_eq!(Wanted { paused: true, ..Wanted::default() }.control(), CONTROL_OFF);
        assert_eq!(Wanted { skip: 3, ..Wanted::default() }.control(), CONTROL_WINDOW);
        let both = Wanted { delay_ns: 1, paused: true, ..Wanted::default() };
        assert_eq!(both.control(), CONTROL_OFF | CONTROL_WINDOW);
    }

    #[test]
    fn launches_are_skipped_and_counted() {
        let w = window(Wanted { skip: 2, count: Some(3), ..Wanted::default() });
        let launches: Vec<bool> = (0..8).map(|_| w.is_open(true, || 0)).collect();
        assert_eq!(launches, [false, false, true, true, true, false, false, false]);
        // Other calls belong to the window from the last skipped launch to the last counted one.
        let w = window(Wanted { skip: 1, count: Some(1), ..Wanted::default() });
        let calls: Vec<bool> = [false, true, false, true, false, true]
            .into_iter()
            .map(|launch| w.is_open(launch, || 0))
            .collect();
        assert_eq!(calls, [false, false, true, true, false, false]);
    }

    #[test]
    fn times() {
        let w = window(Wanted { delay_ns: 500, duration_ns: Some(100), ..Wanted::default() });
        let at = |now: u64| w.is_open(false, || now);
        assert!(!at(1499));
        // The duration begins with the first call.
        assert!(at(1700) && at(1799) && !at(1800) && !at(1750));
    }

    #[test]
    fn ranges() {
        let w = window(Wanted { profiler_range: true, count: Some(2), ..Wanted::default() });
        assert!(!w.is_open(true, || 0));
        w.range(true);
        assert!(w.is_open(true, || 0));
        w.range(false);
        assert!(!w.is_open(true, || 0));
        w.range(true);
        assert!(w.is_open(true, || 0) && !w.is_open(true, || 0));
    }
}
