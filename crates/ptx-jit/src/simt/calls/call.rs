//! Calls: arguments, jump, return, results.

use super::bytes::Holder;
use super::instance::{Back, Circular, Frame};
use super::{Activation, COPIED, Lowering, SMALL, make, opposite};
use cushim_ptx::ir::{Call, Callee, Dst, Inst, Src};
use cushim_ptx::sem::Control;
use cushim_ptx::types::Scalar;

impl Lowering<'_> {
    /// A call whose registers are not yet renumbered for the instance, except guard and results.
    pub(super) fn call(&mut self, n: usize, inst: Inst) {
        let Some(Src::Call(call)) = inst.src.first() else { return };
        let call = call.clone();
        let after = self.instances[n].label + self.at.1 + 1;
        if self.calls.is_device_runtime(&call) {
            return self.device_runtime(n, &inst, &call);
        }
        if let Some((p, sense)) = inst.guard {
            self.jump(Some((p, opposite(sense))), after, inst.pos);
        }
        match call.callee {
            Callee::Direct(g) => {
                let to = self.instance(n, g);
                self.enter(n, &inst, &call, to);
            }
            Callee::Register(r) => self.indirect(n, &inst, &call, r, after),
        }
    }

    /// The instance that a call by name goes to.
    fn instance(&mut self, n: usize, g: u32) -> usize {
        let length = self.calls.function(g).code.len();
        let (count, other) = self.calls.sites[g as usize];
        let once = count == 1 && !other;
        let room = self.total + length <= COPIED && (length <= SMALL || once);
        if self.calls.in_circle(g) || !room && !once {
            return self.common(g);
        }
        let i = &self.instances[n];
        let frame = i.frame.behind(self.calls.function(i.function).local_size);
        let back = self.label();
        self.add(g, frame, Back::One(back))
    }

    /// A function of the device runtime: it takes values, and gives one.
    fn device_runtime(&mut self, n: usize, inst: &Inst, call: &Call) {
        let after = self.instances[n].label + self.at.1 + 1;
        if let Some((p, sense)) = inst.guard {
            self.jump(Some((p, opposite(sense))), after, inst.pos);
        }
        let empty = Call { callee: call.callee, args: vec![], returns: vec![] };
        let mut outside = make::control(Control::Call, inst.pos);
        outside.src.push(Src::Call(Box::new(empty)));
        for arg in call.args.iter().take(8) {
            let holder = self.argument(n, arg, 8);
            // A structure is as many words as it takes.
            let size = self.size(holder);
            for at in (0..size.max(1)).step_by(8) {
                let value = self.value(holder, at, (size - at.min(size)).min(8));
                let src = self.read(&value, inst.pos);
                outside.src.push(src);
            }
        }
        // As many as a helper gets.
        outside.src.truncate(1 + crate::warp::SLOTS);
        let result = self.register(Scalar::B64);
        outside.dst.push(Dst::Reg(result, 64));
        self.push(outside);
        if let Some(arg) = call.returns.first() {
            let from = Holder::Register(result, 64);
            let to = self.argument(n, arg, 8);
            let moves = self.transfer(from, to);
            self.moves(moves, false, inst.pos);
        }
    }

    /// Everything from before a call to after it.
    pub(super) fn enter(&mut self, n: usize, inst: &Inst, call: &Call, to: usize) {
        let pos = inst.pos;
        let (caller, callee) = (&self.instances[n], &self.instances[to]);
        let f = self.calls.function(caller.function);
        let g = self.calls.function(callee.function);
        let circular = self.calls.same_circle(caller.function, callee.function);
        let begins = caller.frame.behind(f.local_size);
        let (frame, label) = (callee.frame, callee.label);
        let common = matches!(callee.back, Back::Many { .. });
        if self.calls.is_moving(callee.function) && g.local_size > 0 {
            let mut enter = make::activation(pos);
            let (from, at) = match begins {
                Frame::Fixed(at) => (Src::Imm(0), at),
                Frame::Moving(r, at) => (Src::Reg(r), at),
            };
            enter.src.extend([from, Src::Imm(u64::from(at) + u64::from(g.local_size))]);
            self.activate(Activation::Enter, enter);
        }
        let save = self.out.code.len();
        if circular {
            self.activate(Activation::Save, make::activation(pos));
        }
        // Where the callee's frame is to begin, while its register may still say where the caller's does.
        let place = match (frame, begins) {
            (Frame::Moving(r, 0), Frame::Moving(from, at)) if common => {
                let new = self.register(Scalar::U32);
                let mut add = make::add(Scalar::U32, pos);
                add.dst.push(Dst::Reg(new, 32));
                add.src.extend([Src::Reg(from), Src::Imm(at.into())]);
                self.push(add);
                Some((r, Src::Reg(new), Frame::Moving(new, 0)))
            }
            (Frame::Moving(r, 0), Frame::Fixed(at)) if common => {
                Some((r, Src::Imm(at.into()), Frame::Fixed(at)))
            }
            _ => None,
        };
        let new_frame = place.as_ref().map_or(frame, |(_, _, frame)| *frame);
        let mut moves = Vec::new();
        for (arg, param) in call.args.iter().zip(&g.params) {
            let from = self.argument(n, arg, param.size);
            let into = self.parameter(to, param, new_frame);
            moves.extend(self.transfer(from, into));
        }
        self.moves(moves, circular, pos);
        if let Some((register, src, _)) = place {
            let mut set = make::mov(Scalar::U32, pos);
            set.dst.push(Dst::Reg(register, 32));
            set.src.push(src);
            self.push(set);
        }
        let back = match &mut self.instances[to].back {
            Back::One(label) => *label,
            Back::Exit => 0,
            Back::Many { sites, .. } => {
                let site = self.labels.len() as u32;
                self.labels.push(0);
                sites.push(site);
                site
            }
        };
        if let Back::Many { register, sites, .. } = &self.instances[to].back {
            let (register, number) = (*register, sites.len() as u64 - 1);
            let mut set = make::mov(Scalar::U32, pos);
            set.dst.push(Dst::Reg(register, 32));
            set.src.push(Src::Imm(number));
            self.push(set);
        }
        self.jump(None, label, pos);
        self.place(back);
        self.results(n, inst, call, to, circular.then_some(save));
    }

    /// What a call gives, once lanes are back.
    fn results(&mut self, n: usize, inst: &Inst, call: &Call, to: usize, save: Option<usize>) {
        let (function, frame) = (self.instances[to].function, self.instances[to].frame);
        let g = self.calls.function(function);
        let mut moves = Vec::new();
        for (arg, result) in call.returns.iter().zip(&g.returns) {
            let from = self.parameter(to, result, frame);
            let into = self.argument(n, arg, result.size);
            moves.extend(self.transfer(from, into));
        }
        let Some(save) = save else { return self.moves(moves, false, inst.pos) };
        let moves = self.aside(moves, inst.pos);
        self.circular.push(Circular { instance: n, save, restore: self.out.code.len() });
        self.activate(Activation::Restore, make::activation(inst.pos));
        self.moves(moves, false, inst.pos);
    }
}
