//! Registers that a recursive function needs after a recursive call.
//!
//! Owns finding those registers: an instance's own registers that are live after the call. Must not know where they
//! are saved.

use super::instance::{Circular, Instance};
use crate::simt::plan::liveness::Effects;
use crate::simt::plan::set::{Rounds, Set};
use cushim_ptx::ir::{Dst, Function, Src};
use std::collections::HashMap;

/// Code in which only the first instruction keeps registers or takes them back.
struct Segment {
    before: Vec<usize>,
    /// What it begins with.
    call: Option<(usize, Side)>,
    /// Registers that it reads before it writes them, and those that it writes.
    exposed: Set,
    killed: Set,
    live_out: Set,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Save,
    Restore,
}

/// Makes them the operands of the instruction before each call, and the results of the one after it.
pub(super) fn find(f: &mut Function, calls: &[Circular], instances: &[Instance]) {
    if calls.is_empty() {
        return;
    }
    for (call, kept) in calls.iter().zip(kept(f, calls, instances)) {
        let kept: Vec<u32> = kept.iter().map(|r| r as u32).collect();
        f.code[call.save].src = kept.iter().map(|r| Src::Reg(*r)).collect();
        let to = |r: &u32| Dst::Reg(*r, f.registers[*r as usize].bits());
        f.code[call.restore].dst = kept.iter().map(to).collect();
    }
}

/// For each call, the registers that are live after it. Earlier calls have to save them for it, because it reads them
/// where they are saved. Restored registers are not live in between.
fn kept(f: &Function, calls: &[Circular], instances: &[Instance]) -> Vec<Set> {
    let mut segments = segments(f, calls);
    let mut saves = vec![0; calls.len()];
    for (k, s) in segments.iter().enumerate() {
        if let Some((call, Side::Save)) = s.call {
            saves[call] = k;
        }
    }
    let mut kept = vec![Set::new(); calls.len()];
    let n = segments.len();
    let mut rounds = Rounds::all(n);
    while let Some(k) = rounds.pop().map(|turn| n - 1 - turn) {
        let segment = &segments[k];
        let mut live = segment.live_out.clone();
        live.subtract(&segment.killed);
        live.unite(&segment.exposed);
        match segment.call {
            Some((call, Side::Restore)) => {
                let (first, end) = instances[calls[call].instance].registers;
                let own = live.take_range(first as usize, end as usize);
                if kept[call].unite(&own) {
                    rounds.push(n - 1 - saves[call]);
                }
            }
            Some((call, Side::Save)) => drop(live.unite(&kept[call])),
            None => {}
        }
        for b in segments[k].before.clone() {
            if segments[b].live_out.unite(&live) {
                rounds.push(n - 1 - b);
            }
        }
    }
    kept
}

fn segments(f: &Function, calls: &[Circular]) -> Vec<Segment> {
    let saves = calls.iter().enumerate().map(|(n, c)| (c.save, (n, Side::Save)));
    let restores = calls.iter().enumerate().map(|(n, c)| (c.restore, (n, Side::Restore)));
    let kind: HashMap<usize, (usize, Side)> = saves.chain(restores).collect();
    let mut effects = Effects::new(f);
    let mut all: Vec<Segment> = Vec::new();
    let mut ends = Vec::with_capacity(f.blocks.len());
    let mut begins = Vec::with_capacity(f.blocks.len());
    for block in &f.blocks {
        begins.push(all.len());
        for at in block.start as usize..block.end as usize {
            let call = kind.get(&at).copied();
            if at == block.start as usize || call.is_some() {
                let before = if at == block.start as usize { vec![] } else { vec![all.len() - 1] };
                if let Some(last) = all.last_mut() {
                    (last.exposed, last.killed) = effects.end();
                }
                let [exposed, killed, live_out] = [0; 3].map(|_| Set::new());
                all.push(Segment { before, call, exposed, killed, live_out });
            }
            effects.instruction(&f.code[at]);
        }
        ends.push(all.len() - 1);
    }
    if let Some(last) = all.last_mut() {
        (last.exposed, last.killed) = effects.end();
    }
    for (block, end) in f.blocks.iter().zip(ends) {
        block.successors.iter().for_each(|s| all[begins[*s as usize]].before.push(end));
    }
    all
}
