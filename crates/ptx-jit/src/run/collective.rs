//! Shuffles, votes and similar operations.

use super::lane::{lanes, warp, width};
use crate::warp::{Parked, Row, Warp};
use cushim_ptx::alu;
use cushim_ptx::exec::{self, Lanes, participants, with_lanes};
use cushim_ptx::sem::{Collective, CollectiveOp, Operation};

/// What each of some lanes brings: as many operands as there is room for.
fn gather(w: &Warp, n: u32, mask: u32, inputs: &mut [Lanes]) {
    let site = w.site(n);
    for (k, (input, class)) in inputs.iter_mut().zip(&site.operands).enumerate() {
        lanes(mask).for_each(|l| input[l] = w.value(k, *class, l));
    }
}

/// The collective at a site.
fn what(w: &Warp, n: u32) -> Option<Collective> {
    match w.site(n).inst.sem {
        Operation::Collective(c) => Some(c),
        _ => None,
    }
}

/// Lanes grouped by member mask: each group's mask and lanes.
fn groups(w: &Warp, n: u32, mask: u32) -> impl Iterator<Item = (u32, u32)> + Clone + use<> {
    let site = w.site(n);
    let sync = what(w, n).is_some_and(|c| c.sync);
    let last = site.operands.len().checked_sub(1).filter(|_| sync);
    let mut members = [mask; 32];
    if let Some(last) = last {
        lanes(mask).for_each(|l| members[l] = w.value(last, site.operands[last], l) as u32);
    }
    let mut rest = mask;
    std::iter::from_fn(move || {
        let first = *members.get(rest.trailing_zeros() as usize)?;
        let group = lanes(rest).filter(|l| members[*l] == first).fold(0, |m, l| m | 1 << l);
        rest &= !group;
        Some((first, group))
    })
}

/// Where every lane that runs is here.
pub(super) unsafe fn collective(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let site = w.site(n);
    let inst = &site.inst;
    let Some(Collective { op, .. }) = what(w, n) else { return 0 };
    let groups = groups(w, n, mask);
    with_lanes(op.operands(), |inputs| {
        gather(w, n, mask, inputs);
        with_lanes(op.results(), |out| {
            for (member, group) in groups {
                let participants = participants(op, member, group, mask);
                exec::collective(op, participants, inputs, out);
                for (k, (dst, from)) in inst.dst.iter().zip(&*out).enumerate() {
                    for l in lanes(group) {
                        w.results[k][l] = from[l] & alu::mask(width(*dst));
                    }
                }
            }
        });
    });
    w.publish(site, mask);
    0
}

/// Lanes arrive at a collective while others may be missing. Returns 1 if all of these lanes may continue at once,
/// with their results stored.
pub(super) unsafe fn meet(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let Some(Collective { op, .. }) = what(w, n) else { return 1 };
    let groups = groups(w, n, mask);
    with_lanes(op.operands(), |inputs| {
        gather(w, n, mask, inputs);
        let here = |(member, group): (u32, u32)| member & w.live & !group == 0;
        if mask == w.live || groups.clone().all(here) {
            for (member, group) in groups {
                let participants = participants(op, member, group, mask);
                publish(w, n, group, participants, inputs);
            }
            return 1;
        }
        for (member, group) in groups {
            let inputs = Box::from(&*inputs);
            w.parked.push(Parked { site: n, lanes: group, member, inputs });
        }
        settle(w);
        0
    })
}

/// Completes collectives whose members have all arrived, wherever each of them is.
pub(super) fn settle(w: &mut Warp) {
    let mut k = 0;
    while k < w.parked.len() {
        let first = &w.parked[k];
        let (member, op) = (first.member, what(w, first.site));
        let same = |p: &Parked| p.member == member && what(w, p.site) == op;
        let here = w.parked.iter().filter(|p| same(p)).fold(0, |m, p| m | p.lanes);
        if member & w.live & !here != 0 {
            k += 1;
            continue;
        }
        let mut ours: Vec<bool> = w.parked.iter().map(same).collect();
        let (taken, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut w.parked).into_iter().partition(|_| ours.remove(0));
        w.parked = left;
        let parts: Vec<(u32, u32)> = taken.iter().map(|p| (p.site, p.lanes)).collect();
        with_lanes(op.map_or(0, |what| what.op.operands()), |inputs| {
            for p in &taken {
                for (to, from) in inputs.iter_mut().zip(p.inputs.iter()) {
                    lanes(p.lanes).for_each(|l| to[l] = from[l]);
                }
            }
            complete(w, &parts, inputs);
        });
        for (site, lanes) in parts {
            let next = w.site(site).extra;
            w.make_ready(next, lanes);
        }
        k = 0;
    }
}

/// Computes the results of lanes that arrived together, at one site or several.
fn complete(w: &mut Warp, parts: &[(u32, u32)], inputs: &[Lanes]) {
    let Some((first, _)) = parts.first() else { return };
    let here = parts.iter().fold(0, |m, (_, l)| m | l);
    publish(w, *first, here, here, inputs);
}

/// Computes the results of a site for some lanes, given the participating lanes.
fn publish(w: &mut Warp, site: u32, to: u32, participants: u32, inputs: &[Lanes]) {
    let Some(Collective { op, .. }) = what(w, site) else { return };
    if op == CollectiveOp::Barrier {
        return;
    }
    with_lanes(op.results(), |out| {
        exec::collective(op, participants, inputs, out);
        for (row, from) in w.collected().iter_mut().zip(&*out) {
            let Row([low, high]) = row;
            for l in lanes(to) {
                (low[l], high[l]) = (from[l] as u32, (from[l] >> 32) as u32);
            }
        }
    });
}

impl Warp {
    /// The rows where lanes that waited for others find their results.
    fn collected(&mut self) -> &mut [Row] {
        // SAFETY: the frame begins with so many, which nothing else refers to while a helper runs.
        unsafe { std::slice::from_raw_parts_mut(self.collected, self.collected_count) }
    }
}
