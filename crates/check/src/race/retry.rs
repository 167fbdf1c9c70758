//! Plain reads beside atomic operations of others.
//!
//! Owns reads that may be the start of a retry loop: a plain read, then an atomic operation by the same thread that
//! detects changes (`old = *p; do … old = atomicCAS(p, …)`, as in NVIDIA's guide and headers). The read's value then
//! decides nothing, so it is reported only if its thread does no such operation before its block ends. Must not know
//! how such reads are found.

use super::found::{Found, Place};
use super::record::When;

/// The most reads that are remembered in a block; further ones are not reported.
const MOST: usize = 1 << 12;

/// A thread's read of some bytes.
#[derive(Debug)]
struct Read {
    reader: When,
    shared: bool,
    at: u64,
    found: Found,
}

/// The reads of a block.
#[derive(Debug, Default)]
pub struct Retries(Vec<Read>);

impl Retries {
    /// A read of a word that others change by atomic operations, or that others have changed since.
    pub fn add(&mut self, reader: When, place: Place, found: Found) {
        let (shared, word) = (matches!(place, Place::Shared { .. }), place.at() & !3);
        let known = self
            .0
            .iter()
            .any(|read| read.reader.is_of(reader) && (read.shared, read.at) == (shared, word));
        if !known && self.0.len() < MOST {
            self.0.push(Read { reader, shared, at: word, found });
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A thread does an atomic operation.
    pub fn tried(&mut self, by: When, shared: bool, at: u64, bytes: u64) {
        if !self.0.is_empty() {
            let words = at & !3..at.saturating_add(bytes);
            self.0.retain(|read| {
                !(read.reader.is_of(by) && read.shared == shared && words.contains(&read.at))
            });
        }
    }

    /// The block ends: the remaining reads are races.
    pub fn take(&mut self) -> Vec<Found> {
        std::mem::take(&mut self.0).into_iter().map(|read| read.found).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::found::Told;
    use super::*;
    use cushim_ptx::Pos;
    use cushim_ptx::exec::Access;

    #[test]
    fn a_read_is_taken_back_by_the_same_threads_operation_on_the_same_word() {
        let thread = |lane| When::new(1, 0, 0, 0, lane);
        let told = Told { when: thread(0), site: 1 };
        let place = Place::Global { at: 0x1002, bytes: 2 };
        let pos = Pos { line: 1, column: 1 };
        let found = Found { now: told, access: Access::Read, pos, before: told, place };
        let left = |by: &dyn Fn(&mut Retries)| {
            let mut retries = Retries::default();
            retries.add(thread(3), place, found);
            retries.add(thread(3), Place::Global { at: 0x1000, bytes: 4 }, found);
            by(&mut retries);
            retries.take().len()
        };
        assert_eq!(left(&|_| {}), 1);
        assert_eq!(left(&|retries| retries.tried(thread(3), false, 0x1000, 4)), 0);
        assert_eq!(left(&|retries| retries.tried(thread(3), false, 0x0ffc, 8)), 0);
        assert_eq!(left(&|retries| retries.tried(thread(3), true, 0x1000, 4)), 1, "shared");
        assert_eq!(left(&|retries| retries.tried(thread(3), false, 0x1004, 4)), 1, "another word");
        assert_eq!(
            left(&|retries| retries.tried(thread(4), false, 0x1000, 4)),
            1,
            "another thread"
        );
    }
}
