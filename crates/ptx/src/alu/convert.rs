//! Conversions between all types.

use super::float::{canonical, clamp, flush, format, quiet};
use super::int::{cut, range, value};
use super::out::mask;
use crate::sem::{Clamp, Convert, Mode};
use crate::soft::{self, Format, Round};
use crate::types::Scalar;

pub(super) fn eval(i: Convert, a: [u64; 5]) -> u64 {
    match i {
        Convert::Integer { from, to, saturate } => {
            let v = value(a[0], from);
            let (low, high) = range(to);
            extended(cut(if saturate { v.clamp(low, high) } else { v }, to.bits()), to)
        }
        Convert::FromInteger { from, to, round, clamp: how } => {
            let v = value(a[0], from);
            let bits = soft::from_int(v < 0, v.unsigned_abs() as u64, format(to), round);
            clamp(how, bits, format(to))
        }
        Convert::ToInteger { from, to, round, flush } => {
            extended(to_int(to, from, round, flush, a[0]), to)
        }
        Convert::Float { from, to, mode } => to_float(mode, to, from, a[0]),
        Convert::Tf32(Mode { round: Round::Away, finite, .. }) => {
            tf32_away(finite, a[0] & mask(32))
        }
        Convert::Tf32(mode) => {
            let v = soft::convert(a[0] & mask(32), Format::F32, Format::TF32, mode.round);
            clamp(mode.clamp, v << 13, Format::F32)
        }
        // The first operand becomes the upper half.
        Convert::Halves { to, mode } => {
            let half = |v| to_float(mode, to, Scalar::F32, v);
            half(a[1]) | half(a[0]) << 16
        }
        Convert::SinglesToBytes { to, relu } => {
            let byte = |v: u64| narrow(relu, to, f64::from(f32::from_bits(v as u32)));
            byte(a[1]) | byte(a[0]) << 8
        }
        Convert::HalvesToBytes { to, relu } => {
            let x = |v| soft::convert(v, Format::F16, Format::F64, Round::Nearest);
            let byte = |v: u64| narrow(relu, to, f64::from_bits(x(v & 0xffff)));
            byte(a[0]) | byte(a[0] >> 16) << 8
        }
        Convert::BytesToHalves { from, clamp: how } => {
            let half = |v: u64| clamp(how, widen(from, v as u8), Format::F16);
            half(a[0] & 0xff) | half(a[0] >> 8 & 0xff) << 16
        }
        Convert::Pack { to } => pack(to, a),
    }
}

/// A result in a register that may be wider: signed ones with their sign.
fn extended(bits: u64, ty: Scalar) -> u64 {
    let shift = 64 - ty.bits();
    if ty.is_signed() { ((bits << shift) as i64 >> shift) as u64 } else { bits }
}

/// To TensorFloat-32, ties away from zero. An H100 adds half a unit to the bits and cuts off the rest, of a NaN
/// without adding; with `.satfinite` what then has the exponent of infinity is a unit less, NaNs too.
fn tf32_away(finite: bool, bits: u64) -> u64 {
    let half = if Format::F32.is_nan(bits) { 0 } else { 0x1000 };
    let v = (bits + half) & 0xffff_e000;
    let beyond = v & Format::F32.infinity() == Format::F32.infinity();
    if beyond && finite { v - 0x2000 } else { v }
}

/// Infinity becomes the largest number.
fn finite(bits: u64, f: Format) -> u64 {
    if f.is_infinite(bits) { bits & f.sign() | f.largest() } else { bits }
}

fn to_float(i: Mode, d: Scalar, s: Scalar, a: u64) -> u64 {
    let (from, to) = (format(s), format(d));
    let mut v = a & mask(s.bits());
    // A GPU does not flush what becomes a half, though the ISA has it so.
    if i.flush && s == Scalar::F32 && d != Scalar::F16 {
        v = flush(v, from);
    }
    if from.is_nan(v) && keeps_nan(i, d, s) {
        // Flushing uses an instruction that returns its own NaN.
        if i.flush && d == Scalar::F64 {
            v = from.nan();
        }
        return payload(v, from, to, d != s || i.whole);
    }
    let mut out = if i.whole { integer_part(v, from, i.round) } else { v };
    out = soft::convert(out, from, to, i.round);
    if i.finite {
        out = finite(out, to);
    }
    if i.flush && d == Scalar::F32 {
        out = flush(out, to);
    }
    clamp(i.clamp, canonical(out, to), to)
}

/// Whether a NaN keeps its payload, as conversions from and to doubles have it on a
/// GPU, and those that change nothing or append zeros.
fn keeps_nan(i: Mode, d: Scalar, s: Scalar) -> bool {
    let same = d == s && !i.whole && !i.flush;
    i.clamp == Clamp::None
        && !i.finite
        && (d == Scalar::F64
            || s == Scalar::F64
            || same && d == Scalar::F32
            || (d, s) == (Scalar::F32, Scalar::Bf16) && !i.flush)
}

