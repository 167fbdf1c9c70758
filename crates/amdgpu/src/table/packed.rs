//! Packed instructions: VOP3P.
//!
//! Owns: their rows. Must not know: op_sel, which selects the halves before a function is called.

use super::row::Kind::{self, B32, B32x2, F32x2, I16x2, Mix, None, P16};
use super::row::{Cross, Exec, Row, Vector, refused, vector};
use super::vop2::{dot_signed, dot_unsigned, dot2_f16};
use crate::lanes::Lanes;
use crate::num::{self, fma16, fma32, h2f, max32, min32};

const fn v2(op: u16, name: &'static str, kind: Kind, run: fn(&mut Lanes)) -> Row {
    Row { op, name, exec: Exec::Vector(vector(kind, [kind, kind, None], run)) }
}

const fn v3(op: u16, name: &'static str, kind: Kind, run: fn(&mut Lanes)) -> Row {
    Row { op, name, exec: Exec::Vector(vector(kind, [kind, kind, kind], run)) }
}

const fn v(op: u16, name: &'static str, dst: Kind, src: [Kind; 3], run: fn(&mut Lanes)) -> Row {
    Row { op, name, exec: Exec::Vector(vector(dst, src, run)) }
}

/// The result is one half of the destination; the name says which.
const fn mix(op: u16, name: &'static str, run: fn(&mut Lanes)) -> Row {
    let vector = Vector { accumulates: true, ..vector(B32, [Mix, Mix, Mix], run) };
    Row { op, name, exec: Exec::Vector(vector) }
}

#[inline(always)]
fn halves2(a: u32, b: u32, op: impl Fn(u32, u32) -> u32) -> u32 {
    op(a & 0xffff, b & 0xffff) & 0xffff | op(a >> 16, b >> 16) << 16
}

#[inline(always)]
fn halves3(a: u32, b: u32, c: u32, op: impl Fn(u32, u32, u32) -> u32) -> u32 {
    op(a & 0xffff, b & 0xffff, c & 0xffff) & 0xffff | op(a >> 16, b >> 16, c >> 16) << 16
}

fn p2(l: &mut Lanes, op: impl Fn(u32, u32) -> u32) {
    l.u2(|a, b| halves2(a, b, &op));
}

fn p3(l: &mut Lanes, op: impl Fn(u32, u32, u32) -> u32) {
    l.u3(|a, b, c| halves3(a, b, c, &op));
}

fn f2(l: &mut Lanes, op: impl Fn(f32, f32) -> f32) {
    p2(l, |a, b| num::f2h(op(h2f(a), h2f(b))));
}

/// Both floats of pairs.
fn pair(l: &mut Lanes, op: impl Fn(f32, f32, f32) -> f32) {
    for i in 0..64 {
        let low = [0, 1, 2].map(|k| f32::from_bits(l.s[k][i]));
        let high = [0, 1, 2].map(|k| f32::from_bits(l.h[k][i]));
        l.d[0][i] = op(low[0], low[1], low[2]).to_bits();
        l.d[1][i] = op(high[0], high[1], high[2]).to_bits();
    }
}

fn mixed(l: &mut Lanes, put: impl Fn(u32, u32) -> u32) {
    for i in 0..64 {
        let [a, b, c] = [0, 1, 2].map(|k| f32::from_bits(l.s[k][i]));
        l.d[0][i] = put(l.d[0][i], fma16(a, b, c));
    }
}

fn i16s(a: u32) -> i16 {
    a as i16
}

const X: [Kind; 3] = [B32, B32, B32];

