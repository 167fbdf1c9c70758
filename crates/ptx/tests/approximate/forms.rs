//! The recorded forms: their operands, and their definitions here, as functions of 32 bits.

use super::sums::mix;
use cushim_ptx::alu::{self, sfu, sfu::form};
use cushim_ptx::sem::{Clamp, Float, FloatOp, Operation, Precision};
use cushim_ptx::soft::{self, Format, Round};
use cushim_ptx::types::Scalar;

/// The operands of the instruction, made from 32 bits.
#[derive(Clone, Copy)]
pub enum Given {
    /// The bits themselves.
    One(Scalar),
    /// Both 16-bit halves.
    Two(Scalar),
    /// A double with these bits as its upper half.
    Upper,
    /// A divisor with these bits, and a dividend computed from it.
    Quotient(fn(u32) -> u32),
}

pub struct Form {
    /// The instruction; for quotients also how the dividend is computed.
    pub name: &'static str,
    /// Bits of an operand.
    pub bits: u32,
    /// One result, by the definition of the special function unit.
    pub quick: fn(u32) -> u32,
    /// The sum of hashes of this many operands, from the first on.
    pub sum: fn(u32, u32) -> u64,
    given: Given,
    what: Float,
}

/// Hashes a number into bits that look random.
fn scramble(x: u32) -> u32 {
    let x = x.wrapping_mul(0x9e37_79b1);
    let x = (x ^ x >> 15).wrapping_mul(0x85eb_ca77);
    x ^ x >> 13
}

/// A dividend whose quotient by `x` has a moderate size.
fn near(x: u32) -> u32 {
    let h = scramble(x);
    let e = (x >> 23 & 255) as i32 + (h >> 24 & 127) as i32 - 64;
    h & 0x807f_ffff | (e.clamp(0, 255) as u32) << 23
}

/// The two halves of a double as one number.
fn fold(v: u64) -> u32 {
    (v >> 32) as u32 ^ (v as u32).wrapping_mul(0x9e37_79b1)
}

fn double(x: u32) -> u64 {
    u64::from(x) << 32 | u64::from(scramble(x))
}

fn wide(x: u32) -> u32 {
    soft::convert(x.into(), Format::F16, Format::F32, Round::Nearest) as u32
}

fn twice(x: u32, f: impl Fn(u32) -> u32) -> u32 {
    f(x & 0xffff) | f(x >> 16) << 16
}

impl Form {
    /// The result of [`alu::eval`] for an operand.
    pub fn evaluated(&self, x: u32) -> u32 {
        let one = u64::from(x);
        let (a, b) = match self.given {
            Given::One(_) | Given::Two(_) => (one, 0),
            Given::Upper => (double(x), 0),
            Given::Quotient(of) => (of(x).into(), one),
        };
        let v = alu::eval(&Operation::Float(self.what), [a, b, 0, 0, 0]).0;
        if matches!(self.given, Given::Upper) { fold(v) } else { v as u32 }
    }
}

macro_rules! forms {
    ($($name:literal $op:expr, $given:expr, $f:expr;)*) => {
        /// All forms.
        pub fn all() -> Vec<Form> {
            use FloatOp::*;
            use Given::*;
            use Precision::*;
            use Scalar::{Bf16, F16, F32};
            vec![$({
                let given = $given;
                let (bits, ty, packed) = match given {
                    One(ty @ (F16 | Bf16)) => (16, ty, false),
                    Two(ty) => (32, ty, true),
                    Upper => (32, Scalar::F64, false),
                    _ => (32, F32, false),
                };
                let what = Float {
                    op: $op,
                    ty,
                    packed,
                    round: Round::Nearest,
                    contract: false,
                    flush: $name.contains(".ftz"),
                    clamp: Clamp::None,
                };
                fn sum(first: u32, count: u32) -> u64 {
                    (0..count).map(|n| mix(first + n, $f(first + n))).fold(0, u64::wrapping_add)
                }
                Form { name: $name, bits, quick: |x| $f(x), sum, given, what }
            }),*]
        }
    };
}

