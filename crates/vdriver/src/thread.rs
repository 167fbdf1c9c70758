//! Per-thread storage that lives until the thread's very end.
//!
//! Owns the storage and when it is freed. CUDA calls work in destructors of a thread's objects and keys, and in exit
//! handlers, which run after the destructors of the main thread's objects. So the storage is not a thread-local
//! object with a destructor, but the value of a pthread key, freed in the last round of the keys' destructors. The
//! storage of the thread that ends the process is never freed. Must not know: what is stored.

use std::cell::Cell;
use std::sync::OnceLock;
use std::thread::LocalKey;

/// A type of per-thread data, and the key whose destructor frees it.
///
/// # Safety
/// Both are this type's own, and nothing but this module uses them.
pub unsafe trait Kept: Default + 'static {
    /// The thread's pointer to its data. It has no destructor, so that it can be read as long as
    /// the thread runs.
    fn place() -> &'static LocalKey<Cell<*const Place<Self>>>;
    /// The key that holds these pointers; `None` inside where the process has no keys left: then
    /// they are never freed.
    fn key() -> &'static OnceLock<Option<libc::pthread_key_t>>;
}

/// A thread's data.
#[derive(Default)]
pub struct Place<T> {
    kept: T,
    /// How often the key's destructor has run.
    rounds: Cell<u32>,
}

/// glibc's rounds of the destructors of keys (`PTHREAD_DESTRUCTOR_ITERATIONS`, limits.h).
const ROUNDS: u32 = 4;

/// Calls `ask` with the calling thread's data.
#[inline]
pub fn with<T: Kept, R>(ask: impl FnOnce(&T) -> R) -> R {
    let place = T::place().get();
    let place = if place.is_null() { make::<T>() } else { place };
    // SAFETY: made by `make` on this thread, and freed by `ended`, which runs on it and not in `ask`.
    ask(unsafe { &(*place).kept })
}

#[cold]
fn make<T: Kept>() -> *const Place<T> {
    let place = Box::into_raw(Box::<Place<T>>::default());
    T::place().set(place);
    if let Some(key) = key::<T>() {
        // SAFETY: a key that is never deleted. Where there is no memory for its value, the data is
        // never freed.
        unsafe { libc::pthread_setspecific(key, place.cast()) };
    }
    place
}

fn key<T: Kept>() -> Option<libc::pthread_key_t> {
    *T::key().get_or_init(|| {
        let mut key = 0;
        // SAFETY: a place for a key, and a function that stays: libvcuda.so is never unloaded.
        let made = unsafe { libc::pthread_key_create(&raw mut key, Some(ended::<T>)) };
        (made == 0).then_some(key)
    })
}

/// Runs when the thread ends: frees the storage in the last round, because other destructors may still make calls.
unsafe extern "C" fn ended<T: Kept>(place: *mut libc::c_void) {
    let place = place.cast::<Place<T>>();
    // SAFETY: the value that `make` set.
    let rounds = unsafe { &(*place).rounds };
    rounds.set(rounds.get() + 1);
    if rounds.get() < ROUNDS
        && let Some(key) = key::<T>()
        // SAFETY: a key of ours, and the value that its destructor frees.
        && unsafe { libc::pthread_setspecific(key, place.cast()) } == 0
    {
        return;
    }
    T::place().set(std::ptr::null());
    // SAFETY: made by a Box, and no longer referenced.
    drop(unsafe { Box::from_raw(place) });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Default)]
    struct Thread {
        things: RefCell<Vec<Arc<()>>>,
    }

    thread_local! {
        static PLACE: Cell<*const Place<Thread>> = const { Cell::new(std::ptr::null()) };
    }
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();

    // SAFETY: made for it, above.
    unsafe impl Kept for Thread {
        fn place() -> &'static LocalKey<Cell<*const Place<Thread>>> {
            &PLACE
        }
        fn key() -> &'static OnceLock<Option<libc::pthread_key_t>> {
            &KEY
        }
    }

    /// What the destructors of a thread found.
    static FOUND: AtomicUsize = AtomicUsize::new(0);

    fn look() {
        let same = with(|thread: &Thread| thread.things.borrow().len()) == 1;
        FOUND.fetch_add(usize::from(same), Ordering::Relaxed);
    }

    struct Object;
    impl Drop for Object {
        fn drop(&mut self) {
            look();
        }
    }
    thread_local! {
        static OBJECT: Object = const { Object };
    }

    unsafe extern "C" fn gone(_: *mut libc::c_void) {
        look();
    }

    #[test]
    fn a_thread_keeps_its_place_until_its_last_destructor() {
        let thing = Arc::new(());
        let mut key = 0;
        // SAFETY: a place for a key.
        assert_eq!(unsafe { libc::pthread_key_create(&raw mut key, Some(gone)) }, 0);
        let own = thing.clone();
        let thread = std::thread::spawn(move || {
            // Made before the data, so that it would be destroyed after thread-local data.
            OBJECT.with(|_| ());
            with(|thread: &Thread| thread.things.borrow_mut().push(own));
            // SAFETY: the key just made; any value but null.
            unsafe { libc::pthread_setspecific(key, std::ptr::dangling_mut()) };
        });
        assert!(thread.join().is_ok());
        assert_eq!(FOUND.load(Ordering::Relaxed), 2, "the object's and the key's destructor");
        // Afterwards it is freed: the only reference left is this one.
        assert_eq!(Arc::strong_count(&thing), 1);
    }
}
