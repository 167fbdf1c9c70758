//! Runs the current fragment: decoded instructions, one after the other.
//!
//! Owns the loop over instructions, and the instructions that run for all lanes at once; [`Exec::step`] runs the
//! others. Must not know how the fragment was chosen.

use super::common::Common;
use super::decode::{Code, Step, What};
use super::flow::Flow;
use super::launch::Exec;
use super::rows::{self, Bytes};
use super::warp::{Lanes, Register, Warp};
use crate::exec::Fault;
use crate::ir::Sense;

/// Room for what lanes compute before it is written.
pub(super) struct Scratch {
    pub(super) lanes: Lanes,
    pub(super) bytes: Bytes,
}

impl Scratch {
    pub(super) fn new() -> Scratch {
        Scratch { lanes: [0; 32], bytes: [0; 32 * super::decode::MOST] }
    }
}

/// The lanes of a mask whose guard holds.
#[inline(always)]
fn guarded(step: &Step<'_>, registers: &[Register], mask: u32) -> u32 {
    match step.guard {
        None => mask,
        Some((p, sense)) => {
            let yes = rows::truths(&registers[p as usize]);
            mask & if sense == Sense::True { yes } else { !yes }
        }
    }
}

impl<'a> Exec<'a> {
    /// A function, to run it.
    fn code(&self, function: u32) -> &Code<'a> {
        let n = function as usize;
        self.code[n].get_or_init(|| Code::new(&self.module.functions[n]))
    }

    /// Runs the first fragment until another one may be due, or the clock is at `end`.
    pub(super) fn turn(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        scratch: &mut Scratch,
        end: u64,
    ) -> Result<Flow, Fault> {
        loop {
            let fragment = &warp.fragments[0];
            let (frame, mut mask, mut pc) = (fragment.frame, fragment.mask, fragment.pc);
            let code = self.code(warp.frames[frame].function);
            let steps = code.steps(self, pc);
            if steps.is_empty() {
                // The end of a function returns.
                common.steps += 1;
                match self.ret(warp, mask)? {
                    Flow::Next if common.steps < end => continue,
                    Flow::Next => return Ok(Flow::Switch),
                    other => return Ok(other),
                }
            }
            let mut left = steps.len();
            for step in steps {
                common.steps += 1;
                left -= 1;
                let active = guarded(step, &warp.frames[frame].registers, mask);
                if common.watch.is_some() {
                    self.show(common, warp, step.inst, frame, (pc, mask, active))?;
                }
                let registers = &mut warp.frames[frame].registers[..];
                match &step.what {
                    _ if active == 0 => {}
                    What::Compute(c) => {
                        rows::compute(self.version, registers, c, active, &mut scratch.lanes);
                    }
                    What::Load(access, targets) => {
                        self.fast_load(
                            common, warp, scratch, step, access, targets, frame, active,
                        )?;
                    }
                    What::Store(access, values) => {
                        self.fast_store(
                            common, warp, scratch, step, access, values, frame, active,
                        )?;
                    }
                    What::Goto(target) if active == mask && warp.fragments.len() == 1 => {
                        pc = *target;
                        break;
                    }
                    What::Goto(_) | What::Other => {
                        warp.fragments[0].pc = pc;
                        let flow = match step.what {
                            What::Goto(target) => self.branch(warp, mask, active, pc, target),
                            _ => self.step(common, warp, code.function, step.inst, active)?,
                        };
                        match flow {
                            Flow::Next if common.steps < end => {}
                            Flow::Next => return Ok(Flow::Switch),
                            other => return Ok(other),
                        }
                        let fragment = &warp.fragments[0];
                        if fragment.pc != pc + 1 {
                            pc = fragment.pc;
                            break;
                        }
                        mask = fragment.mask;
                    }
                }
                pc += 1;
                // A new block is where lanes may meet.
                if common.steps >= end || (left == 0 && warp.fragments.len() > 1) {
                    warp.fragments[0].pc = pc;
                    return Ok(Flow::Switch);
                }
            }
            warp.fragments[0].pc = pc;
            if common.steps >= end {
                return Ok(Flow::Switch);
            }
        }
    }
}
