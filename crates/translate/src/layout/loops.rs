//! The loops of a function's graph.
//!
//! Owns the dominators of blocks, and the natural loops that follow from them. An irreducible cycle (with several
//! entries) does not count as a loop.

use cushim_ptx::ir::Function;
use std::collections::BTreeSet;

/// A natural loop: its first block, and all of its blocks.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) head: u32,
    pub(super) blocks: BTreeSet<u32>,
}

/// All loops, those of one head as one.
pub(super) fn of(f: &Function) -> Vec<Loop> {
    let graph = Graph::of(f);
    let mut loops: Vec<Loop> = Vec::new();
    for from in &graph.order {
        for head in successors(f, *from) {
            if !graph.dominates(*head, *from) {
                continue;
            }
            let known = loops.iter().position(|l| l.head == *head).unwrap_or_else(|| {
                loops.push(Loop { head: *head, blocks: BTreeSet::from([*head]) });
                loops.len() - 1
            });
            let Some(found) = loops.get_mut(known) else { continue };
            let mut stack = vec![*from];
            while let Some(n) = stack.pop() {
                if found.blocks.insert(n) {
                    stack.extend(graph.before(n));
                }
            }
        }
    }
    loops
}

pub(super) fn successors(f: &Function, n: u32) -> &[u32] {
    f.blocks.get(n as usize).map_or(&[][..], |b| &b.successors)
}

struct Graph {
    /// Reachable blocks, each before those that only it leads to.
    order: Vec<u32>,
    /// A block's index in `order`.
    place: Vec<Option<usize>>,
    before: Vec<Vec<u32>>,
    /// By index: the index of the block's immediate dominator.
    dominator: Vec<usize>,
}

impl Graph {
    fn of(f: &Function) -> Graph {
        let n = f.blocks.len();
        let mut graph = Graph {
            order: order(f),
            place: vec![None; n],
            before: vec![Vec::new(); n],
            dominator: Vec::new(),
        };
        for (at, block) in graph.order.iter().enumerate() {
            if let Some(place) = graph.place.get_mut(*block as usize) {
                *place = Some(at);
            }
            for next in successors(f, *block) {
                if let Some(before) = graph.before.get_mut(*next as usize) {
                    before.push(*block);
                }
            }
        }
        graph.dominate();
        graph
    }

    fn before(&self, n: u32) -> &[u32] {
        self.before.get(n as usize).map_or(&[][..], |b| b)
    }

    /// Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm".
    fn dominate(&mut self) {
        const UNKNOWN: usize = usize::MAX;
        let mut found = vec![UNKNOWN; self.order.len()];
        if let Some(first) = found.first_mut() {
            *first = 0;
        }
        let known = |found: &[usize], at: usize| found.get(at).copied().unwrap_or(UNKNOWN);
        let mut changed = true;
        while changed {
            changed = false;
            for (at, block) in self.order.iter().enumerate().skip(1) {
                let mut new = UNKNOWN;
                for before in self.before(*block) {
                    let Some(other) = self.place.get(*before as usize).copied().flatten() else {
                        continue;
                    };
                    if known(&found, other) == UNKNOWN {
                        continue;
                    }
                    let (mut a, mut b) = (other, if new == UNKNOWN { other } else { new });
                    while a != b {
                        if a > b {
                            a = known(&found, a);
                        } else {
                            b = known(&found, b);
                        }
                    }
                    new = a;
                }
                if let Some(place) = found.get_mut(at).filter(|place| **place != new) {
                    *place = new;
                    changed = true;
                }
            }
        }
        self.dominator = found;
    }

    fn dominates(&self, a: u32, b: u32) -> bool {
        let place = |n: u32| self.place.get(n as usize).copied().flatten();
        let (Some(a), Some(mut at)) = (place(a), place(b)) else { return false };
        while at > a {
            at = self.dominator.get(at).copied().unwrap_or(0);
        }
        at == a
    }
}

/// Reachable blocks, in reverse postorder.
fn order(f: &Function) -> Vec<u32> {
    let (mut seen, mut order) = (BTreeSet::from([0]), Vec::new());
    let mut stack = vec![(0_u32, 0_usize)];
    while let Some((n, next)) = stack.pop() {
        match successors(f, n).get(next) {
            Some(to) => {
                stack.push((n, next + 1));
                if seen.insert(*to) {
                    stack.push((*to, 0));
                }
            }
            None => order.push(n),
        }
    }
    order.reverse();
    order
}
