//! Barriers of a block: arrivals, and when all warps go on.
//!
//! Arrivals are counted by warps, as the ISA counts ("in multiples of the warp size"): a warp has arrived when all
//! its running lanes have. Exited threads do not keep others waiting.

use crate::sem::BARRIERS;

pub(super) struct Barriers {
    pub(super) list: Vec<Barrier>,
}

#[derive(Clone)]
pub(super) struct Barrier {
    /// Lanes that arrived, warp by warp.
    pub(super) arrived: Vec<u32>,
    /// Threads expected, where the instruction says.
    pub(super) count: Option<u32>,
    pub(super) all: bool,
    pub(super) any: bool,
    pub(super) ones: u64,
}

impl Barrier {
    pub(super) fn clear(&mut self) {
        self.arrived.fill(0);
        (self.count, self.all, self.any, self.ones) = (None, true, false, 0);
    }
}

impl Barriers {
    pub(super) fn new(warps: usize) -> Barriers {
        let empty =
            Barrier { arrived: vec![0; warps], count: None, all: true, any: false, ones: 0 };
        Barriers { list: vec![empty; BARRIERS as usize] }
    }

    /// Resets all arrivals.
    pub(super) fn clear(&mut self) {
        self.list.iter_mut().for_each(Barrier::clear);
    }

    /// Lanes of a warp arrive, with their inputs of a reduction.
    pub(super) fn arrive(
        &mut self,
        barrier: usize,
        warp: u32,
        lanes: u32,
        count: Option<u32>,
        predicate: Option<u32>,
    ) {
        let b = &mut self.list[barrier];
        b.arrived[warp as usize] |= lanes;
        b.count = count.or(b.count);
        if let Some(p) = predicate {
            b.all &= p & lanes == lanes;
            b.any |= p & lanes != 0;
            b.ones += u64::from((p & lanes).count_ones());
        }
    }
}
