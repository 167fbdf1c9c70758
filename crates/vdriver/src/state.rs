//! Whether the driver may be called: initialised, not in a forked child, not after exit.
//!
//! Owns the accelerator and the checks that every entry point makes first. Nothing is torn down at exit: threads of
//! queues run until the process ends, and calls still work. Must not know: what is called.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock};

use cushim_abi::types::Ptr;

use super::argument::Place;
use super::nothing::Nothing;
use super::status;
use cushim_accel::locks::lock;
use cushim_accel::{Accelerator, Sharing};
use cushim_vbase::code;

static MAKE: OnceLock<Make> = OnceLock::new();
static ACCELERATOR: OnceLock<Box<dyn Accelerator>> = OnceLock::new();
/// A byte on a page that the kernel zeroes in a child process; 1 where the driver is initialised.
static ALIVE: AtomicPtr<AtomicU8> = AtomicPtr::new(std::ptr::null_mut());
static EXITED: AtomicBool = AtomicBool::new(false);
static START: Mutex<()> = Mutex::new(());

/// Makes the accelerator that the driver uses.
pub type Make = fn() -> Box<dyn Accelerator>;

/// Sets the function that makes the driver's accelerator at the first use; only the first call
/// counts.
pub fn stand_on(make: Make) {
    let _ = MAKE.set(make);
}

/// The accelerator that the driver uses.
pub fn accelerator() -> &'static dyn Accelerator {
    &**ACCELERATOR.get_or_init(|| {
        let made: Box<dyn Accelerator> =
            MAKE.get().map_or_else(|| Box::new(Nothing) as _, |make| make());
        if let Some(magic) = made.own_images() {
            code::recognise(magic);
        }
        made
    })
}

/// The accelerator's interface for memory shared with other processes; `name` is the calling
/// function.
///
/// # Errors
/// CUDA_ERROR_NOT_SUPPORTED where it does not.
pub fn sharing(name: &'static str) -> Result<&'static dyn Sharing, i32> {
    accelerator().sharing().ok_or_else(|| {
        cushim_vbase::unsupported::note(name);
        status::NOT_SUPPORTED
    })
}

/// Whether a call may proceed.
///
/// # Errors
/// CUDA_ERROR_NOT_INITIALIZED before `cuInit` and in a forked child, CUDA_ERROR_DEINITIALIZED after exit,
/// CUDA_ERROR_NOT_PERMITTED in a function that a stream calls.
#[inline]
pub fn check() -> Result<(), i32> {
    if EXITED.load(Ordering::Relaxed) {
        return Err(status::DEINITIALIZED);
    }
    let alive = ALIVE.load(Ordering::Acquire);
    // SAFETY: null, or a byte that is there for ever.
    match unsafe { alive.as_ref() } {
        Some(_) if super::host::is_refusing() => Err(status::NOT_PERMITTED),
        Some(alive) if alive.load(Ordering::Relaxed) == 1 => Ok(()),
        _ => Err(status::NOT_INITIALIZED),
    }
}

/// Whether a call may proceed that needs no initialisation.
///
/// # Errors
/// CUDA_ERROR_DEINITIALIZED after exit (measured: names of errors are not available either).
pub fn not_over() -> Result<(), i32> {
    if EXITED.load(Ordering::Relaxed) { Err(status::DEINITIALIZED) } else { Ok(()) }
}

/// Initialises, once.
///
/// # Errors
/// As [`check`], in a child of a process that was initialised and after exit; CUDA_ERROR_NO_DEVICE.
pub fn start() -> Result<(), i32> {
    if !ALIVE.load(Ordering::Acquire).is_null() || EXITED.load(Ordering::Relaxed) {
        return check();
    }
    let _one = lock(&START);
    if !ALIVE.load(Ordering::Acquire).is_null() {
        return check();
    }
    stay_quiet();
    if accelerator().devices().is_empty() {
        return Err(status::NO_DEVICE);
    }
    let alive = page().ok_or(status::OUT_OF_MEMORY)?;
    // SAFETY: `exited` may be called at any time.
    unsafe { libc::atexit(exited) };
    alive.store(1, Ordering::Relaxed);
    ALIVE.store(std::ptr::from_ref(alive).cast_mut(), Ordering::Release);
    super::mark::leave();
    Ok(())
}

/// Reports a panic in this library in one line. The hook belongs to the shared library's copy of
/// the standard library, so a program in Rust keeps its own; panics of this crate's tests are shown
/// as usual.
fn stay_quiet() {
    if cfg!(test) {
        return;
    }
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| match panic.location() {
        Some(place) if place.file().contains("tests/") => before(panic),
        _ => {
            let text = panic.to_string().replace('\n', " ");
            cushim_accel::say(&format!("internal error in cushim: {text}"));
        }
    }));
}

extern "C" fn exited() {
    if let Some(checks) = cushim_accel::checks() {
        checks.end();
    }
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

/// The result of an entry point: 0, or an error code. No panic crosses into the program.
#[inline]
pub fn answer(body: impl FnOnce() -> Result<(), i32>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code,
        Err(_) => status::UNKNOWN,
    }
}

/// [`Place::give`].
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE for null.
#[inline]
pub fn give<T>(to: Place<T>, value: T) -> Result<(), i32> {
    to.give(value)
}

/// [`Place::offer`].
#[inline]
pub fn offer<T>(to: Place<T>, value: T) {
    to.offer(value);
}

/// An untyped pointer as a pointer for a result.
///
/// # Safety
/// It is null or has room for a `T` while the call lasts.
#[inline]
pub unsafe fn at<T>(address: Ptr) -> Place<T> {
    // SAFETY: null or room for a `T` while the call lasts, by the caller's promise.
    unsafe { Place::new(pointer(address)) }
}

/// A pointer without type as one to values of a type.
#[inline]
pub fn pointer<T>(address: Ptr) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address.0)
}

/// Reads a value, which need not be aligned.
///
/// # Safety
/// `from` is null or holds a `T` for which every bit pattern is a value.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE for null.
#[inline]
pub unsafe fn take<T>(from: Ptr) -> Result<T, i32> {
    let from = pointer::<T>(from);
    if from.is_null() {
        return Err(status::INVALID_VALUE);
    }
    // SAFETY: not null, so it holds one.
    Ok(unsafe { from.read_unaligned() })
}

/// Reads `count` values, which need not be aligned.
///
/// # Safety
/// `from` is null or holds as many `T`, for which every bit pattern is a value.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE for null, unless `count` is 0; CUDA_ERROR_OUT_OF_MEMORY.
pub unsafe fn take_all<T>(from: Ptr, count: usize) -> Result<Vec<T>, i32> {
    let from = pointer::<T>(from);
    if count > 0 && from.is_null() {
        return Err(status::INVALID_VALUE);
    }
    let mut all = Vec::new();
    // An absurd size must not end the process.
    all.try_reserve_exact(count).map_err(|_| status::OUT_OF_MEMORY)?;
    // SAFETY: not null, so it holds that many.
    all.extend((0..count).map(|index| unsafe { from.add(index).read_unaligned() }));
    Ok(all)
}
