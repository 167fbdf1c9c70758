//! Vector instructions of two sources: VOP2.
//!
//! Owns: their rows. Must not know: an instruction's encoding.

use super::row::Kind::{self, B16, B32, F16, F32, F64, M32, Mask, None, P16};
use super::row::{Exec, Row, Vector, vector};
use crate::lanes::Lanes;
use crate::num::{self, fma16, fma32, h2f, max32, min32};

const fn v(op: u16, name: &'static str, kind: Kind, run: fn(&mut Lanes)) -> Row {
    Row { op, name, exec: Exec::Vector(vector(kind, [kind, kind, None], run)) }
}

/// The destination is the third source.
const fn acc(op: u16, name: &'static str, dst: Kind, src: Kind, run: fn(&mut Lanes)) -> Row {
    let vector = Vector { accumulates: true, ..vector(dst, [src, src, None], run) };
    Row { op, name, exec: Exec::Vector(vector) }
}

/// One of three sources is a constant, which the decoder inserts.
const fn k(op: u16, name: &'static str, kind: Kind, run: fn(&mut Lanes)) -> Row {
    Row { op, name, exec: Exec::Vector(vector(kind, [kind, kind, kind], run)) }
}

/// With carries out, and in.
const fn co(op: u16, name: &'static str, carry_in: Kind, run: fn(&mut Lanes)) -> Row {
    let vector = Vector { mask: true, ..vector(B32, [B32, B32, carry_in], run) };
    Row { op, name, exec: Exec::Vector(vector) }
}

fn add_carry(a: u32, b: u32, c: bool) -> (u32, bool) {
    let sum = u64::from(a) + u64::from(b) + u64::from(c);
    (sum as u32, sum >> 32 != 0)
}

fn sub_borrow(a: u32, b: u32, c: bool) -> (u32, bool) {
    let difference = u64::from(a).wrapping_sub(u64::from(b)).wrapping_sub(u64::from(c));
    (difference as u32, difference >> 32 != 0)
}

pub(super) fn signed24(x: u32) -> i64 {
    i64::from((x << 8) as i32 >> 8)
}

pub(super) fn unsigned24(x: u32) -> u64 {
    u64::from(x & 0xff_ffff)
}

/// Multiply and add with denormals as zero, each rounded: v_mad and v_mac.
pub(super) fn mad32(a: f32, b: f32, c: f32) -> f32 {
    let flush = |x: f32| if num::denormal32(x) { 0f32.copysign(x) } else { x };
    flush(flush(flush(a) * flush(b)) + flush(c))
}

pub(super) fn mad16(a: f32, b: f32, c: f32) -> f32 {
    h2f(num::f2h(a * b)) + c
}

pub(super) fn mac(l: &mut Lanes, op: impl Fn(u32, u32, u32) -> u32) {
    for i in 0..64 {
        l.d[0][i] = op(l.s[0][i], l.s[1][i], l.d[0][i]);
    }
}

fn fmac64(l: &mut Lanes) {
    for i in 0..64 {
        let c = u64::from(l.d[0][i]) | u64::from(l.d[1][i]) << 32;
        let [a, b] = [0, 1].map(|k| f64::from_bits(l.q(k, i)));
        l.set_q(i, a.mul_add(b, f64::from_bits(c)).to_bits());
    }
}

pub(super) fn dot2_f16(a: u32, b: u32, c: u32) -> u32 {
    let low = fma32(h2f(a & 0xffff), h2f(b & 0xffff), f32::from_bits(c));
    fma32(h2f(a >> 16), h2f(b >> 16), low).to_bits()
}

/// The sum of products of `n` signed parts.
pub(super) fn dot_signed(a: u32, b: u32, c: u32, n: u32) -> u32 {
    let bits = 32 / n;
    let part = |x: u32, i: u32| (x << (32 - bits * (i + 1))) as i32 >> (32 - bits);
    (0..n).fold(c, |sum, i| sum.wrapping_add(part(a, i).wrapping_mul(part(b, i)) as u32))
}

