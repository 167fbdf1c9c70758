//! The accesses of a warp's lanes by one instruction, split into rows of memory.
//!
//! Owns which lanes access neighbouring words, or the same ones, and what is recorded where. Must not know what
//! orders accesses, or where rows are stored.

use super::record::{Cell, What, When};
use super::row::{Entry, Row, WORDS};

/// Bytes of a row.
pub const ROW: u64 = 4 * WORDS as u64;

/// Rows of some memory, by number.
pub trait Rows {
    /// A row, if there is such a one.
    fn row(&mut self, number: u64) -> Option<&mut Row>;
}

impl Rows for Vec<Row> {
    fn row(&mut self, number: u64) -> Option<&mut Row> {
        self.get_mut(usize::try_from(number).ok()?)
    }
}

/// What lanes of a warp do by one instruction.
#[derive(Debug, Clone, Copy)]
pub struct Doing<'a> {
    /// Which lanes do it.
    pub lanes: u32,
    /// The address of each.
    pub addresses: &'a [u64; 32],
    /// How many bytes of each.
    pub bytes: u64,
    /// When, by lane 0.
    pub when: When,
    /// What they do, with four bytes.
    pub what: What,
}

/// An access that conflicts with an older one: its address, by whom, and that one.
pub type Conflict = (u64, When, (When, What));

/// Lanes with equal accesses at a constant stride from lane to lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    first: usize,
    count: usize,
    at: u64,
    step: u64,
}

impl Doing<'_> {
    /// Records the accesses in rows, which have numbers; returns the accesses that conflict with one that is
    /// `unordered`.
    pub fn note(
        &self,
        rows: &mut impl Rows,
        mut unordered: impl FnMut(When, What) -> bool,
    ) -> Vec<Conflict> {
        let mut found = Vec::new();
        let mut left = self.lanes;
        while left != 0 {
            let run = self.run(left);
            left &= !(((1u64 << run.count) - 1) << run.first) as u32;
            if !self.bytes.is_power_of_two()
                || !(4..=ROW).contains(&self.bytes)
                || !run.at.is_multiple_of(self.bytes)
            {
                for lane in run.first..run.first + run.count {
                    self.lane(lane, rows, &mut unordered, &mut found);
                }
                continue;
            }
            for piece in self.pieces(run) {
                let Some(row) = rows.row(piece.row) else { continue };
                if row.take(piece.entry, piece.alone, &mut unordered) {
                    continue;
                }
                for lane in piece.first..piece.first + piece.count {
                    let at = run.at.wrapping_add((lane - run.first) as u64 * run.step);
                    let when = self.when.by(lane);
                    let mut old = None;
                    for number in at / 4..(at / 4).saturating_add(self.bytes / 4) {
                        let cell = row.cell(number as usize % WORDS);
                        let look = |cell: &mut Cell| cell.take(when, self.what, &mut unordered);
                        old = old.or(cell.and_then(look));
                    }
                    found.extend(old.map(|old| (at, when, old)));
                }
                row.gather(piece.entry);
            }
        }
        found
    }

    /// One lane's access, which may be of parts of words or not aligned.
    fn lane(
        &self,
        lane: usize,
        rows: &mut impl Rows,
        unordered: &mut impl FnMut(When, What) -> bool,
        found: &mut Vec<Conflict>,
    ) {
        let Some(at) = self.addresses.get(lane).copied() else { return };
        let when = self.when.by(lane);
        let mut old = None;
        for (number, bytes) in parts(at, self.bytes) {
            let Some(row) = rows.row(number / WORDS as u64) else { continue };
            let (cell, what) = (row.cell(number as usize % WORDS), self.what.of(bytes));
            old = old.or(cell.and_then(|cell| cell.take(when, what, &mut *unordered)));
        }
        found.extend(old.map(|old| (at, when, old)));
    }

    /// The first run among the remaining lanes.
    fn run(&self, left: u32) -> Run {
        let first = left.trailing_zeros() as usize & 31;
        let at = self.addresses.get(first).copied().unwrap_or_default();
        // Consecutive lanes from the first on.
        let there = (!(left >> first)).trailing_zeros().min(32 - first as u32) as usize;
        let step = match self.addresses.get(first + 1) {
            Some(next) if there > 1 => next.wrapping_sub(at),
            _ => 0,
        };
        if step != 0 && step != self.bytes {
            return Run { first, count: 1, at, step: 0 };
        }
        let end = end_of_run(self.addresses, first, at, step as u32);
        Run { first, count: (end - first).min(there), at, step }
    }

    /// The parts of a run in each row.
    fn pieces(&self, run: Run) -> impl Iterator<Item = Piece> {
        let wide = (self.bytes / 4).trailing_zeros() as u8;
        let (when, what) = (self.when, self.what);
        let start = run.at / 4;
        let length = if run.step == 0 { 1 } else { run.count as u64 } << wide;
        let (mut word, end) = (start, start.saturating_add(length));
        std::iter::from_fn(move || {
            if word >= end {
                return None;
            }
            let row = word / WORDS as u64;
            let next = (row + 1).saturating_mul(WORDS as u64).min(end);
            let (from, count) = (word % WORDS as u64, next - word);
            let words = (u32::MAX >> (WORDS as u64 - count)) << from;
            let lane = run.first + ((word - start) >> wide) as usize;
            // The lane that word 0 has, or would have.
            let zero = |lane: usize| when.by(lane.wrapping_sub((from >> wide) as usize));
            let last = run.first + run.count - 1;
            let (first, count, entry) = match (run.step, run.count) {
                (0, 2..) if !what.writes() => {
                    let entry = Entry::read_by_two(when.by(run.first), what, words, last);
                    (run.first, run.count, entry)
                }
                (0, _) => (run.first, run.count, Entry::run(zero(last), what, words, wide)),
                _ => (lane, (count >> wide) as usize, Entry::run(zero(lane), what, words, wide)),
            };
            word = next;
            Some(Piece {
                row,
                first,
                count,
                entry,
                alone: run.step != 0 || run.count == 1 || !what.writes(),
            })
        })
    }
}

