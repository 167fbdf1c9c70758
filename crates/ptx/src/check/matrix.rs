//! Matrix instructions: the registers of fragments, and the instructions that are composed of others.
//!
//! Owns the expansion of `ldmatrix`, `stmatrix`, `movmatrix`, `wmma.load` and `wmma.store`: each lane reads or writes
//! its own part of a matrix, and lanes exchange addresses (`ldmatrix`, `stmatrix`) or compute them. So these become
//! shuffles, loads and stores, as a programmer would write them. [`crate::matrix`] defines which element is where.

use super::function::Lower;
use super::instruction::Draft;
use crate::ast::{self, OperandKind as Operand};
use crate::error::Error;
use crate::ir::{Base, Dst, Special, Src};
use crate::sem::{self, Context};
use crate::table::{Form, Op, Part, Word};
use crate::types::{Scalar, Space};

/// All lanes.
pub(super) const ALL: Src = Src::Imm(u32::MAX as u64);

impl<'a> Lower<'a, '_> {
    fn registers_of(
        &self,
        i: &ast::Instruction<'a>,
        form: &Form,
        part: Part,
    ) -> Result<(usize, Scalar), Error> {
        match sem::registers(form.row.op, &form.words, &form.types, part) {
            Some((n, Scalar::F64)) => Ok((n, Scalar::B64)),
            Some((n, _)) => Ok((n, Scalar::B32)),
            None => self.wrong(i, "no such matrix", "one of this shape and type"),
        }
    }

    /// The operands of a fragment, and what registers they are; a single one may stand without braces.
    fn fragment<'o>(
        &self,
        i: &ast::Instruction<'a>,
        form: &Form,
        part: Part,
        operand: &'o ast::Operand<'a>,
    ) -> Result<(&'o [ast::Operand<'a>], Scalar), Error> {
        let (n, ty) = self.registers_of(i, form, part)?;
        let list = match &operand.kind {
            Operand::Vector(list) => list.as_slice(),
            _ => std::slice::from_ref(operand),
        };
        if list.len() == n {
            return Ok((list, ty));
        }
        self.wrong(i, format!("{} registers", list.len()), format!("{n}"))
    }

    pub(super) fn fragment_result(
        &mut self,
        i: &ast::Instruction<'a>,
        form: &Form,
        part: Part,
        operand: &ast::Operand<'a>,
        inst: &mut Draft,
    ) -> Result<(), Error> {
        let (registers, ty) = self.fragment(i, form, part, operand)?;
        for o in registers {
            let dst = self.destination(i, o, ty, false)?;
            inst.dst.push(dst);
        }
        Ok(())
    }

    pub(super) fn fragment_source(
        &mut self,
        i: &ast::Instruction<'a>,
        form: &Form,
        part: Part,
        operand: &ast::Operand<'a>,
        inst: &mut Draft,
    ) -> Result<(), Error> {
        let (registers, ty) = self.fragment(i, form, part, operand)?;
        for o in registers {
            match self.value(i, o, ty, false)? {
                src @ Src::Reg(_) => inst.src.push(src),
                _ => return self.wrong(i, "another operand", "a register"),
            }
        }
        Ok(())
    }

    /// Replaces an instruction by others.
    pub(super) fn compose(&mut self, inst: &Draft) -> Result<(), Error> {
        match inst.op {
            Op::Movmatrix => self.transpose(inst),
            Op::Elect => self.elect(inst),
            Op::Ldmatrix | Op::Stmatrix => self.rows(inst),
            _ => self.tile(inst),
        }
    }

    /// Appends an instruction under the guard of the composed one.
    pub(super) fn put(
        &mut self,
        of: &Draft,
        op: Op,
        words: &[Word],
        ty: [Scalar; 2],
        dst: Vec<Dst>,
        src: Vec<Src>,
    ) {
        self.put_typed(of, op, words, [ty[0], ty[1], Scalar::B32, Scalar::B32], dst, src);
    }

    /// The same with all types.
    pub(super) fn put_typed(
        &mut self,
        of: &Draft,
        op: Op,
        words: &[Word],
        types: [Scalar; 4],
        dst: Vec<Dst>,
        src: Vec<Src>,
    ) {
        let mut draft = Draft::new(op, of.pos);
        draft.guard = of.guard;
        draft.words.extend(words.iter().copied());
        draft.types = types;
        (draft.dst, draft.src) = (dst, src);
        let context = Context { entry: self.out.entry, registers: &self.out.registers };
        let (inst, why) = draft.finish(context);
        debug_assert!(why.is_none(), "{why:?}");
        self.out.code.push(inst);
    }

    /// The same with one type and one result, in a new register.
    pub(super) fn make(
        &mut self,
        of: &Draft,
        op: Op,
        words: &[Word],
        ty: Scalar,
        src: Vec<Src>,
    ) -> Result<Src, Error> {
        let register = self.register(ty, 1, of.pos)?;
        self.put(of, op, words, [ty, Scalar::B32], vec![Dst::Reg(register, ty.bits())], src);
        Ok(Src::Reg(register))
    }

    pub(super) fn u32s(
        &mut self,
        of: &Draft,
        op: Op,
        words: &[Word],
        a: Src,
        b: u64,
    ) -> Result<Src, Error> {
        if b == 0 && matches!(op, Op::Add | Op::Shl | Op::Shr | Op::Or) {
            return Ok(a);
        }
        let ty = if op == Op::Add { Scalar::U32 } else { Scalar::B32 };
        self.make(of, op, words, ty, vec![a, Src::Imm(b)])
    }

    /// The lane's number.
    pub(super) fn lane(&mut self, of: &Draft) -> Result<Src, Error> {
        self.make(of, Op::Mov, &[], Scalar::U32, vec![Src::Special(Special::LaneId)])
    }

    /// What the lane with number `from` has.
    fn shuffled(&mut self, of: &Draft, value: Src, from: Src) -> Result<Src, Error> {
        let src = vec![value, from, Src::Imm(31), ALL];
        let register = self.register(Scalar::B32, 1, of.pos)?;
        let dst = vec![Dst::Reg(register, 32)];
        self.put(of, Op::Shfl, &[Word::Idx, Word::Sync], [Scalar::B32; 2], dst, src);
        Ok(Src::Reg(register))
    }

    /// `movmatrix`: a lane's two elements are in two rows, in the same column.
    fn transpose(&mut self, of: &Draft) -> Result<(), Error> {
        let ([dst], [value]) = (of.dst.as_slice(), of.src.as_slice()) else { return Ok(()) };
        let lane = self.lane(of)?;
        let row = self.u32s(of, Op::And, &[], lane.clone(), 3)?;
        let row = self.u32s(of, Op::Shl, &[], row, 3)?;
        let column = self.u32s(of, Op::Shr, &[], lane.clone(), 3)?;
        let first = self.make(of, Op::Or, &[], Scalar::B32, vec![row, column])?;
        let second = self.u32s(of, Op::Or, &[], first.clone(), 4)?;
        let low = self.shuffled(of, value.clone(), first)?;
        let high = self.shuffled(of, value.clone(), second)?;
        // Upper halves where the column is odd.
        let odd = self.u32s(of, Op::Shr, &[], lane, 2)?;
        let odd = self.u32s(of, Op::And, &[], odd, 1)?;
        let src = vec![odd, Src::Imm(0x2222), Src::Imm(0x5410)];
        let which = self.make(of, Op::Mad, &[Word::Lo], Scalar::U32, src)?;
        self.put(of, Op::Prmt, &[], [Scalar::B32; 2], vec![*dst], vec![low, high, which]);
        Ok(())
    }

    /// `elect`: the lanes come together, and the lowest of the mask is elected.
    fn elect(&mut self, of: &Draft) -> Result<(), Error> {
        let ([number, chosen], [mask]) = (of.dst.as_slice(), of.src.as_slice()) else {
            return Ok(());
        };
        self.put(
            of,
            Op::BarWarp,
            &[Word::Warp, Word::Sync],
            [Scalar::B32; 2],
            Vec::new(),
            vec![mask.clone()],
        );
        let turned = self.make(of, Op::Brev, &[], Scalar::B32, vec![mask.clone()])?;
        let lowest = self.make(of, Op::Clz, &[], Scalar::B32, vec![turned])?;
        let lane = self.lane(of)?;
        let src = vec![lane, lowest.clone()];
        self.put(of, Op::Setp, &[Word::Eq], [Scalar::U32, Scalar::B32], vec![*chosen], src);
        self.put(of, Op::Mov, &[], [Scalar::B32; 2], vec![*number], vec![lowest]);
        Ok(())
    }

    /// An address in a register, plus an offset.
    pub(super) fn address(
        &mut self,
        of: &Draft,
        space: Space,
    ) -> Result<(Src, Scalar, i64), Error> {
        let Some(Src::Memory(base, offset)) = of.src.first() else {
            return Ok((Src::Imm(0), Scalar::U64, 0));
        };
        let (register, ty) = match *base {
            Base::Reg(r, 32) => (Src::Reg(r), Scalar::U32),
            Base::Reg(r, _) => (Src::Reg(r), Scalar::U64),
            Base::Symbol(symbol) => {
                let src = vec![Src::Address(symbol, 0)];
                (self.make(of, Op::Mov, &[], Scalar::U64, src)?, Scalar::U64)
            }
            Base::Zero => {
                (self.make(of, Op::Mov, &[], Scalar::U64, vec![Src::Imm(0)])?, Scalar::U64)
            }
        };
        if space != Space::Shared || ty == Scalar::U32 {
            return Ok((register, ty, *offset));
        }
        // For shared memory, 32 bits suffice.
        let narrow = self.register(Scalar::U32, 1, of.pos)?;
        let types = [Scalar::U32, Scalar::U64];
        self.put(of, Op::Cvt, &[], types, vec![Dst::Reg(narrow, 32)], vec![register]);
        Ok((Src::Reg(narrow), Scalar::U32, *offset))
    }

    /// `ldmatrix`, `stmatrix`: eight lanes have the addresses of a matrix's rows. A row has eight elements, of which a
    /// lane gets two; of a transposed matrix one of each of two rows.
    fn rows(&mut self, of: &Draft) -> Result<(), Error> {
        let store = of.op == Op::Stmatrix;
        let space = sem::checked_space(&of.statement(), 0, self.out.entry);
        let (address, ty, offset) = self.address(of, space)?;
        let lane = self.lane(of)?;
        let low = self.u32s(of, Op::And, &[], lane.clone(), 3)?;
        let high = self.u32s(of, Op::Shr, &[], lane, 2)?;
        let transposed = of.words.has(Word::Trans);
        let (row, along) = match transposed {
            false => (high, self.u32s(of, Op::Shl, &[], low, 2)?),
            true => (self.u32s(of, Op::Shl, &[], low, 1)?, self.u32s(of, Op::Shl, &[], high, 1)?),
        };
        let matrices = if store { of.src.len() - 1 } else { of.dst.len() };
        // A loaded value may overwrite the address register.
        let mut loaded = Vec::new();
        for n in 0..matrices {
            let mut places = Vec::new();
            for k in 0..if transposed { 2 } else { 1 } {
                let from = self.u32s(of, Op::Add, &[], row.clone(), 8 * n as u64 + k)?;
                places.push(self.row_address(of, &address, ty, from, &along, offset)?);
            }
            let (element, bits) = if transposed { (Scalar::B16, 16) } else { (Scalar::B32, 32) };
            if store {
                let value = of.src[1 + n].clone();
                let parts = if transposed { self.halves(of, value)? } else { vec![value] };
                for (place, part) in places.into_iter().zip(parts) {
                    self.store(of, space, element, place, part);
                }
                continue;
            }
            let mut parts = Vec::new();
            for place in places {
                let register = self.register(element, 1, of.pos)?;
                self.load(of, space, element, place, Dst::Reg(register, bits));
                parts.push(Src::Reg(register));
            }
            loaded.push(parts);
        }
        for (dst, parts) in of.dst.iter().zip(loaded) {
            self.put(of, Op::Mov, &[], [Scalar::B32; 2], vec![*dst], parts);
        }
        Ok(())
    }

    /// The address of a row, from lane `from`, plus the offset in the row.
    fn row_address(
        &mut self,
        of: &Draft,
        address: &Src,
        ty: Scalar,
        from: Src,
        along: &Src,
        offset: i64,
    ) -> Result<Src, Error> {
        let row = if ty == Scalar::U32 {
            self.shuffled(of, address.clone(), from)?
        } else {
            let halves = self.register(Scalar::B32, 2, of.pos)?;
            let dst = vec![Dst::Reg(halves, 32), Dst::Reg(halves + 1, 32)];
            self.put(of, Op::Mov, &[], [Scalar::B64, Scalar::B32], dst, vec![address.clone()]);
            let low = self.shuffled(of, Src::Reg(halves), from.clone())?;
            let high = self.shuffled(of, Src::Reg(halves + 1), from)?;
            self.make(of, Op::Mov, &[], Scalar::B64, vec![low, high])?
        };
        let along = self.widened(of, along, ty)?;
        let sum = self.make(of, Op::Add, &[], ty, vec![row, along])?;
        let Src::Reg(register) = sum else { return Ok(sum) };
        Ok(Src::Memory(Base::Reg(register, ty.bits()), offset))
    }

    pub(super) fn widened(&mut self, of: &Draft, value: &Src, ty: Scalar) -> Result<Src, Error> {
        if ty == Scalar::U32 {
            return Ok(value.clone());
        }
        let wide = self.register(Scalar::U64, 1, of.pos)?;
        let types = [Scalar::U64, Scalar::U32];
        self.put(of, Op::Cvt, &[], types, vec![Dst::Reg(wide, 64)], vec![value.clone()]);
        Ok(Src::Reg(wide))
    }

    pub(super) fn halves(&mut self, of: &Draft, value: Src) -> Result<Vec<Src>, Error> {
        let first = self.register(Scalar::B16, 2, of.pos)?;
        let dst = vec![Dst::Reg(first, 16), Dst::Reg(first + 1, 16)];
        self.put(of, Op::Mov, &[], [Scalar::B32; 2], dst, vec![value]);
        Ok(vec![Src::Reg(first), Src::Reg(first + 1)])
    }

    pub(super) fn load(&mut self, of: &Draft, space: Space, ty: Scalar, place: Src, dst: Dst) {
        self.put(of, Op::Ld, words(space), [ty, Scalar::B32], vec![dst], vec![place, Src::None]);
    }

    pub(super) fn store(&mut self, of: &Draft, space: Space, ty: Scalar, place: Src, value: Src) {
        let src = vec![place, value, Src::None];
        self.put(of, Op::St, words(space), [ty, Scalar::B32], Vec::new(), src);
    }
}

/// The word that names a space.
fn words(space: Space) -> &'static [Word] {
    match space {
        Space::Global => &[Word::Global],
        Space::Const => &[Word::Const],
        Space::Shared => &[Word::Shared],
        Space::Local => &[Word::Local],
        Space::Param => &[Word::Param],
        _ => &[],
    }
}
