//! The counters of each instruction, and so of each line, kernel and launch.
//!
//! Owns the counters and their names. Must not know how they are counted.

macro_rules! counters {
    ($($(#[$meta:meta])* $name:ident $text:literal $metric:literal),* $(,)?) => {
        /// A counter.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Count { $($(#[$meta])* $name),* }

        impl Count {
            /// All counters, in the order of the output.
            pub const ALL: &'static [Count] = &[$(Count::$name),*];

            /// As it is written in JSON.
            pub const fn name(self) -> &'static str {
                match self { $(Count::$name => $text),* }
            }

            /// The metric of Nsight Compute that means the same; empty where none does.
            pub const fn metric(self) -> &'static str {
                match self { $(Count::$name => $metric),* }
            }
        }
    };
}

counters! {
    /// Instructions that a warp ran, also where the predicate held for no lane.
    Instructions "instructions" "",
    /// Lanes that were there, of those.
    Lanes "lanes" "",
    /// Lanes for which the predicate held.
    ActiveLanes "active_lanes" "",
    /// Branches.
    Branches "branches" "",
    /// Branches at which lanes of a warp parted.
    DivergentBranches "divergent_branches" "",
    /// Loads of global memory by a warp.
    LoadRequests "global_load_requests" "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    /// Sectors of 32 bytes that they touch.
    LoadSectors "global_load_sectors" "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    /// Lines of 128 bytes.
    LoadLines "global_load_lines" "",
    /// Bytes that lanes asked for.
    LoadBytes "global_load_bytes" "",
    /// Stores to global memory by a warp.
    StoreRequests "global_store_requests" "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    /// Sectors that they touch.
    StoreSectors "global_store_sectors" "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    /// Lines.
    StoreLines "global_store_lines" "",
    /// Bytes.
    StoreBytes "global_store_bytes" "",
    /// Atomic operations and reductions in global memory by a warp.
    AtomicRequests "global_atomic_requests" "",
    /// Sectors that they touch.
    AtomicSectors "global_atomic_sectors" "",
    /// Active lanes of atomic operations, on global and shared memory.
    AtomicLanes "atomic_lanes" "",
    /// Different addresses that lanes of one instruction have, summed.
    AtomicAddresses "atomic_addresses" "",
    /// The most lanes of one instruction at one address, summed: the serialised turns.
    AtomicTurns "atomic_turns" "",
    /// Loads of shared memory by a warp.
    SharedLoads "shared_load_requests" "",
    /// Turns that the banks need for them.
    SharedLoadTurns "shared_load_wavefronts" "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    /// Wavefronts beyond those needed without conflicts.
    SharedLoadConflicts "shared_load_conflicts" "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    /// Stores to shared memory, atomic operations among them.
    SharedStores "shared_store_requests" "",
    /// Turns.
    SharedStoreTurns "shared_store_wavefronts" "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    /// Conflicts.
    SharedStoreConflicts "shared_store_conflicts" "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    /// Accesses to local memory by a warp.
    LocalRequests "local_requests" "",
    /// Bytes of those.
    LocalBytes "local_bytes" "",
    /// Arrivals of warps at a barrier of the block.
    Barriers "barriers" "",
    /// Arrivals of warps at other waits: `__syncwarp`, barrier objects, barriers of the cluster.
    Waits "waits" "",
    /// Operations with numbers of 16 bits (`f16`, `bf16`); a fused multiply-add is two.
    FlopsHalf "flops_f16" "",
    /// With numbers of 32 bits.
    FlopsSingle "flops_f32" "",
    /// With numbers of 64 bits.
    FlopsDouble "flops_f64" "",
    /// In products of matrices.
    FlopsMatrix "flops_matrix" "",
    /// Sectors that the model's L1 has, of those that loads touch.
    L1Hits "l1_hit_sectors" "",
    /// Sectors that loads and atomic operations ask the model's L2 for.
    L2Reads "l2_read_sectors" "",
    /// Sectors that it has.
    L2Hits "l2_hit_sectors" "",
    /// Sectors that stores write into it.
    L2Writes "l2_write_sectors" "",
    /// Sectors that come from device memory.
    DramReads "dram_read_sectors" "",
}

const COUNT: usize = Count::ALL.len();

/// A number for each counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts([u64; COUNT]);

impl Default for Counts {
    fn default() -> Counts {
        Counts([0; COUNT])
    }
}

impl Counts {
    /// One of them.
    pub fn get(&self, count: Count) -> u64 {
        self.0.get(count as usize).copied().unwrap_or(0)
    }

    /// Adds to one.
    pub fn add(&mut self, count: Count, more: u64) {
        if let Some(n) = self.0.get_mut(count as usize) {
            *n = n.saturating_add(more);
        }
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Counts) {
        self.0.iter_mut().zip(other.0).for_each(|(n, more)| *n = n.saturating_add(more));
    }

    /// All, in the order of [`Count::ALL`].
    pub fn all(&self) -> &[u64] {
        &self.0
    }

    /// The inverse of [`Counts::all`]; missing counts are 0.
    pub fn from_all(all: &[u64]) -> Counts {
        let mut counts = Counts::default();
        counts.0.iter_mut().zip(all).for_each(|(to, from)| *to = *from);
        counts
    }
}
