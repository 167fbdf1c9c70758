//! Weighted means of texels.
//!
//! Owns the weights, their rounding, and in which order sums are taken. Must not know: where texels come from.

use super::axis::Axis;

/// A weight of a corner of a footprint: by axis the first or the second texel.
pub(super) fn weight(axes: &[Axis], corner: usize) -> f64 {
    let parts = axes.iter().enumerate().map(|(k, axis)| {
        let fraction = f64::from(axis.fraction) / 256.0;
        if corner >> k & 1 != 0 { fraction } else { 1.0 - fraction }
    });
    parts.product()
}

/// The mean of one channel's values, as many as weights.
pub(super) fn mean(weights: &[f64], values: &[f32]) -> f32 {
    let terms = weights.iter().zip(values).filter(|(w, _)| **w != 0.0);
    terms.map(|(w, v)| w * f64::from(*v)).sum::<f64>() as f32
}

/// Between two levels.
pub(super) fn blend(fraction: u32, a: f32, b: f32) -> f32 {
    let f = f64::from(fraction) / 256.0;
    mean(&[1.0 - f, f], &[a, b])
}
