//! Basic blocks, and the order in which divergent lanes run.
//!
//! The rank is a reverse post-order in which, of a block's successors, those in fewer loops come later. Lanes of the
//! lowest rank run first, so lanes that left a loop wait for those still inside.

use crate::ir::{Block, Function, Src};
use crate::sem::{Control, Operation};
use crate::work;

impl Function {
    /// Cuts the code into basic blocks and ranks them: anew, after it was changed.
    pub fn find_blocks(&mut self) {
        find(self);
    }
}

fn find(f: &mut Function) {
    let n = f.code.len();
    let mut leader = vec![false; n + 1];
    leader[0] = true;
    for (at, inst) in f.code.iter().enumerate() {
        for src in &inst.src {
            match src {
                Src::Target(t) => leader[*t as usize] = true,
                Src::Targets(list) => list.iter().for_each(|t| leader[*t as usize] = true),
                _ => {}
            }
        }
        leader[at + 1] |= matches!(inst.sem, Operation::Control(c) if c.ends_block());
    }
    let starts: Vec<usize> = (0..n).filter(|i| leader[*i]).collect();
    f.block_of = vec![0; n];
    for (b, &start) in starts.iter().enumerate() {
        let end = starts.get(b + 1).copied().unwrap_or(n);
        f.block_of[start..end].fill(b as u32);
    }
    f.blocks = starts
        .iter()
        .enumerate()
        .map(|(b, &start)| {
            let end = starts.get(b + 1).copied().unwrap_or(n);
            Block { start: start as u32, end: end as u32, rank: 0, successors: successors(f, end) }
        })
        .collect();
    rank(f);
}

