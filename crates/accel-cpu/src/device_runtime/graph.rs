//! Graphs that kernels launch, and nodes that they change.
//!
//! Owns the layout of these calls' arguments (`cudaGraphKernelNodeUpdate`, driver_types.h). The driver defines what a
//! graph is and when it runs. Must not know: how graphs are created.

use cushim_accel::{NodeChange, NodeField};
use cushim_ptx::exec::{Caller, RuntimeCall};

use super::{Runtime, error};

/// Bytes of a `cudaGraphKernelNodeUpdate`: node, field, then the field's value.
const UPDATE: u64 = 40;
/// The most updates of one call: cushim's bound, so that an absurd number takes no memory.
const MOST_UPDATES: u64 = 1 << 16;
/// Bytes of all parameters of a kernel, at most (CUDA 12.1 and later).
const MOST_BYTES: u64 = 32_764;
/// `cudaGraphKernelNodeFieldGridDim`, `…Param`, `…Enabled`.
const GRID: u32 = 1;
const PARAMETER: u32 = 2;
const ENABLED: u32 = 3;

impl Runtime {
    pub(super) fn graph_call(&self, call: RuntimeCall, caller: &dyn Caller) -> Result<(), i32> {
        use RuntimeCall as Call;
        let arg = |n: usize| caller.argument(n);
        let field = match call {
            Call::GraphLaunch => {
                // Only a kernel that is part of a graph's run can launch a graph.
                let run = self.dispatch.graph.as_ref().ok_or(error::INVALID_VALUE)?;
                return run.launch(arg(0), arg(1));
            }
            Call::NodeUpdates => return self.update(&updates(caller, arg(0), arg(1))?),
            Call::NodeEnabled => NodeField::Enabled(arg(1) & 0xff != 0),
            Call::NodeGrid => {
                NodeField::Grid([arg(1) as u32, (arg(1) >> 32) as u32, arg(2) as u32])
            }
            _ => parameter(caller, arg(2), arg(1), arg(3))?,
        };
        self.update(&[NodeChange { node: arg(0), field }])
    }

    fn update(&self, changes: &[NodeChange]) -> Result<(), i32> {
        let answers = self.answers.get().ok_or(error::NOT_SUPPORTED)?;
        answers.update_nodes(changes)
    }
}

/// Bytes of parameters, read from the kernel's memory.
fn parameter(caller: &dyn Caller, from: u64, offset: u64, size: u64) -> Result<NodeField, i32> {
    if size > MOST_BYTES {
        return Err(error::INVALID_VALUE);
    }
    let mut bytes = vec![0; size as usize];
    if !caller.read(from, &mut bytes) {
        return Err(error::INVALID_VALUE);
    }
    Ok(NodeField::Parameter(offset, bytes.into()))
}

fn updates(caller: &dyn Caller, from: u64, count: u64) -> Result<Vec<NodeChange>, i32> {
    if count > MOST_UPDATES {
        return Err(error::INVALID_VALUE);
    }
    (0..count).map(|n| one(caller, from.wrapping_add(n * UPDATE))).collect()
}

fn one(caller: &dyn Caller, at: u64) -> Result<NodeChange, i32> {
    let word = |offset: u64| {
        let mut bytes = [0; 8];
        let there = caller.read(at.wrapping_add(offset), &mut bytes);
        there.then(|| u64::from_le_bytes(bytes)).ok_or(error::INVALID_VALUE)
    };
    let (node, kind, first, second) = (word(0)?, word(8)? as u32, word(16)?, word(24)?);
    let field = match kind {
        GRID => NodeField::Grid([first as u32, (first >> 32) as u32, second as u32]),
        PARAMETER => parameter(caller, first, second, word(32)?)?,
        ENABLED => NodeField::Enabled(first as u32 != 0),
        _ => return Err(error::INVALID_VALUE),
    };
    Ok(NodeChange { node, field })
}
