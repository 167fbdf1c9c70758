//! `wgmma`: matrix products by four warps, with at least one factor in shared memory.
//!
//! Owns the expansion of such a product: each warp has 16 rows, so it loads its part of the factors as fragments and
//! multiplies tile by tile. The four warps wait for each other before it, and where the program waits. A product is
//! computed at its place in the code; the program cannot tell, because it may neither read the result nor change the
//! factors before it has waited. The descriptor says where an element is (PTX ISA 9, "Matrix-descriptor-format",
//! "Strides", "Swizzling Modes"). Must not know how products are added.

use super::function::Lower;
use super::instruction::Draft;
use crate::ast::{self, Const, OperandKind as Operand};
use crate::error::Error;
use crate::ir::{Base, Dst, Inst, Refusal, Sense, Special, Src};
use crate::sem::warpgroup::{self, Form, Product};
use crate::sem::{Barrier, Operation};
use crate::table::{Op, Word};
use crate::types::{Scalar, Space};

/// What `wait_group` and the rest of the operands take.
struct Operands {
    /// Registers of the result.
    d: Vec<Dst>,
    /// The same, as summands.
    c: Vec<Src>,
    /// The first factor.
    a: Factor,
    /// The second.
    b: Factor,
    /// For a sparse first factor, which elements it has, and the word that says so.
    meets: Option<(Src, u64)>,
    /// Whether there is something to add to.
    adds: Src,
    /// The product's sign is the other.
    negative: bool,
}

/// A factor: fragments, or a descriptor and whether its elements follow each other across the columns of a product.
enum Factor {
    Registers(Vec<Src>),
    Memory(Src, bool),
}

