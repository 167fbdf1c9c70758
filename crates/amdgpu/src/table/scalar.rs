//! Scalar instructions: SOP1, SOP2, SOPC, SOPK, SOPP.
//!
//! Owns: their rows and functions. Must not know: registers.

use super::row::Control as C;
use super::row::Kind::{self, B32, B64, None};
use super::row::{Exec, Row, control, refused};
use crate::scalar::Scalar;

const fn s(op: u16, name: &'static str, kinds: [Kind; 3], run: fn(&mut Scalar)) -> Row {
    Row { op, name, exec: Exec::Scalar { kinds, run } }
}

const W: [Kind; 3] = [B32, B32, B32];
const Q: [Kind; 3] = [B64, B64, B64];
const QW: [Kind; 3] = [B64, B64, B32];
const W1: [Kind; 3] = [B32, B32, None];
const Q1: [Kind; 3] = [B64, B64, None];
const CMP: [Kind; 3] = [None, B32, B32];

fn carry(s: &mut Scalar, sum: u64) {
    s.d = sum & 0xffff_ffff;
    s.scc = sum >> 32 != 0;
}

fn signed(s: &mut Scalar, (value, overflow): (i32, bool)) {
    s.d = u64::from(value as u32);
    s.scc = overflow;
}

fn pick(s: &mut Scalar, first: bool) {
    s.d = u64::from(if first { s.a } else { s.b } as u32);
    s.scc = first;
}

fn field(s: &Scalar) -> (u32, u32) {
    (s.b as u32 & 63, s.b as u32 >> 16 & 127)
}

fn bfe(value: u64, (offset, width): (u32, u32), bits: u32) -> u64 {
    let offset = offset & (bits - 1);
    let value = value >> offset;
    if width == 0 {
        0
    } else if width >= 64 {
        value
    } else {
        value & ((1 << width) - 1)
    }
}

fn bfe_signed(value: i64, (offset, width): (u32, u32), bits: u32) -> i64 {
    let offset = offset & (bits - 1);
    let width = width.min(bits - offset);
    if width == 0 { 0 } else { value << (64 - offset - width) >> (64 - width) }
}

fn shift_add(s: &mut Scalar, by: u32) {
    carry_out(s, (u64::from(s.a as u32) << by) + u64::from(s.b as u32));
}

fn carry_out(s: &mut Scalar, sum: u64) {
    s.d = sum & 0xffff_ffff;
    s.scc = sum >> 32 != 0;
}

