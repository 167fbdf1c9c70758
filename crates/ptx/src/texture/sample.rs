//! A texture fetch: from coordinates to channels.
//!
//! Owns the order of its steps: layer and face, levels, texels of each axis, weights. Must not know: how an axis, a level
//! or a weight is found.

use super::axis::{Axis, Rule};
use super::descriptor::Descriptor;
use super::format::Texel;
use super::texel::read;
use super::{cube, filter, level};
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
            address: sampler.address[axis],
            normalized: sampler.normalized || cube,
            offset: what.offset[axis].into(),
        }
    }

    fn filtered(&self, what: &Texture, at: [u32; 3], behind: &[u32]) -> Result<Texel, Cause> {
        let levels = level::choose(self.found, what.fetch, what.geometry, what.integer, behind);
        let [first, second] = levels.at;
        if levels.fraction == 0 || first == second || self.integers {
            return self.level(what, at, first);
        }
        if self.is_linear(what) && what.geometry.flat_axes() < 3 {
            // Both levels' planes are summed as those of a volume.
            let (a, b) = (self.axes(what, at, first), self.axes(what, at, second));
            let n = Self::count(self.found, what.geometry);
            let weights = filter::between(&a[..n], &b[..n], levels.fraction);
            let places = [(first, &a[..n]), (second, &b[..n])];
            return self.weighed(&weights, |corner| {
                (places[corner >> 2].0, places[corner >> 2].1, corner & 3)
            });
        }
        let (a, b) = (self.level(what, at, first)?, self.level(what, at, second)?);
        Ok(std::array::from_fn(|n| filter::blend(levels.fraction, a[n], b[n])))
    }

    /// Axes of a footprint. A row is a plane of one row, read at its upper edge, where its border shows (measured).
    const fn count(found: &Descriptor, geometry: Geometry) -> usize {
        match geometry {
            Geometry::D1 if !found.linear => 2,
            other => other.flat_axes(),
        }
    }

    /// Whether a fetch weighs neighbours.
    const fn is_linear(&self, what: &Texture) -> bool {
        self.found.sampler.linear && !self.integers && !what.integer && !self.found.linear
    }

    /// The texels of each axis that a level's footprint has.
    fn axes(&self, what: &Texture, at: [u32; 3], level: usize) -> [Axis; 3] {
        let linear = self.is_linear(what);
        let mut axes = [Axis { at: [Some(0); 2], fraction: 0 }; 3];
        for (k, axis) in axes.iter_mut().enumerate().take(Self::count(self.found, what.geometry)) {
            let rule = self.rule(what, level, k);
            let at = if k < what.geometry.flat_axes() { at[k] } else { 0 };
            *axis = match (what.integer, linear) {
                _ if self.found.linear => self.in_line(at, what.integer),
                (true, _) => rule.numbered(at as i32),
                (false, true) => rule.around(f32::from_bits(at)),
                (false, false) => rule.nearest(f32::from_bits(at)),
            };
        }
        axes
    }

    /// The mean of corners' texels, each in a level at a corner of axes.
    fn weighed<'x>(
        &self,
        weights: &[u32; 8],
        place: impl Fn(usize) -> (usize, &'x [Axis], usize),
    ) -> Result<Texel, Cause> {
        let mut values = [[0; 8]; 4];
        for corner in (0..8).filter(|corner| weights[*corner] > 0) {
            let (level, axes, at) = place(corner);
            let texel = self.texel(level, axes, at, true)?;
            for (channel, value) in values.iter_mut().zip(texel) {
                channel[corner] = value;
            }
        }
        let (format, srgb) = (self.found.format, self.found.sampler.srgb);
        Ok(std::array::from_fn(|n| filter::mean(format.scale(n, srgb), weights, &values[n])))
    }

    /// One level's texel, or the mean of those around.
    fn level(&self, what: &Texture, at: [u32; 3], level: usize) -> Result<Texel, Cause> {
        let all = self.axes(what, at, level);
        let axes = all.get(..Self::count(self.found, what.geometry)).unwrap_or_default();
        // With integer coordinates nothing is outside, and a one-dimensional array has no texels at all (measured).
        let by_number = what.integer || self.found.linear;
        let none = axes.iter().any(|axis| axis.at[0].is_none());
        let row = what.geometry == Geometry::D1 && !self.found.linear;
        if by_number && (none || row) {
            return Ok([0; 4]);
        }
        if !self.is_linear(what) {
            return self.texel(level, axes, 0, false);
        }
        self.weighed(&filter::weights(axes), |corner| (level, axes, corner))
    }

    /// Linear memory: a texel by its number, nothing outside.
    fn in_line(&self, word: u32, integer: bool) -> Axis {
        let n = if integer { i64::from(word as i32) } else { f32::from_bits(word).floor() as i64 };
        let inside = (0..i64::from(self.found.extent[0])).contains(&n);
        Axis { at: [inside.then_some(n as u32); 2], fraction: 0 }
    }

    /// The texel at a corner of a footprint, for the filter or unfiltered.
    fn texel(
        &self,
        level: usize,
        axes: &[Axis],
        corner: usize,
        weighed: bool,
    ) -> Result<Texel, Cause> {
        let mut place = [0; 3];
        for (k, axis) in axes.iter().enumerate() {
            match axis.at[corner >> k & 1] {
                Some(n) => place[k] = n,
                None => return Ok(self.outside(weighed)),
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
        let srgb = self.found.sampler.srgb;
        Ok(match weighed {
            true => format.weighable(texel, srgb),
            false if self.integers => format.integers(texel),
            false => format.numbers(texel, srgb).map(f32::to_bits),
        })
    }

    /// Texels outside: the border's colour, as far as the format has channels.
    fn outside(&self, weighed: bool) -> Texel {
        let format = self.found.format;
        std::array::from_fn(|n| match n < usize::from(format.channels) {
            true if weighed => {
                format.weighable_border(self.found.sampler.border[n], n, self.found.sampler.srgb)
            }
            true => format.border(self.found.sampler.border[n], self.integers),
            false => 0,
        })
    }

    /// One channel of the four texels around, counter-clockwise from the lower left.
    fn gather(&self, what: &Texture, at: [u32; 3], channel: u8) -> Result<Texel, Cause> {
        let axes: [Axis; 2] =
            std::array::from_fn(|k| self.rule(what, 0, k).around(f32::from_bits(at[k])));
        let mut all = [0; 4];
        for (to, corner) in all.iter_mut().zip([2, 3, 1, 0]) {
            *to = self.texel(0, &axes, corner, false)?[usize::from(channel & 3)];
        }
        Ok(all)
    }
}
