//! Nodes by kind: added, queried, changed in a graph and in its executable form.
//!
//! Owns the conversion of copy parameters; fills, host functions, events, allocations and semaphores have the same
//! layout in both APIs. Must not know: kernels.

use cushim_abi::types::*;

use crate::context;
use crate::copy::Direction;
use crate::copy::planes::{from_driver, read, to_driver};
use crate::error::code;
use crate::forward::{address, address_mut, done, forwards, functions, pass, put};
use crate::layout::{DriverMemcpy3D, Memcpy3DParms, Side3D, memory};
use cushim_vbase::api;

forwards! {
    cudaGraphAddHostNode (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, pNodeParams: Ptr) = cuGraphAddHostNode(pGraphNode, graph, pDependencies, numDependencies, pNodeParams);
    cudaGraphHostNodeGetParams (node: Node, pNodeParams: Ptr) = cuGraphHostNodeGetParams(node, pNodeParams);
    cudaGraphHostNodeSetParams (node: Node, pNodeParams: Ptr) = cuGraphHostNodeSetParams(node, pNodeParams);
    cudaGraphExecHostNodeSetParams (hGraphExec: GraphExec, node: Node, pNodeParams: Ptr) = cuGraphExecHostNodeSetParams(hGraphExec, node, pNodeParams);

    cudaGraphAddChildGraphNode (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, childGraph: Graph) = cuGraphAddChildGraphNode(pGraphNode, graph, pDependencies, numDependencies, childGraph);
    cudaGraphChildGraphNodeGetGraph (node: Node, pGraph: Out<Graph>) = cuGraphChildGraphNodeGetGraph(node, pGraph);
    cudaGraphExecChildGraphNodeSetParams (hGraphExec: GraphExec, node: Node, childGraph: Graph) = cuGraphExecChildGraphNodeSetParams(hGraphExec, node, childGraph);
    cudaGraphAddEmptyNode (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize) = cuGraphAddEmptyNode(pGraphNode, graph, pDependencies, numDependencies);

    cudaGraphAddEventRecordNode (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, event: Event) = cuGraphAddEventRecordNode(pGraphNode, graph, pDependencies, numDependencies, event);
    cudaGraphAddEventWaitNode (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, event: Event) = cuGraphAddEventWaitNode(pGraphNode, graph, pDependencies, numDependencies, event);
    cudaGraphEventRecordNodeGetEvent (node: Node, event_out: Out<Event>) = cuGraphEventRecordNodeGetEvent(node, event_out);
    cudaGraphEventWaitNodeGetEvent (node: Node, event_out: Out<Event>) = cuGraphEventWaitNodeGetEvent(node, event_out);
    cudaGraphEventRecordNodeSetEvent (node: Node, event: Event) = cuGraphEventRecordNodeSetEvent(node, event);
    cudaGraphEventWaitNodeSetEvent (node: Node, event: Event) = cuGraphEventWaitNodeSetEvent(node, event);
    cudaGraphExecEventRecordNodeSetEvent (hGraphExec: GraphExec, hNode: Node, event: Event) = cuGraphExecEventRecordNodeSetEvent(hGraphExec, hNode, event);
    cudaGraphExecEventWaitNodeSetEvent (hGraphExec: GraphExec, hNode: Node, event: Event) = cuGraphExecEventWaitNodeSetEvent(hGraphExec, hNode, event);

    cudaGraphAddMemAllocNode (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, nodeParams: Ptr) = cuGraphAddMemAllocNode(pGraphNode, graph, pDependencies, numDependencies, nodeParams);
    cudaGraphMemAllocNodeGetParams (node: Node, params_out: Ptr) = cuGraphMemAllocNodeGetParams(node, params_out);
    cudaGraphAddMemFreeNode (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, dptr: Ptr) = cuGraphAddMemFreeNode(pGraphNode, graph, pDependencies, numDependencies, dptr);
    cudaGraphMemFreeNodeGetParams (node: Node, dptr_out: Ptr) = cuGraphMemFreeNodeGetParams(node, Out(std::ptr::with_exposed_provenance_mut(dptr_out.0)));

    cudaGraphAddExternalSemaphoresSignalNode (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, nodeParams: Ptr) = cuGraphAddExternalSemaphoresSignalNode(pGraphNode, graph, pDependencies, numDependencies, nodeParams);
    cudaGraphAddExternalSemaphoresWaitNode (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, nodeParams: Ptr) = cuGraphAddExternalSemaphoresWaitNode(pGraphNode, graph, pDependencies, numDependencies, nodeParams);
    cudaGraphExternalSemaphoresSignalNodeGetParams (hNode: Node, params_out: Ptr) = cuGraphExternalSemaphoresSignalNodeGetParams(hNode, params_out);
    cudaGraphExternalSemaphoresWaitNodeGetParams (hNode: Node, params_out: Ptr) = cuGraphExternalSemaphoresWaitNodeGetParams(hNode, params_out);
    cudaGraphExternalSemaphoresSignalNodeSetParams (hNode: Node, nodeParams: Ptr) = cuGraphExternalSemaphoresSignalNodeSetParams(hNode, nodeParams);
    cudaGraphExternalSemaphoresWaitNodeSetParams (hNode: Node, nodeParams: Ptr) = cuGraphExternalSemaphoresWaitNodeSetParams(hNode, nodeParams);
    cudaGraphExecExternalSemaphoresSignalNodeSetParams (hGraphExec: GraphExec, hNode: Node, nodeParams: Ptr) = cuGraphExecExternalSemaphoresSignalNodeSetParams(hGraphExec, hNode, nodeParams);
    cudaGraphExecExternalSemaphoresWaitNodeSetParams (hGraphExec: GraphExec, hNode: Node, nodeParams: Ptr) = cuGraphExecExternalSemaphoresWaitNodeSetParams(hGraphExec, hNode, nodeParams);

    cudaGraphMemsetNodeGetParams (node: Node, pNodeParams: Ptr) = cuGraphMemsetNodeGetParams(node, pNodeParams);
    cudaGraphMemsetNodeSetParams (node: Node, pNodeParams: Ptr) = cuGraphMemsetNodeSetParams(node, pNodeParams);

    cudaGraphKernelNodeCopyAttributes (hDst: Node, hSrc: Node) = cuGraphKernelNodeCopyAttributes(hDst, hSrc);
    cudaGraphKernelNodeGetAttribute (hNode: Node, attr: i32, value_out: Ptr) = cuGraphKernelNodeGetAttribute(hNode, attr, value_out);
    cudaGraphKernelNodeSetAttribute (hNode: Node, attr: i32, value: Ptr) = cuGraphKernelNodeSetAttribute(hNode, attr, value);
}

