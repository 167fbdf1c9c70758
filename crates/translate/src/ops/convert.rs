//! Conversions between all types.

use super::format::{self, canonical, clamp, flush, format, is_nan, number};
use super::out::{Missing, pair};
use super::round;
use crate::llvm::{Body, Type, Value};
use cushim_ptx::sem::{Clamp, Convert, Mode};
use cushim_ptx::soft::{Format, Round};
use cushim_ptx::types::Scalar;

pub(super) fn eval(b: &mut Body, i: Convert, a: [Value; 5]) -> Result<Value, Missing> {
    Ok(match i {
        Convert::Integer { from, to, saturate } => {
            let v = integer(b, from, a[0]);
            let v = if saturate { clamped(b, v, to) } else { v };
            extended(b, v, to)
        }
        Convert::FromInteger { from, to, round, clamp: how } => {
            let v = from_integer(b, from, to, round, a[0]);
            clamp(b, how, v, format(to))
        }
        Convert::ToInteger { from, to, round, flush } => {
            let v = to_integer(b, to, from, round, flush, a[0])?;
            extended(b, v, to)
        }
        Convert::Float { from, to, mode } => to_float(b, mode, to, from, a[0])?,
        Convert::Tf32(mode) => tf32(b, mode, a[0]),
        // The first operand becomes the upper half.
        Convert::Halves { to, mode } => {
            let low = to_float(b, mode, to, Scalar::F32, a[1])?;
            let high = to_float(b, mode, to, Scalar::F32, a[0])?;
            pair(b, low, high)
        }
        Convert::SinglesToBytes { to, relu } => {
            let [high, low] = [a[0], a[1]].map(|v| {
                let v = format::double(b, v, Format::F32);
                to_byte(b, relu, to, v)
            });
            joined(b, low, high)
        }
        Convert::HalvesToBytes { to, relu } => {
            let [low, high] = [0, 16].map(|by| {
                let v = b.fit(a[0], 32);
                let v = b.with("lshr", v, by);
                let v = format::double(b, v, Format::F16);
                to_byte(b, relu, to, v)
            });
            joined(b, low, high)
        }
        Convert::BytesToHalves { from, clamp: how } => {
            let [low, high] = [0, 8].map(|by| {
                let v = b.fit(a[0], 16);
                let v = b.with("lshr", v, by);
                let v = from_byte(b, from, v);
                clamp(b, how, v, Format::F16)
            });
            pair(b, low, high)
        }
        Convert::Pack { to } => packed(b, to, a),
    })
}

/// An operand as 66 bits, which hold every integer with its sign.
fn integer(b: &mut Body, from: Scalar, v: Value) -> Value {
    let v = b.fit(v, from.bits());
    b.extended(v, 128, from.is_signed())
}

/// Taken to the nearest that a type has.
fn clamped(b: &mut Body, v: Value, to: Scalar) -> Value {
    let (least, most) = range(to);
    let v = b.same("llvm.smax", &[v, Value::int(128, least)]);
    b.same("llvm.smin", &[v, Value::int(128, most)])
}

