//! The blocks of a grid that no thread has taken yet.
//!
//! Owns distributing them to threads, many in a row while many are left: so each thread works on memory of its own,
//! and asks seldom. Must not know what a block does.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of shares into which each thread's part of the remaining blocks is divided: enough that threads of
/// different speed end together.
const SHARES: u64 = 8;

/// Numbers of blocks, each of which is handed out once.
#[derive(Debug)]
pub struct Blocks {
    /// The first block that was not taken, or the total.
    next: AtomicU64,
    total: u64,
    threads: u64,
}

impl Blocks {
    /// All of a grid, for about so many threads.
    pub fn new(total: u64, threads: usize) -> Blocks {
        Blocks { next: AtomicU64::new(0), total, threads: threads.max(1) as u64 }
    }

    /// At most so many that follow one another: fewer the fewer there are left for several threads, and none only where there
    /// are none, or none were asked for.
    pub fn take(&self, most: u64) -> Range<u64> {
        let mut first = self.next.load(Ordering::Relaxed);
        loop {
            let left = self.total - first;
            let share = if self.threads == 1 { left } else { left / self.threads / SHARES };
            let count = share.max(1).min(most).min(left);
            let (old, new) = (first, first + count);
            match self.next.compare_exchange_weak(old, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return old..new,
                Err(now) => first = now,
            }
        }
    }

    /// There are none any more.
    pub fn stop(&self) {
        self.next.store(self.total, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_shrink_and_cover_the_grid() {
        for (total, threads, most) in [(0, 1, 5), (1, 4, 9), (100_000, 2, u64::MAX), (1000, 3, 7)] {
            let blocks = Blocks::new(total, threads);
            let mut seen = 0;
            let mut longest = u64::MAX;
            loop {
                let share = blocks.take(most);
                if share.is_empty() {
                    break;
                }
                let count = share.end - share.start;
                assert_eq!(share.start, seen);
                assert!(count <= most && count <= longest, "{share:?}");
                (seen, longest) = (share.end, count);
            }
            assert_eq!(seen, total);
            assert!(longest == 1 || total == 0, "the last are single ones");
        }
    }

    #[test]
    fn one_thread_gets_all_at_once() {
        let blocks = Blocks::new(1000, 1);
        assert_eq!((blocks.take(7), blocks.take(u64::MAX)), (0..7, 7..1000));
        assert!(blocks.take(u64::MAX).is_empty());
    }

    #[test]
    fn nothing_is_left_after_a_stop() {
        let blocks = Blocks::new(1 << 40, 2);
        assert_eq!(blocks.take(3), 0..3);
        blocks.stop();
        assert!(blocks.take(u64::MAX).is_empty());
    }
}
