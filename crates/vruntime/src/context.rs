//! Makes a context current for every runtime call, without an explicit call of the program.
//!
//! Owns the runtime's implicit initialisation (CUDA Runtime API, "Interactions with the CUDA Driver API"): cuInit
//! once; the primary context of the thread's device, retained once for each device and made current; a context that
//! the program made current itself is used unchanged. The fast path reads one thread-local and one global word. If
//! the program has removed the context again, the driver's error shows it; no call tests for it in advance. Must not
//! know: what the calls do.
//!
//! At exit, the driver signals that it has shut down: NVIDIA's and cushim's register an exit handler at their cuInit.
//! From then on every call asks the driver first, because some could otherwise succeed from the runtime's own data.
//! So what counts is when the driver was initialised, by whomever (measured).
//!
//! A forked child inherits this state, and the driver's status is the result of every call there (NVIDIA's:
//! CUDA_ERROR_NOT_INITIALIZED, as under NVIDIA's runtime); there are no locks here, so nothing can hang. The child of
//! a process that had not used CUDA starts afresh.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering};

use cushim_abi::types::{Context, Device, Out, Status};

use super::error::{self, code};
use super::thread;
use cushim_vbase::api;

/// Changed whenever contexts that threads rely on may be gone; never 0.
static EPOCH: AtomicU32 = AtomicU32::new(1);
/// cuInit has succeeded.
static INITIALISED: AtomicBool = AtomicBool::new(false);
/// The process ends: the driver may have ended, or is about to.
static ENDING: AtomicBool = AtomicBool::new(false);
/// The number of devices, which stays available until the process ends; negative before cuInit.
static DEVICES: AtomicI32 = AtomicI32::new(-1);
/// The driver's version, likewise; 0 before cuInit.
static VERSION: AtomicI32 = AtomicI32::new(0);
/// The primary context of each device once it is retained; 0 before.
static PRIMARY: [AtomicUsize; 128] = [const { AtomicUsize::new(0) }; 128];

/// The driver's errors where the current context is missing, or is a primary one that was reset
/// (CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_CONTEXT_IS_DESTROYED).
const CONTEXT_GONE: [i32; 2] = [code::INVALID_CONTEXT, 709];

/// Makes sure that the calling thread has a current context.
///
/// # Errors
/// A `cudaError_t`, which is not yet the thread's last error: no driver, no device, or the
/// driver's.
#[inline(always)]
pub fn ready() -> Result<(), Status> {
    if thread::state().epoch.get() == EPOCH.load(Ordering::Relaxed) {
        return Ok(());
    }
    establish()
}

/// One driver call with a context current: `call` returns a `CUresult`, and is repeated if the
/// context turns out to be gone. Returns the `cudaError_t`, which is now also the thread's last
/// error.
#[inline(always)]
pub fn with(call: impl Fn() -> i32) -> Status {
    if let Err(error) = ready() {
        return error::failed(error);
    }
    let result = call();
    if result == 0 {
        return 0;
    }
    if CONTEXT_GONE.contains(&result) && again() {
        return error::returned(call());
    }
    error::returned(result)
}

/// As [`with`], for a step of a call: the last error does not change yet.
///
/// # Errors
/// The `cudaError_t`.
#[inline(always)]
pub fn attempt(call: impl Fn() -> i32) -> Result<(), Status> {
    ready()?;
    let mut result = call();
    if CONTEXT_GONE.contains(&result) && again() {
        result = call();
    }
    match result {
        0 => Ok(()),
        _ => Err(error::from_driver(result)),
    }
}

