//! Sums, products, quotients and roots of doubles in rounding directions that the target has no instructions for.
//!
//! Owns the exact result as an integer and a power of two, and rounding it once. A sum of products is added in 256
//! bits; for quotients and roots, the target's own result, rounded to nearest, is compared with the exact one.
//! Infinities and NaNs are the target's, because nothing is rounded there. Must not know how NaNs are told apart.

use super::round::outward;
use crate::llvm::{Body, Type, Value};
use cushim_ptx::soft::{Format, Round};

/// Bits of sums.
const WIDE: u32 = 256;
/// The most bits by which products and addends are shifted left, so that they fit.
const ROOM: [u32; 2] = [140, 190];
/// The bias of an exponent field, with the mantissa taken as an integer.
const BIAS: u32 = 1075;

/// A finite double: `mantissa * 2^(exponent - BIAS)`, with 32 and 64 bits.
#[derive(Clone, Copy)]
struct Number {
    negative: Value,
    exponent: Value,
    mantissa: Value,
    finite: Value,
    zero: Value,
}

/// `mantissa * 2^exponent` exactly, except that the last bit of a mantissa of more than 53 bits may be sticky.
struct Exact {
    negative: Value,
    exponent: Value,
    mantissa: Value,
}

fn word(v: i32) -> Value {
    Value::int(32, v as u32 as u128)
}

fn unpack(b: &mut Body, bits: Value) -> Number {
    let negative = b.icmp_with("slt", bits, 0);
    let field = b.with("lshr", bits, 52);
    let field = b.fit(field, 32);
    let field = b.with("and", field, 0x7ff);
    let small = b.icmp_with("eq", field, 0);
    let exponent = b.select(small, word(1), field);
    let fraction = b.with("and", bits, (1 << 52) - 1);
    let whole = b.with("or", fraction, 1 << 52);
    let mantissa = b.select(small, fraction, whole);
    let finite = b.icmp_with("ne", field, 0x7ff);
    let zero = b.icmp_with("eq", mantissa, 0);
    Number { negative, exponent, mantissa, finite, zero }
}

/// The same number with a mantissa of 53 bits; a zero stays one.
fn normalised(b: &mut Body, n: Number) -> Number {
    let zeros =
        b.intrinsic("llvm.ctlz", &[Type::Int(64)], Type::Int(64), &[n.mantissa], &["i1 false"]);
    let by = b.same("llvm.usub.sat", &[zeros, Value::int(64, 11)]);
    let by = b.with("and", by, 63);
    let mantissa = b.op("shl", n.mantissa, by);
    let by = b.fit(by, 32);
    let exponent = b.op("sub", n.exponent, by);
    Number { exponent, mantissa, ..n }
}

/// To the right; the last bit says whether something was cut off.
fn jammed(b: &mut Body, v: Value, by: Value) -> Value {
    let kept = b.shift("lshr", v, by);
    let back = b.shift("shl", kept, by);
    let lost = b.icmp("ne", back, v);
    let lost = b.fit(lost, v.ty.bits());
    b.op("or", kept, lost)
}

