//! How far an export has come, on a terminal.
//!
//! Must not know: formats.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use cushim_trace::event::{Body, Event};
use cushim_trace::layout::{CALL_WORDS, LAUNCH_ARGS, RANGE_TEXT, SLOT, slots};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter work needs no bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// Events between two looks at the clock.
const STRIDE: u32 = 1 << 14;

/// A bar on standard error: only where that is a terminal, and only once the work takes long.
pub struct Progress {
    bar: Option<ProgressBar>,
    begun: Instant,
    bytes: u64,
    events: u32,
    total: u64,
}

impl Progress {
    /// For traces of `total` bytes together.
    pub fn new(total: u64) -> Self {
        let bar = stderr().is_terminal().then(ProgressBar::hidden);
        Progress { bar, begun: Instant::now(), bytes: 0, events: 0, total }
    }

    /// One more event was written.
    pub fn event(&mut self, event: &Event<'_>) {
        if self.bar.is_none() {
            return;
        }
        let bytes = match &event.body {
            Body::Launch(launch) => LAUNCH_ARGS + launch.args.len(),
            Body::Call(call) => CALL_WORDS + call.words.len() * 8,
            Body::Mark(text) => CALL_WORDS + text.len(),
            Body::Gpu(_) => 2 * SLOT,
            Body::Range(range) => RANGE_TEXT + range.text.len(),
        };
        self.bytes += (slots(bytes) * SLOT) as u64;
        self.events += 1;
        if self.events.is_multiple_of(STRIDE) {
            self.show();
        }
    }

    fn show(&mut self) {
        let Some(bar) = &self.bar else { return };
        if bar.is_hidden() && self.begun.elapsed() > PATIENCE {
            bar.set_length(self.total);
            if let Ok(style) = ProgressStyle::with_template(
                "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            ) {
                bar.set_style(style);
            }
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_position(self.bytes.min(self.total));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
