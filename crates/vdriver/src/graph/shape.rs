//! The API functions on the shape of graphs: nodes, edges, clones, and DOT output.
//!
//! Source: CUDA Driver API, "Graph Management". Must not know: what nodes do beyond their kind.

use std::fmt::Write as _;
use std::sync::Arc;

use cushim_abi::types::{self as abi, *};

use super::build::{ids, plain};
use super::{Graph as Object, Node as Part, Payload, graph, node};
use crate::argument::Place;
use crate::entry::entry;
use crate::handle::handle;
use crate::state::{give, pointer};
use crate::status;
use cushim_accel::locks::lock;

/// Writes handles: only their number where the program passes no place, else as many as fit, nulls
/// in the rest, and how many were written.
unsafe fn list(places: &[(Ptr, &[usize])], count: Place<usize>) -> Result<(), i32> {
    if count.is_null() {
        return Err(status::INVALID_VALUE);
    }
    let all = places.first().map_or(0, |(_, handles)| handles.len());
    if places.iter().all(|(place, _)| place.0 == 0) {
        return give(count, all);
    }
    let room = count.read()?;
    for (place, handles) in places.iter().filter(|(place, _)| place.0 != 0) {
        let to = pointer::<usize>(*place);
        for index in 0..room {
            let handle = handles.get(index).copied().unwrap_or(0);
            // SAFETY: the caller's place has that much room.
            unsafe { to.add(index).write_unaligned(handle) };
        }
    }
    give(count, all.min(room))
}

fn handles(nodes: &[Arc<Part>]) -> Vec<usize> {
    nodes.iter().map(handle).collect()
}

/// Edge data of plain dependencies.
unsafe fn no_data(to: Ptr, count: Place<usize>) {
    if let (1.., Ok(count)) = (to.0, count.read()) {
        // SAFETY: the caller's place has room for `count`, which was just set to the number of
        // edges.
        unsafe { pointer::<u64>(to).write_bytes(0, count) };
    }
}

unsafe fn edges(hgraph: abi::Graph, [from, to]: [Ptr; 2], count: Place<usize>) -> Result<(), i32> {
    let graph = graph(hgraph)?;
    if (from.0 == 0) != (to.0 == 0) {
        return Err(status::INVALID_VALUE);
    }
    let end = |id: u32| graph.node(id).map_or(0, |node| handle(&node));
    let (left, right): (Vec<_>, Vec<_>) =
        graph.edges().into_iter().map(|(from, to)| (end(from), end(to))).unzip();
    // SAFETY: the caller's places.
    unsafe { list(&[(from, &left), (to, &right)], count) }
}

unsafe fn neighbours(
    hnode: abi::Node,
    to: Ptr,
    count: Place<usize>,
    before: bool,
) -> Result<(), i32> {
    let (node, graph) = node(hnode)?;
    let found = handles(&graph.neighbours(node.id, before));
    // SAFETY: the caller's places.
    unsafe { list(&[(to, &found)], count) }
}

/// Numbers of nodes: from, to.
type Edges = Vec<(u32, u32)>;

unsafe fn pairs(
    hgraph: abi::Graph,
    from: Ptr,
    to: Ptr,
    count: usize,
) -> Result<(Arc<Object>, Edges), i32> {
    let graph = graph(hgraph)?;
    // SAFETY: an entry point's arguments: two lists of `count` nodes each.
    let (from, to) = unsafe { (ids(&graph, from, count)?, ids(&graph, to, count)?) };
    Ok((graph, from.into_iter().zip(to).collect()))
}

