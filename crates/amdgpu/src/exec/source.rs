//! Sources of vector instructions.
//!
//! Owns: reading registers and constants for 64 lanes, and modifiers: neg, abs, op_sel, SDWA, DPP, flushing of
//! denormals. Must not know: what is computed.

use super::state::{Stop, refused};
use crate::inst::{Dpp, Form, Inst, Operand};
use crate::lanes::{LANES, Lanes, Reg};
use crate::num;
use crate::table::{Encoding, Kind};
use crate::wave::{Wave, constant, double, half};

/// MODE bits: denormals of f32 are kept as sources, and as results.
pub(super) const KEEP32: (u32, u32) = (0x10, 0x20);

/// Reads source `at` of an instruction into `lanes`. Errors: there is no such register.
pub(super) fn fetch(
    wave: &Wave,
    lanes: &mut Lanes,
    inst: &Inst,
    at: usize,
    kind: Kind,
) -> Result<(), Stop> {
    let operand = inst.src[at];
    if kind == Kind::Mask {
        lanes.mask = wave.mask_source(operand, inst.literal);
        return Ok(());
    }
    let packed = inst.encoding == Encoding::Vop3p;
    let wide = kind.registers() == 2;
    if let Some(register) = operand.register() {
        let register = register + indexed(wave, at, register);
        let missing = || refused("a vector register that a wave does not have");
        lanes.s[at] = *wave.v.get(register).ok_or_else(missing)?;
        if wide {
            lanes.h[at] = *wave.v.get(register + 1).ok_or_else(missing)?;
        }
    } else {
        let (low, high) = scalar(wave, inst, operand, kind);
        lanes.s[at] = [low; LANES];
        if wide {
            lanes.h[at] = [high; LANES];
        }
    }
    match inst.form {
        Form::Sdwa(sdwa) if at < 2 => select(&mut lanes.s[at], sdwa.src[at], sdwa.extend[at]),
        _ => {}
    }
    if packed {
        pack(lanes, inst, at, kind);
    } else if kind.half() {
        let high = inst.sel >> at & 1 == 1;
        for x in &mut lanes.s[at] {
            *x = if high { *x >> 16 } else { *x & 0xffff };
        }
    }
    modify(wave, lanes, inst, at, kind);
    Ok(())
}

/// The offset of relative addressing for a register's number.
fn indexed(wave: &Wave, at: usize, register: usize) -> usize {
    match wave.index {
        Some((mode, by)) if mode >> at & 1 == 1 && register < 256 => usize::from(by),
        _ => 0,
    }
}

/// The value of a scalar for a kind: low and high word.
fn scalar(wave: &Wave, inst: &Inst, operand: Operand, kind: Kind) -> (u32, u32) {
    let number = operand.0;
    match kind {
        Kind::F64 if (240..=248).contains(&number) => {
            (double(number) as u32, (double(number) >> 32) as u32)
        }
        // A literal is the high half of a double, an integer otherwise.
        Kind::F64 if number == 255 => (0, inst.literal),
        Kind::B64 | Kind::F64 => {
            let value = wave.scalar64(operand, inst.literal);
            (value as u32, (value >> 32) as u32)
        }
        Kind::F32x2 | Kind::B32x2 => match number {
            0..=127 => (wave.s[usize::from(number)], wave.s[usize::from(number + 1) & 127]),
            _ => {
                let value = constant(number).unwrap_or(inst.literal);
                (value, value)
            }
        },
        Kind::F16 | Kind::B16 | Kind::P16 if (240..=248).contains(&number) => (half(number), 0),
        // For packed operations with f32, constants are floats where the kind says so.
        _ => (Wave::aperture(number).unwrap_or_else(|| wave.scalar32(operand, inst.literal)), 0),
    }
}

/// A part of a register, by SDWA.
fn select(register: &mut Reg, part: u8, extend: bool) {
    let (shift, bits) = match part {
        0..=3 => (u32::from(part) * 8, 8),
        4 | 5 => (u32::from(part - 4) * 16, 16),
        _ => return,
    };
    for x in register {
        let left = *x << (32 - bits - shift);
        *x = if extend { (left as i32 >> (32 - bits)) as u32 } else { left >> (32 - bits) };
    }
}

/// Chooses the parts of a packed source.
fn pack(lanes: &mut Lanes, inst: &Inst, at: usize, kind: Kind) {
    let (low, high) = (inst.sel >> at & 1 == 1, inst.sel_hi >> at & 1 == 1);
    match kind {
        Kind::P16 | Kind::I16x2 => {
            for x in &mut lanes.s[at] {
                let part = |up: bool| if up { *x >> 16 } else { *x & 0xffff };
                *x = part(low) | part(high) << 16;
            }
        }
        Kind::F32x2 | Kind::B32x2 => {
            let (a, b) = (lanes.s[at], lanes.h[at]);
            lanes.s[at] = if low { b } else { a };
            lanes.h[at] = if high { b } else { a };
        }
        Kind::Mix if high => {
            for x in &mut lanes.s[at] {
                *x = num::h2f(if low { *x >> 16 } else { *x & 0xffff }).to_bits();
            }
        }
        _ => {}
    }
}

