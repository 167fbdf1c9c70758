//! The functions of NVIDIA's compilers that are ours, and their numbers.
//!
//! Owns: rows and their order. Must not know: where the functions are, what they do.

// nvrtc.h and nvJitLink.h of CUDA 11.2 to 13. A function of nvJitLink is exported by its name and as `__NAME_12_4` for
// each release.
/// Hands all rows to a macro: the number's name, the function's, and ours.
macro_rules! all {
    ($with:ident) => {
        $with! {
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
    };
}

macro_rules! numbers {
    ($($row:ident $name:literal $module:ident::$function:ident,)+) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Row { $($row),+ }
        $(pub(crate) const $row: usize = Row::$row as usize;)+
        /// How many there are.
        pub const ROWS: usize = [$(Row::$row as usize),+].len();
    };
}

all!(numbers);

pub(crate) use all;
