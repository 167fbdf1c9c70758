//! Basic blocks, and the order in which parted lanes run.
//!
//! The rank is a reverse post-order in which, of a block's successors, those
//! in fewer loops come later. Lanes of the lowest rank run first, so lanes that
//! left a loop wait behind it for those still inside.

use crate::ir::{Block, Function, Src};
use crate::table::Op;

/// Cuts `f.code` into blocks and ranks them.
pub(crate) fn find(f: &mut Function) {
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
        leader[at + 1] |= matches!(inst.op, Op::Bra | Op::BrxIdx | Op::Ret | Op::Exit | Op::Trap);
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
    // An index past the list of `brx.idx` goes on behind it.
    let jumps = matches!(last.op, Op::Bra | Op::Ret | Op::Exit | Op::Trap);
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
    let dominates = |a: u32, mut b: u32| loop {
        if a == b {
            return true;
        }
        match idom[b as usize] {
            Some(up) if up != b => b = up,
            _ => return false,
        }
    };
    let mut depth = vec![0; blocks.len()];
    for header in 0..blocks.len() as u32 {
        let back: Vec<u32> = predecessors[header as usize]
            .iter()
            .copied()
            .filter(|p| dominates(header, *p))
            .collect();
        if back.is_empty() {
            continue;
        }
        let mut inside = vec![false; blocks.len()];
        inside[header as usize] = true;
        depth[header as usize] += 1;
        let mut stack = back;
        while let Some(b) = stack.pop() {
            if !std::mem::replace(&mut inside[b as usize], true) {
                depth[b as usize] += 1;
                stack.extend(&predecessors[b as usize]);
            }
        }
    }
    depth
}
