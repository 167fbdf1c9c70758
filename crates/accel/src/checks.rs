//! Who hears what the driver and the runtime above know of a program that is checked.
//!
//! Owns the trait, and who it is in this process: nobody, unless the program runs under checks. Must not know what is
//! looked for.

use std::backtrace::Backtrace;
use std::sync::{Arc, OnceLock};

/// A place in the program: the stack of a thread that called CUDA.
pub type Trail = Arc<Stack>;

/// A thread's stack.
#[derive(Debug)]
pub struct Stack {
    /// All of it.
    pub native: Backtrace,
    /// Of a program in Python, what Python says of it.
    pub python: Option<String>,
}

/// Hears of calls.
pub trait Checks: Send + Sync {
    /// Where the program calls from; `None` where nobody wants to know.
    fn here(&self) -> Option<Trail>;
    /// A call of this thread fails with an error, which has a name.
    fn failed(&self, error: i32, name: &str);
    /// This thread asks for its last error, or for name or text of one.
    fn looked(&self);
    /// A copy or a set is refused: of `bytes` from `address` on, not all are in the allocation that begins there.
    fn beyond(&self, address: u64, bytes: u64);
    /// What is to be freed is no allocation's first address.
    fn not_freed(&self, address: u64);
    /// An allocation goes with its context: the program has not freed it.
    fn abandoned(&self, address: u64);
    /// Memory is written in a way that is not told otherwise, or counts as written from now on.
    fn written(&self, address: u64, bytes: u64);
    /// The program frees an allocation that goes when a stream gets there.
    fn freed_later(&self, address: u64);
    /// Whether each allocation is to have memory of its own, that nothing had before it for a while.
    fn keeps_apart(&self) -> bool;
    /// The process ends in order.
    fn end(&self);
}

static CHECKS: OnceLock<Arc<dyn Checks>> = OnceLock::new();

/// Who hears of calls from now on; the first one stays.
pub fn check_with(checks: Arc<dyn Checks>) {
    let _ = CHECKS.set(checks);
}

/// Who hears of calls, if the program is checked.
#[inline]
pub fn checks() -> Option<&'static dyn Checks> {
    CHECKS.get().map(|checks| &**checks)
}
