//! The observer to which driver and runtime report events of a checked program.
//!
//! Owns the trait, and the process's one observer: none, unless the program runs under checks. Must not know what the
//! checks are.

use std::backtrace::Backtrace;
use std::sync::{Arc, OnceLock};

/// The host stack of a CUDA call.
pub type Trail = Arc<Stack>;

/// A thread's stack.
#[derive(Debug)]
pub struct Stack {
    /// The native stack.
    pub native: Backtrace,
    /// For a program in Python, the stack as Python reports it.
    pub python: Option<String>,
}

/// A checker, which receives reports of calls.
pub trait Checks: Send + Sync {
    /// The stack that calls; `None` where it is not needed.
    fn here(&self) -> Option<Trail>;
    /// A call of this thread fails with an error, which has a name.
    fn failed(&self, error: i32, name: &str);
    /// This thread reads its last error, or the name or text of one.
    fn looked(&self);
    /// A copy or a memory set is refused: not all `bytes` from `address` on lie in one allocation.
    fn beyond(&self, address: u64, bytes: u64);
    /// The address to free is not the first one of an allocation.
    fn not_freed(&self, address: u64);
    /// An allocation ends with its context: the program has not freed it.
    fn abandoned(&self, address: u64);
    /// Memory is written without another report, or counts as written from now on.
    fn written(&self, address: u64, bytes: u64);
    /// The program frees an allocation in stream order.
    fn freed_later(&self, address: u64);
    /// Whether each allocation must have its own memory, not recently freed.
    fn keeps_apart(&self) -> bool;
    /// The process ends normally.
    fn end(&self);
}

static CHECKS: OnceLock<Arc<dyn Checks>> = OnceLock::new();

/// Sets the checker; only the first call counts.
pub fn check_with(checks: Arc<dyn Checks>) {
    let _ = CHECKS.set(checks);
}

/// The checker, if the program is checked.
#[inline]
pub fn checks() -> Option<&'static dyn Checks> {
    CHECKS.get().map(|checks| &**checks)
}
