//! Calls: arguments, going there, coming back, results.

use super::cells::is_external;
use super::{Back, Circular, Flattening, Frame, bits, in_local, opposite, plain, to, unsigned};
use super::{COPIED, SMALL};
use crate::error::NotCompiled;
use cushim_ptx::Pos;
use cushim_ptx::interp::FUNCTION_WINDOW;
use cushim_ptx::ir::{Arg, Call, Callee, Dst, Inst, Param, Place, Src};
use cushim_ptx::table::Op;
use cushim_ptx::types::Scalar;

/// The most functions, and numbers between them, that a call through a pointer may mean.
const MOST_TARGETS: u32 = 512;

/// Bytes on one side of a call.
#[derive(Debug, Clone, Copy)]
enum Holder {
    /// A variable of registers: the instance, the number of the variable.
    Cells(usize, usize),
    /// Local memory: a frame, the place in it, bytes.
    Memory(Frame, u32, u32),
    Register(u32, u32),
    Constant(u64, u32),
    Nothing,
}

/// A value on its way.
#[derive(Debug, Clone, Copy)]
enum Value {
    Register(u32),
    Constant(u64),
    /// In local memory, so many bytes.
    Memory(Frame, u32, u32),
}

/// Where it goes.
#[derive(Debug, Clone, Copy)]
enum Target {
    Register(u32, u32),
    Memory(Frame, u32, u32),
}