functions! {
    cudaGraphAddMemsetNode (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, pMemsetParams: Ptr) {
        done(context::current_context().and_then(|current| {
            context::attempt(|| {
                // SAFETY: the program's arguments, and a context of this driver.
                unsafe { api::cuGraphAddMemsetNode(pGraphNode, graph, pDependencies, numDependencies, pMemsetParams, current) }
            })
        }))
    }

    cudaGraphExecMemsetNodeSetParams (hGraphExec: GraphExec, node: Node, pNodeParams: Ptr) {
        done(context::current_context().and_then(|current| {
            context::attempt(|| {
                // SAFETY: the program's arguments, and the context that is current.
                unsafe { api::cuGraphExecMemsetNodeSetParams(hGraphExec, node, pNodeParams, current) }
            })
        }))
    }

    cudaGraphAddMemcpyNode (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, pCopyParams: Ptr) {
        // SAFETY: a cudaMemcpy3DParms.
        done(unsafe { boxed(pCopyParams) }.and_then(|copy| {
            add(pGraphNode, graph, pDependencies, numDependencies, &copy)
        }))
    }

    cudaGraphAddMemcpyNode1D (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, dst: Ptr, src: Ptr, count: usize, kind: CopyKind) {
        done(linear(dst, src, count, kind).and_then(|copy| {
            add(pGraphNode, graph, pDependencies, numDependencies, &copy)
        }))
    }

    cudaGraphMemcpyNodeGetParams (node: Node, pNodeParams: Ptr) {
        if pNodeParams.0 == 0 {
            return done(Err(code::INVALID_VALUE));
        }
        let mut copy = DriverMemcpy3D::default();
        let at = address_mut(&mut copy);
        // SAFETY: room for the driver's structure.
        done(context::attempt(|| unsafe { api::cuGraphMemcpyNodeGetParams(node, at) }).and_then(|()| {
            let parms = from_driver(&copy)?;
            // SAFETY: the program's place for a cudaMemcpy3DParms.
            unsafe { put(pNodeParams, parms) };
            Ok(())
        }))
    }

    cudaGraphMemcpyNodeSetParams (node: Node, pNodeParams: Ptr) {
        // SAFETY: a cudaMemcpy3DParms.
        done(unsafe { boxed(pNodeParams) }.and_then(|copy| set(node, &copy)))
    }

    cudaGraphMemcpyNodeSetParams1D (node: Node, dst: Ptr, src: Ptr, count: usize, kind: CopyKind) {
        done(linear(dst, src, count, kind).and_then(|copy| set(node, &copy)))
    }

    cudaGraphExecMemcpyNodeSetParams (hGraphExec: GraphExec, node: Node, pNodeParams: Ptr) {
        // SAFETY: a cudaMemcpy3DParms.
        done(unsafe { boxed(pNodeParams) }.and_then(|copy| set_exec(hGraphExec, node, &copy)))
    }

    cudaGraphExecMemcpyNodeSetParams1D (hGraphExec: GraphExec, node: Node, dst: Ptr, src: Ptr, count: usize, kind: CopyKind) {
        done(linear(dst, src, count, kind).and_then(|copy| set_exec(hGraphExec, node, &copy)))
    }
}

