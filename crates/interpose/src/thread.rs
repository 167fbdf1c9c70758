//! Per-thread state: nesting depth of recorded calls, buffer, current context.
//!
//! The slot is thread-local in the initial-exec model (measured: 1.7 ns per access, 3.7 for Rust's thread_local in a
//! cdylib); a preloaded library always gets such a slot. The state behind it is created on first use and released by
//! a pthread key's destructor.
//!
//! Must not know: what is recorded.

use std::arch::{asm, global_asm};
use std::sync::atomic::{AtomicI64, Ordering};

use cushim_trace::recorder::Buffer;

use crate::state::{self, Global};

/// Deepest nesting that is followed; deeper calls pass through uncounted.
const DEEPEST: usize = 8;

/// The verified context in which a thread's runtime launches.
#[derive(Clone, Copy, Default)]
pub struct Verified {
    /// The context.
    pub context: usize,
    /// The generation in which it was verified.
    pub generation: u32,
    /// The runtime's device, where it has to be checked.
    pub device: i32,
}

/// A thread's state.
pub struct Thread {
    /// The process state that `buffer` belongs to; another one after a fork.
    pub global: *const Global,
    /// Where this thread's events go.
    pub buffer: Option<Buffer>,
    /// While set, a hook that is entered (by a signal handler, or because we called something that is
    /// hooked) passes straight through.
    pub busy: bool,
    /// How many recorded calls this thread is in.
    pub depth: u8,
    /// Whether the outermost of them is recorded: those inside follow it.
    pub recorded: bool,
    /// Stack pointers of those calls' hooks.
    frames: [usize; DEEPEST],
    /// Bit n: call n is one of libomptarget, which calls CUDA as a program does.
    above: u8,
    /// The current context, as far as it was observed.
    pub context: usize,
    /// The link of the call that the thread is in, 0 for none ([`crate::gputime`]).
    pub link: u64,
    /// The context in which the thread's runtime launches ([`crate::direct`]).
    pub verified: Verified,
    /// The event pair of the launch that the thread is in, 0 for none.
    pub pair: u32,
    /// Ranges of the program's own that are open.
    pub ranges: crate::ranges::Open,
}

global_asm!(
    ".pushsection .tbss.cushim_thread,\"awT\",@nobits",
    ".p2align 3",
    ".globl cushim_thread",
    ".hidden cushim_thread",
    ".type cushim_thread,@object",
    ".size cushim_thread,8",
    "cushim_thread: .zero 8",
    ".popsection",
);

/// The calling thread's slot.
#[inline(always)]
fn slot() -> *mut *mut Thread {
    let slot: *mut *mut Thread;
    // SAFETY: reads the thread pointer and the slot's offset from it; changes nothing.
    unsafe {
        asm!(
            "mov {slot}, qword ptr fs:[0]",
            "add {slot}, qword ptr [rip + cushim_thread@GOTTPOFF]",
            slot = out(reg) slot,
            options(pure, readonly, nostack),
        );
    }
    slot
}

/// The calling thread's state, if it has one.
///
/// # Safety
/// The reference is the only one: the caller drops it before it calls this or [`current`]
/// again, and before it runs anything that may (foreign code, whose calls enter the hooks).
#[inline(always)]
pub unsafe fn current_if_any() -> Option<&'static mut Thread> {
    // SAFETY: the slot is this thread's; what it points to is this thread's alone, made by `make` and there until
    // `leave`, and nobody else refers to it, as the caller promises.
    unsafe { (*slot()).as_mut() }
}

/// The link of the call that the calling thread is in, 0 for none. May be called inside any call.
pub fn link() -> u64 {
    // SAFETY: the slot is this thread's; what it points to is there until `leave`. Read without a reference, as
    // there may be one further up.
    unsafe {
        let thread = *slot();
        if thread.is_null() { 0 } else { (&raw const (*thread).link).read() }
    }
}

