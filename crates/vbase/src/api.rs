//! The driver API as a table: one slot per function, filled when a backend is chosen.
//!
//! Owns the layout of the table that the thin libcuda.so.1 jumps through, and a typed function for each slot, by
//! which the runtime calls the driver below it. libvcuda.so has the table: before a backend is chosen, a slot holds a
//! function that chooses one and calls again. Must not know: what any function does.

use std::sync::atomic::{AtomicPtr, Ordering};

use cushim_abi::index::{DRIVER_NAMES, Driver};
use cushim_abi::types::*;

/// The number of driver functions.
pub const COUNT: usize = DRIVER_NAMES.len();

macro_rules! function {
    ($name:ident ? $ret:ty) => {};
    ($name:ident ($($arg:ident : $type:ty),*) $ret:ty) => {
        /// Calls the driver's function of this name.
        ///
        /// # Safety
        /// The arguments are as the CUDA Driver API reference requires.
        #[allow(non_snake_case)]
        #[inline(always)]
        pub unsafe fn $name($($arg: $type),*) -> $ret {
            type Real = unsafe extern "C" fn($($type),*) -> $ret;
            let slot = slot(Driver::$name as usize).load(Ordering::Relaxed);
            // SAFETY: a slot always holds a function of its row's signature.
            let real = unsafe { std::mem::transmute::<*mut (), Real>(slot) };
            // SAFETY: forwarded as it came.
            unsafe { real($($arg),*) }
        }
    };
}

macro_rules! functions {
    ($([$($name:ident)+] $args:tt -> $ret:tt;)*) => {
        $($(function!($name $args $ret);)+)*
    };
}

cushim_abi::all_driver_functions!(functions);

unsafe extern "C" {
    /// The slots, by [`Driver`]; the thin libcuda.so.1 jumps through them, so libvcuda.so exports
    /// them and initialises them. A table in this crate would depend on the choice of a driver, and
    /// so on all drivers.
    #[allow(non_upper_case_globals)]
    pub safe static vcuda_driver: [AtomicPtr<()>; COUNT];
}

/// The slot with this number.
#[inline(always)]
fn slot(index: usize) -> &'static AtomicPtr<()> {
    #[allow(clippy::indexing_slicing)]
    // A constant below the table's length, checked at compile time.
    &vcuda_driver[index]
}

/// Fills the slots for which `function` returns an address; others stay unchanged.
///
/// # Safety
/// It returns a function with the signature of the number's row
/// ([`cushim_abi::all_driver_functions`]) and stays for ever.
pub unsafe fn fill(function: impl Fn(usize) -> Option<*const ()>) {
    for (index, slot) in vcuda_driver.iter().enumerate() {
        if let Some(found) = function(index) {
            slot.store(found.cast_mut(), Ordering::Release);
        }
    }
}