/// neg, abs, and denormals.
fn modify(wave: &Wave, lanes: &mut Lanes, inst: &Inst, at: usize, kind: Kind) {
    let (abs, neg) = (inst.abs >> at & 1 == 1, inst.neg >> at & 1 == 1);
    match kind {
        // The sign's bits of both halves: `abs` holds neg_hi.
        Kind::P16 if inst.encoding == Encoding::Vop3p && (neg || abs) => {
            let sign = u32::from(neg) << 15 | u32::from(abs) << 31;
            lanes.s[at].iter_mut().for_each(|x| *x ^= sign);
        }
        Kind::F32x2 => {
            let (low, high) = (u32::from(neg) << 31, u32::from(abs) << 31);
            lanes.s[at].iter_mut().for_each(|x| *x ^= low);
            lanes.h[at].iter_mut().for_each(|x| *x ^= high);
        }
        Kind::F16 | Kind::F32 | Kind::M32 | Kind::Mix | Kind::F64 if abs || neg => {
            let bit = if kind == Kind::F16 { 1 << 15 } else { 1 << 31 };
            let (clear, flip) = (if abs { bit } else { 0 }, if neg { bit } else { 0 });
            let words = if kind == Kind::F64 { &mut lanes.h[at] } else { &mut lanes.s[at] };
            words.iter_mut().for_each(|x| *x = *x & !clear ^ flip);
        }
        _ => {}
    }
    if kind == Kind::F32 && wave.mode & KEEP32.0 == 0 {
        flush(&mut lanes.s[at]);
    }
}

/// Denormals become zeros.
pub(super) fn flush(register: &mut Reg) {
    for x in register {
        if *x & 0x7f80_0000 == 0 {
            *x &= 0x8000_0000;
        }
    }
}

/// The first source's lanes by DPP. Returns the lanes that are written.
pub(super) fn dpp(lanes: &mut Lanes, dpp: Dpp, exec: u64) -> u64 {
    let (from, high) = (lanes.s[0], lanes.h[0]);
    let mut written = 0;
    for lane in 0..LANES {
        if dpp.rows >> (lane / 16) & 1 == 0 || dpp.banks >> (lane / 4 % 4) & 1 == 0 {
            continue;
        }
        let source = dpp_source(dpp.control, lane);
        match source.filter(|source| dpp.inactive || exec >> source & 1 == 1) {
            Some(source) => {
                lanes.s[0][lane] = from[source];
                lanes.h[0][lane] = high[source];
            }
            None if dpp.bound => {
                lanes.s[0][lane] = 0;
                lanes.h[0][lane] = 0;
            }
            None => continue,
        }
        written |= 1 << lane;
    }
    written & exec
}

/// The first source's lanes by DPP8: `selects` has three bits for each lane of eight. An inactive lane reads as zero.
pub(super) fn dpp8(lanes: &mut Lanes, selects: u32, inactive: bool, exec: u64) {
    let (from, high) = (lanes.s[0], lanes.h[0]);
    for lane in 0..LANES {
        let source = lane & !7 | (selects >> (3 * (lane & 7)) & 7) as usize;
        let on = inactive || exec >> source & 1 == 1;
        (lanes.s[0][lane], lanes.h[0][lane]) =
            if on { (from[source], high[source]) } else { (0, 0) };
    }
}

/// The lane that a lane reads.
fn dpp_source(control: u16, lane: usize) -> Option<usize> {
    let (row, at, by) = (lane & !15, lane & 15, usize::from(control & 15));
    match control {
        0..=0xff => Some(lane & !3 | usize::from(control >> (2 * (lane & 3)) & 3)),
        0x101..=0x10f => (at + by < 16).then_some(lane + by),
        0x111..=0x11f => (at >= by).then(|| lane - by),
        0x121..=0x12f => Some(row | (at + 16 - by) & 15),
        0x130 => (lane < 63).then_some(lane + 1),
        0x134 => Some((lane + 1) % 64),
        0x138 => lane.checked_sub(1),
        0x13c => Some((lane + 63) % 64),
        0x140 => Some(row | (15 - at)),
        0x141 => Some(lane ^ 7),
        0x142 => (lane >= 16).then(|| row - 1),
        0x143 => (lane >= 32).then_some(31),
        0x150..=0x15f => Some(row | by),
        0x160..=0x16f => Some(row | (at ^ by)),
        _ => None,
    }
}
