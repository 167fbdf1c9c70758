//! GPU time, for `--gpu-time`: what CUPTI's activity records tell of the calls that are recorded.
//!
//! Owns: the links. Each recorded call that may put work on a GPU gets a number, which stands in its
//! event and which CUPTI is told for as long as the call lasts (an *external correlation id*). CUPTI
//! answers with a record of which of its own numbers belong to it, and with the kernels, copies and sets
//! that carry those: also those that a graph launch brought about. [`records`] makes events of them.
//!
//! A runtime that is linked into the program is not hooked: by the time the driver is called, CUPTI has
//! noted the runtime's call, and takes no other number for it (measured on an H100: every record of such
//! programs stayed without one). So a thread always carries a number for the call to come ([`tell_ahead`]),
//! and the first recorded call after it says which link it became.
//!
//! The driver loads CUPTI's clients itself: at `cuInit` it opens what `CUDA_INJECTION64_PATH` names and
//! calls `InitializeInjection` there (CUPTI manual, "Tracing injection"). The launcher puts this library's
//! own path there, so that nothing is opened where the program does not expect it: see [`attach`].
//!
//! Where there is no CUPTI, or another tool has its place, launches are timed by [`events`].
//!
//! Must not know: how a call is recorded.

mod cupti;
mod events;
mod flush;
mod records;

use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

use crate::life;
use crate::log::{self, Level};
use crate::thread::{self, Thread};

pub use cupti::attach;
pub use events::{after, before, ending};

/// Where this process's times come from.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Source {
    /// That is not known yet.
    Unknown,
    Cupti,
    Events,
    Nothing,
}

static SOURCE: AtomicU8 = AtomicU8::new(Source::Unknown as u8);

impl Source {
    fn choose(self) {
        SOURCE.store(self as u8, Ordering::Release);
    }
    fn is_chosen(self) -> bool {
        SOURCE.load(Ordering::Acquire) == self as u8
    }
}

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

/// Above the count of a number that was told ahead of its call; no kernel has it.
const AHEAD: u64 = (1 << (64 - COUNT_BITS)) - 1;
/// What the latest of those became: number and link, by the number's low bits.
static BECAME: [[AtomicU64; 2]; 1 << 14] = [const { [const { AtomicU64::new(0) }; 2] }; 1 << 14];

type Push = unsafe extern "C" fn(u32, u64) -> i32;
type Pop = unsafe extern "C" fn(u32, *mut u64) -> i32;

/// A new link, for a call about kernel `kernel` (0 for none).
pub fn link(kernel: u32) -> u64 {
    let count = (GIVEN.fetch_add(1, Ordering::Relaxed) + 1) & ((1 << COUNT_BITS) - 1);
    // A number that does not fit is not told.
    let kernel = if u64::from(kernel) < AHEAD { u64::from(kernel) } else { 0 };
    kernel << COUNT_BITS | count
}

/// Has the thread carry a number for its next call, once CUPTI is there.
pub fn tell_ahead(thread: &mut Thread) {
    if PUSH.load(Ordering::Acquire) != 0 {
        let count = GIVEN.fetch_add(1, Ordering::Relaxed) + 1;
        thread.ahead = AHEAD << COUNT_BITS | count & ((1 << COUNT_BITS) - 1);
        push(thread.ahead);
    }
}

/// A call that is not recorded has put work on a GPU: the number that was told ahead is that one's.
pub fn skip(thread: &mut Thread) {
    if thread.ahead != 0 && thread.link == 0 {
        pop();
        tell_ahead(thread);
    }
}

fn place(number: u64) -> Option<&'static [AtomicU64; 2]> {
    BECAME.get(number as usize % BECAME.len())
}

/// The link of a number that CUPTI tells; none where no recorded call came after it.
fn link_of(number: u64) -> Option<u64> {
    if number >> COUNT_BITS != AHEAD {
        return Some(number);
    }
    let [told, link] = place(number)?;
    let link = link.load(Ordering::Acquire);
    (told.load(Ordering::Acquire) == number).then_some(link)
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
    events::name(thread, link);
    if thread.ahead != 0
        && let Some([told, became]) = place(thread.ahead)
    {
        told.store(0, Ordering::Release);
        became.store(link, Ordering::Release);
        told.store(thread.ahead, Ordering::Release);
    }
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
    pop();
    if thread.ahead != 0 {
        pop();
    }
    tell_ahead(thread);
}

fn pop() {
    let pop = POP.load(Ordering::Acquire);
    if pop != 0 {
        let mut last = 0;
        // SAFETY: as in `push`; the place is valid.
        unsafe { std::mem::transmute::<usize, Pop>(pop)(OURS, &mut last) };
    }
}

/// CUPTI is there: also for the call that the thread is in, if it is in one.
fn started(push_at: usize, pop_at: usize) {
    thread::at_begin(tell_ahead);
    POP.store(pop_at, Ordering::Release);
    PUSH.store(push_at, Ordering::Release);
    if let Some(thread) = thread::current_if_any() {
        let link = thread.link;
        tell_ahead(thread);
        if link != 0 {
            push(link);
        }
    }
}

/// Tells the user, in the trace and on stderr.
fn note(level: Level, text: &str) {
    log::line(level, format_args!("{text}"));
    if let Some(recorder) = life::current().and_then(|g| g.recorder.as_ref()) {
        recorder.write_meta(&cushim_trace::meta::encode_note(text));
    }
}
