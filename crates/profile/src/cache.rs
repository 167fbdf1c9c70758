//! A model of caches: sets of 16 sectors each, with LRU replacement.
//!
//! Owns which sectors are cached. Must not know who asks. It estimates how many bytes a kernel moves if nothing else
//! runs and blocks run one after the other; a GPU's caches have other replacement policies, and blocks share them.

use super::access::SECTOR;

const WAYS: usize = 16;

/// A cache of sectors. An entry is the sector's number plus 1, doubled, plus 1 if it was written; 0 is none.
#[derive(Debug, Clone)]
pub struct Cache {
    sets: Vec<[u64; WAYS]>,
}

/// The outcome of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// It was there.
    pub hit: bool,
    /// A modified sector was evicted.
    pub written_back: bool,
}

impl Cache {
    /// An empty cache of so many bytes.
    pub fn new(bytes: u64) -> Cache {
        let sets = (bytes / SECTOR / WAYS as u64).max(1);
        Cache { sets: vec![[0; WAYS]; usize::try_from(sets).unwrap_or(1)] }
    }

    /// Nothing is there any more, and nothing is written back.
    pub fn clear(&mut self) {
        self.sets.fill([0; WAYS]);
    }

    /// A sector is read or written, and is there from now on.
    pub fn touch(&mut self, sector: u64, writes: bool) -> Outcome {
        let number = (sector % self.sets.len() as u64) as usize;
        let none = Outcome { hit: false, written_back: false };
        let Some(set) = self.sets.get_mut(number) else { return none };
        let tag = sector.wrapping_add(1) << 1;
        let found = set.iter().position(|entry| entry & !1 == tag);
        let upto = found.unwrap_or(WAYS - 1);
        let old = set.get(upto).copied().unwrap_or(0);
        if let Some(front) = set.get_mut(..=upto) {
            front.rotate_right(1);
            if let Some(first) = front.first_mut() {
                let was = if found.is_some() { old & 1 } else { 0 };
                *first = tag | was | u64::from(writes);
            }
        }
        Outcome { hit: found.is_some(), written_back: found.is_none() && old & 1 != 0 }
    }

    /// How many are there that were written.
    pub fn written(&self) -> u64 {
        self.sets.iter().flatten().filter(|entry| **entry & 1 != 0).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_stays() {
        let mut cache = Cache::new(SECTOR * WAYS as u64);
        for sector in 0..WAYS as u64 {
            assert!(!cache.touch(sector, sector == 1).hit);
        }
        assert!(cache.touch(0, false).hit);
        assert_eq!(cache.written(), 1);
        assert_eq!(cache.touch(100, false), Outcome { hit: false, written_back: true });
        assert!(cache.touch(0, false).hit && !cache.touch(1, false).hit);
        cache.clear();
        assert!(!cache.touch(0, true).hit && cache.written() == 1);
    }
}
