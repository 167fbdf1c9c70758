//! Larger stacks for code that needs more than its thread has.
//!
//! Quickly compiled code gives each value its own stack slot, which takes megabytes for kernels of thousands of
//! instructions; a thread may have less. Owns the choice of the stack on which code runs. Must not know: code.

use std::ptr::null_mut;

/// Code that uses at most so many bytes runs on its thread's stack, which may be a small one of the program.
const OWN: u32 = 256 << 10;
/// Besides, for helpers and for handlers of signals.
const MORE: usize = 1 << 20;
/// The size of the guard area below, in bytes.
const GUARD: usize = 64 << 10;

/// A separate stack, or none.
pub(super) struct Stack(Option<(*mut libc::c_void, usize)>);

// SAFETY: whoever has it uses its memory alone, whichever thread that is.
unsafe impl Send for Stack {}

impl Stack {
    /// The thread's own stack.
    pub(super) const NONE: Stack = Stack(None);

    /// A new one for code that uses so many bytes; `None` if the system has no memory for it.
    pub(super) fn new(bytes: u32) -> Option<Stack> {
        let size = (bytes as usize + MORE + GUARD).next_multiple_of(GUARD);
        let (read, write) = (libc::PROT_READ, libc::PROT_WRITE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        // SAFETY: a fresh anonymous mapping touches no memory in use.
        let base = unsafe { libc::mmap(null_mut(), size, read | write, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return None;
        }
        let stack = Stack(Some((base, size)));
        // SAFETY: the begin of the mapping made above.
        let guarded = unsafe { libc::mprotect(base, GUARD, libc::PROT_NONE) } == 0;
        guarded.then_some(stack)
    }

    /// Where it begins, a multiple of 16; 0 for that of the thread.
    pub(super) fn top(&self) -> u64 {
        self.0.map_or(0, |(base, size)| base as u64 + size as u64)
    }

    /// Whether code that uses so many bytes may run on a stack for code that uses `first`, 0 for the thread's own.
    pub(super) fn takes(first: u32, bytes: u32) -> bool {
        bytes <= first.max(OWN)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        if let Some((base, size)) = self.0 {
            // SAFETY: the mapping is ours, and no code runs on it any more.
            unsafe { libc::munmap(base, size) };
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_has_its_bytes() {
        assert_eq!(Stack::NONE.top(), 0);
        let stack = Stack::new(OWN + 1).unwrap();
        let (top, size) = (stack.top(), OWN as usize + 1 + MORE);
        assert!(top != 0 && top.is_multiple_of(16));
        // SAFETY: inside of the stack, which nobody else uses.
        unsafe {
            *(top as *mut u8).sub(1) = 1;
            *(top as *mut u8).sub(size) = 1;
        }
        assert!(
            Stack::takes(0, OWN) && !Stack::takes(0, OWN + 1) && Stack::takes(OWN + 1, OWN + 1)
        );
    }
}
