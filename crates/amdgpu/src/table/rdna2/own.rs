//! Instructions that RDNA 2 has and CDNA 2 has not.

use super::super::access::{Access, Atomic, Op, Space};
use super::super::row::Kind::{self, B32, F16, F32, None};
use super::super::row::{Control, Cross, Exec, Row, Vector, control, vector};
use super::super::vop2::mac;
use super::super::vop3::legacy;
use crate::lanes::Lanes;
use crate::num::{fma16, fma32, h2f};
use crate::scalar::Scalar;

// The opcodes are in the texts.
const fn s(name: &'static str, run: fn(&mut Scalar)) -> Row {
    Row { op: 0, name, exec: Exec::Scalar { kinds: [B32, B32, None], run } }
}

const fn v3(name: &'static str, kind: Kind, run: fn(&mut Lanes)) -> Row {
    Row { op: 0, name, exec: Exec::Vector(vector(kind, [kind; 3], run)) }
}

/// The destination is the third source.
const fn acc(name: &'static str, kind: Kind, run: fn(&mut Lanes)) -> Row {
    let vector = Vector { accumulates: true, ..vector(kind, [kind, kind, None], run) };
    Row { op: 0, name, exec: Exec::Vector(vector) }
}

const fn x(name: &'static str, what: Cross) -> Row {
    Row { op: 0, name, exec: Exec::Cross(what) }
}

const fn atomic(name: &'static str, space: Space, what: Atomic, wide: bool) -> Row {
    let op = Op::Atomic { what, wide, returns: false };
    Row { op: 0, name, exec: Exec::Memory(Access { space, op }) }
}

fn fused(a: u32, b: u32, c: u32) -> u32 {
    fma32(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c)).to_bits()
}

fn fused_half(a: u32, b: u32, c: u32) -> u32 {
    fma16(h2f(a & 0xffff), h2f(b & 0xffff), h2f(c & 0xffff))
}

/// A product with a zero is zero, whatever the other factor.
fn fused_legacy(a: u32, b: u32, c: u32) -> u32 {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    if x == 0.0 || y == 0.0 {
        return (legacy(x, y) + f32::from_bits(c)).to_bits();
    }
    fused(a, b, c)
}

pub(super) static ROWS: &[Row] = &[
    s("s_and_saveexec_b32", |s| s.save32(s.a & s.exec)),
    s("s_or_saveexec_b32", |s| s.save32(s.a | s.exec)),
    s("s_xor_saveexec_b32", |s| s.save32(s.a ^ s.exec)),
    s("s_andn2_saveexec_b32", |s| s.save32(s.a & !s.exec)),
    s("s_orn2_saveexec_b32", |s| s.save32(s.a | !s.exec)),
    s("s_nand_saveexec_b32", |s| s.save32(!(s.a & s.exec))),
    s("s_nor_saveexec_b32", |s| s.save32(!(s.a | s.exec))),
    s("s_xnor_saveexec_b32", |s| s.save32(!(s.a ^ s.exec))),
    s("s_andn1_saveexec_b32", |s| s.save32(!s.a & s.exec)),
    s("s_orn1_saveexec_b32", |s| s.save32(!s.a | s.exec)),
    s("s_andn1_wrexec_b32", |s| {
        s.save32(!s.a & s.exec);
        s.d = s.exec;
    }),
    s("s_andn2_wrexec_b32", |s| {
        s.save32(s.a & !s.exec);
        s.d = s.exec;
    }),
    control(0, "s_round_mode", Control::Mode { first: 0 }),
    control(0, "s_denorm_mode", Control::Mode { first: 4 }),
    v3("v_xor3_b32", B32, |l| l.u3(|a, b, c| a ^ b ^ c)),
    v3("v_fma_legacy_f32", F32, |l| l.u3(fused_legacy)),
    v3("v_fmamk_f32", F32, |l| l.u3(fused)),
    v3("v_fmaak_f32", F32, |l| l.u3(fused)),
    v3("v_fmamk_f16", F16, |l| l.u3(fused_half)),
    v3("v_fmaak_f16", F16, |l| l.u3(fused_half)),
    acc("v_fmac_legacy_f32", F32, |l| mac(l, fused_legacy)),
    acc("v_fmac_f16", F16, |l| mac(l, fused_half)),
    x("v_movreld_b32", Cross::MoveRelative { from: false, to: true }),
    x("v_movrels_b32", Cross::MoveRelative { from: true, to: false }),
    x("v_movrelsd_b32", Cross::MoveRelative { from: true, to: true }),
    x("v_permlane16_b32", Cross::PermLane { other: false }),
    x("v_permlanex16_b32", Cross::PermLane { other: true }),
    atomic("flat_atomic_fmin", Space::Flat, Atomic::MinF, false),
    atomic("flat_atomic_fmax", Space::Flat, Atomic::MaxF, false),
    atomic("flat_atomic_fmin_x2", Space::Flat, Atomic::MinF, true),
    atomic("flat_atomic_fmax_x2", Space::Flat, Atomic::MaxF, true),
    atomic("global_atomic_fmin", Space::Global, Atomic::MinF, false),
    atomic("global_atomic_fmax", Space::Global, Atomic::MaxF, false),
    atomic("global_atomic_fmin_x2", Space::Global, Atomic::MinF, true),
    atomic("global_atomic_fmax_x2", Space::Global, Atomic::MaxF, true),
    atomic("buffer_atomic_fmin", Space::Buffer, Atomic::MinF, false),
    atomic("buffer_atomic_fmax", Space::Buffer, Atomic::MaxF, false),
    atomic("buffer_atomic_fmin_x2", Space::Buffer, Atomic::MinF, true),
    atomic("buffer_atomic_fmax_x2", Space::Buffer, Atomic::MaxF, true),
];
