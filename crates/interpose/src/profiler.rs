//! Handlers of `cudaProfilerStart`, `cudaProfilerStop` and the driver's, by which a program selects what is recorded.
//!
//! Must not know: what else a window depends on.

use crate::life;
use crate::observe;
use crate::record::slots::MOST_WORDS;
use crate::site::Site;

type Fn0 = unsafe extern "C-unwind" fn() -> i32;

/// `cudaProfilerStart`, `cuProfilerStart`: opens a window between profiler calls.
pub unsafe fn profiler_start(site: &'static Site, real: Fn0) -> i32 {
    let status = observed(site, real);
    switch(true);
    status
}

/// `cudaProfilerStop`, `cuProfilerStop`: closes it.
pub unsafe fn profiler_stop(site: &'static Site, real: Fn0) -> i32 {
    switch(false);
    observed(site, real)
}

/// Independent of the call's status (it fails with an attached profiler and does nothing without
/// one): the program has marked its range.
fn switch(open: bool) {
    if let Some(global) = life::global() {
        global.window.range(open);
    }
}

fn observed(site: &'static Site, real: Fn0) -> i32 {
    let here = 0u8;
    // SAFETY: a call without arguments.
    let call = unsafe { observe::begin(site, (&raw const here).addr(), [0; MOST_WORDS], 0) };
    // SAFETY: forwarded as it came.
    let status = unsafe { real() };
    if let Some(call) = call {
        observe::end(call, status, [None; MOST_WORDS]);
    }
    status
}
