//! `mbarrier` objects: 64 bits in shared memory, in cushim's own layout (the ISA calls it opaque).
//!
//! Bits 0-19: pending arrivals; 20-39: expected arrivals per phase; 40-60: pending bytes (signed); 63: the phase's
//! parity. Must not know where an object is.

use crate::sem::MbarrierOp;

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

/// The new value of a barrier object, if an instruction changes it, and the instruction's result; `n` is the operand
/// after the address, 1 if there is none.
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
