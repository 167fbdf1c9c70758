//! A texture fetch: from coordinates to channels.
//!
//! Owns the order of its steps: layer and face, levels, texels of each axis, weights. Must not know: how an axis, a level
//! or a weight is found.

use super::axis::{Axis, Rule};
use super::descriptor::{Address, Descriptor};
use super::format::{Texel, missing};
use super::{cube, filter, level, read};
use crate::exec::{Cause, Memory};
use crate::sem::texture::{Fetch, Geometry, Texture};
use crate::soft::{self, Round};
use crate::types::Scalar;

/// How many registers a result takes.
pub(super) const fn results(ty: Scalar) -> usize {
    if matches!(ty, Scalar::F16x2) { 2 } else { 4 }
}

/// A fetch: memory, texture, layer or face.
struct Fetcher<'a> {
    memory: &'a dyn Memory,
    found: &'a Descriptor,
    plane: u32,
    /// Channels are integers, given as they are.
    integers: bool,
}

/// What an instruction gives, in the order of its results.
pub(super) fn fetch(
    memory: &dyn Memory,
    found: &Descriptor,
    what: &Texture,
    words: &[u32],
) -> Result<Texel, Cause> {
    let integers = found.format.is_integer() && found.sampler.integers;
    let mut fetcher = Fetcher { memory, found, plane: 0, integers };
    let (coordinates, behind) = words.split_at(what.geometry.coordinates());
    let coordinates = fetcher.place(what.geometry, coordinates);
    let texel = match what.fetch {
        Fetch::Gather(channel) => fetcher.gather(what, coordinates, channel)?,
        _ => fetcher.filtered(what, coordinates, behind)?,
    };
    Ok(result(what.result, texel))
}

/// Channels as the instruction's type has them.
fn result(ty: Scalar, texel: Texel) -> Texel {
    let half = |v: u32| {
        soft::convert(v.into(), soft::Format::F32, soft::Format::F16, Round::Nearest) as u32
    };
    let [r, g, b, a] = texel;
    match ty {
        Scalar::F16 => texel.map(half),
        Scalar::F16x2 => [half(r) | half(g) << 16, half(b) | half(a) << 16, 0, 0],
        _ => texel,
    }
}

