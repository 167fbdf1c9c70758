//! Reports what lanes are about to do to the observer ([`crate::exec::watch`]).
//!
//! Owns which instructions are reported, and how. Must not know what the observer looks for.

use super::common::Common;
use super::launch::Exec;
use super::warp::Warp;
use crate::exec::{Access, Fault, Ran, Touch};
use crate::ir::Inst;
use crate::sem::{Barrier, CollectiveOp, MbarrierOp, Operation};
use crate::types::Space;

impl Exec<'_> {
    /// Reports that a warp is about to run an instruction, and its accesses, if their addresses are known.
    pub(super) fn show(
        &self,
        common: &mut Common,
        warp: &Warp,
        inst: &Inst,
        frame: usize,
        (pc, mask, active): (u32, u32, u32),
    ) -> Result<(), Fault> {
        if let Some(watch) = &mut common.watch {
            let function = warp.frames[frame].function;
            watch.run(&Ran { inst, function, pc, mask, active });
        }
        if active == 0 {
            return Ok(());
        }
        let (access, bytes) = match inst.sem {
            Operation::Load(a) => (Access::Read, a.bytes()),
            Operation::Store(a) => (Access::Write, a.bytes()),
            Operation::Atomic(a) => (Access::Atomic, a.access.bytes()),
            Operation::Mbarrier(m) => match (m.op, Access::of(inst, "")) {
                (MbarrierOp::Pending, _) | (_, None) => return Ok(()),
                (_, Some(access)) => (access, 8),
            },
            Operation::Fence(_)
            | Operation::Collective(_)
            | Operation::Barrier(Barrier::ClusterArrive | Barrier::ClusterWait) => {
                self.show_order(common, warp, inst, frame, active);
                return Ok(());
            }
            _ => return Ok(()),
        };
        let (addresses, space) = self.addresses(warp, frame, inst, 0);
        let (lanes, bytes) = (active, u64::from(bytes));
        let touch =
            Touch { inst, access, warp: warp.index, lanes, space, addresses: &addresses, bytes };
        self.show_touch(common, warp, &touch)
    }

    /// Reports that lanes execute an instruction that orders accesses.
    fn show_order(&self, common: &mut Common, warp: &Warp, inst: &Inst, frame: usize, active: u32) {
        let members = match inst.sem {
            Operation::Collective(what)
                if what.sync && !matches!(what.op, CollectiveOp::Multiply(_)) =>
            {
                Self::member_operand(inst)
            }
            Operation::Collective(_) => return,
            _ => None,
        };
        let members = members.map(|src| {
            let mut values = [0; 32];
            self.read(common, warp, frame, src, &mut values);
            values.map(|value| value as u32)
        });
        if let Some(watch) = &mut common.watch {
            watch.order(warp.index, active, inst, members.as_ref());
        }
    }

    /// One lane's part of an instruction that copies.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn show_lane(
        &self,
        common: &mut Common,
        warp: &Warp,
        inst: &Inst,
        lane: usize,
        access: Access,
        (space, address): (Space, u64),
        bytes: usize,
    ) -> Result<(), Fault> {
        if common.watch.is_none() || bytes == 0 {
            return Ok(());
        }
        let (addresses, lanes) = ([address; 32], 1 << lane);
        let bytes = bytes as u64;
        let touch =
            Touch { inst, access, warp: warp.index, lanes, space, addresses: &addresses, bytes };
        self.show_touch(common, warp, &touch)
    }

    fn show_touch(&self, common: &mut Common, warp: &Warp, touch: &Touch<'_>) -> Result<(), Fault> {
        let Some(watch) = &mut common.watch else { return Ok(()) };
        let done = watch.touch(touch);
        done.map_err(|(lane, cause)| self.fault_at(common, warp, touch.inst, lane, cause))
    }
}