fn successors(f: &Function, end: usize) -> Vec<u32> {
    let Some(last) = f.code.get(end - 1) else { return Vec::new() };
    let mut out = Vec::new();
    // An index past the list of `brx.idx` falls through.
    let jumps =
        matches!(last.sem, Operation::Control(c) if c.ends_block() && c != Control::BranchTable);
    if (!jumps || last.guard.is_some()) && end < f.code.len() {
        out.push(f.block_of[end]);
    }
    for src in &last.src {
        match src {
            Src::Target(t) => out.push(f.block_of[*t as usize]),
            Src::Targets(list) => out.extend(list.iter().map(|t| f.block_of[*t as usize])),
            _ => {}
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// Post-order from the entry, taking successors in the order `first` gives.
fn post_order(blocks: &[Block], first: impl Fn(u32) -> u32) -> Vec<u32> {
    let mut seen = vec![false; blocks.len()];
    let mut out = Vec::with_capacity(blocks.len());
    let ordered = |b: u32| {
        let mut s = blocks[b as usize].successors.clone();
        s.sort_by_key(|x| first(*x));
        s.into_iter()
    };
    seen[0] = true;
    let mut stack = vec![(0u32, ordered(0))];
    while let Some((b, rest)) = stack.last_mut() {
        match rest.next() {
            Some(s) if !std::mem::replace(&mut seen[s as usize], true) => {
                stack.push((s, ordered(s)));
            }
            Some(_) => {}
            None => {
                out.push(*b);
                stack.pop();
            }
        }
    }
    out
}

fn rank(f: &mut Function) {
    let depth = loop_depth(&f.blocks);
    let order = post_order(&f.blocks, |b| depth[b as usize]);
    for (i, b) in order.iter().rev().enumerate() {
        f.blocks[*b as usize].rank = i as u32;
    }
}

/// How many natural loops each block is in.
fn loop_depth(blocks: &[Block]) -> Vec<u32> {
    let post = post_order(blocks, |b| b);
    let mut number = vec![usize::MAX; blocks.len()];
    for (i, b) in post.iter().enumerate() {
        number[*b as usize] = i;
    }
    let mut predecessors = vec![Vec::new(); blocks.len()];
    for b in &post {
        for s in &blocks[*b as usize].successors {
            predecessors[*s as usize].push(*b);
        }
    }
    // Immediate dominators (Cooper, Harvey, Kennedy).
    let mut idom: Vec<Option<u32>> = vec![None; blocks.len()];
    idom[0] = Some(0);
    let mut changed = true;
    while changed {
        changed = false;
        for &b in post.iter().rev().skip(1) {
            let mut new: Option<u32> = None;
            for &p in &predecessors[b as usize] {
                if idom[p as usize].is_none() {
                    continue;
                }
                new = Some(match new {
                    None => p,
                    Some(other) => {
                        let (mut x, mut y) = (p, other);
                        while x != y {
                            work::step(1);
                            while number[x as usize] < number[y as usize] {
                                x = idom[x as usize].unwrap_or(0);
                            }
                            while number[y as usize] < number[x as usize] {
                                y = idom[y as usize].unwrap_or(0);
                            }
                        }
                        x
                    }
                });
            }
            if idom[b as usize] != new {
                idom[b as usize] = new;
                changed = true;
            }
        }
    }
    let post: Vec<u32> = post.into_iter().rev().collect();
    nesting(&post, &predecessors, &idom)
}

/// The same from immediate dominators: loops are found from their ends backwards, the inner ones first, which then
/// count as one block, so that every edge is visited once.
fn nesting(order: &[u32], predecessors: &[Vec<u32>], idom: &[Option<u32>]) -> Vec<u32> {
    let n = predecessors.len();
    // The blocks that a block dominates have consecutive numbers.
    let mut size = vec![1u32; n];
    for &b in order.iter().skip(1).rev() {
        if let Some(up) = idom[b as usize] {
            size[up as usize] += size[b as usize];
        }
    }
    let (mut first, mut next) = (vec![0u32; n], vec![1u32; n]);
    for &b in order.iter().skip(1) {
        let up = idom[b as usize].unwrap_or(0) as usize;
        first[b as usize] = next[up];
        next[up] += size[b as usize];
        next[b as usize] = first[b as usize] + 1;
    }
    let dominates = |a: u32, b: u32| {
        (first[a as usize]..first[a as usize] + size[a as usize]).contains(&first[b as usize])
    };
    // The loop that a block was found in, by its header; and whom it counts as one with.
    let mut inside: Vec<Option<u32>> = vec![None; n];
    let mut header = vec![false; n];
    let mut one: Vec<u32> = (0..n as u32).collect();
    let find = |one: &mut Vec<u32>, mut b: u32| {
        while one[b as usize] != b {
            work::step(1);
            one[b as usize] = one[one[b as usize] as usize];
            b = one[b as usize];
        }
        b
    };
    let mut stack: Vec<u32> = Vec::new();
    for &h in order.iter().rev() {
        let ends = predecessors[h as usize].iter().copied().filter(|p| dominates(h, *p));
        stack.extend(ends);
        header[h as usize] = !stack.is_empty();
        while let Some(b) = stack.pop() {
            work::step(1);
            let b = find(&mut one, b);
            if b != h {
                (inside[b as usize], one[b as usize]) = (Some(h), h);
                stack.extend(&predecessors[b as usize]);
            }
        }
    }
    let mut depth = vec![0; n];
    for &b in order {
        let outer = inside[b as usize].map_or(0, |h| depth[h as usize]);
        depth[b as usize] = outer + u32::from(header[b as usize]);
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of natural loops around each block, by definition: the loops of blocks that reach an edge back to a
    /// dominating block without passing through it.
    fn plain(blocks: &[Block]) -> Vec<u32> {
        let n = blocks.len();
        let reach = |from: u32, without: Option<u32>| {
            let (mut seen, mut stack) = (vec![false; n], vec![from]);
            while let Some(b) = stack.pop() {
                if Some(b) != without && !std::mem::replace(&mut seen[b as usize], true) {
                    stack.extend(&blocks[b as usize].successors);
                }
            }
            seen
        };
        let reached = reach(0, None);
        let mut depth = vec![0; n];
        for h in (0..n as u32).filter(|h| reached[*h as usize]) {
            let past = reach(0, Some(h));
            let to_h = |b: &u32| blocks[*b as usize].successors.contains(&h);
            let dominated = |b: &u32| reached[*b as usize] && !past[*b as usize];
            let ends: Vec<u32> = (0..n as u32).filter(|b| to_h(b) && dominated(b)).collect();
            for b in (0..n as u32).filter(|b| reached[*b as usize]) {
                let seen = reach(b, Some(h));
                let in_it = b == h || ends.iter().any(|e| seen[*e as usize]);
                depth[b as usize] += u32::from(in_it && !ends.is_empty());
            }
        }
        depth
    }

    #[test]
    fn loops_nest_as_they_are_defined() {
        let mut x = 88_172_645_463_325_252u64;
        let mut pick = |below: usize| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x >> 20) as usize % below
        };
        for _ in 0..3000 {
            let n = 1 + pick(14);
            let mut blocks = Vec::new();
            for k in 0..n {
                let mut successors: Vec<u32> = (0..pick(3)).map(|_| pick(n) as u32).collect();
                if k + 1 < n && pick(4) != 0 {
                    successors.push(k as u32 + 1);
                }
                successors.sort_unstable();
                successors.dedup();
                blocks.push(Block { start: 0, end: 0, rank: 0, successors });
            }
            let found = loop_depth(&blocks);
            assert_eq!(
                found,
                plain(&blocks),
                "{:?}",
                blocks.iter().map(|b| &b.successors).collect::<Vec<_>>()
            );
        }
    }
}
