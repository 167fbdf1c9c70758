//! Instructions: their form in the table, their operands.

use super::function::Lower;
use super::scope::Entity;
use crate::ast::{self, OperandKind as Operand};
use crate::error::{Error, Pos};
use crate::ir::{Dst, Inst, Refusal, Sense, Src};
use crate::sem::{self, Context, Operation, Statement, Unsupported};
use crate::special::Special;
use crate::table::{self, Form, NoForm, Op, OperandKind, Place, Word, Words};
use crate::types::Scalar;

/// What `createpolicy` gives, whatever it is to say: nothing here asks a policy. It is
/// what an H200 gives for `fractional.L2::evict_normal`.
const POLICY: u64 = 0x16f0_0000_0000_0000;

/// An instruction while its operands are found.
pub(super) struct Draft {
    pub(super) op: Op,
    pub(super) words: Words,
    pub(super) types: [Scalar; 4],
    pub(super) guard: Option<(u32, Sense)>,
    pub(super) dst: Vec<Dst>,
    pub(super) src: Vec<Src>,
    pub(super) pos: Pos,
}

impl Draft {
    pub(super) fn new(op: Op, pos: Pos) -> Draft {
        let (dst, src) = (Vec::new(), Vec::new());
        Draft { op, words: Words::default(), types: [Scalar::B32; 4], guard: None, dst, src, pos }
    }

    pub(super) fn statement(&self) -> Statement<'_> {
        let Draft { op, words, types, pos, .. } = *self;
        Statement { op, words, types, results: self.dst.len(), src: &self.src, pos }
    }

    /// With its meaning. An instruction without one fails when it is executed; the reason is returned with it.
    pub(super) fn finish(self, context: Context<'_>) -> (Inst, Option<Unsupported>) {
        let (sem, why) = match sem::lower(&self.statement(), context) {
            Ok(found) => (found, None),
            Err(why) => (Operation::Refused, Some(why)),
        };
        let Draft { guard, dst, src, pos, .. } = self;
        let mut inst = Inst::new(sem, pos);
        (inst.guard, inst.dst, inst.src) = (guard, dst, src);
        (inst, why)
    }
}

