//! A larger stack for work for which the program's thread may have too little.
//!
//! Owns the choice of the thread. Must not know: the work.

use std::thread::{Builder, scope};

/// Threads with less stack than this hand the work over. Measured: the compiler needs 100 KiB and more.
const ENOUGH: usize = 2 << 20;
/// Stack of the thread that does it instead.
const ROOM: usize = 16 << 20;

/// Does `work` here, or, if this thread was given a small stack, on a thread made for it, which runs no signal
/// handler of the program; here after all where the system has no thread.
pub fn roomy<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if size().is_none_or(|size| size >= ENOUGH) {
        return work();
    }
    let mut work = Some(work);
    let mut done = None;
    let (left, place) = (&mut work, &mut done);
    let body = move || {
        if let Some(work) = left.take() {
            *place = Some(work());
        }
    };
    scope(|all| {
        // Joined at the end of the scope; a panic there is propagated here.
        let thread = Builder::new().name("cuda-compile".into()).stack_size(ROOM);
        masked(|| drop(thread.spawn_scoped(all, body)));
    });
    match (done, work) {
        (Some(done), _) => done,
        (None, Some(work)) => work(),
        (None, None) => unreachable!("a panic of the work ends the scope by a panic"),
    }
}

/// Bytes of this thread's stack; `None` if unknown or unlimited.
fn size() -> Option<usize> {
    // SAFETY: numbers, and attributes that are written before they are read and given back once.
    unsafe {
        if libc::gettid() == libc::getpid() {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            let known = libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) == 0;
            return known.then_some(usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX));
        }
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let mut size = 0;
        let known = libc::pthread_attr_getstacksize(&raw const attributes, &raw mut size) == 0;
        libc::pthread_attr_destroy(&raw mut attributes);
        known.then_some(size)
    }
}

/// Runs `work` with every signal blocked, which new threads inherit.
fn masked(work: impl FnOnce()) {
    // SAFETY: both sets are written before they are read; the mask of this thread is put back.
    unsafe {
        let (mut all, mut old) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
        work();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Uses stack that the optimiser cannot remove.
    fn deep(bytes: usize) -> u64 {
        let mut block = [1u8; 4096];
        std::hint::black_box(&mut block);
        let below = if bytes > block.len() { deep(bytes - block.len()) } else { 0 };
        below + u64::from(std::hint::black_box(block).first().copied().unwrap_or_default())
    }

    #[test]
    fn a_thread_with_a_small_stack_gets_room() {
        let there = |stack| {
            let thread = Builder::new().stack_size(stack);
            let work = || {
                let own = std::thread::current().id();
                let (sum, other) = roomy(|| (deep(1 << 20), std::thread::current().id()));
                (sum, own == other)
            };
            thread.spawn(work).unwrap().join().unwrap()
        };
        assert_eq!(there(32 << 10), (256, false));
        assert_eq!(there(8 << 20), (256, true));
    }
}
