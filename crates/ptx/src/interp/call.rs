//! Calls, returns, and the functions of the device runtime that the host gives.

use super::block::Common;
use super::memory::word;
use super::step::Flow;
use super::warp::{Frame, Lanes, State, Warp, lanes};
use super::{Cause, Exec, FUNCTION_WINDOW, Fault, printf};
use crate::ir::{Arg, Call, Callee, Dst, Function, Inst, Param, Place, Src};
use crate::types::Space;

/// Whether a function that PTX only declares is one that is here itself: of the device runtime.
pub fn provides(name: &str) -> bool {
    matches!(name, "vprintf" | "malloc" | "free" | "__assertfail")
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
                let number = value.wrapping_sub(FUNCTION_WINDOW);
                let count = self.module.functions.len() as u64;
                if !number.is_multiple_of(16) || number / 16 >= count {
                    let lane = active.trailing_zeros() as usize;
                    let cause = Cause::FunctionPointer { value };
                    return Err(self.fault_at(common, warp, inst, lane, cause));
                }
                (number / 16) as u32
            }
        };
        let active = warp.fragments[0].mask;
        let callee = &self.module.functions[function as usize];
        if !callee.defined {
            self.external(common, warp, inst, call, callee, active)?;
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
    fn external(
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
            args.push(std::array::from_fn(|l| word(&bytes[l][..bytes[l].len().min(8)])));
        }
        let arg = |n: usize, l: usize| args.get(n).map_or(0, |a| a[l]);
        let mut result = [0u64; 32];
        for l in lanes(active) {
            match callee.name.as_str() {
                "vprintf" => {
                    let format = self.string(common, warp, l, arg(0, l));
                    let read = |address: u64, out: &mut [u8]| {
                        let place = self.place(Space::Generic, address);
                        self.read_bytes(common, warp, inst, l, place, out).is_ok()
                    };
                    let text = |address| self.string(common, warp, l, address);
                    let (out, count) = printf::format(&format, arg(1, l), &read, &text);
                    self.host.print(&out);
                    result[l] = count.into();
                }
                "malloc" => result[l] = self.host.allocate(arg(0, l)),
                "free" => self.host.free(arg(0, l)),
                "__assertfail" => {
                    let text = |n| {
                        let bytes = self.string(common, warp, l, arg(n, l));
                        String::from_utf8_lossy(&bytes).into_owned()
                    };
                    let fault = self.fault_at(common, warp, inst, l, Cause::Assert);
                    let [bx, by, bz] = fault.block;
                    let [tx, ty, tz] = fault.thread;
                    let (file, function, message) = (text(1), text(3), text(0));
                    let line = arg(2, l) as u32;
                    self.host.assert_failed(&format!(
                        "{file}:{line}: {function}: block: [{bx},{by},{bz}], thread: \
                         [{tx},{ty},{tz}] Assertion `{message}` failed.\n"
                    ));
                    return Err(fault);
                }
                name => {
                    let cause = Cause::Undefined { function: name.into() };
                    return Err(self.fault_at(common, warp, inst, l, cause));
                }
            }
        }
        if let Some(to) = call.returns.first() {
            let values = std::array::from_fn(|l| result[l].to_le_bytes().to_vec());
            accept(warp, frame, to, values, active);
        }
        Ok(())
    }

    /// A string that ends with a zero byte; what is not mapped ends it too.
    fn string(&self, common: &Common, warp: &Warp, lane: usize, address: u64) -> Vec<u8> {
        const LONGEST: u64 = 1 << 20;
        let mut out = Vec::new();
        let function = &self.module.functions[self.launch.kernel as usize];
        let Some(inst) = function.code.first() else { return out };
        for k in 0..LONGEST {
            let mut byte = [0];
            let place = self.place(Space::Generic, address.wrapping_add(k));
            let read = self.read_bytes(common, warp, inst, lane, place, &mut byte);
            if read.is_err() || byte[0] == 0 {
                break;
            }
            out.push(byte[0]);
        }
        out
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
