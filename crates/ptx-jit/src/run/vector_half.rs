//! Halves and bfloat16 of all lanes at once: sums and products to nearest, and conversions from and to singles.
//!
//! Owns loops over 32 lanes, which the compiler vectorises. They compute with singles, and give the bits of
//! [`cushim_ptx::alu`]: a sum or a product of two halves, rounded to a single's 24 bits, rounds to the same half as
//! the exact one (24 is twice 11 and two more; bfloat16 has 8), and the sum of a product and a third number is
//! rounded to odd first ([`cushim_ptx::alu::half`]). A product of two halves is exact as a single; one of bfloat16
//! is, unless it is tiny: then `alu` computes the lanes. Operands and the result are as in [`super::vector_float`].

use super::singles::{narrow, spread};
use super::vector_float::vector_helpers;
use crate::warp::task::{HALVES, Halves, PACKED};
use crate::warp::{SLOTS, Slot, Warp};
use cushim_ptx::alu::half::nearest;
use cushim_ptx::sem::FloatOp;
use cushim_ptx::soft::Format;

vector_helpers! {
    halves[3]: |slots, flags| of_task(slots, flags);
}

/// The result of each lane, of one number or of two packed ones. A macro, as in [`super::vector_float`].
macro_rules! each {
    ($slots:ident, $flags:ident, |$x:ident, $y:ident, $z:ident| $body:expr) => {{
        let [x, y, z, ..] = $slots;
        let (x, y, z) = (narrow(x), narrow(y), narrow(z));
        if $flags & PACKED != 0 {
            for l in 0..32 {
                let low = {
                    let ($x, $y, $z) = (x[l] & 0xffff, y[l] & 0xffff, z[l] & 0xffff);
                    $body
                };
                let ($x, $y, $z) = (x[l] >> 16, y[l] >> 16, z[l] >> 16);
                x[l] = low | ($body) << 16;
            }
        } else {
            for l in 0..32 {
                let ($x, $y, $z) = (x[l] & 0xffff, y[l] & 0xffff, z[l] & 0xffff);
                x[l] = $body;
            }
        }
    }};
}

/// The same with one or two singles.
macro_rules! each_single {
    ($slots:ident, |$x:ident, $y:ident| $body:expr) => {{
        let [x, y, ..] = $slots;
        let (x, y) = (narrow(x), narrow(y));
        for l in 0..32 {
            let ($x, $y) = (x[l], y[l]);
            x[l] = $body;
        }
    }};
}

#[inline(always)]
fn of_task(slots: &mut [Slot; SLOTS], flags: u32) {
    spread(slots, flags);
    match Halves::ALL.get((flags / HALVES) as usize) {
        Some(Halves::AddF16) => each!(slots, flags, |x, y, _z| cut(wide(x) + wide(y))),
        Some(Halves::SubF16) => each!(slots, flags, |x, y, _z| cut(wide(x) - wide(y))),
        Some(Halves::MulF16) => each!(slots, flags, |x, y, _z| cut(wide(x) * wide(y))),
        Some(Halves::FmaF16) => {
            each!(slots, flags, |x, y, z| cut(to_odd(wide(x) * wide(y), wide(z))))
        }
        Some(Halves::AddBf16) => each!(slots, flags, |x, y, _z| cut_b(wide_b(x) + wide_b(y))),
        Some(Halves::SubBf16) => each!(slots, flags, |x, y, _z| cut_b(wide_b(x) - wide_b(y))),
        Some(Halves::MulBf16) if !any_tiny(slots, flags) => {
            each!(slots, flags, |x, y, _z| cut_b(wide_b(x) * wide_b(y)))
        }
        Some(Halves::FmaBf16) if !any_tiny(slots, flags) => {
            each!(slots, flags, |x, y, z| cut_b(to_odd(wide_b(x) * wide_b(y), wide_b(z))))
        }
        Some(Halves::MulBf16) => by_definition(slots, flags, FloatOp::Mul),
        Some(Halves::FmaBf16) => by_definition(slots, flags, FloatOp::Fma),
        Some(Halves::F16ToF32) => each_single!(slots, |x, _y| {
            let v = wide(x & 0xffff);
            if v.is_nan() { 0x7fff_ffff } else { v.to_bits() }
        }),
        Some(Halves::F32ToF16) => each_single!(slots, |x, _y| cut(f32::from_bits(x))),
        Some(Halves::F32ToBf16) => each_single!(slots, |x, _y| cut_b(f32::from_bits(x))),
        Some(Halves::PairToF16) => {
            each_single!(slots, |x, y| cut(f32::from_bits(x)) << 16 | cut(f32::from_bits(y)))
        }
        Some(Halves::PairToBf16) => {
            each_single!(slots, |x, y| cut_b(f32::from_bits(x)) << 16 | cut_b(f32::from_bits(y)))
        }
        None => {}
    }
}

