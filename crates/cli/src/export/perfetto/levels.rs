//! Counter tracks: the counters of GPU work (`cushim profile -o`), as levels while it ran.
//!
//! Owns: which tracks there are, and the sums on them. Must not know: packets.

/// What a counter track shows: its name, the counters whose sum it is, and what each of them counts for.
pub struct Level {
    pub name: &'static str,
    counters: &'static [&'static str],
    each: u64,
}

/// Bytes of a sector.
const SECTOR: u64 = 32;

/// All of them.
pub const LEVELS: [Level; 3] = [
    Level {
        name: "sectors of global memory",
        counters: &["global_load_sectors", "global_store_sectors", "global_atomic_sectors"],
        each: 1,
    },
    Level {
        name: "floating-point operations",
        counters: &["flops_f16", "flops_f32", "flops_f64", "flops_matrix"],
        each: 1,
    },
    Level {
        name: "bytes of device memory (model)",
        counters: &["dram_read_sectors", "dram_write_sectors"],
        each: SECTOR,
    },
];

impl Level {
    /// Its value for work with these counters; `None` where it has none of those.
    pub fn of(&self, counted: &[(&str, u64)]) -> Option<u64> {
        let mine = counted.iter().filter(|(name, _)| self.counters.contains(name));
        let sum = |sum: Option<u64>, n: u64| {
            Some(sum.unwrap_or(0).saturating_add(n.saturating_mul(self.each)))
        };
        mine.map(|(_, n)| *n).fold(None, sum)
    }
}
