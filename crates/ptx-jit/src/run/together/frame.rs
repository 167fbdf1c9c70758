//! The prologue and epilogue of all functions of the table.
//!
//! Owns the header that gives a function's length and its resume address after a fault, and the offsets of the warp's
//! data that functions read. Must not know which functions there are.

use crate::warp::Warp;

/// Bytes before the address where a function resumes after a fault: a jump, and its length.
pub(super) const HEADER: u64 = 16;

/// Defines functions of a warp (`rdi`), the active lanes (`esi`), and the address of lane 0 (`rdx`). Each begins with
/// a jump over its own length and the code that returns 1. `enter` saves the registers that the lines change, and
/// `leave` restores them; a function that has done its work ends at label 8. They are in the order of [`Together`],
/// which is that of the table.
macro_rules! functions {
    ($frame:tt $($(#[$meta:meta])* $name:ident: $lines:tt;)*) => {
        $(function!($(#[$meta])* $name: $frame $lines);)*

        /// By [`Together`].
        pub(in crate::run) static TABLE: [Function; Together::COUNT] = [$(Function($name)),*];
    };
}
pub(super) use functions;

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
pub(super) use function;

/// A function in the table that warps point to.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(in crate::run) struct Function(pub(super) unsafe extern "C" fn(*mut Warp, u32, u64));
