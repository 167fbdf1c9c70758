//! Operands of copies of boxes of tensors: `[map, {coordinates}]`, memory, a barrier object, a mask of blocks.
//!
//! Owns their order in the operation ([`crate::sem::AsyncOp::Tensor`]). Must not know what is copied.

use super::function::Lower;
use super::instruction::Draft;
use crate::ast::{self, OperandKind as Operand};
use crate::error::Error;
use crate::ir::{Inst, Refusal, Sense, Src};
use crate::sem::tensor::{self, Tensor, TensorOp};
use crate::sem::{AsyncOp, Asynchronous, Operation};
use crate::table::Op;
use crate::types::{Scalar, Space};

impl<'a> Lower<'a, '_> {
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
        let (required, more) = match what.op {
            TensorOp::Load { multicast } => (3 + usize::from(multicast), 1),
            TensorOp::Store(_) => (2, 1),
            TensorOp::Prefetch => (1, 1),
        };
        let hint = usize::from(i.modifiers.contains(&"L2::cache_hint"));
        if i.operands.len() != required + hint * more {
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
                if let Some(blocks) = i.operands.get(3).filter(|_| multicast) {
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
        let op = AsyncOp::Tensor { axes: what.axes, load, multicast, combine };
        Ok(Some(Operation::Asynchronous(Asynchronous { op, to: Space::Shared, barrier })))
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
