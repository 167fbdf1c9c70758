//! Contexts: the current one of a thread, the objects of a context, and its sticky error.
//!
//! Owns the per-thread stack of contexts and its rules, primary contexts, and the sticky error. The API functions are
//! in [`super::context_api`]. Must not know: what streams and memory do.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::LocalKey;

use super::handle::{self, Handles, Mix};
use super::state::{accelerator, check};
use super::status;
use super::stream::{Stream, Streams};
use super::thread::{self, Kept, Place};
use cushim_accel::Failure;
use cushim_accel::locks::lock;

/// A context.
pub struct Context {
    /// The number of its device.
    pub device: usize,
    /// Unique in the process; never 0.
    pub id: u64,
    /// The one that `cuDevicePrimaryCtxRetain` gives.
    pub primary: bool,
    /// `CU_CTX_*`.
    pub flags: AtomicU32,
    /// Its streams and their order.
    pub streams: Streams,
    /// Its settings.
    pub settings: Mutex<Settings>,
    /// Uses counted by `cuCtxAttach`, beside the creator's.
    pub attached: AtomicU32,
    destroyed: AtomicBool,
    sticky: AtomicI32,
}

/// The settings of `cuCtxSetLimit` and the like.
#[derive(Debug)]
pub struct Settings {
    /// By `CUlimit`.
    pub limits: [usize; 6],
    /// `CUfunc_cache`.
    pub cache: i32,
    /// `CUsharedconfig`.
    pub shared: i32,
    /// Devices whose memory this context may use.
    pub peers: Vec<usize>,
}

/// The initial limits (H200): bytes of a thread's stack, of printf's buffer and of the kernels'
/// heap; one that later devices no longer have; pending launches; bytes that L2 fetches at a time.
const LIMITS: [usize; 6] = [1024, 0x84_0000, 8 << 20, 0, 2048, 64];

impl Default for Settings {
    fn default() -> Self {
        Settings { limits: LIMITS, cache: 0, shared: 0, peers: Vec::new() }
    }
}

/// Contexts by handle.
pub static CONTEXTS: Handles<Context> = Handles::new();

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Context {
    /// A new one, with a handle.
    pub fn create(device: usize, flags: u32, primary: bool) -> Arc<Context> {
        let context = Arc::new_cyclic(|weak| Context {
            device,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            primary,
            flags: AtomicU32::new(flags),
            streams: Streams::new(weak.clone()),
            settings: Mutex::default(),
            attached: AtomicU32::new(1),
            destroyed: AtomicBool::new(primary),
            sticky: AtomicI32::new(0),
        });
        CONTEXTS.add(context.clone());
        context
    }

    /// Its handle.
    pub fn handle(self: &Arc<Self>) -> usize {
        handle::handle(self)
    }

    /// Whether calls in it may proceed.
    ///
    /// # Errors
    /// CUDA_ERROR_CONTEXT_IS_DESTROYED, or the code of the work that failed in it.
    #[inline]
    pub fn healthy(&self) -> Result<(), i32> {
        if self.destroyed.load(Ordering::Acquire) {
            return Err(status::CONTEXT_IS_DESTROYED);
        }
        match self.sticky.load(Ordering::Acquire) {
            0 => Ok(()),
            code => {
                // The kernel's output before its failure is printed, too.
                accelerator().flush_output();
                Err(code)
            }
        }
    }

    /// Whether it was destroyed; for a primary one, whether it is not retained.
    pub fn is_destroyed(&self) -> bool {
        self.destroyed.load(Ordering::Acquire)
    }

    /// Makes a primary context usable again.
    pub fn activate(&self) {
        *lock(&self.settings) = Settings::default();
        self.sticky.store(0, Ordering::Release);
        self.destroyed.store(false, Ordering::Release);
    }

    /// Ends it. Its resources were freed before.
    pub fn deactivate(&self) {
        self.destroyed.store(true, Ordering::Release);
    }

    /// Notes that work in it has failed: every later call returns the error. Says what failed,
    /// once.
    pub fn fail(&self, failure: &Failure) {
        let code = status::sticky(failure);
        let first =
            self.sticky.compare_exchange(0, code, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if first {
            let name = cushim_abi::errors::driver_error_name(code).unwrap_or("an error");
            cushim_accel::say(&format!("{name}: {failure}"));
        }
    }
}

/// What the driver keeps for a thread.
#[derive(Default)]
pub struct Thread {
    /// The current context, and those below it.
    pub contexts: RefCell<Vec<Arc<Context>>>,
    /// The thread's default streams, by context.
    pub streams: RefCell<HashMap<u64, Arc<Stream>, Mix>>,
}

thread_local! {
    static PLACE: Cell<*const Place<Thread>> = const { Cell::new(std::ptr::null()) };
}
static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();

// SAFETY: made for it, above; nothing else uses them.
unsafe impl Kept for Thread {
    fn place() -> &'static LocalKey<Cell<*const Place<Thread>>> {
        &PLACE
    }
    fn key() -> &'static OnceLock<Option<libc::pthread_key_t>> {
        &KEY
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.streams.borrow().values().for_each(|stream| stream.abandon());
    }
}

