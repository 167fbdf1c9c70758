//! Operands of texture and surface instructions.
//!
//! Owns how a reference with its tuple of coordinates becomes operands: the reference (a handle in a register, or the
//! address of the variable that holds one), the coordinates, and an instruction's further operands: a level,
//! derivatives, values to store. Must not know what is done with them.

use super::function::Lower;
use super::instruction::Draft;
use crate::ast::{self, Const, OperandKind as Operand};
use crate::error::Error;
use crate::ir::{Dst, Inst, Refusal, Src, Symbol};
use crate::sem::Operation;
use crate::sem::texture::{self, Fetch, Form, Geometry, Surface, SurfaceOp, Texture};
use crate::table::Op;
use crate::types::Scalar;

impl<'a> Lower<'a, '_> {
    /// An instruction of these classes; `None` for others.
    pub(super) fn textured(
        &mut self,
        i: &ast::Instruction<'a>,
        guard: Option<(u32, crate::ir::Sense)>,
    ) -> Option<Result<(), Error>> {
        let found = texture::find(i.opcode, &i.modifiers)?;
        let mut draft = Draft::new(Op::Nop, i.pos);
        draft.guard = guard;
        let made = match found {
            Ok(form) => self.with_operands(i, form, &mut draft),
            Err(why) => Ok(Err(why)),
        };
        Some(made.map(|made| {
            let sem = made.unwrap_or_else(|reason| {
                let instruction = i.full_name();
                self.out.refusals.push(Refusal { pos: i.pos, instruction, reason });
                Operation::Refused
            });
            let Draft { guard, dst, src, .. } = draft;
            let mut inst = Inst::new(sem, i.pos);
            (inst.guard, inst.dst, inst.src) = (guard, dst, src);
            self.out.code.push(inst);
        }))
    }

    /// The operation with its operands in the draft, or why it is refused.
    fn with_operands(
        &mut self,
        i: &ast::Instruction<'a>,
        form: Form,
        draft: &mut Draft,
    ) -> Result<Result<Operation, String>, Error> {
        match form {
            Form::Texture(what) => self.texture(i, what, draft),
            Form::Surface(what) => self.surface(i, what, draft),
            Form::Query(what) => {
                let count = 2 + usize::from(what.has_level());
                let [result, of, rest @ ..] = self.exactly(i, count)? else {
                    return self.wrong(i, "no operands", "2");
                };
                let ty = if what.is_kind() { Scalar::Pred } else { Scalar::B32 };
                draft.dst.push(self.destination(i, result, ty, true)?);
                match &of.kind {
                    Operand::Memory(..) => {
                        if let Err(why) = self.reference(i, of, None, draft)? {
                            return Ok(Err(why));
                        }
                    }
                    _ => draft.src.push(self.value(i, of, Scalar::B64, false)?),
                }
                for level in rest {
                    draft.src.push(self.value(i, level, Scalar::B32, false)?);
                }
                Ok(Ok(Operation::TextureQuery(what)))
            }
        }
    }

    /// The operands, of which there are so many.
    fn exactly<'o>(
        &self,
        i: &'o ast::Instruction<'a>,
        count: usize,
    ) -> Result<&'o [ast::Operand<'a>], Error> {
        if i.operands.len() != count {
            return self.wrong(i, format!("{} operands", i.operands.len()), format!("{count}"));
        }
        Ok(&i.operands)
    }

    fn texture(
        &mut self,
        i: &ast::Instruction<'a>,
        mut what: Texture,
        draft: &mut Draft,
    ) -> Result<Result<Operation, String>, Error> {
        let more = match what.fetch {
            Fetch::Level => 1,
            Fetch::Gradient => 2,
            _ => 0,
        };
        let [result, reference, rest @ ..] = &i.operands[..] else {
            return self.wrong(i, format!("{} operands", i.operands.len()), "2 at least");
        };
        if rest.len() < more {
            let expected = format!("{}", 2 + more);
            return self.wrong(i, format!("{} operands", i.operands.len()), expected);
        }
        let wide = what.result == Scalar::F16x2;
        let n = if wide { 2 } else { 4 };
        self.texels(i, result, what.result, n, draft)?;
        if let Err(why) = self.reference(i, reference, Some(what.geometry), draft)? {
            return Ok(Err(why));
        }
        let (levels, rest) = rest.split_at(more);
        for operand in levels {
            match what.fetch {
                Fetch::Gradient => self.tuple(i, operand, what.geometry.axes(), draft)?,
                _ => draft.src.push(self.value(i, operand, Scalar::B32, false)?),
            }
        }
        match rest {
            [] => {}
            [offset] => match offsets(offset, what.geometry.flat_axes()) {
                Some(found) => what.offset = found,
                None => {
                    return Ok(Err(
                        "an offset that is no constant, or a depth to compare with".into()
                    ));
                }
            },
            _ => return Ok(Err("comparing with a depth is not supported".into())),
        }
        Ok(Ok(Operation::Texture(what)))
    }

    fn surface(
        &mut self,
        i: &ast::Instruction<'a>,
        what: Surface,
        draft: &mut Draft,
    ) -> Result<Result<Operation, String>, Error> {
        let [first, second] = self.exactly(i, 2)? else {
            return self.wrong(i, "other operands", "2");
        };
        let n = usize::from(what.parts);
        if what.op == SurfaceOp::Load {
            self.texels(i, first, what.element, n, draft)?;
            let found = self.reference(i, second, Some(what.geometry), draft)?;
            return Ok(found.map(|()| Operation::Surface(what)));
        }
        if let Err(why) = self.reference(i, first, Some(what.geometry), draft)? {
            return Ok(Err(why));
        }
        match &second.kind {
            Operand::Vector(list) if list.len() == n => {
                for operand in list {
                    draft.src.push(self.value(i, operand, what.element, true)?);
                }
            }
            Operand::Vector(list) => {
                return self.wrong(i, format!("{} values", list.len()), format!("{n}"));
            }
            _ if n == 1 => draft.src.push(self.value(i, second, what.element, true)?),
            _ => return self.wrong(i, "one value", format!("{n}")),
        }
        Ok(Ok(Operation::Surface(what)))
    }

    /// Results: a tuple of `n`, or a single one; after a bar, whether all texels are resident.
    fn texels(
        &mut self,
        i: &ast::Instruction<'a>,
        operand: &ast::Operand<'a>,
        ty: Scalar,
        n: usize,
        draft: &mut Draft,
    ) -> Result<(), Error> {
        match &operand.kind {
            Operand::Pair(texels, resident) => {
                self.texels(i, texels, ty, n, draft)?;
                draft.dst.push(self.destination(i, resident, Scalar::Pred, false)?);
            }
            Operand::Vector(list) if list.len() == n => {
                for operand in list {
                    let dst = self.destination(i, operand, ty, true)?;
                    draft.dst.push(dst);
                }
            }
            Operand::Vector(list) => {
                return self.wrong(i, format!("{} results", list.len()), format!("{n}"));
            }
            Operand::Sink => draft.dst.extend(vec![Dst::Sink; n]),
            _ if n == 1 => draft.dst.push(self.destination(i, operand, ty, true)?),
            _ => return self.wrong(i, "one result", format!("{n}")),
        }
        Ok(())
    }

    /// `[reference, {coordinates}]`, or the reference alone.
    fn reference(
        &mut self,
        i: &ast::Instruction<'a>,
        operand: &ast::Operand<'a>,
        geometry: Option<Geometry>,
        draft: &mut Draft,
    ) -> Result<Result<(), String>, Error> {
        let Operand::Memory(ast::Address { base: Some(name), offset: 0 }, rest) = &operand.kind
        else {
            return self.wrong(i, "no reference", "a reference in brackets");
        };
        let named = ast::Operand { pos: operand.pos, kind: Operand::Name(name, 0) };
        let reference = self.value(i, &named, Scalar::B64, false)?;
        if !matches!(reference, Src::Reg(_) | Src::Address(Symbol::Global(_), 0)) {
            return Ok(Err("a reference that is a parameter is not supported".into()));
        }
        draft.src.push(reference);
        match (geometry, &rest[..]) {
            (None, []) => Ok(Ok(())),
            (Some(geometry), [coordinates]) => {
                self.tuple(i, coordinates, geometry.coordinates(), draft).map(Ok)
            }
            (Some(_), [_, _]) => {
                Ok(Err("a sampler of its own (.texmode_independent) is not supported".into()))
            }
            _ => self.wrong(i, format!("{} operands in brackets", 1 + rest.len()), "others"),
        }
    }

    /// The first `n` of a tuple; a single one needs no braces. Further ones are ignored.
    fn tuple(
        &mut self,
        i: &ast::Instruction<'a>,
        operand: &ast::Operand<'a>,
        n: usize,
        draft: &mut Draft,
    ) -> Result<(), Error> {
        let one = std::slice::from_ref(operand);
        let list = match &operand.kind {
            Operand::Vector(list) => list,
            _ => one,
        };
        if list.len() < n || list.len() > 4 {
            return self.wrong(i, format!("{} coordinates", list.len()), format!("{n}"));
        }
        for operand in &list[..n] {
            let src = self.value(i, operand, Scalar::B32, false)?;
            draft.src.push(src);
        }
        Ok(())
    }
}

/// Constant offsets of so many axes, from -8 to 7.
fn offsets(operand: &ast::Operand<'_>, axes: usize) -> Option<[i8; 3]> {
    let one = std::slice::from_ref(operand);
    let list = match &operand.kind {
        Operand::Vector(list) => list,
        _ => one,
    };
    let mut all = [0; 3];
    if list.len() < axes {
        return None;
    }
    for (to, operand) in all.iter_mut().zip(&list[..axes]) {
        let Operand::Const(Const::Int { value, .. }) = operand.kind else { return None };
        *to = i8::try_from(value as i64).ok().filter(|v| (-8..8).contains(v))?;
    }
    Some(all)
}
