//! A launch.
//!
//! Owns what findings and the order of launches need to know of one. Must not know what is checked.

use std::sync::Arc;

use cushim_accel::Trail;
use cushim_ptx::exec::Fault;
use cushim_ptx::ir::Module;
use cushim_ptx::types::Space;

use super::finding::Near;
use super::variable::{Variable, near};

/// A kernel's launch.
pub struct Launched {
    /// The kernel's module, and its number there.
    pub module: Arc<Module>,
    /// The kernel's number in it.
    pub kernel: u32,
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Shared memory that the launch asked for, in bytes.
    pub dynamic_shared: u32,
    /// Blocks of a cluster.
    pub cluster: u64,
    /// Where the program launched it.
    pub trail: Option<Trail>,
    /// Its stream, and the count of operations that ordered streams before it, if known.
    pub stream: Option<(u64, u64)>,
}

impl Launched {
    /// Whether nothing orders it and another launch.
    pub(super) fn is_beside(&self, other: &Launched) -> bool {
        match (self.stream, other.stream) {
            (Some((own, ordered)), Some((stream, then))) => own != stream && ordered == then,
            _ => false,
        }
    }

    /// The variable of the block's or the thread's own memory that an access where `fault` is belongs to.
    pub(super) fn near(&self, fault: &Fault, space: Space, access: (u64, u64)) -> Option<Near> {
        let of = fault.variable_at(&self.module, self.dynamic_shared, space, access)?;
        let variable = Some(Variable::own(&of, access.0));
        Some(Near { text: near(&of, access), trails: Vec::new(), variable })
    }

    /// The thread of a lane in its block.
    pub(super) fn thread(&self, warp: u32, lane: usize) -> [u32; 3] {
        let [x, y, _] = self.block.map(|side| side.max(1));
        let t = warp * 32 + lane as u32;
        [t % x, t / x % y, t / x / y]
    }
}
