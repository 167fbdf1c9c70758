//! The driver API as everything here calls it: one slot a function, filled when a backend is chosen.
//!
//! Owns the table that the thin libcuda.so.1 jumps through, and a typed function for each slot, by which
//! the runtime calls the driver below it. Before a backend is chosen, a slot holds a function that
//! chooses one and calls again. Must not know: what any function does.

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

macro_rules! first {
    // Arguments unknown: all registers that can hold one are kept.
    ($name:ident ? $ret:ty) => {
        #[allow(non_snake_case)]
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $name() -> $ret {
            std::arch::naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "sub rsp, 136",
                "movups [rsp], xmm0",
                "movups [rsp + 16], xmm1",
                "movups [rsp + 32], xmm2",
                "movups [rsp + 48], xmm3",
                "movups [rsp + 64], xmm4",
                "movups [rsp + 80], xmm5",
                "movups [rsp + 96], xmm6",
                "movups [rsp + 112], xmm7",
                "call {start}",
                "movups xmm0, [rsp]",
                "movups xmm1, [rsp + 16]",
                "movups xmm2, [rsp + 32]",
                "movups xmm3, [rsp + 48]",
                "movups xmm4, [rsp + 64]",
                "movups xmm5, [rsp + 80]",
                "movups xmm6, [rsp + 96]",
                "movups xmm7, [rsp + 112]",
                "add rsp, 136",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "xor eax, eax",
                "mov r11, [rip + vcuda_driver@GOTPCREL]",
                "jmp [r11 + {at}]",
                start = sym start,
                at = const Driver::$name as usize * size_of::<usize>(),
            );
        }
    };
    ($name:ident ($($arg:ident : $type:ty),*) $ret:ty) => {
        #[allow(non_snake_case)]
        pub(super) unsafe extern "C" fn $name($($arg: $type),*) -> $ret {
            crate::backend::start();
            // SAFETY: forwarded as it came; the slot holds another function now.
            unsafe { super::$name($($arg),*) }
        }
    };
}

macro_rules! table {
    ($([$($name:ident)+] $args:tt -> $ret:tt;)*) => {
        $($(function!($name $args $ret);)+)*

        /// What slots hold at first.
        mod first {
            use super::*;

            extern "C" fn start() {
                crate::backend::start();
            }

            $($(first!($name $args $ret);)+)*
        }

        /// The slots, by [`Driver`]; the thin libcuda.so.1 jumps through them.
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals)]
        pub static vcuda_driver: [AtomicPtr<()>; COUNT] =
            [$($(AtomicPtr::new(first::$name as *mut ()),)+)*];
    };
}

cushim_abi::all_driver_functions!(table);

/// The slot with this number.
#[inline(always)]
fn slot(index: usize) -> &'static AtomicPtr<()> {
    #[allow(clippy::indexing_slicing)]
    // A constant below the table's length, checked when compiled.
    &vcuda_driver[index]
}

/// Fills every slot: with what `function` has for its number, else with a function that answers
/// CUDA_ERROR_NOT_SUPPORTED and says so.
pub(crate) fn fill(function: impl Fn(usize) -> Option<*const ()>) {
    for (index, slot) in vcuda_driver.iter().enumerate() {
        let found = function(index).or_else(|| crate::driver::unsupported(index));
        if let Some(found) = found {
            slot.store(found.cast_mut(), Ordering::Release);
        }
    }
}