/// The lane after a run that starts at lane `first`: every address is `step` above the one before it.
fn end_of_run(addresses: &[u64; 32], first: usize, at: u64, step: u32) -> usize {
    match std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        true => unsafe { end_of_run_avx2(addresses, first, at, step) },
        false => end_of_run_any(addresses, first, at, step),
    }
}

/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2")]
unsafe fn end_of_run_avx2(addresses: &[u64; 32], first: usize, at: u64, step: u32) -> usize {
    end_of_run_any(addresses, first, at, step)
}

/// Eight lanes at once, so that the usual case is vectorised.
#[inline(always)]
fn end_of_run_any(addresses: &[u64; 32], first: usize, at: u64, step: u32) -> usize {
    const PART: usize = 8;
    // A step of 32 bits makes the product one instruction.
    let times = |lane: usize| u64::from(step) * u64::from(lane as u32);
    let zero = at.wrapping_sub(times(first));
    let mut end = first / PART * PART;
    for part in addresses.chunks_exact(PART).skip(first / PART) {
        let start = zero.wrapping_add(times(end));
        let lanes = || part.iter().enumerate();
        let other =
            lanes().fold(0, |other, (lane, at)| other | (at.wrapping_sub(start) ^ times(lane)));
        if other != 0 {
            let mut lanes = lanes().skip(first.saturating_sub(end));
            let gone = lanes.find(|(lane, at)| at.wrapping_sub(start) != times(*lane));
            if let Some((lane, _)) = gone {
                return end + lane;
            }
        }
        end += PART;
    }
    end
}

/// The part of a run in one row.
#[derive(Debug, Clone, Copy)]
struct Piece {
    row: u64,
    first: usize,
    count: usize,
    entry: Entry,
    /// No other lanes write these words, too.
    alone: bool,
}