/// The sum of products of `n` unsigned parts.
pub(super) fn dot_unsigned(a: u32, b: u32, c: u32, n: u32) -> u32 {
    let bits = 32 / n;
    let part = |x: u32, i: u32| (x >> (bits * i)) & (u32::MAX >> (32 - bits));
    (0..n).fold(c, |sum, i| sum.wrapping_add(part(a, i).wrapping_mul(part(b, i))))
}

fn pk_fmac(a: u32, b: u32, c: u32) -> u32 {
    let part =
        |s: u32| fma16(h2f(a >> s & 0xffff), h2f(b >> s & 0xffff), h2f(c >> s & 0xffff)) << s;
    part(0) | part(16)
}

pub(super) static VOP2: &[Row] = &[
    Row {
        op: 0,
        name: "v_cndmask_b32",
        exec: Exec::Vector(vector(M32, [M32, M32, Mask], |l| {
            for i in 0..64 {
                l.d[0][i] = if l.mask >> i & 1 == 1 { l.s[1][i] } else { l.s[0][i] };
            }
        })),
    },
    v(1, "v_add_f32", F32, |l| l.f2(|a, b| a + b)),
    v(2, "v_sub_f32", F32, |l| l.f2(|a, b| a - b)),
    v(3, "v_subrev_f32", F32, |l| l.f2(|a, b| b - a)),
    acc(4, "v_fmac_f64", F64, F64, fmac64),
    v(5, "v_mul_f32", F32, |l| l.f2(|a, b| a * b)),
    v(6, "v_mul_i32_i24", B32, |l| l.u2(|a, b| (signed24(a) * signed24(b)) as u32)),
    v(7, "v_mul_hi_i32_i24", B32, |l| l.u2(|a, b| ((signed24(a) * signed24(b)) >> 32) as u32)),
    v(8, "v_mul_u32_u24", B32, |l| l.u2(|a, b| (unsigned24(a) * unsigned24(b)) as u32)),
    v(9, "v_mul_hi_u32_u24", B32, |l| l.u2(|a, b| ((unsigned24(a) * unsigned24(b)) >> 32) as u32)),
    v(10, "v_min_f32", F32, |l| l.f2(min32)),
    v(11, "v_max_f32", F32, |l| l.f2(max32)),
    v(12, "v_min_i32", B32, |l| l.i2(i32::min)),
    v(13, "v_max_i32", B32, |l| l.i2(i32::max)),
    v(14, "v_min_u32", B32, |l| l.u2(u32::min)),
    v(15, "v_max_u32", B32, |l| l.u2(u32::max)),
    v(16, "v_lshrrev_b32", B32, |l| l.u2(|a, b| b >> (a & 31))),
    v(17, "v_ashrrev_i32", B32, |l| l.i2(|a, b| b >> (a & 31))),
    v(18, "v_lshlrev_b32", B32, |l| l.u2(|a, b| b << (a & 31))),
    v(19, "v_and_b32", B32, |l| l.u2(|a, b| a & b)),
    v(20, "v_or_b32", B32, |l| l.u2(|a, b| a | b)),
    v(21, "v_xor_b32", B32, |l| l.u2(|a, b| a ^ b)),
    acc(22, "v_mac_f32", F32, F32, |l| {
        mac(l, |a, b, c| mad32(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c)).to_bits());
    }),
    k(23, "v_madmk_f32", F32, |l| l.f3(mad32)),
    k(24, "v_madak_f32", F32, |l| l.f3(mad32)),
    co(25, "v_add_co_u32", None, |l| l.carry(|a, b, _| add_carry(a, b, false))),
    co(26, "v_sub_co_u32", None, |l| l.carry(|a, b, _| sub_borrow(a, b, false))),
    co(27, "v_subrev_co_u32", None, |l| l.carry(|a, b, _| sub_borrow(b, a, false))),
    co(28, "v_addc_co_u32", Mask, |l| l.carry(add_carry)),
    co(29, "v_subb_co_u32", Mask, |l| l.carry(sub_borrow)),
    co(30, "v_subbrev_co_u32", Mask, |l| l.carry(|a, b, c| sub_borrow(b, a, c))),
    v(31, "v_add_f16", F16, |l| l.h2(|a, b| a + b)),
    v(32, "v_sub_f16", F16, |l| l.h2(|a, b| a - b)),
    v(33, "v_subrev_f16", F16, |l| l.h2(|a, b| b - a)),
    v(34, "v_mul_f16", F16, |l| l.h2(|a, b| a * b)),
    acc(35, "v_mac_f16", F16, F16, |l| {
        mac(l, |a, b, c| num::f2h(mad16(h2f(a), h2f(b), h2f(c & 0xffff))))
    }),
    k(36, "v_madmk_f16", F16, |l| l.h3(mad16)),
    k(37, "v_madak_f16", F16, |l| l.h3(mad16)),
    v(38, "v_add_u16", B16, |l| l.u2(|a, b| a.wrapping_add(b) & 0xffff)),
    v(39, "v_sub_u16", B16, |l| l.u2(|a, b| a.wrapping_sub(b) & 0xffff)),
    v(40, "v_subrev_u16", B16, |l| l.u2(|a, b| b.wrapping_sub(a) & 0xffff)),
    v(41, "v_mul_lo_u16", B16, |l| l.u2(|a, b| (a & 0xffff).wrapping_mul(b & 0xffff) & 0xffff)),
    v(42, "v_lshlrev_b16", B16, |l| l.u2(|a, b| b << (a & 15) & 0xffff)),
    v(43, "v_lshrrev_b16", B16, |l| l.u2(|a, b| (b & 0xffff) >> (a & 15))),
    v(44, "v_ashrrev_i16", B16, |l| l.u2(|a, b| (b as i16 >> (a & 15)) as u16 as u32)),
    v(45, "v_max_f16", F16, |l| l.h2(max32)),
    v(46, "v_min_f16", F16, |l| l.h2(min32)),
    v(47, "v_max_u16", B16, |l| l.u2(|a, b| u32::from((a as u16).max(b as u16)))),
    v(48, "v_max_i16", B16, |l| l.u2(|a, b| (a as i16).max(b as i16) as u16 as u32)),
    v(49, "v_min_u16", B16, |l| l.u2(|a, b| u32::from((a as u16).min(b as u16)))),
    v(50, "v_min_i16", B16, |l| l.u2(|a, b| (a as i16).min(b as i16) as u16 as u32)),
    Row {
        op: 51,
        name: "v_ldexp_f16",
        exec: Exec::Vector(vector(F16, [F16, B16, None], |l| {
            l.u2(|a, b| num::d2h(num::ldexp64(f64::from(h2f(a)), i32::from(b as i16))));
        })),
    },
    v(52, "v_add_u32", B32, |l| l.u2(u32::wrapping_add)),
    v(53, "v_sub_u32", B32, |l| l.u2(u32::wrapping_sub)),
    v(54, "v_subrev_u32", B32, |l| l.u2(|a, b| b.wrapping_sub(a))),
    acc(55, "v_dot2c_f32_f16", B32, B32, |l| mac(l, dot2_f16)),
    acc(56, "v_dot2c_i32_i16", B32, B32, |l| mac(l, |a, b, c| dot_signed(a, b, c, 2))),
    acc(57, "v_dot4c_i32_i8", B32, B32, |l| mac(l, |a, b, c| dot_signed(a, b, c, 4))),
    acc(58, "v_dot8c_i32_i4", B32, B32, |l| mac(l, |a, b, c| dot_signed(a, b, c, 8))),
    acc(59, "v_fmac_f32", F32, F32, |l| {
        mac(l, |a, b, c| fma32(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c)).to_bits());
    }),
    acc(60, "v_pk_fmac_f16", P16, P16, |l| mac(l, pk_fmac)),
    v(61, "v_xnor_b32", B32, |l| l.u2(|a, b| !(a ^ b))),
];