/// The calling thread's state for `global`, made where there is none.
///
/// # Safety
/// As of [`current_if_any`].
#[allow(clippy::mut_from_ref)] // The state is the thread's, not part of `global`.
#[inline(always)]
pub unsafe fn current(global: &'static Global) -> Option<&'static mut Thread> {
    // SAFETY: as the caller promises; this reference ends before `make` takes one.
    match unsafe { current_if_any() } {
        Some(thread) if std::ptr::eq(thread.global, global) => Some(thread),
        _ => make(global),
    }
}

#[allow(clippy::mut_from_ref)] // The state is the thread's, not part of `global`.
#[cold]
fn make(global: &'static Global) -> Option<&'static mut Thread> {
    // SAFETY: as the caller of `current` promises; this reference ends before the next one below.
    if let Some(thread) = unsafe { current_if_any() } {
        if thread.busy {
            return None;
        }
        // After a fork: the old buffer belongs to the parent's file.
        std::mem::forget(thread.buffer.take());
        thread.global = global;
        thread.depth = 0;
        thread.link = 0;
        thread.verified = Default::default();
        thread.pair = 0;
        thread.ranges.forget();
    } else {
        let thread = Box::into_raw(Box::new(Thread {
            global,
            buffer: None,
            busy: false,
            depth: 0,
            recorded: true,
            frames: [0; DEEPEST],
            above: 0,
            context: 0,
            link: 0,
            verified: Default::default(),
            pair: 0,
            ranges: Default::default(),
        }));
        // SAFETY: the slot is this thread's.
        unsafe { *slot() = thread };
        at_thread_exit(thread);
    }
    // SAFETY: as the caller promises; it is the only reference from here on.
    let thread = unsafe { current_if_any() }?;
    thread.busy = true;
    thread.buffer = global.recorder.as_ref().and_then(|r| r.attach(id()));
    thread.busy = false;
    Some(thread)
}

/// The kernel's number of the calling thread.
pub fn id() -> u32 {
    // SAFETY: gettid has no preconditions.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Has [`leave`] called with `thread` when this thread ends.
fn at_thread_exit(thread: *mut Thread) {
    static KEY: AtomicI64 = AtomicI64::new(-1);
    let mut key = KEY.load(Ordering::Acquire);
    if key < 0 {
        let mut fresh: libc::pthread_key_t = 0;
        // SAFETY: `fresh` is a valid place; `leave` has the signature of a destructor.
        if unsafe { libc::pthread_key_create(&mut fresh, Some(leave)) } != 0 {
            return;
        }
        key = match KEY.compare_exchange(-1, fresh.into(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh.into(),
            Err(earlier) => {
                // SAFETY: nobody else knows this key.
                unsafe { libc::pthread_key_delete(fresh) };
                earlier
            }
        };
    }
    // SAFETY: the key exists. A failure (no memory) leaks one buffer at thread exit.
    unsafe { libc::pthread_setspecific(key as libc::pthread_key_t, thread.cast()) };
}

/// The thread ends: its buffer goes to the next thread. A later call of it makes a new state.
unsafe extern "C" fn leave(thread: *mut libc::c_void) {
    // SAFETY: made by `make` with `Box::into_raw`, given back once.
    let mut thread = unsafe { Box::from_raw(thread.cast::<Thread>()) };
    // SAFETY: the slot is this thread's.
    unsafe { *slot() = std::ptr::null_mut() };
    let Some(buffer) = thread.buffer.take() else { return };
    match state::current() {
        Some(global) if std::ptr::eq(thread.global, global) => {
            if let Some(recorder) = &global.recorder {
                recorder.detach(buffer);
            }
        }
        _ => std::mem::forget(buffer),
    }
}

impl Thread {
    /// Whether a hook is open further up the stack than `stack`. Frames that a longjmp or an exception
    /// left behind are dropped: a live enclosing frame is always further up.
    #[inline(always)]
    pub fn is_inside(&mut self, stack: usize) -> bool {
        while let Some(outer) = self.frames.get(usize::from(self.depth).wrapping_sub(1)) {
            if *outer > stack {
                return true;
            }
            self.depth -= 1;
        }
        false
    }

    /// As [`Thread::is_inside`], but for hooks of libomptarget.
    pub fn is_inside_cuda(&mut self, stack: usize) -> bool {
        self.is_inside(stack) && u32::from(self.above).trailing_ones() < u32::from(self.depth)
    }

    /// Enters a hook whose frame is at `stack`, after [`Thread::is_inside`]; returns its depth, or
    /// `None` where that is too deep. `above`: it is one of libomptarget's.
    #[inline(always)]
    pub fn enter(&mut self, stack: usize, above: bool) -> Option<u8> {
        let depth = self.depth;
        *self.frames.get_mut(usize::from(depth))? = stack;
        self.above = self.above & !(1 << depth) | u8::from(above) << depth;
        self.depth = depth + 1;
        Some(depth)
    }

    /// As [`Thread::enter`] where no hook is open.
    #[inline(always)]
    pub fn enter_first(&mut self, stack: usize, above: bool) {
        let [first, ..] = &mut self.frames;
        *first = stack;
        self.above = above.into();
        self.depth = 1;
    }

    /// Leaves the hook that entered at `depth`.
    #[inline(always)]
    pub fn leave(&mut self, depth: u8) {
        self.depth = depth;
    }
}
