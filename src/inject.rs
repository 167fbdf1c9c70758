//! Entry points by which CUDA's and NVTX's own injection reach this library, where the launcher names it
//! in `CUDA_INJECTION64_PATH` and `NVTX_INJECTION64_PATH`. Whoever opens another library looks there and
//! not here.

use cushim_interpose::{gputime, nvtx};

/// The driver calls it at `cuInit`; the answer 1 says that all is well.
#[unsafe(no_mangle)]
extern "C" fn InitializeInjection() -> i32 {
    gputime::attach();
    1
}

/// NVTX calls it in each object that uses it, at its first call there.
///
/// # Safety
/// `get` is null or NVTX's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn InitializeInjectionNvtx2(get: Option<nvtx::GetExportTable>) -> i32 {
    // SAFETY: as the caller promises.
    get.map_or(0, |get| unsafe { nvtx::attach(get) })
}
