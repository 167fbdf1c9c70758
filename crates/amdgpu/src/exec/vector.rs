//! Vector arithmetic instructions.
//!
//! Owns: reading sources, and writing results to the active lanes. Must not know: what is computed.

use super::source::{KEEP32, dpp, dpp8, fetch, flush};
use super::state::{Stop, refused};
use crate::inst::{Form, Inst, Operand, Sdwa};
use crate::lanes::{LANES, Lanes, Reg};
use crate::num;
use crate::table::{Encoding, Kind, Vector};
use crate::wave::Wave;

fn sources(wave: &Wave, lanes: &mut Lanes, inst: &Inst, kinds: &[Kind]) -> Result<u64, Stop> {
    let exec = wave.exec();
    lanes.exec = exec;
    lanes.vcc = wave.vcc();
    lanes.mask = 0;
    for (at, kind) in kinds.iter().enumerate() {
        if *kind != Kind::None {
            fetch(wave, lanes, inst, at, *kind)?;
        }
    }
    Ok(match inst.form {
        Form::Dpp(how) => dpp(lanes, how, exec),
        Form::Dpp8(selects, inactive) => {
            dpp8(lanes, selects, inactive, exec);
            exec
        }
        _ => exec,
    })
}

/// Writes the active lanes.
#[inline]
fn merge(to: &mut Reg, from: &Reg, exec: u64) {
    if exec == u64::MAX {
        *to = *from;
        return;
    }
    for i in 0..LANES {
        let on = ((exec >> i & 1) as u32).wrapping_neg();
        to[i] = to[i] & !on | from[i] & on;
    }
}

pub(super) fn compare(
    wave: &mut Wave,
    lanes: &mut Lanes,
    inst: &Inst,
    kinds: &[Kind; 2],
    to_exec: bool,
    run: fn(&mut Lanes),
) -> Result<(), Stop> {
    let exec = sources(wave, lanes, inst, kinds)?;
    run(lanes);
    let result = lanes.out & exec;
    if inst.mask != Operand::NONE {
        wave.set_mask(usize::from(inst.mask.0), result);
    }
    if to_exec {
        wave.set_mask(126, result);
    }
    Ok(())
}

pub(super) fn vector(
    wave: &mut Wave,
    lanes: &mut Lanes,
    inst: &Inst,
    row: &Vector,
) -> Result<(), Stop> {
    let on = sources(wave, lanes, inst, &row.src)?;
    let mut register = inst.dst.register().ok_or_else(|| refused("a scalar destination"))?;
    if let Some((mode, by)) = wave.index
        && mode & 8 != 0
        && register < 256
    {
        register += usize::from(by);
    }
    let words = row.dst.registers() as usize;
    if register + words > wave.v.len() {
        return Err(refused("a vector register that a wave does not have"));
    }
    if row.accumulates {
        for i in 0..words {
            lanes.d[i] = wave.v[register + i];
        }
        if row.dst == Kind::F32 && wave.mode & KEEP32.0 == 0 {
            flush(&mut lanes.d[0]);
        }
    }
    (row.run)(lanes);
    finish(wave, lanes, inst, row)?;
    match inst.form {
        Form::Sdwa(sdwa) => place(&mut lanes.d[0], &wave.v[register], sdwa),
        _ if row.dst.half() => half(&mut lanes.d[0], &wave.v[register], inst, row),
        _ => {}
    }
    for i in 0..words {
        merge(&mut wave.v[register + i], &lanes.d[i], on);
    }
    if row.mask {
        wave.set_mask(usize::from(inst.mask.0), lanes.out & lanes.exec);
    }
    Ok(())
}

/// Results of floats: denormals, omod, clamp.
fn finish(wave: &Wave, lanes: &mut Lanes, inst: &Inst, row: &Vector) -> Result<(), Stop> {
    if row.dst == Kind::F32 && wave.mode & KEEP32.1 == 0 {
        flush(&mut lanes.d[0]);
    }
    if inst.omod == 0 && !inst.clamp {
        return Ok(());
    }
    let factor = [1.0, 2.0, 4.0, 0.5][usize::from(inst.omod & 3)];
    let limit = |x: f64| {
        if !inst.clamp {
            x
        } else if x > 0.0 {
            x.min(1.0)
        } else {
            0.0
        }
    };
    let packed = inst.encoding == Encoding::Vop3p;
    // omod belongs to VOP3 and SDWA; VOP3P has other bits there.
    let adjust = |x: f64| limit(if packed { x } else { x * factor });
    match row.dst {
        Kind::F32 | Kind::F32x2 => {
            for word in lanes.d.iter_mut().take(row.dst.registers() as usize) {
                for x in word {
                    *x = (adjust(f64::from(f32::from_bits(*x))) as f32).to_bits();
                }
            }
        }
        Kind::B32 if row.src[0] == Kind::Mix && !row.accumulates => {
            for x in &mut lanes.d[0] {
                *x = (adjust(f64::from(f32::from_bits(*x))) as f32).to_bits();
            }
        }
        Kind::F64 => {
            for i in 0..LANES {
                let x = f64::from_bits(u64::from(lanes.d[0][i]) | u64::from(lanes.d[1][i]) << 32);
                lanes.set_q(i, adjust(x).to_bits());
            }
        }
        Kind::F16 => {
            for x in &mut lanes.d[0] {
                *x = num::d2h(adjust(f64::from(num::h2f(*x & 0xffff))));
            }
        }
        Kind::P16 => {
            for x in &mut lanes.d[0] {
                let part = |h: u32| num::d2h(adjust(f64::from(num::h2f(h & 0xffff))));
                *x = part(*x) | part(*x >> 16) << 16;
            }
        }
        _ => saturate(lanes, inst)?,
    }
    Ok(())
}

