//! Barriers of a block: arrivals, and when all warps go on. Arrivals at the cluster's barrier are passed on to the
//! cluster.
//!
//! As in the interpreter, arrivals are counted by warps: a warp has arrived when all its running lanes have. Exited
//! threads do not keep others waiting.

use crate::warp::{Arrival, CLUSTER, NOWHERE, Placed, Warp};
use cushim_ptx::exec::cluster::Arrivals;
use cushim_ptx::sem::{self, Operation, Reduction};

#[derive(Clone)]
pub(super) struct Barrier {
    /// Lanes that arrived, by warp, as far as any ever arrived in this slot.
    arrived: Vec<u32>,
    count: Option<u32>,
    all: bool,
    any: bool,
    ones: u32,
    used: bool,
}

impl Barrier {
    pub(super) fn new() -> Barrier {
        Barrier { arrived: Vec::new(), count: None, all: true, any: false, ones: 0, used: false }
    }

    /// Lanes of a warp come.
    fn come(&mut self, warp: usize, lanes: u32) {
        self.used = true;
        if self.arrived.len() <= warp {
            self.arrived.resize(warp + 1, 0);
        }
        self.arrived[warp] |= lanes;
    }

    /// The lanes that arrived.
    fn came(&self, warp: usize) -> u32 {
        self.arrived.get(warp).copied().unwrap_or(0)
    }

    pub(super) fn reset(&mut self) {
        if self.used {
            self.arrived.fill(0);
            (self.count, self.all, self.any, self.ones) = (None, true, false, 0);
            self.used = false;
        }
    }
}

/// Records the arrival of a warp's lanes.
pub(super) fn arrive(barriers: &mut [Barrier], cluster: &mut Arrivals, warp: &mut Warp) {
    let index = warp.index as usize;
    for a in warp.arrivals.drain(..) {
        if a.barrier == CLUSTER {
            cluster.arrive(index, a.lanes);
            continue;
        }
        let b = &mut barriers[a.barrier as usize];
        b.come(index, a.lanes);
        b.count = a.count.or(b.count);
        if let Some(p) = a.predicate {
            b.all &= p & a.lanes == a.lanes;
            b.any |= p & a.lanes != 0;
            b.ones += (p & a.lanes).count_ones();
        }
    }
}

/// Releases warps that all arrived together at one barrier: the usual case, which needs no records. Otherwise records
/// the arrivals. True if warps go on.
pub(super) fn meet(barriers: &mut [Barrier], cluster: &mut Arrivals, warps: &mut [Placed]) -> bool {
    let number = |w: &Warp| crate::warp::barrier_number(&w.site(w.meet).inst);
    let mut came = warps.iter().filter(|w| w.live != 0);
    let first = came.next().filter(|w| w.meet != NOWHERE).and_then(|w| number(w));
    let together = first.is_some()
        && came.all(|w| w.meet != NOWHERE && number(w) == first)
        && barriers.iter().all(|b| !b.used);
    for w in warps.iter_mut().filter(|w| w.meet != NOWHERE) {
        let site = std::mem::replace(&mut w.meet, NOWHERE);
        let (region, lanes) = (w.site(site).extra, w.live);
        if together {
            w.make_ready(region, lanes);
            continue;
        }
        let barrier = crate::warp::barrier_number(&w.site(site).inst).unwrap_or(0);
        w.arrivals.push(Arrival { barrier, lanes, count: None, predicate: None });
        w.waiting.push((barrier, lanes, region, site));
        arrive(barriers, cluster, w);
    }
    together
}

/// Releases the lanes whose barrier is complete. True if there were any.
pub(super) fn release(barriers: &mut [Barrier], warps: &mut [Placed]) -> bool {
    let mut released = false;
    for (id, b) in barriers.iter_mut().enumerate() {
        if !b.used {
            continue;
        }
        let complete = |w: usize| b.came(w) != 0 && warps[w].live & !b.came(w) == 0;
        let done = match b.count {
            Some(count) => {
                let n = (0..warps.len()).filter(|w| complete(*w)).count() as u32;
                n >= count.div_ceil(32)
            }
            None => (0..warps.len()).all(|w| warps[w].live == 0 || complete(w)),
        };
        if !done {
            continue;
        }
        released = true;
        for warp in warps.iter_mut() {
            let mut waiting = std::mem::take(&mut warp.waiting);
            waiting.retain(|&(barrier, lanes, region, site)| {
                if barrier as usize != id {
                    return true;
                }
                let inst = &warp.site(site).inst;
                if let Operation::Barrier(sem::Barrier::Reduce(what)) = inst.sem {
                    warp.reduced = match what {
                        Reduction::And => b.all.into(),
                        Reduction::Or => b.any.into(),
                        Reduction::Count => b.ones,
                    };
                }
                warp.make_ready(region, lanes);
                false
            });
            warp.waiting = waiting;
        }
        b.reset();
    }
    released
}

/// Releases lanes of a warp that arrived at the cluster's barrier before it was complete. True if there were any.
pub(super) fn release_cluster(arrivals: &Arrivals, warp: &mut Warp) -> bool {
    let mut waiting = std::mem::take(&mut warp.waiting);
    let mut released = false;
    for (barrier, lanes, region, _) in &mut waiting {
        let free = arrivals.released(warp.index as usize, *lanes);
        if *barrier == CLUSTER && free != 0 {
            released = true;
            warp.make_ready(*region, free);
            *lanes &= !free;
        }
    }
    waiting.retain(|(_, lanes, ..)| *lanes != 0);
    warp.waiting = waiting;
    released
}

impl Warp {
    /// Lanes may run at a region.
    pub(super) fn make_ready(&mut self, region: u32, lanes: u32) {
        // SAFETY: there are as many masks as regions, and no other number occurs.
        unsafe { *self.masks.add(region as usize) |= lanes };
        self.low = if self.low == NOWHERE { region } else { self.low.min(region) };
    }
}
