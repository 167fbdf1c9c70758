//! Nodes with batches of operations on values in memory.
//!
//! All of a batch is done on a thread of the host, in order. Source: CUDA Driver API,
//! `cuGraphAddBatchMemOpNode`. Must not know: what an operation does ([`crate::stream::operation`]).

use cushim_abi::types::*;

use super::build::add;
use super::params::{batch, replace};
use super::{Payload, graph, node};
use crate::entry::entry;
use crate::state::{at, give};
use crate::status;
use cushim_accel::locks::lock;

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
