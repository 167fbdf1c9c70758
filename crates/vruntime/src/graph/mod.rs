//! Graphs: built from nodes or captured, queried, instantiated, updated, launched.
//!
//! Owns the forms by major; a graph, its nodes and its executable form are the driver's own handles. The submodules
//! convert the nodes' parameters. Must not know: stream capture.

pub mod kernel;
pub mod nodes;
pub mod symbol;
#[cfg(test)]
mod tests;

use cushim_abi::types::*;

use super::context;
use super::copy::{either, twins};
use super::forward::{done, forwards, functions, pass};
use cushim_vbase::api;

forwards! {
    cudaGraphCreate (pGraph: Out<Graph>, flags: Flags) = cuGraphCreate(pGraph, flags);
    cudaGraphDestroy (graph: Graph) = cuGraphDestroy(graph);
    cudaGraphClone (pGraphClone: Out<Graph>, originalGraph: Graph) = cuGraphClone(pGraphClone, originalGraph);
    cudaGraphDestroyNode (node: Node) = cuGraphDestroyNode(node);
    cudaGraphDebugDotPrint (graph: Graph, path: Str, flags: Flags) = cuGraphDebugDotPrint(graph, path, flags);
    cudaGraphGetId (hGraph: Graph, graphID: Out<u32>) = cuGraphGetId(hGraph, graphID);
    cudaGraphGetNodes (graph: Graph, nodes: Ptr, numNodes: Out<usize>) = cuGraphGetNodes(graph, nodes, numNodes);
    cudaGraphGetRootNodes (graph: Graph, pRootNodes: Ptr, pNumRootNodes: Out<usize>) = cuGraphGetRootNodes(graph, pRootNodes, pNumRootNodes);
    cudaGraphGetEdges_12 (graph: Graph, from: Ptr, to: Ptr, numEdges: Out<usize>) = cuGraphGetEdges(graph, from, to, numEdges);
    cudaGraphGetEdges (graph: Graph, from: Ptr, to: Ptr, edgeData: Ptr, numEdges: Out<usize>) = cuGraphGetEdges_v2(graph, from, to, edgeData, numEdges);
    cudaGraphGetEdges_v2 (graph: Graph, from: Ptr, to: Ptr, edgeData: Ptr, numEdges: Out<usize>) = cuGraphGetEdges_v2(graph, from, to, edgeData, numEdges);
    cudaGraphAddDependencies_12 (graph: Graph, from: Ptr, to: Ptr, numDependencies: usize) = cuGraphAddDependencies(graph, from, to, numDependencies);
    cudaGraphAddDependencies (graph: Graph, from: Ptr, to: Ptr, edgeData: Ptr, numDependencies: usize) = cuGraphAddDependencies_v2(graph, from, to, edgeData, numDependencies);
    cudaGraphAddDependencies_v2 (graph: Graph, from: Ptr, to: Ptr, edgeData: Ptr, numDependencies: usize) = cuGraphAddDependencies_v2(graph, from, to, edgeData, numDependencies);
    cudaGraphRemoveDependencies_12 (graph: Graph, from: Ptr, to: Ptr, numDependencies: usize) = cuGraphRemoveDependencies(graph, from, to, numDependencies);
    cudaGraphRemoveDependencies (graph: Graph, from: Ptr, to: Ptr, edgeData: Ptr, numDependencies: usize) = cuGraphRemoveDependencies_v2(graph, from, to, edgeData, numDependencies);
    cudaGraphRemoveDependencies_v2 (graph: Graph, from: Ptr, to: Ptr, edgeData: Ptr, numDependencies: usize) = cuGraphRemoveDependencies_v2(graph, from, to, edgeData, numDependencies);
    cudaGraphNodeGetDependencies_12 (node: Node, pDependencies: Ptr, pNumDependencies: Out<usize>) = cuGraphNodeGetDependencies(node, pDependencies, pNumDependencies);
    cudaGraphNodeGetDependencies (node: Node, pDependencies: Ptr, edgeData: Ptr, pNumDependencies: Out<usize>) = cuGraphNodeGetDependencies_v2(node, pDependencies, edgeData, pNumDependencies);
    cudaGraphNodeGetDependencies_v2 (node: Node, pDependencies: Ptr, edgeData: Ptr, pNumDependencies: Out<usize>) = cuGraphNodeGetDependencies_v2(node, pDependencies, edgeData, pNumDependencies);
    cudaGraphNodeGetDependentNodes_12 (node: Node, pDependentNodes: Ptr, pNumDependentNodes: Out<usize>) = cuGraphNodeGetDependentNodes(node, pDependentNodes, pNumDependentNodes);
    cudaGraphNodeGetDependentNodes (node: Node, pDependentNodes: Ptr, edgeData: Ptr, pNumDependentNodes: Out<usize>) = cuGraphNodeGetDependentNodes_v2(node, pDependentNodes, edgeData, pNumDependentNodes);
    cudaGraphNodeGetDependentNodes_v2 (node: Node, pDependentNodes: Ptr, edgeData: Ptr, pNumDependentNodes: Out<usize>) = cuGraphNodeGetDependentNodes_v2(node, pDependentNodes, edgeData, pNumDependentNodes);
    cudaGraphNodeFindInClone (pNode: Out<Node>, originalNode: Node, clonedGraph: Graph) = cuGraphNodeFindInClone(pNode, originalNode, clonedGraph);
    cudaGraphNodeGetContainingGraph (hNode: Node, phGraph: Out<Graph>) = cuGraphNodeGetContainingGraph(hNode, phGraph);
    cudaGraphNodeGetEnabled (hGraphExec: GraphExec, hNode: Node, isEnabled: Out<u32>) = cuGraphNodeGetEnabled(hGraphExec, hNode, isEnabled);
    cudaGraphNodeSetEnabled (hGraphExec: GraphExec, hNode: Node, isEnabled: u32) = cuGraphNodeSetEnabled(hGraphExec, hNode, isEnabled);
    cudaGraphNodeGetLocalId (hNode: Node, nodeId: Out<u32>) = cuGraphNodeGetLocalId(hNode, nodeId);
    cudaGraphNodeGetToolsId (hNode: Node, toolsNodeId: Out<u64>) = cuGraphNodeGetToolsId(hNode, toolsNodeId);
    cudaGraphNodeGetType (node: Node, pType: Out<i32>) = cuGraphNodeGetType(node, pType);

    cudaGraphInstantiate (pGraphExec: Out<GraphExec>, graph: Graph, pErrorNode: Ptr, pLogBuffer: Ptr, bufferSize: usize) = cuGraphInstantiate_v2(pGraphExec, graph, pErrorNode, pLogBuffer, bufferSize);
    cudaGraphInstantiate_12 (pGraphExec: Out<GraphExec>, graph: Graph, flags: Flags64) = cuGraphInstantiateWithFlags(pGraphExec, graph, flags);
    cudaGraphInstantiateWithFlags (pGraphExec: Out<GraphExec>, graph: Graph, flags: Flags64) = cuGraphInstantiateWithFlags(pGraphExec, graph, flags);
    cudaGraphExecUpdate (hGraphExec: GraphExec, hGraph: Graph, hErrorNode_out: Ptr, updateResult_out: Ptr) = cuGraphExecUpdate(hGraphExec, hGraph, hErrorNode_out, updateResult_out);
    cudaGraphExecUpdate_12 (hGraphExec: GraphExec, hGraph: Graph, resultInfo: Ptr) = cuGraphExecUpdate_v2(hGraphExec, hGraph, resultInfo);
    cudaGraphExecDestroy (graphExec: GraphExec) = cuGraphExecDestroy(graphExec);
    cudaGraphExecGetFlags (graphExec: GraphExec, flags: Out<u64>) = cuGraphExecGetFlags(graphExec, flags);
    cudaGraphExecGetId (hGraphExec: GraphExec, graphID: Out<u32>) = cuGraphExecGetId(hGraphExec, graphID);
    cudaGraphUpload / cudaGraphUpload_ptsz (graphExec: GraphExec, stream: Stream) = cuGraphUpload(graphExec, stream);
    cudaGraphLaunch / cudaGraphLaunch_ptsz (graphExec: GraphExec, stream: Stream) = cuGraphLaunch(graphExec, stream);

    cudaUserObjectCreate (object_out: Out<Ptr>, ptr: Ptr, destroy: Ptr, initialRefcount: u32, flags: Flags) = cuUserObjectCreate(object_out, ptr, destroy, initialRefcount, flags);
    cudaUserObjectRelease (object: Ptr, count: u32) = cuUserObjectRelease(object, count);
    cudaUserObjectRetain (object: Ptr, count: u32) = cuUserObjectRetain(object, count);
    cudaGraphReleaseUserObject (graph: Graph, object: Ptr, count: u32) = cuGraphReleaseUserObject(graph, object, count);
    cudaGraphRetainUserObject (graph: Graph, object: Ptr, count: u32, flags: Flags) = cuGraphRetainUserObject(graph, object, count, flags);
    cudaDeviceGetGraphMemAttribute (device: Device, attr: i32, value: Ptr) = cuDeviceGetGraphMemAttribute(device, attr, value);
    cudaDeviceSetGraphMemAttribute (device: Device, attr: i32, value: Ptr) = cuDeviceSetGraphMemAttribute(device, attr, value);
    cudaDeviceGraphMemTrim (device: Device) = cuDeviceGraphMemTrim(device);
}

