//! One user of LLVM at a time, and none when the process ends.
//!
//! Owns who works with the library: one thread of one process. A process that was forked meanwhile has no such thread, and
//! asks nothing of the library. When a process ends, the library's own destructors must not run beside a thread that is in
//! it: the end waits for that thread, which has bounded work. Must not know the library's functions.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// The process whose thread works, or 0.
static OWNER: AtomicI32 = AtomicI32::new(0);
static ENDING: AtomicBool = AtomicBool::new(false);
/// How long the end of a process waits at most.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(1);

/// The right to use the library, given back when it is dropped.
pub(super) struct Turn(());

impl Turn {
    /// Waits for the thread that has it.
    ///
    /// # Errors
    /// Why nobody gets it any more.
    pub(super) fn wait() -> Result<Turn, String> {
        let own = process();
        loop {
            match OWNER.compare_exchange(0, own, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => break,
                Err(other) if other == own => std::thread::sleep(PAUSE),
                Err(_) => return Err("the process was forked while LLVM worked".into()),
            }
        }
        let turn = Turn(());
        match ENDING.load(Ordering::SeqCst) {
            true => Err("the process ends".into()),
            false => Ok(turn),
        }
    }

    /// The library was opened in this turn: from now on the end of the process waits. Destructors run in the opposite order
    /// of their registration, so this one runs before the library's.
    pub(super) fn opened(&self) {
        // SAFETY: a function of this library without arguments, which stays.
        unsafe { libc::atexit(ends) };
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        OWNER.store(0, Ordering::SeqCst);
    }
}

fn process() -> i32 {
    std::process::id() as i32
}

extern "C" fn ends() {
    ENDING.store(true, Ordering::SeqCst);
    let since = Instant::now();
    while OWNER.load(Ordering::SeqCst) == process() && since.elapsed() < PATIENCE {
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_at_a_time() {
        let first = Turn::wait().unwrap();
        let other = std::thread::spawn(|| {
            let _turn = Turn::wait().unwrap();
            OWNER.load(Ordering::SeqCst)
        });
        std::thread::sleep(5 * PAUSE);
        assert!(!other.is_finished());
        drop(first);
        assert_eq!(other.join().unwrap(), process());
        assert_eq!(OWNER.load(Ordering::SeqCst), 0);
    }
}
