//! Nodes with batches of operations on values in memory.
//!
//! A host thread executes all operations of a batch, in order. Source: CUDA Driver API, `cuGraphAddBatchMemOpNode`.
//! Must not know: what an operation does ([`crate::stream::operation`]).

use cushim_abi::types::*;

use super::build::add;
use super::params::{batch, replace};
use super::{Payload, graph, node};
use crate::argument::{At, In};
use crate::entry::entry;
use crate::state::give;
use crate::status;
use cushim_accel::locks::lock;

entry! {
    fn cuGraphAddBatchMemOpNode (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, nodeParams: In<[u64; 4]>) {
        let graph = graph(hGraph)?;
        // SAFETY: as many handles as the call says, as many operations as the parameters say.
        unsafe { add(phGraphNode, &graph, (dependencies, numDependencies), || batch(nodeParams)) }
    }

    fn cuGraphBatchMemOpNodeGetParams (hNode: Node, nodeParams_out: At<[u64; 4]>) {
        let (node, _) = node(hNode)?;
        match &*lock(&node.payload) {
            Payload::Batch(batch) => give(nodeParams_out, batch.parameters()),
            _ => Err(status::INVALID_VALUE),
        }
    }

    fn cuGraphBatchMemOpNodeSetParams (hNode: Node, nodeParams: In<[u64; 4]>) {
        let (node, _) = node(hNode)?;
        // SAFETY: as many operations as the parameters say.
        let made = unsafe { batch(nodeParams)? };
        replace(&mut lock(&node.payload), made)
    }

    fn cuGraphExecBatchMemOpNodeSetParams (hGraphExec: GraphExec, hNode: Node, nodeParams: In<[u64; 4]>) {
        let exec = super::exec::exec(hGraphExec)?;
        // SAFETY: as many operations as the parameters say.
        exec.replace(hNode, unsafe { batch(nodeParams)? })
    }
}
