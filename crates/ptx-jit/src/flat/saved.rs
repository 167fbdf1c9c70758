//! What a function that may call itself needs after such a call.
//!
//! Owns finding those registers: what an instance owns and is live behind the call. Must not know where they
//! are kept.

use super::{Circular, Instance};
use crate::plan::graph::{self, Term};
use crate::plan::set::Set;
use cushim_ptx::ir::{Dst, Function, Src};

/// Makes them the operands of the instruction before each call, and the results of the one behind it.
pub(super) fn find(f: &mut Function, calls: &[Circular], instances: &[Instance]) {
    // What one call keeps, the calls before it have to keep for it.
    while !calls.is_empty() && look(f, calls, instances) {}
}

/// Whether that made more of them.
fn look(f: &mut Function, calls: &[Circular], instances: &[Instance]) -> bool {
    let mut more = false;
    let pieces = graph::cut(f, &|_| false);
    let mut lists = Vec::new();
    for call in calls {
        let at = call.restore;
        let own = instances[call.instance].registers;
        let Some(piece) = pieces.iter().find(|p| p.start <= at && at < p.end) else { continue };
        let mut live = Set::new(f.registers.len());
        live.unite(&piece.live_out);
        let mut list = Vec::new();
        let mut read = |inst: usize, live: &mut Set| {
            graph::reads(&f.code[inst], &mut list);
            list.iter().for_each(|r| live.insert(*r as usize));
        };
        match &piece.term {
            Term::Branch { guard, .. } => live.insert(guard.0 as usize),
            Term::Table { inst, .. } | Term::Wait { inst, .. } => read(*inst, &mut live),
            Term::Jump(_) => {}
        }
        for inst in (at + 1..piece.end).rev() {
            if f.code[inst].guard.is_none() {
                graph::writes(&f.code[inst]).for_each(|r| live.remove(r as usize));
            }
            read(inst, &mut live);
            if f.code[inst].guard.is_some() {
                graph::writes(&f.code[inst]).for_each(|r| live.insert(r as usize));
            }
        }
        let needed = live.iter().map(|r| r as u32).filter(|r| (own.0..own.1).contains(r));
        lists.push((call.save, call.restore, needed.collect::<Vec<u32>>()));
    }
    for (save, restore, mut needed) in lists {
        needed.extend(graph::writes(&f.code[restore]));
        needed.sort_unstable();
        needed.dedup();
        more |= needed.len() > f.code[restore].dst.len();
        f.code[save].src = needed.iter().map(|r| Src::Reg(*r)).collect();
        let to = |r: &u32| Dst::Reg(*r, f.registers[*r as usize].bits());
        f.code[restore].dst = needed.iter().map(to).collect();
    }
    more
}
