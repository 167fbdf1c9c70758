//! Registers of 128 bits, and the instructions on them.
//!
//! Owns that such a register is two of 64 bits, and that its instructions become moves of both, accesses to a pair, or
//! atomic operations on one. Source: PTX ISA 9, `mov`, `ld`, `st`, `atom` (`.b128`); what else has this type is a
//! form that the table does not have. Must not know what is done with the registers.

use super::function::Lower;
use super::instruction::Draft;
use super::scope::Entity;
use crate::ast::{self, OperandKind as Operand};
use crate::error::Error;
use crate::ir::{Dst, Inst, Refusal, Sense, Src};
use crate::sem::Operation;
use crate::table::{self, Op, Word};
use crate::types::Scalar;

const HALF: Scalar = Scalar::B64;
const TYPE: &str = "b128";

impl<'a> Lower<'a, '_> {
    /// The first half's number of an operand that is such a register.
    pub(super) fn wide_register(&self, o: &ast::Operand<'_>) -> Option<u32> {
        let Operand::Name(name, 0) = &o.kind else { return None };
        match self.scopes.get(name) {
            Some(Entity::Wide { first }) => Some(first),
            _ => None,
        }
    }

    /// The error where it cannot stand.
    pub(super) fn too_wide<T>(&self, i: &ast::Instruction<'_>, ty: Scalar) -> Result<T, Error> {
        let expected = format!("one as wide as .{}", ty.name());
        self.wrong(i, format!("a register of type .{TYPE}"), expected)
    }

    /// An instruction of this type, or with such a register; `None` for others, and for forms that the table says more of.
    pub(super) fn wide(
        &mut self,
        i: &ast::Instruction<'a>,
        guard: Option<(u32, Sense)>,
    ) -> Option<Result<(), Error>> {
        if !self.has_wide {
            return None;
        }
        let Some(place) = i.modifiers.iter().position(|word| *word == TYPE) else {
            // Valid PTX where an operand may be wider than the type.
            let mut operands = i.operands.iter();
            return operands.any(|o| self.wide_register(o).is_some()).then(|| self.unsupported(i));
        };
        let mut words = i.modifiers.clone();
        let halves: &[&str] = if i.opcode == "atom" { &["b64"] } else { &["v2", "b64"] };
        let is_atomic = i.opcode == "atom" && words.iter().any(|w| matches!(*w, "exch" | "cas"));
        if i.opcode == "mov" && words.len() == 1 {
            return Some(self.wide_move(i, guard));
        }
        if !is_atomic && !matches!(i.opcode, "ld" | "st") {
            return None;
        }
        words.splice(place..=place, halves.iter().copied());
        let form = table::find(i.opcode, &words).ok()?;
        let mut inst = Draft::new(form.row.op, i.pos);
        (inst.guard, inst.words, inst.types) = (guard, form.words, form.types);
        if is_atomic {
            inst.words.insert(Word::V2);
        }
        Some(self.wide_access(i, inst))
    }

    fn unsupported(&mut self, i: &ast::Instruction<'a>) -> Result<(), Error> {
        let reason = format!("registers of 128 bits: expected in instructions of type .{TYPE}");
        self.out.refusals.push(Refusal { pos: i.pos, instruction: i.full_name(), reason });
        self.out.code.push(Inst::new(Operation::Refused, i.pos));
        Ok(())
    }

    fn needed(&self, i: &ast::Instruction<'a>) -> Result<(), Error> {
        match self.declared.needs.check(i.opcode, &i.modifiers, i.operands.len()) {
            Ok(()) => Ok(()),
            Err(unmet) => self.wrong(i, unmet.found, unmet.expected),
        }
    }

    /// A load, a store or an atomic operation: the result, the address, values, and a cache policy or none.
    fn wide_access(&mut self, i: &ast::Instruction<'a>, mut inst: Draft) -> Result<(), Error> {
        self.needed(i)?;
        let values = match inst.op {
            Op::Ld => 0,
            Op::Atom if inst.words.has(Word::Cas) => 2,
            _ => 1,
        };
        let result = usize::from(inst.op != Op::St);
        let given = i.operands.len();
        let required = result + 1 + values;
        if given < required || given > required + 1 {
            return self.wrong(i, format!("{given} operands"), format!("{required}"));
        }
        let (results, rest) = i.operands.split_at(result);
        for o in results {
            inst.dst = self.wide_results(i, o)?;
        }
        for (n, o) in rest.iter().enumerate() {
            match n {
                0 => inst.src.push(self.memory(i, o)?),
                n if n <= values => inst.src.extend(self.wide_values(i, o)?),
                _ => inst.src.push(self.value(i, o, Scalar::U64, false)?),
            }
        }
        if given == required {
            inst.src.push(Src::None);
        }
        self.check_addresses(i, &inst)?;
        self.add(i, inst);
        Ok(())
    }

    /// `mov`: two moves of halves, which may have parts themselves.
    fn wide_move(
        &mut self,
        i: &ast::Instruction<'a>,
        guard: Option<(u32, Sense)>,
    ) -> Result<(), Error> {
        self.needed(i)?;
        let [to, from] = i.operands.as_slice() else {
            return self.wrong(i, format!("{} operands", i.operands.len()), "2");
        };
        let parts = |o: &ast::Operand<'_>| matches!(o.kind, Operand::Vector(_));
        if parts(to) && parts(from) {
            return self.wrong(i, "vectors on both sides", "one vector");
        }
        let (to, from) = (self.wide_results(i, to)?, self.wide_values(i, from)?);
        let (dsts, srcs) = (to.len() / 2, from.len() / 2);
        for (dst, src) in to.chunks(dsts).zip(from.chunks(srcs)) {
            let mut inst = Draft::new(Op::Mov, i.pos);
            inst.guard = guard;
            inst.types[0] = HALF;
            (inst.dst, inst.src) = (dst.to_vec(), src.to_vec());
            self.add(i, inst);
        }
        Ok(())
    }

    /// The type of a vector's parts in a `mov`.
    fn part(&self, i: &ast::Instruction<'a>, count: usize) -> Result<Scalar, Error> {
        match count {
            2 => Ok(HALF),
            4 => Ok(Scalar::B32),
            8 => Ok(Scalar::B16),
            _ => self.wrong(i, format!("{count} parts"), "128 bits in all"),
        }
    }

    /// The halves of a result: of a register, of nothing, or its parts.
    fn wide_results(
        &mut self,
        i: &ast::Instruction<'a>,
        o: &ast::Operand<'a>,
    ) -> Result<Vec<Dst>, Error> {
        match &o.kind {
            Operand::Sink => Ok(vec![Dst::Sink; 2]),
            Operand::Vector(list) if i.opcode == "mov" => {
                let ty = self.part(i, list.len())?;
                list.iter().map(|part| self.destination(i, part, ty, false)).collect()
            }
            _ => {
                let first = self.wide_halves(i, o)?;
                Ok([first, first + 1].map(|half| Dst::Reg(half, HALF.bits())).into())
            }
        }
    }

    /// The halves of a value: of a register, of a constant, or its parts.
    fn wide_values(
        &mut self,
        i: &ast::Instruction<'a>,
        o: &ast::Operand<'a>,
    ) -> Result<Vec<Src>, Error> {
        match &o.kind {
            Operand::Vector(list) if i.opcode == "mov" => {
                let ty = self.part(i, list.len())?;
                list.iter().map(|part| self.value(i, part, ty, false)).collect()
            }
            Operand::Const(ast::Const::Int { value, .. }) if (*value as i64) >= 0 => {
                Ok(vec![Src::Imm(*value), Src::Imm(0)])
            }
            _ => {
                let first = self.wide_halves(i, o)?;
                Ok([first, first + 1].map(Src::Reg).into())
            }
        }
    }

    fn wide_halves(&self, i: &ast::Instruction<'a>, o: &ast::Operand<'a>) -> Result<u32, Error> {
        match self.wide_register(o) {
            Some(first) => Ok(first),
            None => self.wrong(i, "another operand", format!("a register of type .{TYPE}")),
        }
    }
}
