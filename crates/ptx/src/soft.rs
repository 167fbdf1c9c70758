//! Floating point by integers: exact results, rounded once, in any binary format and any direction. The host's
//! arithmetic rounds to nearest only and has neither half precision nor bfloat16.

/// A binary floating-point format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Bits of the stored fraction.
    pub fraction: u32,
    /// Bits of the exponent.
    pub exponent: u32,
}

impl Format {
    /// IEEE binary16.
    pub const F16: Format = Format { fraction: 10, exponent: 5 };
    /// bfloat16.
    pub const BF16: Format = Format { fraction: 7, exponent: 8 };
    /// IEEE binary32.
    pub const F32: Format = Format { fraction: 23, exponent: 8 };
    /// IEEE binary64.
    pub const F64: Format = Format { fraction: 52, exponent: 11 };
    /// TensorFloat-32, as the upper bits of a binary32.
    pub const TF32: Format = Format { fraction: 10, exponent: 8 };
    /// FP8 E5M2.
    pub const E5M2: Format = Format { fraction: 2, exponent: 5 };

    const fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    const fn max_exponent(self) -> u64 {
        (1 << self.exponent) - 1
    }

    /// The sign bit.
    pub const fn sign(self) -> u64 {
        1 << (self.fraction + self.exponent)
    }

    /// Infinity.
    pub const fn infinity(self) -> u64 {
        self.max_exponent() << self.fraction
    }

    /// The largest finite number.
    pub const fn largest(self) -> u64 {
        self.infinity() - 1
    }

    /// The canonical NaN: all ones without a sign (ISA: 0x7fffffff, 0x7fff);
    /// for doubles the hardware's default.
    pub const fn nan(self) -> u64 {
        if self.fraction == 52 { 0xfff8_0000_0000_0000 } else { self.sign() - 1 }
    }

    /// Whether these bits are a NaN.
    pub const fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    /// Whether these bits are an infinity.
    pub const fn is_infinite(self, bits: u64) -> bool {
        bits & (self.sign() - 1) == self.infinity()
    }

    /// Whether these bits are a non-zero number below the normal ones.
    pub const fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = bits & (self.sign() - 1);
        magnitude != 0 && magnitude < (1 << self.fraction)
    }

    /// Whether these bits are a zero.
    pub const fn is_zero(self, bits: u64) -> bool {
        bits & (self.sign() - 1) == 0
    }
}

/// Rounding directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Round {
    /// To nearest, ties to even.
    Nearest,
    /// To nearest, ties away from zero.
    Away,
    /// Toward zero.
    Zero,
    /// Toward minus infinity.
    Down,
    /// Toward plus infinity.
    Up,
}

/// A finite number other than zero: (-1)^negative * mantissa * 2^exponent.
#[derive(Debug, Clone, Copy)]
pub struct Finite {
    /// Below zero.
    pub negative: bool,
    /// Not zero.
    pub mantissa: u128,
    /// Power of two of the mantissa's lowest bit.
    pub exponent: i32,
}

/// The parts of a finite number; `None` for zero, infinity and NaN.
pub fn unpack(bits: u64, f: Format) -> Option<Finite> {
    let field = bits >> f.fraction & f.max_exponent();
    let fraction = bits & ((1 << f.fraction) - 1);
    if field == f.max_exponent() || (field == 0 && fraction == 0) {
        return None;
    }
    let (mantissa, e) =
        if field == 0 { (fraction, 1) } else { (fraction | 1 << f.fraction, field as i32) };
    Some(Finite {
        negative: bits & f.sign() != 0,
        mantissa: mantissa.into(),
        exponent: e - f.bias() - f.fraction as i32,
    })
}