impl<'a> Lower<'a, '_> {
    pub(super) fn instruction(&mut self, i: &ast::Instruction<'a>) -> Result<(), Error> {
        let guard = match &i.guard {
            Some(g) => match self.scopes.get(g.name) {
                Some(Entity::Reg { first, ty: Scalar::Pred, .. }) => {
                    Some((first, if g.negated { Sense::False } else { Sense::True }))
                }
                _ => {
                    let (name, expected) = (g.name.to_string(), "a predicate register");
                    return Err(Error::Undeclared { pos: g.pos, name, expected });
                }
            },
            None => None,
        };
        let apart = self.textured(i, guard).or_else(|| self.warpgroup(i, guard));
        let apart = apart.or_else(|| self.tensor(i, guard));
        let apart = apart.or_else(|| self.tensor_map(i, guard));
        if let Some(done) = apart.or_else(|| self.wide(i, guard)) {
            return done;
        }
        let mut inst = Draft::new(Op::Nop, i.pos);
        inst.guard = guard;
        if i.opcode == "call" {
            inst.op = Op::Call;
            inst.src.push(self.call(i)?);
        } else {
            let dialect = self.declared.dialect;
            match table::find(i.opcode, &dialect.modifiers(i)) {
                Ok(form) => {
                    let needs = &self.declared.needs;
                    if let Err(u) = needs.check(i.opcode, &i.modifiers, i.operands.len()) {
                        return self.wrong(i, u.found, u.expected);
                    }
                    self.operands(i, dialect.form(form), &mut inst)?;
                    if inst.op.is_composed() {
                        return self.compose(&inst);
                    }
                }
                Err(NoForm::Modifiers(_)) if let Some(word) = unrounded(i) => {
                    return self.wrong(i, "no rounding", format!("one such as `.{word}`"));
                }
                Err(why) => {
                    inst.op = Op::Refused;
                    self.out.refusals.push(Refusal {
                        pos: i.pos,
                        instruction: i.full_name(),
                        reason: match why {
                            NoForm::Refused(what) => format!("{what} is not supported"),
                            NoForm::Unknown => "no instruction has this name".into(),
                            NoForm::Modifiers(forms) => format!("known forms: {forms}"),
                        },
                    });
                }
            }
        }
        self.add(i, inst);
        Ok(())
    }

    /// Adds an instruction whose operands are known.
    pub(super) fn add(&mut self, i: &ast::Instruction<'a>, inst: Draft) {
        let context = Context { entry: self.out.entry, registers: &self.out.registers };
        let (inst, why) = inst.finish(context);
        if let Some(why) = why {
            let (instruction, reason) = (i.full_name(), why.to_string());
            self.out.refusals.push(Refusal { pos: i.pos, instruction, reason });
        }
        self.out.code.push(inst);
    }

    pub(super) fn wrong<T>(
        &self,
        i: &ast::Instruction<'_>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Result<T, Error> {
        Err(Error::Instruction {
            pos: i.pos,
            instruction: i.full_name(),
            found: found.into(),
            expected: expected.into(),
        })
    }

    fn operands(
        &mut self,
        i: &ast::Instruction<'a>,
        form: Form,
        inst: &mut Draft,
    ) -> Result<(), Error> {
        inst.op = form.row.op;
        inst.words = form.words;
        inst.types = form.types;
        let places = &form.row.places;
        let required = places.iter().filter(|p| !p.optional).count();
        let given = i.operands.len();
        if given < required || given > places.len() {
            let expected = if required == places.len() {
                format!("{required}")
            } else {
                format!("{required} to {}", places.len())
            };
            return self.wrong(i, format!("{given} operands"), expected);
        }
        if inst.op.is_video() {
            return self.video(i, &form, inst);
        }
        let mut spare = given - required;
        let mut rest = i.operands.iter();
        for place in places {
            if place.optional {
                if spare == 0 {
                    inst.src.push(Src::None);
                    continue;
                }
                spare -= 1;
            }
            let Some(operand) = rest.next() else { break };
            if place.result {
                self.result(i, &form, place, operand, inst)?;
            } else {
                self.source(i, &form, place.kind, operand, inst)?;
            }
        }
        if i.opcode == "createpolicy" && !inst.words.has(Word::Cvt) {
            inst.src = vec![Src::Imm(POLICY)];
        }
        if matches!(inst.op, Op::AddCarry | Op::SubCarry | Op::MadCarry) {
            self.carry(i, inst)?;
        }
        if matches!(inst.op, Op::Mma | Op::MmaSparse | Op::WmmaMma) {
            // All lanes take part.
            inst.src.push(Src::Imm(u32::MAX.into()));
        }
        if matches!(inst.op, Op::Mapa | Op::CtaRank) {
            inst.src.push(Src::Special(Special::ClusterCtarank));
        }
        self.check_addresses(i, inst)?;
        if inst.op == Op::Mov {
            self.check_mov(i, inst)?;
        }
        Ok(())
    }

    /// How many values a `Data` operand has.
    fn lanes(form: &Form) -> usize {
        match form.words.first(&[Word::V2, Word::V4, Word::V8]) {
            Some(Word::V2) => 2,
            Some(Word::V4) => 4,
            Some(_) => 8,
            None => 1,
        }
    }

    pub(super) fn result(
        &mut self,
        i: &ast::Instruction<'a>,
        form: &Form,
        place: &Place,
        operand: &ast::Operand<'a>,
        inst: &mut Draft,
    ) -> Result<(), Error> {
        let (ty, relaxed) = value_type(place.kind, form);
        match (&operand.kind, place.kind) {
            (_, OperandKind::Fragment(part)) => {
                self.fragment_result(i, form, part, operand, inst)?
            }
            (Operand::Vector(list), OperandKind::Data(_)) => {
                let n = Self::lanes(form);
                if list.len() != n {
                    return self.wrong(i, format!("{} results", list.len()), format!("{n}"));
                }
                for o in list {
                    let dst = self.destination(i, o, ty, relaxed)?;
                    inst.dst.push(dst);
                }
            }
            (Operand::Vector(list), OperandKind::Value) => {
                for o in list {
                    let ty = self.register_type(o).unwrap_or(ty);
                    let dst = self.destination(i, o, ty, false)?;
                    inst.dst.push(dst);
                }
            }
            (Operand::Name(name, 0), OperandKind::Data(_)) if Self::lanes(form) > 1 => {
                // A whole vector register.
                let n = Self::lanes(form) as u32;
                match self.scopes.get(name) {
                    Some(Entity::Reg { first, ty, vector }) if vector == n => {
                        inst.dst.extend((0..n).map(|k| Dst::Reg(first + k, ty.bits())));
                    }
                    _ => return self.wrong(i, format!("`{name}`"), format!("{n} registers")),
                }
            }
            (Operand::Pair(a, b), _) => {
                let Some(second) = place.second else {
                    return self.wrong(i, "two results", "one");
                };
                let first = self.destination(i, a, ty, relaxed)?;
                let (ty, relaxed) = value_type(second, form);
                let second = self.destination(i, b, ty, relaxed)?;
                inst.dst.extend([first, second]);
            }
            _ => {
                let dst = self.destination(i, operand, ty, relaxed)?;
                inst.dst.push(dst);
            }
        }
        Ok(())
    }

    fn source(
        &mut self,
        i: &ast::Instruction<'a>,
        form: &Form,
        kind: OperandKind,
        operand: &ast::Operand<'a>,
        inst: &mut Draft,
    ) -> Result<(), Error> {
        let (ty, relaxed) = value_type(kind, form);
        let src = match (kind, &operand.kind) {
            (OperandKind::Fragment(part), _) => {
                return self.fragment_source(i, form, part, operand, inst);
            }
            (OperandKind::Memory, _) => self.memory(i, operand)?,
            (OperandKind::Label, Operand::Name(name, 0)) => {
                Src::Target(self.label(name, operand.pos)?)
            }
            (OperandKind::Table, Operand::Name(name, 0)) => match self.scopes.get(name) {
                Some(Entity::Targets(n)) => Src::Targets(self.targets[n as usize].clone()),
                _ => {
                    let (pos, name) = (operand.pos, name.to_string());
                    return Err(Error::Undeclared { pos, name, expected: "branch targets" });
                }
            },
            (OperandKind::Label | OperandKind::Table, _) => {
                return self.wrong(i, "another operand", "a label");
            }
            (OperandKind::Immediate, Operand::Const(ast::Const::Int { value, .. })) => {
                Src::Imm(*value)
            }
            (OperandKind::Immediate, _) => return self.wrong(i, "another operand", "a constant"),
            (OperandKind::Any | OperandKind::Address, _) => {
                let ty = self.register_type(operand).unwrap_or(Scalar::B64);
                self.value(i, operand, ty, true)?
            }
            (OperandKind::Data(_), Operand::Vector(list)) => {
                let n = Self::lanes(form);
                if list.len() != n {
                    return self.wrong(i, format!("{} values", list.len()), format!("{n}"));
                }
                for o in list {
                    let src = self.value(i, o, ty, relaxed)?;
                    inst.src.push(src);
                }
                return Ok(());
            }
            (OperandKind::Data(_), Operand::Name(name, 0)) if Self::lanes(form) > 1 => {
                let n = Self::lanes(form) as u32;
                match self.scopes.get(name) {
                    Some(Entity::Reg { first, vector, .. }) if vector == n => {
                        inst.src.extend((0..n).map(|k| Src::Reg(first + k)));
                        return Ok(());
                    }
                    _ => return self.wrong(i, format!("`{name}`"), format!("{n} values")),
                }
            }
            (OperandKind::Value, Operand::Vector(list)) => {
                let part = Scalar::ALL.iter().copied().find(|t| {
                    t.kind() == crate::types::Kind::Bits
                        && t.bits() as usize * list.len() == ty.bits() as usize
                });
                let Some(part) = part else {
                    let found = format!("{} parts", list.len());
                    return self.wrong(i, found, format!("{} bits in all", ty.bits()));
                };
                for o in list {
                    let src = self.value(i, o, part, false)?;
                    inst.src.push(src);
                }
                return Ok(());
            }
            _ => self.value(i, operand, ty, relaxed)?,
        };
        inst.src.push(src);
        Ok(())
    }

    /// The carry flag is a predicate of the function: calls neither see nor change it.
    fn carry(&mut self, i: &ast::Instruction<'a>, inst: &mut Draft) -> Result<(), Error> {
        let flag = match self.carry {
            Some(flag) => flag,
            None => self.register(Scalar::Pred, 1, i.pos)?,
        };
        self.carry = Some(flag);
        if matches!(i.opcode, "addc" | "subc" | "madc") {
            inst.src.push(Src::Reg(flag));
        }
        if inst.words.has(Word::Cc) {
            inst.dst.push(Dst::Reg(flag, Scalar::Pred.bits()));
        }
        Ok(())
    }

    /// Packing and unpacking must fill the wide side exactly.
    fn check_mov(&self, i: &ast::Instruction<'_>, inst: &Draft) -> Result<(), Error> {
        let (d, s) = (inst.dst.len(), inst.src.len());
        let bits = inst.types[0].bits() as usize;
        if (d > 1 && s > 1) || d == 0 || s == 0 {
            return self.wrong(i, "vectors on both sides", "one vector");
        }
        let parts = d.max(s);
        let even = bits.is_multiple_of(parts)
            && inst.dst.iter().all(|x| match x {
                Dst::Reg(_, w) => d == 1 || *w as usize == bits / d,
                Dst::Sink => true,
            });
        if parts > 1 && !even {
            return self.wrong(i, format!("{parts} parts"), format!("{bits} bits in all"));
        }
        Ok(())
    }
}

/// The rounding that makes an instruction without one a form.
fn unrounded(i: &ast::Instruction<'_>) -> Option<&'static str> {
    let with = |word| [&[word], i.modifiers.as_slice()].concat();
    ["approx", "rn", "rzi"].into_iter().find(|word| table::find(i.opcode, &with(word)).is_ok())
}

/// The type of an operand's values, and whether wider registers are allowed.
pub(super) fn value_type(kind: OperandKind, form: &Form) -> (Scalar, bool) {
    let slot = |n: usize| form.types.get(n).copied().unwrap_or(Scalar::B32);
    match kind {
        OperandKind::Slot(n) | OperandKind::Selected(n) => (slot(n), false),
        OperandKind::Relaxed(n) | OperandKind::Data(n) => (slot(n), true),
        OperandKind::Wide(n) => {
            let wide = match slot(n) {
                Scalar::U16 => Scalar::U32,
                Scalar::S16 => Scalar::S32,
                Scalar::U32 => Scalar::U64,
                _ => Scalar::S64,
            };
            (wide, false)
        }
        OperandKind::Type(t) => (t, false),
        OperandKind::Value => (slot(0), false),
        _ => (Scalar::B64, true),
    }
}
