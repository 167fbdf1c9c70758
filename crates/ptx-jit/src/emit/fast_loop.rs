//! Short loops that run several iterations with their values in registers.
//!
//! Owns a second version of a short loop that reads memory: all lanes of a warp run several iterations with the
//! loop-carried values in registers, instead of the frame. If this version cannot execute an iteration (addresses
//! outside of device memory, divergent lanes), the usual version repeats it; until then the iteration has only read.
//! Must not know the order of warps.

use super::emitter::{Emit, FastLoop};
use super::val::{Val, chunks, scalar, vector};
use crate::simt::plan::region::{Edge, Term, reads, writes};
use crate::simt::plan::shape::{Class, Shape};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, Type, Value, types};
use cushim_ptx::ir::{Base, Inst, Sense, Src};
use cushim_ptx::sem::Operation;
use cushim_ptx::types::Space;
use std::collections::BTreeSet;

/// Iterations that a warp runs before others have their turn: as many as are prefetched, so that a warp finds in the
/// cache what it prefetched in its last turn.
const ROUNDS: i64 = 8;
/// The most instructions of such a loop.
const LONGEST: usize = 48;
/// The most vectors of loop-carried values: half of the processor's.
const HANDED: usize = 8;

impl Emit<'_> {
    /// For a loop in one region: the registers that a round passes to the next, and those that never change.
    fn fast_loop_values(&self) -> Option<(Vec<u32>, Vec<u32>)> {
        let k = self.region;
        let region = &self.plan.regions[k];
        let Term::Branch { taken, other, .. } = region.term else { return None };
        let round = (taken == Edge::To(k)) != (other == Edge::To(k));
        let code = &self.f.code[region.start..region.end];
        // A repeated iteration would show its accesses twice.
        if !self.checked.is_none()
            || k == 0
            || !round
            || self.plan.fair
            || region.result.is_some()
            || code.len() > LONGEST
        {
            return None;
        }
        let mut streams = false;
        for inst in code {
            match inst.sem {
                Operation::Load(_) => streams |= self.read_here(inst)?,
                op if op.is_pure() || op.is_move() || op.is_cvta() => {}
                _ => return None,
            }
        }
        let written: BTreeSet<u32> = code.iter().flat_map(writes).collect();
        let (mut read, mut list) = (BTreeSet::new(), Vec::new());
        for inst in code {
            reads(inst, &mut list);
            read.extend(list.iter().copied());
        }
        let enters = |r: &u32| region.live_in.has(*r as usize);
        let handed: Vec<u32> = written.iter().copied().filter(enters).collect();
        let lanes = |r: &u32| self.plan.shapes[*r as usize] == Shape::Varying;
        let vectors = |r: &u32| if lanes(r) { chunks(self.class(*r)) } else { 0 };
        let fits = handed.iter().map(vectors).sum::<usize>() <= HANDED;
        let bits = handed.iter().any(|r| self.class(*r) == Class::Predicate);
        let same = read.difference(&written).copied().filter(|r| enters(r) && !lanes(r));
        (streams && fits && !bits).then(|| (handed, same.collect()))
    }

    /// Whether a load goes through memory; `None` where the code may not do it itself, or twice.
    fn read_here(&self, inst: &Inst) -> Option<bool> {
        let Operation::Load(access) = inst.sem else { return None };
        if inst.guard.is_some() || access.is_ordered() {
            return None;
        }
        match access.space {
            Space::Param => Some(false),
            Space::Global | Space::Const => match inst.src.first() {
                Some(Src::Memory(Base::Reg(r, _), _)) => match self.plan.shapes[*r as usize] {
                    Shape::Varying => None,
                    Shape::Uniform(()) => Some(false),
                    _ => Some(true),
                },
                _ => Some(false),
            },
            Space::Shared => Some(false),
            _ => None,
        }
    }

    /// Where the present region is such a loop: its second version, which whole warps enter. The usual one is next.
    /// Whether there is one.
    pub(super) fn fast_loop(&mut self) -> Result<bool, crate::error::NotCompiled> {
        let Some((handed, same)) = self.fast_loop_values() else { return Ok(false) };
        let (before, usual) = (self.b.create_block(), self.b.create_block());
        let (round, bail) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(bail);
        let all = self.i32(-1);
        let whole = self.b.ins().icmp(IntCC::Equal, self.act, all);
        self.b.ins().brif(whole, before, &[], usual, &[]);

        self.b.switch_to_block(before);
        self.tell(self.act, Space::Global);
        for r in &same {
            self.raw(*r);
        }
        let fixed = self.cache.clone();
        let rounds = self.i32(ROUNDS);
        let mut args = vec![rounds];
        for r in &handed {
            let v = self.raw(*r);
            args.extend(self.parts(*r, &v));
        }
        for v in &args {
            let ty = self.b.func.dfg.value_type(*v);
            self.b.append_block_param(round, ty);
        }
        self.jump(round, &args);

        self.b.switch_to_block(round);
        let params = self.b.block_params(round).to_vec();
        let left = params[0];
        self.cache = fixed;
        let mut rest = params[1..].iter().copied();
        for r in &handed {
            let v = self.of_parts(*r, &mut rest);
            self.cache.insert(*r, v);
        }
        let entered = self.cache.clone();
        self.fast_loop = Some(FastLoop { bail });
        let plan = self.plan;
        let region = &plan.regions[self.region];
        for at in region.start..region.end {
            self.at = at;
            self.lanes_from(0);
            self.instruction(&self.f.code[at])?;
        }
        self.next_round(round, left, &handed);
        self.fast_loop = None;

        self.b.switch_to_block(bail);
        self.cache = entered;
        for r in &handed {
            let v = self.raw(*r);
            self.store_slot(*r, &v);
        }
        self.jump(usual, &[]);

        self.b.switch_to_block(usual);
        self.begin_region();
        Ok(true)
    }

    /// The next round, if all lanes continue and the warp has iterations left; else the region ends as usual.
    fn next_round(&mut self, round: Block, left: Value, handed: &[u32]) {
        let Term::Branch { guard: (p, sense), taken, other } = self.plan.regions[self.region].term
        else {
            return;
        };
        let guard = self.raw(p);
        let bits = self.bits(&guard);
        if guard.uniform().is_none() {
            self.cache.insert(p, Val::Mask { bits: Some(bits), lanes: None });
        }
        let on = (taken == Edge::To(self.region)) == (sense == Sense::True);
        let every = self.i32(if on { -1 } else { 0 });
        let every = self.b.ins().icmp(IntCC::Equal, bits, every);
        let (more, end) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(every, more, &[], end, &[]);
        self.b.switch_to_block(more);
        let left = self.b.ins().iadd_imm_s(left, -1);
        let mut args: Vec<BlockArg> = vec![left.into()];
        for r in handed {
            let v = self.raw(*r);
            args.extend(self.parts(*r, &v).into_iter().map(BlockArg::from));
        }
        self.b.ins().brif(left, round, &args, end, &[]);
        self.b.switch_to_block(end);
        self.branch((p, sense), taken, other);
    }

    /// A register's value as the code hands it on.
    fn parts(&mut self, register: u32, v: &Val) -> Vec<Value> {
        let class = self.class(register);
        let cast = |e: &mut Self, ty: Type, v: Value| e.cast(ty, v);
        match (&self.plan.shapes[register as usize], v) {
            (Shape::Varying, v) => {
                let all = self.vectors(v, class);
                all.iter().map(|v| cast(self, vector(class), *v)).collect()
            }
            (_, Val::Known(Shape::Uniform(b) | Shape::Affine { base: b, .. })) => {
                vec![cast(self, scalar(class), *b)]
            }
            (_, Val::Known(Shape::ScaledAffine { offset, base, .. })) => {
                vec![cast(self, types::I64, *offset), cast(self, types::I32, *base)]
            }
            (shape, v) => unreachable!("r{register}: planned as {shape:?}, the code has {v:?}"),
        }
    }

    /// The value again.
    fn of_parts(&self, register: u32, parts: &mut dyn Iterator<Item = Value>) -> Val {
        let mut next = || match parts.next() {
            Some(v) => v,
            None => unreachable!("r{register}: a value is missing"),
        };
        match self.plan.shapes[register as usize].clone() {
            Shape::Uniform(()) => Self::known(next()),
            Shape::Affine { steps, .. } => Val::Known(Shape::Affine { base: next(), steps }),
            Shape::ScaledAffine { steps, scale, signed, .. } => {
                let (offset, base) = (next(), next());
                Val::Known(Shape::ScaledAffine { offset, base, steps, scale, signed })
            }
            Shape::Varying => {
                Val::Lanes((0..chunks(self.class(register))).map(|_| next()).collect())
            }
        }
    }
}