/// A NaN in another format: the upper bits of its payload.
fn payload(bits: u64, from: Format, to: Format, silent: bool) -> u64 {
    let sign = if bits & from.sign() != 0 { to.sign() } else { 0 };
    let part = bits & ((1 << from.fraction) - 1);
    let part = if to.fraction >= from.fraction {
        part << (to.fraction - from.fraction)
    } else {
        part >> (from.fraction - to.fraction)
    };
    let nan = sign | to.infinity() | part;
    // One bfloat16 is the upper half of a single: that signals on.
    let appended = (from, to) == (Format::BF16, Format::F32);
    if silent && !appended { quiet(nan, to) } else { nan }
}

/// Rounds to a whole number in the same format.
fn integer_part(bits: u64, f: Format, r: Round) -> u64 {
    if f.is_nan(bits) || f.is_infinite(bits) {
        return bits;
    }
    // From here on all numbers are whole.
    if soft::unpack(bits, f).is_none_or(|v| v.exponent >= 0) {
        return bits;
    }
    match soft::to_int(bits, f, r) {
        Some((negative, n)) => {
            let sign = bits & f.sign();
            sign | soft::from_int(negative, n as u64, f, Round::Nearest) & !f.sign()
        }
        None => f.nan(),
    }
}

fn to_int(d: Scalar, s: Scalar, round: Round, ftz: bool, a: u64) -> u64 {
    let f = format(s);
    let mut v = a & mask(s.bits());
    if ftz && s == Scalar::F32 {
        v = flush(v, f);
    }
    match soft::to_int(v, f, round) {
        // ISA, `cvt`: NaN gives 0, or the highest bit where 64 bits are involved.
        None if s == Scalar::F64 || d.bits() == 64 => 1 << (d.bits() - 1),
        None => 0,
        Some((negative, n)) => {
            let (low, high) = range(d);
            let n = n as i128;
            cut(if negative { -n } else { n }.clamp(low, high), d.bits())
        }
    }
}

/// `cvt.pack.sat`: two saturated values below the bits of the third operand.
fn pack(ty: Scalar, a: [u64; 5]) -> u64 {
    let bits = ty.bits();
    let (low, high) = match ty {
        Scalar::U4 => (0, 15),
        Scalar::S4 => (-8, 7),
        _ => range(ty),
    };
    let one = |v: u64| cut(value(v, Scalar::S32).clamp(low, high), bits);
    let pair = one(a[0]) << bits | one(a[1]);
    (a[2] << (2 * bits) | pair) & mask(32)
}

/// Fraction bits, least normal exponent, and largest code of an FP8 type.
fn shape(ty: Scalar) -> (i32, i32, u64) {
    if ty == Scalar::E4m3x2 { (3, -6, 0x7e) } else { (2, -14, 0x7b) }
}

/// A number to FP8, to nearest, saturating (`.satfinite` is required there).
fn narrow(relu: bool, ty: Scalar, x: f64) -> u64 {
    let (fraction, least, largest) = shape(ty);
    if x.is_nan() {
        return 0x7f;
    }
    if relu && x.is_sign_negative() {
        return 0;
    }
    let sign = u64::from(x.is_sign_negative()) << 7;
    let m = x.abs();
    if m.is_infinite() {
        return sign | largest;
    }
    let exponent = (m.to_bits() >> 52) as i32 - 1023;
    let unit = exponent.max(least);
    let steps = (m * f64::from(fraction - unit).exp2()).round_ties_even() as u64;
    sign | (((unit - least) as u64) << fraction).saturating_add(steps).min(largest)
}

/// FP8 (its packed type) to half precision, which holds every such number.
pub(crate) fn widen(ty: Scalar, v: u8) -> u64 {
    let (fraction, least, largest) = shape(ty);
    let magnitude = u64::from(v & 0x7f);
    let negative = v & 0x80 != 0;
    let sign = if negative { Format::F16.sign() } else { 0 };
    if magnitude > largest {
        return if ty == Scalar::E5m2x2 && magnitude == 0x7c {
            sign | Format::F16.infinity()
        } else {
            Format::F16.nan()
        };
    }
    let field = (magnitude >> fraction) as i32;
    let part = (magnitude & mask(fraction as u32)) as f64;
    let (m, e) = if field == 0 {
        (part, least)
    } else {
        (part + f64::from(1 << fraction), least + field - 1)
    };
    let x = m * f64::from(e - fraction).exp2();
    sign | soft::convert(x.to_bits(), Format::F64, Format::F16, Round::Nearest)
}
