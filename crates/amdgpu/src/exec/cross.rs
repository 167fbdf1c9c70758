//! Accesses to registers of other lanes, to the accumulation registers, and to registers that M0 selects.

use super::state::{Stop, refused};
use crate::inst::{Inst, Operand};
use crate::lanes::LANES;
use crate::table::Cross;
use crate::wave::Wave;

fn vector(operand: Operand) -> Result<usize, Stop> {
    operand.register().ok_or_else(|| refused("a scalar where a vector register belongs"))
}

/// A register of either kind, in a lane.
fn lane_of(wave: &Wave, inst: &Inst, operand: Operand, lane: usize) -> u32 {
    match operand.register() {
        Some(register) => wave.v[register][lane],
        None => wave.scalar32(operand, inst.literal),
    }
}

pub(super) fn cross(wave: &mut Wave, inst: &Inst, what: Cross) -> Result<(), Stop> {
    let exec = wave.exec();
    let selected =
        |wave: &Wave| wave.scalar32(inst.src[1], inst.literal) as usize % wave.target.lanes();
    match what {
        Cross::ReadFirst => {
            wave.s[usize::from(inst.dst.0) & 127] =
                lane_of(wave, inst, inst.src[0], wave.first_lane());
        }
        Cross::ReadLane => {
            wave.s[usize::from(inst.dst.0) & 127] =
                lane_of(wave, inst, inst.src[0], selected(wave));
        }
        Cross::WriteLane => {
            let (value, lane) = (wave.scalar32(inst.src[0], inst.literal), selected(wave));
            wave.v[vector(inst.dst)?][lane] = value;
        }
        Cross::Swap => {
            let (a, b) = (vector(inst.dst)?, vector(inst.src[0])?);
            for lane in (0..LANES).filter(|lane| exec >> lane & 1 == 1) {
                let (x, y) = (wave.v[a][lane], wave.v[b][lane]);
                wave.v[a][lane] = y;
                wave.v[b][lane] = x;
            }
        }
        Cross::MoveRelative { from, to } => move_relative(wave, inst, from, to)?,
        Cross::PermLane { other } => perm_lane(wave, inst, other)?,
        Cross::AccRead | Cross::AccWrite | Cross::AccMove => {
            let to = vector(inst.dst)?;
            for lane in (0..LANES).filter(|lane| exec >> lane & 1 == 1) {
                wave.v[to][lane] = lane_of(wave, inst, inst.src[0], lane);
            }
        }
    }
    Ok(())
}

/// A register whose number M0 adds to, of the source or the destination.
fn move_relative(wave: &mut Wave, inst: &Inst, from: bool, to: bool) -> Result<(), Stop> {
    let by = wave.s[124] as usize;
    let place = |operand: Operand, moved: bool| -> Result<usize, Stop> {
        let register = vector(operand)?.checked_add(if moved { by } else { 0 });
        register
            .filter(|register| *register < 256)
            .ok_or_else(|| refused("a vector register that a wave does not have"))
    };
    let (to, exec) = (place(inst.dst, to)?, wave.exec());
    let source = if from { Operand(place(inst.src[0], true)? as u16 + 256) } else { inst.src[0] };
    for lane in (0..LANES).filter(|lane| exec >> lane & 1 == 1) {
        wave.v[to][lane] = lane_of(wave, inst, source, lane);
    }
    Ok(())
}

/// v_permlane16 and v_permlanex16: two scalars have four bits for each lane of a row of 16. op_sel says whether
/// inactive lanes are sources (bit 0), and whether they read as zero (bit 1) or leave the destination.
fn perm_lane(wave: &mut Wave, inst: &Inst, other: bool) -> Result<(), Stop> {
    let (to, exec) = (vector(inst.dst)?, wave.exec());
    let from = wave.v[vector(inst.src[0])?];
    let [low, high] = [1, 2].map(|at| u64::from(wave.scalar32(inst.src[at], inst.literal)));
    let selects = low | high << 32;
    for lane in (0..LANES).filter(|lane| exec >> lane & 1 == 1) {
        let row = lane & !15 ^ if other { 16 } else { 0 };
        let source = row | (selects >> (4 * (lane & 15)) & 15) as usize;
        if inst.sel & 1 == 1 || exec >> source & 1 == 1 {
            wave.v[to][lane] = from[source];
        } else if inst.sel & 2 == 2 {
            wave.v[to][lane] = 0;
        }
    }
    Ok(())
}