/// Rounds: the bits of a double.
fn pack(b: &mut Body, v: Exact, round: Round) -> Value {
    let wide = v.mantissa.ty;
    let zeros = b.intrinsic("llvm.ctlz", &[wide], wide, &[v.mantissa], &["i1 false"]);
    let zeros = b.fit(zeros, 32);
    // How many bits are too many, for a normal number and for a subnormal one.
    let normal = b.op("sub", word(wide.bits() as i32 - 53), zeros);
    let subnormal = b.op("sub", word(1 - BIAS as i32), v.exponent);
    let by = b.same("llvm.smax", &[normal, subnormal]);
    let right = b.same("llvm.smax", &[by, word(0)]);
    let left = b.op("sub", word(0), by);
    let left = b.same("llvm.smax", &[left, word(0)]);
    let kept = b.shift("lshr", v.mantissa, right);
    let back = b.shift("shl", kept, right);
    let inexact = b.icmp("ne", back, v.mantissa);
    let kept = b.shift("shl", kept, left);
    let kept = b.fit(kept, 64);
    let out = outward(b, round, v.negative).unwrap_or(Value::int(1, 0));
    let step = b.op("and", inexact, out);
    let step = b.fit(step, 64);
    let kept = b.op("add", kept, step);
    // The field, less 1: a normal number's leading bit adds it.
    let field = b.op("add", by, v.exponent);
    let field = b.with("add", field, u128::from(BIAS - 1));
    let field = b.fit(field, 64);
    let field = b.with("shl", field, 52);
    let bits = b.op("add", field, kept);
    let infinite = Value::int(64, Format::F64.infinity().into());
    let beyond = b.icmp("uge", bits, infinite);
    let largest = Value::int(64, u128::from(Format::F64.infinity()) - 1);
    let most = b.select(out, infinite, largest);
    let bits = b.select(beyond, most, bits);
    let none = b.icmp_with("eq", v.mantissa, 0);
    let bits = b.select(none, Value::int(64, 0), bits);
    let sign = b.fit(v.negative, 64);
    let sign = b.with("shl", sign, 63);
    b.op("or", bits, sign)
}

/// `x * y + z`: bits of doubles.
pub(super) fn fused(b: &mut Body, given: [Value; 3], round: Round) -> Value {
    let [x, y, z] = given.map(|v| unpack(b, v));
    let product = [x, y].map(|n| b.fit(n.mantissa, 128));
    let product = b.op("mul", product[0], product[1]);
    let product = b.fit(product, WIDE);
    let addend = b.fit(z.mantissa, WIDE);
    let of_product = b.op("add", x.exponent, y.exponent);
    let of_product = b.op("sub", of_product, word(2 * BIAS as i32));
    // A zero product has no exponent: above the addend it would shift that out.
    let nothing = b.op("or", x.zero, y.zero);
    let of_product = b.select(nothing, word(2 - 2 * BIAS as i32), of_product);
    let of_addend = b.op("sub", z.exponent, word(BIAS as i32));
    // The one with the larger exponent moves to the left, as far as there is room, then the other to the right.
    let apart = b.op("sub", of_product, of_addend);
    let below = b.icmp_with("slt", apart, 0);
    let back = b.op("sub", word(0), apart);
    let apart = b.select(below, back, apart);
    let room = ROOM.map(|n| word(n as i32));
    let room = b.select(below, room[1], room[0]);
    let left = b.same("llvm.umin", &[apart, room]);
    let right = b.op("sub", apart, left);
    let larger = b.select(below, addend, product);
    let smaller = b.select(below, product, addend);
    let larger = b.shift("shl", larger, left);
    let smaller = jammed(b, smaller, right);
    let exponent = b.select(below, of_addend, of_product);
    let exponent = b.op("sub", exponent, left);
    let first = b.op("xor", x.negative, y.negative);
    let [of_larger, of_smaller] =
        [b.select(below, z.negative, first), b.select(below, first, z.negative)];
    let opposite = b.op("xor", first, z.negative);
    let sum = b.op("add", larger, smaller);
    let less = b.icmp("ult", larger, smaller);
    let [forth, back] = [b.op("sub", larger, smaller), b.op("sub", smaller, larger)];
    let difference = b.select(less, back, forth);
    let mantissa = b.select(opposite, difference, sum);
    let turned = b.op("and", opposite, less);
    let negative = b.select(turned, of_smaller, of_larger);
    // Numbers that cancel each other.
    let none = b.icmp_with("eq", mantissa, 0);
    let none = b.op("and", none, opposite);
    let negative = b.select(none, Value::int(1, (round == Round::Down).into()), negative);
    let rounded = pack(b, Exact { negative, exponent, mantissa }, round);
    let numbers = given.map(|v| b.bits_as(v, Type::Double));
    let other = b.same("llvm.fma", &numbers);
    let other = b.bits_of(other);
    let finite = b.op("and", x.finite, y.finite);
    let finite = b.op("and", finite, z.finite);
    b.select(finite, rounded, other)
}

