//! Computes the exact result of an IEEE 754 operation as a long integer, and rounds it once. It uses none of the crates
//! under test.

/// A rounding direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    Nearest,
    Zero,
    Down,
    Up,
}

/// The names in PTX.
pub const ROUNDS: [(&str, Round); 4] =
    [("rn", Round::Nearest), ("rz", Round::Zero), ("rm", Round::Down), ("rp", Round::Up)];

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Sqrt,
}

pub const OPS: [Op; 6] = [Op::Add, Op::Sub, Op::Mul, Op::Fma, Op::Div, Op::Sqrt];

/// A binary format: mantissa digits with the implicit one, and the least exponent of a normal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub bits: u32,
    pub least: i32,
}

impl Format {
    pub const DOUBLE: Format = Format { bits: 53, least: -1022 };
    pub const SINGLE: Format = Format { bits: 24, least: -126 };

    pub fn name(self) -> &'static str {
        if self.bits == 53 { "f64" } else { "f32" }
    }

    pub fn bytes(self) -> usize {
        if self.bits == 53 { 8 } else { 4 }
    }

    pub fn infinity(self) -> u64 {
        if self.bits == 53 { 0x7ff << 52 } else { 0xff << 23 }
    }

    fn sign(self) -> u64 {
        1 << (8 * self.bytes() - 1)
    }

    pub fn is_nan(self, v: u64) -> bool {
        v & !self.sign() > self.infinity()
    }

    /// A finite number: sign, mantissa, exponent of its last bit.
    fn parts(self, v: u64) -> (bool, u64, i32) {
        let (m, field) = (v & ((1 << (self.bits - 1)) - 1), (v & !self.sign()) >> (self.bits - 1));
        let last = self.least - (self.bits as i32 - 1);
        match field {
            0 => (v & self.sign() != 0, m, last),
            _ => (v & self.sign() != 0, m | 1 << (self.bits - 1), last + field as i32 - 1),
        }
    }
}

const WORDS: usize = 76;
/// The last bit of a long integer is 2^-SCALE.
const SCALE: i32 = 2304;

/// A long integer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Long([u64; WORDS]);

impl Long {
    /// `v * 2^exponent`. The first word is the highest, so that comparing the words in order compares the numbers.
    fn new(v: u128, exponent: i32) -> Long {
        let by = (exponent + SCALE) as usize;
        let (mut words, last) = ([0; WORDS], WORDS - 1 - by / 64);
        let (low, high) = (v as u64, (v >> 64) as u64);
        let moved = |v: u64| u128::from(v) << (by % 64);
        let middle = (moved(low) >> 64) + (moved(high) & u128::from(u64::MAX));
        words[last] = moved(low) as u64;
        words[last - 1] = middle as u64;
        words[last - 2] = (moved(high) >> 64) as u64;
        Long(words)
    }

    fn bit(&self, at: usize) -> bool {
        self.0[WORDS - 1 - at / 64] >> (at % 64) & 1 != 0
    }

    fn top(&self) -> Option<usize> {
        let word = self.0.iter().position(|word| *word != 0)?;
        Some((WORDS - word) * 64 - 1 - self.0[word].leading_zeros() as usize)
    }

    /// Whether a bit below `at` is set.
    fn any_below(&self, at: usize) -> bool {
        let word = WORDS - 1 - at / 64;
        self.0[word] & ((1 << (at % 64)) - 1) != 0 || self.0[word + 1..].iter().any(|v| *v != 0)
    }

    fn add(&self, other: &Long) -> Long {
        let (mut sum, mut carry) = (self.clone(), 0);
        for (a, b) in sum.0.iter_mut().zip(&other.0).rev() {
            let v = u128::from(*a) + u128::from(*b) + carry;
            (*a, carry) = (v as u64, v >> 64);
        }
        sum
    }

    fn sub(&self, other: &Long) -> Long {
        let (mut rest, mut borrow) = (self.clone(), false);
        for (a, b) in rest.0.iter_mut().zip(&other.0).rev() {
            let (v, first) = a.overflowing_sub(*b);
            let (v, second) = v.overflowing_sub(u64::from(borrow));
            (*a, borrow) = (v, first || second);
        }
        rest
    }
}

/// Rounds a signed long integer to a format; `more` says whether there are bits after its last one.
fn rounded(negative: bool, v: &Long, more: bool, f: Format, round: Round) -> u64 {
    let sign = if negative { f.sign() } else { 0 };
    let Some(top) = v.top() else { return sign };
    let exponent = (top as i32 - SCALE).max(f.least);
    let last = (exponent - (f.bits as i32 - 1) + SCALE) as usize;
    let kept = (last..last + 64).filter(|at| *at < WORDS * 64 && v.bit(*at));
    let kept: u64 = kept.map(|at| 1_u64 << (at - last)).sum();
    let half = v.bit(last - 1);
    let rest = more || v.any_below(last - 1);
    let up = match round {
        Round::Nearest => half && (rest || kept & 1 != 0),
        Round::Zero => false,
        Round::Down => negative && (half || rest),
        Round::Up => !negative && (half || rest),
    };
    let kept = kept + u64::from(up);
    // The implicit bit adds one to the exponent's field.
    let field = (exponent - f.least) as u64;
    let bits = (field << (f.bits - 1)) + kept;
    if bits < f.infinity() {
        return sign | bits;
    }
    let inward = match round {
        Round::Nearest => false,
        Round::Zero => true,
        Round::Down => !negative,
        Round::Up => negative,
    };
    sign | (f.infinity() - u64::from(inward))
}

