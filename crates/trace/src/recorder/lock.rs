//! The lock of the recorder's cold part: it sleeps, and it gives up.
//!
//! Spinning starves the holder if there are many more threads than processors (500 threads on two busy ones: some
//! waited for longer than any limit). So a waiter sleeps in the kernel. Because tracing must never hang a process, it
//! gives up after a while, and much sooner if the waiter before it had to give up as well.
//!
//! Must not know: what is locked. A forked child has its own recorder, and so its own lock.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::clock;

/// How long a thread waits for the lock before it counts its event as lost, ns.
const PATIENCE_NS: u64 = 1_000_000_000;
/// The same after a thread gave up, until the lock is taken again, ns.
const IMPATIENCE_NS: u64 = 2_000_000;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Taken, and another thread may sleep on it.
const AWAITED: u32 = 2;

#[derive(Default)]
pub(super) struct Lock {
    word: AtomicU32,
    /// The last thread that waited gave up.
    hopeless: AtomicBool,
}

/// The lock is held as long as this.
pub(super) struct Held<'a>(&'a Lock);

impl Lock {
    /// `None` if it could not be had in reasonable time.
    pub fn acquire(&self) -> Option<Held<'_>> {
        for _ in 0..64 {
            let got = self.word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed);
            if got.is_ok() {
                return Some(self.held());
            }
            std::hint::spin_loop();
        }
        let patience =
            if self.hopeless.load(Ordering::Relaxed) { IMPATIENCE_NS } else { PATIENCE_NS };
        let until = clock::clock_ns(libc::CLOCK_MONOTONIC) + patience;
        while self.word.swap(AWAITED, Ordering::Acquire) != FREE {
            let now = clock::clock_ns(libc::CLOCK_MONOTONIC);
            if now >= until {
                self.hopeless.store(true, Ordering::Relaxed);
                return None;
            }
            let left = libc::timespec {
                tv_sec: ((until - now) / 1_000_000_000) as libc::time_t,
                tv_nsec: ((until - now) % 1_000_000_000) as libc::c_long,
            };
            // SAFETY: an aligned word of ours and a time; the word is checked whatever the call
            // returns.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.word.as_ptr(),
                    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                    AWAITED,
                    &raw const left,
                )
            };
        }
        Some(self.held())
    }

    fn held(&self) -> Held<'_> {
        if self.hopeless.load(Ordering::Relaxed) {
            self.hopeless.store(false, Ordering::Relaxed);
        }
        Held(self)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let word = &self.0.word;
        if word.swap(FREE, Ordering::Release) == AWAITED {
            // SAFETY: an aligned word of ours.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    word.as_ptr(),
                    libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                    1,
                )
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn one_at_a_time() {
        let (lock, count) = (Lock::default(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..50 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let held = lock.acquire().unwrap();
                        let before = count.load(Ordering::Relaxed);
                        std::hint::black_box(before);
                        count.store(before + 1, Ordering::Relaxed);
                        drop(held);
                    }
                });
            }
        });
        assert_eq!(count.load(Ordering::Relaxed), 10_000);
        assert_eq!(lock.word.load(Ordering::Relaxed), FREE);
    }

    #[test]
    fn who_waits_in_vain_gives_up() {
        let lock = Lock::default();
        let held = lock.acquire().unwrap();
        assert!(lock.acquire().is_none() && lock.acquire().is_none());
        assert!(lock.hopeless.load(Ordering::Relaxed));
        drop(held);
        assert!(lock.acquire().is_some() && !lock.hopeless.load(Ordering::Relaxed));
    }
}
