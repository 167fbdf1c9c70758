//! Operations on all lanes at once, for the most common forms of instructions.
//!
//! Owns loops over 32 lanes, which the compiler vectorises. [`crate::alu`] defines the results, lane by lane; a test
//! compares every form of the table. Inactive lanes are computed, too, so nothing here may fail. Must not know
//! registers, masks or instructions.

use crate::alu::fused;
use crate::alu::sfu::{self, form};
use crate::exec::Lanes;

/// What an operation on singles does beside computing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mode {
    /// Subnormal operands and results are zeros.
    pub(super) ftz: bool,
    /// The result is clamped into 0 to 1.
    pub(super) sat: bool,
}

/// A single, from the lower half of a lane.
#[inline(always)]
fn single<const FTZ: bool>(bits: u64) -> f32 {
    f32::from_bits(flush::<FTZ>(bits as u32))
}

#[inline(always)]
fn flush<const FTZ: bool>(bits: u32) -> u32 {
    if FTZ && bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// The result of an operation on singles: one NaN, flushed, clamped.
#[inline(always)]
fn give<const FTZ: bool, const SAT: bool>(v: f32) -> u64 {
    let bits = flush::<FTZ>(v.to_bits());
    if SAT {
        let inside = bits.min(1f32.to_bits());
        return if v.is_nan() || (bits as i32) < 0 { 0 } else { inside.into() };
    }
    if v.is_nan() { 0x7fff_ffff } else { bits.into() }
}

fn double(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// The result of an operation on doubles: a NaN among the operands, the last one of `order` before others, made quiet,
/// or what came out.
#[inline(always)]
fn give_double<const N: usize>(v: f64, order: [u64; N]) -> u64 {
    let mut bits = if v.is_nan() { 0xfff8_0000_0000_0000 } else { v.to_bits() };
    for o in order {
        bits = if double(o).is_nan() { o | 1 << 51 } else { bits };
    }
    bits
}

/// Singles in the order of numbers, the zeros too.
#[inline(always)]
fn order(v: f32) -> i32 {
    let bits = v.to_bits() as i32;
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

#[inline(always)]
fn least(x: f32, y: f32, max: bool) -> f32 {
    let second = (order(x) < order(y)) == max;
    let v = if second { y } else { x };
    let v = if y.is_nan() { x } else { v };
    if x.is_nan() { y } else { v }
}

/// One of four bits by how two values compare: less, equal, greater, neither.
#[inline(always)]
fn pick<T: PartialOrd>(x: T, y: T, table: u64) -> u64 {
    let v = if x > y { table >> 2 } else { table >> 3 };
    let v = if x == y { table >> 1 } else { v };
    (if x < y { table } else { v }) & 1
}

/// Any function of three bits, by its table.
#[inline(always)]
fn lop3(x: u32, y: u32, z: u32, table: u64) -> u32 {
    let all = |n: u32| 0u32.wrapping_sub((table >> n) as u32 & 1);
    let pair = |n: u32| all(n) & !z | all(n + 1) & z;
    (pair(0) & !y | pair(2) & y) & !x | (pair(4) & !y | pair(6) & y) & x
}

#[inline(always)]
fn extend<const FROM: bool, const TO: bool>(v: u64, shifts: u64) -> u64 {
    let (from, to) = (shifts as u32 & 63, (shifts >> 8) as u32 & 63);
    let cut = |v: u64, shift: u32, signed: bool| {
        if signed { ((v << shift) as i64 >> shift) as u64 } else { v << shift >> shift }
    };
    cut(cut(v, from, FROM), to, TO)
}

/// Runs an operation for lane after lane.
#[inline(always)]
fn each(out: &mut Lanes, [a, b, c]: [&Lanes; 3], f: impl Fn(u64, u64, u64) -> u64) {
    for l in 0..32 {
        out[l] = f(a[l], b[l], c[l]);
    }
}

macro_rules! operations {
    (
        bits($t:ident) { $($bits:ident: |$a:pat_param, $b:pat_param, $c:pat_param| $body:expr;)* }
        singles { $($single:ident: |$x:pat_param, $y:pat_param, $z:pat_param| $value:expr;)* }
    ) => {
        /// An operation.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[rustfmt::skip]
        pub(super) enum Lanewise {
            $($bits,)*
            $($single(Mode),)*
        }

        impl Lanewise {
            /// Computes all lanes. `t` is a constant for all lanes.
            #[inline(always)]
            pub(super) fn compute(self, $t: u64, out: &mut Lanes, inputs: [&Lanes; 3]) {
                match self {
                    $(Lanewise::$bits => each(out, inputs, |$a, $b, $c| $body),)*
                    $(Lanewise::$single(mode) => {
                        let f = |$x: f32, $y: f32, $z: f32| -> f32 { $value };
                        match (mode.ftz, mode.sat) {
                            (false, false) => singles::<false, false>(out, inputs, f),
                            (false, true) => singles::<false, true>(out, inputs, f),
                            (true, false) => singles::<true, false>(out, inputs, f),
                            (true, true) => singles::<true, true>(out, inputs, f),
                        }
                    })*
                }
            }
        }
    };
}

#[inline(always)]
fn singles<const FTZ: bool, const SAT: bool>(
    out: &mut Lanes,
    inputs: [&Lanes; 3],
    f: impl Fn(f32, f32, f32) -> f32,
) {
    each(out, inputs, |a, b, c| {
        give::<FTZ, SAT>(f(single::<FTZ>(a), single::<FTZ>(b), single::<FTZ>(c)))
    });
}

operations! {
    bits(t) {
    Copy: |a, _, _| a;
    // Integers.
    Add16: |a, b, _| a.wrapping_add(b) & 0xffff;
    Add32: |a, b, _| (a as u32).wrapping_add(b as u32).into();
    Add64: |a, b, _| a.wrapping_add(b);
    Sub16: |a, b, _| a.wrapping_sub(b) & 0xffff;
    Sub32: |a, b, _| (a as u32).wrapping_sub(b as u32).into();
    Sub64: |a, b, _| a.wrapping_sub(b);
    Mul32: |a, b, _| (a as u32).wrapping_mul(b as u32).into();
    Mul64: |a, b, _| a.wrapping_mul(b);
    Mad32: |a, b, c| (a as u32).wrapping_mul(b as u32).wrapping_add(c as u32).into();
    Mad64: |a, b, c| a.wrapping_mul(b).wrapping_add(c);
    MulHiU32: |a, b, _| (u64::from(a as u32) * u64::from(b as u32)) >> 32;
    MulHiS32: |a, b, _| (i64::from(a as i32) * i64::from(b as i32)) as u64 >> 32;
    MulHiU64: |a, b, _| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    MulHiS64: |a, b, _| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64;
    MulWideU16: |a, b, _| u64::from(a as u16) * u64::from(b as u16);
    MulWideS16: |a, b, _| (i32::from(a as i16) * i32::from(b as i16)) as u32 as u64;
    MulWideU32: |a, b, _| u64::from(a as u32) * u64::from(b as u32);
    MulWideS32: |a, b, _| (i64::from(a as i32) * i64::from(b as i32)) as u64;
    MadWideU32: |a, b, c| (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c);
    MadWideS32: |a, b, c| ((i64::from(a as i32) * i64::from(b as i32)) as u64).wrapping_add(c);
    DivU32: |a, b, _| (a as u32).checked_div(b as u32).unwrap_or(u32::MAX).into();
    DivS32: |a, b, _| (if b as u32 == 0 { -1 } else { (a as i32).wrapping_div(b as i32) }) as u32 as u64;
    DivU64: |a, b, _| a.checked_div(b).unwrap_or(u64::MAX);
    DivS64: |a, b, _| if b == 0 { u64::MAX } else { (a as i64).wrapping_div(b as i64) as u64 };
    RemU32: |a, b, _| (a as u32).checked_rem(b as u32).unwrap_or(u32::MAX).into();
    RemS32: |a, b, _| (if b as u32 == 0 { -1 } else { (a as i32).wrapping_rem(b as i32) }) as u32 as u64;
    RemU64: |a, b, _| a.checked_rem(b).unwrap_or(u64::MAX);
    RemS64: |a, b, _| if b == 0 { u64::MAX } else { (a as i64).wrapping_rem(b as i64) as u64 };
    MinU32: |a, b, _| (a as u32).min(b as u32).into();
    MinS32: |a, b, _| (a as i32).min(b as i32) as u32 as u64;
    MinU64: |a, b, _| a.min(b);
    MinS64: |a, b, _| (a as i64).min(b as i64) as u64;
    MaxU32: |a, b, _| (a as u32).max(b as u32).into();
    MaxS32: |a, b, _| (a as i32).max(b as i32) as u32 as u64;
    MaxU64: |a, b, _| a.max(b);
    MaxS64: |a, b, _| (a as i64).max(b as i64) as u64;
    Abs32: |a, _, _| (a as i32).unsigned_abs().into();
    Abs64: |a, _, _| (a as i64).unsigned_abs();
    Neg32: |a, _, _| (a as u32).wrapping_neg().into();
    Neg64: |a, _, _| a.wrapping_neg();
    And: |a, b, _| a & b;
    Or: |a, b, _| a | b;
    Xor: |a, b, _| a ^ b;
    // Of as many bits as `t` has.
    Not: |a, _, _| !a & t;
    Lop3: |a, b, c| lop3(a as u32, b as u32, c as u32, t).into();
    Shl32: |a, b, _| if (b as u32) < 32 { u64::from((a as u32) << (b & 31)) } else { 0 };
    Shl64: |a, b, _| if (b as u32) < 64 { a << (b & 63) } else { 0 };
    ShrU32: |a, b, _| if (b as u32) < 32 { u64::from(a as u32 >> (b & 31)) } else { 0 };
    ShrS32: |a, b, _| (a as i32 >> (b as u32).min(31)) as u32 as u64;
    ShrU64: |a, b, _| if (b as u32) < 64 { a >> (b & 63) } else { 0 };
    ShrS64: |a, b, _| (a as i64 >> (b as u32).min(63)) as u64;
    ShfLeft: |a, b, c| ((b << 32 | a & 0xffff_ffff) << (c as u32).min(32)) >> 32;
    ShfLeftWrap: |a, b, c| ((b << 32 | a & 0xffff_ffff) << (c & 31)) >> 32;
    ShfRight: |a, b, c| ((b << 32 | a & 0xffff_ffff) >> (c as u32).min(32)) & 0xffff_ffff;
    ShfRightWrap: |a, b, c| ((b << 32 | a & 0xffff_ffff) >> (c & 31)) & 0xffff_ffff;
    Popc32: |a, _, _| (a as u32).count_ones().into();
    Popc64: |a, _, _| a.count_ones().into();
    Clz32: |a, _, _| (a as u32).leading_zeros().into();
    Clz64: |a, _, _| a.leading_zeros().into();
    Brev32: |a, _, _| (a as u32).reverse_bits().into();
    Selp: |a, b, c| if c != 0 { a } else { b };
    // `t` contains the results for each outcome of the comparison.
    CompareU16: |a, b, _| pick(a as u16, b as u16, t);
    CompareS16: |a, b, _| pick(a as i16, b as i16, t);
    CompareU32: |a, b, _| pick(a as u32, b as u32, t);
    CompareS32: |a, b, _| pick(a as i32, b as i32, t);
    CompareU64: |a, b, _| pick(a, b, t);
    CompareS64: |a, b, _| pick(a as i64, b as i64, t);
    CompareF32: |a, b, _| pick(single::<false>(a), single::<false>(b), t);
    CompareF32Ftz: |a, b, _| pick(single::<true>(a), single::<true>(b), t);
    CompareF64: |a, b, _| pick(double(a), double(b), t);
    // Conversions. `t` has the distance of the sign bits from the top.
    ExtendUU: |a, _, _| extend::<false, false>(a, t);
    ExtendUS: |a, _, _| extend::<false, true>(a, t);
    ExtendSU: |a, _, _| extend::<true, false>(a, t);
    ExtendSS: |a, _, _| extend::<true, true>(a, t);
    S32ToF32: |a, _, _| (a as i32 as f32).to_bits().into();
    U32ToF32: |a, _, _| (a as u32 as f32).to_bits().into();
    S64ToF32: |a, _, _| (a as i64 as f32).to_bits().into();
    U64ToF32: |a, _, _| (a as f32).to_bits().into();
    S32ToF64: |a, _, _| f64::from(a as i32).to_bits();
    U32ToF64: |a, _, _| f64::from(a as u32).to_bits();
    S64ToF64: |a, _, _| (a as i64 as f64).to_bits();
    U64ToF64: |a, _, _| (a as f64).to_bits();
    F32ToS32: |a, _, _| (single::<false>(a) as i32) as i64 as u64;
    F32ToU32: |a, _, _| (single::<false>(a) as u32).into();
    F32ToS32Near: |a, _, _| (single::<false>(a).round_ties_even() as i32) as i64 as u64;
    F32ToU32Near: |a, _, _| (single::<false>(a).round_ties_even() as u32).into();
    F32ToS32Down: |a, _, _| (single::<false>(a).floor() as i32) as i64 as u64;
    F32ToS32Up: |a, _, _| (single::<false>(a).ceil() as i32) as i64 as u64;
    F64ToS32: |a, _, _| (if double(a).is_nan() { i32::MIN } else { double(a) as i32 }) as i64 as u64;
    F32ToF64: |a, _, _| {
        let nan = (a & 0x8000_0000) << 32 | 0x7ff8_0000_0000_0000 | (a & 0x7f_ffff) << 29;
        if single::<false>(a).is_nan() { nan } else { f64::from(single::<false>(a)).to_bits() }
    };
    F64ToF32: |a, _, _| {
        let nan = a >> 32 & 0x8000_0000 | 0x7fc0_0000 | a >> 29 & 0x7f_ffff;
        if double(a).is_nan() { nan } else { (double(a) as f32).to_bits().into() }
    };
    // Doubles.
    AddF64: |a, b, _| give_double(double(a) + double(b), [a, b]);
    SubF64: |a, b, _| give_double(double(a) - double(b), [b, a]);
    MulF64: |a, b, _| give_double(double(a) * double(b), [a, b]);
    DivF64: |a, b, _| give_double(double(a) / double(b), [b, a]);
    FmaF64: |a, b, c| give_double(double(a).mul_add(double(b), double(c)), [a, c, b]);
    RcpF64: |a, _, _| give_double(1.0 / double(a), [a]);
    SqrtF64: |a, _, _| give_double(double(a).sqrt(), [a]);
    NegF64: |a, _, _| if double(a).is_nan() { a | 1 << 51 } else { a ^ 1 << 63 };
    AbsF64: |a, _, _| if double(a).is_nan() { a | 1 << 51 } else { a & !(1 << 63) };
    // Functions with an error bound, of singles.
    RcpApprox: |a, _, _| form::rcp::<false>(a as u32).into();
    RcpApproxFtz: |a, _, _| form::rcp::<true>(a as u32).into();
    Rsqrt: |a, _, _| form::rsqrt::<false>(a as u32).into();
    RsqrtFtz: |a, _, _| form::rsqrt::<true>(a as u32).into();
    SqrtApprox: |a, _, _| form::sqrt::<false>(a as u32).into();
    SqrtApproxFtz: |a, _, _| form::sqrt::<true>(a as u32).into();
    Ex2: |a, _, _| form::ex2::<false>(a as u32).into();
    Ex2Ftz: |a, _, _| form::ex2::<true>(a as u32).into();
    Lg2: |a, _, _| form::lg2::<false>(a as u32).into();
    Lg2Ftz: |a, _, _| form::lg2::<true>(a as u32).into();
    Tanh: |a, _, _| sfu::tanh(a as u32).into();
    Sin: |a, _, _| form::sin(a as u32).into();
    Cos: |a, _, _| form::cos(a as u32).into();
    DivApprox: |a, b, _| form::div::<false, false>(a as u32, b as u32).into();
    DivApproxFtz: |a, b, _| form::div::<true, false>(a as u32, b as u32).into();
    DivFull: |a, b, _| form::div::<false, true>(a as u32, b as u32).into();
    DivFullFtz: |a, b, _| form::div::<true, true>(a as u32, b as u32).into();
    }
    singles {
    Single: |x, _, _| x;
    Add: |x, y, _| x + y;
    Sub: |x, y, _| x - y;
    Mul: |x, y, _| x * y;
    Fma: |x, y, z| x.mul_add(y, z);
    FmaDown: |x, y, z| fused::fma_down(x, y, z);
    FmaUp: |x, y, z| fused::fma_up(x, y, z);
    FmaZero: |x, y, z| fused::fma_zero(x, y, z);
    Div: |x, y, _| x / y;
    Rcp: |x, _, _| 1.0 / x;
    Sqrt: |x, _, _| x.sqrt();
    Abs: |x, _, _| x.abs();
    Neg: |x, _, _| -x;
    Min: |x, y, _| least(x, y, false);
    Max: |x, y, _| least(x, y, true);
    Near: |x, _, _| x.round_ties_even();
    Trunc: |x, _, _| x.trunc();
    Floor: |x, _, _| x.floor();
    Ceil: |x, _, _| x.ceil();
    }
}