/// A 3-D copy for a node.
///
/// # Safety
/// `from` is null or a cudaMemcpy3DParms.
///
/// # Errors
/// cudaErrorInvalidValue for null and for a copy of nothing, whatever its direction (measured); those of [`to_driver`].
unsafe fn boxed(from: Ptr) -> Result<DriverMemcpy3D, Status> {
    // SAFETY: null, which `read` refuses, or a cudaMemcpy3DParms by the caller's promise.
    let parms: Memcpy3DParms = unsafe { read(from) }?;
    let Extent { width, height, depth } = parms.extent;
    if [width, height, depth].contains(&0) { Err(code::INVALID_VALUE) } else { to_driver(&parms) }
}

/// A copy of bytes for a node.
///
/// # Errors
/// cudaErrorInvalidMemcpyDirection.
pub fn linear(dst: Ptr, src: Ptr, count: usize, kind: CopyKind) -> Result<DriverMemcpy3D, Status> {
    // A copy node without bytes is refused, whatever its direction (measured).
    if count == 0 {
        return Err(code::INVALID_VALUE);
    }
    let (from, to) = Direction::of(kind)?.memory();
    let side = |at: Ptr, kind: i32| {
        let (host, device) = if kind == memory::HOST { (at.0, 0) } else { (0, at.0) };
        Side3D { memory: kind, host, device, pitch: count, height: 1, ..Side3D::default() }
    };
    let (src, dst) = (side(src, from), side(dst, to));
    Ok(DriverMemcpy3D { src, dst, width: count, height: 1, depth: 1 })
}

/// Adds a copy.
///
/// # Errors
/// What the driver said.
pub fn add(
    node: Out<Node>,
    graph: Graph,
    dependencies: Ptr,
    count: usize,
    copy: &DriverMemcpy3D,
) -> Result<(), Status> {
    let current = context::current_context()?;
    context::attempt(|| {
        // SAFETY: the program's arguments, a structure of ours and a context of this driver.
        unsafe {
            api::cuGraphAddMemcpyNode(node, graph, dependencies, count, address(copy), current)
        }
    })
}

/// Changes a copy.
///
/// # Errors
/// What the driver said.
pub fn set(node: Node, copy: &DriverMemcpy3D) -> Result<(), Status> {
    // SAFETY: a structure of ours.
    context::attempt(|| unsafe { api::cuGraphMemcpyNodeSetParams(node, address(copy)) })
}

/// Changes a copy of an executable graph.
///
/// # Errors
/// What the driver said.
pub fn set_exec(exec: GraphExec, node: Node, copy: &DriverMemcpy3D) -> Result<(), Status> {
    let current = context::current_context()?;
    context::attempt(|| {
        // SAFETY: a structure of ours, and the context that is current.
        unsafe { api::cuGraphExecMemcpyNodeSetParams(exec, node, address(copy), current) }
    })
}
