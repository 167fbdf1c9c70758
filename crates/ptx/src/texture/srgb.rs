//! sRGB.
//!
//! Owns the curve (IEC 61966-2-1) as the GPU has it. Must not know: textures.

/// The linear value of an 8-bit channel in sRGB.
pub(super) fn linear(value: u8) -> f32 {
    let x = f64::from(value) / 255.0;
    let y = if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) };
    y as f32
}
