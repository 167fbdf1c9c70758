//! The numbers that CUPTI is told for calls: what they are made of, and which call each became.
//!
//! Must not know: when they are told.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of a link that count; above them stands the kernel's number, so that a record finds its kernel
/// without the event.
pub const COUNT_BITS: u32 = 40;

/// `CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0` (cupti_activity.h).
pub const OURS: u32 = 3;

/// Above the count of a number that was told ahead of its call; no kernel has it.
pub const AHEAD: u64 = (1 << (64 - COUNT_BITS)) - 1;
/// What the latest of those became: number and link, by the number's low bits.
static BECAME: [[AtomicU64; 2]; 1 << 14] = [const { [const { AtomicU64::new(0) }; 2] }; 1 << 14];

/// Where it stands what a number became.
pub fn place(number: u64) -> Option<&'static [AtomicU64; 2]> {
    BECAME.get(number as usize % BECAME.len())
}

/// The link of a number that CUPTI tells; none where no recorded call came after it.
pub fn link_of(number: u64) -> Option<u64> {
    if number >> COUNT_BITS != AHEAD {
        return Some(number);
    }
    let [told, link] = place(number)?;
    let link = link.load(Ordering::Acquire);
    (told.load(Ordering::Acquire) == number).then_some(link)
}

/// The kernel that a link is about, 0 for none.
pub fn kernel_of(link: u64) -> u32 {
    (link >> COUNT_BITS) as u32
}