impl Fetcher<'_> {
    /// Sets the plane that a layer or a direction chooses; the coordinates in it.
    fn place(&mut self, geometry: Geometry, words: &[u32]) -> [u32; 3] {
        let word = |n: usize| words.get(n).copied().unwrap_or(0);
        let first = usize::from(geometry.is_layered());
        let mut coordinates = [word(first), word(first + 1), word(first + 2)];
        let depth = self.found.extent[2].max(1);
        let faces = if geometry.flat_axes() < geometry.axes() { 6 } else { 1 };
        if geometry.is_layered() {
            self.plane = word(0).min((depth / faces).max(1) - 1) * faces;
        }
        if faces > 1 {
            let (face, [s, t]) = cube::face(coordinates.map(f32::from_bits));
            coordinates = [s.to_bits(), t.to_bits(), 0];
            self.plane += face;
        }
        coordinates
    }

    fn rule(&self, what: &Texture, level: usize, axis: usize) -> Rule {
        let (size, sampler) = (self.found.size(level), &self.found.sampler);
        let cube = what.geometry.flat_axes() < what.geometry.axes();
        Rule {
            size: size[axis].max(1),
            address: if cube { Address::Clamp } else { sampler.address[axis] },
            normalized: sampler.normalized || cube,
            offset: what.offset[axis].into(),
        }
    }

    fn filtered(&self, what: &Texture, at: [u32; 3], behind: &[u32]) -> Result<Texel, Cause> {
        let levels = level::choose(self.found, what.fetch, what.geometry, what.integer, behind);
        let [first, second] = levels.at;
        let a = self.level(what, at, first)?;
        if levels.fraction == 0 || first == second {
            return Ok(a);
        }
        let b = self.level(what, at, second)?;
        if self.integers {
            return Ok(a);
        }
        Ok(std::array::from_fn(|n| {
            let (a, b) = (f32::from_bits(a[n]), f32::from_bits(b[n]));
            filter::blend(levels.fraction, a, b).to_bits()
        }))
    }

    /// One level's texel, or the mean of those around.
    fn level(&self, what: &Texture, at: [u32; 3], level: usize) -> Result<Texel, Cause> {
        let n = what.geometry.flat_axes();
        let linear = self.found.sampler.linear && !self.integers && !what.integer;
        let mut axes = [Axis { at: [Some(0); 2], fraction: 0 }; 3];
        for (k, axis) in axes.iter_mut().enumerate().take(n) {
            let rule = self.rule(what, level, k);
            *axis = match (what.integer, linear) {
                _ if self.found.linear => self.in_line(at[0], what.integer),
                (true, _) => rule.numbered(at[k] as i32),
                (false, true) => rule.around(f32::from_bits(at[k])),
                (false, false) => rule.nearest(f32::from_bits(at[k])),
            };
        }
        let axes = axes.get(..n).unwrap_or_default();
        if !linear {
            return self.texel(level, axes, 0);
        }
        let (mut weights, mut values) = ([0.0; 8], [[0.0; 8]; 4]);
        let corners = 1usize << n;
        for corner in 0..corners {
            weights[corner] = filter::weight(axes, corner);
            if weights[corner] != 0.0 {
                let texel = self.texel(level, axes, corner)?;
                for (channel, value) in values.iter_mut().zip(texel) {
                    channel[corner] = f32::from_bits(value);
                }
            }
        }
        let weights = weights.get(..corners).unwrap_or_default();
        Ok(values.map(|channel| filter::mean(weights, &channel).to_bits()))
    }

    /// Linear memory: a texel by its number, nothing outside.
    fn in_line(&self, word: u32, integer: bool) -> Axis {
        let n = if integer { i64::from(word as i32) } else { f32::from_bits(word).floor() as i64 };
        let inside = (0..i64::from(self.found.extent[0])).contains(&n);
        Axis { at: [inside.then_some(n as u32); 2], fraction: 0 }
    }

    /// The texel at a corner of a footprint.
    fn texel(&self, level: usize, axes: &[Axis], corner: usize) -> Result<Texel, Cause> {
        let mut place = [0; 3];
        for (k, axis) in axes.iter().enumerate() {
            match axis.at[corner >> k & 1] {
                Some(n) => place[k] = n,
                None => return Ok(self.outside()),
            }
        }
        place[2] += self.plane;
        let format = self.found.format;
        let [x, y, z] = place.map(u64::from);
        let [width, rows, _] = self.found.size(level).map(|n| u64::from(n.max(1)));
        let bytes = format.bytes() as u64;
        let pitch = if self.found.pitch > 0 { self.found.pitch } else { width * bytes };
        let base = self.found.levels.get(level).copied().unwrap_or(0);
        let address = (z * rows + y).wrapping_mul(pitch).wrapping_add(x * bytes).wrapping_add(base);
        let mut texel = [0; 16];
        let texel = texel.get_mut(..format.bytes()).unwrap_or_default();
        read(self.memory, address, texel)?;
        Ok(match self.integers {
            true => format.integers(texel),
            false => format.numbers(texel, self.found.sampler.srgb).map(f32::to_bits),
        })
    }

    /// What is outside: the border's colour, as far as the format has channels; nothing in linear memory.
    fn outside(&self) -> Texel {
        let channels = usize::from(self.found.format.channels);
        std::array::from_fn(|n| match n < channels {
            _ if self.found.linear => 0,
            true => self.found.sampler.border[n],
            false => missing(n, self.integers),
        })
    }

    /// One channel of the four texels around, counter-clockwise from the lower left.
    fn gather(&self, what: &Texture, at: [u32; 3], channel: u8) -> Result<Texel, Cause> {
        let axes: [Axis; 2] =
            std::array::from_fn(|k| self.rule(what, 0, k).around(f32::from_bits(at[k])));
        let mut all = [0; 4];
        for (to, corner) in all.iter_mut().zip([2, 3, 1, 0]) {
            *to = self.texel(0, &axes, corner)?[usize::from(channel & 3)];
        }
        Ok(all)
    }
}
