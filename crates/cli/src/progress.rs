//! Progress on a terminal: a bar for reading traces, a line for work of unknown length.
//!
//! Must not know: what work it is.

use std::io::{IsTerminal, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cushim_trace::event::{Body, Event};
use cushim_trace::layout::{CALL_WORDS, GPU_COUNTERS, LAUNCH_ARGS, RANGE_TEXT, SLOT, slots};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter work gets no bar.
const PATIENCE: Duration = Duration::from_millis(300);
/// Events between two looks at the clock.
const STRIDE: u32 = 1 << 14;

/// A bar on standard error: only where that is a terminal, and only once the work takes long. A clone
/// counts for the same bar, on another thread.
#[derive(Clone)]
pub struct Progress {
    shared: Option<Arc<Shared>>,
    /// Bytes counted since the bar was updated.
    bytes: u64,
    events: u32,
}

struct Shared {
    bar: ProgressBar,
    begun: Instant,
    bytes: AtomicU64,
    total: u64,
}

impl Progress {
    /// For traces of `total` bytes together.
    pub fn new(total: u64) -> Self {
        let shared = stderr().is_terminal().then(|| {
            let (begun, bytes) = (Instant::now(), AtomicU64::new(0));
            Arc::new(Shared { bar: ProgressBar::hidden(), begun, bytes, total })
        });
        Progress { shared, bytes: 0, events: 0 }
    }

    /// One more event was read.
    #[inline]
    pub fn event(&mut self, event: &Event<'_>) {
        let Some(shared) = &self.shared else { return };
        let bytes = match &event.body {
            Body::Launch(launch) => LAUNCH_ARGS + launch.args.len(),
            Body::Call(call) => CALL_WORDS + call.words.len() * 8,
            Body::Mark(text) => CALL_WORDS + text.len(),
            Body::Gpu(gpu) => GPU_COUNTERS + gpu.counters.bytes.len(),
            Body::Mapped(mapped) => mapped.stored_bytes(),
            Body::Range(range) => RANGE_TEXT + range.text.len(),
        };
        self.bytes += (slots(bytes) * SLOT) as u64;
        self.events += 1;
        if self.events.is_multiple_of(STRIDE) {
            shared.show(std::mem::take(&mut self.bytes));
        }
    }
}

/// Says on standard error, where that is a terminal, which long work is under way.
pub fn note(what: &str) {
    if stderr().is_terminal() {
        crate::complain(&format!("{what} …"));
    }
}

impl Shared {
    fn show(&self, more: u64) {
        let bytes = self.bytes.fetch_add(more, Ordering::Relaxed) + more;
        let bar = &self.bar;
        if bar.is_hidden() && self.begun.elapsed() > PATIENCE {
            bar.set_length(self.total);
            if let Ok(style) = ProgressStyle::with_template(
                "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            ) {
                bar.set_style(style);
            }
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_position(bytes.min(self.total));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
