//! The CUDA driver that the process got: NVIDIA's, or cushim's over an accelerator.
//!
//! Owns the result, for code above that depends on it and for messages. Must not know: how it is chosen
//! (libvcuda.so).

use std::sync::OnceLock;

/// The driver below the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// NVIDIA's libcuda.
    Driver,
    /// Ours, over the accelerator of this name.
    Accelerator(&'static str),
}

static CHOSEN: OnceLock<Backend> = OnceLock::new();

/// Sets the choice; only the first call counts.
pub fn choose(backend: Backend) {
    let _ = CHOSEN.set(backend);
}

/// The chosen backend; `None` before the first call that needs it.
pub fn chosen() -> Option<Backend> {
    CHOSEN.get().copied()
}

/// Its name, for messages.
pub fn name() -> &'static str {
    match chosen() {
        Some(Backend::Driver) => "driver",
        Some(Backend::Accelerator(name)) => name,
        None => "none",
    }
}