entry! {
    fn cuGraphGetNodes (hGraph: Graph, nodes: Ptr, numNodes: Out<usize>) {
        // SAFETY: as many places as the call says.
        unsafe { list(&[(nodes, &handles(&graph(hGraph)?.nodes()))], numNodes) }
    }

    fn cuGraphGetRootNodes (hGraph: Graph, rootNodes: Ptr, numRootNodes: Out<usize>) {
        // SAFETY: as many places as the call says.
        unsafe { list(&[(rootNodes, &handles(&graph(hGraph)?.roots()))], numRootNodes) }
    }

    fn cuGraphGetEdges (hGraph: Graph, from: Ptr, to: Ptr, numEdges: Out<usize>) {
        // SAFETY: as many places as the call says.
        unsafe { edges(hGraph, [from, to], numEdges) }
    }

    fn cuGraphGetEdges_v2 (hGraph: Graph, from: Ptr, to: Ptr, edgeData: Ptr, numEdges: Out<usize>) {
        // SAFETY: as many places as the call says.
        unsafe { edges(hGraph, [from, to], numEdges) }?;
        if from.0 != 0 {
            // SAFETY: as many places as the call says.
            unsafe { no_data(edgeData, numEdges) };
        }
        Ok(())
    }

    fn cuGraphNodeGetDependencies (hNode: Node, dependencies: Ptr, numDependencies: Out<usize>) {
        // SAFETY: as many places as the call says.
        unsafe { neighbours(hNode, dependencies, numDependencies, true) }
    }

    fn cuGraphNodeGetDependencies_v2 (hNode: Node, dependencies: Ptr, edgeData: Ptr, numDependencies: Out<usize>) {
        // SAFETY: as many places as the call says.
        unsafe { neighbours(hNode, dependencies, numDependencies, true) }?;
        if dependencies.0 != 0 {
            // SAFETY: as many places as the call says.
            unsafe { no_data(edgeData, numDependencies) };
        }
        Ok(())
    }

    fn cuGraphNodeGetDependentNodes (hNode: Node, dependentNodes: Ptr, numDependentNodes: Out<usize>) {
        // SAFETY: as many places as the call says.
        unsafe { neighbours(hNode, dependentNodes, numDependentNodes, false) }
    }

    fn cuGraphNodeGetDependentNodes_v2 (hNode: Node, dependentNodes: Ptr, edgeData: Ptr, numDependentNodes: Out<usize>) {
        // SAFETY: as many places as the call says.
        unsafe { neighbours(hNode, dependentNodes, numDependentNodes, false) }?;
        if dependentNodes.0 != 0 {
            // SAFETY: as many places as the call says.
            unsafe { no_data(edgeData, numDependentNodes) };
        }
        Ok(())
    }

    fn cuGraphAddDependencies (hGraph: Graph, from: Ptr, to: Ptr, numDependencies: usize) {
        // SAFETY: as many handles as the call says.
        let (graph, edges) = unsafe { pairs(hGraph, from, to, numDependencies)? };
        graph.connect(&edges)
    }

    fn cuGraphAddDependencies_v2 (hGraph: Graph, from: Ptr, to: Ptr, edgeData: Ptr, numDependencies: usize) {
        // SAFETY: as many handles as the call says.
        let (graph, edges) = unsafe { pairs(hGraph, from, to, numDependencies)? };
        // SAFETY: null, or as many as the call says.
        unsafe { plain(edgeData, numDependencies)? };
        graph.connect(&edges)
    }

    fn cuGraphRemoveDependencies (hGraph: Graph, from: Ptr, to: Ptr, numDependencies: usize) {
        // SAFETY: as many handles as the call says.
        let (graph, edges) = unsafe { pairs(hGraph, from, to, numDependencies)? };
        graph.disconnect(&edges)
    }

    fn cuGraphRemoveDependencies_v2 (hGraph: Graph, from: Ptr, to: Ptr, edgeData: Ptr, numDependencies: usize) {
        // SAFETY: as many handles as the call says.
        let (graph, edges) = unsafe { pairs(hGraph, from, to, numDependencies)? };
        // SAFETY: null, or as many as the call says.
        unsafe { plain(edgeData, numDependencies)? };
        graph.disconnect(&edges)
    }

    fn cuGraphClone (phGraphClone: Out<Graph>, originalGraph: Graph) {
        let graph = graph(originalGraph)?;
        if phGraphClone.is_null() {
            return Err(status::INVALID_VALUE);
        }
        if graph.has_memory() || graph.has_conditions() {
            return Err(status::NOT_SUPPORTED);
        }
        give(phGraphClone, abi::Graph(handle(&graph.copy(true, false))))
    }

    fn cuGraphNodeFindInClone (phNode: Out<Node>, hOriginalNode: Node, hClonedGraph: Graph) {
        let (original, _) = node(hOriginalNode)?;
        let clone = graph(hClonedGraph)?;
        let found = clone.nodes().into_iter().find(|node| node.original == handle(&original));
        give(phNode, abi::Node(handle(&found.ok_or(status::INVALID_VALUE)?)))
    }

    fn cuGraphGetId (hGraph: Graph, graphId: Out<u32>) {
        give(graphId, graph(hGraph)?.id)
    }

    fn cuGraphNodeGetLocalId (hNode: Node, nodeId: Out<u32>) {
        give(nodeId, node(hNode)?.0.id)
    }

    fn cuGraphNodeGetToolsId (hNode: Node, toolsNodeId: Out<u64>) {
        give(toolsNodeId, node(hNode)?.0.tools)
    }

    fn cuGraphDebugDotPrint (hGraph: Graph, path: Str, flags: Flags) {
        let _ = flags;
        let graph = graph(hGraph)?;
        let path = path.read()?;
        let path = std::ffi::OsStr::new(path.to_str().map_err(|_| status::INVALID_VALUE)?);
        std::fs::write(path, drawing(&graph)).map_err(|_| status::OPERATING_SYSTEM)
    }
}

/// A graph in the language of Graphviz.
fn drawing(graph: &Object) -> String {
    let mut out = format!("digraph graph_{} {{\n  node [shape=box];\n", graph.id);
    for node in graph.nodes() {
        let what = match &*lock(&node.payload) {
            Payload::Kernel(kernel) => {
                let launch = &kernel.dispatch;
                let name = launch.code.kernels().get(launch.kernel).map(|kernel| &*kernel.name);
                let ([a, b, c], [x, y, z]) = (launch.grid, launch.block);
                format!("{}<<<({a}, {b}, {c}), ({x}, {y}, {z})>>>", name.unwrap_or("kernel"))
            }
            Payload::Copy(copy) => {
                let [width, height, depth] = copy.shape.extent;
                format!("copy of {width} x {height} x {depth} bytes")
            }
            Payload::Fill(_) => String::from("set"),
            Payload::Host(function) => format!("host function {:#x}", function.function),
            Payload::Child(child) => format!("graph {}", child.id),
            Payload::Empty => String::from("empty"),
            Payload::Wait(_) => String::from("wait for an event"),
            Payload::Record(_) => String::from("record of an event"),
            Payload::Alloc(memory) => format!("allocate {} bytes", memory.bytes),
            Payload::Free(address) => format!("free {address:#x}"),
            Payload::Batch(batch) => format!("{} operations on values", batch.operations.len()),
            Payload::Condition(node) => {
                let bodies: Vec<String> =
                    node.bodies.iter().map(|body| format!("graph {}", body.id)).collect();
                format!("{} of {}", node.kind.name(), bodies.join(", "))
            }
        };
        let label = what.replace('\\', "\\\\").replace('"', "\\\"");
        // Writing to a string does not fail.
        let _ = writeln!(out, "  n{} [label=\"{}: {label}\"];", node.id, node.id);
    }
    for (from, to) in graph.edges() {
        let _ = writeln!(out, "  n{from} -> n{to};");
    }
    out.push_str("}\n");
    out
}
