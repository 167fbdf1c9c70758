//! Barriers of a block: who has arrived, and when all go on.
//!
//! Arrival is counted by warps, as the ISA counts ("in multiples of the warp
//! size"): a warp has arrived when all its lanes that still run have. Threads
//! that ended do not keep others waiting.

use super::Exec;
use super::block::Block;
use super::warp::State;
use crate::sem::{self, Operation, Reduction};

pub(super) struct Barriers {
    list: Vec<Barrier>,
}

#[derive(Clone)]
struct Barrier {
    /// Lanes that arrived, warp by warp.
    arrived: Vec<u32>,
    /// Threads expected, where the instruction says.
    count: Option<u32>,
    all: bool,
    any: bool,
    ones: u64,
}

impl Barrier {
    fn clear(&mut self) {
        self.arrived.fill(0);
        (self.count, self.all, self.any, self.ones) = (None, true, false, 0);
    }
}

impl Barriers {
    pub(super) fn new(warps: usize) -> Barriers {
        let empty =
            Barrier { arrived: vec![0; warps], count: None, all: true, any: false, ones: 0 };
        Barriers { list: vec![empty; 16] }
    }

    /// As if nobody had come.
    pub(super) fn clear(&mut self) {
        self.list.iter_mut().for_each(Barrier::clear);
    }

    /// Lanes of a warp arrive; with what they bring to a reduction.
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

impl Block {
    /// Lets those go on whose barrier is complete. True if there were any.
    pub(super) fn release(&mut self, exec: &Exec<'_>) -> bool {
        let mut released = false;
        for id in 0..16 {
            let b = &self.common.barriers.list[id];
            if b.arrived.iter().all(|a| *a == 0) {
                continue;
            }
            let complete = |w: usize| b.arrived[w] != 0 && self.warps[w].live & !b.arrived[w] == 0;
            let done = match b.count {
                Some(count) => {
                    let n = (0..self.warps.len()).filter(|w| complete(*w)).count() as u32;
                    n >= count.div_ceil(32)
                }
                None => (0..self.warps.len()).all(|w| self.warps[w].live == 0 || complete(w)),
            };
            if !done {
                continue;
            }
            released = true;
            let (all, any, ones) = (b.all, b.any, b.ones);
            for warp in &mut self.warps {
                for k in 0..warp.fragments.len() {
                    let f = &mut warp.fragments[k];
                    if !matches!(f.state, State::Barrier(n) if n == id) {
                        continue;
                    }
                    f.state = State::Ready;
                    let (frame, mask) = (f.frame, f.mask);
                    let function = &exec.module.functions[warp.frames[frame].function as usize];
                    let inst = &function.code[f.pc as usize];
                    f.pc += 1;
                    if let Operation::Barrier(sem::Barrier::Reduce(what)) = inst.sem {
                        let value = match what {
                            Reduction::And => u64::from(all),
                            Reduction::Or => u64::from(any),
                            Reduction::Count => ones,
                        };
                        warp.write(frame, inst.dst[0], mask, &[value; 32]);
                    }
                }
            }
            let b = &mut self.common.barriers.list[id];
            b.clear();
        }
        released
    }
}
