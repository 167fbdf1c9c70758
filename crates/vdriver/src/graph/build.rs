//! The functions that create graphs and nodes, and read and change a node's parameters.
//!
//! Source: CUDA Driver API, "Graph Management". Must not know: kernels ([`super::kernel`]), shapes
//! ([`super::shape`]).

use std::sync::Arc;

use cushim_abi::types::{self as abi, *};

use super::params::{self, RawAlloc, replace};
use super::work::RawFill;
use super::{Graph as Object, Node as Part, Payload, graph, memory, node};
use crate::argument::{At, In, Place};
use crate::entry::entry;
use crate::handle::handle;
use crate::memory::ends::Shape;
use crate::state::{at, check, give, take, take_all};
use crate::status;
use cushim_accel::locks::lock;

/// Nodes of one graph by their handles.
///
/// # Safety
/// `from` has `count` handles.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE.
pub unsafe fn ids(graph: &Arc<Object>, from: Ptr, count: usize) -> Result<Vec<u32>, i32> {
    // SAFETY: there are `count` handles from there on, by the caller's promise; null is refused.
    let handles: Vec<usize> = unsafe { take_all(from, count)? };
    let id = |handle: usize| {
        let (node, of) = node(Node(handle))?;
        if Arc::ptr_eq(&of, graph) { Ok(node.id) } else { Err(status::INVALID_VALUE) }
    };
    handles.into_iter().map(id).collect()
}

/// Adds a node and gives out its handle.
///
/// # Safety
/// As [`ids`]; `to` is null or has room.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE, and those of `payload`.
pub unsafe fn add(
    to: Place<Node>,
    graph: &Arc<Object>,
    (dependencies, count): (Ptr, usize),
    payload: impl FnOnce() -> Result<Payload, i32>,
) -> Result<(), i32> {
    if to.is_null() {
        return Err(status::INVALID_VALUE);
    }
    // SAFETY: the list has `count` handles and `to` is null or has room, by the caller's promise.
    unsafe {
        let after = ids(graph, dependencies, count)?;
        let payload = payload()?;
        let child = if let Payload::Child(child) = &payload { Some(child.clone()) } else { None };
        let node = graph.add(payload, &after)?;
        if let Some(child) = child {
            child.own();
        }
        give(to, Node(handle(&node)))
    }
}

fn with<R>(hnode: Node, read: impl FnOnce(&Payload) -> Option<R>) -> Result<R, i32> {
    let (node, _) = node(hnode)?;
    let payload = lock(&node.payload);
    read(&payload).ok_or(status::INVALID_VALUE)
}

fn set(hnode: Node, made: Payload) -> Result<(), i32> {
    let (node, _) = node(hnode)?;
    let mut payload = lock(&node.payload);
    // A graph cannot contain itself; nodes that allocate memory or are conditional cannot be
    // changed.
    if matches!(
        *payload,
        Payload::Child(_) | Payload::Alloc(_) | Payload::Free(_) | Payload::Condition(_)
    ) {
        return Err(status::INVALID_VALUE);
    }
    replace(&mut payload, made)
}

/// Checks that edge data means plain dependencies: no others are supported.
///
/// # Safety
/// `from` is null or has `count` `CUgraphEdgeData`.
///
/// # Errors
/// CUDA_ERROR_NOT_SUPPORTED for an edge of another kind, CUDA_ERROR_INVALID_VALUE for invalid data.
pub unsafe fn plain(from: Ptr, count: usize) -> Result<(), i32> {
    if from.0 == 0 {
        return Ok(());
    }
    // SAFETY: not null, hence `count` CUgraphEdgeData of eight bytes by the caller's promise.
    let all: Vec<[u8; 8]> = unsafe { take_all(from, count)? };
    for [from_port, to_port, kind, rest @ ..] in all {
        match (from_port, to_port, kind, rest) {
            (0, 0, 0, [0, 0, 0, 0, 0]) => {}
            // Programmatic launches: before or in the middle of a kernel.
            (0..=2, 0, 0 | 1, [0, 0, 0, 0, 0]) => return Err(status::NOT_SUPPORTED),
            _ => return Err(status::INVALID_VALUE),
        }
    }
    Ok(())
}

/// A node of any kind for a graph, by `CUgraphNodeParams`.
unsafe fn made(graph: &Arc<Object>, from: Ptr) -> Result<Payload, i32> {
    // SAFETY: null, which `take` refuses, or a CUgraphNodeParams; its first word says what follows.
    unsafe {
        match take::<i32>(from)? {
            CONDITIONAL => super::condition::node(graph, Ptr(from.0 + params::MEMBER)),
            CHILD => match take(Ptr(from.0 + params::MEMBER + 8))? {
                CLONE => params::any(from),
                MOVE => params::moved(graph, abi::Graph(take(Ptr(from.0 + params::MEMBER))?)),
                _ => Err(status::INVALID_VALUE),
            },
            _ => params::any(from),
        }
    }
}

