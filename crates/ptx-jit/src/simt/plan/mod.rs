//! Analysis of a kernel before code generation.
//!
//! Owns three facts that depend on each other and are computed together, starting from the most optimistic
//! assumption: which registers are uniform (or have known steps), which branches may diverge, and for each region
//! where other lanes may wait while it runs. A register must be blended at the end of a region only if it is live
//! where lanes may wait. Must not know how code is generated.

mod divergence;
pub(crate) mod liveness;
pub(crate) mod low;
mod readers;
pub(crate) mod region;
pub(crate) mod set;
pub(crate) mod shape;
mod spin;
#[cfg(test)]
mod tests;

use cushim_ptx::ir::{Base, Function, Inst, Special, Src};
use cushim_ptx::sem::{AddressOp, Barrier, CollectiveOp, Operation};
use cushim_ptx::types::Space;
use low::Low;
use region::Region;
use set::Set;
use shape::{Class, Shape, affine};
use std::rc::Rc;

/// What a launch's block shape tells about the lanes of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Layout {
    /// A warp is a run along x: y and z are the same in it. `full` says that x
    /// is a multiple of 32 (or the block is one row).
    Row,
    /// A warp is rows of this many threads, a power of two below 32, of one z.
    Rows(u32),
    /// Nothing is known.
    Any,
}

impl Layout {
    pub(crate) fn of([x, y, z]: [u32; 3]) -> Layout {
        if x.is_multiple_of(32) || (y == 1 && z == 1) {
            Layout::Row
        } else if x.is_power_of_two() && x < 32 && (z == 1 || y.is_multiple_of(32 / x)) {
            Layout::Rows(x)
        } else {
            Layout::Any
        }
    }

    /// The shape of `%tid` along an axis.
    pub(crate) fn tid(self, axis: u8) -> Shape<()> {
        let steps = |f: &dyn Fn(i64) -> i64| Shape::Affine {
            base: (),
            steps: Rc::new(std::array::from_fn(|l| f(l as i64))),
        };
        match (self, axis) {
            (Layout::Row, 0) => steps(&|l| l),
            (Layout::Row, _) | (Layout::Rows(_), 2..) => Shape::Uniform(()),
            (Layout::Rows(1), 0) => Shape::Uniform(()),
            (Layout::Rows(x), 0) => steps(&|l| l % i64::from(x)),
            (Layout::Rows(1), 1) => steps(&|l| l),
            (Layout::Rows(x), 1) => steps(&|l| l / i64::from(x)),
            (Layout::Any, 3..) => Shape::Uniform(()),
            (Layout::Any, _) => Shape::Varying,
        }
    }
}

#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) regions: Vec<Region>,
    pub(crate) layout: Layout,
    /// The shape of each register.
    pub(crate) shapes: Vec<Shape<()>>,
    /// Zero low bits of their bases.
    pub(crate) low: Low,
    pub(crate) classes: Vec<Class>,
    /// Place in the frame of each register that crosses regions.
    pub(crate) slots: Vec<Option<u32>>,
    pub(crate) frame_size: u32,
    /// For each region, whether no lanes of the warp wait elsewhere while it runs.
    pub(crate) alone: Vec<bool>,
    /// Registers that a region writes and that must be blended at its end.
    pub(crate) blend: Vec<Set>,
    /// For each region, the one in which warps began that reach it without having waited for others of their block,
    /// if there is only one.
    pub(crate) begun: Vec<Option<usize>>,
    /// For each region, the later ones at which lanes may wait while it runs.
    pub(crate) waiting: Vec<Set>,
    /// Lanes may spin on others: any order of regions is taken.
    pub(crate) fair: bool,
    /// Some only arrive at a barrier.
    pub(crate) arrives: bool,
    /// A generic address may be one of local memory: the same address is other memory for each lane.
    pub(crate) local_is_generic: bool,
}

impl Plan {
    pub(crate) fn new(f: &Function, layout: Layout) -> Plan {
        let mut split = vec![false; f.code.len()];
        loop {
            let plan = Plan::with(f, layout, &|at| split[at]);
            // Collectives where lanes may be apart end a region.
            let mut again = false;
            for (k, region) in plan.regions.iter().enumerate() {
                let code = &f.code[region.start..region.end];
                for (inst, split) in code.iter().zip(&mut split[region.start..region.end]) {
                    let part = region::is_collective(inst) && !plan.alone[k];
                    again |= part && !std::mem::replace(split, true);
                }
            }
            if !again {
                return plan;
            }
        }
    }

