//! The call graph, in a launch of one kernel.
//!
//! Owns which functions and gates are reached, and which of them are recursive. Must not know how calls are lowered.

use super::cells::Cells;
use super::gate::{Gate, Pointers};
use cushim_ptx::ir::{Call, Callee, Function, Inst, Module, Src};

/// The call graph of a module's functions, and the gates after them.
pub(super) struct Calls<'m> {
    module: &'m Module,
    pointers: Pointers<'m>,
    gates: Vec<Gate>,
    /// The recursion cycle of each function, if it is in one.
    circle: Vec<Option<u32>>,
    /// It is in a recursion cycle, or called from one: its frames have no fixed offset.
    moving: Vec<bool>,
    /// How many calls by name there are of each, and whether there are others.
    pub(super) sites: Vec<(u32, bool)>,
    /// The offset of its frame, if that is fixed.
    pub(super) base: Vec<u32>,
    /// Variables of each for arguments and results.
    pub(super) cells: Vec<Cells>,
    pub(super) reached: Vec<u32>,
}

/// What an instruction calls.
pub(super) fn call_of(inst: &Inst) -> Option<&Call> {
    match inst.src.first() {
        Some(Src::Call(call)) => Some(call),
        _ => None,
    }
}

/// The functions that a kernel reaches, itself first.
fn reach(module: &Module, kernel: u32, pointers: &mut Pointers<'_>) -> Vec<u32> {
    let mut seen = vec![false; module.functions.len()];
    let (mut reached, mut stack) = (Vec::new(), vec![kernel]);
    while let Some(f) = stack.pop() {
        if std::mem::replace(&mut seen[f as usize], true) {
            continue;
        }
        reached.push(f);
        for (at, inst) in module.functions[f as usize].code.iter().enumerate() {
            let Some(call) = call_of(inst) else { continue };
            match call.callee {
                Callee::Direct(g) if module.functions[g as usize].defined => stack.push(g),
                Callee::Direct(_) => {}
                Callee::Register(_) => stack.extend(pointers.note(call, (f, at as u32))),
            }
        }
    }
    reached
}

impl<'m> Calls<'m> {
    pub(super) fn of(module: &'m Module, kernel: u32) -> Calls<'m> {
        let mut pointers = Pointers::new(module);
        let mut reached = reach(module, kernel, &mut pointers);
        let mut cells = vec![Cells::default(); module.functions.len()];
        for f in &reached {
            cells[*f as usize] = Cells::of(&module.functions[*f as usize]);
        }
        let gates = pointers.gates(&cells);
        cells.extend(gates.iter().map(|gate| gate.cells.clone()));
        let n = cells.len();
        reached.extend(module.functions.len() as u32..n as u32);
        let mut calls = Calls {
            module,
            pointers,
            gates,
            cells,
            circle: vec![None; n],
            moving: vec![false; n],
            sites: Vec::new(),
            base: vec![0; n],
            reached,
        };
        let mut next: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut sites = vec![(0, false); n];
        for &f in &calls.reached {
            for call in calls.function(f).code.iter().filter_map(call_of) {
                let direct = matches!(call.callee, Callee::Direct(_));
                let targets = calls.targets(f, call);
                for g in &targets {
                    let (count, other): &mut (u32, bool) = &mut sites[*g as usize];
                    *count += u32::from(direct);
                    *other |= !direct;
                }
                next[f as usize].extend(targets);
            }
        }
        calls.sites = sites;
        calls.circles(&next, kernel);
        calls.bases(&next);
        calls
    }

    /// A function of the module, or a gate.
    pub(super) fn function(&self, f: u32) -> &Function {
        let functions = &self.module.functions;
        functions
            .get(f as usize)
            .unwrap_or_else(|| &self.gates[f as usize - functions.len()].function)
    }

    pub(super) fn is_gate(&self, f: u32) -> bool {
        self.gate_of(f).is_some()
    }

    fn gate_of(&self, f: u32) -> Option<&Gate> {
        self.gates.get((f as usize).checked_sub(self.module.functions.len())?)
    }

    /// A call of what the host has.
    pub(super) fn is_device_runtime(&self, call: &Call) -> bool {
        matches!(call.callee, Callee::Direct(g) if !self.function(g).defined)
    }

    /// The gate that a call in `f` goes to.
    pub(super) fn gate(&self, f: u32, call: &Call) -> Option<u32> {
        match call.callee {
            Callee::Register(_) if !self.is_gate(f) => self.pointers.gate(call),
            _ => None,
        }
    }

    /// The functions with bodies that a call in `f` may enter: its gate, if it has one.
    pub(super) fn targets(&self, f: u32, call: &Call) -> Vec<u32> {
        match (call.callee, self.gate_of(f), self.gate(f, call)) {
            (Callee::Direct(g), ..) if self.function(g).defined => vec![g],
            (Callee::Direct(_), ..) => Vec::new(),
            (Callee::Register(_), Some(gate), _) => gate.targets.clone(),
            (Callee::Register(_), None, Some(gate)) => vec![gate],
            (Callee::Register(_), None, None) => self.pointers.targets(call).to_vec(),
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
        // Callers come before their callees, except within a recursive cycle.
        for f in order.into_iter().rev() {
            if self.circle[f as usize].is_some() {
                self.moving[f as usize] = true;
            }
            if self.moving[f as usize] {
                next[f as usize].iter().for_each(|g| self.moving[*g as usize] = true);
            }
        }
    }

    /// Frames of fixed offset: after those of all callers.
    fn bases(&mut self, next: &[Vec<u32>]) {
        let mut changed = true;
        while changed {
            changed = false;
            for f in self.reached.iter().map(|f| *f as usize).filter(|f| !self.moving[*f]) {
                let end = self.base[f].saturating_add(self.function(f as u32).local_size);
                for g in next[f].iter().map(|g| *g as usize) {
                    changed |= end > self.base[g];
                    self.base[g] = self.base[g].max(end);
                }
            }
        }
    }
}