/// clamp of integers: the result is the nearest that fits. Errors: an instruction without such a form here.
fn saturate(lanes: &mut Lanes, inst: &Inst) -> Result<(), Stop> {
    let both = |low: u32, high: u32| low & 0xffff | high << 16;
    let halves = |op: fn(u16, u16) -> u16| {
        move |a: u32, b: u32| {
            both(
                u32::from(op(a as u16, b as u16)),
                u32::from(op((a >> 16) as u16, (b >> 16) as u16)),
            )
        }
    };
    let signed = |op: fn(i16, i16) -> i16| {
        move |a: u32, b: u32| {
            both(
                op(a as i16, b as i16) as u16 as u32,
                op((a >> 16) as i16, (b >> 16) as i16) as u16 as u32,
            )
        }
    };
    match inst.row.name {
        "v_add_u32" | "v_add_nc_u32" | "v_add_co_u32" => lanes.u2(u32::saturating_add),
        "v_sub_u32" | "v_sub_nc_u32" | "v_sub_co_u32" => lanes.u2(u32::saturating_sub),
        "v_subrev_u32" | "v_subrev_nc_u32" | "v_subrev_co_u32" => {
            lanes.u2(|a, b| b.saturating_sub(a))
        }
        "v_add_i32" | "v_add_nc_i32" => lanes.i2(i32::saturating_add),
        "v_sub_i32" | "v_sub_nc_i32" => lanes.i2(i32::saturating_sub),
        "v_add_u16" | "v_add_nc_u16" => {
            lanes.u2(|a, b| u32::from((a as u16).saturating_add(b as u16)))
        }
        "v_sub_u16" | "v_sub_nc_u16" => {
            lanes.u2(|a, b| u32::from((a as u16).saturating_sub(b as u16)))
        }
        "v_subrev_u16" => lanes.u2(|a, b| u32::from((b as u16).saturating_sub(a as u16))),
        "v_add_i16" | "v_add_nc_i16" => {
            lanes.u2(|a, b| (a as i16).saturating_add(b as i16) as u16 as u32)
        }
        "v_sub_i16" | "v_sub_nc_i16" => {
            lanes.u2(|a, b| (a as i16).saturating_sub(b as i16) as u16 as u32)
        }
        "v_pk_add_u16" => lanes.u2(halves(u16::saturating_add)),
        "v_pk_sub_u16" => lanes.u2(halves(u16::saturating_sub)),
        "v_pk_add_i16" => lanes.u2(signed(i16::saturating_add)),
        "v_pk_sub_i16" => lanes.u2(signed(i16::saturating_sub)),
        name => return Err(refused(format!("clamp of {name} is not executed"))),
    }
    Ok(())
}

/// Writes the part of the destination that SDWA selects, and sets the rest.
fn place(value: &mut Reg, old: &Reg, sdwa: Sdwa) {
    let (shift, bits) = match sdwa.dst {
        0..=3 => (u32::from(sdwa.dst) * 8, 8),
        4 | 5 => (u32::from(sdwa.dst - 4) * 16, 16),
        _ => return,
    };
    let mask = (u32::MAX >> (32 - bits)) << shift;
    for (x, old) in value.iter_mut().zip(old) {
        let part = *x << shift & mask;
        *x = match sdwa.rest {
            0 => part,
            1 if part >> (shift + bits - 1) & 1 == 1 => {
                part | !((mask >> shift << shift) | ((1u32 << shift) - 1))
            }
            1 => part,
            _ => old & !mask | part,
        };
    }
}

/// A result of 16 bits: into the half that op_sel selects; the other half becomes zero, or stays.
fn half(value: &mut Reg, old: &Reg, inst: &Inst, row: &Vector) {
    let high = inst.sel & 8 != 0;
    for (x, old) in value.iter_mut().zip(old) {
        *x = match (high, row.keeps) {
            (true, _) => old & 0xffff | *x << 16,
            (false, true) => old & 0xffff_0000 | *x & 0xffff,
            (false, false) => *x & 0xffff,
        };
    }
}
