//! The cost of a warp's access, by its addresses: sectors, lines, shared-memory wavefronts, serialised atomic
//! operations.
//!
//! Owns these rules. Sectors have 32 bytes, lines 128, shared memory 32 banks of 4 bytes (CUDA C++ Programming Guide,
//! compute capabilities 5.x to 9.0). Must not know who accesses what.

use std::collections::HashMap;

/// Bytes of a sector.
pub const SECTOR: u64 = 32;
/// Bytes of a line.
pub const LINE: u64 = 128;
/// Banks of shared memory, each of 4 bytes.
const BANKS: u64 = 32;
/// What a turn of the banks gives at most.
const TURN: u64 = 4 * BANKS;

/// An access of one lane: where, and how many bytes.
pub type Piece = (u64, u64);

/// Which units of `size` bytes the pieces touch, each once, in order.
pub fn units(pieces: &[Piece], size: u64) -> Vec<u64> {
    let mut all: Vec<u64> = Vec::new();
    for (at, bytes) in pieces.iter().filter(|(_, bytes)| *bytes > 0) {
        all.extend(at / size..=at.saturating_add(bytes - 1) / size);
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Turns that the banks need, and how many they would need without conflicts. Lanes that read one word share a turn; wider
/// accesses go by halves and quarters of the warp.
pub fn turns(pieces: &[Piece]) -> (u64, u64) {
    let widest = pieces.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
    let together = (TURN / widest.max(4)).max(1) as usize;
    let (mut turns, mut least) = (0, 0);
    for group in pieces.chunks(together) {
        let mut banks = [0u64; BANKS as usize];
        for word in units(group, 4) {
            if let Some(n) = banks.get_mut((word % BANKS) as usize) {
                *n += 1;
            }
        }
        turns += banks.into_iter().max().unwrap_or(0);
        least += if widest > TURN { widest.div_ceil(TURN) } else { 1 };
    }
    (turns, least)
}

/// How many addresses the pieces have, and how many have the one that most have.
pub fn contention(pieces: &[Piece]) -> (u64, u64) {
    let mut at: HashMap<u64, u64> = HashMap::new();
    for (address, _) in pieces {
        *at.entry(*address).or_default() += 1;
    }
    (at.len() as u64, at.values().copied().max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(stride: u64, bytes: u64) -> Vec<Piece> {
        (0..32).map(|lane| (0x1000 + lane * stride, bytes)).collect()
    }

    #[test]
    fn neighbours_share_sectors() {
        let count = |pieces: &[Piece]| (units(pieces, SECTOR).len(), units(pieces, LINE).len());
        assert_eq!(count(&lanes(4, 4)), (4, 1));
        assert_eq!(count(&lanes(8, 8)), (8, 2));
        assert_eq!(count(&lanes(16, 16)), (16, 4));
        assert_eq!(count(&lanes(0, 4)), (1, 1));
        assert_eq!(count(&lanes(128, 4)), (32, 32));
        assert_eq!(count(&[(30, 4)]), (2, 1));
        assert_eq!(count(&[(0, 0)]), (0, 0));
    }

    #[test]
    fn banks_take_turns() {
        assert_eq!(turns(&lanes(4, 4)), (1, 1));
        assert_eq!(turns(&lanes(8, 4)), (2, 1));
        assert_eq!(turns(&lanes(128, 4)), (32, 1));
        assert_eq!(turns(&lanes(132, 4)), (1, 1), "a row of 33 words");
        assert_eq!(turns(&lanes(0, 4)), (1, 1), "one word for all");
        assert_eq!(turns(&lanes(8, 8)), (2, 2));
        assert_eq!(turns(&lanes(16, 16)), (4, 4));
        assert_eq!(turns(&lanes(1, 1)), (1, 1));
    }

    #[test]
    fn atomics_wait_for_each_other() {
        assert_eq!(contention(&lanes(4, 4)), (32, 1));
        assert_eq!(contention(&lanes(0, 4)), (1, 32));
        assert_eq!(contention(&[(0, 4), (4, 4), (0, 4)]), (2, 2));
    }
}
