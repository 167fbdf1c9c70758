//! libnvidia-ml.so.1: NVML, with which management tools and frameworks query devices, for the devices of libvcuda.so.
//!
//! Owns: the macro that exports a function. Count, names, memory and versions are the driver's. A device that is no GPU has
//! no temperature, clock or fan: those queries return "not supported", and its utilisation is 0. All functions of nvml.h are
//! exported, as tools look for all that they know before they ask for one. Source: NVML's API reference. Must not know:
//! which backend there is.

// It runs in other people's processes: nothing in it may panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

/// Exports functions that return an `nvmlReturn_t`.
macro_rules! functions {
    ($(fn $($name:ident)+ ($($argument:ident: $ty:ty),*) $body:block)*) => {$(
        functions!(@each [$($name)+] ($($argument: $ty),*) $body);
    )*};
    (@each [] $arguments:tt $body:block) => {};
    (@each [$name:ident $($rest:ident)*] ($($argument:ident: $ty:ty),*) $body:block) => {
        /// As in nvml.h.
        ///
        /// # Safety
        /// Pointers are valid, or null.
        #[allow(non_snake_case)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $ty),*) -> i32 {
            #[allow(unused_unsafe)]
            unsafe fn body($($argument: $ty),*) -> Result<(), i32> {
                // SAFETY: the caller's pointers are valid or null, and each body looks at null.
                unsafe { $body }
            }
            // SAFETY: a program passes pointers that are null or valid, as nvml.h requires.
            unsafe { body($($argument),*) }.err().unwrap_or(crate::status::SUCCESS)
        }
        functions!(@each [$($rest)*] ($($argument: $ty),*) $body);
    };
}

mod answers;
mod device;
mod driver;
mod status;
mod unsupported;
