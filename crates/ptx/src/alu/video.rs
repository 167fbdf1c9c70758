//! Video instructions: on a part of each word, and on words as two or four parts (ISA, "Scalar Video Instructions"
//! and "SIMD Video Instructions").
//!
//! Owns the encoding of selectors into one number, which is an instruction's fourth operand, and the arithmetic.
//! Intermediate results of one part have 34 bits, as the ISA says; results of a GPU show it when they are shifted.

use crate::sem::{Then, Video, VideoOp};

/// The parts of operands and result that an instruction names: `.b1`, `.h10`, `.b7210`, and signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selectors {
    /// On one part of each operand.
    Scalar {
        /// Where the result goes: the whole word (0), `.b0` to `.b3` (1 to 4), `.h0` and `.h1` (5, 6).
        to: u8,
        /// The part of each of two operands, numbered in the same way.
        from: [u8; 2],
        /// Which of three operands are negated, a bit for each.
        negated: u8,
    },
    /// On two or four parts.
    Simd {
        /// Two, or four.
        parts: u8,
        /// The parts to compute, one bit each.
        mask: u8,
        /// For both operands, which part of the pair of words each part is.
        from: [[u8; 4]; 2],
    },
}

impl Selectors {
    /// The name of a part as a number; `None` if there is no such selector.
    pub fn part(text: &str) -> Option<u8> {
        let all = ["b0", "b1", "b2", "b3", "h0", "h1"];
        all.iter().position(|s| *s == text).map(|n| n as u8 + 1)
    }

    /// The numbers in a selector of two parts (`h10`) or four (`b3210`), from the lowest part.
    fn digits(parts: u8, text: &str) -> Option<Vec<u8>> {
        let digits = text.strip_prefix(if parts == 2 { 'h' } else { 'b' })?;
        digits.bytes().rev().map(|b| b.checked_sub(b'0').filter(|n| *n < 10)).collect()
    }

    /// The parts of the result that a selector names, a bit for each.
    pub fn mask(parts: u8, text: &str) -> Option<u8> {
        let digits = Selectors::digits(parts, text)?;
        let rising = digits.windows(2).all(|d| d[0] < d[1]);
        let some = !digits.is_empty() && digits.iter().all(|n| *n < parts);
        (some && rising).then(|| digits.iter().fold(0, |m, n| m | 1 << n))
    }

    /// Which part of a pair of words each part is, by a selector.
    pub fn choice(parts: u8, text: &str) -> Option<[u8; 4]> {
        let digits = Selectors::digits(parts, text)?;
        let fits = digits.len() == parts.into() && digits.iter().all(|n| *n < 2 * parts);
        let mut from = [0; 4];
        from.iter_mut().zip(&digits).for_each(|(to, n)| *to = *n);
        fits.then_some(from)
    }

    /// As a number of 32 bits.
    pub fn bits(self) -> u64 {
        match self {
            Selectors::Scalar { to, from, negated } => {
                u64::from(to) << 2
                    | u64::from(from[0]) << 5
                    | u64::from(from[1]) << 8
                    | u64::from(negated) << 11
            }
            Selectors::Simd { parts, mask, from } => {
                let all = from.iter().flatten().enumerate();
                let from = all.fold(0, |bits, (k, n)| bits | u64::from(*n) << (3 * k));
                u64::from(parts / 2) | u64::from(mask) << 2 | from << 6
            }
        }
    }

    /// From such a number.
    pub fn of(bits: u64) -> Selectors {
        let field = |at: u32, n: u32| (bits >> at) as u8 & ((1 << n) - 1);
        match field(0, 2) {
            0 => Selectors::Scalar {
                to: field(2, 3),
                from: [field(5, 3), field(8, 3)],
                negated: field(11, 3),
            },
            half => Selectors::Simd {
                parts: 2 * half,
                mask: field(2, 4),
                from: [0, 1].map(|o| [0, 1, 2, 3].map(|k| field(6 + 3 * (4 * o + k), 3))),
            },
        }
    }
}

/// The position of a part in its word: first bit, number of bits.
fn place(part: u8) -> (u32, u32) {
    match part {
        1..=4 => (8 * (u32::from(part) - 1), 8),
        5 | 6 => (16 * (u32::from(part) - 5), 16),
        _ => (0, 32),
    }
}

/// The number that the lowest bits of a word are.
fn number(v: u64, bits: u32, signed: bool) -> i128 {
    let v = (v << (64 - bits)) as i64;
    if signed { (v >> (64 - bits)).into() } else { (v as u64 >> (64 - bits)).into() }
}

