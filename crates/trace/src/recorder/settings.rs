//! Settings for writing a file.
//!
//! Must not know: how they are carried out.

use crate::clock;
use crate::layout::Calibration;

/// What happens when the reader falls behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backlog {
    /// The most bytes of the file that the reader has not given back yet.
    pub most: u64,
    /// Calls wait for the reader as long as there is one; else their events are lost.
    pub wait: bool,
    /// The free bytes of the file system from which on only a part of `most` may wait: the files of all processes
    /// of a run share them. 0: each process for itself.
    pub spare: u64,
}

/// How a file is written.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes that events may take; metadata may go beyond.
    pub limit: u64,
    /// Keep only the latest events, in about this many bytes.
    pub keep: Option<u64>,
    /// Ticks are those of the time-stamp counter; else monotonic nanoseconds.
    pub tsc: bool,
    /// An earlier moment of this process, if one was kept, on the same clock.
    pub first: Option<Calibration>,
    /// The control word at the start: `CONTROL_*` bits.
    pub control: u32,
    /// Set where a reader follows the file while it is written: how far it may be behind.
    pub backlog: Option<Backlog>,
}

impl Default for Settings {
    fn default() -> Self {
        let tsc = clock::has_invariant_tsc();
        Settings { limit: 1 << 30, keep: None, tsc, first: None, control: 0, backlog: None }
    }
}
