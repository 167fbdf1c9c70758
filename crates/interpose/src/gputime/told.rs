//! CUPTI's correlation ids, and the link that each belongs to.
//!
//! Owns: a table from CUPTI's number of a driver call (its *correlation id*) to the link of the recorded call around
//! it. Threads insert without a lock; one thread looks up. An entry is overwritten by the call whose number is larger
//! by [`ENTRIES`].
//!
//! Must not know: when numbers are inserted, and what lookups are for.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of a link that hold the count; the bits above hold the kernel's number, so that a record finds its kernel
/// without the event.
pub const COUNT_BITS: u32 = 40;
/// How many calls the table remembers; work of an older call has no time. 16 bytes each; unused pages take no memory.
pub const ENTRIES: usize = 1 << 20;

/// A link, and [`check`] of link and number: if two threads store into one entry at the same time, the check fits
/// neither.
type Entry = [AtomicU64; 2];

static TOLD: [Entry; ENTRIES] = [const { [const { AtomicU64::new(0) }; 2] }; ENTRIES];

/// An odd factor, so that no two numbers have the same product, and its inverse.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const BACK: u64 = 0xf1de_83e1_9937_733d;
const _: () = assert!(FACTOR.wrapping_mul(BACK) == 1);

/// What the table has for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The call's link.
    Link(u64),
    /// The call is not recorded.
    Nothing,
    /// A later call has overwritten the entry, so whether this one had a link is unknown.
    Replaced,
}

/// The check stored with a link. Never zero, which marks an unused entry, because no number is `!0`.
fn check(link: u64, number: u32) -> u64 {
    link ^ u64::from(number).wrapping_mul(FACTOR) ^ u64::MAX
}

/// Stores that CUPTI's call `number` belongs to `link`.
pub fn tell(number: u32, link: u64) {
    if let Some([place, beside]) = TOLD.get(number as usize % ENTRIES) {
        place.store(link, Ordering::Relaxed);
        beside.store(check(link, number), Ordering::Relaxed);
    }
}

/// Looks up CUPTI's call `number`.
pub fn of(number: u32) -> Told {
    let Some([place, beside]) = TOLD.get(number as usize % ENTRIES) else { return Told::Nothing };
    let (link, beside) = (place.load(Ordering::Relaxed), beside.load(Ordering::Relaxed));
    if link == 0 {
        return Told::Nothing;
    }
    if beside == check(link, number) {
        return Told::Link(link);
    }
    // Numbers wrap around: a later one is ahead by less than half of the range. An entry that mixes two stores
    // is being replaced at this moment.
    match u32::try_from((beside ^ link ^ u64::MAX).wrapping_mul(BACK)) {
        Ok(found) if found.wrapping_sub(number) > u32::MAX / 2 => Told::Nothing,
        _ => Told::Replaced,
    }
}

/// The kernel of a link; 0 if it has none.
pub fn kernel_of(link: u64) -> u32 {
    (link >> COUNT_BITS) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_until_another_takes_its_place() {
        let (number, link) = (77_000, 5 << COUNT_BITS | 9);
        assert_eq!(of(number), Told::Nothing);
        tell(number, link);
        assert_eq!((of(number), kernel_of(link)), (Told::Link(link), 5));
        // The same table entry, another number.
        let later = number + ENTRIES as u32;
        assert_eq!(of(later), Told::Nothing);
        tell(later, link + 1);
        assert_eq!((of(number), of(later)), (Told::Replaced, Told::Link(link + 1)));
    }

    #[test]
    fn numbers_come_round() {
        let last = u32::MAX - 5;
        let next = last.wrapping_add(ENTRIES as u32);
        assert!(next < last);
        tell(last, 3);
        assert_eq!((of(last), of(next)), (Told::Link(3), Told::Nothing));
        tell(next, 4);
        assert_eq!((of(last), of(next)), (Told::Replaced, Told::Link(4)));
    }

    #[test]
    fn half_of_one_store_and_half_of_another_is_nothing() {
        let number = 78_000;
        let Some([place, beside]) = TOLD.get(number as usize) else {
            unreachable!("more entries than that")
        };
        for (link, other) in [(1, 2), (7 << COUNT_BITS | 3, 3)] {
            for later in [number, number + ENTRIES as u32] {
                place.store(other, Ordering::Relaxed);
                beside.store(check(link, later), Ordering::Relaxed);
                for asked in [number, number + ENTRIES as u32] {
                    assert!(!matches!(of(asked), Told::Link(_)));
                }
            }
        }
    }
}
