//! Operands of tensor copies (`[map, {coordinates}]`, memory, a barrier object, pixel offsets, a block mask) and of
//! `tensormap`.
//!
//! Owns their order in the operation ([`crate::sem::AsyncOp`]). Must not know what is copied.

use super::function::Lower;
use super::instruction::Draft;
use crate::ast::{self, Const, OperandKind as Operand};
use crate::error::Error;
use crate::exec::tensor::MAP_BYTES;
use crate::ir::{Inst, Refusal, Sense, Src};
use crate::sem::tensor::{self, MapOp, Tensor, TensorOp};
use crate::sem::{AsyncOp, Asynchronous, Operation};
use crate::table::Op;
use crate::types::{Scalar, Space};

impl<'a> Lower<'a, '_> {
    /// What is done to a tensor map itself; `None` for other instructions.
    pub(super) fn tensor_map(
        &mut self,
        i: &ast::Instruction<'a>,
        guard: Option<(u32, Sense)>,
    ) -> Option<Result<(), Error>> {
        let found = tensor::find_map(i.opcode, &i.modifiers)?;
        let mut draft = Draft::new(Op::Nop, i.pos);
        draft.guard = guard;
        let sem = match found {
            Ok(what) => match self.map_operands(i, what, &mut draft) {
                Ok(sem) => Operation::Asynchronous(sem),
                Err(why) => return Some(Err(why)),
            },
            Err(reason) => {
                let instruction = i.full_name();
                self.out.refusals.push(Refusal { pos: i.pos, instruction, reason });
                Operation::Refused
            }
        };
        let mut inst = Inst::new(sem, i.pos);
        (inst.guard, inst.src) = (guard, draft.src);
        self.out.code.push(inst);
        Some(Ok(()))
    }

    fn map_operands(
        &mut self,
        i: &ast::Instruction<'a>,
        what: MapOp,
        draft: &mut Draft,
    ) -> Result<Asynchronous, Error> {
        if let Err(u) = self.declared.needs.check(i.opcode, &i.modifiers, i.operands.len()) {
            return self.wrong(i, u.found, u.expected);
        }
        let number = |operand: &ast::Operand<'a>| match operand.kind {
            Operand::Const(Const::Int { value, .. }) => Some(value),
            _ => None,
        };
        match (what, &i.operands[..]) {
            (MapOp::Replace { space, field }, [at, rest @ ..]) => {
                let (axis, value) = match (field.axes(), rest) {
                    (0, [value]) => (0, value),
                    (axes, [axis, value]) if axes > 0 => match number(axis) {
                        Some(n) if n < axes.into() => (n as u8, value),
                        _ => {
                            return self.wrong(
                                i,
                                "another axis",
                                format!("a constant below {axes}"),
                            );
                        }
                    },
                    (axes, _) => {
                        let expected = if axes > 0 { "3" } else { "2" };
                        return self.wrong(i, format!("{} operands", i.operands.len()), expected);
                    }
                };
                draft.src.push(self.memory(i, at)?);
                let ty = if field.is_wide() { Scalar::B64 } else { Scalar::B32 };
                draft.src.push(self.value(i, value, ty, true)?);
                let op = AsyncOp::Replace(field.of(axis));
                Ok(Asynchronous { op, to: space, barrier: None })
            }
            (MapOp::Copy, [to, from, bytes]) if number(bytes) == Some(MAP_BYTES as u64) => {
                draft.src.push(self.memory(i, to)?);
                draft.src.push(self.memory(i, from)?);
                draft.src.push(Src::Imm(MAP_BYTES as u64));
                let op = AsyncOp::Copy { from: Space::Shared, multicast: false, combine: None };
                Ok(Asynchronous { op, to: Space::Global, barrier: None })
            }
            _ => self.wrong(i, "other operands", "an address and what is written there"),
        }
    }

    /// A copy of a box; `None` for other instructions.
    pub(super) fn tensor(
        &mut self,
        i: &ast::Instruction<'a>,
        guard: Option<(u32, Sense)>,
    ) -> Option<Result<(), Error>> {
        let found = tensor::find(i.opcode, &i.modifiers)?;
        let mut draft = Draft::new(Op::Nop, i.pos);
        let sem = match found {
            Ok(what) => match self.tensor_operands(i, what, &mut draft) {
                Ok(sem) => sem,
                Err(why) => return Some(Err(why)),
            },
            Err(reason) => {
                let instruction = i.full_name();
                self.out.refusals.push(Refusal { pos: i.pos, instruction, reason });
                Some(Operation::Refused)
            }
        };
        if let Some(sem) = sem {
            let mut inst = Inst::new(sem, i.pos);
            (inst.guard, inst.src) = (guard, draft.src);
            self.out.code.push(inst);
        }
        Some(Ok(()))
    }

    /// The operation; nothing for a hint.
    fn tensor_operands(
        &mut self,
        i: &ast::Instruction<'a>,
        what: Tensor,
        draft: &mut Draft,
    ) -> Result<Option<Operation>, Error> {
        if let Err(u) = self.declared.needs.check(i.opcode, &i.modifiers, i.operands.len()) {
            return self.wrong(i, u.found, u.expected);
        }
        let columns = usize::from(what.columns);
        let required = match what.op {
            TensorOp::Load { multicast } => 3 + columns + usize::from(multicast),
            TensorOp::Store(_) => 2,
            TensorOp::Prefetch => 1 + columns,
        };
        let hint = usize::from(i.modifiers.contains(&"L2::cache_hint"));
        if i.operands.len() != required + hint {
            let found = format!("{} operands", i.operands.len());
            return self.wrong(i, found, format!("{}", required + hint));
        }
        let (shared, map) = match what.op {
            TensorOp::Load { .. } => (i.operands.first(), i.operands.get(1)),
            TensorOp::Store(_) => (i.operands.get(1), i.operands.first()),
            TensorOp::Prefetch => (None, i.operands.first()),
        };
        if let Some(shared) = shared {
            draft.src.push(self.memory(i, shared)?);
        }
        let Some(map) = map else { return Ok(None) };
        self.tensor_place(i, map, what.axes.into(), draft)?;
        let (multicast, barrier) = match what.op {
            TensorOp::Prefetch => return Ok(None),
            TensorOp::Store(_) => (false, None),
            TensorOp::Load { multicast } => {
                if let Some(object) = i.operands.get(2) {
                    draft.src.push(self.memory(i, object)?);
                }
                if let Some(offsets) = i.operands.get(3).filter(|_| what.columns) {
                    let packed = self.tensor_offsets(i, offsets, what.axes.into(), draft)?;
                    draft.src.push(packed);
                }
                if let Some(blocks) = i.operands.get(3 + columns).filter(|_| multicast) {
                    draft.src.push(self.value(i, blocks, Scalar::U16, true)?);
                }
                (multicast, Some(2 + what.axes))
            }
        };
        let combine = match what.op {
            TensorOp::Store(combine) => combine,
            _ => None,
        };
        let load = barrier.is_some();
        let Tensor { axes, columns, .. } = what;
        let op = AsyncOp::Tensor { axes, columns, load, multicast, combine };
        Ok(Some(Operation::Asynchronous(Asynchronous { op, to: Space::Shared, barrier })))
    }

    /// What is added to the coordinates of pixels: 16 bits of each axis between the first and the last, in one register.
    fn tensor_offsets(
        &mut self,
        i: &ast::Instruction<'a>,
        operand: &ast::Operand<'a>,
        axes: usize,
        draft: &Draft,
    ) -> Result<Src, Error> {
        let one = std::slice::from_ref(operand);
        let list = match &operand.kind {
            Operand::Vector(list) => list,
            _ => one,
        };
        if list.len() != axes - 2 {
            return self.wrong(i, format!("{} offsets", list.len()), format!("{}", axes - 2));
        }
        let mut parts = Vec::new();
        for n in 0..4 {
            let part = match list.get(n) {
                Some(operand) => self.value(i, operand, Scalar::U16, true)?,
                None => Src::Imm(0),
            };
            parts.push(self.make(draft, Op::Mov, &[], Scalar::B16, vec![part])?);
        }
        self.make(draft, Op::Mov, &[], Scalar::B64, parts)
    }

    /// `[map, {coordinates}]`: the map's address, then a coordinate for each axis.
    fn tensor_place(
        &mut self,
        i: &ast::Instruction<'a>,
        operand: &ast::Operand<'a>,
        axes: usize,
        draft: &mut Draft,
    ) -> Result<(), Error> {
        let Operand::Memory(address, rest) = &operand.kind else {
            return self.wrong(i, "no tensor map", "[map, {coordinates}]");
        };
        let plain = ast::Operand { pos: operand.pos, kind: Operand::Memory(*address, Vec::new()) };
        draft.src.push(self.memory(i, &plain)?);
        let [coordinates] = &rest[..] else {
            return self.wrong(i, format!("{} operands in brackets", 1 + rest.len()), "2");
        };
        let one = std::slice::from_ref(coordinates);
        let list = match &coordinates.kind {
            Operand::Vector(list) => list,
            _ => one,
        };
        if list.len() != axes {
            return self.wrong(i, format!("{} coordinates", list.len()), format!("{axes}"));
        }
        for operand in list {
            let src: Src = self.value(i, operand, Scalar::S32, false)?;
            draft.src.push(src);
        }
        Ok(())
    }
}
