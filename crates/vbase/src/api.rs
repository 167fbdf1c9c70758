//! The driver API as everything here calls it: one slot a function, filled when a backend is chosen.
//!
//! Owns the shape of the table that the thin libcuda.so.1 jumps through, and a typed function for each slot, by which
//! the runtime calls the driver below it. The table itself is libvcuda.so's: before a backend is chosen, a slot holds a
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
        /// What the CUDA Driver API reference asks of its arguments.
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
    /// The slots, by [`Driver`]; the thin libcuda.so.1 jumps through them, and so it is exported by libvcuda.so,
    /// which says what slots hold at first. A table of this crate would need the choice of a driver, and so all drivers.
    #[allow(non_upper_case_globals)]
    pub safe static vcuda_driver: [AtomicPtr<()>; COUNT];
}

/// The slot with this number.
#[inline(always)]
fn slot(index: usize) -> &'static AtomicPtr<()> {
    #[allow(clippy::indexing_slicing)]
    // A constant below the table's length, checked when compiled.
    &vcuda_driver[index]
}

/// Fills the slots that `function` has something for; others stay as they are.
///
/// # Safety
/// What it gives for a number is a function of that row's signature ([`cushim_abi::all_driver_functions`]) and stays
/// for ever.
pub unsafe fn fill(function: impl Fn(usize) -> Option<*const ()>) {
    for (index, slot) in vcuda_driver.iter().enumerate() {
        if let Some(found) = function(index) {
            slot.store(found.cast_mut(), Ordering::Release);
        }
    }
}