/// `CU_GRAPH_NODE_TYPE_GRAPH`, `CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE`, `_MOVE`.
const CHILD: i32 = 4;
const CLONE: i32 = 0;
const MOVE: i32 = 1;
/// `CU_GRAPH_NODE_TYPE_CONDITIONAL`.
const CONDITIONAL: i32 = 13;

fn destroy(graph: &Arc<Object>) -> Result<(), i32> {
    if graph.is_owned() {
        return Err(status::INVALID_VALUE);
    }
    graph.forget();
    Ok(())
}

entry! {
    fn cuGraphCreate (phGraph: Out<Graph>, flags: Flags) {
        check()?;
        if phGraph.is_null() || flags.0 != 0 {
            return Err(status::INVALID_VALUE);
        }
        give(phGraph, abi::Graph(handle(&Object::new(0, true, false))))
    }

    fn cuGraphDestroy (hGraph: Graph) {
        destroy(&graph(hGraph)?)
    }

    fn cuGraphDestroyNode (hNode: Node) {
        let (node, graph) = node(hNode)?;
        // Every allocation must be freed.
        let memory = matches!(&*lock(&node.payload), Payload::Alloc(_) | Payload::Free(_));
        if memory || super::device::is_updatable(&node) {
            return Err(status::INVALID_VALUE);
        }
        graph.remove(&node);
        Ok(())
    }

    fn cuGraphAddNode (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, nodeParams: Ptr) {
        let graph = graph(hGraph)?;
        // SAFETY: as many handles as the call says; a CUgraphNodeParams, or null.
        unsafe { add(phGraphNode, &graph, (dependencies, numDependencies), || made(&graph, nodeParams)) }
    }

    fn cuGraphAddNode_v2 cuGraphAddNode_v3 (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, dependencyData: Ptr, numDependencies: usize, nodeParams: Ptr) {
        let graph = graph(hGraph)?;
        // SAFETY: null, or as many as the call says.
        unsafe { plain(dependencyData, numDependencies)? };
        // SAFETY: as many handles as the call says; a CUgraphNodeParams, or null.
        unsafe { add(phGraphNode, &graph, (dependencies, numDependencies), || made(&graph, nodeParams)) }
    }

    fn cuGraphAddMemcpyNode (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, copyParams: In<Shape>, ctx: Context) {
        let _ = ctx;
        let graph = graph(hGraph)?;
        // SAFETY: as many handles as the call says.
        unsafe { add(phGraphNode, &graph, (dependencies, numDependencies), || params::copy(copyParams)) }
    }

    fn cuGraphAddMemsetNode (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, memsetParams: In<RawFill>, ctx: Context) {
        let _ = ctx;
        let graph = graph(hGraph)?;
        // SAFETY: as many handles as the call says.
        unsafe { add(phGraphNode, &graph, (dependencies, numDependencies), || params::fill(memsetParams)) }
    }

    fn cuGraphAddHostNode (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, nodeParams: In<[usize; 2]>) {
        let graph = graph(hGraph)?;
        // SAFETY: as many handles as the call says.
        unsafe { add(phGraphNode, &graph, (dependencies, numDependencies), || params::host(nodeParams)) }
    }

    fn cuGraphAddChildGraphNode (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, childGraph: Graph) {
        let graph = graph(hGraph)?;
        // SAFETY: as many handles as the call says.
        unsafe { add(phGraphNode, &graph, (dependencies, numDependencies), || params::child(childGraph)) }
    }

    fn cuGraphAddEmptyNode (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize) {
        let graph = graph(hGraph)?;
        // SAFETY: as many handles as the call says.
        unsafe { add(phGraphNode, &graph, (dependencies, numDependencies), || Ok(Payload::Empty)) }
    }

    fn cuGraphAddEventRecordNode (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, event: Event) {
        let graph = graph(hGraph)?;
        let made = || params::event(event).map(Payload::Record);
        // SAFETY: as many handles as the call says.
        unsafe { add(phGraphNode, &graph, (dependencies, numDependencies), made) }
    }

    fn cuGraphAddEventWaitNode (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, event: Event) {
        let graph = graph(hGraph)?;
        let made = || params::event(event).map(Payload::Wait);
        // SAFETY: as many handles as the call says.
        unsafe { add(phGraphNode, &graph, (dependencies, numDependencies), made) }
    }

    fn cuGraphAddMemAllocNode (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, nodeParams: Ptr) {
        let graph = graph(hGraph)?;
        let mut address = 0;
        let made = || {
            // SAFETY: a CUDA_MEM_ALLOC_NODE_PARAMS, or null.
            let made = params::alloc(unsafe { at(nodeParams) })?;
            if let Payload::Alloc(allocation) = &made {
                address = allocation.address;
            }
            Ok(made)
        };
        // SAFETY: as many handles as the call says.
        unsafe { add(phGraphNode, &graph, (dependencies, numDependencies), made)? };
        // SAFETY: in that structure, which is not null.
        give(unsafe { at(Ptr(nodeParams.0 + params::ALLOC_ADDRESS)) }, address)
    }

    fn cuGraphAddMemFreeNode (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, dptr: Ptr) {
        let graph = graph(hGraph)?;
        let made = || params::free(dptr.0 as u64);
        // SAFETY: as many handles as the call says.
        unsafe { add(phGraphNode, &graph, (dependencies, numDependencies), made) }
    }

    fn cuGraphNodeGetType (hNode: Node, type_: Out<i32>) {
        give(type_, with(hNode, |payload| Some(payload.kind()))?)
    }

    fn cuGraphMemcpyNodeGetParams (hNode: Node, nodeParams: At<Shape>) {
        let shape = with(hNode, |payload| match payload {
            Payload::Copy(copy) => Some(copy.shape),
            _ => None,
        })?;
        give(nodeParams, shape)
    }

    fn cuGraphMemsetNodeGetParams (hNode: Node, nodeParams: At<RawFill>) {
        let raw = with(hNode, |payload| match payload {
            Payload::Fill(fill) => Some(fill.raw),
            _ => None,
        })?;
        give(nodeParams, raw)
    }

    fn cuGraphHostNodeGetParams (hNode: Node, nodeParams: At<[usize; 2]>) {
        let function = with(hNode, |payload| match payload {
            Payload::Host(function) => Some([function.function, function.data]),
            _ => None,
        })?;
        give(nodeParams, function)
    }

    fn cuGraphChildGraphNodeGetGraph (hNode: Node, phGraph: Out<Graph>) {
        let child = with(hNode, |payload| match payload {
            Payload::Child(child) => Some(handle(child)),
            _ => None,
        })?;
        give(phGraph, abi::Graph(child))
    }

    fn cuGraphNodeGetContainingGraph (hNode: Node, phGraph: Out<Graph>) {
        let (_, graph) = node(hNode)?;
        give(phGraph, abi::Graph(handle(&graph)))
    }

    fn cuGraphEventRecordNodeGetEvent (hNode: Node, event_out: Out<Event>) {
        let event = with(hNode, |payload| match payload {
            Payload::Record(event) => Some(handle(event)),
            _ => None,
        })?;
        give(event_out, abi::Event(event))
    }

    fn cuGraphEventWaitNodeGetEvent (hNode: Node, event_out: Out<Event>) {
        let event = with(hNode, |payload| match payload {
            Payload::Wait(event) => Some(handle(event)),
            _ => None,
        })?;
        give(event_out, abi::Event(event))
    }

    fn cuGraphMemAllocNodeGetParams (hNode: Node, params_out: At<RawAlloc>) {
        let allocation = with(hNode, |payload| match payload {
            Payload::Alloc(allocation) => Some(allocation.clone()),
            _ => None,
        })?;
        params::give_alloc(&allocation, params_out)
    }

    fn cuGraphMemFreeNodeGetParams (hNode: Node, dptr_out: Out<Ptr>) {
        let address = with(hNode, |payload| match payload {
            Payload::Free(address) => Some(*address),
            _ => None,
        })?;
        give(dptr_out, Ptr(address as usize))
    }

    fn cuGraphMemcpyNodeSetParams (hNode: Node, nodeParams: In<Shape>) {
        set(hNode, params::copy(nodeParams)?)
    }

    fn cuGraphMemsetNodeSetParams (hNode: Node, nodeParams: In<RawFill>) {
        set(hNode, params::fill(nodeParams)?)
    }

    fn cuGraphHostNodeSetParams (hNode: Node, nodeParams: In<[usize; 2]>) {
        set(hNode, params::host(nodeParams)?)
    }

    fn cuGraphNodeSetParams cuGraphNodeSetParams_v2 (hNode: Node, nodeParams: Ptr) {
        // SAFETY: a CUgraphNodeParams, or null.
        set(hNode, unsafe { params::any(nodeParams)? })
    }

    fn cuGraphEventRecordNodeSetEvent (hNode: Node, event: Event) {
        set(hNode, Payload::Record(params::event(event)?))
    }

    fn cuGraphEventWaitNodeSetEvent (hNode: Node, event: Event) {
        set(hNode, Payload::Wait(params::event(event)?))
    }
}

/// The allocations of nodes; used to see that none is allocated twice.
pub fn taken(nodes: &[Arc<Part>]) -> Vec<Arc<memory::Allocation>> {
    let of = |node: &Arc<Part>| match &*lock(&node.payload) {
        Payload::Alloc(allocation) => Some(allocation.clone()),
        _ => None,
    };
    nodes.iter().filter_map(of).collect()
}
