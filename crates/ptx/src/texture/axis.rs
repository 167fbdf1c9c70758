//! From a coordinate to texels of one axis.
//!
//! Owns address modes and the fixed point of positions: texels are 256 parts wide. Must not know: what texels are.

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

impl Rule {
    /// The position in texels. Of coordinates from 0 to 1, what the address mode makes of the whole part comes before
    /// the product.
    fn position(&self, coordinate: f32) -> f64 {
        if coordinate.is_nan() {
            return 0.0;
        }
        let x = f64::from(coordinate);
        let size = f64::from(self.size);
        let x = match (self.normalized, self.address) {
            (false, _) => x,
            (true, _) if x.is_infinite() => 0.0,
            (true, Address::Wrap) => (x - x.floor()) * size,
            (true, Address::Mirror) => {
                let part = x - x.floor();
                size * if x.floor().rem_euclid(2.0) == 0.0 { part } else { 1.0 - part }
            }
            (true, _) => x * size,
        };
        x.clamp(-FAR, FAR)
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

    /// A texel by its number.
    pub(super) fn numbered(&self, n: i32) -> Axis {
        Axis { at: [self.texel(n.into()); 2], fraction: 0 }
    }
}