/// Rounds to a format. `sticky` says that the exact value is a little further
/// from zero than the mantissa. Overflow follows the direction.
pub fn pack(v: Finite, sticky: bool, f: Format, round: Round) -> u64 {
    let sign = if v.negative { f.sign() } else { 0 };
    if v.mantissa == 0 {
        // Only the sticky part is left: below half of anything.
        let up = sticky && away(round, v.negative, false, false, true);
        return sign | u64::from(up);
    }
    let top = 127 - v.mantissa.leading_zeros() as i32;
    // The exponent of the lowest bit that is kept.
    let lowest = 1 - f.bias() - f.fraction as i32;
    let unit = (top + v.exponent - f.fraction as i32).max(lowest);
    let shift = unit - v.exponent;
    let (kept, half, rest) = if shift <= 0 {
        (v.mantissa << (-shift).min(127), false, sticky)
    } else if shift > 127 {
        (0, false, true)
    } else {
        let cut = v.mantissa & ((1 << shift) - 1);
        let half = cut >> (shift - 1) & 1 != 0;
        let below = cut & ((1 << (shift - 1)) - 1) != 0;
        (v.mantissa >> shift, half, below || sticky)
    };
    let exact = !half && !rest;
    let up = !exact && away(round, v.negative, kept & 1 != 0, half, rest);
    let mut kept = kept as u64 + u64::from(up);
    let mut unit = unit;
    if kept >> (f.fraction + 1) != 0 {
        kept >>= 1;
        unit += 1;
    }
    let field = if kept >> f.fraction != 0 { (unit - lowest + 1) as u64 } else { 0 };
    if field >= f.max_exponent() {
        let inward = match round {
            Round::Zero => true,
            Round::Down => !v.negative,
            Round::Up => v.negative,
            Round::Nearest | Round::Away => false,
        };
        return sign | if inward { f.largest() } else { f.infinity() };
    }
    sign | field << f.fraction | kept & ((1 << f.fraction) - 1)
}

fn away(round: Round, negative: bool, odd: bool, half: bool, rest: bool) -> bool {
    match round {
        Round::Nearest => half && (rest || odd),
        Round::Away => half,
        Round::Zero => false,
        Round::Down => negative && (half || rest),
        Round::Up => !negative && (half || rest),
    }
}

/// Converts between formats.
pub fn convert(bits: u64, from: Format, to: Format, round: Round) -> u64 {
    let sign = if bits & from.sign() != 0 { to.sign() } else { 0 };
    if from.is_nan(bits) {
        to.nan()
    } else if from.is_infinite(bits) {
        sign | to.infinity()
    } else {
        match unpack(bits, from) {
            Some(v) => pack(v, false, to, round),
            None => sign,
        }
    }
}

/// `a * b + c`, rounded once. With `b` = 1 an addition, with `c` = -0 or 0 a
/// product (the caller gives the zero the product's sign).
pub fn fma(a: u64, b: u64, c: u64, f: Format, round: Round) -> u64 {
    if f.is_nan(a) || f.is_nan(b) || f.is_nan(c) {
        return f.nan();
    }
    let product_sign = (a ^ b) & f.sign();
    if f.is_infinite(a) || f.is_infinite(b) {
        if f.is_zero(a) || f.is_zero(b) {
            return f.nan();
        }
        if f.is_infinite(c) && c & f.sign() != product_sign {
            return f.nan();
        }
        return product_sign | f.infinity();
    }
    if f.is_infinite(c) {
        return c;
    }
    let product = match (unpack(a, f), unpack(b, f)) {
        (Some(x), Some(y)) => Some(Finite {
            negative: product_sign != 0,
            mantissa: x.mantissa * y.mantissa,
            exponent: x.exponent + y.exponent,
        }),
        _ => None,
    };
    match (product, unpack(c, f)) {
        (None, None) => {
            let c_sign = c & f.sign();
            if product_sign == c_sign {
                c_sign
            } else if round == Round::Down {
                f.sign()
            } else {
                0
            }
        }
        (Some(p), None) => pack(p, false, f, round),
        (None, Some(_)) => c,
        (Some(p), Some(q)) => sum(p, q, f, round),
    }
}

/// Moves the leading bit to bit 125, so that a sum has room.
fn align_top(v: Finite) -> Finite {
    let shift = v.mantissa.leading_zeros() as i32 - 2;
    Finite { mantissa: v.mantissa << shift, exponent: v.exponent - shift, ..v }
}

