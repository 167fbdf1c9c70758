//! The last accesses of 128 bytes of memory: one entry for the accesses of a warp's lanes to many words by one
//! instruction.
//!
//! Owns rows: a few entries each, or a cell for each word ([`super::record`]) if entries cannot represent the
//! accesses. An entry means what its words' cells would; of reads a row keeps as many as fit, of writes all that were
//! last. Must not know what orders accesses.

use super::record::{Cell, What, When};

/// Words of a row.
pub const WORDS: usize = 32;
/// Entries of a row.
const ENTRIES: usize = 5;
/// Of [`Entry::lanes`]: every word was read by this entry's lane and by another one, whose number is added.
const TWO: u8 = 32;

/// Lanes of a warp, and the words of a row that they access, all four bytes of each, by one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Entry {
    /// The time of the access. Its lane is that of word 0, whether or not that is among the words.
    when: When,
    /// What they do.
    what: What,
    /// A bit for each word.
    words: u32,
    /// Each lane has `1 << lanes` words; or [`TWO`].
    lanes: u8,
}

impl Entry {
    /// Neighbouring lanes that access neighbouring words, `1 << wide` each; `when` says which lane word 0 has, or would.
    pub fn run(when: When, what: What, words: u32, wide: u8) -> Entry {
        Entry { when, what, words, lanes: wide }
    }

    /// Two lanes, or more of which these are two, that read the same words.
    pub fn read_by_two(when: When, what: What, words: u32, other: usize) -> Entry {
        Entry { when, what, words, lanes: TWO + (other as u8 & 31) }
    }

    /// Whether both have the same lane for each word; false if unknown.
    #[inline]
    fn has_lanes_of(&self, other: &Entry) -> bool {
        self.lanes == other.lanes && self.lanes < TWO && self.when.is_of(other.when)
    }

    /// The access of a word, and of a second lane.
    fn of(&self, word: usize) -> (When, Option<When>) {
        match self.lanes.checked_sub(TWO) {
            Some(other) => (self.when, Some(self.when.by(other.into()))),
            None => (self.when.by(self.when.lane() + (word >> self.lanes)), None),
        }
    }
}

/// What is known of 32 words.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// Where entries do not do; then there are none.
    cells: Option<Box<[Cell; WORDS]>>,
    entries: [Entry; ENTRIES],
}

impl Row {
    /// Records an access, unless it may conflict with one that is `unordered`, or entries cannot represent it: then
    /// nothing changes, and its words must be checked one by one ([`Self::cell`]). `alone`: no other lanes access
    /// these words in the same way.
    pub fn take(
        &mut self,
        new: Entry,
        alone: bool,
        mut unordered: impl FnMut(When, What) -> bool,
    ) -> bool {
        if self.cells.is_some() {
            return false;
        }
        let (mut free, mut read, mut covered, mut same) = (None, None, None, None);
        let writes = new.what.writes();
        for (n, old) in self.entries.iter().enumerate() {
            if old.words == 0 {
                free = Some(n);
                continue;
            }
            let alike = old.lanes == new.lanes && old.when == new.when;
            if alike && old.what == new.what {
                // This access was recorded before, and nothing was written since.
                if !writes && old.words & new.words == new.words {
                    return true;
                }
                same = Some(n);
            } else if (writes || old.what.writes())
                && old.words & new.words != 0
                && new.what.conflicts(old.what)
                && !(alone && old.has_lanes_of(&new))
                && unordered(old.when, old.what)
            {
                return false;
            }
            if !old.what.writes() {
                read = Some(n);
            }
            if old.words & !new.words == 0
                && covered.is_none()
                && (writes || old.has_lanes_of(&new))
            {
                covered = Some(n);
            }
        }
        let Some(place) = same.or(free).or(covered).or(read) else { return false };
        // A write supersedes what was ordered before it; a thread's read its earlier ones.
        for (n, old) in self.entries.iter_mut().enumerate() {
            if Some(n) != same && (writes || !old.what.writes() && old.has_lanes_of(&new)) {
                old.words &= !new.words;
            }
        }
        if let Some(entry) = self.entries.get_mut(place) {
            let words = if same.is_some() { entry.words | new.words } else { new.words };
            *entry = Entry { words, ..new };
        }
        true
    }

    /// The cell of a word.
    pub fn cell(&mut self, word: usize) -> Option<&mut Cell> {
        let entries = &mut self.entries;
        let cells = self.cells.get_or_insert_with(|| {
            let mut cells = Box::new([Cell::default(); WORDS]);
            // Writes first: the reads came after them.
            for writes in [true, false] {
                for entry in entries.iter().filter(|entry| entry.what.writes() == writes) {
                    for (word, cell) in cells.iter_mut().enumerate() {
                        if entry.words >> word & 1 != 0 {
                            let (when, other) = entry.of(word);
                            cell.note(when, entry.what);
                            other.into_iter().for_each(|other| cell.note(other, entry.what));
                        }
                    }
                }
            }
            *entries = Default::default();
            cells
        });
        cells.get_mut(word)
    }

