//! Which levels of a mipmapped texture are read, and how they are blended.
//!
//! Owns the level of detail and its fixed-point format. Must not know: texels, addresses.

use super::descriptor::{Descriptor, Sampler};
use crate::sem::texture::{Fetch, Geometry};

/// The levels that are read, and the weight of the second one, of 256.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Levels {
    pub(super) at: [usize; 2],
    pub(super) fraction: u32,
}

/// Parts between two levels.
const PARTS: usize = 256;

/// The level from derivatives: the logarithm of the longer axis of the ellipse that they span, in texels of the first
/// level. A GPU's level is close to it, and equal along one axis only (docs/backends.md has figures).
fn of_derivatives(found: &Descriptor, geometry: Geometry, words: &[u32]) -> f32 {
    let n = geometry.axes();
    let size = found.size(0);
    let scale = |k: usize| match (found.sampler.normalized, geometry.flat_axes() < n) {
        (false, _) => 1.0,
        (true, true) => f64::from(size[0]) / 2.0,
        (true, false) => f64::from(size[k].max(1)),
    };
    let part = |k: usize| f64::from(f32::from_bits(words.get(k).copied().unwrap_or(0)));
    let product = |a: usize, b: usize| -> f64 {
        (0..n).map(|k| part(a + k) * part(b + k) * scale(k) * scale(k)).sum()
    };
    let (a, b, both) = (product(0, 0), product(n, n), product(0, n));
    let longer = (a + b + ((a - b) * (a - b) + 4.0 * both * both).sqrt()) / 2.0;
    (longer.log2() / 2.0) as f32
}

/// The levels for a fetch; `words` are the operands after the coordinates.
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

/// Parts of a level: numbers between are cut off toward zero.
fn parts(level: f32) -> i64 {
    (f64::from(level).clamp(-1e6, 1e6) * PARTS as f64) as i64
}

fn clamped(sampler: &Sampler, level: f32, last: usize) -> Levels {
    let level = if level.is_nan() { 0 } else { parts(level) };
    let [least, most] = sampler.clamp.map(parts);
    // Where both bounds cross, the lower one holds (measured).
    let level = (level + parts(sampler.bias)).min(most).max(least);
    let parts = usize::try_from(level).unwrap_or(0).min(last * PARTS);
    if !sampler.mip_linear {
        let level = ((parts + PARTS / 2) / PARTS).min(last);
        return Levels { at: [level; 2], fraction: 0 };
    }
    let first = parts / PARTS;
    Levels { at: [first, (first + 1).min(last)], fraction: (parts % PARTS) as u32 }
}
