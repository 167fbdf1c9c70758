//! `mbarrier` objects: 64 bits in shared memory, of a layout of our own (the ISA
//! calls it opaque).
//!
//! Bits 0-19 arrivals still awaited, 20-39 arrivals expected per phase, 40-60
//! bytes still awaited (a signed count), 63 the phase's parity.

use super::block::Common;
use super::memory::word;
use super::warp::{Warp, lanes};
use super::{Exec, Fault};
use crate::ir::{Inst, Src};
use crate::sem::{Mbarrier, MbarrierOp, Operation};

const COUNT: u64 = (1 << 20) - 1;

#[derive(Clone, Copy)]
struct State {
    pending: u64,
    expected: u64,
    bytes: i64,
    parity: bool,
}

impl State {
    fn unpack(v: u64) -> State {
        State {
            pending: v & COUNT,
            expected: v >> 20 & COUNT,
            bytes: ((v >> 40 << 43) as i64) >> 43,
            parity: v >> 63 != 0,
        }
    }

    fn pack(self) -> u64 {
        self.pending
            | self.expected << 20
            | (self.bytes as u64 & ((1 << 21) - 1)) << 40
            | u64::from(self.parity) << 63
    }

    /// Begins the next phase where nothing is awaited any more.
    fn settle(mut self) -> State {
        if self.pending == 0 && self.bytes == 0 {
            self.pending = self.expected;
            self.parity = !self.parity;
        }
        self
    }
}

impl Exec<'_> {
    /// Runs an instruction on a barrier object. True if the lane found that it
    /// must wait, so that others should have a turn.
    pub(super) fn mbarrier(
        &self,
        common: &mut Common,
        warp: &mut Warp,
        inst: &Inst,
        frame: usize,
        active: u32,
    ) -> Result<bool, Fault> {
        let Operation::Mbarrier(Mbarrier { op, .. }) = inst.sem else { return Ok(false) };
        let mut operand = [0; 32];
        if op == MbarrierOp::Pending {
            self.read(common, warp, frame, &inst.src[0], &mut operand);
            let out = operand.map(|v| apply(op, 0, v).1);
            warp.write(frame, inst.dst[0], active, &out);
            return Ok(false);
        }
        let given = inst.src.get(1).filter(|s| !matches!(s, Src::None));
        match given {
            Some(src) => self.read(common, warp, frame, src, &mut operand),
            None => operand = [1; 32],
        }
        let (addresses, space) = self.addresses(warp, frame, inst, 0);
        let mut out = [0; 32];
        for l in lanes(active) {
            let place = self.place(space, addresses[l]);
            let mut bytes = [0; 8];
            self.read_bytes(common, warp, inst, l, place, &mut bytes)?;
            let new;
            (new, out[l]) = apply(op, word(&bytes), operand[l]);
            if let Some(new) = new {
                self.write_bytes(common, warp, inst, l, place, &new.to_le_bytes())?;
            }
        }
        if let Some(dst) = inst.dst.first() {
            warp.write(frame, *dst, active, &out);
        }
        Ok(matches!(op, MbarrierOp::Test { .. }) && lanes(active).any(|l| out[l] == 0))
    }
}

/// What an instruction on a barrier object makes of it, if anything, and what it gives; `n` is the operand
/// behind the address, 1 where there is none.
pub fn apply(op: MbarrierOp, old: u64, n: u64) -> (Option<u64>, u64) {
    let mut s = State::unpack(old);
    match op {
        MbarrierOp::Init => {
            s = State { pending: n & COUNT, expected: n & COUNT, bytes: 0, parity: false };
            (Some(s.pack()), 0)
        }
        MbarrierOp::Arrive { expect, drop } => {
            let arrivals = if expect { 1 } else { n };
            if expect {
                s.bytes += n as u32 as i64;
            }
            if drop {
                s.expected = s.expected.saturating_sub(arrivals);
            }
            s.pending = s.pending.saturating_sub(arrivals);
            (Some(s.settle().pack()), old)
        }
        MbarrierOp::CopiesArrive { counted } => {
            // The copies are done: where none is counted for them, one more was awaited, and has come.
            if counted {
                s.pending = s.pending.saturating_sub(1);
                s = s.settle();
            }
            (Some(s.pack()), 0)
        }
        MbarrierOp::ExpectBytes | MbarrierOp::CompleteBytes => {
            let n = n as u32 as i64;
            s.bytes += if op == MbarrierOp::ExpectBytes { n } else { -n };
            (Some(s.settle().pack()), 0)
        }
        MbarrierOp::Pending => (None, n & COUNT),
        MbarrierOp::Test { parity } => {
            let parity = if parity { n & 1 != 0 } else { n >> 63 != 0 };
            (None, u64::from(s.parity != parity))
        }
    }
}
