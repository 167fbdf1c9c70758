//! Vector instructions that only VOP3 has.
//!
//! Owns: their rows. Must not know: registers.

use super::row::Kind::{self, B16, B32, B64, F16, F32, F64, M32, None};
use super::row::{Cross, Exec, Row, Vector, refused, vector};
use super::vop2::{mad16, mad32, signed24, unsigned24};
use crate::division;
use crate::lanes::Lanes;
use crate::num::{self, fma16, fma32, h2f, max32, min32};

const fn v3(op: u16, name: &'static str, kind: Kind, run: fn(&mut Lanes)) -> Row {
    Row { op, name, exec: Exec::Vector(vector(kind, [kind, kind, kind], run)) }
}

const fn v2(op: u16, name: &'static str, kind: Kind, run: fn(&mut Lanes)) -> Row {
    Row { op, name, exec: Exec::Vector(vector(kind, [kind, kind, None], run)) }
}

const fn v(op: u16, name: &'static str, dst: Kind, src: [Kind; 3], run: fn(&mut Lanes)) -> Row {
    Row { op, name, exec: Exec::Vector(vector(dst, src, run)) }
}

/// 16 bits; the other half of the destination stays.
const fn h(op: u16, name: &'static str, kind: Kind, run: fn(&mut Lanes)) -> Row {
    let vector = Vector { keeps: true, ..vector(kind, [kind, kind, kind], run) };
    Row { op, name, exec: Exec::Vector(vector) }
}

const fn h2(op: u16, name: &'static str, kind: Kind, run: fn(&mut Lanes)) -> Row {
    let vector = Vector { keeps: true, ..vector(kind, [kind, kind, None], run) };
    Row { op, name, exec: Exec::Vector(vector) }
}

const fn m(op: u16, name: &'static str, dst: Kind, src: [Kind; 3], run: fn(&mut Lanes)) -> Row {
    Row { op, name, exec: Exec::Vector(Vector { mask: true, ..vector(dst, src, run) }) }
}

const fn x(op: u16, name: &'static str, what: Cross) -> Row {
    Row { op, name, exec: Exec::Cross(what) }
}

fn bytes(a: u32, b: u32, op: impl Fn(u32, u32) -> u32) -> u32 {
    (0..4).map(|i| op(a >> (8 * i) & 255, b >> (8 * i) & 255)).sum()
}

fn median<T: PartialOrd + Copy>(a: T, b: T, c: T) -> T {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if c < low {
        low
    } else if c > high {
        high
    } else {
        c
    }
}

fn median_f(a: f32, b: f32, c: f32) -> f32 {
    if a.is_nan() || b.is_nan() || c.is_nan() {
        return min32(min32(a, b), c);
    }
    let most = max32(max32(a, b), c);
    if most == a {
        max32(b, c)
    } else if most == b {
        max32(a, c)
    } else {
        max32(a, b)
    }
}

fn perm(a: u32, b: u32, c: u32) -> u32 {
    let data = u64::from(a) << 32 | u64::from(b);
    (0..4).fold(0, |sum, i| {
        let byte = match c >> (8 * i) & 255 {
            at @ 0..8 => (data >> (8 * at)) as u32 & 255,
            at @ 8..12 => (data >> (16 * (at - 8) + 15) & 1) as u32 * 255,
            12 => 0,
            _ => 255,
        };
        sum | byte << (8 * i)
    })
}

fn bfe(a: u32, b: u32, c: u32) -> u32 {
    let (offset, width) = (b & 31, c & 31);
    a >> offset & ((1u32 << width) - 1)
}

fn bfe_signed(a: u32, b: u32, c: u32) -> u32 {
    let (offset, width) = (b & 31, (c & 31).min(32 - (b & 31)));
    if width == 0 { 0 } else { ((a << (32 - offset - width)) as i32 >> (32 - width)) as u32 }
}