pub(super) static VOP3P: &[Row] = &[
    v3(0, "v_pk_mad_i16", I16x2, |l| p3(l, |a, b, c| a.wrapping_mul(b).wrapping_add(c))),
    v2(1, "v_pk_mul_lo_u16", I16x2, |l| p2(l, u32::wrapping_mul)),
    v2(2, "v_pk_add_i16", I16x2, |l| p2(l, u32::wrapping_add)),
    v2(3, "v_pk_sub_i16", I16x2, |l| p2(l, u32::wrapping_sub)),
    v2(4, "v_pk_lshlrev_b16", I16x2, |l| p2(l, |a, b| b << (a & 15))),
    v2(5, "v_pk_lshrrev_b16", I16x2, |l| p2(l, |a, b| b >> (a & 15))),
    v2(6, "v_pk_ashrrev_i16", I16x2, |l| p2(l, |a, b| (i16s(b) >> (a & 15)) as u32)),
    v2(7, "v_pk_max_i16", I16x2, |l| p2(l, |a, b| i16s(a).max(i16s(b)) as u32)),
    v2(8, "v_pk_min_i16", I16x2, |l| p2(l, |a, b| i16s(a).min(i16s(b)) as u32)),
    v3(9, "v_pk_mad_u16", I16x2, |l| p3(l, |a, b, c| a.wrapping_mul(b).wrapping_add(c))),
    v2(10, "v_pk_add_u16", I16x2, |l| p2(l, u32::wrapping_add)),
    v2(11, "v_pk_sub_u16", I16x2, |l| p2(l, u32::wrapping_sub)),
    v2(12, "v_pk_max_u16", I16x2, |l| p2(l, u32::max)),
    v2(13, "v_pk_min_u16", I16x2, |l| p2(l, u32::min)),
    v3(14, "v_pk_fma_f16", P16, |l| p3(l, |a, b, c| fma16(h2f(a), h2f(b), h2f(c)))),
    v2(15, "v_pk_add_f16", P16, |l| f2(l, |a, b| a + b)),
    v2(16, "v_pk_mul_f16", P16, |l| f2(l, |a, b| a * b)),
    v2(17, "v_pk_min_f16", P16, |l| f2(l, min32)),
    v2(18, "v_pk_max_f16", P16, |l| f2(l, max32)),
    v(32, "v_fma_mix_f32", B32, [Mix, Mix, Mix], |l| l.f3(fma32)),
    mix(33, "v_fma_mixlo_f16", |l| mixed(l, |old, new| old & 0xffff_0000 | new)),
    mix(34, "v_fma_mixhi_f16", |l| mixed(l, |old, new| old & 0xffff | new << 16)),
    v(35, "v_dot2_f32_f16", B32, [P16, P16, B32], |l| l.u3(dot2_f16)),
    v(38, "v_dot2_i32_i16", B32, [I16x2, I16x2, B32], |l| l.u3(|a, b, c| dot_signed(a, b, c, 2))),
    v(39, "v_dot2_u32_u16", B32, [I16x2, I16x2, B32], |l| l.u3(|a, b, c| dot_unsigned(a, b, c, 2))),
    v(40, "v_dot4_i32_i8", B32, X, |l| l.u3(|a, b, c| dot_signed(a, b, c, 4))),
    v(41, "v_dot4_u32_u8", B32, X, |l| l.u3(|a, b, c| dot_unsigned(a, b, c, 4))),
    v(42, "v_dot8_i32_i4", B32, X, |l| l.u3(|a, b, c| dot_signed(a, b, c, 8))),
    v(43, "v_dot8_u32_u4", B32, X, |l| l.u3(|a, b, c| dot_unsigned(a, b, c, 8))),
    v3(48, "v_pk_fma_f32", F32x2, |l| pair(l, fma32)),
    v2(49, "v_pk_mul_f32", F32x2, |l| pair(l, |a, b, _| a * b)),
    v2(50, "v_pk_add_f32", F32x2, |l| pair(l, |a, b, _| a + b)),
    v2(51, "v_pk_mov_b32", B32x2, |l| {
        l.d[0] = l.s[0];
        l.d[1] = l.s[1];
    }),
    refused(64, "v_mfma_f32_32x32x1f32"),
    refused(65, "v_mfma_f32_16x16x1f32"),
    refused(66, "v_mfma_f32_4x4x1f32"),
    refused(68, "v_mfma_f32_32x32x2f32"),
    refused(69, "v_mfma_f32_16x16x4f32"),
    refused(72, "v_mfma_f32_32x32x4f16"),
    refused(73, "v_mfma_f32_16x16x4f16"),
    refused(74, "v_mfma_f32_4x4x4f16"),
    refused(76, "v_mfma_f32_32x32x8f16"),
    refused(77, "v_mfma_f32_16x16x16f16"),
    refused(80, "v_mfma_i32_32x32x4i8"),
    refused(81, "v_mfma_i32_16x16x4i8"),
    refused(82, "v_mfma_i32_4x4x4i8"),
    refused(84, "v_mfma_i32_32x32x8i8"),
    refused(85, "v_mfma_i32_16x16x16i8"),
    Row { op: 88, name: "v_accvgpr_read_b32", exec: Exec::Cross(Cross::AccRead) },
    Row { op: 89, name: "v_accvgpr_write_b32", exec: Exec::Cross(Cross::AccWrite) },
    refused(99, "v_mfma_f32_32x32x4bf16_1k"),
    refused(100, "v_mfma_f32_16x16x4bf16_1k"),
    refused(101, "v_mfma_f32_4x4x4bf16_1k"),
    refused(102, "v_mfma_f32_32x32x8bf16_1k"),
    refused(103, "v_mfma_f32_16x16x16bf16_1k"),
    refused(104, "v_mfma_f32_32x32x2bf16"),
    refused(105, "v_mfma_f32_16x16x2bf16"),
    refused(107, "v_mfma_f32_4x4x2bf16"),
    refused(108, "v_mfma_f32_32x32x4bf16"),
    refused(109, "v_mfma_f32_16x16x8bf16"),
    refused(110, "v_mfma_f64_16x16x4f64"),
    refused(111, "v_mfma_f64_4x4x4f64"),
];
