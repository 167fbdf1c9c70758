//! Entry points for the driver of the backend `cpu`, where it counts what kernels do (`cushim profile -o`): it is in the same
//! process and finds them by name ([`cushim_abi::counted`]).

use cushim_abi::counted::Counted;
use cushim_interpose::{gputime, thread};

/// The number of the recorded call that the calling thread is in, 0 for none.
#[unsafe(no_mangle)]
extern "C" fn cushim_traced_call() -> u64 {
    thread::link()
}

/// Stores a launch's work in the trace.
///
/// # Safety
/// `work` is null or points to a launch that is there until this returns.
#[unsafe(no_mangle)]
unsafe extern "C" fn cushim_traced_work(work: *const Counted) {
    // SAFETY: as the caller promises.
    unsafe { gputime::counted(work) }
}
