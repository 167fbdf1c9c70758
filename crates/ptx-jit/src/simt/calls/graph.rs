//! Who calls whom, in a launch of one kernel.
//!
//! Owns finding the functions that a call through a pointer may mean, and which functions may call
//! themselves. Must not know what becomes of calls.

use cushim_ptx::ir::{Arg, Call, Callee, Function, Inst, Module, Src, Symbol};

/// The functions of a module, as far as calls go.
pub(super) struct Calls {
    /// Functions whose addresses somebody takes.
    addressed: Vec<u32>,
    /// Of each function: the loop of calls that it is in, if it is in one.
    circle: Vec<Option<u32>>,
    /// It is in a loop of calls, or called from there: its frames have no fixed place.
    moving: Vec<bool>,
    /// How many calls by name there are of each, and whether there are others.
    pub(super) sites: Vec<(u32, bool)>,
    /// Where its frame begins, where that has a fixed place.
    pub(super) base: Vec<u32>,
    pub(super) reached: Vec<u32>,
}

/// What an instruction calls.
pub(super) fn call_of(inst: &Inst) -> Option<&Call> {
    match inst.src.first() {
        Some(Src::Call(call)) => Some(call),
        _ => None,
    }
}

fn addressed(module: &Module) -> Vec<u32> {
    let mut all: Vec<u32> = Vec::new();
    let function = |s: &Symbol| match s {
        Symbol::Function(n) => Some(*n),
        _ => None,
    };
    for g in &module.globals {
        all.extend(g.relocations.iter().filter_map(|r| function(&r.target)));
    }
    for src in module.functions.iter().flat_map(|f| &f.code).flat_map(|i| &i.src) {
        if let Src::Address(symbol, _) = src {
            all.extend(function(symbol));
        }
    }
    all.sort_unstable();
    all.dedup();
    all.retain(|n| module.functions.get(*n as usize).is_some_and(|f| f.defined && !f.entry));
    all
}

/// Whether a function takes and gives what a call through a pointer does. One that takes nothing may be given anything,
/// as on a GPU: start code calls constructors with the arguments of main, and few look at them.
fn fits(call: &Call, f: &Function) -> bool {
    let same = |a: &[Arg], p: &[cushim_ptx::ir::Param]| {
        a.len() == p.len()
            && a.iter().zip(p).all(|(a, p)| match a {
                Arg::Memory(_, size) => *size == p.size,
                _ => true,
            })
    };
    (f.params.is_empty() || same(&call.args, &f.params)) && same(&call.returns, &f.returns)
}

impl Calls {
    pub(super) fn of(module: &Module, kernel: u32) -> Calls {
        let n = module.functions.len();
        let mut calls = Calls {
            addressed: addressed(module),
            circle: vec![None; n],
            moving: vec![false; n],
            sites: vec![(0, false); n],
            base: vec![0; n],
            reached: Vec::new(),
        };
        let mut next: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut seen = vec![false; n];
        let mut stack = vec![kernel];
        while let Some(f) = stack.pop() {
            if std::mem::replace(&mut seen[f as usize], true) {
                continue;
            }
            calls.reached.push(f);
            for call in module.functions[f as usize].code.iter().filter_map(call_of) {
                let direct = matches!(call.callee, Callee::Direct(_));
                for g in calls.targets(module, call) {
                    let (count, other) = &mut calls.sites[g as usize];
                    *count += u32::from(direct);
                    *other |= !direct;
                    next[f as usize].push(g);
                    stack.push(g);
                }
            }
        }
        calls.circles(&next, kernel);
        calls.bases(module, &next);
        calls
    }

    /// The functions with bodies that a call may enter.
    pub(super) fn targets(&self, module: &Module, call: &Call) -> Vec<u32> {
        let body = |g: &u32| module.functions[*g as usize].defined;
        match call.callee {
            Callee::Direct(g) => [g].into_iter().filter(body).collect(),
            Callee::Register(_) => {
                let fit = |g: &u32| fits(call, &module.functions[*g as usize]);
                self.addressed.iter().copied().filter(fit).collect()
            }
        }
    }

    /// Whether a call from one to the other may end in another call of the first.
    pub(super) fn same_circle(&self, f: u32, g: u32) -> bool {
        let of = |f: u32| self.circle[f as usize];
        of(f).is_some() && of(f) == of(g)
    }

    pub(super) fn in_circle(&self, f: u32) -> bool {
        self.circle[f as usize].is_some()
    }

    pub(super) fn is_moving(&self, f: u32) -> bool {
        self.moving[f as usize]
    }

    /// Strongly connected components (Tarjan), then what they reach.
    fn circles(&mut self, next: &[Vec<u32>], kernel: u32) {
        let n = next.len();
        let (mut index, mut low) = (vec![u32::MAX; n], vec![0u32; n]);
        let mut on_stack = vec![false; n];
        let (mut stack, mut count) = (Vec::new(), 0);
        let mut work = vec![(kernel, 0usize)];
        let mut order = Vec::new();
        while let Some((f, at)) = work.pop() {
            let k = f as usize;
            if at == 0 {
                (index[k], low[k]) = (count, count);
                count += 1;
                stack.push(f);
                on_stack[k] = true;
            } else {
                let done = next[k][at - 1] as usize;
                if on_stack[done] {
                    low[k] = low[k].min(low[done]);
                }
            }
            if let Some(&g) = next[k].get(at) {
                work.push((f, at + 1));
                if index[g as usize] == u32::MAX {
                    work.push((g, 0));
                }
                continue;
            }
            if low[k] != index[k] {
                continue;
            }
            let mut members = Vec::new();
            while let Some(g) = stack.pop() {
                on_stack[g as usize] = false;
                members.push(g);
                if g == f {
                    break;
                }
            }
            if members.len() > 1 || next[k].contains(&f) {
                members.iter().for_each(|g| self.circle[*g as usize] = Some(f));
            }
            order.extend(members);
        }
        // Callers come before those they call, but within a circle.
        for f in order.into_iter().rev() {
            if self.circle[f as usize].is_some() {
                self.moving[f as usize] = true;
            }
            if self.moving[f as usize] {
                next[f as usize].iter().for_each(|g| self.moving[*g as usize] = true);
            }
        }
    }

    /// Frames of fixed place: behind those of all callers.
    fn bases(&mut self, module: &Module, next: &[Vec<u32>]) {
        let mut changed = true;
        while changed {
            changed = false;
            for f in self.reached.iter().map(|f| *f as usize).filter(|f| !self.moving[*f]) {
                let end = self.base[f].saturating_add(module.functions[f].local_size);
                for g in next[f].iter().map(|g| *g as usize) {
                    changed |= end > self.base[g];
                    self.base[g] = self.base[g].max(end);
                }
            }
        }
    }
}
