//! The list of redirected functions, for the audit library.
//!
//! Owns: the table's format: for each row the name with a NUL, then for each slot the distance from there to the
//! function, 32 bits; an empty name ends it. It contains distances and no addresses, because the loader has not
//! relocated this library yet when libnvrtc is linked to the program itself. Must not know: which functions there are
//! ([`super::rows`]), what they do.

use std::arch::naked_asm;

use super::blas::lt;
use super::rows::{ROWS, all};
use super::{blas, fft, link, nvrtc, rand};

macro_rules! rows {
    ($($_row:ident $name:literal $module:ident::$function:ident,)+) => {
        /// The names in order.
        pub const NAMES: [&str; ROWS] = [$($name),+];

        /// The table; no function.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub extern "C" fn cushim_compilers() {
            naked_asm!(
                $(
                    concat!(".asciz \"", $name, "\""),
                    ".long {} - .",
                    ".long {} - .",
                    ".long {} - .",
                    ".long {} - .",
                )+
                ".asciz \"\"",
                $(
                    sym $module::$function::<0>,
                    sym $module::$function::<1>,
                    sym $module::$function::<2>,
                    sym $module::$function::<3>,
                )+
            )
        }
    };
}

all!(rows);