twins! {
    cudaGraphInstantiateWithParams / cudaGraphInstantiateWithParams_ptsz (pGraphExec: Out<GraphExec>, graph: Graph, instantiateParams: Ptr) |per_thread| {
        context::with(|| {
            // SAFETY: the program's arguments; the structure is the same in both APIs.
            unsafe { either!(per_thread, cuGraphInstantiateWithParams / cuGraphInstantiateWithParams_ptsz(pGraphExec, graph, instantiateParams)) }
        })
    }
}

functions! {
    cudaGraphConditionalHandleCreate_v2 (pHandle_out: Out<u64>, graph: Graph, ctx: Ptr, defaultLaunchValue: u32, flags: Flags) {
        let named = match ctx.0 {
            0 => context::current_context(),
            named => Ok(Context(named)),
        };
        done(named.and_then(|named| {
            context::attempt(|| {
                // SAFETY: the program's arguments, and a context of this driver.
                unsafe { api::cuGraphConditionalHandleCreate(pHandle_out, graph, named, defaultLaunchValue, flags) }
            })
        }))
    }

    cudaGraphConditionalHandleCreate (pHandle_out: Out<u64>, graph: Graph, defaultLaunchValue: u32, flags: Flags) {
        done(context::current_context().and_then(|current| {
            context::attempt(|| {
                // SAFETY: the program's arguments, and a context of this driver.
                unsafe { api::cuGraphConditionalHandleCreate(pHandle_out, graph, current, defaultLaunchValue, flags) }
            })
        }))
    }
}
