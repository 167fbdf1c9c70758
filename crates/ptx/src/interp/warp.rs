//! A warp: fragments of lanes, their call frames, and whose turn it is.

use super::launch::Exec;
pub(super) use crate::exec::{Lanes, lanes};
use crate::ir::Dst;
use crate::sem::Collective;
use std::ops::{Deref, DerefMut};

/// A register of all lanes, where the widest vectors do not cross the lines of the cache.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Register(pub(super) Lanes);

impl Deref for Register {
    type Target = Lanes;

    fn deref(&self) -> &Lanes {
        &self.0
    }
}

impl DerefMut for Register {
    fn deref_mut(&mut self) -> &mut Lanes {
        &mut self.0
    }
}

/// An activation of a function, shared by all lanes that entered it together.
pub(super) struct Frame {
    pub(super) function: u32,
    pub(super) registers: Vec<Register>,
    pub(super) parent: Option<usize>,
    /// Where the caller resumes.
    pub(super) return_pc: u32,
    /// Where its local memory begins.
    pub(super) local_base: u32,
    pub(super) depth: u32,
    /// Lanes in this frame, or in a deeper one.
    pub(super) lanes: u32,
}

/// What a waiting fragment brings.
pub(super) struct Waiting {
    pub(super) what: Collective,
    pub(super) member: u32,
    pub(super) inputs: Box<[Lanes]>,
}

/// What a fragment does.
pub(super) enum State {
    Ready,
    /// Waits at a barrier of the block.
    Barrier(usize),
    /// Waits at the cluster's barrier.
    Cluster,
    /// Waits for other lanes of the warp.
    Collective(Box<Waiting>),
}

/// Lanes at one instruction with one call stack.
pub(super) struct Fragment {
    pub(super) mask: u32,
    pub(super) frame: usize,
    pub(super) pc: u32,
    pub(super) state: State,
    /// How often another one was preferred.
    passed_over: u32,
}

pub(super) struct Warp {
    pub(super) index: u32,
    /// Lanes that have not exited.
    pub(super) live: u32,
    pub(super) frames: Vec<Frame>,
    free: Vec<usize>,
    /// Room of frames that were left, for others.
    room: Vec<Vec<Register>>,
    pub(super) fragments: Vec<Fragment>,
    /// Local memory, lane by lane.
    pub(super) local: Vec<Vec<u8>>,
    /// Turns for which the current fragment keeps running.
    pub(super) burst: u32,
}

/// How often a fragment is passed over before it gets a burst of as many turns.
const PATIENCE: u32 = 128;

impl Warp {
    pub(super) fn new(index: u32) -> Warp {
        Warp {
            index,
            live: 0,
            frames: Vec::new(),
            free: Vec::new(),
            room: Vec::new(),
            fragments: Vec::new(),
            local: vec![Vec::new(); 32],
            burst: 0,
        }
    }

    /// Begins for lanes `live` with so many registers and bytes of local memory; whatever was there is gone.
    pub(super) fn start(&mut self, live: u32, function: u32, registers: usize, local: usize) {
        self.live = live;
        self.frames.clear();
        self.free.clear();
        self.fragments.clear();
        self.burst = 0;
        for lane in &mut self.local {
            lane.clear();
            lane.resize(local, 0);
        }
        let registers = self.registers(registers);
        let frame = self.new_frame(Frame {
            function,
            registers,
            parent: None,
            return_pc: 0,
            local_base: 0,
            depth: 0,
            lanes: self.live,
        });
        let mask = self.live;
        self.fragments.push(Fragment { mask, frame, pc: 0, state: State::Ready, passed_over: 0 });
    }

    /// So many registers, all zero.
    pub(super) fn registers(&mut self, n: usize) -> Vec<Register> {
        let mut registers = self.room.pop().unwrap_or_default();
        registers.clear();
        registers.resize(n, Register([0; 32]));
        registers
    }

    pub(super) fn new_frame(&mut self, frame: Frame) -> usize {
        match self.free.pop() {
            Some(slot) => {
                self.frames[slot] = frame;
                slot
            }
            None => {
                self.frames.push(frame);
                self.frames.len() - 1
            }
        }
    }

