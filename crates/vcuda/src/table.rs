//! The table of driver functions that libvcuda.so exports, and its contents before a driver is chosen.
//!
//! Owns a function for each row that chooses the driver ([`crate::choose`]) and calls again. Must not know: which
//! driver is chosen, what any function does.

use std::sync::atomic::AtomicPtr;

use cushim_abi::index::Driver;
use cushim_abi::types::*;
use cushim_vbase::api::COUNT;

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
            crate::choose::start();
            // SAFETY: forwarded as it came; the slot holds another function now.
            unsafe { cushim_vbase::api::$name($($arg),*) }
        }
    };
}

macro_rules! table {
    ($([$($name:ident)+] $args:tt -> $ret:tt;)*) => {
        /// What slots hold at first.
        mod first {
            use super::*;

            extern "C" fn start() {
                crate::choose::start();
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
