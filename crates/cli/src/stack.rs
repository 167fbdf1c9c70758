//! A larger stack, if the process was given a small one (`ulimit -s 64`).
//!
//! Parsing a command line alone needs more. The started program keeps its limit, and this process keeps its one
//! thread, which receives the signals (see `launch::signals`). Must not know: what runs on it.

use std::ptr;

/// Enough for all commands; pages take memory only once they are used.
const SIZE: usize = 8 << 20;
/// Bytes that stay zero at its end: code that walks up the stack takes them for the caller's frame,
/// and ends at a return address of zero.
const END: usize = 16 << 10;

/// Runs `work`, on another stack where this one has less than [`SIZE`] bytes.
pub fn enough<R>(work: impl FnOnce() -> R) -> R {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid place for the answer.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) } == 0;
    if !known || limit.rlim_cur >= SIZE as u64 {
        return work();
    }
    let (access, how) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK,
    );
    // SAFETY: new memory at a place that the system chooses; never unmapped.
    let stack = unsafe { libc::mmap(ptr::null_mut(), SIZE, access, how, -1, 0) };
    if stack == libc::MAP_FAILED {
        return work();
    }
    on(stack, work)
}

/// The work for the other stack, and its result.
struct Errand<W, R> {
    work: Option<W>,
    result: Option<std::thread::Result<R>>,
}

fn on<R, W: FnOnce() -> R>(stack: *mut libc::c_void, work: W) -> R {
    extern "C" fn run<R, W: FnOnce() -> R>(errand: *mut Errand<W, R>) {
        // SAFETY: the errand of `on`, which waits.
        let errand = unsafe { &mut *errand };
        // A panic must not unwind from one stack to the other.
        let work = errand.work.take();
        errand.result =
            work.map(|work| std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)));
    }
    let mut errand = Errand { work: Some(work), result: None };
    // SAFETY: `stack` has SIZE bytes, END less is aligned to a page, and the call pushes its return address below that. The
    // stack pointer is kept in a register that the called function preserves.
    unsafe {
        std::arch::asm!(
            "mov r12, rsp",
            "mov rsp, {top}",
            "call {run}",
            "mov rsp, r12",
            top = in(reg) stack.byte_add(SIZE - END),
            run = in(reg) run::<R, W> as extern "C" fn(*mut Errand<W, R>),
            in("rdi") &raw mut errand,
            out("r12") _,
            clobber_abi("C"),
        );
    }
    match errand.result {
        Some(Ok(result)) => result,
        Some(Err(panic)) => std::panic::resume_unwind(panic),
        None => std::process::abort(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_runs_elsewhere_and_comes_back() {
        let here = 0u8;
        // SAFETY: new memory, as in `enough`.
        let stack = unsafe { libc::mmap(ptr::null_mut(), SIZE, 3, 0x22, -1, 0) };
        let inside = on(stack, || {
            let there = [0u8; 1 << 20];
            (std::hint::black_box(&there).as_ptr().addr(), vec![1, 2, 3])
        });
        assert!((stack.addr()..stack.addr() + SIZE).contains(&inside.0));
        assert!(!(stack.addr()..stack.addr() + SIZE).contains(&(&raw const here).addr()));
        assert_eq!(inside.1, [1, 2, 3]);
        assert!(std::panic::catch_unwind(|| on(stack, || panic!("on purpose"))).is_err());
    }
}