impl<'a> Lower<'a, '_> {
    /// A `wgmma`; `None` for other instructions.
    pub(super) fn warpgroup(
        &mut self,
        i: &ast::Instruction<'a>,
        guard: Option<(u32, Sense)>,
    ) -> Option<Result<(), Error>> {
        let mut draft = Draft::new(Op::Nop, i.pos);
        draft.guard = guard;
        Some(match warpgroup::find(i.opcode, &i.modifiers)? {
            Ok(form) => self.of_warpgroup(i, form, &draft),
            Err(reason) => {
                let instruction = i.full_name();
                self.out.refusals.push(Refusal { pos: i.pos, instruction, reason });
                let mut inst = Inst::new(Operation::Refused, i.pos);
                inst.guard = guard;
                self.out.code.push(inst);
                Ok(())
            }
        })
    }

    fn of_warpgroup(
        &mut self,
        i: &ast::Instruction<'a>,
        form: Form,
        of: &Draft,
    ) -> Result<(), Error> {
        if let Err(u) = self.declared.needs.check(i.opcode, &i.modifiers, i.operands.len()) {
            return self.wrong(i, u.found, u.expected);
        }
        match (form, &i.operands[..]) {
            (Form::Product(what), _) => {
                let operands = self.warpgroup_operands(i, &what)?;
                self.warpgroup_barrier(of)?;
                self.warpgroup_product(of, &what, &operands)
            }
            (Form::Order, []) => Ok(()),
            (Form::Wait, [ast::Operand { kind: Operand::Const(Const::Int { .. }), .. }]) => {
                self.warpgroup_barrier(of)
            }
            (Form::Order, _) => self.wrong(i, "operands", "none"),
            (Form::Wait, _) => self.wrong(i, "another operand", "a number of groups"),
        }
    }

    /// The four warps wait for each other. A GPU starts a product when all of them have requested it, and has read
    /// its factors when they have waited. So a warp that computes its part by itself must see the same writes of the
    /// others before and after.
    fn warpgroup_barrier(&mut self, of: &Draft) -> Result<(), Error> {
        let warp = self.make(of, Op::Mov, &[], Scalar::U32, vec![Src::Special(Special::WarpId)])?;
        let group = self.u32s(of, Op::Shr, &[], warp, 2)?;
        let mut inst = Inst::new(Operation::Barrier(Barrier::Warpgroup), of.pos);
        inst.guard = of.guard;
        inst.src = [group, Src::Imm(128)].into_iter().collect();
        self.out.code.push(inst);
        Ok(())
    }

    fn warpgroup_operands(
        &mut self,
        i: &ast::Instruction<'a>,
        what: &Product,
    ) -> Result<Operands, Error> {
        let (meets, adds, rest) = match (&i.operands[..], what.sparse) {
            ([_, _, _, adds, rest @ ..], false) => (None, adds, rest),
            ([_, _, _, words, selector, adds, rest @ ..], true) => {
                (Some((words, selector)), adds, rest)
            }
            _ => {
                let least = if what.sparse { "6 at least" } else { "4 at least" };
                return self.wrong(i, format!("{} operands", i.operands.len()), least);
            }
        };
        let [d, a, b, ..] = &i.operands[..] else {
            return self.wrong(i, "no operands", "4 at least");
        };
        let (results, summands) = self.results(i, what, d)?;
        let in_registers = matches!(a.kind, Operand::Vector(_));
        let mut numbers = Vec::new();
        for operand in rest {
            match operand.kind {
                Operand::Const(Const::Int { value, .. }) => numbers.push(value as i64),
                _ => return self.wrong(i, "another operand", "a constant"),
            }
        }
        let transposes = match (what.can_transpose(), in_registers) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => 2,
        };
        let signs = if what.has_signs() { 2 } else { 0 };
        if numbers.len() != signs + transposes {
            let found = format!("{} constants", numbers.len());
            return self.wrong(i, found, format!("{}", signs + transposes));
        }
        let (signs, transposes) = numbers.split_at(signs);
        if signs.iter().any(|n| n.abs() != 1) || transposes.iter().any(|n| !matches!(n, 0 | 1)) {
            return self.wrong(
                i,
                "another constant",
                "1 or -1 for a factor's sign, 0 or 1 behind it",
            );
        }
        let across = |n: usize| transposes.get(n) == Some(&1);
        let b = self.value(i, b, Scalar::B64, false)?;
        let (a, b) = match &a.kind {
            Operand::Vector(list) if list.len() == 4 => {
                let mut own = Vec::new();
                for register in list {
                    own.push(self.value(i, register, Scalar::B32, true)?);
                }
                (Factor::Registers(own), Factor::Memory(b, across(0)))
            }
            Operand::Vector(list) => {
                return self.wrong(i, format!("{} registers", list.len()), "4");
            }
            _ => {
                let a = self.value(i, a, Scalar::B64, false)?;
                (Factor::Memory(a, across(0)), Factor::Memory(b, across(1)))
            }
        };
        let meets = match meets {
            Some((words, selector)) => Some(self.selection(i, what, words, selector)?),
            None => None,
        };
        let adds = self.value(i, adds, Scalar::Pred, false)?;
        let negative = signs.iter().product::<i64>() < 0;
        Ok(Operands { d: results, c: summands, a, b, meets, adds, negative })
    }

    /// Which elements there are of a sparse factor, and whose word says it.
    fn selection(
        &mut self,
        i: &ast::Instruction<'a>,
        what: &Product,
        words: &ast::Operand<'a>,
        selector: &ast::Operand<'a>,
    ) -> Result<(Src, u64), Error> {
        let words = self.value(i, words, Scalar::B32, true)?;
        let most = if what.a.bits() == 8 { 1 } else { 2 };
        match selector.kind {
            Operand::Const(Const::Int { value, .. }) if value < most => Ok((words, value)),
            _ => self.wrong(i, "another selector", format!("a constant below {most}")),
        }
    }

    /// Registers of the result, as results and as summands.
    fn results(
        &mut self,
        i: &ast::Instruction<'a>,
        what: &Product,
        d: &ast::Operand<'a>,
    ) -> Result<(Vec<Dst>, Vec<Src>), Error> {
        let expected = what.registers() * what.tiles();
        let registers = match &d.kind {
            Operand::Vector(list) if list.len() == expected => list,
            Operand::Vector(list) => {
                return self.wrong(i, format!("{} results", list.len()), format!("{expected}"));
            }
            _ => return self.wrong(i, "another result", format!("{expected} registers")),
        };
        let (mut results, mut summands) = (Vec::new(), Vec::new());
        for register in registers {
            results.push(self.destination(i, register, Scalar::B32, true)?);
            summands.push(self.value(i, register, Scalar::B32, true)?);
        }
        Ok((results, summands))
    }

    fn warpgroup_product(
        &mut self,
        of: &Draft,
        what: &Product,
        operands: &Operands,
    ) -> Result<(), Error> {
        let bits = what.a.bits();
        let mut a = match &operands.a {
            Factor::Registers(own) => own.clone(),
            Factor::Memory(descriptor, across) => {
                let matrix = self.described(of, descriptor, *across, bits)?;
                let warp =
                    self.make(of, Op::Mov, &[], Scalar::U32, vec![Src::Special(Special::WarpId)])?;
                let warp = self.u32s(of, Op::And, &[], warp, 3)?;
                // Two groups of eight rows are a warp's.
                let first = self.u32s(of, Op::Shl, &[], warp, 1)?;
                let second = self.u32s(of, Op::Or, &[], first.clone(), 1)?;
                let mut all = Vec::new();
                for chunk in 0..2 {
                    for group in [&first, &second] {
                        all.push(self.word(of, &matrix, group, chunk)?);
                    }
                }
                all
            }
        };
        if operands.negative {
            let signs = match bits {
                8 => 0x8080_8080,
                16 => 0x8000_8000,
                _ => 0x8000_0000,
            };
            for word in &mut a {
                *word = self.u32s(of, Op::Xor, &[], word.clone(), signs)?;
            }
        }
        let Factor::Memory(descriptor, across) = &operands.b else { return Ok(()) };
        let matrix = self.described(of, descriptor, *across, bits)?;
        let own = what.registers();
        for tile in 0..what.tiles() {
            let mut src = a.clone();
            for chunk in 0..what.units() {
                src.push(self.word(of, &matrix, &Src::Imm(tile as u64), chunk)?);
            }
            let registers = tile * own..(tile + 1) * own;
            for summand in operands.c.get(registers.clone()).unwrap_or_default() {
                let which = vec![summand.clone(), Src::Imm(0), operands.adds.clone()];
                src.push(self.make(of, Op::Selp, &[], Scalar::B32, which)?);
            }
            if let Some((words, selector)) = &operands.meets {
                src.extend([words.clone(), Src::Imm(*selector)]);
            }
            src.push(super::matrix::ALL);
            let dst = operands.d.get(registers).unwrap_or_default().to_vec();
            self.put_product(of, what, dst, src);
        }
        Ok(())
    }

    /// The product of one tile.
    fn put_product(&mut self, of: &Draft, what: &Product, dst: Vec<Dst>, src: Vec<Src>) {
        let shape = match what.tile.k {
            8 => Word::M16n8k8,
            16 => Word::M16n8k16,
            32 => Word::M16n8k32,
            64 => Word::M16n8k64,
            _ => Word::M16n8k256,
        };
        let mut words = vec![Word::MmaAsync, Word::Sync, shape, Word::RowCol];
        words.extend(what.saturate.then_some(Word::Satfinite));
        if what.logic.is_some() {
            words.extend([Word::And, Word::Popc]);
        }
        words.extend(what.sparse.then_some(Word::Sparse));
        let op = if what.sparse { Op::MmaSparse } else { Op::Mma };
        self.put_typed(of, op, &words, [what.d, what.a, what.b, what.d], dst, src);
    }

    /// What a descriptor says, for this lane.
    fn described(
        &mut self,
        of: &Draft,
        descriptor: &Src,
        across: bool,
        bits: u32,
    ) -> Result<Described, Error> {
        let halves = self.register(Scalar::B32, 2, of.pos)?;
        let dst = vec![Dst::Reg(halves, 32), Dst::Reg(halves + 1, 32)];
        self.put(of, Op::Mov, &[], [Scalar::B64, Scalar::B32], dst, vec![descriptor.clone()]);
        let (low, high) = (Src::Reg(halves), Src::Reg(halves + 1));
        // Addresses and strides in units of 16 bytes.
        let start = self.field(of, &low, 0, 0x3fff, 4)?;
        let leading = self.field(of, &low, 16, 0x3fff, 4)?;
        let stride = self.field(of, &high, 0, 0x3fff, 4)?;
        let phase = self.field(of, &high, 17, 7, 7)?;
        // 0: none; 1, 2, 3: 128, 64, 32 bytes side by side.
        let mode = self.u32s(of, Op::Shr, &[], high, 30)?;
        let log = self.make(of, Op::Sub, &[], Scalar::U32, vec![Src::Imm(4), mode.clone()])?;
        let log = self.u32s(of, Op::And, &[], log, 3)?;
        let pitch = self.make(of, Op::Shl, &[], Scalar::B32, vec![Src::Imm(16), log.clone()])?;
        let swizzle = self.u32s(of, Op::Add, &[], pitch.clone(), u64::from(u32::MAX - 15))?;
        let plain = self.register(Scalar::Pred, 1, of.pos)?;
        let src = vec![mode.clone(), Src::Imm(0)];
        self.put(
            of,
            Op::Setp,
            &[Word::Eq],
            [Scalar::U32, Scalar::B32],
            vec![Dst::Reg(plain, 1)],
            src,
        );
        let plain = Src::Reg(plain);
        let pick = |this: &mut Self, yes: Src, no: Src| {
            this.make(of, Op::Selp, &[], Scalar::B32, vec![yes, no, plain.clone()])
        };
        let lane = self.lane(of)?;
        let row = self.u32s(of, Op::Shr, &[], lane.clone(), 2)?;
        let along = self.u32s(of, Op::And, &[], lane, 3)?;
        // Rows of 32 bytes hold two units: the descriptor says where the other two are, as it does without a swizzle.
        let pair = match across {
            true => {
                let chunk = pick(self, leading.clone(), stride.clone())?;
                self.u32s(of, Op::Shl, &[], chunk, 1)?
            }
            false => {
                let (apart, near) = self.pairs(of, &leading, mode)?;
                pick(self, apart, near)?
            }
        };
        let (chunk, group, far, places) = if across {
            let chunk = pick(self, leading.clone(), stride.clone())?;
            let far = pick(self, stride, leading)?;
            let own = self.u32s(of, Op::Shl, &[], row, (bits / 8).trailing_zeros().into())?;
            let origin = self.make(of, Op::Add, &[], Scalar::U32, vec![start, own])?;
            let mut places = Vec::new();
            for place in 0..2 {
                let k = self.u32s(of, Op::Shl, &[], along.clone(), 1)?;
                let k = self.u32s(of, Op::Or, &[], k, place)?;
                let src = vec![k, pitch.clone(), origin.clone()];
                places.push(self.make(of, Op::Mad, &[Word::Lo], Scalar::U32, src)?);
            }
            (chunk, Src::Imm(16), far, places)
        } else {
            let chunk = pick(self, leading, Src::Imm(16))?;
            let own = self.u32s(of, Op::Shl, &[], along, 2)?;
            let origin = self.make(of, Op::Add, &[], Scalar::U32, vec![start, own])?;
            let src = vec![row, pitch, origin];
            let place = self.make(of, Op::Mad, &[Word::Lo], Scalar::U32, src)?;
            (chunk, stride, Src::Imm(0), vec![place])
        };
        Ok(Described {
            places,
            chunk,
            pair,
            group,
            far,
            log: across.then_some(log),
            swizzle,
            phase,
        })
    }

    /// Bits of a descriptor, moved up to be bytes.
    fn field(
        &mut self,
        of: &Draft,
        from: &Src,
        shift: u64,
        mask: u64,
        up: u64,
    ) -> Result<Src, Error> {
        let v = self.u32s(of, Op::Shr, &[], from.clone(), shift)?;
        let v = self.u32s(of, Op::And, &[], v, mask)?;
        self.u32s(of, Op::Shl, &[], v, up)
    }

    /// How far the third unit of a row is from the first: without a swizzle, and with one. Swizzled rows of 32 bytes hold two.
    fn pairs(&mut self, of: &Draft, leading: &Src, mode: Src) -> Result<(Src, Src), Error> {
        let short = self.u32s(of, Op::Shr, &[], mode.clone(), 1)?;
        let short = self.make(of, Op::And, &[], Scalar::B32, vec![short, mode])?;
        let mask = self.make(of, Op::Sub, &[], Scalar::U32, vec![Src::Imm(0), short])?;
        let far = vec![leading.clone(), mask.clone()];
        let far = self.make(of, Op::And, &[], Scalar::B32, far)?;
        let side = self.make(of, Op::Not, &[], Scalar::B32, vec![mask])?;
        let side = self.u32s(of, Op::And, &[], side, 32)?;
        let swizzled = self.make(of, Op::Or, &[], Scalar::B32, vec![far, side])?;
        Ok((self.u32s(of, Op::Shl, &[], leading.clone(), 1)?, swizzled))
    }

    /// A register of the fragment: of the group of eight rows, so many units of 16 bytes along.
    fn word(&mut self, of: &Draft, m: &Described, group: &Src, chunk: u64) -> Result<Src, Error> {
        let mut parts = Vec::new();
        for place in &m.places {
            let mut at = place.clone();
            if !chunk.is_multiple_of(2) {
                at = self.make(of, Op::Add, &[], Scalar::U32, vec![at, m.chunk.clone()])?;
            }
            if chunk > 1 {
                at = self.make(of, Op::Add, &[], Scalar::U32, vec![at, m.pair.clone()])?;
            }
            let near = match &m.log {
                None => group.clone(),
                Some(log) => {
                    // Groups side by side, as many as the swizzle holds; then the next ones.
                    let outer = vec![group.clone(), log.clone()];
                    let outer = self.make(of, Op::Shr, &[], Scalar::U32, outer)?;
                    let src = vec![outer.clone(), m.far.clone(), at];
                    at = self.make(of, Op::Mad, &[Word::Lo], Scalar::U32, src)?;
                    let whole =
                        self.make(of, Op::Shl, &[], Scalar::B32, vec![outer, log.clone()])?;
                    self.make(of, Op::Sub, &[], Scalar::U32, vec![group.clone(), whole])?
                }
            };
            let src = vec![near, m.group.clone(), at];
            let at = self.make(of, Op::Mad, &[Word::Lo], Scalar::U32, src)?;
            // Bits of the row, counted from the start of the pattern, change the position in the row.
            let row =
                self.make(of, Op::Sub, &[], Scalar::U32, vec![at.clone(), m.phase.clone()])?;
            let row = self.u32s(of, Op::Shr, &[], row, 3)?;
            let row = self.make(of, Op::And, &[], Scalar::B32, vec![row, m.swizzle.clone()])?;
            let at = self.make(of, Op::Xor, &[], Scalar::B32, vec![at, row])?;
            let Src::Reg(at) = at else { continue };
            let ty = if m.places.len() == 2 { Scalar::B16 } else { Scalar::B32 };
            let register = self.register(ty, 1, of.pos)?;
            let place = Src::Memory(Base::Reg(at, 32), 0);
            self.load(of, Space::Shared, ty, place, Dst::Reg(register, ty.bits()));
            parts.push(Src::Reg(register));
        }
        match parts.len() {
            1 => Ok(parts.remove(0)),
            _ => self.make(of, Op::Mov, &[], Scalar::B32, parts),
        }
    }
}

/// A matrix in shared memory, in bytes: where a lane's elements of its first rows are, one by one where they do not follow each other.
struct Described {
    places: Vec<Src>,
    /// What the second unit of 16 bytes of a row is away, and the fourth from the third.
    chunk: Src,
    /// What the third is away.
    pair: Src,
    /// What the next eight rows are away.
    group: Src,
    /// The distance to the rows after the adjacent ones, whose number [`Described::log`] has.
    far: Src,
    log: Option<Src>,
    /// The bits of an address that bits of the row change, three positions lower.
    swizzle: Src,
    /// Where rows are counted from.
    phase: Src,
}