/// The square root of an integer, rounded down.
fn root(v: u128) -> u128 {
    let mut found = 0;
    for bit in (0..64).rev() {
        let more: u128 = found | 1 << bit;
        if more * more <= v {
            found = more;
        }
    }
    found
}

impl Op {
    pub fn name(self) -> &'static str {
        match self {
            Op::Add => "add",
            Op::Sub => "sub",
            Op::Mul => "mul",
            Op::Fma => "fma",
            Op::Div => "div",
            Op::Sqrt => "sqrt",
        }
    }

    pub fn operands(self) -> usize {
        match self {
            Op::Sqrt => 1,
            Op::Fma => 3,
            _ => 2,
        }
    }

    /// The result's bits; every NaN gives the same bits.
    pub fn exact(self, [x, y, z]: [u64; 3], f: Format, round: Round) -> u64 {
        let one = f.infinity() >> f.bits << (f.bits - 1);
        let zero = (x ^ y) & f.sign();
        match self {
            Op::Add => fused([x, one, y], f, round),
            Op::Sub => fused([x, one, y ^ f.sign()], f, round),
            Op::Mul => fused([x, y, zero], f, round),
            Op::Fma => fused([x, y, z], f, round),
            Op::Div => quotient([x, y], f, round),
            Op::Sqrt => of_root(x, f, round),
        }
    }
}

fn nan(f: Format) -> u64 {
    f.infinity() + 1
}

fn fused([x, y, z]: [u64; 3], f: Format, round: Round) -> u64 {
    let size = |v: u64| v & !f.sign();
    let (infinite, sign) = (f.infinity(), (x ^ y) & f.sign());
    if [x, y, z].iter().any(|v| f.is_nan(*v)) {
        return nan(f);
    }
    let product = size(x) == infinite || size(y) == infinite;
    if product && (size(x) == 0 || size(y) == 0) {
        return nan(f);
    }
    if product {
        let opposite = size(z) == infinite && z & f.sign() != sign;
        return if opposite { nan(f) } else { infinite | sign };
    }
    if size(z) == infinite {
        return z;
    }
    let [(a, m, e), (b, n, g), (c, k, h)] = [x, y, z].map(|v| f.parts(v));
    let product = Long::new(u128::from(m) * u128::from(n), e + g);
    let addend = Long::new(k.into(), h);
    let negative = a != b;
    if negative == c {
        return rounded(negative, &product.add(&addend), false, f, round);
    }
    match product.cmp(&addend) {
        std::cmp::Ordering::Equal => u64::from(round == Round::Down) * f.sign(),
        std::cmp::Ordering::Greater => rounded(negative, &product.sub(&addend), false, f, round),
        std::cmp::Ordering::Less => rounded(c, &addend.sub(&product), false, f, round),
    }
}

/// A mantissa shifted so that its highest bit is bit 63, and the exponent of its last bit then.
fn normal(m: u64, e: i32) -> (u128, i32) {
    let by = m.leading_zeros();
    (u128::from(m << by), e - by as i32)
}

fn quotient([x, y]: [u64; 2], f: Format, round: Round) -> u64 {
    let size = |v: u64| v & !f.sign();
    let (infinite, sign) = (f.infinity(), (x ^ y) & f.sign());
    let both = |v: u64| size(x) == v && size(y) == v;
    if f.is_nan(x) || f.is_nan(y) || both(0) || both(infinite) {
        return nan(f);
    }
    if size(x) == infinite || size(y) == 0 {
        return infinite | sign;
    }
    if size(x) == 0 || size(y) == infinite {
        return sign;
    }
    let ((_, m, e), (_, n, g)) = (f.parts(x), f.parts(y));
    let ((m, e), (n, g)) = (normal(m, e), normal(n, g));
    // 64 or 65 bits, and whether there is a remainder.
    let (found, rest) = ((m << 64) / n, (m << 64) % n);
    rounded(sign != 0, &Long::new(found, e - g - 64), rest != 0, f, round)
}

fn of_root(x: u64, f: Format, round: Round) -> u64 {
    if f.is_nan(x) || x & !f.sign() == 0 || x == f.infinity() {
        return x;
    }
    let (negative, m, e) = f.parts(x);
    if negative {
        return nan(f);
    }
    let (m, e) = normal(m, e);
    // Make the exponent even, and the mantissa 126 or 127 bits long.
    let (m, e) = (m << (62 + (e & 1)), e - 62 - (e & 1));
    let found = root(m);
    rounded(false, &Long::new(found, e / 2), found * found != m, f, round)
}
