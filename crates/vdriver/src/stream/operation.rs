//! Operations on values in memory: their effects.
//!
//! Source: CUDA Driver API, "Stream Memory Operations". Must not know: streams, how operations are described
//! ([`super::value`]).

use std::time::Duration;

use crate::context::Context as Owner;
use crate::host;
use crate::state::accelerator;

/// One operation.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// Stores a value.
    Write {
        /// The address.
        at: u64,
        /// The value.
        value: u64,
        /// Its size: 4 or 8.
        bytes: usize,
    },
    /// Waits until a comparison holds.
    Wait {
        /// The address of the value to compare.
        at: u64,
        /// The value to compare with.
        value: u64,
        /// The size of both: 4 or 8.
        bytes: usize,
        /// 0 to 3: at least as large, equal, a common bit, a missing bit.
        how: u32,
    },
    /// Makes other writes visible, which they always are.
    Nothing,
}

/// Whether a comparison holds.
fn holds(now: u64, value: u64, bytes: usize, how: u32) -> bool {
    match (how, bytes) {
        // A cyclic comparison: the difference is not negative.
        (0, 4) => (now as u32).wrapping_sub(value as u32) as i32 >= 0,
        (0, _) => now.wrapping_sub(value) as i64 >= 0,
        (1, _) => now == value,
        (2, _) => now & value != 0,
        (_, 4) => (!(now as u32 | value as u32)) != 0,
        _ => !(now | value) != 0,
    }
}

/// Polls until the comparison holds, the memory can no longer be read, or work in the context has
/// failed.
pub fn until(context: &Owner, at: u64, value: u64, bytes: usize, how: u32) {
    let mut pause = 1;
    while context.healthy().is_ok() {
        let mut now = [0u8; 8];
        let to = now.as_mut_ptr().expose_provenance() as u64;
        if accelerator().copy_now(to, at, bytes).is_err()
            || holds(u64::from_le_bytes(now), value, bytes, how)
        {
            return;
        }
        std::thread::sleep(Duration::from_micros(pause));
        pause = (pause * 2).min(200);
    }
}

/// Performs operations one after the other, on a host thread that may wait.
pub fn perform(context: &Owner, all: &[Operation]) {
    for operation in all {
        match *operation {
            Operation::Write { at, value, bytes } => {
                let from = (&raw const value).expose_provenance() as u64;
                if let Err(failure) = accelerator().copy_now(at, from, bytes) {
                    context.fail(&failure);
                }
            }
            Operation::Wait { at, value, bytes, how } => {
                host::refusing(|| until(context, at, value, bytes, how));
            }
            Operation::Nothing => {}
        }
    }
}
