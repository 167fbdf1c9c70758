//! Nodes that copy to and from variables of device code.
//!
//! Must not know: how variables are found.

use cushim_abi::types::*;

use super::nodes::{add, linear, set, set_exec};
use crate::copy::symbol::{destination, source};
use crate::forward::{done, functions};
use crate::layout::DriverMemcpy3D;

fn to(
    symbol: Ptr,
    src: Ptr,
    count: usize,
    offset: usize,
    kind: CopyKind,
) -> Result<DriverMemcpy3D, Status> {
    linear(destination(symbol, offset, count, kind)?, src, count, kind)
}

fn from(
    dst: Ptr,
    symbol: Ptr,
    count: usize,
    offset: usize,
    kind: CopyKind,
) -> Result<DriverMemcpy3D, Status> {
    linear(dst, source(symbol, offset, count, kind)?, count, kind)
}

functions! {
    cudaGraphAddMemcpyNodeToSymbol (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: CopyKind) {
        done(to(symbol, src, count, offset, kind).and_then(|copy| add(pGraphNode, graph, pDependencies, numDependencies, &copy)))
    }

    cudaGraphAddMemcpyNodeFromSymbol (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: CopyKind) {
        done(from(dst, symbol, count, offset, kind).and_then(|copy| add(pGraphNode, graph, pDependencies, numDependencies, &copy)))
    }

    cudaGraphMemcpyNodeSetParamsToSymbol (node: Node, symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: CopyKind) {
        done(to(symbol, src, count, offset, kind).and_then(|copy| set(node, &copy)))
    }

    cudaGraphMemcpyNodeSetParamsFromSymbol (node: Node, dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: CopyKind) {
        done(from(dst, symbol, count, offset, kind).and_then(|copy| set(node, &copy)))
    }

    cudaGraphExecMemcpyNodeSetParamsToSymbol (hGraphExec: GraphExec, node: Node, symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: CopyKind) {
        done(to(symbol, src, count, offset, kind).and_then(|copy| set_exec(hGraphExec, node, &copy)))
    }

    cudaGraphExecMemcpyNodeSetParamsFromSymbol (hGraphExec: GraphExec, node: Node, dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: CopyKind) {
        done(from(dst, symbol, count, offset, kind).and_then(|copy| set_exec(hGraphExec, node, &copy)))
    }
}