/// A 64-bit sum with its overflow as a mask.
fn mad_wide(l: &mut Lanes, op: impl Fn(u32, u32, u64) -> (u64, bool)) {
    let mut out = 0;
    for i in 0..64 {
        let (sum, overflow) = op(l.s[0][i], l.s[1][i], l.q(2, i));
        l.set_q(i, sum);
        out |= u64::from(overflow) << i;
    }
    l.out = out;
}

fn shift_q(l: &mut Lanes, op: impl Fn(u64, u32) -> u64) {
    for i in 0..64 {
        let value = op(l.q(1, i), l.s[0][i] & 63);
        l.set_q(i, value);
    }
}

/// How many lanes of a mask are before each lane; the mask is in the first source, half by half.
fn mbcnt(l: &mut Lanes, low: bool) {
    for i in 0..64u32 {
        let below = (1u64 << i) - 1;
        let part = if low { below as u32 } else { (below >> 32) as u32 };
        let at = i as usize;
        l.d[0][at] = (l.s[0][at] & part).count_ones().wrapping_add(l.s[1][at]);
    }
}

fn pknorm(a: f32, scale: f32, low: f32) -> u32 {
    let x = if a.is_nan() { 0.0 } else { (a.clamp(low, 1.0) * scale).round_ties_even() };
    x as i32 as u32 & 0xffff
}

fn lerp(a: u32, b: u32, c: u32) -> u32 {
    (0..4).fold(0, |sum, i| {
        let part = |x: u32| x >> (8 * i) & 255;
        sum | ((part(a) + part(b) + (part(c) & 1)) >> 1) << (8 * i)
    })
}

fn cvt_pk_u8(a: u32, b: u32, c: u32) -> u32 {
    let byte = u32::from(f32::from_bits(a).round_ties_even() as u8);
    let at = 8 * (b & 3);
    c & !(255 << at) | byte << at
}

pub(super) fn legacy(a: f32, b: f32) -> f32 {
    if a == 0.0 || b == 0.0 { 0.0 } else { a * b }
}

fn clamp16(x: i32, low: i32, high: i32) -> u32 {
    x.clamp(low, high) as u32 & 0xffff
}

