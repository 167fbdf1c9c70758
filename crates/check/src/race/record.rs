//! The last accesses of a word: a few bytes of shadow memory for each four bytes.
//!
//! Owns the cells, and which accesses in one conflict with a new one. Must not know what orders accesses.

/// An access: by whom, and how far its warp was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct When(u64);

/// The number of blocks that can be distinguished.
pub const MOST_BLOCKS: usize = 1 << 22;
/// How often a warp may meet others, and how often its lanes may meet between two of those.
pub const MOST_EPOCHS: u16 = u16::MAX - 1;
/// The most steps in an epoch.
pub const MOST_STEPS: u16 = (1 << 14) - 1;

impl When {
    /// By a thread of a block, whose number is not 0.
    pub fn new(block: u32, epoch: u16, step: u16, warp: u32, lane: usize) -> When {
        let (block, lane) = (u64::from(block), lane as u64 & 31);
        let (epoch, step) = (u64::from(epoch), u64::from(step.min(MOST_STEPS)));
        When(block << 40 | epoch << 24 | step << 10 | u64::from(warp & 31) << 5 | lane)
    }

    /// Whether there was none.
    pub fn is_never(self) -> bool {
        self.0 == 0
    }

    /// The block's number.
    pub fn block(self) -> u32 {
        (self.0 >> 40) as u32
    }

    /// The warp's epoch.
    pub fn epoch(self) -> u16 {
        (self.0 >> 24) as u16
    }

    /// Epoch and step of the warp, in order.
    pub fn moment(self) -> u64 {
        self.0 >> 10 & ((1 << 30) - 1)
    }

    /// The warp in its block.
    pub fn warp(self) -> usize {
        (self.0 >> 5) as usize & 31
    }

    /// The lane of the warp.
    pub fn lane(self) -> usize {
        self.0 as usize & 31
    }

    /// The same by another lane of the warp.
    pub fn by(self, lane: usize) -> When {
        When(self.0 & !31 | lane as u64 & 31)
    }

    /// Whether both are of one thread.
    pub fn is_of(self, other: When) -> bool {
        self.block() == other.block() && self.0 & 1023 == other.0 & 1023
    }
}

/// What an access did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct What(u32);

impl What {
    /// An access to some of the four bytes at a position of the code, whose number has 24 bits. `strong`: such
    /// accesses do not race with each other.
    pub const fn new(bytes: u32, writes: bool, strong: bool, site: u32) -> What {
        What(site << 8 | (writes as u32) << 5 | (strong as u32) << 4 | bytes & 15)
    }

    /// The same to other bytes.
    pub fn of(self, bytes: u32) -> What {
        What(self.0 & !15 | bytes & 15)
    }

    /// A bit for each of the four bytes.
    pub fn bytes(self) -> u32 {
        self.0 & 15
    }

    /// Whether it may run at the same time as other strong accesses.
    pub fn is_strong(self) -> bool {
        self.0 >> 4 & 1 != 0
    }

    /// Whether it changes bytes.
    pub fn writes(self) -> bool {
        self.0 >> 5 & 1 != 0
    }

    /// Whether it reads and writes at once. Such an access is strong, and one that only writes is not told apart from it.
    pub fn is_atomic(self) -> bool {
        self.is_strong() && self.writes()
    }

    /// The number of the position in the code.
    pub fn site(self) -> u32 {
        self.0 >> 8
    }

    /// Whether it and another one of the same word are a race, if nothing orders them.
    pub fn conflicts(self, other: What) -> bool {
        self.bytes() & other.bytes() != 0
            && (self.writes() || other.writes())
            && !(self.is_strong() && other.is_strong())
    }
}

/// Four bytes of memory: the last write, and two later reads.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cell {
    when: [When; 3],
    what: [What; 3],
}

impl Cell {
    /// Takes note of an access. Gives one that conflicts with it and is `unordered`, if there is one.
    pub fn take(
        &mut self,
        when: When,
        what: What,
        mut unordered: impl FnMut(When, What) -> bool,
    ) -> Option<(When, What)> {
        let last = if what.writes() { 3 } else { 1 };
        let mut found = None;
        for (old, did) in self.when.iter().zip(&self.what).take(last) {
            if !old.is_never() && !old.is_of(when) && what.conflicts(*did) && unordered(*old, *did)
            {
                found = Some((*old, *did));
                break;
            }
        }
        self.note(when, what);
        found
    }

    /// Takes note of an access.
    pub fn note(&mut self, when: When, what: What) {
        let [write, first, second] = &mut self.when;
        let [wrote, read, other] = &mut self.what;
        if what.writes() {
            // Accesses ordered before this write are ordered before all accesses that are ordered after it.
            (*write, *first, *second) = (when, When::default(), When::default());
            *wrote = what;
        } else {
            let same = first.is_never() || first.is_of(when);
            if !same {
                (*second, *other) = (*first, *read);
            }
            (*first, *read) = (when, what);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let when = When::new(77, 65_000, 16_000, 31, 9);
        assert_eq!((when.block(), when.epoch(), when.warp(), when.lane()), (77, 65_000, 31, 9));
        assert!(when.moment() > When::new(77, 65_000, 15_999, 31, 9).moment());
        assert!(when.moment() < When::new(77, 65_001, 0, 31, 9).moment());
        assert!(when.is_of(When::new(77, 1, 2, 31, 9)) && !when.is_of(When::new(77, 1, 2, 31, 8)));
        let what = What::new(6, true, false, 0x00ff_fffe);
        assert_eq!((what.bytes(), what.site()), (6, 0x00ff_fffe));
        assert!(what.writes() && !what.is_strong());
    }

    #[test]
    fn accesses_conflict_where_one_writes_the_same_bytes_and_one_is_weak() {
        let (a, b) = (When::new(1, 0, 0, 0, 0), When::new(1, 0, 0, 1, 0));
        let (read, write) = (What::new(15, false, false, 1), What::new(15, true, false, 2));
        let strong = What::new(15, true, true, 3);
        let pair = |first, second| {
            let mut cell = Cell::default();
            assert_eq!(cell.take(a, first, |_, _| true), None);
            assert_eq!(cell.take(a, second, |_, _| true), None, "one thread");
            let mut cell = Cell::default();
            cell.take(a, first, |_, _| true);
            cell.take(b, second, |_, _| true)
        };
        assert_eq!(pair(read, write), Some((a, read)));
        assert_eq!(pair(write, read), Some((a, write)));
        assert_eq!(pair(write, write), Some((a, write)));
        assert_eq!(pair(write, strong), Some((a, write)));
        assert_eq!((pair(read, read), pair(strong, strong)), (None, None));
        assert_eq!(pair(What::new(3, true, false, 1), What::new(12, true, false, 1)), None);
    }

    #[test]
    fn another_readers_access_is_kept_behind_the_last() {
        let reader = |lane| When::new(1, 0, 0, 0, lane);
        let (read, write) = (What::new(15, false, false, 1), What::new(15, true, false, 2));
        let mut cell = Cell::default();
        (0..3).for_each(|lane| _ = cell.take(reader(lane), read, |_, _| true));
        assert_eq!(cell.take(reader(2), write, |_, _| true), Some((reader(1), read)));
    }
}
