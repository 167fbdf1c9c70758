//! Special registers (PTX ISA 9, chapter "Special Registers").
//!
//! Owns the list of them and their names in PTX. The engine defines their values.

/// Special registers (ISA chapter "Special Registers").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NWarpId,
    SmId,
    NSmId,
    GridId,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    ClockHi,
    Clock64,
    GlobalTimer,
    GlobalTimerLo,
    GlobalTimerHi,
    EnvReg(u8),
    DynamicSharedSize,
    TotalSharedSize,
    /// The cluster's index in the grid, by axis.
    ClusterId(u8),
    /// Clusters of the grid, by axis.
    NClusterId(u8),
    /// The block's index in its cluster, by axis.
    ClusterCtaid(u8),
    /// Blocks of a cluster, by axis.
    ClusterNctaid(u8),
    /// The block's number in its cluster, x running fastest.
    ClusterCtarank,
    /// Blocks of a cluster.
    ClusterNctarank,
    /// A predicate: the launch or the kernel named a size of clusters.
    ExplicitCluster,
    /// The device graph that the kernel is a node of, 0 where it is none (`cudaGetCurrentGraphExec`).
    CurrentGraph,
    /// A register that is zero here (performance counters).
    Zero,
}

impl Special {
    /// The special register `name` (with `%`) and its component.
    pub fn from_name(name: &str, member: Option<&str>) -> Option<Special> {
        let axis = match member {
            None => None,
            Some("x") => Some(0u8),
            Some("y") => Some(1),
            Some("z") => Some(2),
            Some("w") => Some(3),
            Some(_) => return None,
        };
        let name = name.strip_prefix('%')?;
        if let Some(axis) = axis {
            return Some(match name {
                "tid" => Special::Tid(axis),
                "ntid" => Special::Ntid(axis),
                "ctaid" => Special::Ctaid(axis),
                "nctaid" => Special::Nctaid(axis),
                "clusterid" => Special::ClusterId(axis),
                "nclusterid" => Special::NClusterId(axis),
                "cluster_ctaid" => Special::ClusterCtaid(axis),
                "cluster_nctaid" => Special::ClusterNctaid(axis),
                _ => return None,
            });
        }
        let number = |prefix: &str| name.strip_prefix(prefix)?.parse::<u8>().ok();
        if let Some(n) = number("envreg") {
            return (n < 32).then_some(Special::EnvReg(n));
        }
        if name.starts_with("pm") && name[2..].trim_end_matches("_64").parse::<u8>().is_ok() {
            return Some(Special::Zero);
        }
        Some(match name {
            "laneid" => Special::LaneId,
            "warpid" => Special::WarpId,
            "nwarpid" => Special::NWarpId,
            "smid" => Special::SmId,
            "nsmid" => Special::NSmId,
            "gridid" => Special::GridId,
            "lanemask_eq" => Special::LanemaskEq,
            "lanemask_le" => Special::LanemaskLe,
            "lanemask_lt" => Special::LanemaskLt,
            "lanemask_ge" => Special::LanemaskGe,
            "lanemask_gt" => Special::LanemaskGt,
            "clock" => Special::Clock,
            "clock_hi" => Special::ClockHi,
            "clock64" => Special::Clock64,
            "globaltimer" => Special::GlobalTimer,
            "globaltimer_lo" => Special::GlobalTimerLo,
            "globaltimer_hi" => Special::GlobalTimerHi,
            "dynamic_smem_size" => Special::DynamicSharedSize,
            "total_smem_size" | "aggr_smem_size" => Special::TotalSharedSize,
            "is_explicit_cluster" => Special::ExplicitCluster,
            "cluster_ctarank" => Special::ClusterCtarank,
            "cluster_nctarank" => Special::ClusterNctarank,
            "reserved_smem_offset_begin"
            | "reserved_smem_offset_end"
            | "reserved_smem_offset_cap"
            | "reserved_smem_offset_0"
            | "reserved_smem_offset_1" => Special::Zero,
            "current_graph_exec" => Special::CurrentGraph,
            _ => return None,
        })
    }
}
