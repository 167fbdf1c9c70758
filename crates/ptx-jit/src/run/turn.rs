//! One thread's groups of blocks in the comparison of a kernel's codes ([`super::trial`]).
//!
//! Owns when a group begins and ends. Must not know what is chosen, or how.

use super::launch::Exec;
use std::cell::Cell;
use std::time::Instant;

/// Blocks of one turn of a thread.
const TURN: u32 = 16;

/// One thread's turn.
pub(super) struct Turn {
    /// When it began; nothing, where nothing is compared.
    since: Cell<Option<Instant>>,
    blocks: Cell<u32>,
}

impl Turn {
    /// The first of a thread's part of a grid.
    pub(super) fn new(exec: &Exec<'_>) -> Turn {
        let turn = Turn { since: None.into(), blocks: 0.into() };
        turn.begin(exec);
        turn
    }

    fn begin(&self, exec: &Exec<'_>) {
        let trial = &exec.variant.trial;
        let both = exec.variant.native().is_some();
        exec.by_llvm.set(both && trial.next());
        self.blocks.set(0);
        self.since.set((both && trial.chosen().is_none()).then(Instant::now));
    }

    /// So many blocks have ended.
    pub(super) fn ended(&self, exec: &Exec<'_>, count: u32) {
        self.blocks.set(self.blocks.get().saturating_add(count));
        if self.since.get().is_none() || self.blocks.get() >= TURN {
            self.end(exec);
            self.begin(exec);
        }
    }

    /// The turn has ended.
    pub(super) fn end(&self, exec: &Exec<'_>) {
        let blocks = self.blocks.take();
        if let Some(since) = self.since.take().filter(|_| blocks > 0) {
            let time = since.elapsed().as_nanos() as u64;
            exec.variant.trial.note(exec.by_llvm.get(), time, blocks);
        }
    }
}