/// The numbers of the words of an access, and which of each one's bytes it has a part of.
fn parts(at: u64, bytes: u64) -> impl Iterator<Item = (u64, u32)> {
    let end = at.saturating_add(bytes);
    (at / 4..end.div_ceil(4)).map(move |number| {
        let start = number * 4;
        let (from, to) = (at.max(start) - start, end.min(start + 4) - start);
        (number, ((1u32 << to) - 1) & !((1u32 << from) - 1))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Pseudo-random numbers.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % n
        }
    }

    impl Rows for BTreeMap<u64, Row> {
        fn row(&mut self, number: u64) -> Option<&mut Row> {
            Some(self.entry(number).or_default())
        }
    }

    fn doing(lanes: u32, addresses: &[u64; 32], bytes: u64, when: When, writes: bool) -> Doing<'_> {
        Doing { lanes, addresses, bytes, when, what: What::new(15, writes, false, 1) }
    }

    /// Whether the cells alone find a write that conflicts with an access.
    fn by_cells(
        cells: &mut BTreeMap<u64, Cell>,
        all: &Doing<'_>,
        over: &dyn Fn(When) -> bool,
    ) -> bool {
        let mut found = false;
        for lane in (0..32).filter(|lane| all.lanes >> lane & 1 != 0) {
            for (number, bytes) in parts(all.addresses[lane], all.bytes) {
                let cell = cells.entry(number).or_default();
                let together =
                    |old: When| old.moment() == all.when.moment() && old.warp() == all.when.warp();
                found |= cell
                    .take(all.when.by(lane), all.what.of(bytes), |old, did| {
                        !(over(old) || all.what.writes() && did.writes() && together(old))
                    })
                    .is_some_and(|(_, did)| did.writes());
            }
        }
        found
    }

    #[test]
    fn rows_find_what_cells_find() {
        let mut numbers = Numbers(7);
        for _ in 0..1000 {
            let (mut cells, mut rows) = (BTreeMap::new(), BTreeMap::<u64, Row>::new());
            let mut done = Vec::new();
            for step in 0..8u16 {
                let bytes = [1, 4, 4, 4, 8, 16][numbers.below(6) as usize];
                let start = numbers.below(12) * 16;
                let addresses: [u64; 32] = match numbers.below(4) {
                    0 => [start; 32],
                    1 => std::array::from_fn(|lane| start + (lane as u64 % 16) * bytes),
                    2 => std::array::from_fn(|_| 16 * numbers.below(16)),
                    _ => std::array::from_fn(|lane| start + lane as u64 * bytes),
                };
                let lanes = [u32::MAX, 0xffff, 0x00f0_ff01, 1 << 7][numbers.below(4) as usize];
                let warp = numbers.below(3) as u32;
                let when = When::new(1, step, 0, warp, 0);
                let seen = numbers.below(8) as u16;
                let over = |old: When| {
                    old.epoch() < seen || old.warp() == warp as usize && old.epoch() < step
                };
                let all = doing(lanes, &addresses, bytes, when, numbers.below(2) == 0);
                for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
                    let words = parts(addresses[lane], bytes);
                    done.extend(words.map(|(word, _)| (word, when.by(lane), all.what.writes())));
                }
                let expected = by_cells(&mut cells, &all, &over);
                let found = all.note(&mut rows, |old, did| {
                    let same = old.moment() == when.moment() && old.warp() == when.warp();
                    !(over(old) || all.what.writes() && did.writes() && same)
                });
                assert!(!expected || !found.is_empty(), "a write is never forgotten: {all:?}");
                for (at, by, (old, did)) in found {
                    let mut words = parts(at, bytes).map(|(word, _)| (word, old, did.writes()));
                    assert!(
                        words.any(|was| done.contains(&was)) && !old.is_of(by),
                        "{old:?} did not"
                    );
                }
            }
        }
    }

    #[test]
    fn runs_are_lanes_beside_each_other() {
        let when = When::new(1, 0, 0, 0, 0);
        let mut addresses: [u64; 32] = std::array::from_fn(|lane| 64 + 4 * lane as u64);
        let all = doing(u32::MAX, &addresses, 4, when, false);
        assert_eq!(all.run(u32::MAX), Run { first: 0, count: 32, at: 64, step: 4 });
        let pieces: Vec<_> =
            all.pieces(all.run(u32::MAX)).map(|p| (p.row, p.first, p.count)).collect();
        assert_eq!(pieces, [(0, 0, 16), (1, 16, 16)]);
        assert_eq!(all.run(0x8000_0000).count, 1);
        assert_eq!(all.run(0xff0).count, 8);
        addresses[5] = 0;
        let all = doing(u32::MAX, &addresses, 4, when, false);
        assert_eq!(all.run(u32::MAX).count, 5);
        assert_eq!(all.run(u32::MAX << 5), Run { first: 5, count: 1, at: 0, step: 0 });
    }
}
