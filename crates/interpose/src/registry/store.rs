//! Memory for names and records of kernels.
//!
//! Owns: blocks of memory that are never freed: one allocation for many records. Must not know: what is registered.

use cushim_process::memory::Blocks;

use super::record::Kernel;
use crate::keep;
use crate::lock::Held;

static BLOCKS: Blocks = Blocks::new();

/// A copy of `name` that lives for ever.
pub(super) fn name(held: &mut Held, name: &str) -> &'static str {
    if name.is_empty() {
        return "";
    }
    let Some(to) = take(held, name.len(), 1) else { return name.to_owned().leak() };
    // SAFETY: `name.len()` bytes that nobody else has, for ever; the copied bytes are UTF-8.
    unsafe {
        to.copy_from_nonoverlapping(name.as_ptr(), name.len());
        std::str::from_utf8_unchecked(std::slice::from_raw_parts(to, name.len()))
    }
}

/// Stores `kernel` for ever.
pub(super) fn kernel(held: &mut Held, kernel: Kernel) -> &'static Kernel {
    match take(held, size_of::<Kernel>(), align_of::<Kernel>()) {
        // SAFETY: aligned bytes of that size that nobody else has, for ever.
        Some(place) => unsafe {
            let place = place.cast::<Kernel>();
            place.write(kernel);
            &*place
        },
        None => keep::forever(kernel),
    }
}

/// Bytes that are never given out twice, as [`Blocks::take`] returns them.
fn take(_held: &mut Held, size: usize, align: usize) -> Option<*mut u8> {
    // SAFETY: one caller at a time: this thread holds the registry's lock, and nobody else has these blocks.
    unsafe { BLOCKS.take(size, align) }
}
