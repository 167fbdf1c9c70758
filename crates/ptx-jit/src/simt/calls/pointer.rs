//! Indirect calls.
//!
//! Owns finding the function that a pointer's value means. Must not know how arguments are passed.

use super::instance::Back;
use super::{Lowering, make, unsigned};
use cushim_ptx::Pos;
use cushim_ptx::exec::FUNCTION_WINDOW;
use cushim_ptx::ir::{Arg, Call, Callee, Dst, Inst, Sense, Src};
use cushim_ptx::sem::{BitOp, Control, IntegerOp, Outcomes};
use cushim_ptx::types::Scalar;

const SUB: IntegerOp = IntegerOp::Sub { saturate: false };

/// The most entries of a jump table.
const WIDEST_TABLE: u32 = 512;

impl Lowering<'_> {
    /// Goes to whichever function the register says.
    pub(super) fn indirect(&mut self, n: usize, inst: &Inst, call: &Call, r: u32, after: u32) {
        let caller = self.instances[n].function;
        if let Some(gate) = self.calls.gate(caller, call) {
            return self.through(n, inst, call, r, gate);
        }
        let handle = self.own(n) + r;
        let targets = self.calls.targets(caller, call);
        if let Some(first) = targets.first().copied() {
            let index = self.index(handle, FUNCTION_WINDOW + 16 * u64::from(first), inst.pos);
            let wrong = self.label();
            let labels: Vec<u32> = targets.iter().map(|_| self.label()).collect();
            let numbers = targets.iter().map(|g| g - first);
            let all: Vec<(u32, u32)> = numbers.zip(labels.iter().copied()).collect();
            self.choose(index, &all, wrong, inst.pos);
            for (g, label) in targets.iter().zip(labels) {
                self.place(label);
                let to = self.common(*g);
                self.enter(n, inst, call, to);
                self.jump(None, after, inst.pos);
            }
            self.place(wrong);
        }
        match self.instances[n].back {
            // The call that jumped here is at fault.
            Back::Many { register, .. } if self.calls.is_gate(caller) => {
                self.refusing.push((n, self.out.code.len()));
                self.table(register, inst.pos);
            }
            _ => self.fault(handle, inst.pos),
        }
    }

    /// Goes to a gate with what a call passes.
    fn through(&mut self, n: usize, inst: &Inst, call: &Call, r: u32, gate: u32) {
        let to = self.common(gate);
        self.gated.entry(to).or_default().push((self.at, inst.pos));
        let bits = self.out.registers[(self.own(n) + r) as usize].bits();
        let mut call = Call { callee: Callee::Direct(gate), ..call.clone() };
        call.args.insert(0, Arg::Reg(r, bits));
        self.enter(n, inst, &call, to);
    }

    /// The launch fails: the register holds no function.
    fn fault(&mut self, handle: u32, pos: Pos) {
        let mut fault = make::control(Control::Call, pos);
        let empty = Call { callee: Callee::Register(handle), args: vec![], returns: vec![] };
        fault.src.extend([Src::Call(Box::new(empty)), Src::Reg(handle)]);
        self.push(fault);
    }

    /// The faults of all calls that go to gates.
    pub(super) fn faults(&mut self) {
        for (n, at) in std::mem::take(&mut self.refusing) {
            let handle = self.own(n);
            let mut labels = Vec::new();
            for (place, pos) in self.gated.remove(&n).unwrap_or_default() {
                let label = self.label();
                self.at = place;
                self.place(label);
                self.fault(handle, pos);
                self.push(make::control(Control::Exit, pos));
                labels.push(label);
            }
            self.choices(at, labels);
        }
    }

    /// Jumps to the label of the number in the register, else to `wrong`: by a table if the numbers are close
    /// together, else by binary search.
    fn choose(&mut self, index: u32, all: &[(u32, u32)], wrong: u32, pos: Pos) {
        let (Some((first, _)), Some((last, _))) = (all.first(), all.last()) else { return };
        let span = last - first + 1;
        if span <= WIDEST_TABLE {
            let mut list = vec![wrong; span as usize];
            all.iter().for_each(|(at, label)| list[(at - first) as usize] = *label);
            let from = match first {
                0 => index,
                // Numbers below wrap around to large ones.
                _ => {
                    let src = [Src::Reg(index), Src::Imm(u64::from(*first))];
                    self.step(make::integer(SUB, Scalar::U32, pos), src)
                }
            };
            let mut choose = make::control(Control::BranchTable, pos);
            choose.src.extend([Src::Reg(from), Src::Targets(list)]);
            self.push(choose);
            self.jump(None, wrong, pos);
            return;
        }
        let (low, high) = all.split_at(all.len() / 2);
        let upper = self.label();
        let less = self.register(Scalar::Pred);
        let mut compare = make::compare(Outcomes::LESS, Scalar::U32, pos);
        compare.dst.push(Dst::Reg(less, 1));
        compare.src.extend([Src::Reg(index), Src::Imm(high[0].0.into())]);
        self.push(compare);
        self.jump(Some((less, Sense::False)), upper, pos);
        self.choose(index, low, wrong, pos);
        self.place(upper);
        self.choose(index, high, wrong, pos);
    }

    /// The result of an instruction on two operands, in a new register.
    fn step(&mut self, mut inst: Inst, src: [Src; 2]) -> u32 {
        let ty = inst.sem.ty();
        let d = self.register(ty);
        inst.dst.push(Dst::Reg(d, ty.bits()));
        inst.src.extend(src);
        self.push(inst);
        d
    }

    /// The index of a handle's function from the first; some large number if it is none.
    fn index(&mut self, handle: u32, first: u64, pos: Pos) -> u32 {
        let given = self.out.registers[handle as usize].bits();
        let wide = if given == 64 {
            handle
        } else {
            let d = self.register(Scalar::U64);
            let mut inst = make::convert(Scalar::U64, unsigned(given), pos);
            inst.dst.push(Dst::Reg(d, 64));
            inst.src.push(Src::Reg(handle));
            self.push(inst);
            d
        };
        let far = [Src::Reg(wide), Src::Imm(first)];
        let far = self.step(make::integer(SUB, Scalar::U64, pos), far);
        // Rotated right by 4: values that are no multiple of 16 become large.
        let low = self.step(make::bits(BitOp::Shr, Scalar::U64, pos), [Src::Reg(far), Src::Imm(4)]);
        let high =
            self.step(make::bits(BitOp::Shl, Scalar::B64, pos), [Src::Reg(far), Src::Imm(60)]);
        let both =
            self.step(make::bits(BitOp::Or, Scalar::B64, pos), [Src::Reg(low), Src::Reg(high)]);
        let most = [Src::Reg(both), Src::Imm(u64::from(u32::MAX))];
        let most = self.step(make::integer(IntegerOp::Min { relu: false }, Scalar::U64, pos), most);
        let d = self.register(Scalar::U32);
        let mut inst = make::convert(Scalar::U32, Scalar::U64, pos);
        inst.dst.push(Dst::Reg(d, 32));
        inst.src.push(Src::Reg(most));
        self.push(inst);
        d
    }
}
