//! Accesses of some lanes, or of lanes with addresses of their own, by functions that keep all registers.
//!
//! Owns what generated code calls for them where the processor has AVX-512 or AVX2, and where such a function goes on after a
//! fault. What is not inside, not aligned or not mapped they leave undone and say so in [`Warp::answer`]; the code asks a helper
//! then, which finds the lane to blame. Must not know instructions.

use crate::warp::{Together, Warp};
use cushim_ptx::Level;

mod avx2;
mod avx512;

/// Bytes before the place where a function goes on after a fault: a jump, and its length.
const HEADER: u64 = 16;

/// Defines functions of a warp (`rdi`), the lanes that take part (`esi`), and the address of lane 0 (`rdx`). Each begins with a jump over its
/// own length and the place that answers 1. `enter` saves what the lines change, and `leave` brings it back; at 8 a
/// function ends that has done its work.
macro_rules! functions {
    ($frame:tt $($(#[$meta:meta])* $name:ident: $lines:tt;)*) => {
        $(function!($(#[$meta])* $name: $frame $lines);)*
    };
}
use functions;

macro_rules! function {
    (
        $(#[$meta:meta])* $name:ident:
        {
            enter: $enter:expr, leave: $leave:expr, constants: [$($constant:literal),* $(,)?],
            tables: [$($table:ident = $static:path),* $(,)?] $(,)?
        }
        [$($line:expr),* $(,)?]
    ) => {
        $(#[$meta])*
        ///
        /// # Safety
        /// Called by generated code only: the warp is the one that runs, and an address is inside device or shared memory.
        #[unsafe(naked)]
        unsafe extern "C" fn $name(warp: *mut Warp, lanes: u32, place: u64) {
            core::arch::naked_asm!(
                "2:",
                "jmp 4f",
                ".balign 8",
                ".quad 9f - 2b",
                "3:",
                "mov dword ptr [rdi + {answer}], 1",
                $leave,
                "ret",
                // Not all functions use all offsets.
                "# {addresses} {values} {results} {arena} {arena_size} {shared} {shared_size}",
                $(concat!("# {", stringify!($table), "}"),)*
                "4:",
                $enter,
                $($line,)*
                "8:",
                "mov dword ptr [rdi + {answer}], 0",
                $leave,
                "ret",
                $($constant,)*
                "9:",
                answer = const offset_of!(Warp, answer),
                addresses = const offset_of!(Warp, scratch),
                values = const offset_of!(Warp, scratch) + size_of::<crate::warp::Slot>(),
                results = const offset_of!(Warp, scratch) + Together::RESULTS * size_of::<crate::warp::Slot>(),
                arena = const offset_of!(Warp, arena),
                arena_size = const offset_of!(Warp, arena_size),
                shared = const offset_of!(Warp, shared),
                shared_size = const offset_of!(Warp, shared_size),
                $($table = sym $static,)*
            )
        }
    };
}
use function;

/// A function in the table that warps point to.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(super) struct Function(unsafe extern "C" fn(*mut Warp, u32, u64));

/// Functions by [`Together`], for code of the level in use; code of a lower one than AVX2 calls none.
pub(super) fn table() -> &'static [Function; Together::COUNT] {
    if Level::V4.is_there() { &avx512::TABLE } else { &avx2::TABLE }
}

/// Where a function goes on that touched what is not mapped, if the processor was in one.
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
