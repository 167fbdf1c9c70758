//! Formats of texels: channels of integers or floating-point numbers.
//!
//! Owns the table of formats, and the conversion between bytes and values. Must not know: where texels are, how they
//! are weighted.

use super::scale::{EIGHTHS, Scale};
use crate::soft::{self, Round};

/// What a channel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An unsigned integer; as a fraction, of its greatest value.
    Unsigned,
    /// A signed integer; as a fraction, of its greatest value, and -1 at least.
    Signed,
    /// A floating-point number.
    Float,
    /// An unsigned integer that is always read as a fraction.
    UnsignedNormalized,
    /// A signed one.
    SignedNormalized,
}

/// What a texel is: up to four channels of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// What a channel is.
    pub kind: Kind,
    /// Bits of a channel: 8, 16 or 32.
    pub bits: u8,
    /// 1, 2 or 4.
    pub channels: u8,
}

/// A texel's channels, as bits of integers or of `f32`.
pub type Texel = [u32; 4];

const KINDS: [Kind; 5] =
    [Kind::Unsigned, Kind::Signed, Kind::Float, Kind::UnsignedNormalized, Kind::SignedNormalized];

impl Format {
    /// The number that encodes it.
    pub(super) fn code(self) -> u64 {
        let kind = KINDS.iter().position(|kind| *kind == self.kind).unwrap_or(0) as u64;
        kind | u64::from(self.bits) << 8 | u64::from(self.channels) << 16
    }

    /// The format of a number.
    pub(super) fn from_code(code: u64) -> Option<Format> {
        let kind = *KINDS.get(usize::try_from(code & 0xff).ok()?)?;
        let (bits, channels) = ((code >> 8) as u8, (code >> 16) as u8);
        let known = matches!(bits, 8 | 16 | 32) && matches!(channels, 1 | 2 | 4);
        known.then_some(Format { kind, bits, channels })
    }

    /// Bytes of a texel.
    pub const fn bytes(self) -> usize {
        self.bits as usize / 8 * self.channels as usize
    }

    /// Whether channels are integers that may be returned unchanged.
    pub const fn is_integer(self) -> bool {
        matches!(self.kind, Kind::Unsigned | Kind::Signed)
    }

