//! Vector instructions of one source: VOP1.
//!
//! Owns: their rows. Must not know: an instruction's encoding. Functions that hardware approximates are computed in
//! double precision and rounded.

use super::row::Kind::{self, B16, B32, F16, F32, F64, None};
use super::row::{Control, Cross, Exec, Row, control, refused, vector};
use crate::lanes::Lanes;
use crate::num::{self, h2f};

const fn v(op: u16, name: &'static str, dst: Kind, src: Kind, run: fn(&mut Lanes)) -> Row {
    Row { op, name, exec: Exec::Vector(vector(dst, [src, None, None], run)) }
}

const fn x(op: u16, name: &'static str, what: Cross) -> Row {
    Row { op, name, exec: Exec::Cross(what) }
}

/// Computed as a double.
fn wide(x: f32, op: impl Fn(f64) -> f64) -> f32 {
    op(f64::from(x)) as f32
}

fn fract32(x: f32) -> f32 {
    if x.is_infinite() { f32::NAN } else { (x - x.floor()).min(f32::from_bits(0x3f7f_ffff)) }
}

fn fract64(x: f64) -> f64 {
    let value = x - x.floor();
    if value.is_nan() { value } else { value.min(f64::from_bits(0x3fef_ffff_ffff_ffff)) }
}

/// The number of leading zeros, or all bits set.
fn first_high(x: u32) -> u32 {
    if x == 0 { u32::MAX } else { x.leading_zeros() }
}

fn rpi(x: f32) -> u32 {
    (f64::from(x) + 0.5).floor() as i32 as u32
}

fn norm(x: f32, scale: f32) -> f32 {
    if x.is_nan() { 0.0 } else { (x.clamp(-1.0, 1.0) * scale).round_ties_even() }
}

fn sat8(x: u32) -> u32 {
    (x as i16).clamp(0, 255) as u32
}

/// Sine and cosine of turns, in the hardware's range of arguments.
fn turns(x: f32, op: impl Fn(f64) -> f64) -> f32 {
    if x.is_finite() { op(f64::from(x)) as f32 } else { f32::NAN }
}