/// cuInit, once.
///
/// # Errors
/// A `cudaError_t`; cudaErrorInsufficientDriver where there is no driver at all.
pub fn init() -> Result<(), Status> {
    if INITIALISED.load(Ordering::Acquire) && !ENDING.load(Ordering::Acquire) {
        return Ok(());
    }
    // SAFETY: no pointers.
    let result = unsafe { api::cuInit(cushim_abi::types::Flags(0)) };
    if result == 0 {
        if !INITIALISED.swap(true, Ordering::AcqRel) {
            first();
        }
        return Ok(());
    }
    if result == code::UNLOADING {
        return Err(result);
    }
    let mut version = 0;
    // SAFETY: a place for an int.
    if unsafe { api::cuDriverGetVersion(Out(&mut version)) } != 0 {
        return Err(code::INSUFFICIENT_DRIVER);
    }
    Err(error::from_driver(result))
}

/// After the first cuInit: keeps what must be available until the process ends, and registers for
/// its end.
#[cold]
fn first() {
    let mut count = -1;
    // SAFETY: a place for an int; a function that stays, as libvcuda.so is never unloaded.
    unsafe {
        if api::cuDeviceGetCount(Out(&raw mut count)) == 0 {
            DEVICES.store(count, Ordering::Release);
        }
        let mut version = 0;
        if api::cuDriverGetVersion(Out(&raw mut version)) == 0 {
            VERSION.store(version, Ordering::Release);
        }
        libc::atexit(ending);
    }
    super::device::asked::learn(count);
}

/// The driver's version, available until the process ends; 0 where there is no driver.
pub fn driver_version() -> i32 {
    let mut version = 0;
    // SAFETY: a place for an int.
    match unsafe { api::cuDriverGetVersion(Out(&raw mut version)) } {
        0 => version,
        _ => VERSION.load(Ordering::Acquire),
    }
}

/// Runs before the driver's handler, which was registered first: every thread's next call checks
/// its context again.
extern "C" fn ending() {
    ENDING.store(true, Ordering::Release);
    next_epoch();
}

/// The calling thread's current context, 0 for none.
fn current() -> Result<usize, Status> {
    let mut context = Context(0);
    // SAFETY: a place for a handle.
    match unsafe { api::cuCtxGetCurrent(Out(&mut context)) } {
        0 => Ok(context.0),
        result => Err(error::from_driver(result)),
    }
}

/// The calling thread's current context, made current where there was none.
///
/// # Errors
/// As [`ready`].
pub fn current_context() -> Result<Context, Status> {
    ready()?;
    match current()? {
        0 => Err(code::INVALID_CONTEXT),
        handle => Ok(Context(handle)),
    }
}

/// The primary context of a device, retained at the first use.
///
/// # Errors
/// The driver's (no such device, no memory).
pub fn primary(device: i32) -> Result<Context, Status> {
    let slot = usize::try_from(device).ok().and_then(|device| PRIMARY.get(device));
    let known = slot.map_or(0, |slot| slot.load(Ordering::Acquire));
    if known != 0 {
        return Ok(Context(known));
    }
    let mut context = Context(0);
    // SAFETY: a place for a handle.
    let result = unsafe { api::cuDevicePrimaryCtxRetain(Out(&mut context), Device(device)) };
    if result != 0 {
        return Err(error::from_driver(result));
    }
    if let Some(slot) = slot
        && slot.compare_exchange(0, context.0, Ordering::AcqRel, Ordering::Acquire).is_err()
    {
        // Another thread retained it meanwhile: one count is enough.
        // SAFETY: no pointers.
        unsafe { api::cuDevicePrimaryCtxRelease_v2(Device(device)) };
    }
    Ok(context)
}

/// The slow path of a thread's first call, and of the first after [`forget`] and [`set_device`].
#[cold]
fn establish() -> Result<(), Status> {
    init()?;
    let thread = thread::state();
    let epoch = EPOCH.load(Ordering::Acquire);
    if thread.chosen.get() || current()? == 0 {
        make_current(primary(thread.device.get())?)?;
        thread.chosen.set(false);
    }
    // While the process ends, every call takes this path.
    thread.epoch.set(if ENDING.load(Ordering::Acquire) { 0 } else { epoch });
    Ok(())
}

