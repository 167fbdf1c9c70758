//! The functions of NVIDIA's compilers and of cuBLAS that are ours, and their numbers.
//!
//! Owns: rows and their order. Must not know: where the functions are, what they do.

// nvrtc.h, nvJitLink.h and cublas_api.h of CUDA 11.2 to 13. A function of nvJitLink is exported by its name and as `__NAME_12_4` for
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
            SGEMM "cublasSgemm_v2" blas::sgemm,
            DGEMM "cublasDgemm_v2" blas::dgemm,
            CGEMM "cublasCgemm_v2" blas::cgemm,
            ZGEMM "cublasZgemm_v2" blas::zgemm,
            HGEMM "cublasHgemm" blas::hgemm,
            CGEMM3M "cublasCgemm3m" blas::cgemm3m,
            ZGEMM3M "cublasZgemm3m" blas::zgemm3m,
            SGEMM_BATCHED "cublasSgemmBatched" blas::sgemm_batched,
            DGEMM_BATCHED "cublasDgemmBatched" blas::dgemm_batched,
            CGEMM_BATCHED "cublasCgemmBatched" blas::cgemm_batched,
            ZGEMM_BATCHED "cublasZgemmBatched" blas::zgemm_batched,
            HGEMM_BATCHED "cublasHgemmBatched" blas::hgemm_batched,
            CGEMM3M_BATCHED "cublasCgemm3mBatched" blas::cgemm3m_batched,
            SGEMM_STRIDED "cublasSgemmStridedBatched" blas::sgemm_strided,
            DGEMM_STRIDED "cublasDgemmStridedBatched" blas::dgemm_strided,
            CGEMM_STRIDED "cublasCgemmStridedBatched" blas::cgemm_strided,
            ZGEMM_STRIDED "cublasZgemmStridedBatched" blas::zgemm_strided,
            HGEMM_STRIDED "cublasHgemmStridedBatched" blas::hgemm_strided,
            CGEMM3M_STRIDED "cublasCgemm3mStridedBatched" blas::cgemm3m_strided,
            SGEMM_EX "cublasSgemmEx" blas::sgemm_ex,
            CGEMM_EX "cublasCgemmEx" blas::cgemm_ex,
            GEMM_EX "cublasGemmEx" blas::gemm_ex,
            GEMM_BATCHED_EX "cublasGemmBatchedEx" blas::gemm_batched_ex,
            GEMM_STRIDED_EX "cublasGemmStridedBatchedEx" blas::gemm_strided_ex,
            SGEMM_64 "cublasSgemm_v2_64" blas::sgemm_64,
            DGEMM_64 "cublasDgemm_v2_64" blas::dgemm_64,
            CGEMM_64 "cublasCgemm_v2_64" blas::cgemm_64,
            ZGEMM_64 "cublasZgemm_v2_64" blas::zgemm_64,
            HGEMM_64 "cublasHgemm_64" blas::hgemm_64,
            CGEMM3M_64 "cublasCgemm3m_64" blas::cgemm3m_64,
            ZGEMM3M_64 "cublasZgemm3m_64" blas::zgemm3m_64,
            SGEMM_BATCHED_64 "cublasSgemmBatched_64" blas::sgemm_batched_64,
            DGEMM_BATCHED_64 "cublasDgemmBatched_64" blas::dgemm_batched_64,
            CGEMM_BATCHED_64 "cublasCgemmBatched_64" blas::cgemm_batched_64,
            ZGEMM_BATCHED_64 "cublasZgemmBatched_64" blas::zgemm_batched_64,
            HGEMM_BATCHED_64 "cublasHgemmBatched_64" blas::hgemm_batched_64,
            CGEMM3M_BATCHED_64 "cublasCgemm3mBatched_64" blas::cgemm3m_batched_64,
            SGEMM_STRIDED_64 "cublasSgemmStridedBatched_64" blas::sgemm_strided_64,
            DGEMM_STRIDED_64 "cublasDgemmStridedBatched_64" blas::dgemm_strided_64,
            CGEMM_STRIDED_64 "cublasCgemmStridedBatched_64" blas::cgemm_strided_64,
            ZGEMM_STRIDED_64 "cublasZgemmStridedBatched_64" blas::zgemm_strided_64,
            HGEMM_STRIDED_64 "cublasHgemmStridedBatched_64" blas::hgemm_strided_64,
            CGEMM3M_STRIDED_64 "cublasCgemm3mStridedBatched_64" blas::cgemm3m_strided_64,
            SGEMM_EX_64 "cublasSgemmEx_64" blas::sgemm_ex_64,
            CGEMM_EX_64 "cublasCgemmEx_64" blas::cgemm_ex_64,
            GEMM_EX_64 "cublasGemmEx_64" blas::gemm_ex_64,
            GEMM_BATCHED_EX_64 "cublasGemmBatchedEx_64" blas::gemm_batched_ex_64,
            GEMM_STRIDED_EX_64 "cublasGemmStridedBatchedEx_64" blas::gemm_strided_ex_64,
            SGEMV "cublasSgemv_v2" blas::sgemv,
            DGEMV "cublasDgemv_v2" blas::dgemv,
            CGEMV "cublasCgemv_v2" blas::cgemv,
            ZGEMV "cublasZgemv_v2" blas::zgemv,
            SGEMV_64 "cublasSgemv_v2_64" blas::sgemv_64,
            DGEMV_64 "cublasDgemv_v2_64" blas::dgemv_64,
            CGEMV_64 "cublasCgemv_v2_64" blas::cgemv_64,
            ZGEMV_64 "cublasZgemv_v2_64" blas::zgemv_64,
            STRSM "cublasStrsm_v2" blas::strsm,
            DTRSM "cublasDtrsm_v2" blas::dtrsm,
            CTRSM "cublasCtrsm_v2" blas::ctrsm,
            ZTRSM "cublasZtrsm_v2" blas::ztrsm,
            STRSM_64 "cublasStrsm_v2_64" blas::strsm_64,
            DTRSM_64 "cublasDtrsm_v2_64" blas::dtrsm_64,
            CTRSM_64 "cublasCtrsm_v2_64" blas::ctrsm_64,
            ZTRSM_64 "cublasZtrsm_v2_64" blas::ztrsm_64,
            GET_STREAM "cublasGetStream_v2" blas::get_stream,
            GET_POINTER_MODE "cublasGetPointerMode_v2" blas::get_pointer_mode,
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
