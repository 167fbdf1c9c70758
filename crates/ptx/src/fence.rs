//! The processor instructions that fences need.
//!
//! Owns which fences need an instruction; the interpreter and the compiler ask here. Must not know how either emits
//! one. Source: PTX ISA 9, "Memory Consistency Model" and "membar / fence"; Intel's manual, volume 3, 10.2.
//!
//! x86-64 keeps all accesses of a thread in order, with one exception: a later load may execute before other threads
//! see an earlier store. So each load is an acquire, each store a release, and a fence weaker than `.sc` only forbids
//! the compiler to move accesses across it.

use crate::sem::{Fence, Scope};

/// Whether a fence needs one of the processor: `fence.sc` (and `membar`, which is the same),
/// of which all threads of its scope see one order.
///
/// That of scope `.cta` does not: one thread of the process runs all of a block, and sees its own accesses in order.
pub fn is_total(fence: Fence) -> bool {
    matches!(fence, Fence::Sequential(scope) if scope != Scope::Cta)
}
