//! The page that a fork clears, and the lock on it.
//!
//! A child process (also one made by a raw `clone`, for which glibc runs no fork handlers) must not write into its
//! parent's trace, nor find a lock held by a thread that it does not have. So all state that must be fresh in a child
//! is on one page that the kernel clears there (`MADV_WIPEONFORK`, Linux 4.14).

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use cushim_process::table::Writer;

/// State that a forked child starts without.
pub struct Page {
    /// The state of this process, null before first use. It is of the type that [`crate::state`] says.
    pub global: AtomicPtr<()>,
    /// 1 while a thread initialises.
    pub starting: AtomicU32,
    /// The registry's lock.
    registry: AtomicU32,
}

static PAGE: AtomicPtr<Page> = AtomicPtr::new(ptr::null_mut());

/// The page, if it exists yet.
#[inline(always)]
pub fn page_if_any() -> Option<&'static Page> {
    // SAFETY: null, or a mapping that is never unmapped, valid as zeroes.
    unsafe { PAGE.load(Ordering::Acquire).as_ref() }
}

/// The page; `None` only where the system gives no memory.
pub fn page() -> Option<&'static Page> {
    if let Some(page) = page_if_any() {
        return Some(page);
    }
    const SIZE: usize = 4096;
    // SAFETY: a new anonymous mapping.
    let fresh = unsafe {
        libc::mmap(
            ptr::null_mut(),
            SIZE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if fresh == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the mapping above. Where the kernel cannot wipe, `life` registers a fork handler.
    let wiped = unsafe { libc::madvise(fresh, SIZE, libc::MADV_WIPEONFORK) } == 0;
    match PAGE.compare_exchange(ptr::null_mut(), fresh.cast(), Ordering::AcqRel, Ordering::Acquire)
    {
        Ok(_) if !wiped => {
            // SAFETY: `forget` is async-signal-safe: it stores three words.
            unsafe { libc::pthread_atfork(None, None, Some(forget)) };
        }
        Ok(_) => {}
        Err(_) => {
            // SAFETY: nobody has seen this mapping.
            unsafe { libc::munmap(fresh, SIZE) };
        }
    }
    page_if_any()
}

/// Wipes the page in a child, where the kernel did not.
extern "C" fn forget() {
    if let Some(page) = page_if_any() {
        page.global.store(ptr::null_mut(), Ordering::Release);
        page.starting.store(0, Ordering::Release);
        page.registry.store(0, Ordering::Release);
    }
}

/// Spins until `word` goes from 0 to 1; gives up after about a second, so that no program hangs.
pub fn acquire(word: &AtomicU32) -> bool {
    for tries in 0u32..2_000_000 {
        if word.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return true;
        }
        if tries > 100 {
            // SAFETY: no preconditions.
            unsafe { libc::sched_yield() };
        } else {
            std::hint::spin_loop();
        }
    }
    false
}

/// Proof that this thread holds the registry's lock, and alone changes the tables.
pub struct Held {
    /// The writer of the tables that the lock guards.
    pub tables: Writer,
}

/// Runs `work` with the registry's lock held; `None` if it could not be had. `work` must not call
/// anything that may take the lock.
pub fn registry<R>(work: impl FnOnce(&mut Held) -> R) -> Option<R> {
    struct Release(&'static AtomicU32);
    impl Drop for Release {
        fn drop(&mut self) {
            self.0.store(0, Ordering::Release);
        }
    }
    let word = &page()?.registry;
    if !acquire(word) {
        return None;
    }
    let _release = Release(word);
    // SAFETY: the lock is held until `work` is over, and guards all tables of this crate.
    Some(work(&mut Held { tables: unsafe { Writer::new() } }))
}
