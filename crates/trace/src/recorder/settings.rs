//! How a file is written.
//!
//! Must not know: how that is done.

use crate::clock;
use crate::layout::Calibration;

/// What a reader that is behind means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes of the file that are not yet given back: so many at most.
    pub most: u64,
    /// Calls wait until the reader has gone on, as long as there is one; else their events are lost.
    pub wait: bool,
}

/// How a file is written.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes that events may take; metadata may go beyond.
    pub limit: u64,
    /// Keep only the latest events, in about so many bytes.
    pub keep: Option<u64>,
    /// Ticks are those of the time-stamp counter; else monotonic nanoseconds.
    pub tsc: bool,
    /// An earlier moment of this process, if one was kept, on the same clock.
    pub first: Option<Calibration>,
    /// What stands in the control word at the start: `CONTROL_*` bits.
    pub control: u32,
    /// Somebody reads the file while it is written, and may be so far behind.
    pub backlog: Option<Backlog>,
}

impl Default for Settings {
    fn default() -> Self {
        let tsc = clock::has_invariant_tsc();
        Settings { limit: 1 << 30, keep: None, tsc, first: None, control: 0, backlog: None }
    }
}