fn clamp(v: i128, bits: u32, signed: bool) -> i128 {
    if signed {
        v.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        v.clamp(0, (1 << bits) - 1)
    }
}

/// The result for `a`, `b`, `c` and the selectors.
pub(super) fn eval(i: Video, a: [u64; 5]) -> u64 {
    let result = match Selectors::of(a[3]) {
        Selectors::Scalar { to, from, negated } => {
            let part = |n: usize| {
                let (at, bits) = place(from[n]);
                number(a[n] >> at, bits, i.signed[n + 1])
            };
            let (x, y) = (part(0), part(1));
            match i.op {
                VideoOp::Mad { plus_one, shift } => {
                    let (sum, signed) = sum(i, x, y, a[2], negated);
                    let v = (sum + i128::from(plus_one)) >> shift;
                    if i.saturate { clamp(v, 32, signed) } else { v }
                }
                _ => scalar(i, x, y, a[2], to),
            }
        }
        Selectors::Simd { parts, mask, from } => simd(i, a, parts, mask, from),
    };
    result as u64 & 0xffff_ffff
}

/// What an instruction does with two numbers.
fn compute(i: Video, x: i128, y: i128) -> i128 {
    let amount = |wrap: bool| if wrap { y & 31 } else { y.min(32) };
    match i.op {
        VideoOp::Add => x + y,
        VideoOp::Sub => x - y,
        VideoOp::AbsoluteDifference => (x - y).abs(),
        VideoOp::Min => x.min(y),
        VideoOp::Max => x.max(y),
        VideoOp::Shl { wrap } => x << amount(wrap),
        VideoOp::Shr { wrap } => x >> amount(wrap),
        VideoOp::Average => (x + y + i128::from(x + y >= 0)) >> 1,
        VideoOp::Compare(outcomes) => outcomes.holds(Some(x.cmp(&y))).into(),
        VideoOp::Mad { .. } => x * y,
    }
}

fn scalar(i: Video, x: i128, y: i128, c: u64, to: u8) -> i128 {
    let (at, bits) = place(to);
    let [signed, first, _] = i.signed;
    let v = number(compute(i, x, y) as u64, 34, true);
    let v = if i.saturate { clamp(v, bits, signed) } else { v };
    // A GPU compares all 34 bits, with signs only where the type of the result (of the operands of `vset`) has one.
    let compared = signed || matches!(i.op, VideoOp::Compare(_)) && first;
    let (wide, third) = (number(v as u64, 34, compared), number(c, 32, compared));
    match i.then {
        Some(Then::Add) => v + third,
        Some(Then::Min) => wide.min(third),
        Some(Then::Max) => wide.max(third),
        None if to == 0 => v,
        None => {
            let part = ((1 << bits) - 1) << at;
            v << at & part | i128::from(c) & !part
        }
    }
}

/// `vmad`: the product or the summand may be negated; returns the sum, and whether it is signed.
fn sum(i: Video, x: i128, y: i128, c: u64, negated: u8) -> (i128, bool) {
    let product_negated = (negated ^ negated >> 1) & 1 != 0;
    let third_negated = negated & 4 != 0;
    let signed = i.signed[1] || i.signed[2] || product_negated || third_negated;
    let product = if product_negated { -compute(i, x, y) } else { compute(i, x, y) };
    let third = if third_negated { number(!c, 32, signed) + 1 } else { number(c, 32, signed) };
    (product + third, signed)
}

fn simd(i: Video, a: [u64; 5], parts: u8, mask: u8, from: [[u8; 4]; 2]) -> i128 {
    let bits = 32 / u32::from(parts);
    let pair = (a[0] & 0xffff_ffff) | a[1] << 32;
    let part =
        |n: usize, k: usize| number(pair >> (bits * u32::from(from[n][k])), bits, i.signed[n + 1]);
    let mut result = i128::from(a[2]);
    for k in (0..usize::from(parts)).filter(|k| mask >> k & 1 != 0) {
        let v = compute(i, part(0, k), part(1, k));
        let v = if i.saturate { clamp(v, bits, i.signed[0]) } else { v };
        if i.then == Some(Then::Add) {
            result += v;
        } else {
            let at = bits * k as u32;
            let place = ((1 << bits) - 1) << at;
            result = v << at & place | result & !place;
        }
    }
    result
}
