//! The address range that a CUDA pool reserves for its allocations: contiguous, backed in blocks.
//!
//! Owns the layout, which determines the pool's statistics: allocations are adjacent, each a multiple of 512 bytes,
//! and the blocks of 32 MiB that they touch are reserved until they are empty and trimmed (measured on an H200).
//! [`super::pool`] takes memory for each allocation, never more than is reserved here, so that accesses beside an
//! allocation are detected. Must not know: addresses of memory.

use std::collections::{BTreeMap, BTreeSet};

use cushim_accel::Signal;

/// Bytes of a block.
pub const BLOCK: u64 = 32 << 20;
/// Allocations take a multiple of this.
pub const GRAIN: u64 = 512;

/// A run of addresses, from 0 on.
#[derive(Default)]
pub struct Heap {
    /// Allocations: bytes by offset, including freed ones until their work is over.
    taken: BTreeMap<u64, u64>,
    /// Freed allocations that may still be in use: offset, stream, the end of their work.
    freed: Vec<(u64, u64, Signal)>,
    blocks: BTreeSet<u64>,
}

impl Heap {
    /// Bytes that are reserved.
    pub fn reserved(&self) -> u64 {
        self.blocks.len() as u64 * BLOCK
    }

    /// Finds an offset for an allocation: the one that reserves least, the lowest of equals. `None` if more than
    /// `most` bytes would be reserved, 0 for no limit.
    pub fn take(&mut self, bytes: u64, stream: u64, most: u64) -> Option<u64> {
        self.settle(Some(stream));
        let bytes = bytes.checked_next_multiple_of(GRAIN)?;
        let ends = self.taken.iter().map(|(place, bytes)| place + bytes);
        let begins = self.taken.keys().copied().chain([u64::MAX]);
        let gaps = std::iter::once(0).chain(ends).zip(begins);
        let fits = gaps.filter(|(begin, end)| end - begin >= bytes).map(|(begin, _)| begin);
        let mut best: Option<(u64, u64)> = None;
        for place in fits {
            let missing = self.missing(place, bytes);
            if best.is_none_or(|(least, _)| missing < least) {
                best = Some((missing, place));
            }
            if missing == 0 {
                break;
            }
        }
        let (missing, place) = best?;
        if most > 0 && (self.blocks.len() as u64 + missing) > most.div_ceil(BLOCK) {
            return None;
        }
        self.blocks.extend(blocks(place, bytes));
        self.taken.insert(place, bytes);
        Some(place)
    }

    /// How many blocks an allocation at an offset would add.
    fn missing(&self, place: u64, bytes: u64) -> u64 {
        let all = blocks(place, bytes);
        let count = all.end - all.start;
        count - self.blocks.range(all).count() as u64
    }

    /// An allocation was freed in a stream; that stream may reuse it at once, others when `done` is complete.
    pub fn free(&mut self, place: u64, stream: u64, done: Signal) {
        self.freed.push((place, stream, done));
    }

    /// Forgets freed allocations that are over, and those that a stream may reuse.
    fn settle(&mut self, stream: Option<u64>) {
        let Heap { taken, freed, .. } = self;
        freed.retain(|(place, of, done)| {
            let over = stream == Some(*of) || done.is_done();
            if over {
                taken.remove(place);
            }
            !over
        });
    }

    /// Frees empty blocks as long as `more` allows it, given the reserved bytes before and after.
    pub fn trim(&mut self, more: impl Fn(u64, u64) -> bool) {
        self.settle(None);
        let used: BTreeSet<u64> =
            self.taken.iter().flat_map(|(place, bytes)| blocks(*place, *bytes)).collect();
        let empty: Vec<u64> = self.blocks.difference(&used).copied().collect();
        for block in empty.into_iter().rev() {
            let reserved = self.reserved();
            if !more(reserved, reserved - BLOCK) {
                break;
            }
            self.blocks.remove(&block);
        }
    }
}

/// The blocks that an allocation touches.
fn blocks(place: u64, bytes: u64) -> std::ops::Range<u64> {
    place / BLOCK..(place + bytes).div_ceil(BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    const M: u64 = 1 << 20;

    /// The numbers are those of an H200 for the same calls.
    #[test]
    fn blocks_are_reserved_and_given_up_as_on_a_gpu() {
        let mut heap = Heap::default();
        let mut places = Vec::new();
        for (bytes, reserved) in [
            (M, 32),
            (M, 32),
            (10 * M, 32),
            (19 * M, 32),
            (M, 32),
            (2 * M, 64),
            (40 * M, 96),
            (5 * M, 96),
            (7 * M, 96),
            (512, 96),
            (33 * M, 128),
        ] {
            places.extend(heap.take(bytes, 1, 0));
            assert_eq!(heap.reserved(), reserved * M, "{bytes}");
        }
        for (index, place) in places.iter().enumerate() {
            if [1, 3, 6].contains(&index) {
                heap.free(*place, 1, Signal::completed());
            }
        }
        let more: Vec<u64> = [30, 10, 64].iter().filter_map(|n| heap.take(n * M, 1, 0)).collect();
        assert_eq!(heap.reserved(), 192 * M);
        let kept = places.iter().enumerate().filter(|(index, _)| ![1, 3, 6].contains(index));
        for place in kept.map(|(_, place)| place).chain(&more) {
            heap.free(*place, 1, Signal::completed());
        }
        for (keep, reserved) in [(200, 192), (100, 128), (70, 96), (33, 64), (1, 32), (0, 0)] {
            heap.trim(|_, after| after >= keep * M);
            assert_eq!(heap.reserved(), reserved * M, "trimmed to {keep}");
        }
    }

    #[test]
    fn what_other_streams_may_still_use_is_not_taken_again() {
        let mut heap = Heap::default();
        let done = Signal::new();
        let first = heap.take(1, 1, 0);
        assert_eq!(first, Some(0));
        heap.free(0, 1, done.clone());
        assert_eq!(heap.take(1, 2, 0), Some(512), "another stream");
        assert_eq!(heap.take(1, 1, 0), Some(0), "the same one");
        heap.free(0, 1, done.clone());
        heap.free(512, 2, Signal::completed());
        heap.trim(|_, _| true);
        assert_eq!(heap.reserved(), BLOCK, "in use");
        assert_eq!(heap.take(BLOCK + 1, 1, BLOCK), None);
    }

    #[test]
    fn the_lowest_of_equal_places_is_taken_and_the_most_can_be_reached() {
        let mut heap = Heap::default();
        assert_eq!(heap.take(40 * M, 1, 0), Some(0));
        assert_eq!(heap.take(40 * M, 1, 0), Some(40 * M));
        heap.free(0, 1, Signal::completed());
        heap.trim(|_, _| true);
        assert_eq!(heap.reserved(), 64 * M, "the first block is empty");
        // A new block may come before the existing one or after it.
        assert_eq!(heap.take(40 * M, 1, 0), Some(0));
        let mut full = Heap::default();
        assert_eq!(full.take(BLOCK, 1, BLOCK), Some(0));
        assert_eq!(full.take(1, 1, BLOCK), None);
    }
}
