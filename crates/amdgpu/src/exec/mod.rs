//! Execution of waves.
//!
//! Owns: the loop over instructions, blocks of decoded code. Must not know: queues, packets.

mod atomic;
mod control;
mod cross;
mod flat;
mod lds;
mod registers;
mod scalar;
mod source;
mod state;
mod vector;
mod whole;

use std::collections::HashMap;
use std::sync::Arc;

use crate::decode;
use crate::inst::Inst;
use crate::lanes::Lanes;
use crate::memory::{Checked, Memory};
use crate::table::{Exec, ScalarMemory};
use crate::target::Target;
use crate::wave::{State, Wave};
pub use state::{Group, Stop};
use state::{Next, refused};

/// Instructions up to a branch.
#[derive(Debug)]
struct Block {
    insts: Vec<Inst>,
    /// The instruction after them, if it cannot be decoded.
    bad: Option<decode::Error>,
}

/// The decoded code of a dispatch, which does not change while that runs.
#[derive(Debug, Default)]
pub struct Code {
    target: Target,
    blocks: HashMap<u64, Arc<Block>>,
}

const LONGEST: usize = 256;

impl Code {
    /// No code yet; `target` says how to decode it.
    pub fn new(target: Target) -> Code {
        Code { target, blocks: HashMap::new() }
    }

    fn block<M: Memory + ?Sized>(
        &mut self,
        pc: u64,
        memory: &mut Checked<'_, M>,
    ) -> Result<Arc<Block>, Stop> {
        if let Some(block) = self.blocks.get(&pc) {
            return Ok(block.clone());
        }
        let mut block = Block { insts: Vec::new(), bad: None };
        let mut at = pc;
        while block.insts.len() < LONGEST {
            let (words, count) = fetch(at, memory);
            if count == 0 {
                if block.insts.is_empty() {
                    memory.at(at, 4, false)?;
                }
                break;
            }
            match decode::decode(self.target, &words[..count]) {
                Ok(inst) => {
                    let ends =
                        matches!(&inst.row.exec, Exec::Control(what) if control::ends_block(*what));
                    block.insts.push(inst);
                    at += u64::from(inst.bytes);
                    if ends {
                        break;
                    }
                }
                Err(error) => {
                    block.bad = Some(error);
                    break;
                }
            }
        }
        let block = Arc::new(block);
        self.blocks.insert(pc, block.clone());
        Ok(block)
    }
}

/// Up to three words of code.
fn fetch<M: Memory + ?Sized>(at: u64, memory: &mut Checked<'_, M>) -> ([u32; 3], usize) {
    let mut words = [0; 3];
    for i in 0..3 {
        let mut word = [0; 16];
        if !at.is_multiple_of(4) || memory.load(at + 4 * i as u64, 4, &mut word).is_err() {
            return (words, i);
        }
        words[i] = word[0];
    }
    (words, 3)
}

/// Runs a wave until it waits, ends, or has run about `turn` instructions. Errors: why it cannot continue.
pub fn run<M: Memory + ?Sized>(
    wave: &mut Wave,
    group: &mut Group<'_, M>,
    code: &mut Code,
    lanes: &mut Lanes,
    turn: u32,
) -> Result<(), Stop> {
    let mut left = i64::from(turn);
    while wave.state == State::Ready && left > 0 {
        let block = code.block(wave.pc, &mut group.memory)?;
        let mut jumped = false;
        for inst in &block.insts {
            let pc = wave.pc;
            wave.pc = pc + u64::from(inst.bytes);
            let next = step(wave, group, lanes, inst)
                .map_err(|stop| located(stop, pc, inst, wave, group))?;
            if next != Next::On {
                jumped = true;
                if next == Next::Pause {
                    left = 0;
                }
                break;
            }
        }
        left -= block.insts.len() as i64;
        if let (Some(error), false) = (block.bad, jumped) {
            let (words, count) = fetch(wave.pc, &mut group.memory);
            let why = match error {
                decode::Error::Short => "the memory ends within an instruction".to_owned(),
                decode::Error::Unknown => "unknown instruction".to_owned(),
                decode::Error::Field(what) => format!("{what} that means nothing"),
            };
            return Err(Stop::Instruction {
                pc: wave.pc,
                words: words[..count.min(2)].to_vec(),
                why,
            });
        }
    }
    Ok(())
}

/// Adds its address to a stop; the wave is at the instruction.
fn located<M: Memory + ?Sized>(
    stop: Stop,
    at: u64,
    inst: &Inst,
    wave: &mut Wave,
    group: &mut Group<'_, M>,
) -> Stop {
    wave.pc = at;
    match stop {
        Stop::Instruction { why, .. } => {
            let (words, count) = fetch(at, &mut group.memory);
            let words = words[..count.min(usize::from(inst.bytes) / 4)].to_vec();
            Stop::Instruction { pc: at, words, why }
        }
        Stop::Trap { number, .. } => Stop::Trap { number, pc: at },
        other => other,
    }
}

fn step<M: Memory + ?Sized>(
    wave: &mut Wave,
    group: &mut Group<'_, M>,
    lanes: &mut Lanes,
    inst: &Inst,
) -> Result<Next, Stop> {
    match &inst.row.exec {
        Exec::Scalar { kinds, run } => {
            scalar::scalar(wave, inst, kinds, *run);
            group.executed += 1;
        }
        Exec::Vector(row) => {
            vector::vector(wave, lanes, inst, row)?;
            group.executed += u64::from(wave.exec().count_ones());
        }
        Exec::Compare { src, exec, run } => {
            vector::compare(wave, lanes, inst, src, *exec, *run)?;
            group.executed += u64::from(wave.exec().count_ones());
        }
        Exec::Control(what) => {
            group.executed += 1;
            return control::control(wave, &group.memory, inst, *what);
        }
        Exec::Cross(what) => cross::cross(wave, inst, *what)?,
        Exec::ScalarLoad { words, buffer } => {
            scalar::load(wave, &mut group.memory, inst, usize::from(*words), *buffer)?
        }
        Exec::ScalarMemory(ScalarMemory::Time) => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            // 100 MHz, as s_memrealtime's clock.
            wave.set_pair(usize::from(inst.dst.0), now.map_or(0, |t| t.as_nanos() as u64 / 10));
        }
        Exec::ScalarMemory(ScalarMemory::Cache) => {}
        Exec::Memory(access) => {
            flat::memory(wave, group, inst, *access)?;
            group.executed += u64::from(wave.exec().count_ones());
        }
        Exec::Refused => return Err(refused(format!("{} is not executed", inst.row.name))),
    }
    Ok(Next::On)
}
