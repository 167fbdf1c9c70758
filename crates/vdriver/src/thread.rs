//! What the driver keeps for a thread, up to the thread's very end.
//!
//! Owns the place and when it goes. CUDA answers in destructors of a thread's objects and of its keys, and
//! in exit handlers, which run after the destructors of the main thread's objects: so the place is no
//! object of the thread's with a destructor, but the value of a key, which goes in the last round of the
//! keys' destructors. Of the thread that ends the process it never goes. Must not know: what the driver
//! does with what is here.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::context::Context;
use super::handle::Mix;
use super::stream::Stream;

/// What is kept.
#[derive(Default)]
pub struct Thread {
    /// The current context, and those below it.
    pub contexts: RefCell<Vec<Arc<Context>>>,
    /// The thread's default streams, by context.
    pub streams: RefCell<HashMap<u64, Arc<Stream>, Mix>>,
    /// How often the key's destructor has run.
    rounds: Cell<u32>,
}

/// glibc's rounds of the destructors of keys (`PTHREAD_DESTRUCTOR_ITERATIONS`, limits.h).
const ROUNDS: u32 = 4;

thread_local! {
    // Without a destructor: it can be read as long as the thread runs.
    static PLACE: Cell<*const Thread> = const { Cell::new(std::ptr::null()) };
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.streams.borrow().values().for_each(|stream| stream.abandon());
    }
}

/// Gives what is kept for the calling thread.
#[inline]
pub fn with<R>(ask: impl FnOnce(&Thread) -> R) -> R {
    let place = PLACE.get();
    let place = if place.is_null() { make() } else { place };
    // SAFETY: made by `make` on this thread, and freed by `ended`, which runs on it and not in `ask`.
    ask(unsafe { &*place })
}

#[cold]
fn make() -> *const Thread {
    let place = Box::into_raw(Box::<Thread>::default());
    PLACE.set(place);
    if let Some(key) = key() {
        // SAFETY: a key that is never deleted. Where there is no memory for its value, the place stays for ever.
        unsafe { libc::pthread_setspecific(key, place.cast()) };
    }
    place
}

/// The key whose values the places are; `None` where the process has no keys left: then they stay for ever.
fn key() -> Option<libc::pthread_key_t> {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: a place for a key, and a function that stays: libvcuda.so is never unloaded.
        let made = unsafe { libc::pthread_key_create(&raw mut key, Some(ended)) };
        (made == 0).then_some(key)
    })
}

/// Runs when the thread ends: frees the place in the last round, as other destructors may still call.
unsafe extern "C" fn ended(place: *mut libc::c_void) {
    let place = place.cast::<Thread>();
    // SAFETY: the value that `make` set.
    let rounds = unsafe { &(*place).rounds };
    rounds.set(rounds.get() + 1);
    if rounds.get() < ROUNDS
        && let Some(key) = key()
        // SAFETY: a key of ours, and the value that its destructor frees.
        && unsafe { libc::pthread_setspecific(key, place.cast()) } == 0
    {
        return;
    }
    PLACE.set(std::ptr::null());
    // SAFETY: made by a Box, and nowhere any more.
    drop(unsafe { Box::from_raw(place) });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// What the destructors of a thread found at their time.
    static FOUND: AtomicUsize = AtomicUsize::new(0);

    fn look() {
        let same = with(|thread| thread.contexts.borrow().len()) == 1;
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
        let context = Context::create(0, 0, false);
        let mut key = 0;
        // SAFETY: a place for a key.
        assert_eq!(unsafe { libc::pthread_key_create(&raw mut key, Some(gone)) }, 0);
        let own = context.clone();
        let thread = std::thread::spawn(move || {
            // Made before the place, so that it goes after a place that were an object of the thread.
            OBJECT.with(|_| ());
            with(|thread| thread.contexts.borrow_mut().push(own));
            // SAFETY: the key just made; any value but null.
            unsafe { libc::pthread_setspecific(key, std::ptr::dangling_mut()) };
        });
        assert!(thread.join().is_ok());
        assert_eq!(FOUND.load(Ordering::Relaxed), 2, "the object's and the key's destructor");
        // And then it is freed: what is left is this one's and that of the table of handles.
        assert_eq!(Arc::strong_count(&context), 2);
        super::super::context::CONTEXTS.remove(context.handle());
    }
}
