//! Texture and surface instructions, lane by lane.

use super::common::Common;
use super::launch::Exec;
use super::warp::{Warp, lanes};
use crate::exec::Fault;
use crate::exec::lanes::with_lanes;
use crate::ir::Inst;
use crate::texture::{OPERANDS, RESULTS, Unit};

impl Exec<'_> {
    /// Runs a texture or surface instruction.
    pub(super) fn textured(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        inst: &Inst,
        frame: usize,
        active: u32,
    ) -> Result<(), Fault> {
        let count = inst.src.len().min(OPERANDS);
        with_lanes(count, |inputs| {
            for (to, src) in inputs.iter_mut().zip(&inst.src) {
                self.read(common, warp, frame, src, to);
            }
            let mut unit = Unit::new(self.memory);
            let mut results = [[0; 32]; RESULTS];
            for l in lanes(active) {
                let mut operands = [0; OPERANDS];
                for (to, input) in operands.iter_mut().zip(inputs.iter()) {
                    *to = input[l];
                }
                let mut out = [0; RESULTS];
                if let Err(cause) = unit.run(&inst.sem, &operands[..count], &mut out) {
                    return Err(self.fault_at(common, warp, inst, l, cause));
                }
                for (row, value) in results.iter_mut().zip(out) {
                    row[l] = value;
                }
            }
            for (dst, row) in inst.dst.iter().zip(&results) {
                warp.write(frame, *dst, active, row);
            }
            Ok(())
        })
    }
}
