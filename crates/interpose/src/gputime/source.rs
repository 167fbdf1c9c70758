//! The chosen source of this process's GPU times, and the message about it.
//!
//! Must not know: how times are measured.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::log::{self, Level};
use crate::state;

/// The source of this process's GPU times.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Source {
    /// Not known yet.
    Unknown,
    /// CUPTI's activity records.
    Cupti,
    /// Pairs of events around launches.
    Events,
    /// No times.
    Nothing,
}

static SOURCE: AtomicU8 = AtomicU8::new(Source::Unknown as u8);

impl Source {
    /// Makes this the source.
    pub fn choose(self) {
        SOURCE.store(self as u8, Ordering::Release);
    }
    /// Whether it is this one.
    pub fn is_chosen(self) -> bool {
        SOURCE.load(Ordering::Acquire) == self as u8
    }
}

/// Tells the user, in the trace and on stderr.
pub fn note(level: Level, text: &str) {
    log::line(level, format_args!("{text}"));
    if let Some(recorder) = state::current().and_then(|g| g.recorder.as_ref()) {
        recorder.write_meta(&cushim_trace::meta::encode_note(text));
    }
}