    /// Channel `n` of a texel's bytes: zeros above an unsigned integer and a half, the sign above a signed one.
    fn raw(self, texel: &[u8], n: usize) -> u32 {
        let width = usize::from(self.bits) / 8;
        let at = n * width;
        let word = texel.get(at..at + width).unwrap_or_default();
        let value = word.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte));
        let signed = matches!(self.kind, Kind::Signed | Kind::SignedNormalized);
        let shift = 32 - u32::from(self.bits);
        if signed { ((value << shift) as i32 >> shift) as u32 } else { value }
    }

    /// Channels as they are: integers extended to 32 bits, numbers as bits of `f32`. What a texel has not is 0 (measured).
    pub fn integers(self, texel: &[u8]) -> Texel {
        std::array::from_fn(|n| match n < usize::from(self.channels) {
            true if self.kind == Kind::Float && self.bits == 16 => half(self.raw(texel, n)),
            true => self.raw(texel, n),
            false => 0,
        })
    }

    /// Channels as numbers: integers are fractions.
    pub fn numbers(self, texel: &[u8], srgb: bool) -> [f32; 4] {
        std::array::from_fn(|n| match n < usize::from(self.channels) {
            true => {
                self.number(self.raw(texel, n), srgb && (n == 0 || n < 3 && self.channels == 4))
            }
            false => 0.0,
        })
    }

    fn number(self, raw: u32, srgb: bool) -> f32 {
        let most = f64::from(u32::MAX >> (32 - u32::from(self.bits)));
        match self.kind {
            Kind::Float if self.bits == 16 => f32::from_bits(half(raw)),
            Kind::Float => f32::from_bits(raw),
            Kind::Unsigned | Kind::UnsignedNormalized if srgb && self.bits == 8 => {
                super::srgb::linear(raw as u8)
            }
            Kind::Unsigned | Kind::UnsignedNormalized => (f64::from(raw) / most) as f32,
            Kind::Signed | Kind::SignedNormalized => {
                let most = (most - 1.0) / 2.0;
                (f64::from(raw as i32) / most).max(-1.0) as f32
            }
        }
    }

    /// Whether channel `n` is in sRGB, where colours are: of fewer than four channels the first.
    const fn is_srgb(self, n: usize, srgb: bool) -> bool {
        srgb && self.bits == 8
            && !matches!(self.kind, Kind::Float)
            && (n == 0 || n < 3 && self.channels == 4)
    }

    /// What the filter's values of channel `n` are.
    pub(super) fn scale(self, n: usize, srgb: bool) -> Scale {
        match self.kind {
            Kind::Float if self.bits == 16 => Scale::Half,
            Kind::Float => Scale::Single,
            _ if self.is_srgb(n, srgb) => Scale::Half,
            Kind::Unsigned | Kind::UnsignedNormalized => Scale::Fraction(0xffff),
            Kind::Signed | Kind::SignedNormalized => Scale::Fraction(0x7fff),
        }
    }

    /// Channels as the filter takes them.
    pub(super) fn weighable(self, texel: &[u8], srgb: bool) -> Texel {
        let numbers = self.numbers(texel, srgb);
        std::array::from_fn(|n| match self.scale(n, srgb) {
            _ if n >= usize::from(self.channels) => 0,
            Scale::Fraction(most) => self.eighths(i64::from(self.raw(texel, n) as i32), most),
            _ => numbers[n].to_bits(),
        })
    }

    /// An integer as a fraction of 16 bits, in eighths of a unit.
    fn eighths(self, value: i64, most: u32) -> u32 {
        let signed = matches!(self.kind, Kind::Signed | Kind::SignedNormalized);
        let own = i64::from(u32::MAX >> (32 - u32::from(self.bits) + u32::from(signed)));
        (value * i64::from(most) * EIGHTHS).div_euclid(own.max(1)) as i32 as u32
    }

    /// A border's channel as the filter takes it.
    pub(super) fn weighable_border(self, bits: u32, n: usize, srgb: bool) -> u32 {
        let number = self.border(bits, false);
        match self.scale(n, srgb) {
            Scale::Fraction(most) => {
                let signed = matches!(self.kind, Kind::Signed | Kind::SignedNormalized);
                let own = u32::MAX >> (32 - u32::from(self.bits) + u32::from(signed));
                let value = (f64::from(f32::from_bits(number)) * f64::from(own)).round() as i64;
                self.eighths(value, most)
            }
            _ => number,
        }
    }

    /// A border's channel as the format has it: fractions cut off toward zero, of integers as many bits as there are
    /// (measured).
    pub(super) fn border(self, bits: u32, integers: bool) -> u32 {
        let unused = 32 - u32::from(self.bits);
        let signed = matches!(self.kind, Kind::Signed | Kind::SignedNormalized);
        match self.kind {
            Kind::Float if self.bits == 16 => {
                let (wide, narrow) = (soft::Format::F32, soft::Format::F16);
                half(soft::convert(bits.into(), wide, narrow, Round::Zero) as u32)
            }
            Kind::Float => bits,
            _ if integers && signed => ((bits << unused) as i32 >> unused) as u32,
            _ if integers => bits << unused >> unused,
            _ => {
                let most = f64::from(u32::MAX >> (unused + u32::from(signed)));
                let least = if signed { -1.0 } else { 0.0 };
                let number = f64::from(f32::from_bits(bits)).clamp(least, 1.0);
                (((number * most).trunc() / most) as f32).to_bits()
            }
        }
    }

    /// A texel's bytes of values, as `sust.p` stores them.
    pub fn store(self, values: &[u32], to: &mut [u8]) {
        let width = usize::from(self.bits) / 8;
        for (n, place) in to.chunks_exact_mut(width).enumerate() {
            let value = self.stored(values.get(n).copied().unwrap_or(0));
            let bytes = value.to_le_bytes();
            place.copy_from_slice(bytes.get(..width).unwrap_or_default());
        }
    }

    fn stored(self, value: u32) -> u32 {
        let number = f32::from_bits(value);
        let bits = u32::from(self.bits);
        match self.kind {
            Kind::Float if bits == 16 => {
                let (from, to) = (soft::Format::F32, soft::Format::F16);
                soft::convert(value.into(), from, to, Round::Nearest) as u32
            }
            Kind::Float => value,
            Kind::Unsigned => value.min(u32::MAX >> (32 - bits)),
            Kind::Signed => {
                let most = (u32::MAX >> (33 - bits)) as i32;
                (value as i32).clamp(-most - 1, most) as u32
            }
            Kind::UnsignedNormalized => {
                let most = f64::from(u32::MAX >> (32 - bits));
                (f64::from(number).clamp(0.0, 1.0) * most).round_ties_even() as u32
            }
            Kind::SignedNormalized => {
                let most = f64::from(u32::MAX >> (33 - bits));
                (f64::from(number).clamp(-1.0, 1.0) * most).round_ties_even() as i32 as u32
            }
        }
    }
}

/// A half as bits of `f32`; a NaN keeps its bits (measured).
fn half(bits: u32) -> u32 {
    if bits & 0x7fff > 0x7c00 {
        return (bits & 0x8000) << 16 | 0x7f80_0000 | (bits & 0x3ff) << 13;
    }
    let (from, to) = (soft::Format::F16, soft::Format::F32);
    soft::convert((bits & 0xffff).into(), from, to, Round::Nearest) as u32
}
