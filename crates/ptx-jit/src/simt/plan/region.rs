//! Regions: basic blocks split where a warp may have to wait, in the order in which divergent lanes run.
//!
//! A region's number is its rank: whenever a region runs, lanes that wait elsewhere wait at higher numbers (see
//! [`super::Plan`]).

use super::set::Set;
use cushim_ptx::ir::{Arg, Base, Callee};
use cushim_ptx::ir::{Dst, Function, Inst, Sense, Src};
use cushim_ptx::sem::{Control, Operation};

/// Where lanes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    To(usize),
    /// They end.
    Exit,
}

/// How a region ends.
#[derive(Debug, Clone)]
pub(crate) enum Term {
    Jump(Edge),
    Branch {
        guard: (u32, Sense),
        taken: Edge,
        other: Edge,
    },
    /// `brx.idx`: the instruction, its targets, and where lanes go whose index
    /// is past the list or whose guard is false.
    Table {
        inst: usize,
        targets: Vec<Edge>,
        other: Edge,
    },
    /// Lanes wait: for other warps at a barrier, or for others of the warp at a
    /// collective instruction.
    Wait {
        inst: usize,
        next: Edge,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Region {
    /// Instructions before the one that ends it.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) term: Term,
    /// The regions that lanes may go to from here, each once, from the least.
    pub(crate) next: Vec<usize>,
    /// The waiting instruction whose results it begins with.
    pub(crate) result: Option<usize>,
    pub(crate) live_in: Set,
    pub(crate) live_out: Set,
}

impl Region {
    /// The instructions whose results it writes, those first for which lanes waited before it.
    pub(crate) fn writers(&self) -> impl Iterator<Item = usize> + use<> {
        self.result.into_iter().chain(self.start..self.end)
    }
}

impl Term {
    pub(crate) fn edges(&self) -> Vec<Edge> {
        match self {
            Term::Jump(e) => vec![*e],
            Term::Branch { taken, other, .. } => vec![*taken, *other],
            Term::Table { targets, other, .. } => {
                let mut all = targets.clone();
                all.push(*other);
                all
            }
            Term::Wait { next, .. } => vec![*next],
        }
    }

    fn successors(&self) -> Vec<usize> {
        let to = |e: Edge| match e {
            Edge::To(n) => Some(n),
            Edge::Exit => None,
        };
        let mut all: Vec<usize> = self.edges().into_iter().filter_map(to).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Whether lanes of a warp wait for each other at it.
pub(crate) fn is_collective(inst: &Inst) -> bool {
    matches!(inst.sem, Operation::Collective(_))
}

/// Cuts a function. `split`: collective instructions that end a region.
pub(crate) fn cut(f: &Function, split: &dyn Fn(usize) -> bool) -> Vec<Region> {
    let (cuts, first) = starts(f, split);
    let at = |inst: usize| match f.block_of.get(inst) {
        Some(b) => Edge::To(first[*b as usize]),
        None => Edge::Exit,
    };
    let mut regions: Vec<Region> = Vec::new();
    for (k, &(start, end)) in cuts.iter().enumerate() {
        let last = &f.code[end - 1];
        let ends_block = f.block_of.get(end) != f.block_of.get(end - 1)
            && cuts.get(k + 1).is_none_or(|next| *next != (end, end));
        let after = if ends_block { at(end) } else { Edge::To(k + 1) };
        let label = |src: Option<&Src>| match src {
            Some(Src::Target(t)) => at(*t as usize),
            _ => Edge::Exit,
        };
        let (term, own) = match (last.sem, last.guard) {
            (Operation::Control(Control::Branch), None) => {
                (Term::Jump(label(last.src.first())), true)
            }
            (Operation::Control(Control::Branch), Some(guard)) => {
                let taken = label(last.src.first());
                (Term::Branch { guard, taken, other: after }, true)
            }
            (Operation::Control(Control::Return | Control::Exit), None) => {
                (Term::Jump(Edge::Exit), true)
            }
            (Operation::Control(Control::Return | Control::Exit), Some(guard)) => {
                (Term::Branch { guard, taken: Edge::Exit, other: after }, true)
            }
            (Operation::Control(Control::BranchTable), _) => {
                let list = match last.src.get(1) {
                    Some(Src::Targets(list)) => list.iter().map(|t| at(*t as usize)).collect(),
                    _ => Vec::new(),
                };
                (Term::Table { inst: end - 1, targets: list, other: after }, true)
            }
            (op, _) if op.waits_for_block() || split(end - 1) => {
                (Term::Wait { inst: end - 1, next: after }, true)
            }
            _ => (Term::Jump(after), false),
        };
        let (term, own) = if start == end { (Term::Jump(at(end)), false) } else { (term, own) };
        let end = if own { end - 1 } else { end };
        let (live_in, live_out) = (Set::new(), Set::new());
        regions.push(Region {
            start,
            end,
            term,
            next: Vec::new(),
            result: None,
            live_in,
            live_out,
        });
    }
    for k in 0..regions.len() {
        if let Term::Wait { inst, next: Edge::To(n) } = regions[k].term
            && writes(&f.code[inst]).next().is_some()
        {
            regions[n].result = Some(inst);
        }
    }
    exits(&mut regions);
    regions.iter_mut().for_each(|p| p.next = p.term.successors());
    super::liveness::find(f, &mut regions);
    regions
}

/// Where regions begin and end, in the order of their blocks, and the first region of each block.
fn starts(f: &Function, split: &dyn Fn(usize) -> bool) -> (Vec<(usize, usize)>, Vec<usize>) {
    let mut reached = vec![false; f.blocks.len()];
    let mut stack = vec![0usize];
    while let Some(b) = stack.pop() {
        if !std::mem::replace(&mut reached[b], true) {
            stack.extend(f.blocks[b].successors.iter().map(|s| *s as usize));
        }
    }
    let mut order: Vec<usize> = (0..f.blocks.len()).filter(|b| reached[*b]).collect();
    order.sort_by_key(|b| f.blocks[*b].rank);
    // Starts of regions, and the number of the region that begins at each.
    let mut cuts: Vec<(usize, usize)> = Vec::new();
    let mut first = vec![0usize; f.blocks.len()];
    for b in &order {
        let (start, end) = (f.blocks[*b].start as usize, f.blocks[*b].end as usize);
        first[*b] = cuts.len();
        let mut from = start;
        for at in start..end {
            if (f.code[at].sem.waits_for_block() || split(at)) && at + 1 < end {
                cuts.push((from, at + 1));
                from = at + 1;
            }
        }
        cuts.push((from, end));
        // Other lanes reach the next block, too, and keep their values: the results of lanes that waited are taken
        // before.
        let gives = f.code[end - 1].sem.waits_for_block() || split(end - 1);
        if gives && writes(&f.code[end - 1]).next().is_some() {
            cuts.push((end, end));
        }
    }
    (cuts, first)
}

/// Going to a region that only ends is ending.
fn exits(regions: &mut [Region]) {
    let ends: Vec<bool> = regions
        .iter()
        .map(|p| p.start == p.end && p.result.is_none() && matches!(p.term, Term::Jump(Edge::Exit)))
        .collect();
    let mend = |e: &mut Edge| {
        if let Edge::To(n) = *e
            && ends[n]
        {
            *e = Edge::Exit;
        }
    };
    for p in regions {
        match &mut p.term {
            Term::Jump(e) => mend(e),
            Term::Branch { taken, other, .. } => {
                mend(taken);
                mend(other);
            }
            Term::Table { targets, other, .. } => {
                targets.iter_mut().for_each(mend);
                mend(other);
            }
            // Lanes need a region in which to wait.
            Term::Wait { .. } => {}
        }
    }
}

/// For each region, the one in which warps began that reach it: at the start of the block, or after a barrier; `None`
/// if there are several.
pub(crate) fn begun(f: &Function, regions: &[Region]) -> Vec<Option<usize>> {
    let mut all: Vec<Option<Option<usize>>> = vec![None; regions.len()];
    let mut left = vec![(0, Some(0))];
    while let Some((k, from)) = left.pop() {
        let Some(known) = all.get_mut(k) else { continue };
        let new = match *known {
            None => from,
            Some(old) if old == from || old.is_none() => continue,
            Some(_) => None,
        };
        *known = Some(new);
        let region = &regions[k];
        let barrier =
            matches!(region.term, Term::Wait { inst, .. } if !is_collective(&f.code[inst]));
        left.extend(region.next.iter().map(|n| (*n, if barrier { Some(*n) } else { new })));
    }
    all.into_iter().map(Option::flatten).collect()
}

/// Registers that an instruction reads, its guard included.
pub(crate) fn reads(inst: &Inst, out: &mut Vec<u32>) {
    out.clear();
    out.extend(inst.guard.map(|(p, _)| p));
    for src in &inst.src {
        match src {
            Src::Reg(r) | Src::Not(r) | Src::Memory(Base::Reg(r, _), _) => out.push(*r),
            Src::Call(call) => {
                let arg = |a: &Arg| match a {
                    Arg::Reg(r, _) => Some(*r),
                    _ => None,
                };
                out.extend(call.args.iter().filter_map(arg));
                if let Callee::Register(r) = call.callee {
                    out.push(r);
                }
            }
            _ => {}
        }
    }
}

/// Registers that an instruction writes.
pub(crate) fn writes(inst: &Inst) -> impl Iterator<Item = u32> {
    inst.dst.iter().filter_map(|d| match d {
        Dst::Reg(r, _) => Some(*r),
        Dst::Sink => None,
    })
}
