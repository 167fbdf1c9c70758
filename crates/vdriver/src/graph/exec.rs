//! Instances of graphs: what a launch runs, and how it is updated.
//!
//! Owns a copy of the graph for each instance, in which a node is found by the node that it was copied from, and the
//! execution order. Source: CUDA Driver API, `cuGraphInstantiate`, `cuGraphExecUpdate`. Must not know: streams
//! ([`super::launch`]).

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use cushim_abi::types::{self as abi, *};

use super::condition::{self, Condition};
use super::device;
use super::steps::{Named, Steps};
use super::work::RawFill;
use super::{Graph as Object, Node as Part, Payload, graph, node, params};
use crate::argument::{At, In, Place};
use crate::context;
use crate::entry::entry;
use crate::handle::{Handles, handle};
use crate::memory::ends::Shape;
use crate::state::{at, check, give, offer, take};
use crate::status;
use cushim_accel::Signal;
use cushim_accel::locks::lock;

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
pub const AUTO_FREE: u64 = 1;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD`.
const UPLOAD: u64 = 2;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH`.
pub const DEVICE_LAUNCH: u64 = 4;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY`.
const BY_NODE_PRIORITY: u64 = 8;

/// An instance.
pub struct Exec {
    /// Unique in the process.
    pub id: u32,
    /// `CUDA_GRAPH_INSTANTIATE_FLAG_*`.
    pub flags: u64,
    /// Its copy of the graph.
    pub graph: Arc<Object>,
    /// Its nodes as they run.
    pub steps: Steps,
    nodes: Named,
    /// The claim on a graph that may have one instance only, held until the program destroys this
    /// one; running work keeps the rest alive.
    claim: Mutex<Option<Arc<()>>>,
    /// Locked while a launch goes into a stream; complete when the last launch is.
    pub last: Mutex<Signal>,
    /// For a graph that kernels may launch: runs that have begun, or that the host has launched.
    pub running: AtomicU32,
    /// It is uploaded: kernels may launch it.
    uploaded: AtomicBool,
}

/// Instances by handle.
pub static EXECS: Handles<Exec> = Handles::new();

static NEXT: AtomicU32 = AtomicU32::new(1);

/// The instance of a handle.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE, and those of [`check`].
pub fn exec(exec: GraphExec) -> Result<Arc<Exec>, i32> {
    check()?;
    EXECS.get(exec.0).ok_or(status::INVALID_VALUE)
}

impl Exec {
    /// Instantiates a graph as it is now.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE for one with a cycle, and those of [`Steps::of`]; CUDA_ERROR_NOT_SUPPORTED for a
    /// second instance of one with conditional nodes or nodes that kernels change.
    pub fn new(graph: &Arc<Object>, flags: u64) -> Result<Arc<Exec>, i32> {
        let single = graph.has_conditions() || device::has_updatable(graph);
        let claim = Mutex::new(single.then(|| graph.claim()).transpose()?);
        let graph = graph.copy(false, true);
        let mut nodes = Named::new();
        let steps = Steps::of(&graph, &mut nodes)?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let last = Mutex::new(Signal::completed());
        let (running, uploaded) = (AtomicU32::new(0), AtomicBool::new(flags & UPLOAD != 0));
        device::register(nodes.iter());
        let made = Exec { id, flags, graph, steps, nodes, claim, last, running, uploaded };
        Ok(Arc::new(made))
    }

    /// Marks it as uploaded.
    pub fn uploaded(&self) {
        self.uploaded.store(true, Ordering::Release);
    }

    /// Whether it is uploaded.
    pub fn is_uploaded(&self) -> bool {
        self.uploaded.load(Ordering::Acquire)
    }

    /// Locks it for a change: no launch reads its nodes meanwhile. Bodies of conditional nodes are
    /// read while they run.
    fn hold(&self) -> MutexGuard<'_, Signal> {
        let last = lock(&self.last);
        if self.steps.has_bodies() {
            last.wait();
        }
        last
    }

    /// The node that corresponds to one in the program's graph.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE.
    pub fn node(&self, of: abi::Node) -> Result<&Arc<Part>, i32> {
        self.nodes.get(&of.0).ok_or(status::INVALID_VALUE)
    }

    /// Gives a node other parameters of its kind.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE.
    pub fn replace(&self, of: abi::Node, made: Payload) -> Result<(), i32> {
        let _still = self.hold();
        params::replace(&mut lock(&self.node(of)?.payload), made)
    }
}

/// `CUgraphExecUpdateResult` and the nodes in question.
#[derive(Default)]
struct Difference {
    result: i32,
    node: usize,
    from: usize,
}

/// Whether a graph may replace another: as many nodes of the same kinds with the same edges. Nodes
/// are paired in the order in which they were added.
fn compare(old: &Object, new: &Object, pairs: &mut Vec<(Arc<Part>, Arc<Part>)>) -> Difference {
    let (olds, news) = (old.nodes(), new.nodes());
    let rank = |nodes: &[Arc<Part>]| -> HashMap<u32, usize> {
        nodes.iter().enumerate().map(|(rank, node)| (node.id, rank)).collect()
    };
    let edges = |graph: &Object, ranks: &HashMap<u32, usize>| -> Vec<_> {
        let place = |id: u32| ranks.get(&id).copied().unwrap_or(usize::MAX);
        let mut all: Vec<_> = graph.edges().iter().map(|(a, b)| (place(*a), place(*b))).collect();
        all.sort_unstable();
        all
    };
    let changed = |node: Option<&Arc<Part>>, from: Option<&Arc<Part>>| Difference {
        result: 2,
        node: node.map_or(0, handle),
        from: from.map_or(0, handle),
    };
    if olds.len() != news.len() {
        return changed(news.get(olds.len()), None);
    }
    let (before, after) = (edges(old, &rank(&olds)), edges(new, &rank(&news)));
    if let Some((from, to)) = after.iter().find(|edge| !before.contains(edge)) {
        return changed(news.get(*to), news.get(*from));
    }
    if before.len() != after.len() {
        return changed(None, None);
    }
    for (old, new) in olds.into_iter().zip(news) {
        let inner = match (&*lock(&old.payload), &*lock(&new.payload)) {
            (Payload::Child(old), Payload::Child(new)) => vec![(old.clone(), new.clone())],
            (Payload::Condition(a), Payload::Condition(b)) => {
                // CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED: a conditional node's parameters
                // cannot change.
                if a.kind != b.kind || a.bodies.len() != b.bodies.len() {
                    return Difference { result: 4, node: handle(&new), from: 0 };
                }
                a.bodies.iter().cloned().zip(b.bodies.iter().cloned()).collect()
            }
            (Payload::Alloc(a), Payload::Alloc(b)) if !Arc::ptr_eq(a, b) => {
                return Difference { result: 5, node: handle(&new), from: 0 };
            }
            (a, b) if a.kind() != b.kind() => {
                return Difference { result: 3, node: handle(&new), from: 0 };
            }
            _ => Vec::new(),
        };
        for (old, new) in inner {
            let inner = compare(&old, &new, pairs);
            if inner.result != 0 {
                return inner;
            }
        }
        pairs.push((old, new));
    }
    Difference::default()
}

/// Gives each node the payload of its pair. Child graphs stay, as their own nodes are among the
/// pairs.
fn take_over(pairs: Vec<(Arc<Part>, Arc<Part>)>) {
    for (old, new) in pairs {
        let made = lock(&new.payload).clone();
        let payload = &mut *lock(&old.payload);
        *payload = match (&*payload, made) {
            (Payload::Child(own), Payload::Child(_)) => Payload::Child(own.clone()),
            (Payload::Condition(own), Payload::Condition(new)) => {
                let bodies = own.bodies.clone();
                Payload::Condition(Condition::new(new.value.clone(), own.kind, bodies))
            }
            (_, made) => made,
        };
    }
}

fn update(hexec: GraphExec, hgraph: abi::Graph) -> Result<Difference, i32> {
    let exec = exec(hexec)?;
    let graph = graph(hgraph)?;
    let mut pairs = Vec::new();
    // The host cannot update a graph whose nodes kernels may change.
    if device::has_updatable(&exec.graph) || device::has_updatable(&graph) {
        return Err(status::INVALID_VALUE);
    }
    let difference = compare(&exec.graph, &graph, &mut pairs);
    if difference.result == 0 {
        let _still = exec.hold();
        take_over(pairs);
    }
    Ok(difference)
}

fn outcome(difference: &Difference) -> Result<(), i32> {
    if difference.result == 0 { Ok(()) } else { Err(status::GRAPH_EXEC_UPDATE_FAILURE) }
}

/// Makes an instance and gives out its handle.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE, also for a device launch of a graph that kernels cannot launch.
fn instantiate(to: Place<GraphExec>, hgraph: abi::Graph, flags: u64) -> Result<(), i32> {
    context::current()?;
    let graph = graph(hgraph)?;
    if to.is_null() || flags & !0xf != 0 {
        return Err(status::INVALID_VALUE);
    }
    let flags = flags & !BY_NODE_PRIORITY;
    if condition::is_any_unused(&graph) {
        return Err(status::INVALID_VALUE);
    }
    if flags & DEVICE_LAUNCH != 0 && (flags & AUTO_FREE != 0 || device::refused(&graph).is_some()) {
        return Err(status::INVALID_VALUE);
    }
    give(to, abi::GraphExec(EXECS.add(Exec::new(&graph, flags)?)))
}

fn set(exec: GraphExec, node: abi::Node, made: Result<Payload, i32>) -> Result<(), i32> {
    let exec = self::exec(exec)?;
    let node_kind = exec.node(node).map(|part| lock(&part.payload).kind());
    node_kind?;
    exec.replace(node, made?)
}

entry! {
    fn cuGraphInstantiate cuGraphInstantiate_v2 (phGraphExec: Out<GraphExec>, hGraph: Graph, phErrorNode: At<usize>, logBuffer: At<u8>, bufferSize: usize) {
        instantiate(phGraphExec, hGraph, 0)?;
        offer(phErrorNode, 0usize);
        if bufferSize > 0 {
            offer(logBuffer, 0u8);
        }
        Ok(())
    }

    fn cuGraphInstantiateWithFlags (phGraphExec: Out<GraphExec>, hGraph: Graph, flags: Flags64) {
        // Uploading needs the stream that only the other form has (measured).
        if flags.0 & UPLOAD != 0 {
            return Err(status::INVALID_VALUE);
        }
        instantiate(phGraphExec, hGraph, flags.0)
    }

    fn cuGraphInstantiateWithParams cuGraphInstantiateWithParams_ptsz (phGraphExec: Out<GraphExec>, hGraph: Graph, instantiateParams: Ptr) {
        // Flags, stream to upload in, node at fault, result.
        // SAFETY: a CUDA_GRAPH_INSTANTIATE_PARAMS, or null.
        let flags: u64 = unsafe { take(instantiateParams)? };
        let result = instantiate(phGraphExec, hGraph, flags);
        // CUDA_GRAPH_INSTANTIATE_ERROR, or _CONDITIONAL_HANDLE_UNUSED.
        let unused = graph(hGraph).is_ok_and(|graph| condition::is_any_unused(&graph));
        let device = flags & DEVICE_LAUNCH != 0;
        let refused = graph(hGraph).ok().filter(|_| device).and_then(|graph| device::refused(&graph));
        let why = match &refused {
            _ if unused => 5,
            Some(refused) => refused.result,
            None => 1,
        };
        // SAFETY: in that structure, which is not null.
        let (node, outcome) = unsafe { (at(Ptr(instantiateParams.0 + 16)), at(Ptr(instantiateParams.0 + 24))) };
        let at_fault = refused.and_then(|refused| refused.node);
        offer(node, at_fault.map_or(0, |node| crate::handle::handle(&node)));
        offer(outcome, if result.is_err() { why } else { 0 });
        result
    }

    fn cuGraphExecDestroy (hGraphExec: GraphExec) {
        check()?;
        let exec = EXECS.remove(hGraphExec.0).ok_or(status::INVALID_VALUE)?;
        drop(lock(&exec.claim).take());
        Ok(())
    }

    fn cuGraphExecGetFlags (hGraphExec: GraphExec, flags: Out<u64>) {
        // The flag for node priorities is not read back (measured).
        give(flags, exec(hGraphExec)?.flags)
    }

    fn cuGraphExecGetId (hGraphExec: GraphExec, graphId: Out<u32>) {
        give(graphId, exec(hGraphExec)?.id)
    }

    fn cuGraphExecUpdate (hGraphExec: GraphExec, hGraph: Graph, hErrorNode_out: At<usize>, updateResult_out: At<i32>) {
        let difference = update(hGraphExec, hGraph)?;
        offer(hErrorNode_out, difference.node);
        // In this form, another topology is CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED (measured).
        let result = if difference.result == 2 { 6 } else { difference.result };
        offer(updateResult_out, result);
        outcome(&difference)
    }

    fn cuGraphExecUpdate_v2 (hGraphExec: GraphExec, hGraph: Graph, resultInfo: Ptr) {
        let difference = update(hGraphExec, hGraph)?;
        // CUgraphExecUpdateResultInfo: the result, the node, the node that an edge comes from.
        if resultInfo.0 != 0 {
            // SAFETY: in that structure.
            let (result, nodes) = unsafe { (at(resultInfo), at(Ptr(resultInfo.0 + 8))) };
            offer(result, difference.result);
            offer(nodes, [difference.node, difference.from]);
        }
        outcome(&difference)
    }

    fn cuGraphNodeSetEnabled (hGraphExec: GraphExec, hNode: Node, isEnabled: u32) {
        let exec = exec(hGraphExec)?;
        let node = exec.node(hNode)?;
        // Kernels, copies and sets can be switched off.
        if lock(&node.payload).kind() > 2 {
            return Err(status::INVALID_VALUE);
        }
        let _still = exec.hold();
        node.enabled.store(isEnabled != 0, Ordering::Release);
        Ok(())
    }

    fn cuGraphNodeGetEnabled (hGraphExec: GraphExec, hNode: Node, isEnabled: Out<u32>) {
        let exec = exec(hGraphExec)?;
        give(isEnabled, u32::from(exec.node(hNode)?.enabled.load(Ordering::Acquire)))
    }

    fn cuGraphExecMemcpyNodeSetParams (hGraphExec: GraphExec, hNode: Node, params: In<Shape>, ctx: Context) {
        let _ = ctx;
        set(hGraphExec, hNode, params::copy(params))
    }

    fn cuGraphExecMemsetNodeSetParams (hGraphExec: GraphExec, hNode: Node, params: In<RawFill>, ctx: Context) {
        let _ = ctx;
        set(hGraphExec, hNode, params::fill(params))
    }

    fn cuGraphExecHostNodeSetParams (hGraphExec: GraphExec, hNode: Node, nodeParams: In<[usize; 2]>) {
        set(hGraphExec, hNode, params::host(nodeParams))
    }

    fn cuGraphExecNodeSetParams (hGraphExec: GraphExec, hNode: Node, nodeParams: Ptr) {
        // SAFETY: a CUgraphNodeParams, or null.
        set(hGraphExec, hNode, unsafe { params::any(nodeParams) })
    }

    fn cuGraphExecEventRecordNodeSetEvent (hGraphExec: GraphExec, hNode: Node, event: Event) {
        set(hGraphExec, hNode, params::event(event).map(Payload::Record))
    }

    fn cuGraphExecEventWaitNodeSetEvent (hGraphExec: GraphExec, hNode: Node, event: Event) {
        set(hGraphExec, hNode, params::event(event).map(Payload::Wait))
    }

    fn cuGraphExecChildGraphNodeSetParams (hGraphExec: GraphExec, hNode: Node, childGraph: Graph) {
        let exec = exec(hGraphExec)?;
        let (node, _) = node(hNode)?;
        let new = graph(childGraph)?;
        let part = exec.node(abi::Node(handle(&node)))?;
        let old = match &*lock(&part.payload) {
            Payload::Child(child) => child.clone(),
            _ => return Err(status::INVALID_VALUE),
        };
        let mut pairs = Vec::new();
        if compare(&old, &new, &mut pairs).result != 0 {
            return Err(status::INVALID_VALUE);
        }
        let _still = exec.hold();
        take_over(pairs);
        Ok(())
    }
}
