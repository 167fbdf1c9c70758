//! Instructions on barrier objects, lane by lane.

use super::common::Common;
use super::launch::Exec;
use super::warp::{Warp, lanes};
use crate::exec::bytes::word;
use crate::exec::{Fault, barrier_object as apply};
use crate::ir::{Inst, Src};
use crate::sem::{Mbarrier, MbarrierOp, Operation};

impl Exec<'_> {
    /// Executes an instruction on a barrier object. True if the lane must wait, so that others should have a turn.
    pub(super) fn mbarrier(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        inst: &Inst,
        frame: usize,
        active: u32,
    ) -> Result<bool, Fault> {
        let Operation::Mbarrier(Mbarrier { op, .. }) = inst.sem else { return Ok(false) };
        let mut operand = [0; 32];
        if op == MbarrierOp::Pending {
            self.read(common, warp, frame, &inst.src[0], &mut operand);
            let out = operand.map(|v| apply(op, 0, v).1);
            warp.write(frame, inst.dst[0], active, &out);
            return Ok(false);
        }
        let given = inst.src.get(1).filter(|s| !matches!(s, Src::None));
        match given {
            Some(src) => self.read(common, warp, frame, src, &mut operand),
            None => operand = [1; 32],
        }
        let (addresses, space) = self.addresses(warp, frame, inst, 0);
        let mut out = [0; 32];
        for l in lanes(active) {
            let place = self.place(space, addresses[l]);
            let mut bytes = [0; 8];
            self.read_bytes(common, warp, inst, l, place, &mut bytes)?;
            let new;
            (new, out[l]) = apply(op, word(&bytes), operand[l]);
            if let Some(new) = new {
                self.write_bytes(common, warp, inst, l, place, &new.to_le_bytes())?;
            }
        }
        if let Some(dst) = inst.dst.first() {
            warp.write(frame, *dst, active, &out);
        }
        Ok(matches!(op, MbarrierOp::Test { .. }) && lanes(active).any(|l| out[l] == 0))
    }
}
