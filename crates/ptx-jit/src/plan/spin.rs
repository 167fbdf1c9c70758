//! Loops in which a lane may wait for another lane.
//!
//! A loop may spin if one of its exits depends on what a volatile or ordered
//! load, an atomic, or a barrier object gave inside it.

use super::graph::{Edge, Piece, Term, reads, writes};
use super::set::Set;
use cushim_ptx::ir::{Function, Inst};
use cushim_ptx::table::{Op, Word};

/// Whether a value of it may change by what others do.
fn observes(inst: &Inst) -> bool {
    match inst.op {
        Op::Ld => {
            let words = [Word::Volatile, Word::Relaxed, Word::Acquire, Word::Mmio];
            inst.words.first(&words).is_some()
        }
        Op::Atom => !inst.dst.is_empty(),
        Op::MbarTest => true,
        _ => false,
    }
}

pub(super) fn may_spin(f: &Function, pieces: &[Piece]) -> bool {
    loops(pieces).iter().any(|body| spins(f, pieces, body))
}

/// For each backward edge, the pieces from which it can be reached without
/// leaving what its target reaches.
fn loops(pieces: &[Piece]) -> Vec<Set> {
    let n = pieces.len();
    let mut before = vec![Vec::new(); n];
    for (k, p) in pieces.iter().enumerate() {
        p.term.successors().into_iter().for_each(|s| before[s].push(k));
    }
    let reach = |from: usize, next: &dyn Fn(usize) -> Vec<usize>| {
        let mut seen = Set::new(n);
        let mut stack = vec![from];
        while let Some(k) = stack.pop() {
            if !seen.has(k) {
                seen.insert(k);
                stack.extend(next(k));
            }
        }
        seen
    };
    let mut out: Vec<Set> = Vec::new();
    for k in 0..n {
        for s in pieces[k].term.successors().into_iter().filter(|s| *s <= k) {
            let down = reach(s, &|p| pieces[p].term.successors());
            let up = reach(k, &|p| if p == s { Vec::new() } else { before[p].clone() });
            let mut body = Set::new(n);
            down.iter().filter(|p| up.has(*p)).for_each(|p| body.insert(p));
            out.push(body);
        }
    }
    out
}

fn spins(f: &Function, pieces: &[Piece], body: &Set) -> bool {
    let mut tainted = Set::new(f.registers.len());
    let mut list = Vec::new();
    let mut changed = true;
    while changed {
        changed = false;
        for k in body.iter() {
            for inst in &f.code[pieces[k].start..pieces[k].end] {
                reads(inst, &mut list);
                if observes(inst) || list.iter().any(|r| tainted.has(*r as usize)) {
                    for w in writes(inst) {
                        changed |= !tainted.has(w as usize);
                        tainted.insert(w as usize);
                    }
                }
            }
        }
    }
    body.iter().any(|k| {
        let leaves = pieces[k].term.edges().iter().any(|e| match e {
            Edge::To(s) => !body.has(*s),
            Edge::Exit => true,
        });
        leaves
            && match &pieces[k].term {
                Term::Branch { guard, .. } => tainted.has(guard.0 as usize),
                Term::Table { inst, .. } => {
                    reads(&f.code[*inst], &mut list);
                    list.iter().any(|r| tainted.has(*r as usize))
                }
                _ => false,
            }
    })
}
