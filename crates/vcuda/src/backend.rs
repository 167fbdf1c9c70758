//! Which CUDA driver the process gets: NVIDIA's, or ours over an accelerator.
//!
//! Owns the choice, made once at the first call that needs a driver. `CUSHIM_BACKEND` names it; without
//! that, NVIDIA's where a libcuda is installed, the CPU where none is. A driver that is installed and
//! does not load is an error and never a reason for the other.
//!
//! Must not know: what the functions do.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::{api, driver, nvidia, unsupported};

/// A driver below the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Backend {
    /// NVIDIA's libcuda.
    Driver = 1,
    /// Ours over the CPU.
    Cpu = 2,
    /// Ours over the accelerator of the tests; not in release builds.
    Mock = 3,
}

static CHOSEN: AtomicU8 = AtomicU8::new(0);
static START: OnceLock<()> = OnceLock::new();

impl Backend {
    /// As `CUSHIM_BACKEND` and `--backend` spell it.
    pub fn parse(text: &str) -> Option<Backend> {
        match text {
            "driver" => Some(Backend::Driver),
            "cpu" => Some(Backend::Cpu),
            "mock" if cfg!(debug_assertions) => Some(Backend::Mock),
            _ => None,
        }
    }
}

/// The chosen one; `None` before the first call that needs it.
pub fn chosen() -> Option<Backend> {
    match CHOSEN.load(Ordering::Acquire) {
        1 => Some(Backend::Driver),
        2 => Some(Backend::Cpu),
        3 => Some(Backend::Mock),
        _ => None,
    }
}

/// Its name, for messages.
pub fn name() -> &'static str {
    match chosen() {
        Some(Backend::Driver) => "driver",
        Some(Backend::Cpu) => "cpu",
        Some(Backend::Mock) => "mock",
        None => "none",
    }
}

/// Chooses and fills the table of driver functions. Every caller returns with it filled.
///
/// The first one may load libcuda, as NVIDIA's runtime does at the same place.
#[cold]
pub fn start() {
    START.get_or_init(|| {
        let asked = std::env::var("CUSHIM_BACKEND").ok().filter(|text| !text.is_empty());
        let backend = match asked.as_deref() {
            Some("auto") | None => None,
            Some(text) => {
                let backend = Backend::parse(text);
                if backend.is_none() {
                    unsupported::say(&format!(
                        "CUSHIM_BACKEND={text}: expected driver, cpu or auto; taking auto"
                    ));
                }
                backend
            }
        };
        let library = nvidia::find();
        let backend = backend.unwrap_or(match library {
            Some(_) => Backend::Driver,
            None => Backend::Cpu,
        });
        CHOSEN.store(backend as u8, Ordering::Release);
        if backend != Backend::Driver {
            api::fill(driver::function);
            return;
        }
        match library.as_deref().map(nvidia::open) {
            Some(Ok(object)) => api::fill(|index| nvidia::function(&object, index)),
            Some(Err(why)) => {
                unsupported::say(&why);
                api::fill(driver::absent);
            }
            None => {
                unsupported::say("backend driver: no libcuda.so.1 is installed");
                api::fill(driver::absent);
            }
        }
    });
}