fn range(ty: Scalar) -> (u128, u128) {
    let bits = match ty {
        Scalar::U4 | Scalar::S4 => 4,
        other => other.bits(),
    };
    match ty.is_signed() || ty == Scalar::S4 {
        true => ((-(1i128 << (bits - 1))) as u128, (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    }
}

/// A result in a register that may be wider: signed ones with their sign.
fn extended(b: &mut Body, v: Value, ty: Scalar) -> Value {
    let v = b.fit(v, ty.bits());
    if ty.is_signed() { b.signed(v, 64) } else { v }
}

fn from_integer(b: &mut Body, from: Scalar, to: Scalar, round: Round, v: Value) -> Value {
    let (v, f) = (b.fit(v, from.bits()), format(to));
    let how = if from.is_signed() { "sitofp" } else { "uitofp" };
    let nearest = matches!(round, Round::Nearest);
    // A double represents every 32-bit number; and LLVM rounds to nearest if one step suffices.
    if from.bits() <= 32 || nearest && matches!(f, Format::F32 | Format::F64) {
        let direct = nearest && f == Format::F32;
        let ty = if direct { Type::Float } else { Type::Double };
        let v = b.cast(how, v, ty);
        return round::narrow(b, v, f, round);
    }
    let negative = match from.is_signed() {
        true => format::is_negative(b, v),
        false => Value::int(1, 0),
    };
    let minus = b.op("sub", Value::int(64, 0), v);
    let m = b.select(negative, minus, v);
    let bits = if f == Format::F64 {
        round::directed_integer(b, m, negative, round)
    } else {
        let m = round::odd_integer(b, m);
        b.bits_of(m)
    };
    let sign = b.select(negative, Value::int(64, 1 << 63), Value::int(64, 0));
    let bits = b.op("or", bits, sign);
    let v = b.bits_as(bits, Type::Double);
    round::narrow(b, v, f, round)
}

/// LLVM's instruction that makes a number whole.
fn whole(round: Round) -> Result<&'static str, Missing> {
    match round {
        Round::Nearest => Ok("llvm.rint"),
        Round::Zero => Ok("llvm.trunc"),
        Round::Down => Ok("llvm.floor"),
        Round::Up => Ok("llvm.ceil"),
        Round::Away => Err("a conversion that rounds ties away from zero"),
    }
}

fn to_integer(
    b: &mut Body,
    to: Scalar,
    from: Scalar,
    round: Round,
    ftz: bool,
    v: Value,
) -> Result<Value, Missing> {
    let f = format(from);
    let v = b.fit(v, format::width(f));
    let v = if ftz && from == Scalar::F32 { flush(b, v, f) } else { v };
    let nan = is_nan(b, v, f);
    let v = number(b, v, f);
    // Halves have no saturating conversion everywhere.
    let v = if v.ty == Type::Half { b.cast("fpext", v, Type::Float) } else { v };
    let v = b.same(whole(round)?, &[v]);
    let name = if to.is_signed() { "llvm.fptosi.sat" } else { "llvm.fptoui.sat" };
    let bits = to.bits();
    let wide = bits.max(32);
    let v = b.intrinsic(name, &[Type::Int(wide), v.ty], Type::Int(wide), &[v], &[]);
    let v = match (to.is_signed(), bits < wide) {
        (_, false) => v,
        (signed, true) => {
            let (least, most) = range(to);
            let names =
                if signed { ["llvm.smax", "llvm.smin"] } else { ["llvm.umax", "llvm.umin"] };
            let v = b.same(names[0], &[v, Value::int(wide, least)]);
            let v = b.same(names[1], &[v, Value::int(wide, most)]);
            b.fit(v, bits)
        }
    };
    // ISA, `cvt`: NaN gives 0, or the highest bit where 64 bits are involved.
    let none = if from == Scalar::F64 || bits == 64 { 1 << (bits - 1) } else { 0 };
    Ok(b.select(nan, Value::int(bits, none), v))
}

/// A single to TensorFloat-32.
fn tf32(b: &mut Body, mode: Mode, v: Value) -> Value {
    let v = b.fit(v, 32);
    let nan = is_nan(b, v, Format::F32);
    let cut = |b: &mut Body, v: Value| b.with("and", v, 0xffff_e000);
    let infinity: u128 = Format::F32.infinity().into();
    if mode.round == Round::Away {
        // An H100 adds half a unit, but not to a NaN; with `.satfinite` infinities become one unit less, and so do
        // NaNs.
        let more = b.with("add", v, 0x1000);
        let v = b.select(nan, v, more);
        let v = cut(b, v);
        if !mode.finite {
            return v;
        }
        let e = b.with("and", v, infinity);
        let beyond = b.icmp_with("eq", e, infinity);
        let less = b.with("sub", v, 0x2000);
        return b.select(beyond, less, v);
    }
    let v = if mode.round == Round::Nearest {
        let odd = b.with("lshr", v, 13);
        let odd = b.with("and", odd, 1);
        let rest = b.with("add", odd, 0xfff);
        b.op("add", v, rest)
    } else {
        v
    };
    let v = cut(b, v);
    let v = b.select(nan, Value::int(32, u128::from(Format::TF32.nan()) << 13), v);
    clamp(b, mode.clamp, v, Format::F32)
}

fn to_float(b: &mut Body, i: Mode, d: Scalar, s: Scalar, v: Value) -> Result<Value, Missing> {
    let (from, to) = (format(s), format(d));
    let mut v = b.fit(v, format::width(from));
    // A GPU does not flush what becomes a half, though the ISA has it so.
    if i.flush && s == Scalar::F32 && d != Scalar::F16 {
        v = flush(b, v, from);
    }
    if d == s && !i.whole && !i.flush && d != Scalar::F16 && d != Scalar::Bf16 {
        // Nothing changes except by clamping.
        if i.clamp == Clamp::None && !i.finite {
            return Ok(v);
        }
    }
    if i.flush && d == Scalar::F64 {
        v = canonical(b, v, from);
    }
    if (d, s) == (Scalar::F32, Scalar::Bf16) && !i.whole && i.clamp == Clamp::None && !i.flush {
        let v = b.fit(v, 32);
        return Ok(b.with("shl", v, 16));
    }
    let mut x = number(b, v, from);
    if i.whole {
        x = b.same(whole(i.round)?, &[x]);
    }
    let mut out = round::narrow(b, x, to, if i.whole { Round::Nearest } else { i.round });
    if i.finite {
        let m = b.with("and", out, (to.sign() - 1).into());
        let infinite = b.icmp_with("eq", m, to.infinity().into());
        let less = b.with("sub", out, 1);
        out = b.select(infinite, less, out);
    }
    if i.flush && d == Scalar::F32 {
        out = flush(b, out, to);
    }
    let double = d == Scalar::F64 || s == Scalar::F64;
    if !(double && i.clamp == Clamp::None && !i.finite) {
        out = canonical(b, out, to);
    } else if d == Scalar::F16 {
        // The payload's upper bits stay, which steps that LLVM takes for this conversion do not do.
        let nan = is_nan(b, v, from);
        let [payload, sign] = [42, 48].map(|by| {
            let part = b.with("lshr", v, by);
            b.fit(part, 16)
        });
        let payload = b.with("or", payload, 0x7e00);
        let payload = b.with("and", payload, 0x7fff);
        let sign = b.with("and", sign, 0x8000);
        let payload = b.op("or", payload, sign);
        out = b.select(nan, payload, out);
    }
    Ok(clamp(b, i.clamp, out, to))
}

/// Fraction bits, least normal exponent, and largest code of an FP8 type.
fn shape(ty: Scalar) -> (i32, i32, u128) {
    if ty == Scalar::E4m3x2 { (3, -6, 0x7e) } else { (2, -14, 0x7b) }
}

/// A number to FP8, to nearest, saturating (`.satfinite` is required there).
fn to_byte(b: &mut Body, relu: bool, ty: Scalar, x: Value) -> Value {
    let (fraction, least, largest) = shape(ty);
    let bits = b.bits_of(x);
    let negative = format::is_negative(b, bits);
    let m = b.same("llvm.fabs", &[x]);
    // A value far beyond the range converts like the range's end, and everything below has 32 bits.
    let m = b.same("llvm.minnum", &[m, Value::double(1e6)]);
    let word = b.bits_of(m);
    let e = b.with("lshr", word, 52);
    let e = b.fit(e, 32);
    let e = b.with("sub", e, 1023);
    let unit = b.same("llvm.smax", &[e, Value::int(32, least as u128)]);
    let power = b.op("sub", Value::int(32, (fraction + 1023) as u128), unit);
    let power = b.fit(power, 64);
    let power = b.with("shl", power, 52);
    let power = b.bits_as(power, Type::Double);
    let steps = b.op("fmul", m, power);
    let steps = b.same("llvm.rint", &[steps]);
    let steps = b.cast("fptoui", steps, Type::Int(32));
    let field = b.with("sub", unit, least as u128);
    let field = b.with("shl", field, fraction as u128);
    let code = b.op("add", field, steps);
    let code = b.same("llvm.umin", &[code, Value::int(32, largest)]);
    let sign = b.select(negative, Value::int(32, 0x80), Value::int(32, 0));
    let code = b.op("or", code, sign);
    let code = match relu {
        true => b.select(negative, Value::int(32, 0), code),
        false => code,
    };
    let nan = b.fcmp("uno", x, x);
    let code = b.select(nan, Value::int(32, 0x7f), code);
    b.fit(code, 16)
}

fn joined(b: &mut Body, low: Value, high: Value) -> Value {
    let high = b.with("shl", high, 8);
    b.op("or", low, high)
}

/// FP8 to half precision, which holds every such number.
fn from_byte(b: &mut Body, ty: Scalar, v: Value) -> Value {
    let v = b.fit(v, 16);
    let sign = b.with("and", v, 0x80);
    let sign = b.with("shl", sign, 8);
    let m = b.with("and", v, 0x7f);
    let nan = Value::int(16, Format::F16.nan().into());
    if ty == Scalar::E5m2x2 {
        // It is the upper byte of a half.
        let v = b.with("shl", m, 8);
        let v = b.op("or", v, sign);
        return canonical(b, v, Format::F16);
    }
    let normal = b.with("shl", m, 7);
    let normal = b.with("add", normal, 8 << 10);
    let small = b.cast("uitofp", m, Type::Float);
    let small = b.op("fmul", small, Value::float(1.0 / 512.0));
    let small = round::narrow(b, small, Format::F16, Round::Nearest);
    let below = b.icmp_with("ult", m, 8);
    let out = b.select(below, small, normal);
    let out = b.op("or", out, sign);
    let none = b.icmp_with("eq", m, 0x7f);
    b.select(none, nan, out)
}

/// `cvt.pack.sat`: two saturated values below the bits of the third operand.
fn packed(b: &mut Body, ty: Scalar, a: [Value; 5]) -> Value {
    let bits = ty.bits();
    let [high, low] = [a[0], a[1]].map(|v| {
        let v = integer(b, Scalar::S32, v);
        let v = clamped(b, v, ty);
        let v = b.fit(v, bits);
        b.fit(v, 32)
    });
    let high = b.with("shl", high, bits.into());
    let both = b.op("or", high, low);
    let rest = b.fit(a[2], 64);
    let rest = b.with("shl", rest, (2 * bits).into());
    let rest = b.fit(rest, 32);
    b.op("or", rest, both)
}