pub(super) static SOP2: &[Row] = &[
    s(0, "s_add_u32", W, |s| carry(s, u64::from(s.a as u32) + u64::from(s.b as u32))),
    s(1, "s_sub_u32", W, |s| carry(s, u64::from(s.a as u32).wrapping_sub(u64::from(s.b as u32)))),
    s(2, "s_add_i32", W, |s| signed(s, s.ints().0.overflowing_add(s.ints().1))),
    s(3, "s_sub_i32", W, |s| signed(s, s.ints().0.overflowing_sub(s.ints().1))),
    s(4, "s_addc_u32", W, |s| {
        carry(s, u64::from(s.a as u32) + u64::from(s.b as u32) + u64::from(s.scc))
    }),
    s(5, "s_subb_u32", W, |s| {
        carry(
            s,
            u64::from(s.a as u32)
                .wrapping_sub(u64::from(s.b as u32))
                .wrapping_sub(u64::from(s.scc)),
        );
    }),
    s(6, "s_min_i32", W, |s| pick(s, s.ints().0 < s.ints().1)),
    s(7, "s_min_u32", W, |s| pick(s, s.words().0 < s.words().1)),
    s(8, "s_max_i32", W, |s| pick(s, s.ints().0 > s.ints().1)),
    s(9, "s_max_u32", W, |s| pick(s, s.words().0 > s.words().1)),
    s(10, "s_cselect_b32", W, |s| s.d = if s.scc { s.a } else { s.b }),
    s(11, "s_cselect_b64", Q, |s| s.d = if s.scc { s.a } else { s.b }),
    s(12, "s_and_b32", W, |s| s.logic32((s.a & s.b) as u32)),
    s(13, "s_and_b64", Q, |s| s.logic64(s.a & s.b)),
    s(14, "s_or_b32", W, |s| s.logic32((s.a | s.b) as u32)),
    s(15, "s_or_b64", Q, |s| s.logic64(s.a | s.b)),
    s(16, "s_xor_b32", W, |s| s.logic32((s.a ^ s.b) as u32)),
    s(17, "s_xor_b64", Q, |s| s.logic64(s.a ^ s.b)),
    s(18, "s_andn2_b32", W, |s| s.logic32((s.a & !s.b) as u32)),
    s(19, "s_andn2_b64", Q, |s| s.logic64(s.a & !s.b)),
    s(20, "s_orn2_b32", W, |s| s.logic32((s.a | !s.b) as u32)),
    s(21, "s_orn2_b64", Q, |s| s.logic64(s.a | !s.b)),
    s(22, "s_nand_b32", W, |s| s.logic32(!(s.a & s.b) as u32)),
    s(23, "s_nand_b64", Q, |s| s.logic64(!(s.a & s.b))),
    s(24, "s_nor_b32", W, |s| s.logic32(!(s.a | s.b) as u32)),
    s(25, "s_nor_b64", Q, |s| s.logic64(!(s.a | s.b))),
    s(26, "s_xnor_b32", W, |s| s.logic32(!(s.a ^ s.b) as u32)),
    s(27, "s_xnor_b64", Q, |s| s.logic64(!(s.a ^ s.b))),
    s(28, "s_lshl_b32", W, |s| s.logic32((s.a as u32) << (s.b & 31))),
    s(29, "s_lshl_b64", QW, |s| s.logic64(s.a << (s.b & 63))),
    s(30, "s_lshr_b32", W, |s| s.logic32(s.a as u32 >> (s.b & 31))),
    s(31, "s_lshr_b64", QW, |s| s.logic64(s.a >> (s.b & 63))),
    s(32, "s_ashr_i32", W, |s| s.logic32((s.a as i32 >> (s.b & 31)) as u32)),
    s(33, "s_ashr_i64", QW, |s| s.logic64((s.a as i64 >> (s.b & 63)) as u64)),
    s(34, "s_bfm_b32", W, |s| s.d = u64::from(((1u32 << (s.a & 31)) - 1) << (s.b & 31))),
    s(35, "s_bfm_b64", [B64, B32, B32], |s| s.d = ((1u64 << (s.a & 63)) - 1) << (s.b & 63)),
    s(36, "s_mul_i32", W, |s| s.d = u64::from((s.a as u32).wrapping_mul(s.b as u32))),
    s(37, "s_bfe_u32", W, |s| s.logic32(bfe(u64::from(s.a as u32), field(s), 32) as u32)),
    s(38, "s_bfe_i32", W, |s| s.logic32(bfe_signed(i64::from(s.a as i32), field(s), 32) as u32)),
    s(39, "s_bfe_u64", QW, |s| s.logic64(bfe(s.a, field(s), 64))),
    s(40, "s_bfe_i64", QW, |s| s.logic64(bfe_signed(s.a as i64, field(s), 64) as u64)),
    refused(41, "s_cbranch_g_fork"),
    s(42, "s_absdiff_i32", W, |s| {
        s.logic32(s.ints().0.wrapping_sub(s.ints().1).wrapping_abs() as u32)
    }),
    refused(43, "s_rfe_restore_b64"),
    s(44, "s_mul_hi_u32", W, |s| s.d = (u64::from(s.a as u32) * u64::from(s.b as u32)) >> 32),
    s(45, "s_mul_hi_i32", W, |s| {
        s.d = u64::from(((i64::from(s.a as i32) * i64::from(s.b as i32)) >> 32) as u32)
    }),
    s(46, "s_lshl1_add_u32", W, |s| shift_add(s, 1)),
    s(47, "s_lshl2_add_u32", W, |s| shift_add(s, 2)),
    s(48, "s_lshl3_add_u32", W, |s| shift_add(s, 3)),
    s(49, "s_lshl4_add_u32", W, |s| shift_add(s, 4)),
    s(50, "s_pack_ll_b32_b16", W, |s| s.d = s.a & 0xffff | (s.b & 0xffff) << 16),
    s(51, "s_pack_lh_b32_b16", W, |s| s.d = s.a & 0xffff | s.b & 0xffff_0000),
    s(52, "s_pack_hh_b32_b16", W, |s| s.d = s.a >> 16 & 0xffff | s.b & 0xffff_0000),
];

fn minus_one(found: u32, bits: u32) -> u64 {
    u64::from(if found >= bits { u32::MAX } else { found })
}

