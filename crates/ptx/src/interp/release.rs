//! Releases the threads that wait at a barrier of the block, once all have arrived.

use super::block::Block;
use super::launch::Exec;
use super::warp::State;
use crate::sem::{self, Operation, Reduction};

impl Block {
    /// Releases the threads whose barrier is complete. True if there were any.
    pub(super) fn release(&mut self, exec: &Exec<'_>) -> bool {
        let mut released = false;
        for id in 0..self.common.barriers.list.len() {
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

    /// Releases the threads that wait at the cluster's barrier and arrived before it was complete. True if there were
    /// any.
    pub(super) fn release_cluster(&mut self) -> bool {
        let mut released = false;
        for (warp, number) in self.warps.iter_mut().zip(0..) {
            for k in 0..warp.fragments.len() {
                let f = &mut warp.fragments[k];
                if !matches!(f.state, State::Cluster) {
                    continue;
                }
                let free = self.common.arrivals.released(number, f.mask);
                if free == 0 {
                    continue;
                }
                released = true;
                let (mask, pc) = (f.mask, f.pc);
                if free == mask {
                    (f.state, f.pc) = (State::Ready, pc + 1);
                } else {
                    warp.split(k, free, pc + 1);
                }
            }
        }
        released
    }
}
