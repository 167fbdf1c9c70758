//! The GPUs for which a profile can be computed.
//!
//! Owns their properties, and how many blocks of a kernel fit on one of their multiprocessors. Limits by compute
//! capability are those of the CUDA C++ Programming Guide ("Technical Specifications per Compute Capability");
//! processors, clocks (boost) and bandwidth are those of NVIDIA's data sheets of one product each. Must not know what
//! was counted.

use serde::Serialize;

/// A GPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gpu {
    /// Its target: `sm_90`.
    pub arch: &'static str,
    /// The product.
    pub name: &'static str,
    /// Multiprocessors.
    pub sms: u32,
    /// Boost clock in MHz.
    pub mhz: u32,
    /// Bandwidth of its memory in GB/s.
    pub bandwidth: u32,
    /// L2 in MiB.
    pub l2_mib: u32,
    /// L1 and shared memory of a multiprocessor in KiB.
    pub l1_kib: u32,
    /// The most shared memory of a multiprocessor in KiB.
    pub shared_kib: u32,
    /// Bytes of shared memory that a block takes for itself.
    pub reserved: u32,
    /// Warps of a multiprocessor.
    pub warps: u32,
    /// Blocks of a multiprocessor.
    pub blocks: u32,
    /// Lanes of a multiprocessor for 32-bit and for 64-bit numbers.
    pub lanes: [u32; 2],
}

#[rustfmt::skip]
const GPUS: [Gpu; 7] = [
    Gpu { arch: "sm_70", name: "V100 SXM2 16 GB", sms: 80, mhz: 1530, bandwidth: 900, l2_mib: 6, l1_kib: 128, shared_kib: 96, reserved: 0, warps: 64, blocks: 32, lanes: [64, 32] },
    Gpu { arch: "sm_75", name: "T4", sms: 40, mhz: 1590, bandwidth: 320, l2_mib: 4, l1_kib: 96, shared_kib: 64, reserved: 0, warps: 32, blocks: 16, lanes: [64, 2] },
    Gpu { arch: "sm_80", name: "A100 SXM4 40 GB", sms: 108, mhz: 1410, bandwidth: 1555, l2_mib: 40, l1_kib: 192, shared_kib: 164, reserved: 1024, warps: 64, blocks: 32, lanes: [64, 32] },
    Gpu { arch: "sm_86", name: "A10", sms: 72, mhz: 1695, bandwidth: 600, l2_mib: 6, l1_kib: 128, shared_kib: 100, reserved: 1024, warps: 48, blocks: 16, lanes: [128, 2] },
    Gpu { arch: "sm_89", name: "L40S", sms: 142, mhz: 2520, bandwidth: 864, l2_mib: 96, l1_kib: 128, shared_kib: 100, reserved: 1024, warps: 48, blocks: 24, lanes: [128, 2] },
    Gpu { arch: "sm_90", name: "H100 SXM5", sms: 132, mhz: 1980, bandwidth: 3350, l2_mib: 50, l1_kib: 256, shared_kib: 228, reserved: 1024, warps: 64, blocks: 32, lanes: [128, 64] },
    Gpu { arch: "sm_90", name: "H200", sms: 132, mhz: 1980, bandwidth: 4800, l2_mib: 50, l1_kib: 256, shared_kib: 228, reserved: 1024, warps: 64, blocks: 32, lanes: [128, 64] },
];

/// 32-bit registers of a multiprocessor, the same in all GPUs.
const REGISTERS: u64 = 65_536;
/// Registers are allocated to warps in units of this.
const PORTION: u64 = 256;
/// Schedulers of a multiprocessor: the number of warps with registers is a multiple of it.
const SCHEDULERS: u64 = 4;

/// How much of a multiprocessor a kernel can fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Occupancy {
    /// Blocks that fit.
    pub blocks: u64,
    /// Warps of those blocks.
    pub warps: u64,
    /// The most warps of a multiprocessor.
    pub of: u64,
    /// The resource that limits it.
    pub limit: &'static str,
}

impl Gpu {
    /// The GPU with this target or product name.
    pub fn named(name: &str) -> Option<Gpu> {
        let same = |gpu: &&Gpu| {
            let first = gpu.name.split(' ').next();
            gpu.arch == name || first.is_some_and(|first| first.eq_ignore_ascii_case(name))
        };
        GPUS.iter().find(same).copied()
    }

    /// All names, with commas between.
    pub fn names() -> String {
        GPUS.map(|gpu| format!("{} {}", gpu.arch, gpu.name)).join(", ")
    }

    /// Operations in a second, of numbers of 32 and of 64 bits: a fused multiply-add is two.
    pub fn peak(&self) -> [f64; 2] {
        self.lanes
            .map(|lanes| 2.0 * f64::from(lanes) * f64::from(self.sms) * f64::from(self.mhz) * 1e6)
    }

    /// How many blocks fit.
    pub fn occupancy(&self, threads: u64, registers: u64, shared: u64) -> Occupancy {
        let warps = threads.div_ceil(32).max(1);
        // Counts beyond those of any kernel would not fit either.
        let (registers, shared) = (registers.min(REGISTERS), shared.min(1 << 32));
        let own = (registers * 32).next_multiple_of(PORTION).max(PORTION);
        let with_registers = REGISTERS / own / SCHEDULERS * SCHEDULERS;
        // In units of 128 bytes where blocks reserve some (from sm_80 on), of 256 before.
        let portion = if self.reserved == 0 { 256 } else { 128 };
        let bytes = (shared + u64::from(self.reserved)).next_multiple_of(portion);
        let room = u64::from(self.shared_kib) << 10;
        let limits = [
            ("warps", u64::from(self.warps) / warps),
            ("registers", with_registers / warps),
            ("shared memory", room.checked_div(bytes).unwrap_or(u64::MAX)),
            ("blocks", u64::from(self.blocks)),
        ];
        let (limit, blocks) = limits.into_iter().min_by_key(|(_, n)| *n).unwrap_or(("", 0));
        Occupancy { blocks, warps: blocks * warps, of: self.warps.into(), limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occupancy_is_that_of_nvidias_calculator() {
        let gpu = Gpu::named("sm_90").unwrap();
        let of = |threads, registers, shared| {
            let found = gpu.occupancy(threads, registers, shared);
            (found.blocks, found.warps, found.limit)
        };
        assert_eq!(of(256, 32, 0), (8, 64, "warps"));
        assert_eq!(of(256, 64, 0), (4, 32, "registers"));
        assert_eq!(of(128, 32, 48 << 10), (4, 16, "shared memory"));
        assert_eq!(of(32, 16, 0), (32, 32, "blocks"));
        assert_eq!(of(1024, 255, 0).0, 0);
        let old = Gpu::named("sm_70").unwrap().occupancy(32, 16, 3200);
        assert_eq!((old.blocks, old.limit), (29, "shared memory"), "3,200 bytes take 3,328");
        assert_eq!(Gpu::named("h200").map(|gpu| gpu.bandwidth), Some(4800));
        assert!(Gpu::named("sm_10").is_none());
    }
}