    /// All words were checked one by one, and all were written: one entry represents that again.
    pub fn gather(&mut self, written: Entry) {
        if written.words == u32::MAX && written.what.writes() {
            *self = Row::default();
            let [first, ..] = &mut self.entries;
            *first = written;
        }
    }

    /// Forgets some words.
    pub fn forget(&mut self, words: u32) {
        if words == u32::MAX {
            *self = Row::default();
        }
        self.entries.iter_mut().for_each(|entry| entry.words &= !words);
        for (word, cell) in self.cells.iter_mut().flat_map(|cells| cells.iter_mut().enumerate()) {
            if words >> word & 1 != 0 {
                *cell = Cell::default();
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const READ: What = What::new(15, false, false, 1);
    const WRITE: What = What::new(15, true, false, 2);

    fn warp(warp: u32, epoch: u16) -> When {
        When::new(1, epoch, 0, warp, 0)
    }

    /// Records what needs no closer look.
    fn take(row: &mut Row, entry: Entry) {
        assert!(row.take(entry, true, |_, _| true), "{entry:?} {row:?}");
    }

    fn row(when: When, what: What) -> Entry {
        Entry::run(when, what, u32::MAX, 0)
    }

    #[test]
    fn threads_have_words_of_their_own() {
        let mut all = Row::default();
        take(&mut all, row(warp(0, 0), READ));
        take(&mut all, row(warp(0, 0), WRITE));
        take(&mut all, row(warp(0, 0), READ));
        assert!(!all.take(row(warp(0, 0).by(1), READ), true, |_, _| true), "a neighbour's word");
        assert!(all.take(row(warp(0, 0).by(1), READ), true, |_, _| false), "that is over");
        assert!(!all.take(row(warp(1, 0), WRITE), true, |_, _| true), "another warp");
    }

    #[test]
    fn cells_say_what_entries_did() {
        let mut all = Row::default();
        take(&mut all, Entry::run(warp(3, 7), WRITE, 0xff00, 2));
        take(&mut all, Entry::read_by_two(warp(4, 1).by(9), READ, 0x1, 30));
        assert!(all.take(Entry::run(warp(4, 2).by(5), READ, 0x8000, 0), true, |_, _| false));
        let found = |all: &mut Row, word: usize| {
            let by = When::new(1, 9, 0, 20, 0);
            all.cell(word)
                .unwrap()
                .take(by, WRITE, |_, _| true)
                .map(|(when, _)| (when.warp(), when.lane()))
        };
        assert_eq!(found(&mut all, 8), Some((3, 2)));
        assert_eq!(found(&mut all, 11), Some((3, 2)));
        assert_eq!(found(&mut all, 15), Some((3, 3)), "the write comes first");
        assert_eq!(found(&mut all, 0), Some((4, 30)));
        assert_eq!(found(&mut all, 1), None);
        assert!(!all.take(row(warp(0, 0), READ), true, |_, _| false), "cells stay");
        all.gather(row(warp(0, 0), WRITE));
        take(&mut all, row(warp(0, 0), READ));
    }

    #[test]
    fn writes_are_never_pushed_out() {
        let mut all = Row::default();
        for n in 0..ENTRIES as u32 {
            take(&mut all, Entry::run(warp(n, 0), WRITE, 1 << n, 0));
        }
        let more = Entry::run(warp(9, 0), READ, 1 << 31, 0);
        assert!(!all.take(more, true, |_, _| true), "there is no room");
        all.cell(31).unwrap().note(warp(9, 0), READ);
        assert!(all.cell(2).unwrap().take(warp(20, 0), READ, |_, _| true).is_some());
        let mut reads = Row::default();
        take(&mut reads, Entry::run(warp(0, 0), WRITE, 1, 0));
        (1..20).for_each(|n| take(&mut reads, Entry::run(warp(n, 0), READ, 2, 0)));
        assert!(
            !reads.take(Entry::run(warp(21, 0), READ, 1, 0), true, |_, _| true),
            "the write is known"
        );
    }

    #[test]
    fn words_are_forgotten() {
        let mut all = Row::default();
        take(&mut all, row(warp(0, 0), WRITE));
        all.forget(1);
        take(&mut all, Entry::run(warp(1, 0), READ, 1, 0));
        assert!(!all.take(Entry::run(warp(1, 0), READ, 2, 0), true, |_, _| true));
        _ = all.cell(0);
        all.forget(2);
        assert_eq!(all.cell(1).unwrap().take(warp(1, 0), READ, |_, _| true), None);
        assert!(all.cell(2).unwrap().take(warp(1, 0), READ, |_, _| true).is_some());
        all.forget(u32::MAX);
        take(&mut all, row(warp(1, 0), READ));
    }
}