forms! {
    "rcp.approx.f32" Rcp(Approx), One(F32), form::rcp::<false>;
    "rcp.approx.ftz.f32" Rcp(Approx), One(F32), form::rcp::<true>;
    "rsqrt.approx.f32" Rsqrt, One(F32), form::rsqrt::<false>;
    "rsqrt.approx.ftz.f32" Rsqrt, One(F32), form::rsqrt::<true>;
    "sqrt.approx.f32" Sqrt(Approx), One(F32), form::sqrt::<false>;
    "sqrt.approx.ftz.f32" Sqrt(Approx), One(F32), form::sqrt::<true>;
    "ex2.approx.f32" Ex2, One(F32), form::ex2::<false>;
    "ex2.approx.ftz.f32" Ex2, One(F32), form::ex2::<true>;
    "lg2.approx.f32" Lg2, One(F32), form::lg2::<false>;
    "lg2.approx.ftz.f32" Lg2, One(F32), form::lg2::<true>;
    "sin.approx.f32" Sin, One(F32), form::sin;
    "sin.approx.ftz.f32" Sin, One(F32), form::sin;
    "cos.approx.f32" Cos, One(F32), form::cos;
    "cos.approx.ftz.f32" Cos, One(F32), form::cos;
    "tanh.approx.f32" Tanh, One(F32), sfu::tanh;
    "div.approx.f32 scramble" Div(Approx), Quotient(scramble), |x| form::div::<false, false>(scramble(x), x);
    "div.approx.f32 near" Div(Approx), Quotient(near), |x| form::div::<false, false>(near(x), x);
    "div.approx.ftz.f32 scramble" Div(Approx), Quotient(scramble), |x| form::div::<true, false>(scramble(x), x);
    "div.approx.ftz.f32 near" Div(Approx), Quotient(near), |x| form::div::<true, false>(near(x), x);
    "div.full.f32 scramble" Div(Full), Quotient(scramble), |x| form::div::<false, true>(scramble(x), x);
    "div.full.f32 near" Div(Full), Quotient(near), |x| form::div::<false, true>(near(x), x);
    "div.full.ftz.f32 scramble" Div(Full), Quotient(scramble), |x| form::div::<true, true>(scramble(x), x);
    "div.full.ftz.f32 near" Div(Full), Quotient(near), |x| form::div::<true, true>(near(x), x);
    "rcp.approx.ftz.f64" Rcp(Approx), Upper, sfu::rcp_upper;
    "rsqrt.approx.f64" Rsqrt, Upper, |x| fold(form::rsqrt_double(double(x)));
    "rsqrt.approx.ftz.f64" Rsqrt, Upper, sfu::rsqrt_upper;
    "ex2.approx.f16" Ex2, One(F16), |x| form::ex2_half(wide(x)).into();
    "ex2.approx.f16x2" Ex2, Two(F16), |x| twice(x, |h| form::ex2_half(wide(h)).into());
    "ex2.approx.ftz.bf16" Ex2, One(Bf16), |x| form::ex2_bfloat(x as u16).into();
    "ex2.approx.ftz.bf16x2" Ex2, Two(Bf16), |x| twice(x, |h| form::ex2_bfloat(h as u16).into());
    "tanh.approx.f16" Tanh, One(F16), |x| form::tanh_half(wide(x)).into();
    "tanh.approx.f16x2" Tanh, Two(F16), |x| twice(x, |h| form::tanh_half(wide(h)).into());
    "tanh.approx.bf16" Tanh, One(Bf16), |x| form::tanh_bfloat(x as u16).into();
    "tanh.approx.bf16x2" Tanh, Two(Bf16), |x| twice(x, |h| form::tanh_bfloat(h as u16).into());
}
