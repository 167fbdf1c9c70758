//! The approximate functions of singles as NVIDIA's special function units compute them, for all lanes.
//!
//! Owns the steps of [`cushim_ptx::alu::sfu`] and its variants in LLVM IR, bit for bit, for processors with table
//! lookups in two registers (AVX-512); others call helpers. Must not know instructions.

use super::lookup::{look_up, square};
use cushim_ptx::alu::sfu::{self, Interpolated};
use cushim_translate::llvm::{Body, Type, Value};

pub(super) const SIGN: u32 = 1 << 31;
const INFINITY: u32 = 0x7f80_0000;
const NAN: u32 = 0x7fff_ffff;
pub(super) const ONE: u32 = 1 << 23;
/// 2^24, 2^12 and their reciprocals, and a quarter, by which operands and results are scaled.
const UP: f32 = 16_777_216.0;
const ROOT_UP: f32 = 4096.0;
const DOWN: f32 = 0.25;
/// 2^126.
const LARGE: f32 = 8.507_059e37;

/// An approximate function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Function {
    Rcp,
    Rsqrt,
    Sqrt,
    Ex2,
    Lg2,
    Sin,
    Cos,
}

/// An instruction's result, as bits; `ftz`: subnormal numbers are zeros.
pub(super) fn one(b: &mut Body, what: Function, ftz: bool, x: Value) -> Value {
    let mut u = Unit { b };
    match what {
        Function::Rcp if ftz => u.rcp(x),
        Function::Rcp => {
            let by = u.factor(x, true);
            let scaled = u.mul(x, by);
            let v = u.rcp(scaled);
            u.product(v, by)
        }
        Function::Rsqrt => u.scaled(x, ftz, ROOT_UP, Unit::rsqrt),
        Function::Sqrt => u.scaled(x, ftz, 1.0 / ROOT_UP, Unit::sqrt),
        Function::Ex2 if ftz => u.ex2(x),
        Function::Ex2 => u.power(x),
        Function::Lg2 if ftz => u.lg2(x),
        Function::Lg2 => {
            let small = u.is_small(x);
            let up = u.pick(small, UP, 1.0);
            let less = u.pick(small, 24.0, 0.0);
            let x = u.mul(x, up);
            let v = u.lg2(x);
            let v = u.b.bits_as(v, Type::Float);
            let v = u.b.op("fsub", v, less);
            u.canonical(v)
        }
        Function::Sin => u.wave(x, 0),
        Function::Cos => u.wave(x, 1),
    }
}

/// `div.approx`, or `div.full`, which takes divisors above 2^126 as well.
pub(super) fn quotient(b: &mut Body, full: bool, ftz: bool, x: Value, y: Value) -> Value {
    let mut u = Unit { b };
    let by = match (ftz, full) {
        (false, _) => u.factor(y, full),
        (true, true) => {
            let large = u.is_large(y);
            u.pick(large, DOWN, 1.0)
        }
        (true, false) => Value::float(1.0),
    };
    let flush = |u: &mut Unit<'_>, v: Value| if ftz { u.flush(v) } else { v };
    let [x, y] = [x, y].map(|v| {
        let v = flush(&mut u, v);
        let v = if by.constant().is_some() { v } else { u.mul(v, by) };
        flush(&mut u, v)
    });
    let y = u.rcp(y);
    let y = u.b.bits_as(y, Type::Float);
    let v = u.product(x, y);
    flush(&mut u, v)
}

pub(super) fn c(v: u32) -> Value {
    Value::int(32, v.into())
}

/// Emits the steps of the functions; values are 32 lanes of bits.
pub(super) struct Unit<'a> {
    pub(super) b: &'a mut Body,
}

