//! Slots in the trace for an event of the calling thread, and the records that events refer to.
//!
//! Must not know: what an event contains.

use std::sync::atomic::{AtomicU32, Ordering};

use cushim_trace::layout::Lost;
use cushim_trace::meta::Api;
use cushim_trace::recorder::{Recorder, Slots};

use crate::life::Global;
use crate::thread::{self, Thread};

/// At most this many argument words are kept per call.
pub const MOST_WORDS: usize = 16;

/// A new number for a name, for [`cushim_trace::meta::encode_name`].
pub fn new_name() -> u32 {
    static NAMES: AtomicU32 = AtomicU32::new(0);
    NAMES.fetch_add(1, Ordering::Relaxed) + 1
}

/// Slots for an event of the calling thread that is no call; `None` where it is lost; the loss is
/// counted.
pub fn reserve_here(global: &'static Global, recorder: &Recorder, count: usize) -> Option<Slots> {
    // SAFETY: until the end of this function, only the recorder is called.
    let thread = match unsafe { thread::current(global) } {
        Some(thread) if !thread.busy => thread,
        _ => {
            recorder.lose(Lost::NotReady);
            return None;
        }
    };
    let idle = thread.depth == 0;
    reserve(thread, recorder, count, idle)
}

/// Generation in which each function's record was written.
static NAMED: [AtomicU32; 2048] = [const { AtomicU32::new(0) }; 2048];

/// Writes a function's record, if this process's trace does not have it yet.
#[inline(always)]
pub fn named(global: &Global, recorder: &Recorder, id: u16) {
    let known = NAMED
        .get(usize::from(id))
        .is_some_and(|named| named.load(Ordering::Relaxed) == global.generation);
    if !known {
        name_function(global, recorder, id);
    }
}

#[cold]
fn name_function(global: &Global, recorder: &Recorder, id: u16) {
    if let Some(function) = cushim_abi::function(id) {
        let record = Api::encode(id, function.name, function.class.name(), &function.spec());
        if recorder.write_meta(&record)
            && let Some(named) = NAMED.get(usize::from(id))
        {
            named.store(global.generation, Ordering::Relaxed);
        }
    }
}

/// Slots of the thread's buffer; `idle`: the thread is in no recorded call.
#[inline(always)]
pub fn reserve(
    thread: &mut Thread,
    recorder: &Recorder,
    count: usize,
    idle: bool,
) -> Option<Slots> {
    thread.busy = true;
    let slots = match &mut thread.buffer {
        Some(buffer) => buffer.reserve(recorder, count, idle),
        None => reserve_anew(thread, recorder, count),
    };
    thread.busy = false;
    slots
}

/// The thread got no buffer when it began: perhaps it gets one now.
#[cold]
fn reserve_anew(thread: &mut Thread, recorder: &Recorder, count: usize) -> Option<Slots> {
    thread.buffer = recorder.attach(thread::id());
    if thread.buffer.is_none() {
        recorder.lose(Lost::NotReady);
    }
    thread.buffer.as_mut()?.reserve(recorder, count, true)
}
