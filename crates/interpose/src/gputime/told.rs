//! CUPTI's correlation ids, and the link that each belongs to.
//!
//! Owns: a table from CUPTI's number of a driver call (its *correlation id*) to the link of the recorded call
//! around it. Threads enter what they call, without a lock; one thread looks up. An entry stays until one whose
//! number is [`ENTRIES`] later takes its place.
//!
//! Must not know: when a number is told, and what is looked up for.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of a link that count; above them stands the kernel's number, so that a record finds its kernel
/// without the event.
pub const COUNT_BITS: u32 = 40;
/// So many calls are known at a time; of one that is forgotten, the work has no time. 16 bytes each, which
/// take memory where they are used.
const ENTRIES: usize = 1 << 20;

/// Link, and [`check`] of link and number: two threads that store into one entry at the same time leave
/// what fits neither.
type Entry = [AtomicU64; 2];

static TOLD: [Entry; ENTRIES] = [const { [const { AtomicU64::new(0) }; 2] }; ENTRIES];

/// What stands beside a link. Never the zero of an entry that was not used, as no number gives `!0`.
fn check(link: u64, number: u32) -> u64 {
    // An odd factor: no two numbers have the same product.
    link ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::MAX
}

/// CUPTI's call `number` is one of `link`.
pub fn tell(number: u32, link: u64) {
    if let Some([place, beside]) = TOLD.get(number as usize % ENTRIES) {
        place.store(link, Ordering::Relaxed);
        beside.store(check(link, number), Ordering::Relaxed);
    }
}

/// The link of CUPTI's call `number`; none for a call that is not recorded, or long gone.
pub fn link_of(number: u32) -> Option<u64> {
    let [place, beside] = TOLD.get(number as usize % ENTRIES)?;
    let link = place.load(Ordering::Relaxed);
    (link != 0 && beside.load(Ordering::Relaxed) == check(link, number)).then_some(link)
}

/// The kernel that a link is about, 0 for none.
pub fn kernel_of(link: u64) -> u32 {
    (link >> COUNT_BITS) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_until_another_takes_its_place() {
        let (number, link) = (77_000, 5 << COUNT_BITS | 9);
        assert_eq!(link_of(number), None);
        tell(number, link);
        assert_eq!((link_of(number), kernel_of(link)), (Some(link), 5));
        // The same entry, another number.
        let later = number + ENTRIES as u32;
        assert_eq!(link_of(later), None);
        tell(later, link + 1);
        assert_eq!((link_of(number), link_of(later)), (None, Some(link + 1)));
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
                assert_eq!((link_of(number), link_of(later)), (None, None));
            }
        }
    }
}