    /// Lanes leave a frame; an empty one is free for reuse.
    pub(super) fn leave(&mut self, frame: usize, mask: u32) {
        self.frames[frame].lanes &= !mask;
        if self.frames[frame].lanes == 0 {
            self.room.push(std::mem::take(&mut self.frames[frame].registers));
            self.free.push(frame);
        }
    }

    /// Lanes of a fragment end.
    pub(super) fn exit(&mut self, fragment: usize, mask: u32) {
        self.live &= !mask;
        let mut frame = Some(self.fragments[fragment].frame);
        while let Some(f) = frame {
            frame = self.frames[f].parent;
            self.leave(f, mask);
        }
        self.fragments[fragment].mask &= !mask;
    }

    /// Splits lanes off a fragment into a new one at `pc`.
    pub(super) fn split(&mut self, fragment: usize, mask: u32, pc: u32) -> usize {
        let f = &mut self.fragments[fragment];
        f.mask &= !mask;
        let frame = f.frame;
        self.fragments.push(Fragment { mask, frame, pc, state: State::Ready, passed_over: 0 });
        self.fragments.len() - 1
    }

    /// Removes empty fragments and joins those at the same instruction.
    pub(super) fn tidy(&mut self) {
        self.fragments.retain(|f| f.mask != 0);
        let mut k = 0;
        while k < self.fragments.len() {
            let mut other = k + 1;
            while other < self.fragments.len() {
                let (a, b) = (&self.fragments[k], &self.fragments[other]);
                let ready = matches!((&a.state, &b.state), (State::Ready, State::Ready));
                if ready && a.frame == b.frame && a.pc == b.pc {
                    let gone = self.fragments.remove(other);
                    self.fragments[k].mask |= gone.mask;
                    self.burst = 0;
                } else {
                    other += 1;
                }
            }
            k += 1;
        }
    }

    /// The fragment whose turn it is; it comes first in the list afterwards.
    /// False where all wait.
    pub(super) fn pick(&mut self, exec: &Exec<'_>) -> bool {
        let ready = |f: &Fragment| matches!(f.state, State::Ready);
        if self.fragments.len() == 1 {
            return ready(&self.fragments[0]);
        }
        if self.burst > 0 && self.fragments.first().is_some_and(ready) {
            self.burst -= 1;
            return true;
        }
        let mut best: Option<(usize, bool, u32, u32)> = None;
        for (k, f) in self.fragments.iter().enumerate() {
            if !ready(f) {
                continue;
            }
            let frame = &self.frames[f.frame];
            let function = &exec.module.functions[frame.function as usize];
            let block = function.block_of[f.pc as usize] as usize;
            let rank = function.blocks[block].rank;
            let starving = f.passed_over >= PATIENCE;
            let better = best.is_none_or(|(_, s, depth, r)| {
                (starving, frame.depth, std::cmp::Reverse(rank)) > (s, depth, std::cmp::Reverse(r))
            });
            if better {
                best = Some((k, starving, frame.depth, rank));
            }
        }
        let Some((k, starving, ..)) = best else { return false };
        for f in &mut self.fragments {
            f.passed_over = f.passed_over.saturating_add(1);
        }
        self.fragments[k].passed_over = 0;
        self.fragments.swap(0, k);
        self.burst = if starving { PATIENCE } else { 0 };
        true
    }

    /// Writes a result where `mask` says, cut to the register's width.
    pub(super) fn write(&mut self, frame: usize, dst: Dst, mask: u32, values: &Lanes) {
        let Dst::Reg(r, bits) = dst else { return };
        let cut = crate::alu::mask(bits);
        let register = &mut self.frames[frame].registers[r as usize];
        if mask == u32::MAX {
            for (place, v) in register.iter_mut().zip(values) {
                *place = v & cut;
            }
        } else {
            for lane in lanes(mask) {
                register[lane] = values[lane] & cut;
            }
        }
    }
}
