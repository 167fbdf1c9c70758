//! Why a region ran on the host.
//!
//! libomptarget reports only that it did. After the call, this module tests the possible reasons in libomptarget's
//! own order.
//!
//! Must not know: events.

use cushim_process::elf::{self, Version};
use cushim_trace::layout::*;

use crate::config;
use crate::registry::Kernel;

/// libomptarget's number for the default device.
const DEFAULT_DEVICE: i64 = -1;

/// Whether offloading is disabled (`OMP_TARGET_OFFLOAD`, OpenMP 5.0, 6.17).
fn is_disabled() -> bool {
    let value = config::variable(c"OMP_TARGET_OFFLOAD").unwrap_or_default();
    value.trim_ascii().eq_ignore_ascii_case(b"disabled")
}

/// How many devices libomptarget has by now.
fn devices() -> Option<i32> {
    let count = elf::next(c"omp_get_num_devices", Version::Node(c"VERS1.0"), |object| {
        object.symbol(c"__tgt_register_lib", Version::Any).is_some()
    })?;
    // SAFETY: libomptarget's function, with this signature since OpenMP 4.0; the library was called
    // just before.
    let count: unsafe extern "C-unwind" fn() -> i32 = unsafe { std::mem::transmute(count) };
    // SAFETY: no preconditions.
    Some(unsafe { count() })
}

/// Why libomptarget did not run `kernel` on `device`.
#[cold]
pub fn went_to_host(device: i64, kernel: &Kernel) -> u8 {
    // SAFETY: errno is this thread's; libomptarget's value is restored below.
    let errno = unsafe { *libc::__errno_location() };
    let why = match devices() {
        _ if is_disabled() => FALLBACK_DISABLED,
        Some(count) if device != DEFAULT_DEVICE && device == i64::from(count) => FALLBACK_HOST,
        _ if kernel.name.is_empty() || kernel.module().is_none_or(|m| !m.has_images()) => {
            FALLBACK_NO_IMAGE
        }
        Some(0) => FALLBACK_NO_DEVICE,
        Some(count) if device != DEFAULT_DEVICE && !(0..i64::from(count)).contains(&device) => {
            FALLBACK_NO_SUCH_DEVICE
        }
        _ => FALLBACK_REFUSED,
    };
    // SAFETY: the calling thread's own errno.
    unsafe { *libc::__errno_location() = errno };
    why
}
