//! Accesses of some lanes, or with per-lane addresses, by functions that preserve all registers.
//!
//! Owns the functions that generated code calls for them on processors with AVX-512 or AVX2, and where such a
//! function resumes after a fault. An access that is out of range, misaligned or unmapped is not executed; the
//! function reports that in [`Warp::answer`], and the code calls a helper, which finds the lane at fault. Must not
//! know instructions.

use crate::warp::Together;
use cushim_ptx::Level;
use frame::{Function, HEADER};

mod avx2;
mod avx512;
mod frame;

/// Functions by [`Together`], for code of the level in use; code of a lower one than AVX2 calls none.
pub(super) fn table() -> &'static [Function; Together::COUNT] {
    if Level::V4.is_there() { &avx512::TABLE } else { &avx2::TABLE }
}

/// Where a function resumes that accessed unmapped memory, if the processor was in one.
pub(super) fn after_fault(at: u64) -> Option<u64> {
    [&avx512::TABLE, &avx2::TABLE].into_iter().flatten().map(|f| f.0 as *const () as u64).find_map(
        |begin| {
            // SAFETY: a function's header has its length there, in readable and aligned memory.
            let length = unsafe { *((begin + HEADER - 8) as *const u64) };
            (begin..begin + length).contains(&at).then_some(begin + HEADER)
        },
    )
}

#[cfg(test)]
mod tests;