    /// The same for one lane alone: every register has one value.
    pub(crate) fn of_one_lane(&self) -> Plan {
        let shapes = vec![Shape::Uniform(()); self.shapes.len()];
        Plan { shapes, ..self.clone() }
    }

    /// The most instructions that a warp executes, however its lanes diverge; `None` if there is a loop.
    pub(crate) fn steps(&self) -> Option<u64> {
        let mut regions = self.regions.iter().enumerate();
        let ahead = regions.all(|(k, p)| p.next.iter().all(|s| *s > k));
        // One for the end of each region.
        ahead.then(|| self.regions.iter().map(|p| (p.end - p.start) as u64 + 1).sum())
    }

    /// Whether every warp runs to its end in one turn: nothing waits, and there is no loop.
    pub(crate) fn ends(&self) -> bool {
        let waits = |p: &Region| matches!(p.term, region::Term::Wait { .. });
        !self.fair && self.steps().is_some() && !self.regions.iter().any(waits)
    }

    fn with(f: &Function, layout: Layout, split: &dyn Fn(usize) -> bool) -> Plan {
        let regions = region::cut(f, split);
        let n = regions.len();
        let arrives = f.code.iter().any(|inst| inst.sem == Operation::Barrier(Barrier::Arrive));
        let fair = spin::may_spin(f, &regions);
        let classes: Vec<Class> = f.registers.iter().map(|t| Class::of(*t)).collect();
        let low = Low::of(f, layout);
        let local_is_generic = local_is_generic(f);
        let mut facts = Facts {
            f,
            layout,
            low: &low,
            regions: &regions,
            classes: &classes,
            fair,
            local_is_generic,
            shapes: vec![None; f.registers.len()],
            above: vec![Set::new(); n],
            parked: Set::new(),
            blend: vec![Set::new(); n],
            left: vec![false; n],
        };
        if let Some(first) = regions.first() {
            for r in first.live_in.iter() {
                facts.shapes[r] = Some(Shape::Uniform(()));
            }
        }
        facts.solve();
        let alone = (0..n).map(|k| facts.is_alone(k)).collect();
        let Facts { shapes, blend, above, .. } = facts;
        let shapes: Vec<Shape<()>> =
            shapes.into_iter().map(|f| f.unwrap_or(Shape::Uniform(()))).collect();
        let (slots, frame_size) = slots(&regions, &shapes, &classes);
        let begun = region::begun(f, &regions);
        Plan {
            regions,
            layout,
            shapes,
            low,
            classes,
            slots,
            frame_size,
            alone,
            blend,
            begun,
            waiting: above,
            fair,
            arrives,
            local_is_generic,
        }
    }
}

/// Whether a generic address may be one of local memory. A kernel makes such addresses itself, by `cvta`; a function may be
/// given one.
fn local_is_generic(f: &Function) -> bool {
    let makes = |inst: &Inst| match inst.sem {
        Operation::Address(a) => a.op == AddressOp::ToGeneric && a.space == Space::Local,
        _ => false,
    };
    !f.entry || f.code.iter().any(makes)
}

/// Gives slots to registers that are live across regions.
fn slots(regions: &[Region], shapes: &[Shape<()>], classes: &[Class]) -> (Vec<Option<u32>>, u32) {
    let mut crossing = Set::new();
    for p in regions {
        crossing.unite(&p.live_in);
        crossing.unite(&p.live_out);
    }
    let mut at = 0u32;
    let mut slots = vec![None; shapes.len()];
    // The large ones first: everything stays aligned.
    for round in 0..2 {
        for r in crossing.iter() {
            let size = match (&shapes[r], classes[r]) {
                (Shape::Varying, Class::Narrow) => 128,
                (Shape::Varying, Class::Wide) => 256,
                (Shape::ScaledAffine { .. }, _) => 16,
                _ => 8,
            };
            if (size >= 128) == (round == 0) {
                slots[r] = Some(at);
                at += size;
            }
        }
    }
    (slots, at.next_multiple_of(64))
}

