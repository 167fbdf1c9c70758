//! Entry points that the CPU backend's driver calls when it counts kernel work (`cushim profile -o`). The driver runs
//! in the same process and finds them by name ([`cushim_abi::counted`]).

use cushim_abi::counted::Counted;
use cushim_interpose::{gputime, thread};

/// The number of the recorded call that the calling thread is in; 0 if it is in none.
#[unsafe(no_mangle)]
extern "C" fn cushim_traced_call() -> u64 {
    thread::link()
}

/// Stores a launch's counted work in the trace.
///
/// # Safety
/// `work` is null, or points to a launch that stays valid until this function returns.
#[unsafe(no_mangle)]
unsafe extern "C" fn cushim_traced_work(work: *const Counted) {
    // SAFETY: as the caller promises.
    unsafe { gputime::counted(work) }
}
