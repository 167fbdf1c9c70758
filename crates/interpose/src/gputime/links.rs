//! Links: the numbers by which CUPTI's records find the calls that they belong to.
//!
//! Must not know: what comes of them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::events;
use super::told::{AHEAD, COUNT_BITS, OURS, place};
use crate::thread::{self, Thread};

/// Links that were given out.
static GIVEN: AtomicU64 = AtomicU64::new(0);
/// `cuptiActivityPushExternalCorrelationId` and `…Pop…`, once CUPTI is there.
static PUSH: AtomicUsize = AtomicUsize::new(0);
static POP: AtomicUsize = AtomicUsize::new(0);

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
pub fn started(push_at: usize, pop_at: usize) {
    thread::at_begin(tell_ahead);
    POP.store(pop_at, Ordering::Release);
    PUSH.store(push_at, Ordering::Release);
    // SAFETY: what is called below is CUPTI's, which does not come to our hooks.
    if let Some(thread) = unsafe { thread::current_if_any() } {
        let link = thread.link;
        tell_ahead(thread);
        if link != 0 {
            push(link);
        }
    }
}
