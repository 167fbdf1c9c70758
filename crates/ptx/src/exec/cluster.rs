//! Clusters: blocks that run together and access each other's shared memory (PTX ISA 9, "Cluster of Cooperative
//! Thread Arrays", `mapa`, `barrier.cluster`).
//!
//! Owns which blocks a cluster has, the addresses of their shared memory, and when all have arrived at the cluster's
//! barrier. Must not know how blocks run: the engine runs all blocks of a cluster in turns on one thread.
//!
//! Addresses of a block's own shared memory start at 0 in its window; those of the block with rank `r` lie `r + 1`
//! times [`RANK_SIZE`] higher. The GPU has the rank in the same bits, also for the block's own memory; here a pointer
//! to own shared memory, used in another block, means that block's memory.

use super::launch::KernelLaunch;
use crate::special::Special;

/// Bytes of addresses that a block of a cluster has for its shared memory.
pub const RANK_SIZE: u64 = 1 << 24;

/// The address in the block with `rank` that corresponds to `address` in the shared window; `own` is the rank of the
/// executing block.
pub fn map(address: u64, rank: u64, own: u64) -> u64 {
    let offset = address % RANK_SIZE;
    if rank == own { offset } else { offset.wrapping_add(rank.wrapping_add(1) * RANK_SIZE) }
}

/// The rank whose shared memory an address in the window means, and the offset in it.
pub fn find(address: u64, own: u64) -> (u64, u64) {
    match (address / RANK_SIZE).checked_sub(1) {
        None => (own, address),
        Some(rank) => (rank, address % RANK_SIZE),
    }
}

/// The index in the grid of a block of cluster `number`; clusters and their blocks are numbered with x fastest.
pub fn block(grid: [u32; 3], cluster: [u32; 3], number: u64, rank: u64) -> [u32; 3] {
    let place = |n: u64, [x, y, _]: [u64; 3]| [n % x, n / x % y, n / x / y];
    let sides = cluster.map(|side| u64::from(side.max(1)));
    let clusters = [0, 1, 2].map(|k: usize| (u64::from(grid[k]) / sides[k]).max(1));
    let (first, within) = (place(number, clusters), place(rank, sides));
    [0, 1, 2].map(|k: usize| (first[k] * sides[k] + within[k]) as u32)
}

/// What a register about clusters holds in a block; `None` for other registers.
pub fn special(s: Special, launch: &KernelLaunch<'_>, block: [u32; 3]) -> Option<u32> {
    let sides = launch.cluster.map(|side| side.max(1));
    let at = |of: [u32; 3], axis: u8| of.get(usize::from(axis)).copied().unwrap_or(0);
    let by = |of: [u32; 3]| [0, 1, 2].map(|k: usize| of[k] / sides[k]);
    let within = [0, 1, 2].map(|k: usize| block[k] % sides[k]);
    Some(match s {
        Special::ClusterId(axis) => at(by(block), axis),
        Special::NClusterId(axis) => at(by(launch.grid), axis),
        Special::ClusterCtaid(axis) => at(within, axis),
        Special::ClusterNctaid(axis) => at(sides, axis),
        Special::ClusterCtarank => within[0] + sides[0] * (within[1] + sides[1] * within[2]),
        Special::ClusterNctarank => sides.iter().product(),
        Special::ExplicitCluster => launch.explicit_cluster.into(),
        _ => return None,
    })
}

/// The cluster's barrier, as one block of it sees it: which lanes have come and not gone on.
#[derive(Debug, Clone, Default)]
pub struct Arrivals(Vec<u32>);

impl Arrivals {
    /// Nobody has come, of so many warps.
    pub fn clear(&mut self, warps: usize) {
        self.0.clear();
        self.0.resize(warps, 0);
    }

    /// Lanes of a warp come.
    pub fn arrive(&mut self, warp: usize, lanes: u32) {
        if let Some(here) = self.0.get_mut(warp) {
            *here |= lanes;
        }
    }

    /// Which of these lanes may go on: the barrier completed since they arrived.
    pub fn released(&self, warp: usize, lanes: u32) -> u32 {
        lanes & !self.0.get(warp).copied().unwrap_or(0)
    }

    /// Whether all live lanes have arrived; `live`: the live lanes of each warp.
    pub fn is_complete(&self, live: impl Iterator<Item = u32>) -> bool {
        self.0.iter().zip(live).all(|(here, live)| live & !here == 0)
    }

    /// Whether any lane has come.
    pub fn is_used(&self) -> bool {
        self.0.iter().any(|here| *here != 0)
    }

    /// The barrier is complete: later arrivals belong to the next phase.
    pub fn release(&mut self) {
        self.0.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_a_block_and_a_place() {
        assert_eq!(map(0x40, 2, 2), 0x40, "own memory has its own addresses");
        assert_eq!(find(0x40, 2), (2, 0x40));
        let other = map(0x40, 0, 2);
        assert_eq!(find(other, 2), (0, 0x40));
        assert_eq!(map(other, 3, 2), map(0x40, 3, 2), "a mapped address can be mapped again");
        assert_eq!(map(other, 2, 2), 0x40);
        // As the target block sees it.
        assert_eq!(find(map(8, 1, 0), 1), (1, 8));
    }

    #[test]
    fn clusters_tile_the_grid() {
        let (grid, cluster) = ([4, 6, 3], [2, 3, 1]);
        let mut seen = std::collections::HashSet::new();
        for number in 0..12 {
            for rank in 0..6 {
                let found = block(grid, cluster, number, rank);
                assert!(found.iter().zip(grid).all(|(at, side)| *at < side), "{found:?}");
                assert!(seen.insert(found));
            }
        }
        assert_eq!(seen.len(), 72);
        assert_eq!(block(grid, cluster, 1, 0), [2, 0, 0]);
        assert_eq!(block(grid, cluster, 2, 3), [1, 4, 0]);
        assert_eq!(block([5, 2, 1], [1; 3], 7, 0), [2, 1, 0]);
    }

    #[test]
    fn a_barrier_is_complete_when_all_that_live_have_come() {
        let mut one = Arrivals::default();
        one.clear(2);
        one.arrive(0, 0xff);
        assert!(!one.is_complete([0xff, 1].into_iter()));
        assert_eq!(one.released(0, 0xf), 0);
        assert!(one.is_complete([0xff, 0].into_iter()), "who has ended is not waited for");
        one.release();
        assert_eq!(one.released(0, 0xf), 0xf);
        one.arrive(0, 1);
        assert_eq!(one.released(0, 0xf), 0xe, "the first has come to the next phase");
        assert!(one.is_used());
    }
}
