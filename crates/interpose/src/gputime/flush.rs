//! Fetches GPU times periodically while the program runs, and at exit.
//!
//! CUPTI delivers only full buffers by itself, even if given a period (cupti_activity.h, `cuptiActivityFlushPeriod`),
//! and an event's time must be queried; a killed process would lose thousands of times. So a thread fetches them. It
//! is cushim's only thread, and exists only with `--gpu-time`.
//!
//! Must not know: where times come from.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::life::{self, Global};

/// How long the thread sleeps by default: a killed process loses the times of that span.
pub const PERIOD: Duration = Duration::from_millis(100);
/// How many milliseconds the end of the process waits for a round under way.
const WAITS: u32 = 2000;

/// Fetches what there is; the argument says whether it is the last time. Returns when to call
/// again.
pub type Round = fn(bool) -> Duration;

/// The [`Round`], and the function to call after the last one.
static ROUND: AtomicUsize = AtomicUsize::new(0);
static FINISH: AtomicUsize = AtomicUsize::new(0);
/// The process that it runs in.
static OWNER: AtomicUsize = AtomicUsize::new(0);
/// A thread is in it.
static FETCHING: AtomicBool = AtomicBool::new(false);
static OVER: AtomicBool = AtomicBool::new(false);

/// Whether times are fetched in this process, and not in one that it was forked from.
pub fn is_here(global: &Global) -> bool {
    OWNER.load(Ordering::Acquire) == std::ptr::from_ref(global).addr()
}

/// Starts running `round`, and `finish` after the last one, when the process ends through `exit`.
/// Call once, where CUDA is initialised, so that the last round comes before the driver is torn
/// down.
pub fn start(global: &Global, round: Round, finish: fn()) {
    ROUND.store(round as usize, Ordering::Release);
    at_end(global, finish);
    let name = std::thread::Builder::new().name("cushim-gpu-time".to_owned()).stack_size(256 << 10);
    // SAFETY: a full signal set, and a place for the thread's own, which is restored: none of the
    // program's handlers may run on the new thread.
    unsafe {
        let (mut all, mut own) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut own);
        // Without a thread, the records are read when the process ends.
        let _ = name.spawn(again_and_again);
        libc::pthread_sigmask(libc::SIG_SETMASK, &own, std::ptr::null_mut());
    }
}

/// Has `finish` run when this process ends through `exit`; there may be nothing to fetch. Where
/// both this and [`start`] were called, the later registration runs first, and the other finds
/// nothing left to do.
pub fn at_end(global: &Global, finish: fn()) {
    OWNER.store(std::ptr::from_ref(global).addr(), Ordering::Release);
    FINISH.store(finish as usize, Ordering::Release);
    // SAFETY: a function of this signature; unloading an object does not call it earlier.
    unsafe { __cxa_atexit(at_exit, std::ptr::null_mut(), std::ptr::null_mut()) };
}

unsafe extern "C" {
    fn __cxa_atexit(run: extern "C" fn(*mut c_void), data: *mut c_void, object: *mut c_void)
    -> i32;
}

extern "C" fn at_exit(_: *mut c_void) {
    static DONE: AtomicBool = AtomicBool::new(false);
    // A forked child has no such thread and no CUDA.
    if !life::current().is_some_and(is_here) || DONE.swap(true, Ordering::AcqRel) {
        return;
    }
    last();
    let finish = FINISH.load(Ordering::Acquire);
    if finish != 0 {
        // SAFETY: a function of this type was stored there.
        unsafe { std::mem::transmute::<usize, fn()>(finish)() };
    }
}

fn again_and_again() {
    let mut period = PERIOD;
    loop {
        std::thread::sleep(period);
        if FETCHING.swap(true, Ordering::SeqCst) {
            continue;
        }
        let over = OVER.load(Ordering::SeqCst);
        if !over {
            period = round(false);
        }
        FETCHING.store(false, Ordering::SeqCst);
        if over {
            return;
        }
    }
}

/// The process ends: fetches all that there is, and nothing after that.
fn last() {
    OVER.store(true, Ordering::SeqCst);
    for _ in 0..WAITS {
        if !FETCHING.swap(true, Ordering::SeqCst) {
            round(true);
            FETCHING.store(false, Ordering::SeqCst);
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn round(is_last: bool) -> Duration {
    let round = ROUND.load(Ordering::Acquire);
    if round == 0 {
        return PERIOD;
    }
    // SAFETY: a function of this type was stored there.
    unsafe { std::mem::transmute::<usize, Round>(round)(is_last) }
}