/// The quads of lanes in which a bit is set.
fn quads(mask: u64) -> u64 {
    let any = mask | mask >> 1 | mask >> 2 | mask >> 3;
    any & 0x1111_1111_1111_1111
}

fn quad_mask(mask: u64) -> u64 {
    (0..16).fold(0, |sum, i| sum | (quads(mask) >> (4 * i) & 1) << i)
}

fn replicate(value: u32) -> u64 {
    (0..32).fold(0, |sum, i| sum | (u64::from(value >> i & 1) * 3) << (2 * i))
}

pub(super) static SOP1: &[Row] = &[
    s(0, "s_mov_b32", W1, |s| s.d = s.a),
    s(1, "s_mov_b64", Q1, |s| s.d = s.a),
    s(2, "s_cmov_b32", W1, |s| {
        if s.scc {
            s.d = s.a
        }
    }),
    s(3, "s_cmov_b64", Q1, |s| {
        if s.scc {
            s.d = s.a
        }
    }),
    s(4, "s_not_b32", W1, |s| s.logic32(!s.a as u32)),
    s(5, "s_not_b64", Q1, |s| s.logic64(!s.a)),
    s(6, "s_wqm_b32", W1, |s| s.logic32(quads(u64::from(s.a as u32)) as u32 * 15)),
    s(7, "s_wqm_b64", Q1, |s| s.logic64(quads(s.a) * 15)),
    s(8, "s_brev_b32", W1, |s| s.d = u64::from((s.a as u32).reverse_bits())),
    s(9, "s_brev_b64", Q1, |s| s.d = s.a.reverse_bits()),
    s(10, "s_bcnt0_i32_b32", W1, |s| s.logic32((s.a as u32).count_zeros())),
    s(11, "s_bcnt0_i32_b64", [B32, B64, None], |s| s.logic32(s.a.count_zeros())),
    s(12, "s_bcnt1_i32_b32", W1, |s| s.logic32((s.a as u32).count_ones())),
    s(13, "s_bcnt1_i32_b64", [B32, B64, None], |s| s.logic32(s.a.count_ones())),
    s(14, "s_ff0_i32_b32", W1, |s| s.d = minus_one((s.a as u32).trailing_ones(), 32)),
    s(15, "s_ff0_i32_b64", [B32, B64, None], |s| s.d = minus_one(s.a.trailing_ones(), 64)),
    s(16, "s_ff1_i32_b32", W1, |s| s.d = minus_one((s.a as u32).trailing_zeros(), 32)),
    s(17, "s_ff1_i32_b64", [B32, B64, None], |s| s.d = minus_one(s.a.trailing_zeros(), 64)),
    s(18, "s_flbit_i32_b32", W1, |s| s.d = minus_one((s.a as u32).leading_zeros(), 32)),
    s(19, "s_flbit_i32_b64", [B32, B64, None], |s| s.d = minus_one(s.a.leading_zeros(), 64)),
    s(20, "s_flbit_i32", W1, |s| {
        let x = s.a as i32;
        s.d = minus_one((x ^ x >> 31).leading_zeros(), 32);
    }),
    s(21, "s_flbit_i32_i64", [B32, B64, None], |s| {
        let x = s.a as i64;
        s.d = minus_one((x ^ x >> 63).leading_zeros(), 64);
    }),
    s(22, "s_sext_i32_i8", W1, |s| s.d = u64::from(s.a as i8 as u32)),
    s(23, "s_sext_i32_i16", W1, |s| s.d = u64::from(s.a as i16 as u32)),
    s(24, "s_bitset0_b32", W1, |s| s.d &= !(1 << (s.a & 31))),
    s(25, "s_bitset0_b64", [B64, B32, None], |s| s.d &= !(1 << (s.a & 63))),
    s(26, "s_bitset1_b32", W1, |s| s.d |= 1 << (s.a & 31)),
    s(27, "s_bitset1_b64", [B64, B32, None], |s| s.d |= 1 << (s.a & 63)),
    control(28, "s_getpc_b64", C::GetPc),
    control(29, "s_setpc_b64", C::SetPc),
    control(30, "s_swappc_b64", C::SwapPc),
    refused(31, "s_rfe_b64"),
    s(32, "s_and_saveexec_b64", Q1, |s| s.save(s.a & s.exec)),
    s(33, "s_or_saveexec_b64", Q1, |s| s.save(s.a | s.exec)),
    s(34, "s_xor_saveexec_b64", Q1, |s| s.save(s.a ^ s.exec)),
    s(35, "s_andn2_saveexec_b64", Q1, |s| s.save(s.a & !s.exec)),
    s(36, "s_orn2_saveexec_b64", Q1, |s| s.save(s.a | !s.exec)),
    s(37, "s_nand_saveexec_b64", Q1, |s| s.save(!(s.a & s.exec))),
    s(38, "s_nor_saveexec_b64", Q1, |s| s.save(!(s.a | s.exec))),
    s(39, "s_xnor_saveexec_b64", Q1, |s| s.save(!(s.a ^ s.exec))),
    s(40, "s_quadmask_b32", W1, |s| s.logic32(quad_mask(u64::from(s.a as u32)) as u32)),
    s(41, "s_quadmask_b64", Q1, |s| s.logic64(quad_mask(s.a))),
    control(42, "s_movrels_b32", C::MoveRelS(false)),
    control(43, "s_movrels_b64", C::MoveRelS(true)),
    control(44, "s_movreld_b32", C::MoveRelD(false)),
    control(45, "s_movreld_b64", C::MoveRelD(true)),
    refused(46, "s_cbranch_join"),
    s(48, "s_abs_i32", W1, |s| s.logic32((s.a as i32).wrapping_abs() as u32)),
    control(50, "s_set_gpr_idx_idx", C::IndexSet),
    s(51, "s_andn1_saveexec_b64", Q1, |s| s.save(!s.a & s.exec)),
    s(52, "s_orn1_saveexec_b64", Q1, |s| s.save(!s.a | s.exec)),
    s(53, "s_andn1_wrexec_b64", Q1, |s| {
        s.exec &= !s.a;
        s.logic64(s.exec);
    }),
    s(54, "s_andn2_wrexec_b64", Q1, |s| {
        s.exec = s.a & !s.exec;
        s.logic64(s.exec);
    }),
    s(55, "s_bitreplicate_b64_b32", [B64, B32, None], |s| s.d = replicate(s.a as u32)),
];

