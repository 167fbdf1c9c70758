//! Scoped threads: they end before what they borrow does.
//!
//! Owns starting and joining them, without the standard library: its threads start with an object that has a
//! destructor, and registering that takes the loader's lock, which a program may hold while it waits for a kernel (in
//! dlclose, in constructors and destructors of libraries). Must not know: what they do.

use std::marker::PhantomData;
use std::sync::Mutex;

/// Where threads are started: all have ended when [`scope`] returns.
pub struct Scope<'s, 'e: 's> {
    running: Mutex<Vec<libc::pthread_t>>,
    /// As in the standard library: neither lifetime can be shortened or lengthened.
    lives: PhantomData<(&'s mut &'s (), &'e mut &'e ())>,
}

type Body<'s> = Box<dyn FnOnce() + Send + 's>;

/// Runs `work`, which may start threads, and waits for their ends.
pub fn scope<'e>(work: impl for<'s> FnOnce(&'s Scope<'s, 'e>)) {
    let scope = Scope { running: Mutex::default(), lives: PhantomData };
    // Also where `work` panics.
    let _joined = Joined(&scope);
    work(&scope);
}

struct Joined<'a, 's, 'e>(&'a Scope<'s, 'e>);

impl Drop for Joined<'_, '_, '_> {
    fn drop(&mut self) {
        // A thread that ends may have started others.
        loop {
            // The list is not locked while a thread is waited for.
            let next = self.0.list().pop();
            let Some(thread) = next else { return };
            // SAFETY: a thread that was started and is only joined here.
            unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
        }
    }
}

impl<'s, 'e> Scope<'s, 'e> {
    fn list(&self) -> std::sync::MutexGuard<'_, Vec<libc::pthread_t>> {
        self.running.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Starts a thread, if the system has one.
    pub fn start(&'s self, body: impl FnOnce() + Send + 's) {
        extern "C" fn run(start: *mut libc::c_void) -> *mut libc::c_void {
            // SAFETY: the box that was passed below, to this thread alone.
            let body = unsafe { Box::from_raw(start.cast::<Body<'_>>()) };
            // SAFETY: a string with its NUL.
            unsafe { libc::prctl(libc::PR_SET_NAME, c"gpu".as_ptr()) };
            // A panic ends the thread alone.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            std::ptr::null_mut()
        }
        let start = Box::into_raw(Box::new(Box::new(body) as Body<'s>));
        let mut list = self.list();
        // SAFETY: a function that stays as long as the thread, which ends before `scope` returns and what the body
        // borrows goes; a box that the thread takes, or nobody.
        unsafe {
            let mut thread = std::mem::zeroed();
            let none = std::ptr::null();
            match libc::pthread_create(&raw mut thread, none, run, start.cast()) {
                0 => list.push(thread),
                _ => drop(Box::from_raw(start)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn all_have_ended_also_those_that_threads_start() {
        let count = AtomicU32::new(0);
        let add = || {
            count.fetch_add(1, Ordering::Relaxed);
        };
        for _ in 0..20 {
            scope(|scope| {
                for _ in 0..5 {
                    scope.start(move || {
                        std::thread::sleep(std::time::Duration::from_millis(1));
                        scope.start(add);
                        add();
                    });
                }
            });
        }
        assert_eq!(count.load(Ordering::Relaxed), 200);
    }
}
