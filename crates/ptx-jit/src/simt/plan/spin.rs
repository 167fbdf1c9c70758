//! Loops in which a lane may wait for another lane.
//!
//! A loop may spin if one of its exits depends on a value from a volatile or ordered load, an atomic, or a barrier
//! object inside the loop, or from any load in a loop with a fence: compilers read such a variable again after each
//! fence.

use super::liveness;
use super::readers::{Reader, Readers};
use super::region::{Edge, Region, writes};
use cushim_ptx::ir::{Function, Inst};
use cushim_ptx::sem::{Cache, MbarrierOp, Operation};
use cushim_ptx::types::Space;
use cushim_ptx::work;

/// Whether its result may change by what other threads do, in a loop with or without a fence.
fn observes(inst: &Inst, fenced: bool) -> bool {
    match inst.sem {
        Operation::Load(a) => {
            let own = a.constant || matches!(a.space, Space::Local | Space::Param);
            a.is_ordered() || a.cache == Cache::Cv || fenced && !own
        }
        Operation::Atomic(_) => !inst.dst.is_empty(),
        Operation::Mbarrier(m) => matches!(m.op, MbarrierOp::Test { .. }),
        _ => false,
    }
}

fn is_fence(inst: &Inst) -> bool {
    matches!(inst.sem, Operation::Fence(_))
}

/// Steps for each instruction after which loops count as such without being looked at: they are nested deep.
const MOST: usize = 256;

pub(super) fn may_spin(f: &Function, regions: &[Region]) -> bool {
    let fenced = regions.iter().any(|p| f.code[p.start..p.end].iter().any(is_fence));
    if !regions.iter().any(|p| f.code[p.start..p.end].iter().any(|inst| observes(inst, fenced))) {
        return false;
    }
    let loops = Loops {
        f,
        regions,
        before: liveness::before(regions),
        readers: Readers::of(f, regions),
        up: Marks::new(regions.len()),
        body: Marks::new(regions.len()),
        tainted: Marks::new(f.registers.len()),
        left: MOST * (f.code.len() + regions.len()),
    };
    loops.any_spins()
}

/// Marks on numbers that are cleared all at once.
struct Marks {
    of: Vec<u32>,
    now: u32,
}

impl Marks {
    fn new(bound: usize) -> Marks {
        Marks { of: vec![0; bound], now: 0 }
    }

    fn clear(&mut self) {
        self.now += 1;
    }

    fn has(&self, n: usize) -> bool {
        self.of[n] == self.now
    }

    /// Adds a mark; returns whether it is new.
    fn add(&mut self, n: usize) -> bool {
        std::mem::replace(&mut self.of[n], self.now) != self.now
    }
}

struct Loops<'a> {
    f: &'a Function,
    regions: &'a [Region],
    before: Vec<Vec<usize>>,
    readers: Readers,
    /// From which regions the end of a loop can be reached.
    up: Marks,
    /// The regions of the loop.
    body: Marks,
    tainted: Marks,
    /// How many steps are left.
    left: usize,
}

impl Loops<'_> {
    fn any_spins(mut self) -> bool {
        // Usually no branch depends on such a load: then no loop has to be examined.
        let all: Vec<usize> = (0..self.regions.len()).collect();
        self.body.clear();
        for k in &all {
            self.body.add(*k);
        }
        if !self.decides(&all, |this, k| this.regions[k].term.edges().len() > 1) {
            return false;
        }
        for k in 0..self.regions.len() {
            for s in self.regions[k].next.iter().copied().filter(|s| *s <= k) {
                let list = self.find(s, k);
                if self.left == 0 || self.spins(&list) {
                    return true;
                }
            }
        }
        false
    }

    fn step(&mut self, count: usize) {
        work::step(count);
        self.left = self.left.saturating_sub(count);
    }

    /// For a backward edge, the regions from which it can be reached without leaving what its target reaches.
    fn find(&mut self, first: usize, last: usize) -> Vec<usize> {
        self.up.clear();
        let mut stack = vec![last];
        while let Some(k) = stack.pop() {
            self.step(1);
            if self.up.add(k) && k != first {
                stack.extend(&self.before[k]);
            }
        }
        self.body.clear();
        let mut list = Vec::new();
        stack.push(first);
        while let Some(k) = stack.pop() {
            self.step(1);
            if self.up.has(k) && self.body.add(k) {
                list.push(k);
                stack.extend(&self.regions[k].next);
            }
        }
        list
    }

    /// Whether an observed value decides in a loop whether it continues.
    fn spins(&mut self, list: &[usize]) -> bool {
        self.decides(list, |this, k| {
            let leaves = |e: &Edge| match e {
                Edge::To(s) => !this.body.has(*s),
                Edge::Exit => true,
            };
            this.regions[k].term.edges().iter().any(leaves)
        })
    }

    /// Whether the end of one of these regions, which are marked as the body, depends on what observes something in
    /// them. Only ends count of which `matters` holds.
    fn decides(&mut self, list: &[usize], matters: impl Fn(&Self, usize) -> bool) -> bool {
        self.tainted.clear();
        let mut registers: Vec<u32> = Vec::new();
        let code = |k: &usize| &self.f.code[self.regions[*k].start..self.regions[*k].end];
        let fenced = list.iter().any(|k| code(k).iter().any(is_fence));
        for k in list {
            let region = &self.regions[*k];
            self.step(region.end - region.start + 1);
            let code = &self.f.code[region.start..region.end];
            let seen = code.iter().filter(|inst| observes(inst, fenced)).flat_map(writes);
            registers.extend(seen.filter(|r| self.tainted.add(*r as usize)));
        }
        while let Some(r) = registers.pop() {
            let mut count = 1;
            for reader in self.readers.of_register(r) {
                count += 1;
                match reader {
                    Reader::End(k) => {
                        if self.body.has(k) && matters(self, k) {
                            return true;
                        }
                    }
                    Reader::Instruction(i) => {
                        if self.readers.home(i).is_some_and(|k| self.body.has(k)) {
                            let written = writes(&self.f.code[i as usize]);
                            registers.extend(written.filter(|w| self.tainted.add(*w as usize)));
                        }
                    }
                }
            }
            self.step(count);
        }
        false
    }
}
