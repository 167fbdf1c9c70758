//! Whether the driver may be called: initialised, not in a forked child, not after exit.
//!
//! Owns the accelerator and what every entry point checks first. Nothing is torn down at exit: threads
//! of queues run until the process ends, and calls answer. Must not know: what is called.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock};

use super::status;
use crate::accelerator::{Accelerator, mock};
use crate::backend::{self, Backend};
use crate::locks::lock;

static ACCELERATOR: OnceLock<Box<dyn Accelerator>> = OnceLock::new();
/// A byte on a page that the kernel wipes in a child process; 1 where the driver is initialised.
static ALIVE: AtomicPtr<AtomicU8> = AtomicPtr::new(std::ptr::null_mut());
static EXITED: AtomicBool = AtomicBool::new(false);
static START: Mutex<()> = Mutex::new(());

/// The accelerator below, by the backend: the CPU's, or the mock's.
pub fn accelerator() -> &'static dyn Accelerator {
    &**ACCELERATOR.get_or_init(|| match backend::chosen() {
        Some(Backend::Mock | Backend::Cpu | Backend::Driver) | None => Box::new(mock::new()),
    })
}

/// Whether a call may go on.
///
/// # Errors
/// CUDA_ERROR_NOT_INITIALIZED before `cuInit` and in a forked child, CUDA_ERROR_DEINITIALIZED after exit.
#[inline]
pub fn check() -> Result<(), i32> {
    if EXITED.load(Ordering::Relaxed) {
        return Err(status::DEINITIALIZED);
    }
    let alive = ALIVE.load(Ordering::Acquire);
    // SAFETY: null, or a byte that is there for ever.
    match unsafe { alive.as_ref() } {
        Some(alive) if alive.load(Ordering::Relaxed) == 1 => Ok(()),
        _ => Err(status::NOT_INITIALIZED),
    }
}

/// Initialises, once.
///
/// # Errors
/// As [`check`], in a child of a process that was initialised and after exit.
pub fn start() -> Result<(), i32> {
    if !ALIVE.load(Ordering::Acquire).is_null() || EXITED.load(Ordering::Relaxed) {
        return check();
    }
    let _one = lock(&START);
    if !ALIVE.load(Ordering::Acquire).is_null() {
        return check();
    }
    accelerator();
    let alive = page().ok_or(status::OUT_OF_MEMORY)?;
    // SAFETY: `exited` may be called at any time.
    unsafe { libc::atexit(exited) };
    alive.store(1, Ordering::Relaxed);
    ALIVE.store(std::ptr::from_ref(alive).cast_mut(), Ordering::Release);
    Ok(())
}

extern "C" fn exited() {
    EXITED.store(true, Ordering::Relaxed);
}

extern "C" fn forked() {
    let alive = ALIVE.load(Ordering::Acquire);
    // SAFETY: null, or a byte that is there for ever.
    if let Some(alive) = unsafe { alive.as_ref() } {
        alive.store(0, Ordering::Relaxed);
    }
}

/// A byte that is zero in every child process.
fn page() -> Option<&'static AtomicU8> {
    let page = cushim_process::memory::pages(4096)?;
    // SAFETY: a whole page of ours. Where the kernel does not know the advice (before 4.14), a handler
    // does it for children of fork().
    unsafe {
        if libc::madvise(page.cast(), 4096, libc::MADV_WIPEONFORK) != 0 {
            libc::pthread_atfork(None, None, Some(forked));
        }
        Some(AtomicU8::from_ptr(page))
    }
}

/// What an entry point answers: 0, or the code of what went wrong. No panic of ours crosses into the
/// program.
#[inline]
pub fn answer(body: impl FnOnce() -> Result<(), i32>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code,
        Err(_) => status::UNKNOWN,
    }
}

/// Stores a result where the program asked for it; the place need not be aligned.
///
/// # Safety
/// `to` is null or has room for a `T`.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE for null.
#[inline]
pub unsafe fn give<T>(to: *mut T, value: T) -> Result<(), i32> {
    if to.is_null() {
        return Err(status::INVALID_VALUE);
    }
    // SAFETY: not null, so it has room.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// As [`give`], where the program need not ask.
///
/// # Safety
/// `to` is null or has room for a `T`.
#[inline]
pub unsafe fn offer<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: not null, so it has room.
        unsafe { to.write_unaligned(value) };
    }
}