pub(super) static VOP1: &[Row] = &[
    control(0, "v_nop", Control::Nop),
    v(1, "v_mov_b32", B32, B32, |l| l.u1(|a| a)),
    x(2, "v_readfirstlane_b32", Cross::ReadFirst),
    v(3, "v_cvt_i32_f64", B32, F64, |l| l.from_d(|a| a as i32 as u32)),
    v(4, "v_cvt_f64_i32", F64, B32, |l| l.to_d(|a| f64::from(a as i32))),
    v(5, "v_cvt_f32_i32", F32, B32, |l| l.u1(|a| (a as i32 as f32).to_bits())),
    v(6, "v_cvt_f32_u32", F32, B32, |l| l.u1(|a| (a as f32).to_bits())),
    v(7, "v_cvt_u32_f32", B32, F32, |l| l.u1(|a| f32::from_bits(a) as u32)),
    v(8, "v_cvt_i32_f32", B32, F32, |l| l.u1(|a| f32::from_bits(a) as i32 as u32)),
    v(10, "v_cvt_f16_f32", F16, F32, |l| l.u1(|a| num::f2h(f32::from_bits(a)))),
    v(11, "v_cvt_f32_f16", F32, F16, |l| l.u1(|a| h2f(a).to_bits())),
    v(12, "v_cvt_rpi_i32_f32", B32, F32, |l| l.u1(|a| rpi(f32::from_bits(a)))),
    v(13, "v_cvt_flr_i32_f32", B32, F32, |l| l.u1(|a| f32::from_bits(a).floor() as i32 as u32)),
    v(14, "v_cvt_off_f32_i4", F32, B32, |l| {
        l.u1(|a| (((a << 28) as i32 >> 28) as f32 / 16.0).to_bits())
    }),
    v(15, "v_cvt_f32_f64", F32, F64, |l| l.from_d(|a| (a as f32).to_bits())),
    v(16, "v_cvt_f64_f32", F64, F32, |l| l.to_d(|a| f64::from(f32::from_bits(a)))),
    v(17, "v_cvt_f32_ubyte0", F32, B32, |l| l.u1(|a| ((a & 255) as f32).to_bits())),
    v(18, "v_cvt_f32_ubyte1", F32, B32, |l| l.u1(|a| ((a >> 8 & 255) as f32).to_bits())),
    v(19, "v_cvt_f32_ubyte2", F32, B32, |l| l.u1(|a| ((a >> 16 & 255) as f32).to_bits())),
    v(20, "v_cvt_f32_ubyte3", F32, B32, |l| l.u1(|a| ((a >> 24) as f32).to_bits())),
    v(21, "v_cvt_u32_f64", B32, F64, |l| l.from_d(|a| a as u32)),
    v(22, "v_cvt_f64_u32", F64, B32, |l| l.to_d(f64::from)),
    v(23, "v_trunc_f64", F64, F64, |l| l.d1(f64::trunc)),
    v(24, "v_ceil_f64", F64, F64, |l| l.d1(f64::ceil)),
    v(25, "v_rndne_f64", F64, F64, |l| l.d1(f64::round_ties_even)),
    v(26, "v_floor_f64", F64, F64, |l| l.d1(f64::floor)),
    v(27, "v_fract_f32", F32, F32, |l| l.f1(fract32)),
    v(28, "v_trunc_f32", F32, F32, |l| l.f1(f32::trunc)),
    v(29, "v_ceil_f32", F32, F32, |l| l.f1(f32::ceil)),
    v(30, "v_rndne_f32", F32, F32, |l| l.f1(f32::round_ties_even)),
    v(31, "v_floor_f32", F32, F32, |l| l.f1(f32::floor)),
    v(32, "v_exp_f32", F32, F32, |l| l.f1(|x| wide(x, f64::exp2))),
    v(33, "v_log_f32", F32, F32, |l| l.f1(|x| wide(x, f64::log2))),
    v(34, "v_rcp_f32", F32, F32, |l| l.f1(|x| 1.0 / x)),
    v(35, "v_rcp_iflag_f32", F32, F32, |l| l.f1(|x| 1.0 / x)),
    v(36, "v_rsq_f32", F32, F32, |l| l.f1(|x| wide(x, |x| 1.0 / x.sqrt()))),
    v(37, "v_rcp_f64", F64, F64, |l| l.d1(|x| 1.0 / x)),
    v(38, "v_rsq_f64", F64, F64, |l| l.d1(|x| 1.0 / x.sqrt())),
    v(39, "v_sqrt_f32", F32, F32, |l| l.f1(f32::sqrt)),
    v(40, "v_sqrt_f64", F64, F64, |l| l.d1(f64::sqrt)),
    v(41, "v_sin_f32", F32, F32, |l| l.f1(|x| turns(x, num::sin_turns))),
    v(42, "v_cos_f32", F32, F32, |l| l.f1(|x| turns(x, num::cos_turns))),
    v(43, "v_not_b32", B32, B32, |l| l.u1(|a| !a)),
    v(44, "v_bfrev_b32", B32, B32, |l| l.u1(u32::reverse_bits)),
    v(45, "v_ffbh_u32", B32, B32, |l| l.u1(first_high)),
    v(46, "v_ffbl_b32", B32, B32, |l| l.u1(|a| if a == 0 { u32::MAX } else { a.trailing_zeros() })),
    v(47, "v_ffbh_i32", B32, B32, |l| l.u1(|a| first_high(a ^ (a as i32 >> 31) as u32))),
    v(48, "v_frexp_exp_i32_f64", B32, F64, |l| l.from_d(|a| num::frexp(a).1 as u32)),
    v(49, "v_frexp_mant_f64", F64, F64, |l| l.d1(|a| num::frexp(a).0)),
    v(50, "v_fract_f64", F64, F64, |l| l.d1(fract64)),
    v(51, "v_frexp_exp_i32_f32", B32, F32, |l| {
        l.u1(|a| num::frexp(f64::from(f32::from_bits(a))).1 as u32)
    }),
    v(52, "v_frexp_mant_f32", F32, F32, |l| l.f1(|a| wide(a, |a| num::frexp(a).0))),
    control(53, "v_clrexcp", Control::Nop),
    refused(55, "v_screen_partition_4se_b32"),
    v(57, "v_cvt_f16_u16", F16, B16, |l| l.u1(|a| num::f2h(a as f32))),
    v(58, "v_cvt_f16_i16", F16, B16, |l| l.u1(|a| num::f2h(f32::from(a as i16)))),
    v(59, "v_cvt_u16_f16", B16, F16, |l| l.u1(|a| u32::from(h2f(a) as u16))),
    v(60, "v_cvt_i16_f16", B16, F16, |l| l.u1(|a| h2f(a) as i16 as u16 as u32)),
    v(61, "v_rcp_f16", F16, F16, |l| l.h1(|x| 1.0 / x)),
    v(62, "v_sqrt_f16", F16, F16, |l| l.h1(f32::sqrt)),
    v(63, "v_rsq_f16", F16, F16, |l| l.h1(|x| wide(x, |x| 1.0 / x.sqrt()))),
    v(64, "v_log_f16", F16, F16, |l| l.h1(f32::log2)),
    v(65, "v_exp_f16", F16, F16, |l| l.h1(f32::exp2)),
    v(66, "v_frexp_mant_f16", F16, F16, |l| l.h1(|a| wide(a, |a| num::frexp(a).0))),
    v(67, "v_frexp_exp_i16_f16", B16, F16, |l| {
        l.u1(|a| num::frexp(f64::from(h2f(a))).1 as u32 & 0xffff)
    }),
    v(68, "v_floor_f16", F16, F16, |l| l.h1(f32::floor)),
    v(69, "v_ceil_f16", F16, F16, |l| l.h1(f32::ceil)),
    v(70, "v_trunc_f16", F16, F16, |l| l.h1(f32::trunc)),
    v(71, "v_rndne_f16", F16, F16, |l| l.h1(f32::round_ties_even)),
    v(72, "v_fract_f16", F16, F16, |l| l.h1(|x| (x - x.floor()).min(h2f(0x3bff)))),
    v(73, "v_sin_f16", F16, F16, |l| l.h1(|x| turns(x, num::sin_turns))),
    v(74, "v_cos_f16", F16, F16, |l| l.h1(|x| turns(x, num::cos_turns))),
    v(75, "v_exp_legacy_f32", F32, F32, |l| l.f1(|x| wide(x, f64::exp2))),
    v(76, "v_log_legacy_f32", F32, F32, |l| l.f1(|x| wide(x, f64::log2))),
    v(77, "v_cvt_norm_i16_f16", B16, F16, |l| l.u1(|a| norm(h2f(a), 32767.0) as i16 as u16 as u32)),
    v(78, "v_cvt_norm_u16_f16", B16, F16, |l| l.u1(|a| norm(h2f(a).max(0.0), 65535.0) as u32)),
    v(79, "v_sat_pk_u8_i16", B16, B32, |l| l.u1(|a| sat8(a) | sat8(a >> 16) << 8)),
    x(81, "v_swap_b32", Cross::Swap),
    x(82, "v_accvgpr_mov_b32", Cross::AccMove),
];
