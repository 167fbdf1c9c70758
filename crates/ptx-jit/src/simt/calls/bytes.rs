//! Arguments and results of calls as bytes.
//!
//! Owns splitting them into pieces and joining them: either side may have them in registers or in local memory, and
//! the two may split them differently. Must not know where a call goes.

use super::cells::Variable;
use super::instance::Frame;
use super::{Lowering, bits, make, to, unsigned};
use cushim_ptx::Pos;
use cushim_ptx::ir::{Arg, Dst, Inst, Param, Place, Src};
use cushim_ptx::sem::{BitOp, Outcomes};
use cushim_ptx::types::Scalar;

/// Bytes on one side of a call.
#[derive(Debug, Clone, Copy)]
pub(super) enum Holder {
    /// A variable of registers: the instance, the number of the variable.
    Cells(usize, usize),
    /// Local memory: a frame, the offset in it, bytes.
    Memory(Frame, u32, u32),
    /// A register and its bits; a predicate is one byte, 0 or 1.
    Register(u32, u32),
    Constant(u64, u32),
    Nothing,
}

/// A value of up to 8 bytes on its way.
#[derive(Debug, Clone)]
pub(super) enum Value {
    /// As many bytes of the register as needed, from the lowest on; zeros beyond its own.
    Register(u32),
    Constant(u64),
    /// In local memory, so many bytes.
    Memory(Frame, u32, u32),
    /// Bytes of a register: from the one on, so many.
    Part(u32, u32, u32),
    /// Adjacent values, each with its start and its size in bytes; zeros between.
    Joined(Vec<(u32, u32, Value)>),
}

/// Where it goes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target {
    Register(u32, u32),
    Memory(Frame, u32, u32),
}

/// The largest piece at the start of bytes `from..to` that is aligned in all of these holders, at that offset.
fn largest(from: u32, to: u32, places: &[u32]) -> u32 {
    let fits = |w: &u32| from + w <= to && places.iter().all(|p| (p + from).is_multiple_of(*w));
    [8, 4, 2].into_iter().find(fits).unwrap_or(1)
}