/// The correctly rounded result near `near`, which is the result to nearest, by comparing `found`, which `near`
/// represents, with `wanted`; the exact exponent is `near`'s plus `more`.
fn beside(b: &mut Body, near: Number, [found, wanted]: [Value; 2], more: Value) -> Exact {
    let (above, below) = (b.icmp("ugt", found, wanted), b.icmp("ult", found, wanted));
    let [above, below] = [above, below].map(|c| b.fit(c, 64));
    let mantissa = b.with("shl", near.mantissa, 2);
    let mantissa = b.op("add", mantissa, below);
    let mantissa = b.op("sub", mantissa, above);
    let exponent = b.op("add", near.exponent, more);
    let exponent = b.op("sub", exponent, word(BIAS as i32 + 2));
    Exact { negative: near.negative, exponent, mantissa }
}

/// `x / y`: bits of doubles.
pub(super) fn quotient(b: &mut Body, given: [Value; 2], round: Round) -> Value {
    let [x, y] = given.map(|v| {
        let n = unpack(b, v);
        normalised(b, n)
    });
    let parts = [x, y].map(|n| b.cast("uitofp", n.mantissa, Type::Double));
    let near = b.op("fdiv", parts[0], parts[1]);
    let near = b.bits_of(near);
    let near = unpack(b, near);
    // By `near * y` and `x`, both as integers: `near` is from 1/2 to 2.
    let factors = [near, y].map(|n| b.fit(n.mantissa, 128));
    let found = b.op("mul", factors[0], factors[1]);
    let by = b.op("sub", word(BIAS as i32), near.exponent);
    let wanted = b.fit(x.mantissa, 128);
    let wanted = b.shift("shl", wanted, by);
    let more = b.op("sub", x.exponent, y.exponent);
    let exact = beside(b, near, [found, wanted], more);
    let negative = b.op("xor", x.negative, y.negative);
    let rounded = pack(b, Exact { negative, ..exact }, round);
    let numbers = given.map(|v| b.bits_as(v, Type::Double));
    let other = b.op("fdiv", numbers[0], numbers[1]);
    let other = b.bits_of(other);
    let finite = b.op("and", x.finite, y.finite);
    let zero = b.op("or", x.zero, y.zero);
    let usual = b.not(zero);
    let usual = b.op("and", usual, finite);
    b.select(usual, rounded, other)
}

/// The root: bits of doubles.
pub(super) fn root(b: &mut Body, given: Value, round: Round) -> Value {
    let x = unpack(b, given);
    let x = normalised(b, x);
    // An even power of two stays outside; the bias is odd.
    let odd = b.with("and", x.exponent, 1);
    let moved = b.with("xor", odd, 1);
    let exponent = b.op("sub", x.exponent, moved);
    let moved = b.fit(moved, 64);
    let mantissa = b.op("shl", x.mantissa, moved);
    let near = b.cast("uitofp", mantissa, Type::Double);
    let near = b.same("llvm.sqrt", &[near]);
    let near = b.bits_of(near);
    let near = unpack(b, near);
    let part = b.fit(near.mantissa, 128);
    let found = b.op("mul", part, part);
    let by = b.op("sub", word(BIAS as i32), near.exponent);
    let by = b.with("shl", by, 1);
    let wanted = b.fit(mantissa, 128);
    let wanted = b.shift("shl", wanted, by);
    let outside = b.op("sub", exponent, word(BIAS as i32));
    let more = b.with("ashr", outside, 1);
    let exact = beside(b, near, [found, wanted], more);
    let rounded = pack(b, exact, round);
    let number = b.bits_as(given, Type::Double);
    let other = b.same("llvm.sqrt", &[number]);
    let other = b.bits_of(other);
    let usual = b.not(x.zero);
    let usual = b.op("and", usual, x.finite);
    let positive = b.not(x.negative);
    let usual = b.op("and", usual, positive);
    b.select(usual, rounded, other)
}
