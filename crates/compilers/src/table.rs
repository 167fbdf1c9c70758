//! Which functions there are, for the audit library.
//!
//! Owns: rows and their order, and the table's form: for each row the name with a NUL, then for each place the distance
//! from there to the function, 32 bits; an empty name ends it. It holds distances and no addresses, since the loader has
//! not relocated this library when libnvrtc is linked to the program itself. Must not know: what the functions do.

use std::arch::naked_asm;

use super::{link, nvrtc};

macro_rules! rows {
    ($($row:ident $name:literal $module:ident::$function:ident,)+) => {
        rows!(@number [$($row)+]);

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
    (@number [$($row:ident)+]) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Row { $($row),+ }
        $(pub(crate) const $row: usize = Row::$row as usize;)+
        /// How many there are.
        pub const ROWS: usize = [$(Row::$row as usize),+].len();
    };
}

// nvrtc.h and nvJitLink.h of CUDA 11.2 to 13. A function of nvJitLink is exported by its name and as `__NAME_12_4` for
// each release.
rows! {
    COMPILE "nvrtcCompileProgram" nvrtc::compile,
    DESTROY_PROGRAM "nvrtcDestroyProgram" nvrtc::destroy,
    PTX_SIZE "nvrtcGetPTXSize" nvrtc::ptx_size,
    PTX "nvrtcGetPTX" nvrtc::ptx,
    CUBIN_SIZE "nvrtcGetCUBINSize" nvrtc::cubin_size,
    CUBIN "nvrtcGetCUBIN" nvrtc::cubin,
    CREATE "nvJitLinkCreate" link::create,
    DESTROY "nvJitLinkDestroy" link::destroy,
    ADD_DATA "nvJitLinkAddData" link::add_data,
    ADD_FILE "nvJitLinkAddFile" link::add_file,
    COMPLETE "nvJitLinkComplete" link::complete,
    LINKED_CUBIN_SIZE "nvJitLinkGetLinkedCubinSize" link::cubin_size,
    LINKED_CUBIN "nvJitLinkGetLinkedCubin" link::cubin,
    LINKED_PTX_SIZE "nvJitLinkGetLinkedPtxSize" link::ptx_size,
    LINKED_PTX "nvJitLinkGetLinkedPtx" link::ptx,
    ERROR_LOG_SIZE "nvJitLinkGetErrorLogSize" link::error_log_size,
    ERROR_LOG "nvJitLinkGetErrorLog" link::error_log,
}