pub(super) static SOPC: &[Row] = &[
    s(0, "s_cmp_eq_i32", CMP, |s| s.scc = s.ints().0 == s.ints().1),
    s(1, "s_cmp_lg_i32", CMP, |s| s.scc = s.ints().0 != s.ints().1),
    s(2, "s_cmp_gt_i32", CMP, |s| s.scc = s.ints().0 > s.ints().1),
    s(3, "s_cmp_ge_i32", CMP, |s| s.scc = s.ints().0 >= s.ints().1),
    s(4, "s_cmp_lt_i32", CMP, |s| s.scc = s.ints().0 < s.ints().1),
    s(5, "s_cmp_le_i32", CMP, |s| s.scc = s.ints().0 <= s.ints().1),
    s(6, "s_cmp_eq_u32", CMP, |s| s.scc = s.words().0 == s.words().1),
    s(7, "s_cmp_lg_u32", CMP, |s| s.scc = s.words().0 != s.words().1),
    s(8, "s_cmp_gt_u32", CMP, |s| s.scc = s.words().0 > s.words().1),
    s(9, "s_cmp_ge_u32", CMP, |s| s.scc = s.words().0 >= s.words().1),
    s(10, "s_cmp_lt_u32", CMP, |s| s.scc = s.words().0 < s.words().1),
    s(11, "s_cmp_le_u32", CMP, |s| s.scc = s.words().0 <= s.words().1),
    s(12, "s_bitcmp0_b32", CMP, |s| s.scc = s.a >> (s.b & 31) & 1 == 0),
    s(13, "s_bitcmp1_b32", CMP, |s| s.scc = s.a >> (s.b & 31) & 1 == 1),
    s(14, "s_bitcmp0_b64", [None, B64, B32], |s| s.scc = s.a >> (s.b & 63) & 1 == 0),
    s(15, "s_bitcmp1_b64", [None, B64, B32], |s| s.scc = s.a >> (s.b & 63) & 1 == 1),
    refused(16, "s_setvskip"),
    control(17, "s_set_gpr_idx_on", C::IndexOn),
    s(18, "s_cmp_eq_u64", [None, B64, B64], |s| s.scc = s.a == s.b),
    s(19, "s_cmp_lg_u64", [None, B64, B64], |s| s.scc = s.a != s.b),
];

