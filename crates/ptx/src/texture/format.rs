//! What texels are: channels of integers or floating-point numbers.
//!
//! Owns the table of kinds, and how bytes become values and values bytes. Must not know: where texels lie, how they are
//! weighed.

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
    /// An unsigned integer that is a fraction however it is read.
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
    /// A number that stands for it.
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

    /// Whether channels are integers that may be given as they are.
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

    /// Channels as they are: integers extended to 32 bits, numbers as bits of `f32`. What a texel has not is 0, and 1 in
    /// the fourth channel.
    pub fn integers(self, texel: &[u8]) -> Texel {
        std::array::from_fn(|n| match n < usize::from(self.channels) {
            true if self.kind == Kind::Float && self.bits == 16 => half(self.raw(texel, n)),
            true => self.raw(texel, n),
            false => missing(n, self.is_integer()),
        })
    }

    /// Channels as numbers: integers are fractions.
    pub fn numbers(self, texel: &[u8], srgb: bool) -> [f32; 4] {
        std::array::from_fn(|n| match n < usize::from(self.channels) {
            true => self.number(self.raw(texel, n), srgb && n < 3),
            false => f32::from_bits(missing(n, false)),
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

/// A channel that a texel has not.
pub(super) const fn missing(n: usize, integers: bool) -> u32 {
    match (n, integers) {
        (3, true) => 1,
        (3, false) => 0x3f80_0000,
        _ => 0,
    }
}

fn half(bits: u32) -> u32 {
    let (from, to) = (soft::Format::F16, soft::Format::F32);
    soft::convert((bits & 0xffff).into(), from, to, Round::Nearest) as u32
}
