//! The instructions of one function body, for one instance of it.

use super::cells::parts;
use super::instance::{Back, Frame};
use super::{Lowering, bits, make, opposite, signed, to, unsigned};
use crate::simt::plan::region;
use cushim_ptx::ir::{Base, Dst, Inst, Place, Src, Symbol};
use cushim_ptx::sem::{Access, Control, Operation};
use cushim_ptx::types::{Kind, Scalar};

impl Lowering<'_> {
    /// Writes the body of an instance.
    pub(super) fn body(&mut self, n: usize) {
        let this = self.instances[n].clone();
        let f = self.calls.function(this.function);
        for (at, inst) in f.code.iter().enumerate() {
            self.at = (this.function, at as u32);
            self.place(this.label + at as u32);
            if at == 0 && n > 0 {
                self.begin(n, inst);
            }
            self.instruction(n, inst);
        }
        if let Back::Many { register, label, .. } = this.back
            && let Some(last) = f.code.last()
        {
            self.place(label);
            self.returning.push((n, self.out.code.len()));
            self.table(register, last.pos);
        }
    }

    /// Registers that may be read before they are written are zero whenever the function begins.
    fn begin(&mut self, n: usize, first: &Inst) {
        let (function, base) = (self.instances[n].function, self.own(n));
        let f = self.calls.function(function);
        let regions = region::cut(f, &|_| false);
        let given = |r: u32| f.params.iter().any(|p| p.place == Place::Register(r));
        let read = regions.first().into_iter().flat_map(|p| p.live_in.iter());
        for r in read.map(|r| r as u32).filter(|r| !given(*r)) {
            let mut inst = make::mov(f.registers[r as usize], first.pos);
            inst.dst.push(to(base + r, &self.out.registers));
            inst.src.push(Src::Imm(0));
            self.push(inst);
        }
    }

    /// The first of the function's own registers.
    pub(super) fn own(&self, n: usize) -> u32 {
        let i = &self.instances[n];
        // The other registers of a common instance precede them.
        i.registers.0
            + match (&i.back, i.frame) {
                (Back::Many { .. }, Frame::Moving(..)) => 2,
                (Back::Many { .. }, Frame::Fixed(_)) => 1,
                _ => 0,
            }
    }

    fn instruction(&mut self, n: usize, inst: &Inst) {
        let this = &self.instances[n];
        let (base, label, frame) = (self.own(n), this.label, this.frame);
        let mut inst = inst.clone();
        if let Operation::Load(a) | Operation::Store(a) = inst.sem
            && self.cell_access(n, &inst, &a)
        {
            return;
        }
        if let Some((p, _)) = &mut inst.guard {
            *p += base;
        }
        for dst in &mut inst.dst {
            if let Dst::Reg(r, _) = dst {
                *r += base;
            }
        }
        if inst.sem == Operation::Control(Control::Call) {
            return self.call(n, inst);
        }
        for k in 0..inst.src.len() {
            let src = match &inst.src[k] {
                Src::Reg(r) => Src::Reg(r + base),
                Src::Not(r) => Src::Not(r + base),
                Src::Target(t) => Src::Target(t + label),
                Src::Targets(list) => Src::Targets(list.iter().map(|t| t + label).collect()),
                Src::Memory(Base::Symbol(Symbol::Local(o)), offset) => {
                    self.local(frame, i64::from(*o) + offset)
                }
                Src::Memory(Base::Reg(r, bits), offset) => {
                    Src::Memory(Base::Reg(r + base, *bits), *offset)
                }
                Src::Memory(Base::Zero, offset) => Src::Memory(Base::Zero, *offset),
                Src::Address(Symbol::Local(o), addend) => match frame {
                    Frame::Fixed(at) => Src::Address(Symbol::Local(o + at), *addend),
                    Frame::Moving(r, at) => self.address(r, i64::from(o + at) + addend, &inst),
                },
                other => other.clone(),
            };
            inst.src[k] = src;
        }
        let waits = inst.sem.waits_for_block();
        if let (Some((p, sense)), true) = (inst.guard, waits || self.apart.contains(&self.at)) {
            self.jump(Some((p, opposite(sense))), label + self.at.1 + 1, inst.pos);
            inst.guard = None;
        }
        if inst.sem == Operation::Control(Control::Return) {
            match &self.instances[n].back {
                Back::Exit => {}
                Back::One(label) | Back::Many { label, .. } => {
                    inst.sem = Operation::Control(Control::Branch);
                    inst.src = vec![Src::Target(*label)];
                }
            }
        }
        self.push(inst);
    }

    /// An address in a frame that moves, of the width that an instruction wants.
    fn address(&mut self, register: u32, offset: i64, inst: &Inst) -> Src {
        let wide = inst.sem.ty().bits() == 64;
        let sum = self.register(Scalar::U32);
        let mut add = make::add(Scalar::U32, inst.pos);
        add.dst.push(Dst::Reg(sum, 32));
        add.src.extend([Src::Reg(register), Src::Imm(offset as u32 as u64)]);
        self.push(add);
        if !wide {
            return Src::Reg(sum);
        }
        let long = self.register(Scalar::U64);
        let mut extend = make::convert(Scalar::U64, Scalar::U32, inst.pos);
        extend.dst.push(Dst::Reg(long, 64));
        extend.src.push(Src::Reg(sum));
        self.push(extend);
        Src::Reg(long)
    }

    /// A load or store of a variable that consists of registers. False if it does not.
    fn cell_access(&mut self, n: usize, inst: &Inst, access: &Access) -> bool {
        let Some(Src::Memory(Base::Symbol(Symbol::Local(o)), offset)) = inst.src.first() else {
            return false;
        };
        let (function, at) = self.at;
        let Some(v) = self.calls.cells[function as usize].find(at as usize, *o) else {
            return false;
        };
        let variable = &self.calls.cells[function as usize].variables[v];
        if variable.cells.is_none() {
            return false;
        }
        let from = (i64::from(o - variable.offset) + offset) as u32;
        let base = self.own(n);
        let guard = inst.guard.map(|(p, sense)| (p + base, sense));
        let (width, count) = parts(access);
        for k in 0..count {
            let Some(cell) = self.instances[n].cells.get(&(v, from + k * width)).copied() else {
                continue;
            };
            let mut moved = if let Operation::Load(_) = inst.sem {
                let Some(Dst::Reg(r, wanted)) = inst.dst.get(k as usize).copied() else { continue };
                let mut moved = if wanted == 8 * width && width > 1 {
                    make::mov(bits(width), inst.pos)
                } else if access.element.kind() == Kind::Signed {
                    make::convert(signed(wanted), signed(8 * width), inst.pos)
                } else {
                    make::convert(unsigned(wanted), unsigned(8 * width), inst.pos)
                };
                moved.dst.push(Dst::Reg(r + base, wanted));
                moved.src.push(Src::Reg(cell));
                moved
            } else {
                let src = match inst.src.get(1 + k as usize) {
                    Some(Src::Reg(r)) => Src::Reg(r + base),
                    Some(Src::Imm(v)) => Src::Imm(v & cushim_ptx::alu::mask(8 * width)),
                    Some(other) => other.clone(),
                    None => continue,
                };
                self.assign(cell, width, src, inst.pos)
            };
            moved.guard = guard;
            self.push(moved);
        }
        true
    }

    /// The instruction that gives a register for so many bytes a value.
    pub(super) fn assign(&self, register: u32, width: u32, src: Src, pos: cushim_ptx::Pos) -> Inst {
        let given = match src {
            Src::Reg(r) => Some(self.out.registers[r as usize].bits()),
            _ => None,
        };
        let mut inst = match given.filter(|given| *given != 8 * width || width == 1) {
            Some(given) => make::convert(unsigned(8 * width), unsigned(given), pos),
            None => make::mov(bits(width), pos),
        };
        inst.dst.push(to(register, &self.out.registers));
        inst.src.push(src);
        inst
    }
}
