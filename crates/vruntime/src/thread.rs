//! The runtime's per-thread data: the device, whether its context is ready, the last error.
//!
//! Owns the slot, not its meaning ([`super::context`], [`super::error`]). The slot is thread-local in the
//! initial-exec model, because every call reads it (measured in the preloaded library: 1.7 ns per access, 3.7 for
//! Rust's `thread_local!` in a cdylib); all zeros is a new thread.

use std::arch::{asm, global_asm};
use std::cell::Cell;

/// A thread's state; all zeros before its first call.
#[repr(C)]
pub struct Thread {
    /// The value of [`super::context`]'s epoch for which the thread's context is ready; 0 for none.
    pub epoch: Cell<u32>,
    /// The thread's device, set by cudaSetDevice.
    pub device: Cell<i32>,
    /// Whether the device was chosen but its context is not current yet.
    pub chosen: Cell<bool>,
    /// cudaGetLastError's.
    pub error: Cell<i32>,
}

const _: () = assert!(size_of::<Thread>() == 16);

global_asm!(
    ".pushsection .tbss.vcuda_thread,\"awT\",@nobits",
    ".p2align 3",
    ".globl vcuda_thread",
    ".hidden vcuda_thread",
    ".type vcuda_thread,@object",
    ".size vcuda_thread,16",
    "vcuda_thread: .zero 16",
    ".popsection",
);

/// The calling thread's state. It is `!Sync`, so it cannot be passed to another thread.
#[inline(always)]
pub fn state() -> &'static Thread {
    let slot: *const Thread;
    // SAFETY: reads the thread pointer and the slot's offset from it; changes nothing.
    unsafe {
        asm!(
            "mov {slot}, qword ptr fs:[0]",
            "add {slot}, qword ptr [rip + vcuda_thread@GOTTPOFF]",
            slot = out(reg) slot,
            options(pure, readonly, nostack),
        );
    }
    // SAFETY: this thread's slot, valid as long as the thread, only read and written by it.
    unsafe { &*slot }
}
