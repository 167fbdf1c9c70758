//! The state that a traced process has once: what is recorded, and where to.
//!
//! Owns: the one pointer to it, on the page that a fork clears. Must not know: how it is created.

use std::sync::atomic::Ordering;

use cushim_trace::recorder::Recorder;

use crate::config::GpuTime;
use crate::keep;
use crate::lock::{self, Page};
use crate::window::Window;

/// The state of this process.
pub struct Global {
    /// Where events go; `None` where nothing is recorded.
    pub recorder: Option<Recorder>,
    /// Classes to record, as bits.
    pub classes: u32,
    /// Whether calls inside calls are recorded too.
    pub nested: bool,
    /// Whether GPU work is recorded by call.
    pub gpu_time: bool,
    /// The source of its times.
    pub gpu_time_by: GpuTime,
    /// When they are recorded.
    pub window: Window,
    /// Unique among a process and its forked children: records written to one trace must be written
    /// again to the next.
    pub generation: u32,
}

/// The state, if there is one yet.
#[inline(always)]
pub fn current() -> Option<&'static Global> {
    let global = lock::page_if_any()?.global.load(Ordering::Acquire);
    // SAFETY: null, or a state that [`publish`] has put there, for ever.
    unsafe { global.cast::<Global>().as_ref() }
}

/// Makes `global` this process's state.
pub fn publish(page: &Page, global: Global) {
    let global: *mut Global = keep::forever(global);
    page.global.store(global.cast(), Ordering::Release);
}
