//! Rows of memory that several blocks can access.
//!
//! Owns where they are stored, and how many. Must not know their contents.

use std::collections::HashMap;

use super::row::{Row, WORDS};
use super::run::{ROW, Rows};

/// Rows that lie together.
const ROWS: u64 = 32;
/// Bytes of memory whose rows those are.
const PAGE: u64 = ROWS * ROW;
/// Pages of which something is remembered, at most: 64 MiB of memory, and as much for entries, ten times as much for cells.
const MOST_PAGES: usize = 1 << 14;
/// So many pages are found quickly.
const RECENT: usize = 64;

/// What is remembered of memory.
#[derive(Debug, Default)]
pub struct Memory {
    pages: Vec<Box<[Row]>>,
    places: HashMap<u64, usize>,
    /// Numbers and locations of the latest lookups.
    recent: Vec<(u64, usize)>,
}

impl Memory {
    /// Where a page is, new if there was none.
    fn place(&mut self, wanted: u64) -> usize {
        let known = self.places.get(&wanted).copied();
        let place = known.unwrap_or_else(|| {
            if self.pages.len() >= MOST_PAGES {
                *self = Memory::default();
            }
            self.pages.push((0..ROWS).map(|_| Row::default()).collect());
            self.places.insert(wanted, self.pages.len() - 1);
            self.pages.len() - 1
        });
        self.recent.resize(RECENT, (u64::MAX, 0));
        if let Some(recent) = self.recent.get_mut(wanted as usize % RECENT) {
            *recent = (wanted, place);
        }
        place
    }

    /// Forgets the accesses to bytes, and to the words that contain them.
    pub fn forget(&mut self, at: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let end = at.saturating_add(bytes);
        let (first, last) = (at / PAGE, (end - 1) / PAGE);
        let mut clean = |number: u64, place: usize| {
            let rows = self.pages.get_mut(place).into_iter().flat_map(|page| page.iter_mut());
            for (n, row) in rows.enumerate() {
                let start = number * PAGE + n as u64 * ROW;
                let from = at.saturating_sub(start).min(ROW) / 4;
                let to = end.saturating_sub(start).min(ROW).div_ceil(4);
                if from < to {
                    row.forget((u32::MAX >> (WORDS as u64 - (to - from))) << from);
                }
            }
        };
        if last - first >= self.places.len() as u64 {
            let within = self.places.iter().filter(|(n, _)| (first..=last).contains(*n));
            within.for_each(|(number, place)| clean(*number, *place));
        } else {
            for number in first..=last {
                self.places.get(&number).into_iter().for_each(|place| clean(number, *place));
            }
        }
    }
}

impl Rows for Memory {
    fn row(&mut self, number: u64) -> Option<&mut Row> {
        let wanted = number / ROWS;
        let place = match self.recent.get(wanted as usize % RECENT) {
            Some((known, place)) if *known == wanted => *place,
            _ => self.place(wanted),
        };
        self.pages.get_mut(place)?.get_mut((number % ROWS) as usize)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::record::{What, When};
    use super::super::row::Entry;
    use super::*;

    #[test]
    fn bytes_are_forgotten_by_words() {
        let mut memory = Memory::default();
        let by = |lane| {
            Entry::run(When::new(1, 0, 0, lane, 0), What::new(15, true, false, 1), u32::MAX, 0)
        };
        let rows = || 0..2 * ROWS;
        for number in rows() {
            assert!(memory.row(number).unwrap().take(by(0), true, |_, _| true));
        }
        memory.forget(ROW, ROW);
        memory.forget(PAGE - 2, 4);
        memory.forget(1 << 40, 0);
        let known = |number: u64, memory: &mut Memory| {
            !memory.row(number).unwrap().take(by(1), true, |_, _| true)
        };
        let found: Vec<u64> = rows().filter(|number| !known(*number, &mut memory)).collect();
        assert_eq!(found, [1]);
        memory.forget(0, u64::MAX);
        assert!(rows().all(|number| !known(number, &mut memory)));
    }
}
