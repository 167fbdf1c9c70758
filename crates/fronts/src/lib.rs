//! What the four thin libraries share: a jump for each function of CUDA, from the one table of signatures.
//!
//! Owns how a name of libcudart or libcuda becomes an export of a thin library, and how such a library is linked
//! (`build`). A thin library has no state and no code except jumps through the tables of libvcuda.so. Must not
//! know: what the functions do.

// It runs in other people's processes: nothing in it may panic.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

pub use cushim_abi;

#[cfg(feature = "build")]
pub mod build;

/// A jump through `vcuda_runtime` for every function of one major, each under the major's version node.
#[macro_export]
macro_rules! runtime_front {
    ($major:tt $node:literal) => {
        use $crate::{runtime_jump, runtime_jumps};
        $crate::cushim_abi::all_runtime_functions!(runtime_jumps $major $node;);
    };
}

/// The rows of the table, name by name and major by major.
#[doc(hidden)]
#[macro_export]
macro_rules! runtime_jumps {
    ($wanted:tt $node:literal; $($majors:tt [$($name:ident $(= $exported:ident)?)+] $args:tt -> $ret:tt;)*) => {
        $($($crate::runtime_jump!($wanted $node $majors $name [$($exported)?]);)+)*
    };
}

/// A jump, if the row's majors include the wanted one.
#[doc(hidden)]
#[macro_export]
macro_rules! runtime_jump {
    ($wanted:tt $node:literal [] $name:ident $exported:tt) => {};
    (11 $node:literal [11 $($rest:tt)*] $name:ident $exported:tt) => { $crate::runtime_jump!(@ 11 $node $name $exported); };
    (12 $node:literal [12 $($rest:tt)*] $name:ident $exported:tt) => { $crate::runtime_jump!(@ 12 $node $name $exported); };
    (13 $node:literal [13 $($rest:tt)*] $name:ident $exported:tt) => { $crate::runtime_jump!(@ 13 $node $name $exported); };
    ($wanted:tt $node:literal [$other:tt $($rest:tt)*] $name:ident $exported:tt) => {
        $crate::runtime_jump!($wanted $node [$($rest)*] $name $exported);
    };
    (@ $major:tt $node:literal $name:ident $exported:tt) => {
        // r11 is free: neither an argument nor preserved (System V ABI, x86-64, 3.2.1).
        std::arch::global_asm!(
            ".text",
            ".balign 16",
            concat!(".globl front_", stringify!($name)),
            concat!(".type front_", stringify!($name), ",@function"),
            concat!("front_", stringify!($name), ":"),
            "mov r11, [rip + vcuda_runtime@GOTPCREL]",
            "jmp [r11 + {at}]",
            concat!(".size front_", stringify!($name), ", .-front_", stringify!($name)),
            concat!(".symver front_", stringify!($name), ",", $crate::cushim_abi::exported_name!($name $exported), "@@", $node, ",remove"),
            at = const ($crate::cushim_abi::index::Runtime::$name as usize * $crate::cushim_abi::index::MAJORS.len()
                + $crate::cushim_abi::index::column($major)) * size_of::<usize>(),
        );
    };
}

/// A jump through `vcuda_driver` for every function of the driver.
#[macro_export]
macro_rules! driver_front {
    () => {
        use $crate::driver_jumps;
        $crate::cushim_abi::all_driver_functions!(driver_jumps);
    };
}

/// The rows of the table.
#[doc(hidden)]
#[macro_export]
macro_rules! driver_jumps {
    ($([$($name:ident)+] $args:tt -> $ret:tt;)*) => {
        $($(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            unsafe extern "C" fn $name() {
                std::arch::naked_asm!(
                    "mov r11, [rip + vcuda_driver@GOTPCREL]",
                    "jmp [r11 + {at}]",
                    at = const $crate::cushim_abi::index::Driver::$name as usize * size_of::<usize>(),
                );
            }
        )+)*
    };
}
