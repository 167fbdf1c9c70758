//! NVIDIA's own functions, as the audit library finds them.
//!
//! A process may have several copies of one compiler (CuPy's and PyTorch's own). Each copy gets a slot, and its own
//! functions here, which know the slot ([`super::table`]).
//!
//! Owns: the slots. Must not know: what the functions do.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::rows::ROWS;

/// So many copies of one compiler may be in a process; further ones stay as they are.
pub const PLACES: usize = 4;

/// The functions of each slot: zero until the library is loaded, and again after it was unloaded.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static cushim_compilers_real: [[AtomicUsize; ROWS]; PLACES] =
    [const { [const { AtomicUsize::new(0) }; ROWS] }; PLACES];

/// The function of a row in a slot.
pub(crate) fn of(place: usize, row: usize) -> Option<usize> {
    let found = cushim_compilers_real.get(place)?.get(row)?.load(Ordering::Acquire);
    (found != 0).then_some(found)
}

/// Calls NVIDIA's own function of a row, with the named type; `$otherwise` if there is none.
macro_rules! call {
    ($place:expr, $row:ident: fn($($ty:ty),*), $otherwise:expr, $($argument:expr),*) => {
        match $crate::real::of($place, $crate::rows::$row) {
            Some(address) => {
                // SAFETY: what the library exports under the row's name, whose signature its header has.
                let function: unsafe extern "C" fn($($ty),*) -> i32 = unsafe {
                    std::mem::transmute(std::ptr::with_exposed_provenance::<()>(address))
                };
                // SAFETY: the caller's arguments, or our own for the same purpose.
                unsafe { function($($argument),*) }
            }
            None => $otherwise,
        }
    };
}
pub(crate) use call;
