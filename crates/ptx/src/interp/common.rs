//! State that the warps of a block share.

use super::barrier::Barriers;
use crate::exec::BlockWatch;
use crate::exec::cluster::{self, Arrivals};

/// What the warps of a block share.
pub(super) struct Common {
    pub(super) index: [u32; 3],
    /// The shared memory of all blocks of the cluster, by rank, while this block has its turn; else empty.
    pub(super) shared: Vec<Vec<u8>>,
    /// The block's rank in its cluster.
    pub(super) rank: usize,
    pub(super) barriers: Barriers,
    /// Arrivals at the cluster's barrier.
    pub(super) arrivals: Arrivals,
    /// The observer.
    pub(super) watch: Option<Box<dyn BlockWatch>>,
    /// Instructions run so far: the clock.
    pub(super) steps: u64,
}

impl Common {
    /// The shared memory in which an address of the window lies, and where.
    pub(super) fn shared_at(&self, address: u64) -> Option<(&[u8], usize)> {
        let (rank, at) = cluster::find(address, self.rank as u64);
        Some((self.shared.get(usize::try_from(rank).ok()?)?, usize::try_from(at).ok()?))
    }

    /// As [`Common::shared_at`], to write.
    pub(super) fn shared_mut(&mut self, address: u64) -> Option<(&mut [u8], usize)> {
        let (rank, at) = cluster::find(address, self.rank as u64);
        Some((self.shared.get_mut(usize::try_from(rank).ok()?)?, usize::try_from(at).ok()?))
    }
}
