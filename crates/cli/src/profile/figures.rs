//! Figures of a kernel that are computed from its counts.
//!
//! Owns the formulas: shares, bytes, intensity, the bound of a kernel on a GPU. Must not know how they are shown.

use cushim_profile::{Count, Counts, access::SECTOR};

use super::gpus::Gpu;

/// `part` of `of`, unless `of` is 0.
fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

/// What follows from counts.
#[derive(Debug, Clone, Copy)]
pub struct Figures<'a> {
    /// The counts.
    pub counts: &'a Counts,
    /// Sectors written to device memory.
    pub written: u64,
}

impl Figures<'_> {
    fn n(&self, count: Count) -> u64 {
        self.counts.get(count)
    }

    /// The sum of some counters.
    fn sum(&self, counts: &[Count]) -> u64 {
        counts.iter().fold(0, |sum, count| u64::saturating_add(sum, self.n(*count)))
    }

    /// Active lanes per instruction, of 32.
    pub fn active_lanes(&self) -> Option<f64> {
        share(self.n(Count::ActiveLanes), self.n(Count::Instructions))
    }

    /// Sectors per load and per store.
    pub fn sectors(&self) -> [Option<f64>; 2] {
        [
            share(self.n(Count::LoadSectors), self.n(Count::LoadRequests)),
            share(self.n(Count::StoreSectors), self.n(Count::StoreRequests)),
        ]
    }

    /// Lines per load and per store.
    pub fn lines(&self) -> [Option<f64>; 2] {
        [
            share(self.n(Count::LoadLines), self.n(Count::LoadRequests)),
            share(self.n(Count::StoreLines), self.n(Count::StoreRequests)),
        ]
    }

    /// The share of requested bytes in the sectors that loads and stores touch; more than 1 where
    /// lanes request the same.
    pub fn used(&self) -> Option<f64> {
        let sectors = self.sum(&[Count::LoadSectors, Count::StoreSectors]);
        let bytes = self.sum(&[Count::LoadBytes, Count::StoreBytes]);
        share(bytes, sectors.saturating_mul(SECTOR))
    }

    /// Bank conflicts per access to shared memory.
    pub fn conflicts(&self) -> Option<f64> {
        share(self.all_conflicts(), self.sum(&[Count::SharedLoads, Count::SharedStores]))
    }

    /// Bank conflicts.
    pub fn all_conflicts(&self) -> u64 {
        self.sum(&[Count::SharedLoadConflicts, Count::SharedStoreConflicts])
    }

    /// Lanes per address in an atomic operation.
    pub fn contention(&self) -> Option<f64> {
        share(self.n(Count::AtomicLanes), self.n(Count::AtomicAddresses))
    }

    /// The model's L1 hit rate of loads, in sectors.
    pub fn l1(&self) -> Option<f64> {
        share(self.n(Count::L1Hits), self.n(Count::LoadSectors))
    }

    /// The model's L2 hit rate, in sectors.
    pub fn l2(&self) -> Option<f64> {
        share(self.n(Count::L2Hits), self.n(Count::L2Reads))
    }

    /// Bytes between L1 and L2, and between L2 and device memory, in the model.
    pub fn moved(&self) -> [u64; 2] {
        let l2 = self.sum(&[Count::L2Reads, Count::L2Writes]);
        let dram = self.n(Count::DramReads).saturating_add(self.written);
        [l2, dram].map(|sectors| sectors.saturating_mul(SECTOR))
    }

    /// Operations with numbers of 16, 32, 64 bits, and in products of matrices.
    pub fn flops(&self) -> [u64; 4] {
        [Count::FlopsHalf, Count::FlopsSingle, Count::FlopsDouble, Count::FlopsMatrix]
            .map(|count| self.n(count))
    }

    /// Operations, without those in products of matrices.
    pub fn operations(&self) -> u64 {
        self.sum(&[Count::FlopsHalf, Count::FlopsSingle, Count::FlopsDouble])
    }

    /// Operations per byte of device memory, without those in products of matrices.
    pub fn intensity(&self) -> Option<f64> {
        share(self.operations(), self.moved()[1])
    }

    /// The least seconds that a GPU needs for arithmetic, and for its memory.
    pub fn least(&self, gpu: &Gpu) -> [f64; 2] {
        let [half, single, double, _] = self.flops();
        let [peak, peak_double] = gpu.peak();
        let arithmetic = half.saturating_add(single) as f64 / peak + double as f64 / peak_double;
        [arithmetic, self.moved()[1] as f64 / (f64::from(gpu.bandwidth) * 1e9)]
    }
}
