//! Registers of other lanes, and of the accumulation file.

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
    let selected = |wave: &Wave| wave.scalar32(inst.src[1], inst.literal) as usize % LANES;
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
        Cross::AccRead | Cross::AccWrite | Cross::AccMove => {
            let to = vector(inst.dst)?;
            for lane in (0..LANES).filter(|lane| exec >> lane & 1 == 1) {
                wave.v[to][lane] = lane_of(wave, inst, inst.src[0], lane);
            }
        }
    }
    Ok(())
}
