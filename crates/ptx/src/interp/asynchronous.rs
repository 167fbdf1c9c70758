//! Asynchronous stores, reductions and bulk copies, lane by lane.

use super::common::Common;
use super::launch::Exec;
use super::memory::Place;
use super::warp::{Warp, lanes};
use crate::exec::asynchronous::{Reach, run};
use crate::exec::bytes::word;
use crate::exec::{Access, Cause, Fault};
use crate::ir::{Inst, Src};
use crate::sem::Asynchronous;
use crate::types::Space;

/// Memory as one lane has it.
struct Lane<'a, 'e> {
    exec: &'a Exec<'e>,
    common: &'a mut Common,
    warp: &'a mut Warp,
    inst: &'a Inst,
    lane: usize,
}

impl Lane<'_, '_> {
    fn show(&mut self, access: Access, space: Space, at: u64, bytes: usize) -> Result<(), Fault> {
        let Lane { exec, common, warp, inst, lane } = self;
        exec.show_lane(common, warp, inst, *lane, access, (space, at), bytes)
    }
}

impl Reach for Lane<'_, '_> {
    type Error = Fault;

    fn read(&mut self, space: Space, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        self.show(Access::Read, space, address, out.len())?;
        let place = self.exec.place(space, address);
        self.exec.read_bytes(self.common, self.warp, self.inst, self.lane, place, out)
    }

    fn write(&mut self, space: Space, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.show(Access::Write, space, address, bytes.len())?;
        let place = self.exec.place(space, address);
        self.exec.write_bytes(self.common, self.warp, self.inst, self.lane, place, bytes)
    }

    fn update(
        &mut self,
        space: Space,
        address: u64,
        bytes: u32,
        new: &mut dyn FnMut(u64) -> u64,
    ) -> Result<(), Fault> {
        if let Place::Global(at) = self.exec.place(space, address) {
            self.show(Access::Atomic, space, address, bytes as usize)?;
            return match self.exec.memory.update(at, bytes, new) {
                Ok(_) => Ok(()),
                Err(_) => Err(self.fail(Cause::Address { address: at, bytes, space: "global" })),
            };
        }
        let mut value = [0; 8];
        let value = &mut value[..bytes as usize];
        self.read(space, address, value)?;
        let next = new(word(value));
        value.copy_from_slice(&next.to_le_bytes()[..bytes as usize]);
        self.write(space, address, value)
    }

    fn rank(&self) -> u64 {
        self.common.rank as u64
    }

    fn fail(&self, cause: Cause) -> Fault {
        self.exec.fault_at(self.common, self.warp, self.inst, self.lane, cause)
    }
}

impl Exec<'_> {
    pub(super) fn asynchronous(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        inst: &Inst,
        what: Asynchronous,
        frame: usize,
        active: u32,
    ) -> Result<(), Fault> {
        let mut operands = vec![[0; 32]; inst.src.len()];
        for (n, (to, src)) in operands.iter_mut().zip(&inst.src).enumerate() {
            match src {
                Src::Memory(..) => *to = self.addresses(warp, frame, inst, n).0,
                src => self.read(common, warp, frame, src, to),
            }
        }
        for lane in lanes(active) {
            let values: Vec<u64> = operands.iter().map(|operand| operand[lane]).collect();
            run(&what, &values, &mut Lane { exec: self, common, warp, inst, lane })?;
        }
        Ok(())
    }
}