/// The context that is current on this thread.
///
/// # Errors
/// CUDA_ERROR_NOT_INITIALIZED before `cuInit` and in a forked child, CUDA_ERROR_DEINITIALIZED after exit,
/// CUDA_ERROR_INVALID_CONTEXT without one, CUDA_ERROR_CONTEXT_IS_DESTROYED, and the error of a context
/// in which work has failed.
#[inline]
pub fn current() -> Result<Arc<Context>, i32> {
    check()?;
    let context = top().ok_or(status::INVALID_CONTEXT)?;
    context.healthy()?;
    Ok(context)
}

/// As [`current`], for functions that free: freeing null needs no context (H200).
///
/// # Errors
/// Those of [`current`].
pub fn current_to_free(address: cushim_abi::types::Ptr) -> Result<(), i32> {
    match current() {
        Err(status::INVALID_CONTEXT) if address.0 == 0 => Ok(()),
        other => other.map(drop),
    }
}

/// The context that is current on this thread, usable or not.
pub fn top() -> Option<Arc<Context>> {
    thread::with(|thread: &Thread| thread.contexts.borrow().last().cloned())
}

/// Changes the stack of this thread.
pub fn with_stack<R>(change: impl FnOnce(&mut Vec<Arc<Context>>) -> R) -> R {
    thread::with(|thread: &Thread| change(&mut thread.contexts.borrow_mut()))
}

/// The context of a handle that a function was given; 0 is the current one.
///
/// # Errors
/// CUDA_ERROR_INVALID_CONTEXT.
pub fn of(handle: usize) -> Result<Arc<Context>, i32> {
    match handle {
        0 => current(),
        _ => CONTEXTS.get(handle).ok_or(status::INVALID_CONTEXT),
    }
}

/// The primary context of a device and how often it is retained.
pub struct Primary {
    /// The context, which never changes.
    pub context: Arc<Context>,
    /// How often it was retained.
    pub retained: Mutex<u32>,
}

/// The primary context of a device.
///
/// # Errors
/// CUDA_ERROR_INVALID_DEVICE.
pub fn primary(device: i32) -> Result<&'static Primary, i32> {
    static ALL: OnceLock<Vec<Primary>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let make =
            |device| Primary { context: Context::create(device, 0, true), retained: Mutex::new(0) };
        (0..accelerator().devices().len()).map(make).collect()
    });
    let device = usize::try_from(device).map_err(|_| status::INVALID_DEVICE)?;
    all.get(device).ok_or(status::INVALID_DEVICE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_is_the_one_that_is_told() {
        let context = Context::create(0, 0, false);
        assert_eq!(context.healthy(), Ok(()));
        context.fail(&Failure::Assert("first".into()));
        context.fail(&Failure::InvalidAddress(16));
        assert_eq!(context.healthy(), Err(status::ASSERT));
        context.deactivate();
        assert_eq!(context.healthy(), Err(status::CONTEXT_IS_DESTROYED));
        context.activate();
        assert_eq!(context.healthy(), Ok(()));
        CONTEXTS.remove(context.handle());
    }
}