fn make_current(context: Context) -> Result<(), Status> {
    // SAFETY: a context of this driver.
    match unsafe { api::cuCtxSetCurrent(context) } {
        0 => Ok(()),
        result => Err(error::from_driver(result)),
    }
}

/// After the driver reported that the context is gone: makes a context current again, if possible
/// and if it is the runtime's own. Returns whether to repeat the call.
#[cold]
fn again() -> bool {
    let thread = thread::state();
    let device = thread.device.get();
    let Ok(stale) = current() else { return false };
    if stale == 0 {
        return establish().is_ok();
    }
    // A primary context that was reset: retaining it initialises it again. A context that the
    // program destroyed is not replaced.
    forget(device);
    matches!(primary(device), Ok(fresh) if fresh.0 == stale && make_current(fresh).is_ok())
}

/// Call it when the primary context of a device was reset: every thread checks its context again.
pub fn forget(device: i32) {
    if let Some(slot) = usize::try_from(device).ok().and_then(|device| PRIMARY.get(device)) {
        let ended = slot.swap(0, Ordering::AcqRel);
        super::registry::table::forget(ended);
    }
    next_epoch();
}

fn next_epoch() {
    if EPOCH.fetch_add(1, Ordering::AcqRel) == u32::MAX {
        EPOCH.fetch_add(1, Ordering::AcqRel);
    }
}

/// Resets the primary context of the thread's device (cudaDeviceReset).
///
/// # Errors
/// What the driver said.
pub fn reset() -> Result<(), Status> {
    let device = current_device()?;
    // SAFETY: no pointers.
    let result = unsafe { api::cuDevicePrimaryCtxReset_v2(Device(device)) };
    if result != 0 {
        return Err(error::from_driver(result));
    }
    forget(device);
    let thread = thread::state();
    thread.device.set(device);
    thread.chosen.set(true);
    Ok(())
}

/// The number of devices; without any, the driver itself returns cudaErrorNoDevice.
///
/// # Errors
/// What the driver said.
pub fn devices() -> Result<i32, Status> {
    let known = DEVICES.load(Ordering::Acquire);
    if let Err(error) = init() {
        // The number is also known after CUDA has ended.
        return if error == code::UNLOADING && known >= 0 { Ok(known) } else { Err(error) };
    }
    let mut count = 0;
    // SAFETY: a place for an int.
    match unsafe { api::cuDeviceGetCount(Out(&mut count)) } {
        0 => Ok(count),
        result => Err(error::from_driver(result)),
    }
}

/// The calling thread's device: that of its current context, else the one it chose, else 0
/// (cudaGetDevice).
///
/// # Errors
/// What the driver said.
pub fn current_device() -> Result<i32, Status> {
    init()?;
    let thread = thread::state();
    if thread.chosen.get() || current()? == 0 {
        return Ok(thread.device.get());
    }
    let mut device = Device(0);
    // SAFETY: a place for a device.
    match unsafe { api::cuCtxGetDevice(Out(&mut device)) } {
        0 => Ok(device.0),
        // The current context is gone: the next call uses the primary context of the thread's device.
        _ => Ok(thread.device.get()),
    }
}

/// Chooses the calling thread's device; its primary context replaces the current context. At once
/// from CUDA 12 on, with the first call that needs it in 11 (release notes of 12.0, cudaSetDevice).
///
/// # Errors
/// cudaErrorInvalidDevice, what the driver said.
pub fn set_device<const MAJOR: usize>(device: i32) -> Result<(), Status> {
    if !(0..devices()?).contains(&device) {
        return Err(code::INVALID_DEVICE);
    }
    let thread = thread::state();
    let known = usize::try_from(device).ok().and_then(|device| PRIMARY.get(device));
    let known = known.map_or(0, |slot| slot.load(Ordering::Acquire));
    thread.device.set(device);
    let settled = known != 0 && current()? == known;
    thread.chosen.set(!settled);
    if settled {
        return Ok(());
    }
    thread.epoch.set(0);
    if MAJOR >= 12 { establish() } else { Ok(()) }
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