impl Lowering<'_> {
    fn variable(&self, instance: usize, v: usize) -> &Variable {
        &self.calls.cells[self.instances[instance].function as usize].variables[v]
    }

    /// The caller's source of an argument, or destination of a result.
    pub(super) fn argument(&self, n: usize, arg: &Arg, size: u32) -> Holder {
        let base = self.own(n);
        match *arg {
            Arg::Memory(o, size) => {
                let (function, at) = self.at;
                let found = self.calls.cells[function as usize].find(at as usize, o);
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
    pub(super) fn parameter(&self, to: usize, param: &Param, frame: Frame) -> Holder {
        match param.place {
            Place::Register(r) => Holder::Register(self.own(to) + r, param.ty.bits()),
            Place::Memory(o) => {
                let function = self.instances[to].function as usize;
                match self.calls.cells[function].find(0, o) {
                    Some(v) if self.variable(to, v).cells.is_some() => Holder::Cells(to, v),
                    _ => Holder::Memory(frame, o, param.size),
                }
            }
        }
    }

    /// How many bytes there are.
    pub(super) fn size(&self, holder: Holder) -> u32 {
        match holder {
            Holder::Cells(i, v) => self.variable(i, v).size,
            Holder::Memory(_, _, size) => size,
            Holder::Register(_, bits) => bits.div_ceil(8),
            Holder::Constant(_, size) => size.min(8),
            Holder::Nothing => 0,
        }
    }

    /// The pieces of the first so many bytes that exist, as they can be stored at an offset.
    fn pieces(&self, from: Holder, size: u32, place: u32) -> Vec<(u32, u32)> {
        let (ranges, places): (Vec<(u32, u32)>, Vec<u32>) = match from {
            Holder::Cells(i, v) => (
                self.variable(i, v).cells.iter().flatten().map(|(o, w)| (*o, *w)).collect(),
                vec![place],
            ),
            Holder::Memory(_, o, size) => (vec![(0, size)], vec![o, place]),
            _ => (vec![(0, self.size(from))], vec![place]),
        };
        let mut all = Vec::new();
        for (from, bytes) in ranges {
            let (mut at, end) = (from, (from + bytes).min(size));
            while at < end {
                let width = largest(at, end, &places);
                all.push((at, width));
                at += width;
            }
        }
        all
    }

    /// So many bytes, 8 at most, at an offset in a holder; zeros where it has none.
    pub(super) fn value(&self, from: Holder, at: u32, width: u32) -> Value {
        match from {
            Holder::Cells(i, v) => {
                let mut parts = Vec::new();
                for (o, w) in self.variable(i, v).cells.iter().flatten() {
                    let (first, end) = (at.max(*o), (at + width).min(o + w));
                    let Some(r) = self.instances[i].cells.get(&(v, *o)).filter(|_| first < end)
                    else {
                        continue;
                    };
                    if (*o, *w) == (at, width) {
                        return Value::Register(*r);
                    }
                    parts.push((first - at, end - first, Value::Part(*r, first - o, end - first)));
                }
                if parts.is_empty() { Value::Constant(0) } else { Value::Joined(parts) }
            }
            Holder::Memory(frame, o, size) => {
                let (mut parts, mut next, end) = (Vec::new(), at, (at + width).min(size));
                while next < end {
                    let w = largest(next, end, &[o]);
                    let part = Value::Memory(frame, o + next, w);
                    if w == width {
                        return part;
                    }
                    parts.push((next - at, w, part));
                    next += w;
                }
                if parts.is_empty() { Value::Constant(0) } else { Value::Joined(parts) }
            }
            Holder::Register(r, _) if at == 0 => Value::Register(r),
            Holder::Register(r, bits) => match bits.div_ceil(8).saturating_sub(at) {
                0 => Value::Constant(0),
                more => Value::Part(r, at, more.min(width)),
            },
            Holder::Constant(v, _) => Value::Constant(
                v.checked_shr(8 * at).unwrap_or(0) & cushim_ptx::alu::mask(8 * width),
            ),
            Holder::Nothing => Value::Constant(0),
        }
    }

    /// How bytes are copied from one side to the other.
    pub(super) fn transfer(&self, from: Holder, into: Holder) -> Vec<(Target, Value)> {
        if matches!(from, Holder::Nothing) {
            return Vec::new();
        }
        match into {
            Holder::Register(r, bits) => {
                let width = bits.div_ceil(8).min(8);
                vec![(Target::Register(r, width), self.value(from, 0, width))]
            }
            Holder::Cells(i, v) => {
                let cells = self.variable(i, v).cells.iter().flatten();
                let to = cells.filter_map(|(at, width)| {
                    let r = self.instances[i].cells.get(&(v, *at))?;
                    Some((Target::Register(*r, *width), self.value(from, *at, *width)))
                });
                to.collect()
            }
            Holder::Memory(frame, o, size) => {
                let pieces = self.pieces(from, size, o).into_iter();
                let to = pieces.map(|(at, width)| {
                    (Target::Memory(frame, o + at, width), self.value(from, at, width))
                });
                to.collect()
            }
            Holder::Constant(..) | Holder::Nothing => Vec::new(),
        }
    }

    fn type_of(&self, register: u32) -> Scalar {
        self.out.registers[register as usize]
    }

    /// A new register with the result of an instruction.
    fn made(&mut self, ty: Scalar, mut inst: Inst, src: Vec<Src>) -> u32 {
        let new = self.register(ty);
        inst.dst.push(to(new, &self.out.registers));
        inst.src = src;
        self.push(inst);
        new
    }

    /// A register's number, in one of at least so many bits whose others are zero.
    fn widened(&mut self, register: u32, least: u32, pos: Pos) -> u32 {
        let ty = self.type_of(register);
        if ty == Scalar::Pred {
            let src = vec![Src::Imm(1), Src::Imm(0), Src::Reg(register)];
            let ty = bits(least.div_ceil(8));
            return self.made(ty, make::select(ty, pos), src);
        }
        if ty.bits() >= least {
            return register;
        }
        let wide = bits(least.div_ceil(8));
        let extend = make::convert(unsigned(wide.bits()), unsigned(ty.bits()), pos);
        self.made(wide, extend, vec![Src::Reg(register)])
    }

    /// The lower half of a 64-bit register, if at most so many bytes are needed and it has them all.
    fn narrowed(&mut self, register: u32, most: u32, pos: Pos) -> u32 {
        if most > 32 || self.type_of(register).bits() <= 32 {
            return register;
        }
        let cut = make::convert(Scalar::U32, Scalar::U64, pos);
        self.made(Scalar::B32, cut, vec![Src::Reg(register)])
    }

    /// A value as an operand.
    pub(super) fn read(&mut self, value: &Value, pos: Pos) -> Src {
        match value {
            Value::Register(r) if self.type_of(*r) == Scalar::Pred => {
                Src::Reg(self.widened(*r, 16, pos))
            }
            Value::Register(r) => Src::Reg(*r),
            Value::Constant(v) => Src::Imm(*v),
            Value::Memory(frame, at, width) => {
                let src = vec![self.local(*frame, (*at).into()), Src::None];
                Src::Reg(self.made(bits(*width), make::load(unsigned(8 * width), pos), src))
            }
            Value::Part(r, at, width) => {
                let mut r = self.widened(*r, 32, pos);
                let bits_there = self.type_of(r).bits();
                let ty = bits(bits_there / 8);
                if *at > 0 {
                    let src = vec![Src::Reg(r), Src::Imm(u64::from(8 * at))];
                    r = self.made(ty, make::bits(BitOp::Shr, unsigned(bits_there), pos), src);
                }
                if 8 * (at + width) < bits_there {
                    let keep = cushim_ptx::alu::mask(8 * width);
                    let and = make::bits(BitOp::And, ty, pos);
                    r = self.made(ty, and, vec![Src::Reg(r), Src::Imm(keep)]);
                }
                Src::Reg(r)
            }
            Value::Joined(parts) => {
                let end = parts.iter().map(|(at, width, _)| at + width).max().unwrap_or(1);
                let ty = bits(if end > 4 { 8 } else { 4 });
                let mut sum = None;
                for (at, _, part) in parts {
                    let Src::Reg(r) = self.read(part, pos) else { continue };
                    let mut r = self.widened(r, ty.bits(), pos);
                    r = self.narrowed(r, ty.bits(), pos);
                    if *at > 0 {
                        let src = vec![Src::Reg(r), Src::Imm(u64::from(8 * at))];
                        r = self.made(ty, make::bits(BitOp::Shl, ty, pos), src);
                    }
                    sum = Some(match sum {
                        None => r,
                        Some(s) => {
                            let or = make::bits(BitOp::Or, ty, pos);
                            self.made(ty, or, vec![Src::Reg(s), Src::Reg(r)])
                        }
                    });
                }
                sum.map_or(Src::Imm(0), Src::Reg)
            }
        }
    }

    /// Takes values out of what may be written meanwhile.
    pub(super) fn aside(&mut self, moves: Vec<(Target, Value)>, pos: Pos) -> Vec<(Target, Value)> {
        let out = moves.into_iter().map(|(target, value)| {
            let new = self.out.registers.len() as u32;
            let src = match value {
                Value::Register(r) => Src::Reg(r),
                value => self.read(&value, pos),
            };
            let value = match src {
                Src::Reg(r) if r >= new => Value::Register(r),
                Src::Reg(r) => {
                    let ty = self.type_of(r);
                    let by = if ty == Scalar::Pred { ty } else { bits(ty.bytes()) };
                    Value::Register(self.made(ty, make::mov(by, pos), vec![Src::Reg(r)]))
                }
                Src::Imm(v) => Value::Constant(v),
                // What else a value may be read as, there is not.
                _ => Value::Constant(0),
            };
            (target, value)
        });
        out.collect()
    }

    pub(super) fn moves(&mut self, moves: Vec<(Target, Value)>, aside: bool, pos: Pos) {
        let moves = if aside { self.aside(moves, pos) } else { moves };
        for (target, value) in moves {
            match (target, &value) {
                (Target::Register(r, _), _) if self.type_of(r) == Scalar::Pred => {
                    self.predicate(r, &value, pos);
                }
                (Target::Register(r, width), _) => {
                    let src = self.read(&value, pos);
                    let assign = self.assign(r, width, src, pos);
                    self.push(assign);
                }
                (Target::Memory(frame, at, width), _) => {
                    let mut src = self.read(&value, pos);
                    if let Src::Reg(r) = src {
                        let r = self.widened(r, 8 * width, pos);
                        src = Src::Reg(self.narrowed(r, 8 * width, pos));
                    }
                    let mut store = make::store(unsigned(8 * width), pos);
                    store.src.extend([self.local(frame, at.into()), src, Src::None]);
                    self.push(store);
                }
            }
        }
    }

    /// A predicate is the lowest bit of the value.
    fn predicate(&mut self, register: u32, value: &Value, pos: Pos) {
        let src = match value {
            Value::Register(r) if self.type_of(*r) == Scalar::Pred => Src::Reg(*r),
            _ => self.read(value, pos),
        };
        let mut inst = match src {
            Src::Reg(r) if self.type_of(r) != Scalar::Pred => {
                let r = self.narrowed(r, 1, pos);
                let ty = bits(self.type_of(r).bytes());
                let and = make::bits(BitOp::And, ty, pos);
                let low = self.made(ty, and, vec![Src::Reg(r), Src::Imm(1)]);
                let differ = Outcomes::LESS | Outcomes::GREATER;
                let mut compare = make::compare(differ, unsigned(ty.bits()), pos);
                compare.src.extend([Src::Reg(low), Src::Imm(0)]);
                compare
            }
            src => {
                let mut copy = make::mov(Scalar::Pred, pos);
                copy.src.push(src);
                copy
            }
        };
        inst.dst.push(Dst::Reg(register, 1));
        self.push(inst);
    }
}
