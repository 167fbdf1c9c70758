//! Which levels of a mipmapped texture are read, and how they are blended.
//!
//! Owns the level of detail and its fixed point. Must not know: texels, addresses.

use super::descriptor::{Descriptor, Sampler};
use crate::sem::texture::{Fetch, Geometry};

/// Levels that are read, and parts of 256 that the second one has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Levels {
    pub(super) at: [usize; 2],
    pub(super) fraction: u32,
}

/// The level of derivatives: the logarithm of the longer one, in texels of the first level.
fn of_derivatives(found: &Descriptor, geometry: Geometry, words: &[u32]) -> f32 {
    let n = geometry.axes();
    let size = found.size(0);
    let scale = |k: usize| match (found.sampler.normalized, geometry.flat_axes() < n) {
        (false, _) => 1.0,
        (true, true) => f64::from(size[0]) / 2.0,
        (true, false) => f64::from(size[k].max(1)),
    };
    let length = |from: usize| {
        let parts = (0..n).map(|k| {
            let word = words.get(from + k).copied().unwrap_or(0);
            f64::from(f32::from_bits(word)) * scale(k)
        });
        parts.map(|v| v * v).sum::<f64>().sqrt()
    };
    length(0).max(length(n)).log2() as f32
}

/// The levels for a fetch; `words` are what stands behind the coordinates.
pub(super) fn choose(
    found: &Descriptor,
    fetch: Fetch,
    geometry: Geometry,
    integer: bool,
    words: &[u32],
) -> Levels {
    let last = found.levels.len() - 1;
    let one = |level: usize| Levels { at: [level; 2], fraction: 0 };
    let word = words.first().copied().unwrap_or(0);
    if integer && fetch == Fetch::Level {
        return one((word as usize).min(last));
    }
    if last == 0 {
        return one(0);
    }
    let level = match fetch {
        Fetch::Plain => -32.0,
        Fetch::Base | Fetch::Gather(_) => 0.0,
        Fetch::Level => f32::from_bits(word),
        Fetch::Gradient => of_derivatives(found, geometry, words),
    };
    clamped(&found.sampler, level, last)
}

fn clamped(sampler: &Sampler, level: f32, last: usize) -> Levels {
    let level = if level.is_nan() { 0.0 } else { level } + sampler.bias;
    let [least, most] = sampler.clamp;
    let level = level.max(least).min(most).clamp(0.0, last as f32);
    let parts = (f64::from(level) * 256.0 + 0.5).floor() as usize;
    if !sampler.mip_linear {
        let level = ((parts + 128) / 256).min(last);
        return Levels { at: [level; 2], fraction: 0 };
    }
    let first = (parts / 256).min(last);
    Levels { at: [first, (first + 1).min(last)], fraction: (parts % 256) as u32 }
}
