//! Images in the accelerator's own format.
//!
//! Must not know: what is in them.

use std::sync::OnceLock;

/// The first bytes of images of the accelerator's own kind.
static OWN: OnceLock<&[u8]> = OnceLock::new();

/// Treats texts that begin so as the accelerator's own ([`cushim_accel::Accelerator::own_images`]).
pub fn recognise(magic: &'static [u8]) {
    let _ = OWN.set(magic);
}

/// Whether an image is the accelerator's own, which no container holds.
pub fn is_own(image: &[u8]) -> bool {
    OWN.get().is_some_and(|magic| image.starts_with(magic))
}