/// A half as a single. A NaN stays one.
#[inline(always)]
fn wide(h: u32) -> f32 {
    let m = h & 0x7fff;
    // A subnormal is a multiple of 2^-24.
    let small = (m as i32 as f32) * f32::from_bits(0x3380_0000);
    let normal = f32::from_bits((m << 13) + 0x3800_0000);
    let special = f32::from_bits(m << 13 | 0x7f80_0000);
    let v = if m < 0x400 { small } else { normal };
    let v = if m < 0x7c00 { v } else { special };
    f32::from_bits(v.to_bits() | (h & 0x8000) << 16)
}

/// A bfloat16 as a single.
#[inline(always)]
fn wide_b(h: u32) -> f32 {
    f32::from_bits(h << 16)
}

/// The nearest half, of two the even one; of a NaN, the canonical one.
#[inline(always)]
fn cut(v: f32) -> u32 {
    let bits = v.to_bits();
    let a = bits & 0x7fff_ffff;
    // Added to a half, numbers below the normal halves round to a multiple of 2^-24.
    let small = (f32::from_bits(a) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let normal = a.wrapping_add(0xfff + (a >> 13 & 1)).wrapping_sub(0x3800_0000) >> 13;
    let h = if a < 0x3880_0000 { small } else { normal };
    let h = h.min(0x7c00) | bits >> 16 & 0x8000;
    if a > 0x7f80_0000 { 0x7fff } else { h }
}

/// The nearest bfloat16.
#[inline(always)]
fn cut_b(v: f32) -> u32 {
    let bits = v.to_bits();
    let a = bits & 0x7fff_ffff;
    let h = a.wrapping_add(0x7fff + (a >> 16 & 1)) >> 16 | bits >> 16 & 0x8000;
    if a > 0x7f80_0000 { 0x7fff } else { h }
}

/// The sum; where it is not exact, the one of its two neighbours whose last bit is 1.
#[inline(always)]
fn to_odd(x: f32, y: f32) -> f32 {
    let sum = x + y;
    let part = sum - x;
    let error = (x - (sum - part)) + (y - part);
    let bits = sum.to_bits();
    let away = ((error.to_bits() ^ bits) as i32) >= 0;
    let odd = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    // The error of an infinite sum or a NaN counts as zero.
    let exact = error == 0.0 || error.is_nan() || bits & 1 != 0;
    f32::from_bits(if exact { bits } else { odd })
}

/// Whether the product of two bfloat16 is so small that a single may not hold all of its bits.
#[inline(always)]
fn any_tiny(slots: &mut [Slot; SLOTS], flags: u32) -> bool {
    let [x, y, ..] = slots;
    let (x, y) = (narrow(x), narrow(y));
    let upper = if flags & PACKED != 0 { !0 } else { 0 };
    let mut any = 0;
    for l in 0..32 {
        let tiny = |x: u32, y: u32| {
            let product = (wide_b(x) * wide_b(y)).abs();
            let zero = x & 0x7fff == 0 || y & 0x7fff == 0;
            u32::from(product < f32::from_bits(0x0d80_0000) && !zero)
        };
        any |= tiny(x[l] & 0xffff, y[l] & 0xffff) | tiny(x[l] >> 16, y[l] >> 16) & upper;
    }
    any != 0
}

/// Lane by lane.
#[cold]
#[inline(never)]
fn by_definition(slots: &mut [Slot; SLOTS], flags: u32, op: FloatOp) {
    let of = |x: u32, y: u32, z: u32| {
        nearest(op, Format::BF16, [x, y, z].map(u64::from)).map_or(0, |bits| bits as u32)
    };
    each!(slots, flags, |x, y, z| of(x, y, z));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_is_the_same_as_a_single_and_back() {
        for h in 0..=0xffffu32 {
            let expected = |infinity| if h & 0x7fff > infinity { 0x7fff } else { h };
            assert_eq!(cut(wide(h)), expected(0x7c00), "{h:x}");
            assert_eq!(cut_b(wide_b(h)), expected(0x7f80), "{h:x}");
        }
    }

    /// Singles at, and next to, the midpoint of two halves: all of them are rounded as exact arithmetic does.
    #[test]
    fn singles_round_once() {
        use cushim_ptx::soft::{self, Round};
        for (f, to) in [(Format::F16, cut as fn(f32) -> u32), (Format::BF16, cut_b)] {
            let check = |bits: u32| {
                if !f32::from_bits(bits).is_nan() {
                    let exact = soft::convert(bits.into(), Format::F32, f, Round::Nearest);
                    assert_eq!(u64::from(to(f32::from_bits(bits))), exact, "{bits:x}");
                }
            };
            for h in 0..0x8000u32 {
                let at = if f == Format::F16 { wide(h) } else { wide_b(h) }.to_bits();
                let step = if f == Format::F16 { 1 << 12 } else { 1 << 15 };
                for near in [at, at + step, at + step / 2, at + step * 3 / 2] {
                    for bits in near.wrapping_sub(1)..=near + 1 {
                        check(bits);
                        check(bits | 1 << 31);
                    }
                }
            }
            // Every 97th single, which has all exponents.
            (0..=u32::MAX).step_by(9973).for_each(check);
        }
    }

    /// As one lane at a time has it, for the ends of all ranges and random numbers, one and two in a register.
    #[test]
    fn lanes_have_the_bits_of_one_lane_at_a_time() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 20) as u32
        };
        let ends = [
            0u32, 1, 2, 0x3ff, 0x400, 0x7bff, 0x7c00, 0x7fff, 0x80, 0x7f, 0x7f7f, 0x7f80, 0x3f80,
            0x3c00,
        ];
        let mut draw = || {
            let r = next();
            match r >> 28 {
                0..4 => ends[r as usize % ends.len()] | r >> 8 & 0x8000,
                4..6 => r & 0x800f,
                _ => r & 0xffff,
            }
        };
        for _ in 0..4000 {
            let rows: [[u32; 32]; 3] = [(); 3].map(|()| [(); 32].map(|()| draw() | draw() << 16));
            for (task, op, f) in [
                (Halves::AddF16, FloatOp::Add, Format::F16),
                (Halves::SubF16, FloatOp::Sub, Format::F16),
                (Halves::MulF16, FloatOp::Mul, Format::F16),
                (Halves::FmaF16, FloatOp::Fma, Format::F16),
                (Halves::AddBf16, FloatOp::Add, Format::BF16),
                (Halves::SubBf16, FloatOp::Sub, Format::BF16),
                (Halves::MulBf16, FloatOp::Mul, Format::BF16),
                (Halves::FmaBf16, FloatOp::Fma, Format::BF16),
            ] {
                for packed in [0, PACKED] {
                    let mut slots: [Slot; SLOTS] = [[0; 32]; SLOTS];
                    for (slot, row) in slots.iter_mut().zip(rows) {
                        *narrow(slot) = row;
                    }
                    of_task(&mut slots, (task as u32 * HALVES) | packed);
                    for l in 0..32 {
                        let [x, y, z] = rows.map(|row| u64::from(row[l]));
                        let one =
                            |by: u32| nearest(op, f, [x, y, z].map(|v| v >> by & 0xffff)).unwrap();
                        let expected = if packed != 0 { one(0) | one(16) << 16 } else { one(0) };
                        let found = u64::from(narrow(&mut slots[0])[l]);
                        assert_eq!(found, expected, "{task:?} {packed} of {x:x} {y:x} {z:x}");
                    }
                }
            }
        }
    }
}
