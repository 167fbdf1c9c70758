//! The choice between Cranelift's and LLVM's code for a kernel.
//!
//! Owns the comparison. Once both are compiled, groups of blocks alternate between the two until each has run for a
//! while; from then on the one with less time per block is used. LLVM's code is not faster for every kernel, and no
//! rule predicts for which it is. Must not know what the code does, or how blocks run.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Nanoseconds that each runs before one is chosen.
const ENOUGH: u64 = 3_000_000;
/// And blocks.
const BLOCKS: u64 = 4;
/// LLVM's is chosen where it takes at most so many of 100 parts of the time.
const PARTS: u128 = 95;

/// What is known of a kernel's two codes, by all threads.
#[derive(Default)]
pub(crate) struct Trial {
    /// Nanoseconds and blocks of Cranelift's code, then of LLVM's.
    ran: [(AtomicU64, AtomicU64); 2],
    /// 1: Cranelift's is chosen; 2: LLVM's.
    chosen: AtomicU8,
}

impl Trial {
    /// The choice, where one was made.
    pub(crate) fn chosen(&self) -> Option<bool> {
        match self.chosen.load(Ordering::Relaxed) {
            0 => None,
            chosen => Some(chosen == 2),
        }
    }

    /// Chooses without looking.
    pub(super) fn choose(&self, llvm: bool) {
        self.chosen.store(1 + u8::from(llvm), Ordering::Relaxed);
    }

    /// Whether LLVM's code runs the next group: the code that has run for less time does.
    pub(super) fn next(&self) -> bool {
        let [usual, llvm] = [0, 1].map(|k: usize| self.ran[k].0.load(Ordering::Relaxed));
        self.chosen().unwrap_or(llvm <= usual)
    }

    /// A turn has ended.
    pub(super) fn note(&self, llvm: bool, nanoseconds: u64, blocks: u32) {
        let (time, count) = &self.ran[usize::from(llvm)];
        time.fetch_add(nanoseconds, Ordering::Relaxed);
        count.fetch_add(blocks.into(), Ordering::Relaxed);
        let all = self
            .ran
            .each_ref()
            .map(|(time, count)| (time.load(Ordering::Relaxed), count.load(Ordering::Relaxed)));
        if self.chosen().is_some() || all.iter().any(|(t, n)| *t < ENOUGH || *n < BLOCKS) {
            return;
        }
        let [(usual, usual_blocks), (llvm, llvm_blocks)] =
            all.map(|(t, n)| (u128::from(t), u128::from(n)));
        self.choose(100 * llvm * usual_blocks <= PARTS * usual * llvm_blocks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The choice after both kinds of code ran turns of 16 blocks, which took this many microseconds.
    fn choice(usual: u64, llvm: u64) -> bool {
        let trial = Trial::default();
        for _ in 0..10_000 {
            if let Some(chosen) = trial.chosen() {
                assert_eq!(trial.next(), chosen);
                return chosen;
            }
            let next = trial.next();
            trial.note(next, 1000 * if next { llvm } else { usual }, 16);
        }
        panic!("nothing is chosen")
    }

    #[test]
    fn the_faster_is_chosen() {
        assert!(choice(100, 50) && choice(1000, 900) && choice(9000, 1));
        assert!(!choice(50, 100) && !choice(100, 100) && !choice(1, 9000));
    }

    #[test]
    fn nothing_is_chosen_before_both_have_run() {
        let trial = Trial::default();
        (0..100).for_each(|_| trial.note(true, 1_000_000, 16));
        assert_eq!(trial.chosen(), None);
        assert!(!trial.next());
    }
}