fn sum(p: Finite, q: Finite, f: Format, round: Round) -> u64 {
    let (mut big, mut small) = (align_top(p), align_top(q));
    if small.exponent > big.exponent
        || (small.exponent == big.exponent && small.mantissa > big.mantissa)
    {
        std::mem::swap(&mut big, &mut small);
    }
    let shift = (big.exponent - small.exponent) as u32;
    let (low, lost) = if shift > 126 {
        (0, true)
    } else {
        (small.mantissa >> shift, small.mantissa & ((1 << shift) - 1) != 0)
    };
    if big.negative == small.negative {
        return pack(Finite { mantissa: big.mantissa + low, ..big }, lost, f, round);
    }
    // The lost bits make the difference smaller: borrow one, and the rest of it is sticky.
    let mantissa = big.mantissa - low - u128::from(lost);
    if mantissa == 0 && !lost {
        return if round == Round::Down { f.sign() } else { 0 };
    }
    pack(Finite { mantissa, ..big }, lost, f, round)
}

/// `a / b`.
pub fn div(a: u64, b: u64, f: Format, round: Round) -> u64 {
    if f.is_nan(a) || f.is_nan(b) {
        return f.nan();
    }
    let sign = (a ^ b) & f.sign();
    match (f.is_infinite(a), f.is_infinite(b), f.is_zero(a), f.is_zero(b)) {
        (true, true, ..) | (_, _, true, true) => return f.nan(),
        (true, ..) | (_, _, _, true) => return sign | f.infinity(),
        (_, true, ..) | (_, _, true, _) => return sign,
        _ => {}
    }
    let (Some(x), Some(y)) = (unpack(a, f), unpack(b, f)) else { return f.nan() };
    let shift = x.mantissa.leading_zeros() as i32 - 1;
    let numerator = x.mantissa << shift;
    let v = Finite {
        negative: sign != 0,
        mantissa: numerator / y.mantissa,
        exponent: x.exponent - shift - y.exponent,
    };
    pack(v, !numerator.is_multiple_of(y.mantissa), f, round)
}

/// The square root.
pub fn sqrt(a: u64, f: Format, round: Round) -> u64 {
    if f.is_nan(a) {
        return f.nan();
    }
    let Some(v) = unpack(a, f) else {
        return if f.is_infinite(a) && a & f.sign() != 0 { f.nan() } else { a };
    };
    if v.negative {
        return f.nan();
    }
    let mut shift = v.mantissa.leading_zeros() as i32 - 2;
    if (v.exponent - shift) % 2 != 0 {
        shift -= 1;
    }
    let n = v.mantissa << shift;
    let root = n.isqrt();
    let exponent = (v.exponent - shift) / 2;
    pack(Finite { negative: false, mantissa: root, exponent }, root * root != n, f, round)
}

/// An integer to a format.
pub fn from_int(negative: bool, magnitude: u64, f: Format, round: Round) -> u64 {
    if magnitude == 0 {
        return 0;
    }
    pack(Finite { negative, mantissa: magnitude.into(), exponent: 0 }, false, f, round)
}

/// Rounds to an integer: sign and magnitude, saturated to 2^65. `None` for NaN.
pub fn to_int(bits: u64, f: Format, round: Round) -> Option<(bool, u128)> {
    if f.is_nan(bits) {
        return None;
    }
    let negative = bits & f.sign() != 0;
    if f.is_infinite(bits) {
        return Some((negative, 1 << 65));
    }
    let Some(v) = unpack(bits, f) else { return Some((negative, 0)) };
    if v.exponent >= 0 {
        let room = v.mantissa.leading_zeros() as i32;
        let value = if v.exponent >= room { 1 << 65 } else { v.mantissa << v.exponent };
        return Some((negative, value.min(1 << 65)));
    }
    let shift = -v.exponent;
    let (kept, half, rest) = if shift > 127 {
        (0, false, true)
    } else {
        let cut = v.mantissa & ((1 << shift) - 1);
        (v.mantissa >> shift, cut >> (shift - 1) & 1 != 0, cut & ((1 << (shift - 1)) - 1) != 0)
    };
    let up = (half || rest) && away(round, negative, kept & 1 != 0, half, rest);
    Some((negative, kept + u128::from(up)))
}