struct Facts<'a> {
    f: &'a Function,
    layout: Layout,
    low: &'a Low,
    regions: &'a [Region],
    classes: &'a [Class],
    /// Any order of regions is taken: lanes may wait anywhere.
    fair: bool,
    /// As in [`Plan`].
    local_is_generic: bool,
    /// `None`: nothing was written yet.
    shapes: Vec<Option<Shape<()>>>,
    /// For each region, the later ones at which lanes may wait while it runs, and where they may whatever runs.
    above: Vec<Set>,
    parked: Set,
    /// As in [`Plan`].
    blend: Vec<Set>,
    /// Regions that are known not to be alone.
    left: Vec<bool>,
}

impl Facts<'_> {
    fn lower(&mut self, register: u32, shape: Shape<()>) -> bool {
        let old = &mut self.shapes[register as usize];
        let new = match &*old {
            None => shape,
            Some(o) if *o == shape => return false,
            Some(_) => Shape::Varying,
        };
        let changed = old.as_ref() != Some(&new);
        *old = Some(new);
        changed
    }

    /// Whether no lanes wait elsewhere while a region runs.
    fn is_alone(&self, k: usize) -> bool {
        !self.fair && self.above[k].is_empty() && self.parked.is_empty()
    }

    fn is_uniform(&self, register: u32) -> bool {
        matches!(self.shapes[register as usize], None | Some(Shape::Uniform(())))
    }

    /// The shape of an instruction's first result; `None` while nothing is known
    /// of its operands.
    fn result(&self, inst: &Inst, region: usize) -> Option<Shape<()>> {
        let mut args = Vec::new();
        for src in &inst.src {
            args.push(self.operand(src)?);
        }
        let uniform = args.iter().all(|a| *a == Shape::Uniform(()));
        let converged = self.is_alone(region);
        Some(match inst.sem {
            op if op.is_pure() || op.is_move() || op.is_cvta() => {
                if uniform {
                    Shape::Uniform(())
                } else if fits(self.f, inst) {
                    let zeros = self.low.operands(inst);
                    affine(inst, &args, &zeros, &mut shape::Nothing).unwrap_or(Shape::Varying)
                } else {
                    Shape::Varying
                }
            }
            Operation::Address(a) if a.op.is_question() && uniform => Shape::Uniform(()),
            Operation::Load(_) if uniform => match inst.space(0) {
                Space::Local => Shape::Varying,
                Space::Generic if self.local_is_generic => Shape::Varying,
                _ => Shape::Uniform(()),
            },
            op if gives_one(&op) && converged && matches!(inst.src.last(), Some(Src::Imm(_))) => {
                Shape::Uniform(())
            }
            Operation::ActiveMask | Operation::Barrier(Barrier::Reduce(_)) => Shape::Uniform(()),
            _ => Shape::Varying,
        })
    }

    fn operand(&self, src: &Src) -> Option<Shape<()>> {
        Some(match src {
            Src::Reg(r) | Src::Not(r) | Src::Memory(Base::Reg(r, _), _) => {
                self.shapes[*r as usize].clone()?
            }
            Src::Special(s) => special(*s, self.layout),
            _ => Shape::Uniform(()),
        })
    }
}

/// Whether lanes that vote or reduce together all get one value.
pub(crate) fn gives_one(op: &Operation) -> bool {
    let Operation::Collective(c) = op else { return false };
    matches!(c.op, CollectiveOp::Vote(_) | CollectiveOp::Reduce { .. })
}

/// The shape of a special register.
pub(crate) fn special(s: Special, layout: Layout) -> Shape<()> {
    match s {
        Special::Tid(axis) => layout.tid(axis),
        Special::LaneId => {
            Shape::Affine { base: (), steps: Rc::new(std::array::from_fn(|l| l as i64)) }
        }
        Special::LanemaskEq
        | Special::LanemaskLe
        | Special::LanemaskLt
        | Special::LanemaskGe
        | Special::LanemaskGt => Shape::Varying,
        _ => Shape::Uniform(()),
    }
}

/// Whether the registers of an instruction are as wide as its types say
/// (conversions take wider ones).
pub(crate) fn fits(f: &Function, inst: &Inst) -> bool {
    if !matches!(inst.sem, Operation::Convert(_)) {
        return true;
    }
    let width = |r: u32| f.registers[r as usize].bits();
    let reads = inst.src.iter().all(|s| match s {
        Src::Reg(r) => width(*r) == inst.sem.operand(0).bits(),
        Src::Special(_) => inst.sem.operand(0).bits() == 32,
        _ => true,
    });
    reads && region::writes(inst).all(|r| width(r) == inst.sem.ty().bits())
}
