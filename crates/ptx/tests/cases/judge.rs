//! Decides whether a result may differ from the GPU's, and how far.
//!
//! The rule: bits are equal. Exceptions are what the ISA manual leaves open: for
//! approximations both results must be within the error bound of the exact
//! result. Interpreted and compiled code equal the GPU there, too; the bound is
//! for code for other processors.

use super::forms::Form;
use cushim_ptx::soft::{self, Format, Round};
use cushim_ptx::table::{Op, Word};
use cushim_ptx::types::{Kind, Scalar};

/// How two results of a form compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The same bits.
    Same,
    /// Both within the error bound of the instruction.
    Bounded,
    /// Different, though they must be equal.
    Differs,
    /// Our result is outside the bound.
    Far,
    /// The GPU's result is outside the bound: the bound here is wrong.
    GpuFar,
}

impl Verdict {
    /// Whether the results agree.
    pub fn agrees(self) -> bool {
        matches!(self, Verdict::Same | Verdict::Bounded)
    }

    fn worse(self, other: Verdict) -> Verdict {
        let other_is = self == Verdict::Same || self.agrees() && !other.agrees();
        if other_is { other } else { self }
    }
}

/// Compares one value of a result with the recorded value.
pub fn judge(form: &Form, row: &[u64; 4], ours: u64, gpu: u64) -> Verdict {
    if ours == gpu {
        return Verdict::Same;
    }
    let ty = form.types[0];
    let Some(f) = format(ty) else { return Verdict::Differs };
    if ty.kind() == Kind::Packed && ty != Scalar::Tf32 {
        let half = |by: u32| {
            let part = |v: u64| v >> by & 0xffff;
            one(form, f, &row.map(part), part(ours), part(gpu))
        };
        return half(0).worse(half(16));
    }
    one(form, f, row, ours, gpu)
}

fn format(ty: Scalar) -> Option<Format> {
    match ty {
        Scalar::F16 | Scalar::F16x2 => Some(Format::F16),
        Scalar::Bf16 | Scalar::Bf16x2 => Some(Format::BF16),
        Scalar::F32 | Scalar::Tf32 => Some(Format::F32),
        Scalar::F64 => Some(Format::F64),
        _ => None,
    }
}

fn one(form: &Form, f: Format, row: &[u64; 4], ours: u64, gpu: u64) -> Verdict {
    if ours == gpu {
        return Verdict::Same;
    }
    if let Some(bound) = bound(form, f, row) {
        return match (bound.holds(ours), bound.holds(gpu)) {
            (true, true) => Verdict::Bounded,
            (false, _) => Verdict::Far,
            (_, false) => Verdict::GpuFar,
        };
    }
    Verdict::Differs
}

/// A number, and the allowed error of a result.
struct Bound {
    f: Format,
    exact: f64,
    by: f64,
    /// Zero is accepted instead of a subnormal number.
    ftz: bool,
}

impl Bound {
    fn holds(&self, bits: u64) -> bool {
        let v = number(bits, self.f);
        let least = number(1 << self.f.fraction, self.f);
        let unit = number(1, self.f);
        let largest = number(self.f.largest(), self.f);
        if self.exact.is_nan() || v.is_nan() {
            return self.exact.is_nan() && v.is_nan();
        }
        // The result's own rounding, near the ends of the format.
        let by = self.by.max(unit);
        if self.exact.is_infinite() {
            return v == self.exact;
        }
        if v.is_infinite() {
            return v.signum() == self.exact.signum() && self.exact.abs() + by > largest;
        }
        let flushed = self.ftz && v == 0.0 && self.exact.abs() - by < least;
        flushed || (v - self.exact).abs() <= by
    }
}

fn number(bits: u64, f: Format) -> f64 {
    f64::from_bits(soft::convert(bits, f, Format::F64, Round::Nearest))
}

/// A unit in the last place of a number.
fn unit(x: f64, f: Format) -> f64 {
    let bits = soft::convert(x.abs().to_bits(), Format::F64, f, Round::Zero);
    let bits = bits.min(f.largest() - 1);
    number(bits + 1, f) - number(bits, f)
}

/// The bound that the ISA manual (8.x) states for a form, with these operands.
fn bound(form: &Form, f: Format, row: &[u64; 4]) -> Option<Bound> {
    let has = |w: Word| form.words.contains(&w);
    let ftz = has(Word::Ftz);
    let operand = |n: usize| {
        let v = if ftz && f.is_subnormal(row[n]) { row[n] & f.sign() } else { row[n] };
        number(v, f)
    };
    let upper = f == Format::F64 && ftz;
    // `.approx.ftz.f64` uses only the upper halves.
    let x = if upper { f64::from_bits(row[0] & !0 << 32) } else { operand(0) };
    let relative = |e: f64, power: f64| (e, e.abs() * power.exp2());
    let (exact, by) = match form.op {
        Op::Div if has(Word::Approx) || has(Word::Full) => {
            let y = operand(1);
            if has(Word::Approx) && y.abs() > 126f64.exp2() {
                return None;
            }
            (x / y, 2.0 * unit(x / y, f))
        }
        Op::Rcp if has(Word::Approx) && !upper => (1.0 / x, unit(1.0 / x, f)),
        // The manual gives no bound for these, but says that they compute 20 bits of the
        // fraction.
        Op::Rcp if upper => relative(1.0 / x, -18.5),
        Op::Rsqrt if upper => relative(1.0 / x.sqrt(), -18.5),
        Op::Rsqrt if f == Format::F64 => relative(1.0 / x.sqrt(), -51.0),
        Op::Sqrt if has(Word::Approx) => relative(x.sqrt(), -23.0),
        Op::Rsqrt => relative(1.0 / x.sqrt(), -22.9),
        Op::Ex2 => relative(
            x.exp2(),
            match f {
                Format::F16 => -9.9,
                Format::BF16 => -7.0,
                _ => -22.0,
            },
        ),
        Op::Lg2 => {
            let e = x.log2();
            (e, (-22f64).exp2() * e.abs().max(1.0))
        }
        Op::Tanh => match f {
            Format::F16 => (x.tanh(), (-10.987f64).exp2()),
            Format::BF16 => (x.tanh(), (-8f64).exp2()),
            _ => relative(x.tanh(), -11.0),
        },
        Op::Sin | Op::Cos => {
            let turns = x.abs() / (2.0 * std::f64::consts::PI);
            let e = if form.op == Op::Sin { x.sin() } else { x.cos() };
            match turns {
                t if t <= 1.0 => (e, (-20.5f64).exp2()),
                t if t <= 50.0 => (e, (-14.7f64).exp2()),
                // No bound is stated outside that range: any number from -1 to 1.
                t if t.is_finite() => (0.0, 1.0),
                _ => (f64::NAN, 0.0),
            }
        }
        _ => return None,
    };
    Some(Bound { f, exact, by, ftz })
}