pub(super) static VOP3: &[Row] = &[
    v3(448, "v_mad_legacy_f32", F32, |l| l.f3(|a, b, c| legacy(a, b) + c)),
    v3(449, "v_mad_f32", F32, |l| l.f3(mad32)),
    v3(450, "v_mad_i32_i24", B32, |l| {
        l.u3(|a, b, c| ((signed24(a) * signed24(b)) as u32).wrapping_add(c))
    }),
    v3(451, "v_mad_u32_u24", B32, |l| {
        l.u3(|a, b, c| ((unsigned24(a) * unsigned24(b)) as u32).wrapping_add(c))
    }),
    refused(452, "v_cubeid_f32"),
    refused(453, "v_cubesc_f32"),
    refused(454, "v_cubetc_f32"),
    refused(455, "v_cubema_f32"),
    v3(456, "v_bfe_u32", B32, |l| l.u3(bfe)),
    v3(457, "v_bfe_i32", B32, |l| l.u3(bfe_signed)),
    v3(458, "v_bfi_b32", B32, |l| l.u3(|a, b, c| a & b | !a & c)),
    v3(459, "v_fma_f32", F32, |l| l.f3(fma32)),
    v3(460, "v_fma_f64", F64, |l| l.d3(f64::mul_add)),
    v3(461, "v_lerp_u8", B32, |l| l.u3(lerp)),
    v3(462, "v_alignbit_b32", B32, |l| {
        l.u3(|a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32)
    }),
    v3(463, "v_alignbyte_b32", B32, |l| {
        l.u3(|a, b, c| ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32);
    }),
    v3(464, "v_min3_f32", F32, |l| l.f3(|a, b, c| min32(min32(a, b), c))),
    v3(465, "v_min3_i32", B32, |l| l.i3(|a, b, c| a.min(b).min(c))),
    v3(466, "v_min3_u32", B32, |l| l.u3(|a, b, c| a.min(b).min(c))),
    v3(467, "v_max3_f32", F32, |l| l.f3(|a, b, c| max32(max32(a, b), c))),
    v3(468, "v_max3_i32", B32, |l| l.i3(|a, b, c| a.max(b).max(c))),
    v3(469, "v_max3_u32", B32, |l| l.u3(|a, b, c| a.max(b).max(c))),
    v3(470, "v_med3_f32", F32, |l| l.f3(median_f)),
    v3(471, "v_med3_i32", B32, |l| l.i3(median)),
    v3(472, "v_med3_u32", B32, |l| l.u3(median)),
    v3(473, "v_sad_u8", B32, |l| l.u3(|a, b, c| bytes(a, b, u32::abs_diff).wrapping_add(c))),
    v3(474, "v_sad_hi_u8", B32, |l| {
        l.u3(|a, b, c| (bytes(a, b, u32::abs_diff) << 16).wrapping_add(c))
    }),
    v3(475, "v_sad_u16", B32, |l| {
        l.u3(|a, b, c| {
            (a & 0xffff)
                .abs_diff(b & 0xffff)
                .wrapping_add((a >> 16).abs_diff(b >> 16))
                .wrapping_add(c)
        });
    }),
    v3(476, "v_sad_u32", B32, |l| l.u3(|a, b, c| a.abs_diff(b).wrapping_add(c))),
    v(477, "v_cvt_pk_u8_f32", B32, [M32, B32, B32], |l| l.u3(cvt_pk_u8)),
    v3(478, "v_div_fixup_f32", F32, |l| l.f3(division::fixup32)),
    v3(479, "v_div_fixup_f64", F64, |l| l.d3(division::fixup64)),
    m(480, "v_div_scale_f32", F32, [F32, F32, F32], division::scale32),
    m(481, "v_div_scale_f64", F64, [F64, F64, F64], division::scale64),
    v3(482, "v_div_fmas_f32", F32, division::fmas32),
    v3(483, "v_div_fmas_f64", F64, division::fmas64),
    v3(484, "v_msad_u8", B32, |l| {
        l.u3(|a, b, c| bytes(a, b, |a, b| if b == 0 { 0 } else { a.abs_diff(b) }).wrapping_add(c));
    }),
    refused(485, "v_qsad_pk_u16_u8"),
    refused(486, "v_mqsad_pk_u16_u8"),
    refused(487, "v_mqsad_u32_u8"),
    m(488, "v_mad_u64_u32", B64, [B32, B32, B64], |l| {
        mad_wide(l, |a, b, c| (u64::from(a) * u64::from(b)).overflowing_add(c));
    }),
    m(489, "v_mad_i64_i32", B64, [B32, B32, B64], |l| {
        mad_wide(l, |a, b, c| {
            let (sum, overflow) =
                (i64::from(a as i32) * i64::from(b as i32)).overflowing_add(c as i64);
            (sum as u64, overflow)
        });
    }),
    v3(490, "v_mad_legacy_f16", F16, |l| l.h3(mad16)),
    v3(491, "v_mad_legacy_u16", B16, |l| {
        l.u3(|a, b, c| a.wrapping_mul(b).wrapping_add(c) & 0xffff)
    }),
    v3(492, "v_mad_legacy_i16", B16, |l| {
        l.u3(|a, b, c| a.wrapping_mul(b).wrapping_add(c) & 0xffff)
    }),
    v3(493, "v_perm_b32", B32, |l| l.u3(perm)),
    v3(494, "v_fma_legacy_f16", F16, |l| l.u3(|a, b, c| fma16(h2f(a), h2f(b), h2f(c)))),
    v3(495, "v_div_fixup_legacy_f16", F16, |l| l.h3(division::fixup16)),
    refused(496, "v_cvt_pkaccum_u8_f32"),
    v(497, "v_mad_u32_u16", B32, [B16, B16, B32], |l| {
        l.u3(|a, b, c| a.wrapping_mul(b).wrapping_add(c))
    }),
    v(498, "v_mad_i32_i16", B32, [B16, B16, B32], |l| {
        l.u3(|a, b, c| (i32::from(a as i16) * i32::from(b as i16)).wrapping_add(c as i32) as u32);
    }),
    v3(499, "v_xad_u32", B32, |l| l.u3(|a, b, c| (a ^ b).wrapping_add(c))),
    h(500, "v_min3_f16", F16, |l| l.h3(|a, b, c| min32(min32(a, b), c))),
    h(501, "v_min3_i16", B16, |l| {
        l.u3(|a, b, c| (a as i16).min(b as i16).min(c as i16) as u16 as u32)
    }),
    h(502, "v_min3_u16", B16, |l| l.u3(|a, b, c| a.min(b).min(c))),
    h(503, "v_max3_f16", F16, |l| l.h3(|a, b, c| max32(max32(a, b), c))),
    h(504, "v_max3_i16", B16, |l| {
        l.u3(|a, b, c| (a as i16).max(b as i16).max(c as i16) as u16 as u32)
    }),
    h(505, "v_max3_u16", B16, |l| l.u3(|a, b, c| a.max(b).max(c))),
    h(506, "v_med3_f16", F16, |l| l.h3(median_f)),
    h(507, "v_med3_i16", B16, |l| {
        l.u3(|a, b, c| median(a as i16, b as i16, c as i16) as u16 as u32)
    }),
    h(508, "v_med3_u16", B16, |l| l.u3(median)),
    v3(509, "v_lshl_add_u32", B32, |l| l.u3(|a, b, c| (a << (b & 31)).wrapping_add(c))),
    v3(510, "v_add_lshl_u32", B32, |l| l.u3(|a, b, c| a.wrapping_add(b) << (c & 31))),
    v3(511, "v_add3_u32", B32, |l| l.u3(|a, b, c| a.wrapping_add(b).wrapping_add(c))),
    v3(512, "v_lshl_or_b32", B32, |l| l.u3(|a, b, c| a << (b & 31) | c)),
    v3(513, "v_and_or_b32", B32, |l| l.u3(|a, b, c| a & b | c)),
    v3(514, "v_or3_b32", B32, |l| l.u3(|a, b, c| a | b | c)),
    h(515, "v_mad_f16", F16, |l| l.h3(mad16)),
    h(516, "v_mad_u16", B16, |l| l.u3(|a, b, c| a.wrapping_mul(b).wrapping_add(c) & 0xffff)),
    h(517, "v_mad_i16", B16, |l| l.u3(|a, b, c| a.wrapping_mul(b).wrapping_add(c) & 0xffff)),
    h(518, "v_fma_f16", F16, |l| l.u3(|a, b, c| fma16(h2f(a), h2f(b), h2f(c)))),
    h(519, "v_div_fixup_f16", F16, |l| l.h3(division::fixup16)),
    v2(640, "v_add_f64", F64, |l| l.d2(|a, b| a + b)),
    v2(641, "v_mul_f64", F64, |l| l.d2(|a, b| a * b)),
    v2(642, "v_min_f64", F64, |l| l.d2(num::min64)),
    v2(643, "v_max_f64", F64, |l| l.d2(num::max64)),
    v(644, "v_ldexp_f64", F64, [F64, B32, None], |l| {
        l.q2(|a, b| num::ldexp64(f64::from_bits(a), b as u32 as i32).to_bits());
    }),
    v2(645, "v_mul_lo_u32", B32, |l| l.u2(u32::wrapping_mul)),
    v2(646, "v_mul_hi_u32", B32, |l| l.u2(|a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32)),
    v2(647, "v_mul_hi_i32", B32, |l| l.i2(|a, b| ((i64::from(a) * i64::from(b)) >> 32) as i32)),
    v(648, "v_ldexp_f32", F32, [F32, B32, None], |l| {
        l.u2(|a, b| num::ldexp32(f32::from_bits(a), b as i32).to_bits());
    }),
    x(649, "v_readlane_b32", Cross::ReadLane),
    x(650, "v_writelane_b32", Cross::WriteLane),
    v2(651, "v_bcnt_u32_b32", B32, |l| l.u2(|a, b| a.count_ones().wrapping_add(b))),
    v2(652, "v_mbcnt_lo_u32_b32", B32, |l| mbcnt(l, true)),
    v2(653, "v_mbcnt_hi_u32_b32", B32, |l| mbcnt(l, false)),
    v(655, "v_lshlrev_b64", B64, [B32, B64, None], |l| shift_q(l, |x, n| x << n)),
    v(656, "v_lshrrev_b64", B64, [B32, B64, None], |l| shift_q(l, |x, n| x >> n)),
    v(657, "v_ashrrev_i64", B64, [B32, B64, None], |l| shift_q(l, |x, n| (x as i64 >> n) as u64)),
    v(658, "v_trig_preop_f64", F64, [F64, B32, None], |l| {
        l.q2(|a, b| division::two_over_pi(f64::from_bits(a), b as u32).to_bits());
    }),
    v2(659, "v_bfm_b32", B32, |l| l.u2(|a, b| ((1u32 << (a & 31)) - 1) << (b & 31))),
    v(660, "v_cvt_pknorm_i16_f32", B32, [F32, F32, None], |l| {
        l.u2(|a, b| {
            [a, b]
                .map(|x| pknorm(f32::from_bits(x), 32767.0, -1.0))
                .into_iter()
                .rev()
                .fold(0, |s, x| s << 16 | x)
        });
    }),
    v(661, "v_cvt_pknorm_u16_f32", B32, [F32, F32, None], |l| {
        l.u2(|a, b| {
            [a, b]
                .map(|x| pknorm(f32::from_bits(x), 65535.0, 0.0))
                .into_iter()
                .rev()
                .fold(0, |s, x| s << 16 | x)
        });
    }),
    v(662, "v_cvt_pkrtz_f16_f32", B32, [F32, F32, None], |l| {
        l.u2(|a, b| num::f2h_rtz(f32::from_bits(a)) | num::f2h_rtz(f32::from_bits(b)) << 16);
    }),
    v2(663, "v_cvt_pk_u16_u32", B32, |l| l.u2(|a, b| a.min(0xffff) | b.min(0xffff) << 16)),
    v2(664, "v_cvt_pk_i16_i32", B32, |l| {
        l.u2(|a, b| clamp16(a as i32, -32768, 32767) | clamp16(b as i32, -32768, 32767) << 16);
    }),
    v(665, "v_cvt_pknorm_i16_f16", B32, [F16, F16, None], |l| {
        l.u2(|a, b| pknorm(h2f(a), 32767.0, -1.0) | pknorm(h2f(b), 32767.0, -1.0) << 16);
    }),
    v(666, "v_cvt_pknorm_u16_f16", B32, [F16, F16, None], |l| {
        l.u2(|a, b| pknorm(h2f(a), 65535.0, 0.0) | pknorm(h2f(b), 65535.0, 0.0) << 16);
    }),
    v2(668, "v_add_i32", B32, |l| l.u2(u32::wrapping_add)),
    v2(669, "v_sub_i32", B32, |l| l.u2(u32::wrapping_sub)),
    h2(670, "v_add_i16", B16, |l| l.u2(|a, b| a.wrapping_add(b) & 0xffff)),
    h2(671, "v_sub_i16", B16, |l| l.u2(|a, b| a.wrapping_sub(b) & 0xffff)),
    v(672, "v_pack_b32_f16", B32, [F16, F16, None], |l| l.u2(|a, b| a | b << 16)),
    v2(673, "v_mul_legacy_f32", F32, |l| l.f2(legacy)),
];
