//! Converts a coordinate to texels of one axis.
//!
//! Owns address modes and the fixed-point format of positions: a texel has 256 parts. Must not know: what texels are.

use super::descriptor::Address;

/// Parts of a texel.
pub(super) const PARTS: i64 = 256;

/// One or two texels of an axis, and how far the position lies from the first to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Axis {
    /// Texels by number; `None` is outside, where the border's colour is.
    pub(super) at: [Option<u32>; 2],
    /// Parts of [`PARTS`]; 0 where there is only one texel.
    pub(super) fraction: u32,
}

/// How an axis is addressed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub(super) size: u32,
    pub(super) address: Address,
    pub(super) normalized: bool,
    pub(super) offset: i64,
}

/// Positions beyond this are as good as outside: sizes are below 2^18.
const FAR: f64 = 1e9;

/// Bits below the point that coordinates from 0 to 1 are cut off to, by the size of the axis: larger axes have more.
const KEPT: [(u32, i32); 3] = [(1 << 13, 21), (1 << 16, 22), (u32::MAX, 23)];

impl Rule {
    /// The position in texels, of an axis that begins again after one or two sizes. Subnormal coordinates are 0.
    fn position(&self, coordinate: f32) -> f64 {
        if coordinate.is_nan() || coordinate.is_subnormal() {
            return 0.0;
        }
        let x = f64::from(coordinate);
        if !self.normalized {
            return x.clamp(-FAR, FAR);
        }
        if x.is_infinite() && matches!(self.address, Address::Wrap | Address::Mirror) {
            return 0.0;
        }
        let bits = KEPT.iter().find(|(most, _)| self.size <= *most).map_or(21, |(_, bits)| *bits);
        let unit = 2f64.powi(bits);
        let cut = (x.clamp(-FAR, FAR) * unit).floor() / unit;
        let part = match self.address {
            Address::Wrap => cut - cut.floor(),
            Address::Mirror => cut.rem_euclid(2.0),
            _ => cut,
        };
        (part * f64::from(self.size)).clamp(-FAR, FAR)
    }

    /// The texel of a number that may lie outside.
    fn texel(&self, n: i64) -> Option<u32> {
        let size = i64::from(self.size.max(1));
        let n = n + self.offset;
        let inside = match self.address {
            Address::Wrap if self.normalized => n.rem_euclid(size),
            Address::Border if !(0..size).contains(&n) => return None,
            Address::Mirror if self.normalized => {
                let n = n.rem_euclid(2 * size);
                n.min(2 * size - 1 - n)
            }
            _ => n.clamp(0, size - 1),
        };
        Some(inside as u32)
    }

    /// The nearest texel.
    pub(super) fn nearest(&self, coordinate: f32) -> Axis {
        let n = self.position(coordinate).floor() as i64;
        Axis { at: [self.texel(n); 2], fraction: 0 }
    }

    /// The two texels around a position.
    pub(super) fn around(&self, coordinate: f32) -> Axis {
        let parts = (self.position(coordinate) * PARTS as f64 + 0.5).floor() as i64 - PARTS / 2;
        let n = parts.div_euclid(PARTS);
        let fraction = parts.rem_euclid(PARTS) as u32;
        Axis { at: [self.texel(n), self.texel(n + 1)], fraction }
    }

    /// A texel by its number: no address mode applies.
    pub(super) fn numbered(&self, n: i32) -> Axis {
        let n = i64::from(n) + self.offset;
        let inside = (0..i64::from(self.size)).contains(&n);
        Axis { at: [inside.then_some(n as u32); 2], fraction: 0 }
    }
}