impl Unit<'_> {
    fn is_small(&mut self, x: Value) -> Value {
        let e = self.b.with("and", x, INFINITY.into());
        self.b.icmp_with("eq", e, 0)
    }

    fn is_large(&mut self, x: Value) -> Value {
        let x = self.b.bits_as(x, Type::Float);
        let x = self.b.same("llvm.fabs", &[x]);
        self.b.fcmp("ogt", x, Value::float(LARGE))
    }

    pub(super) fn flush(&mut self, x: Value) -> Value {
        let (small, zero) = (self.is_small(x), self.b.with("and", x, SIGN.into()));
        self.b.select(small, zero, x)
    }

    /// Selects one of two constants.
    fn pick(&mut self, condition: Value, yes: f32, no: f32) -> Value {
        self.b.select(condition, Value::float(yes), Value::float(no))
    }

    /// The factor that scales a subnormal divisor, or one above 2^126, into the range between.
    fn factor(&mut self, x: Value, large: bool) -> Value {
        let small = self.is_small(x);
        let by = self.pick(small, UP, 1.0);
        if !large {
            return by;
        }
        let large = self.is_large(x);
        self.b.select(large, Value::float(DOWN), by)
    }

    /// The bits of a product; NaNs may have any bits, as the unit treats them alike.
    fn mul(&mut self, x: Value, by: Value) -> Value {
        let x = self.b.bits_as(x, Type::Float);
        let v = self.b.op("fmul", x, by);
        self.b.bits_of(v)
    }

    /// The same with the GPU's NaN.
    pub(super) fn product(&mut self, x: Value, by: Value) -> Value {
        let x = self.b.bits_as(x, Type::Float);
        let v = self.b.op("fmul", x, by);
        self.canonical(v)
    }

    fn canonical(&mut self, v: Value) -> Value {
        let nan = self.b.fcmp("uno", v, v);
        let bits = self.b.bits_of(v);
        self.b.select(nan, c(NAN), bits)
    }

    /// A root: a subnormal operand is scaled up, and its result scaled back.
    fn scaled(
        &mut self,
        x: Value,
        ftz: bool,
        down: f32,
        unit: fn(&mut Self, Value) -> Value,
    ) -> Value {
        if ftz {
            return unit(self, x);
        }
        let small = self.is_small(x);
        let (up, down) = (self.pick(small, UP, 1.0), self.pick(small, down, 1.0));
        let x = self.mul(x, up);
        let v = unit(self, x);
        self.product(v, down)
    }

    /// `ex2`: below -126, the square of half the power.
    fn power(&mut self, x: Value) -> Value {
        let (above, below) = (
            self.b.icmp_with("ugt", x, 0xc2fc_0000),
            self.b.icmp_with("ule", x, (SIGN | INFINITY).into()),
        );
        let low = self.b.op("and", above, below);
        let by = self.pick(low, 0.5, 1.0);
        let half = self.mul(x, by);
        let v = self.ex2(half);
        let n = self.b.bits_as(v, Type::Float);
        let square = self.b.op("fmul", n, n);
        let square = self.b.bits_of(square);
        self.b.select(low, square, v)
    }

    /// The interval, the 17-bit position in it, and the position's square.
    pub(super) fn split(&mut self, x: Value) -> [Value; 3] {
        let place = self.b.with("and", x, 0x1_ffff);
        let interval = self.b.with("lshr", x, 17);
        let square = square(self.b, place);
        [interval, place, square]
    }

    /// The coefficients of an interval: its value, and the factors of the offset and of its square as the table has
    /// them.
    fn row(&mut self, of: Interpolated, interval: Value) -> (Value, Value) {
        let table = sfu::coefficients(of);
        let factors: Vec<u32> = table.factors.iter().map(|f| f.cast_unsigned()).collect();
        (look_up(self.b, table.first, interval), look_up(self.b, &factors, interval))
    }

    /// The lowest 12 bits, with their sign: the factor of the square.
    fn by_square(&mut self, factors: Value) -> Value {
        let v = self.b.with("shl", factors, 20);
        self.b.with("ashr", v, 20)
    }

    /// The polynomial in an interval, 64 bits; the first coefficient and that of the square are shifted left.
    fn sum(
        &mut self,
        of: Interpolated,
        [interval, place, square]: [Value; 3],
        [first, last]: [u128; 2],
    ) -> Value {
        let (value, factors) = self.row(of, interval);
        let by_place = self.b.with("ashr", factors, 12);
        let by_square = self.by_square(factors);
        let value = self.b.fit(value, 64);
        let value = self.b.with("shl", value, first);
        let (by_place, place) = (self.b.signed(by_place, 64), self.b.fit(place, 64));
        let linear = self.b.op("mul", by_place, place);
        let squared = self.b.op("mul", by_square, square);
        let squared = self.b.signed(squared, 64);
        let squared = self.b.with("shl", squared, last);
        let sum = self.b.op("add", value, linear);
        self.b.op("add", sum, squared)
    }

    /// The same plus `round`, without its lowest `right` bits, in 32-bit arithmetic (`narrow_sum` of
    /// [`cushim_ptx::alu::sfu`] says for which sums).
    pub(super) fn narrow_sum(
        &mut self,
        of: Interpolated,
        [interval, place, square]: [Value; 3],
        [first, last]: [u128; 2],
        round: u128,
        right: u128,
    ) -> Value {
        const BELOW: u128 = 10;
        let (value, factors) = self.row(of, interval);
        let upper = self.b.with("ashr", factors, 12 + BELOW);
        let lower = self.b.with("lshr", factors, 12);
        let lower = self.b.with("and", lower, (1 << BELOW) - 1);
        let c = self.by_square(factors);
        let squared = self.b.op("mul", c, square);
        let squared = self.b.with("shl", squared, last);
        let below = self.b.op("mul", lower, place);
        let below = self.b.op("add", below, squared);
        let below = self.b.with("add", below, round);
        let below = self.b.with("ashr", below, BELOW);
        let value = self.b.with("shl", value, first - BELOW);
        let linear = self.b.op("mul", upper, place);
        let v = self.b.op("add", value, linear);
        let v = self.b.op("add", v, below);
        self.b.with("ashr", v, right - BELOW)
    }

    /// A number below 2^53 with `point` fraction bits, as a single, truncated. Zero is positive.
    fn single(&mut self, v: Value, point: u32) -> Value {
        let number = self.b.cast("sitofp", v, Type::Double);
        let bits = self.b.bits_of(number);
        let bits = self.b.with("lshr", bits, 29);
        let bits = self.b.fit(bits, 32);
        let bits = self.b.op("sub", bits, c((1023 - 127 + point) << 23));
        let zero = self.b.icmp_with("eq", v, 0);
        self.b.select(zero, c(0), bits)
    }

    fn parts(&mut self, x: Value) -> (Value, Value) {
        let e = self.b.with("lshr", x, 23);
        let e = self.b.with("and", e, 0xff);
        (e, self.b.with("and", x, u128::from(ONE - 1)))
    }

    /// 1 / x of a fraction, with the leading bit.
    pub(super) fn reciprocal(&mut self, fraction: Value) -> Value {
        let place = self.b.with("and", fraction, 0xffff);
        let interval = self.b.with("lshr", fraction, 16);
        let twice = self.b.with("shl", place, 1);
        let square = square(self.b, twice);
        self.narrow_sum(Interpolated::Rcp, [interval, place, square], [13, 0], 0x47e7, 15)
    }

    fn rcp(&mut self, x: Value) -> Value {
        let (e, fraction) = self.parts(x);
        let v = self.reciprocal(fraction);
        let v = self.b.op("sub", v, c(ONE));
        let power = self.b.op("sub", c(253), e);
        let power = self.b.with("shl", power, 23);
        let bits = self.b.op("add", power, v);
        let under = self.b.icmp_with("slt", bits, ONE.into());
        let bits = self.b.select(under, c(0), bits);
        let none = self.b.icmp_with("eq", e, 0);
        let bits = self.b.select(none, c(INFINITY), bits);
        let most = self.b.icmp_with("eq", e, 255);
        let bits = self.b.select(most, c(0), bits);
        let sign = self.b.with("and", x, SIGN.into());
        let bits = self.b.op("or", bits, sign);
        self.or_nan(x, bits)
    }

    /// NaN for NaNs.
    fn or_nan(&mut self, x: Value, bits: Value) -> Value {
        let x = self.b.bits_as(x, Type::Float);
        let nan = self.b.fcmp("uno", x, x);
        self.b.select(nan, c(NAN), bits)
    }

    /// The exponent and fraction that a root is taken of: half the exponent, and 24 bits.
    fn halve(&mut self, x: Value) -> (Value, Value) {
        let (e, fraction) = self.parts(x);
        let e = self.b.op("sub", e, c(127));
        let odd = self.b.with("and", e, 1);
        let odd = self.b.with("shl", odd, 23);
        let fraction = self.b.op("or", fraction, odd);
        (self.b.with("ashr", e, 1), fraction)
    }

    /// The roots of operands that are no positive finite numbers: of zeros, of infinity, and NaN for the rest.
    fn root(&mut self, x: Value, v: Value, of_zero: u32, of_infinity: u32) -> Value {
        let beyond = self.b.icmp_with("uge", x, INFINITY.into());
        let v = self.b.select(beyond, c(NAN), v);
        let infinite = self.b.icmp_with("eq", x, INFINITY.into());
        let v = self.b.select(infinite, c(of_infinity), v);
        let none = self.is_small(x);
        let zero = self.b.with("and", x, SIGN.into());
        let zero = self.b.with("or", zero, of_zero.into());
        self.b.select(none, zero, v)
    }

    /// 1 / √x of 24 bits, with the leading bit.
    pub(super) fn inverse_root(&mut self, fraction: Value) -> Value {
        let split = self.split(fraction);
        let v = self.narrow_sum(Interpolated::Rsqrt, split, [14, 2], 0x7fff, 16);
        let whole = self.b.icmp_with("eq", fraction, 0);
        self.b.select(whole, c(2 * ONE), v)
    }

    fn rsqrt(&mut self, x: Value) -> Value {
        let (half, fraction) = self.halve(x);
        let split = self.split(fraction);
        let v = self.narrow_sum(Interpolated::Rsqrt, split, [14, 2], 0x7fff, 16);
        let whole = self.b.icmp_with("eq", fraction, 0);
        let v = self.b.select(whole, c(2 * ONE), v);
        let v = self.b.op("sub", v, c(ONE));
        let power = self.b.op("sub", c(126), half);
        let power = self.b.with("shl", power, 23);
        let v = self.b.op("add", power, v);
        self.root(x, v, INFINITY, 0)
    }

    fn sqrt(&mut self, x: Value) -> Value {
        let (half, fraction) = self.halve(x);
        let split = self.split(fraction);
        let v = self.narrow_sum(Interpolated::Sqrt, split, [15, 0], 0xffff, 17);
        let v = self.b.op("sub", v, c(ONE));
        let power = self.b.op("add", half, c(127));
        let power = self.b.with("shl", power, 23);
        let v = self.b.op("add", power, v);
        self.root(x, v, 0, INFINITY)
    }

    /// A number's exponent and fraction, and its significand shifted by the exponent's distance from `one`.
    fn fixed(&mut self, x: Value, one: u32, most: u128) -> (Value, Value, Value) {
        let (e, fraction) = self.parts(x);
        let m = self.b.with("or", fraction, ONE.into());
        let by = self.b.op("sub", e, c(one));
        let by = match most {
            7 => self.b.with("and", by, 7),
            most => self.b.same("llvm.umin", &[by, Value::int(32, most)]),
        };
        let left = self.b.op("shl", m, by);
        let by = self.b.op("sub", c(one), e);
        let by = self.b.same("llvm.umin", &[by, c(31)]);
        let right = self.b.op("lshr", m, by);
        let large = self.b.icmp_with("uge", e, one.into());
        (e, fraction, self.b.select(large, left, right))
    }

    fn ex2(&mut self, x: Value) -> Value {
        let (e, _, fixed) = self.fixed(x, 127, 7);
        // A negative number that is not whole has all bits inverted.
        let negative = self.b.with("ashr", x, 31);
        let rest = self.b.with("and", fixed, u128::from(ONE - 1));
        let whole = self.b.icmp_with("eq", rest, 0);
        let one = self.b.with("lshr", x, 31);
        let one = self.b.select(whole, one, c(0));
        let fixed = self.b.op("xor", fixed, negative);
        let fixed = self.b.op("add", fixed, one);
        let fraction = self.b.with("and", fixed, u128::from(ONE - 1));
        let split = self.split(fraction);
        let v = self.narrow_sum(Interpolated::Ex2, split, [13, 0], 0x77e2, 15);
        let v = self.b.op("sub", v, c(ONE));
        let power = self.b.with("ashr", fixed, 23);
        let power = self.b.op("add", power, c(127));
        let within = self.b.same("llvm.smax", &[power, c(0)]);
        let within = self.b.same("llvm.smin", &[within, c(255)]);
        let within = self.b.with("shl", within, 23);
        let bits = self.b.op("add", within, v);
        let most = self.b.same("llvm.umin", &[bits, c(INFINITY)]);
        let none = self.b.icmp_with("slt", power, 0);
        let under = self.b.icmp_with("ult", bits, ONE.into());
        let none = self.b.op("or", none, under);
        let bits = self.b.select(none, c(0), most);
        let minus = self.b.icmp_with("slt", x, 0);
        let large = self.b.select(minus, c(0), c(INFINITY));
        let beyond = self.b.icmp_with("uge", e, 135);
        let bits = self.b.select(beyond, large, bits);
        self.or_nan(x, bits)
    }

    fn lg2(&mut self, x: Value) -> Value {
        let bits = self.logarithm(x);
        self.root(x, bits, SIGN | INFINITY, INFINITY)
    }

    /// The logarithm of a positive number that is neither subnormal nor infinite.
    pub(super) fn logarithm(&mut self, x: Value) -> Value {
        let (e, fraction) = self.parts(x);
        let split = self.split(fraction);
        let sum = self.sum(Interpolated::Lg2, split, [12, 1]);
        let v = self.b.with("add", sum, 0x3345);
        let v = self.b.with("ashr", v, 2);
        let low = self.b.with("and", x, (!SIGN).into());
        let one = self.b.icmp_with("eq", low, (127u32 << 23).into());
        let v = self.b.select(one, Value::int(64, 0), v);
        let e = self.b.op("sub", e, c(127));
        let e = self.b.signed(e, 64);
        let e = self.b.with("shl", e, 36);
        let v = self.b.op("add", v, e);
        let below = self.b.with("ashr", v, 63);
        let v = self.b.op("xor", v, below);
        let bits = self.single(v, 36);
        let sign = self.b.fit(below, 32);
        let sign = self.b.with("and", sign, SIGN.into());
        self.b.op("or", bits, sign)
    }

    /// An angle in turns, rounded towards zero.
    fn turns(&mut self, x: Value) -> Value {
        let number = self.b.bits_as(x, Type::Float);
        let number = self.b.cast("fpext", number, Type::Double);
        let by = Value::double(f64::from(f32::from_bits(0x3e22_f983)));
        let v = self.b.op("fmul", number, by);
        let bits = self.b.bits_of(v);
        let bits = self.b.with("and", bits, u128::from(u64::MAX >> 1));
        let rest = self.b.with("lshr", bits, 29);
        let under = self.b.icmp_with("ult", rest, 897 << 23);
        let rest = self.b.op("sub", rest, Value::int(64, 896 << 23));
        let rest = self.b.fit(rest, 32);
        let rest = self.b.select(under, c(0), rest);
        let e = self.b.with("and", x, INFINITY.into());
        let infinite = self.b.icmp_with("eq", e, INFINITY.into());
        let rest = self.b.select(infinite, c(INFINITY), rest);
        let sign = self.b.with("and", x, SIGN.into());
        self.b.op("or", rest, sign)
    }

    /// Sine (`quarter` 0) or cosine (1).
    fn wave(&mut self, x: Value, quarter: u32) -> Value {
        let x = self.turns(x);
        let (e, _, fixed) = self.fixed(x, 125, 31);
        let q = self.b.with("lshr", fixed, 23);
        let q = self.b.with("and", q, 3);
        let q = self.b.with("add", q, quarter.into());
        // In the second and fourth quarter the fraction runs backwards.
        let odd = self.b.with("and", q, 1);
        let back = self.b.op("sub", c(0), odd);
        let fraction = self.b.op("xor", fixed, back);
        let fraction = self.b.with("and", fraction, u128::from(ONE - 1));
        let split = self.split(fraction);
        let sum = self.sum(Interpolated::Sin, split, [11, 0]);
        let bits = self.single(sum, 37);
        let mut sign = self.b.with("shl", q, 30);
        if quarter == 0 {
            sign = self.b.op("xor", sign, x);
        }
        let sign = self.b.with("and", sign, SIGN.into());
        let bits = self.b.op("or", bits, sign);
        let none = self.b.icmp_with("eq", e, 255);
        self.b.select(none, c(NAN), bits)
    }
}
