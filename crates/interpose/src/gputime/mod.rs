//! GPU time, for `--gpu-time`: what CUPTI's activity records tell of the calls that are recorded.
//!
//! Owns: the links. Each recorded call that may put work on a GPU gets a number, which stands in its
//! event and which CUPTI is told for as long as the call lasts (an *external correlation id*). CUPTI
//! answers with a record of which of its own numbers belong to it, and with the kernels, copies and sets
//! that carry those: also those that a graph launch brought about. [`records`] makes events of them.
//!
//! The driver loads CUPTI's clients itself: at `cuInit` it opens what `CUDA_INJECTION64_PATH` names and
//! calls `InitializeInjection` there (CUPTI manual, "Tracing injection"). The launcher puts this library's
//! own path there, so that nothing is opened where the program does not expect it: see [`attach`].
//!
//! Must not know: how a call is recorded.

mod cupti;
mod flush;
mod records;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::life;
use crate::log::{self, Level};
use crate::thread::Thread;

pub use cupti::attach;

/// Bits of a link that count; above them stands the kernel's number, so that a record finds its kernel
/// without the event.
const COUNT_BITS: u32 = 40;

/// Links that were given out.
static GIVEN: AtomicU64 = AtomicU64::new(0);
/// `cuptiActivityPushExternalCorrelationId` and `…Pop…`, once CUPTI is there.
static PUSH: AtomicUsize = AtomicUsize::new(0);
static POP: AtomicUsize = AtomicUsize::new(0);

/// `CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0` (cupti_activity.h).
const OURS: u32 = 3;

type Push = unsafe extern "C" fn(u32, u64) -> i32;
type Pop = unsafe extern "C" fn(u32, *mut u64) -> i32;

/// A new link, for a call about kernel `kernel` (0 for none).
pub fn link(kernel: u32) -> u64 {
    let count = (GIVEN.fetch_add(1, Ordering::Relaxed) + 1) & ((1 << COUNT_BITS) - 1);
    // A number that does not fit is not told.
    let kernel = if kernel < 1 << (64 - COUNT_BITS) { u64::from(kernel) } else { 0 };
    kernel << COUNT_BITS | count
}

/// The kernel that a link is about, 0 for none.
fn kernel_of(link: u64) -> u32 {
    (link >> COUNT_BITS) as u32
}

/// What this thread does from now on, it does for the call of `link`.
pub fn begin(thread: &mut Thread, link: u64) {
    if thread.link != 0 {
        // A longjmp left the call before.
        end(thread);
    }
    // Also where CUPTI is not there yet: the call may be the one that initialises CUDA.
    thread.link = link;
    push(link);
}

fn push(link: u64) {
    let push = PUSH.load(Ordering::Acquire);
    if push != 0 {
        // SAFETY: CUPTI's function of this signature; its library stays loaded.
        unsafe { std::mem::transmute::<usize, Push>(push)(OURS, link) };
    }
}

/// The call of [`begin`] is over.
pub fn end(thread: &mut Thread) {
    thread.link = 0;
    let pop = POP.load(Ordering::Acquire);
    if pop != 0 {
        let mut last = 0;
        // SAFETY: as in `push`; the place is valid.
        unsafe { std::mem::transmute::<usize, Pop>(pop)(OURS, &mut last) };
    }
}

/// CUPTI is there: also for the call that the thread is in, if it is in one.
fn started(push_at: usize, pop_at: usize) {
    POP.store(pop_at, Ordering::Release);
    PUSH.store(push_at, Ordering::Release);
    if let Some(link) = crate::thread::current_if_any().map(|t| t.link).filter(|&link| link != 0) {
        push(link);
    }
}

/// Tells the user, in the trace and on stderr.
fn note(level: Level, text: &str) {
    log::line(level, format_args!("{text}"));
    if let Some(recorder) = life::current().and_then(|g| g.recorder.as_ref()) {
        recorder.write_meta(&cushim_trace::meta::encode_note(text));
    }
}
