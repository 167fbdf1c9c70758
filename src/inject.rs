//! Entry points by which CUDA's own injection reaches this library, where the launcher names it in
//! `CUDA_INJECTION64_PATH`. Whoever opens another library looks there and not here.

/// The driver calls it at `cuInit`; the answer 1 says that all is well.
#[unsafe(no_mangle)]
extern "C" fn InitializeInjection() -> i32 {
    cushim_interpose::gputime::attach();
    1
}
