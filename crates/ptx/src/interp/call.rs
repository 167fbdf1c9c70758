//! Calls, returns, and the device-runtime functions of the host.

use super::common::Common;
use super::flow::Flow;
use super::launch::Exec;
use super::warp::{Frame, Lanes, State, Warp, lanes};
use crate::exec::bytes::word;
use crate::exec::{Access, Caller, Cause, Fault, device, pointed_function};
use crate::ir::{Arg, Call, Callee, Dst, Function, Inst, Param, Place, Src};
use crate::types::Space;

/// A lane that calls a function of the device runtime.
struct Outside<'a, 'e> {
    exec: &'a Exec<'e>,
    common: &'a mut Common,
    warp: &'a mut Warp,
    inst: &'a Inst,
    lane: usize,
    arguments: &'a [Lanes],
}

impl Caller for Outside<'_, '_> {
    fn argument(&self, n: usize) -> u64 {
        self.arguments.get(n).map_or(0, |a| a[self.lane])
    }

    fn arguments(&self) -> usize {
        self.arguments.len()
    }

    fn read(&self, address: u64, out: &mut [u8]) -> bool {
        let place = self.exec.place(Space::Generic, address);
        self.exec.read_bytes(self.common, self.warp, self.inst, self.lane, place, out).is_ok()
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        let place = self.exec.place(Space::Generic, address);
        let (exec, n) = (self.exec, bytes.len());
        let shown = (Space::Generic, address);
        if exec
            .show_lane(self.common, self.warp, self.inst, self.lane, Access::Write, shown, n)
            .is_err()
        {
            return false;
        }
        self.exec.write_bytes(self.common, self.warp, self.inst, self.lane, place, bytes).is_ok()
    }

    fn place(&self) -> ([u32; 3], [u32; 3]) {
        (self.common.index, self.exec.thread(self.warp, self.lane))
    }
}

impl Exec<'_> {
    /// Calls for lanes `active` of the first fragment.
    pub(super) fn call(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        inst: &Inst,
        active: u32,
    ) -> Result<Flow, Fault> {
        let Some(Src::Call(call)) = inst.src.first() else { return Ok(Flow::Next) };
        let frame = warp.fragments[0].frame;
        let pc = warp.fragments[0].pc;
        let function = match call.callee {
            Callee::Direct(f) => f,
            Callee::Register(r) => {
                let values = warp.frames[frame].registers[r as usize];
                let value = values[active.trailing_zeros() as usize];
                let group = lanes(active).filter(|l| values[*l] == value);
                let group = group.fold(0u32, |m, l| m | 1 << l);
                if group != active {
                    // The others call something else, later.
                    warp.split(0, active & !group, pc);
                }
                let count = self.module.functions.len();
                let Some(function) = pointed_function(value, count) else {
                    let lane = active.trailing_zeros() as usize;
                    let cause = Cause::FunctionPointer { value };
                    return Err(self.fault_at(common, warp, inst, lane, cause));
                };
                function
            }
        };
        let active = warp.fragments[0].mask;
        let callee = &self.module.functions[function as usize];
        if !callee.defined {
            self.device_runtime(common, warp, inst, call, callee, active)?;
            warp.fragments[0].pc = pc + 1;
            return Ok(Flow::Switch);
        }
        let caller = &warp.frames[frame];
        let size = self.module.functions[caller.function as usize].local_size;
        let base = u64::from(caller.local_base) + u64::from(size);
        let end = base + u64::from(callee.local_size);
        let limit = self.launch.local_limit;
        if end > u64::from(limit) {
            let lane = active.trailing_zeros() as usize;
            return Err(self.fault_at(common, warp, inst, lane, Cause::Stack { limit }));
        }
        let depth = caller.depth + 1;
        for l in lanes(active) {
            if warp.local[l].len() < end as usize {
                warp.local[l].resize(end as usize, 0);
            }
        }
        let registers = warp.registers(callee.registers.len());
        let new = warp.new_frame(Frame {
            function,
            registers,
            parent: Some(frame),
            return_pc: pc + 1,
            local_base: base as u32,
            depth,
            lanes: active,
        });
        for (arg, param) in call.args.iter().zip(&callee.params) {
            let values = argument(warp, frame, arg, active);
            give(warp, new, param, values, active);
        }
        let f = &mut warp.fragments[0];
        (f.frame, f.pc, f.state) = (new, 0, State::Ready);
        Ok(Flow::Switch)
    }

    /// Returns for lanes `active`, which are all of the first fragment.
    pub(super) fn ret(&self, warp: &mut Warp, active: u32) -> Result<Flow, Fault> {
        let frame = warp.fragments[0].frame;
        let (parent, return_pc) = (warp.frames[frame].parent, warp.frames[frame].return_pc);
        let Some(parent) = parent else {
            warp.exit(0, active);
            warp.fragments.retain(|f| f.mask != 0);
            self.settle(warp);
            return Ok(Flow::Switch);
        };
        let callee = &self.module.functions[warp.frames[frame].function as usize];
        let caller = &self.module.functions[warp.frames[parent].function as usize];
        let call = caller.code.get(return_pc as usize - 1).and_then(|i| i.src.first());
        if let Some(Src::Call(call)) = call {
            for (to, from) in call.returns.iter().zip(&callee.returns) {
                let arg = match from.place {
                    Place::Memory(offset) => Arg::Memory(offset, from.size),
                    Place::Register(r) => Arg::Reg(r, from.ty.bits()),
                };
                let values = argument(warp, frame, &arg, active);
                accept(warp, parent, to, values, active);
            }
        }
        warp.leave(frame, active);
        let f = &mut warp.fragments[0];
        (f.frame, f.pc) = (parent, return_pc);
        Ok(Flow::Switch)
    }

    /// A function of the device runtime.
    fn device_runtime(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        inst: &Inst,
        call: &Call,
        callee: &Function,
        active: u32,
    ) -> Result<(), Fault> {
        let frame = warp.fragments[0].frame;
        let mut args: Vec<Lanes> = Vec::new();
        for arg in &call.args {
            let bytes = argument(warp, frame, arg, active);
            // A structure is as many words as it takes.
            let words = bytes.iter().map(|b| b.len().div_ceil(8)).max().unwrap_or(0).max(1);
            for n in 0..words {
                args.push(std::array::from_fn(|l| {
                    let rest = bytes[l].get(8 * n..).unwrap_or_default();
                    word(&rest[..rest.len().min(8)])
                }));
            }
        }
        let mut result = [0u64; 32];
        let mut failed = None;
        for l in lanes(active) {
            let mut caller = Outside { exec: self, common, warp, inst, lane: l, arguments: &args };
            match device::call(&callee.name, &mut caller, self.host) {
                Ok(v) => result[l] = v,
                // Each thread says that its assertion failed (an H100 does so for all of a warp).
                Err(Cause::Assert) => failed = failed.or(Some(l)),
                Err(cause) => return Err(self.fault_at(common, warp, inst, l, cause)),
            }
        }
        if let Some(lane) = failed {
            return Err(self.fault_at(common, warp, inst, lane, Cause::Assert));
        }
        if let Some(to) = call.returns.first() {
            let values = std::array::from_fn(|l| result[l].to_le_bytes().to_vec());
            accept(warp, frame, to, values, active);
        }
        Ok(())
    }
}

