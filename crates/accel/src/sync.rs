//! The synchronisation primitives of signals and queues.
//!
//! Owns the choice, and nothing else: `tests/queue_model.rs` compiles the same files with loom's, to try every
//! interleaving of threads. Must not know: who waits for what.

pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
pub use std::sync::{Condvar, Mutex, MutexGuard};

/// How often a thread polls before it sleeps; `times` where that is useful.
pub const fn looks(times: usize) -> usize {
    times
}

/// Bytes of a thread's stack, as in the standard library.
const STACK: usize = 2 << 20;

/// Starts a thread; false where the system has none.
///
/// It does not use the standard library, whose threads begin by registering a thread-local
/// destructor, which takes the loader's lock. A program may hold that lock while it waits for this
/// thread: in constructors and destructors of a library, in dlopen and dlclose.
pub fn thread(name: &str, body: impl FnOnce() + Send + 'static) -> bool {
    /// The name, cut to the kernel's limit, and the function to run.
    struct Start {
        name: [u8; 16],
        body: Box<dyn FnOnce() + Send>,
    }

    extern "C" fn run(start: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: the box that was passed below, to this thread alone.
        let start = unsafe { Box::from_raw(start.cast::<Start>()) };
        // SAFETY: a string with its NUL.
        unsafe { libc::prctl(libc::PR_SET_NAME, start.name.as_ptr()) };
        // A panic ends the thread, as in the standard library.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(start.body));
        std::ptr::null_mut()
    }

    let mut short = [0; 16];
    for (to, from) in short.iter_mut().zip(name.bytes().take(15)) {
        *to = from;
    }
    let start = Box::into_raw(Box::new(Start { name: short, body: Box::new(body) }));
    // SAFETY: attributes that are made before they are used and given back; a function that stays, as
    // libvcuda.so is never unloaded; a box that the thread takes, or nobody.
    unsafe {
        let mut attributes = std::mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setstacksize(&raw mut attributes, STACK);
        libc::pthread_attr_setdetachstate(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
        let mut thread = std::mem::zeroed();
        let made = libc::pthread_create(&raw mut thread, &raw const attributes, run, start.cast());
        libc::pthread_attr_destroy(&raw mut attributes);
        if made != 0 {
            drop(Box::from_raw(start));
        }
        made == 0
    }
}