// For SOPK, `a` is the destination's former value and `b` the sign-extended constant.
const K: [Kind; 3] = [B32, B32, None];
const KC: [Kind; 3] = [None, B32, None];

pub(super) static SOPK: &[Row] = &[
    s(0, "s_movk_i32", K, |s| s.d = s.b & 0xffff_ffff),
    s(1, "s_cmovk_i32", K, |s| {
        if s.scc {
            s.d = s.b & 0xffff_ffff
        }
    }),
    s(2, "s_cmpk_eq_i32", KC, |s| s.scc = s.ints().0 == s.ints().1),
    s(3, "s_cmpk_lg_i32", KC, |s| s.scc = s.ints().0 != s.ints().1),
    s(4, "s_cmpk_gt_i32", KC, |s| s.scc = s.ints().0 > s.ints().1),
    s(5, "s_cmpk_ge_i32", KC, |s| s.scc = s.ints().0 >= s.ints().1),
    s(6, "s_cmpk_lt_i32", KC, |s| s.scc = s.ints().0 < s.ints().1),
    s(7, "s_cmpk_le_i32", KC, |s| s.scc = s.ints().0 <= s.ints().1),
    s(8, "s_cmpk_eq_u32", KC, |s| s.scc = s.words().0 == s.words().1 & 0xffff),
    s(9, "s_cmpk_lg_u32", KC, |s| s.scc = s.words().0 != s.words().1 & 0xffff),
    s(10, "s_cmpk_gt_u32", KC, |s| s.scc = s.words().0 > s.words().1 & 0xffff),
    s(11, "s_cmpk_ge_u32", KC, |s| s.scc = s.words().0 >= s.words().1 & 0xffff),
    s(12, "s_cmpk_lt_u32", KC, |s| s.scc = s.words().0 < s.words().1 & 0xffff),
    s(13, "s_cmpk_le_u32", KC, |s| s.scc = s.words().0 <= s.words().1 & 0xffff),
    s(14, "s_addk_i32", K, |s| signed(s, s.ints().0.overflowing_add(s.ints().1))),
    s(15, "s_mulk_i32", K, |s| s.d = u64::from((s.a as u32).wrapping_mul(s.b as u32))),
    refused(16, "s_cbranch_i_fork"),
    control(17, "s_getreg_b32", C::GetReg),
    control(18, "s_setreg_b32", C::SetReg),
    control(20, "s_setreg_imm32_b32", C::SetRegImm),
    control(21, "s_call_b64", C::Call),
];

pub(super) static SOPP: &[Row] = &[
    control(0, "s_nop", C::Nop),
    control(1, "s_endpgm", C::End),
    control(2, "s_branch", C::Branch),
    control(3, "s_wakeup", C::Nop),
    control(4, "s_cbranch_scc0", C::BranchScc(false)),
    control(5, "s_cbranch_scc1", C::BranchScc(true)),
    control(6, "s_cbranch_vccz", C::BranchVcc(false)),
    control(7, "s_cbranch_vccnz", C::BranchVcc(true)),
    control(8, "s_cbranch_execz", C::BranchExec(false)),
    control(9, "s_cbranch_execnz", C::BranchExec(true)),
    control(10, "s_barrier", C::Barrier),
    refused(11, "s_setkill"),
    control(12, "s_waitcnt", C::Wait),
    control(13, "s_sethalt", C::Halt),
    control(14, "s_sleep", C::Sleep),
    control(15, "s_setprio", C::Nop),
    control(16, "s_sendmsg", C::Message),
    refused(17, "s_sendmsghalt"),
    control(18, "s_trap", C::Trap),
    control(19, "s_icache_inv", C::Nop),
    control(20, "s_incperflevel", C::Nop),
    control(21, "s_decperflevel", C::Nop),
    refused(22, "s_ttracedata"),
    refused(23, "s_cbranch_cdbgsys"),
    refused(24, "s_cbranch_cdbguser"),
    refused(25, "s_cbranch_cdbgsys_or_user"),
    refused(26, "s_cbranch_cdbgsys_and_user"),
    control(27, "s_endpgm_saved", C::End),
    control(28, "s_set_gpr_idx_off", C::IndexOff),
    control(29, "s_set_gpr_idx_mode", C::IndexMode),
    refused(30, "s_endpgm_ordered_ps_done"),
];