impl Flattening<'_> {
    /// A call, its registers not yet those of the instance, but for guard and results.
    pub(super) fn call(&mut self, n: usize, inst: Inst) -> Result<(), NotCompiled> {
        let Some(Src::Call(call)) = inst.src.first() else { return Ok(()) };
        let call = call.clone();
        let after = self.instances[n].label + self.at.1 + 1;
        if is_external(self.module, &call) {
            return self.external(n, &inst, &call);
        }
        if let Some((p, sense)) = inst.guard {
            self.jump(Some((p, opposite(sense))), after, inst.pos);
        }
        match call.callee {
            Callee::Direct(g) => {
                let to = self.instance(n, g);
                self.enter(n, &inst, &call, to)?;
                Ok(())
            }
            Callee::Register(r) => self.indirect(n, &inst, &call, r, after),
        }
    }

    /// The instance that a call by name goes to.
    fn instance(&mut self, n: usize, g: u32) -> usize {
        let length = self.module.functions[g as usize].code.len();
        let (count, other) = self.calls.sites[g as usize];
        let once = count == 1 && !other;
        let room = self.total + length <= COPIED && (length <= SMALL || once);
        if self.calls.in_circle(g) || !room && !once {
            return self.common(g);
        }
        let i = &self.instances[n];
        let frame = i.frame.behind(self.module.functions[i.function as usize].local_size);
        let back = self.label();
        self.add(g, frame, Back::One(back))
    }

    /// Goes to whichever function the register says.
    fn indirect(
        &mut self,
        n: usize,
        inst: &Inst,
        call: &Call,
        r: u32,
        after: u32,
    ) -> Result<(), NotCompiled> {
        let handle = self.own(n) + r;
        let targets = self.calls.targets(self.module, call);
        let first = targets.first().copied().unwrap_or(0);
        let count = targets.last().map_or(0, |l| l - first + 1);
        if count > MOST_TARGETS {
            return Err(self.unsupported(inst, "so many functions may be meant by a pointer"));
        }
        if !targets.is_empty() {
            let index = self.index(handle, FUNCTION_WINDOW + 16 * u64::from(first), inst.pos);
            let wrong = self.label();
            let mut list = vec![wrong; count as usize];
            let labels: Vec<u32> = targets.iter().map(|_| self.label()).collect();
            for (g, label) in targets.iter().zip(&labels) {
                list[(g - first) as usize] = *label;
            }
            let mut choose = plain(Op::BrxIdx, Scalar::U32, inst.pos);
            choose.src.extend([Src::Reg(index), Src::Targets(list)]);
            self.push(choose);
            self.jump(None, wrong, inst.pos);
            for (g, label) in targets.iter().zip(labels) {
                self.place(label);
                let to = self.common(*g);
                self.enter(n, inst, call, to)?;
                self.jump(None, after, inst.pos);
            }
            self.place(wrong);
        }
        let mut fault = plain(Op::Call, Scalar::B64, inst.pos);
        let empty = Call { callee: Callee::Register(handle), args: vec![], returns: vec![] };
        fault.src.extend([Src::Call(Box::new(empty)), Src::Reg(handle)]);
        self.push(fault);
        Ok(())
    }

    /// How many functions behind the first a handle is; some large number if it is none.
    fn index(&mut self, handle: u32, first: u64, pos: Pos) -> u32 {
        let step = |this: &mut Self, op, ty: Scalar, src: [Src; 2]| {
            let d = this.register(ty);
            let mut inst = plain(op, ty, pos);
            inst.dst.push(Dst::Reg(d, ty.bits()));
            inst.src.extend(src);
            this.push(inst);
            d
        };
        let given = self.out.registers[handle as usize].bits();
        let wide = if given == 64 {
            handle
        } else {
            let d = self.register(Scalar::U64);
            let mut inst = plain(Op::Cvt, Scalar::U64, pos);
            inst.types[1] = unsigned(given);
            inst.dst.push(Dst::Reg(d, 64));
            inst.src.push(Src::Reg(handle));
            self.push(inst);
            d
        };
        let far = [Src::Reg(wide), Src::Imm(first)];
        let far = step(self, Op::Sub, Scalar::U64, far);
        // Rotated: what is no multiple of 16 becomes large.
        let low = step(self, Op::Shr, Scalar::U64, [Src::Reg(far), Src::Imm(4)]);
        let high = step(self, Op::Shl, Scalar::B64, [Src::Reg(far), Src::Imm(60)]);
        let both = step(self, Op::Or, Scalar::B64, [Src::Reg(low), Src::Reg(high)]);
        let most = [Src::Reg(both), Src::Imm(u64::from(u32::MAX))];
        let most = step(self, Op::Min, Scalar::U64, most);
        let d = self.register(Scalar::U32);
        let mut inst = plain(Op::Cvt, Scalar::U32, pos);
        inst.types[1] = Scalar::U64;
        inst.dst.push(Dst::Reg(d, 32));
        inst.src.push(Src::Reg(most));
        self.push(inst);
        d
    }

    /// A function of the device runtime: it takes values, and gives one.
    fn external(&mut self, n: usize, inst: &Inst, call: &Call) -> Result<(), NotCompiled> {
        let after = self.instances[n].label + self.at.1 + 1;
        if let Some((p, sense)) = inst.guard {
            self.jump(Some((p, opposite(sense))), after, inst.pos);
        }
        let empty = Call { callee: call.callee, args: vec![], returns: vec![] };
        let mut outside = plain(Op::Call, Scalar::B64, inst.pos);
        outside.src.push(Src::Call(Box::new(empty)));
        for arg in call.args.iter().take(8) {
            let holder = self.argument(n, arg, 8);
            let width = match holder {
                Holder::Cells(i, v) => self.variable(i, v).size.min(8),
                Holder::Memory(_, _, size) => size.min(8),
                Holder::Register(_, bits) => bits.div_ceil(8),
                _ => 8,
            };
            let value = self.value(holder, 0, width, inst)?;
            let src = self.read(value, inst)?;
            outside.src.push(src);
        }
        let result = self.register(Scalar::B64);
        outside.dst.push(Dst::Reg(result, 64));
        self.push(outside);
        if let Some(arg) = call.returns.first() {
            let from = Holder::Register(result, 64);
            let to = self.argument(n, arg, 8);
            let moves = self.transfer(from, to, inst)?;
            self.moves(moves, false, inst)?;
        }
        Ok(())
    }

    /// Everything from before a call to behind it.
    fn enter(&mut self, n: usize, inst: &Inst, call: &Call, to: usize) -> Result<(), NotCompiled> {
        let pos = inst.pos;
        let caller = self.instances[n].clone();
        let callee = self.instances[to].clone();
        let module = self.module;
        let f = &module.functions[caller.function as usize];
        let g = &module.functions[callee.function as usize];
        let circular = self.calls.same_circle(caller.function, callee.function);
        let begins = caller.frame.behind(f.local_size);
        if self.calls.is_moving(callee.function) && g.local_size > 0 {
            let mut enter = plain(Op::Enter, Scalar::U32, pos);
            let (from, at) = match begins {
                Frame::Fixed(at) => (Src::Imm(0), at),
                Frame::Moving(r, at) => (Src::Reg(r), at),
            };
            enter.src.extend([from, Src::Imm(u64::from(at) + u64::from(g.local_size))]);
            self.push(enter);
        }
        let save = self.out.code.len();
        if circular {
            self.push(plain(Op::Save, Scalar::B64, pos));
        }
        // Where the callee's frame is to begin, while its register may still say where the caller's does.
        let place = match (callee.frame, begins) {
            (Frame::Moving(r, 0), Frame::Moving(from, at))
                if matches!(callee.back, Back::Many { .. }) =>
            {
                let new = self.register(Scalar::U32);
                let mut add = plain(Op::Add, Scalar::U32, pos);
                add.dst.push(Dst::Reg(new, 32));
                add.src.extend([Src::Reg(from), Src::Imm(at.into())]);
                self.push(add);
                Some((r, Src::Reg(new), Frame::Moving(new, 0)))
            }
            (Frame::Moving(r, 0), Frame::Fixed(at)) if matches!(callee.back, Back::Many { .. }) => {
                Some((r, Src::Imm(at.into()), Frame::Fixed(at)))
            }
            _ => None,
        };
        let new_frame = place.as_ref().map_or(callee.frame, |(_, _, frame)| *frame);
        let mut moves = Vec::new();
        for (arg, param) in call.args.iter().zip(&g.params) {
            let from = self.argument(n, arg, param.size);
            let into = self.parameter(to, param, new_frame);
            moves.extend(self.transfer(from, into, inst)?);
        }
        self.moves(moves, circular, inst)?;
        if let Some((register, src, _)) = place {
            let mut set = plain(Op::Mov, Scalar::U32, pos);
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
            let mut set = plain(Op::Mov, Scalar::U32, pos);
            set.dst.push(Dst::Reg(register, 32));
            set.src.push(Src::Imm(number));
            self.push(set);
        }
        self.jump(None, callee.label, pos);
        self.place(back);
        self.results(n, inst, call, to, circular.then_some(save))
    }

    /// What a call gives, once lanes are back.
    fn results(
        &mut self,
        n: usize,
        inst: &Inst,
        call: &Call,
        to: usize,
        save: Option<usize>,
    ) -> Result<(), NotCompiled> {
        let callee = self.instances[to].clone();
        let g = &self.module.functions[callee.function as usize];
        let mut moves = Vec::new();
        for (arg, result) in call.returns.iter().zip(&g.returns) {
            let from = self.parameter(to, result, callee.frame);
            let into = self.argument(n, arg, result.size);
            moves.extend(self.transfer(from, into, inst)?);
        }
        let Some(save) = save else { return self.moves(moves, false, inst) };
        let moves = self.aside(moves, inst)?;
        self.circular.push(Circular { instance: n, save, restore: self.out.code.len() });
        self.push(plain(Op::Restore, Scalar::B64, inst.pos));
        self.moves(moves, false, inst)
    }

    fn variable(&self, instance: usize, v: usize) -> &super::cells::Variable {
        &self.cells[self.instances[instance].function as usize].variables[v]
    }

    /// What an argument is made of, or goes to, on the caller's side.
    fn argument(&self, n: usize, arg: &Arg, size: u32) -> Holder {
        let base = self.own(n);
        match *arg {
            Arg::Memory(o, size) => {
                let (function, at) = self.at;
                let found = self.cells[function as usize].find(at as usize, o);
                match found {
                    Some(v) if self.variable(n, v).cells.is_some() => Holder::Cells(n, v),
                    _ => Holder::Memory(self.instances[n].frame, o, size),
                }
            }
            Arg::Reg(r, bits) => Holder::Register(r + base, bits),
            Arg::Imm(v) => Holder::Constant(v, size.min(8)),
            Arg::Sink => Holder::Nothing,
        }
    }

    /// The same on the callee's.
    fn parameter(&self, to: usize, param: &Param, frame: Frame) -> Holder {
        match param.place {
            Place::Register(r) => Holder::Register(self.own(to) + r, param.ty.bits()),
            Place::Memory(o) => {
                let function = self.instances[to].function as usize;
                match self.cells[function].find(0, o) {
                    Some(v) if self.variable(to, v).cells.is_some() => Holder::Cells(to, v),
                    _ => Holder::Memory(frame, o, param.size),
                }
            }
        }
    }

    /// The pieces in which bytes are to be taken.
    fn pieces(&self, from: Holder, align: u32) -> Vec<(u32, u32)> {
        match from {
            Holder::Cells(i, v) => {
                self.variable(i, v).cells.iter().flatten().map(|(o, w)| (*o, *w)).collect()
            }
            Holder::Memory(_, o, size) => {
                let mut all = Vec::new();
                let mut at = 0;
                while at < size {
                    let mut width = 8;
                    while !(o + at).is_multiple_of(width)
                        || !(align + at).is_multiple_of(width)
                        || at + width > size
                    {
                        width /= 2;
                    }
                    all.push((at, width));
                    at += width;
                }
                all
            }
            Holder::Register(_, bits) => vec![(0, bits.div_ceil(8))],
            Holder::Constant(_, size) => {
                vec![(0, if size.is_power_of_two() { size } else { 1 << size.ilog2() })]
            }
            Holder::Nothing => Vec::new(),
        }
    }

    /// So many bytes at a place of what a holder has.
    fn value(&self, from: Holder, at: u32, width: u32, inst: &Inst) -> Result<Value, NotCompiled> {
        let odd = || self.unsupported(inst, "an argument that is taken apart");
        Ok(match from {
            Holder::Cells(i, v) => match self.variable(i, v).cell(at, width) {
                Ok(Some(cell)) => {
                    let register = self.instances[i].cells.get(&(v, cell));
                    Value::Register(register.copied().ok_or_else(odd)?)
                }
                Ok(None) => Value::Constant(0),
                Err(()) => return Err(odd()),
            },
            Holder::Memory(frame, o, _) if (o + at).is_multiple_of(width) => {
                Value::Memory(frame, o + at, width)
            }
            Holder::Memory(..) => return Err(odd()),
            Holder::Register(r, bits) if at == 0 && bits >= 8 => Value::Register(r),
            Holder::Register(_, bits) if 8 * at >= bits => Value::Constant(0),
            Holder::Register(..) => return Err(odd()),
            Holder::Constant(v, _) => {
                Value::Constant((v >> (8 * at).min(63)) & cushim_ptx::alu::mask(8 * width))
            }
            Holder::Nothing => Value::Constant(0),
        })
    }

    /// How bytes come from one side to the other.
    fn transfer(
        &self,
        from: Holder,
        into: Holder,
        inst: &Inst,
    ) -> Result<Vec<(Target, Value)>, NotCompiled> {
        if matches!(from, Holder::Nothing) {
            return Ok(Vec::new());
        }
        let mut moves = Vec::new();
        match into {
            Holder::Register(r, bits) => {
                let width = bits.div_ceil(8);
                let value = self.value(from, 0, width, inst)?;
                moves.push((Target::Register(r, width), value));
            }
            Holder::Cells(i, v) => {
                for (at, width) in self.pieces(into, 0) {
                    let Some(r) = self.instances[i].cells.get(&(v, at)).copied() else { continue };
                    moves.push((Target::Register(r, width), self.value(from, at, width, inst)?));
                }
            }
            Holder::Memory(frame, o, size) => {
                for (at, width) in self.pieces(from, o) {
                    if at + width > size || !(o + at).is_multiple_of(width) {
                        return Err(self.unsupported(inst, "an argument of another size"));
                    }
                    let value = self.value(from, at, width, inst)?;
                    moves.push((Target::Memory(frame, o + at, width), value));
                }
            }
            Holder::Constant(..) | Holder::Nothing => {}
        }
        Ok(moves)
    }

    /// A value as an operand.
    fn read(&mut self, value: Value, inst: &Inst) -> Result<Src, NotCompiled> {
        Ok(match value {
            Value::Register(r) => Src::Reg(r),
            Value::Constant(v) => Src::Imm(v),
            Value::Memory(frame, at, width) => {
                let new = self.register(bits(width));
                let mut load = plain(Op::Ld, unsigned(8 * width), inst.pos);
                in_local(&mut load.words);
                load.dst.push(to(new, &self.out.registers));
                load.src.extend([self.local(frame, at.into()), Src::None]);
                self.push(load);
                Src::Reg(new)
            }
        })
    }

    /// Takes values out of what may be written meanwhile.
    fn aside(
        &mut self,
        moves: Vec<(Target, Value)>,
        inst: &Inst,
    ) -> Result<Vec<(Target, Value)>, NotCompiled> {
        let mut out = Vec::new();
        for (target, value) in moves {
            let value = match self.read(value, inst)? {
                Src::Reg(r) if matches!(value, Value::Register(_)) => {
                    let ty = self.out.registers[r as usize];
                    let new = self.register(ty);
                    let mut copy = plain(Op::Mov, bits(ty.bytes()), inst.pos);
                    copy.dst.push(to(new, &self.out.registers));
                    copy.src.push(Src::Reg(r));
                    self.push(copy);
                    Value::Register(new)
                }
                Src::Reg(r) => Value::Register(r),
                Src::Imm(v) => Value::Constant(v),
                _ => value,
            };
            out.push((target, value));
        }
        Ok(out)
    }

    fn moves(
        &mut self,
        moves: Vec<(Target, Value)>,
        aside: bool,
        inst: &Inst,
    ) -> Result<(), NotCompiled> {
        let moves = if aside { self.aside(moves, inst)? } else { moves };
        for (target, value) in moves {
            let src = self.read(value, inst)?;
            match target {
                Target::Register(r, width) => {
                    let assign = self.assign(r, width, src, inst.pos);
                    self.push(assign);
                }
                Target::Memory(frame, at, width) => {
                    let mut store = plain(Op::St, unsigned(8 * width), inst.pos);
                    in_local(&mut store.words);
                    store.src.extend([self.local(frame, at.into()), src, Src::None]);
                    self.push(store);
                }
            }
        }
        Ok(())
    }
}
