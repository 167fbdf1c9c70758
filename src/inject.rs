//! Entry points for the injection mechanisms of CUDA and NVTX. The launcher names this library in
//! `CUDA_INJECTION64_PATH` and `NVTX_INJECTION64_PATH`. If those variables name another library, these functions are
//! not called.

use cushim_interpose::{gputime, nvtx};

/// The driver calls it at `cuInit`; 1 reports success.
#[unsafe(no_mangle)]
extern "C" fn InitializeInjection() -> i32 {
    gputime::attach();
    1
}

/// Each object that uses NVTX calls it at its first NVTX call.
///
/// # Safety
/// `get` is null or NVTX's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn InitializeInjectionNvtx2(get: Option<nvtx::GetExportTable>) -> i32 {
    // SAFETY: as the caller promises.
    get.map_or(0, |get| unsafe { nvtx::attach(get) })
}
