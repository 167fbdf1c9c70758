//! Having CUPTI hand over what it has: again and again, and at the end.
//!
//! By itself CUPTI hands over full buffers only, also where it was given a period (cupti_activity.h,
//! `cuptiActivityFlushPeriod`); a process that is killed would lose thousands of records. So a thread asks
//! for buffers whose records are complete, as that header advises. It is the only thread of ours, and there
//! is none without `--gpu-time`.
//!
//! Must not know: what a record holds.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// So often: what a killed process loses.
const PERIOD: Duration = Duration::from_millis(100);
/// `CUPTI_ACTIVITY_FLAG_FLUSH_FORCED`.
const FORCED: u32 = 1;
/// So many times a millisecond the end waits for a flush that is under way.
const WAITS: u32 = 2000;

/// `cuptiActivityFlushAll`.
static FLUSH: AtomicUsize = AtomicUsize::new(0);
/// Somebody is in it.
static FLUSHING: AtomicBool = AtomicBool::new(false);
static OVER: AtomicBool = AtomicBool::new(false);

/// From now on records are asked for, by `flush_all`.
pub fn start(flush_all: usize) {
    FLUSH.store(flush_all, Ordering::Release);
    let name = std::thread::Builder::new().name("cushim-gpu-time".to_owned()).stack_size(256 << 10);
    // SAFETY: a full set, and a place for the thread's own, which is put back: no handler of the program's
    // is to run on the new thread.
    unsafe {
        let (mut all, mut own) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut own);
        // Without a thread there is still the end.
        let _ = name.spawn(again_and_again);
        libc::pthread_sigmask(libc::SIG_SETMASK, &own, std::ptr::null_mut());
    }
}

fn again_and_again() {
    loop {
        std::thread::sleep(PERIOD);
        if FLUSHING.swap(true, Ordering::SeqCst) {
            continue;
        }
        let over = OVER.load(Ordering::SeqCst);
        if !over {
            flush(0);
        }
        FLUSHING.store(false, Ordering::SeqCst);
        if over {
            return;
        }
    }
}

/// The process ends: all that there is, and no more after that.
pub fn last() {
    OVER.store(true, Ordering::SeqCst);
    for _ in 0..WAITS {
        if !FLUSHING.swap(true, Ordering::SeqCst) {
            flush(FORCED);
            FLUSHING.store(false, Ordering::SeqCst);
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn flush(flag: u32) {
    let flush = FLUSH.load(Ordering::Acquire);
    if flush != 0 {
        // SAFETY: the signature of cuptiActivityFlushAll; its library stays loaded.
        unsafe {
            let flush: unsafe extern "C" fn(u32) -> i32 = std::mem::transmute::<usize, _>(flush);
            flush(flag);
        }
    }
}