/// The bytes of an argument, lane by lane.
fn argument(warp: &Warp, frame: usize, arg: &Arg, active: u32) -> [Vec<u8>; 32] {
    let mut out: [Vec<u8>; 32] = Default::default();
    for l in lanes(active) {
        out[l] = match arg {
            Arg::Memory(offset, size) => {
                let at = (warp.frames[frame].local_base + offset) as usize;
                warp.local[l].get(at..at + *size as usize).map_or(Vec::new(), <[u8]>::to_vec)
            }
            Arg::Reg(r, bits) => {
                let v = warp.frames[frame].registers[*r as usize][l];
                v.to_le_bytes()[..bits.div_ceil(8).min(8) as usize].to_vec()
            }
            Arg::Imm(v) => v.to_le_bytes().to_vec(),
            Arg::Sink => Vec::new(),
        };
    }
    out
}

/// Puts an argument where the callee looks for it.
fn give(warp: &mut Warp, frame: usize, param: &Param, values: [Vec<u8>; 32], active: u32) {
    let to = match param.place {
        Place::Memory(offset) => Arg::Memory(offset, param.size),
        Place::Register(r) => Arg::Reg(r, param.ty.bits()),
    };
    accept(warp, frame, &to, values, active);
}

fn accept(warp: &mut Warp, frame: usize, to: &Arg, values: [Vec<u8>; 32], active: u32) {
    match to {
        Arg::Memory(offset, size) => {
            let at = (warp.frames[frame].local_base + offset) as usize;
            for l in lanes(active) {
                let n = values[l].len().min(*size as usize);
                if let Some(place) = warp.local[l].get_mut(at..at + n) {
                    place.copy_from_slice(&values[l][..n]);
                }
            }
        }
        Arg::Reg(r, bits) => {
            let v = std::array::from_fn(|l| word(&values[l][..values[l].len().min(8)]));
            warp.write(frame, Dst::Reg(*r, *bits), active, &v);
        }
        Arg::Imm(_) | Arg::Sink => {}
    }
}
