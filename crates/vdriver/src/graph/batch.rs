//! Nodes with batches of operations on values in memory.
//!
//! Owns their parameters. All of a batch is done on a thread of the host, in order. Source: CUDA Driver API,
//! `cuGraphAddBatchMemOpNode`. Must not know: what an operation does ([`crate::stream::value`]).

use std::sync::Arc;

use cushim_abi::types::*;

use super::build::add;
use super::params::replace;
use super::{Payload, graph, node};
use crate::context;
use crate::entry::entry;
use crate::state::{at, give, take};
use crate::status;
use crate::stream::value::{Operation, read};
use cushim_accel::locks::lock;

/// A batch.
pub struct Batch {
    /// As described: the program may be pointed to it.
    raw: Box<[[u64; 6]]>,
    /// As done.
    pub operations: Vec<Operation>,
    context: u64,
}

impl Batch {
    /// `CUDA_BATCH_MEM_OP_NODE_PARAMS`: context, count, operations, flags.
    pub fn parameters(&self) -> [u64; 4] {
        let place = self.raw.as_ptr().expose_provenance() as u64;
        [self.context, self.raw.len() as u64, place, 0]
    }
}

/// A batch by its parameters.
///
/// # Safety
/// `from` is null or a `CUDA_BATCH_MEM_OP_NODE_PARAMS`.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED for an operation that there is not.
pub unsafe fn batch(from: Ptr) -> Result<Payload, i32> {
    // SAFETY: the caller's.
    let [context, count, place, flags]: [u64; 4] = unsafe { take(from)? };
    context::of(context as usize)?;
    if flags as u32 != 0 {
        return Err(status::INVALID_VALUE);
    }
    // SAFETY: the caller's array has as many.
    let (raw, operations) = unsafe { read(count as u32, Ptr(place as usize))? };
    Ok(Payload::Batch(Arc::new(Batch { raw: raw.into(), operations, context })))
}

entry! {
    fn cuGraphAddBatchMemOpNode (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, nodeParams: Ptr) {
        let graph = graph(hGraph)?;
        add(phGraphNode, &graph, (dependencies, numDependencies), || batch(nodeParams))
    }

    fn cuGraphBatchMemOpNodeGetParams (hNode: Node, nodeParams_out: Ptr) {
        let (node, _) = node(hNode)?;
        match &*lock(&node.payload) {
            Payload::Batch(batch) => give(at(nodeParams_out), batch.parameters()),
            _ => Err(status::INVALID_VALUE),
        }
    }

    fn cuGraphBatchMemOpNodeSetParams (hNode: Node, nodeParams: Ptr) {
        let (node, _) = node(hNode)?;
        let made = batch(nodeParams)?;
        replace(&mut lock(&node.payload), made)
    }

    fn cuGraphExecBatchMemOpNodeSetParams (hGraphExec: GraphExec, hNode: Node, nodeParams: Ptr) {
        let exec = super::exec::exec(hGraphExec)?;
        exec.replace(hNode, batch(nodeParams)?)
    }
}
