//! Graphs: nodes of work and the order between them.
//!
//! Owns the objects, their handles, and the rules of their shape: no duplicate edges, none between graphs. Source:
//! CUDA Driver API, "Graph Management". Must not know: how nodes are described ([`params`]), how a graph runs
//! ([`exec`]).

pub mod batch;
pub mod build;
pub mod condition;
pub mod device;
pub mod exec;
pub mod get;
pub mod kernel;
pub mod launch;
pub mod memory;
pub mod object;
pub mod object_api;
pub mod params;
pub mod plan;
pub mod run;
pub mod shape;
pub mod steps;
pub mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use cushim_abi::types as abi;

use super::event;
use super::handle::{Handles, handle};
use super::host::Function;
use super::state::check;
use super::status;
use condition::{Condition, Value};
use cushim_accel::locks::lock;
use memory::Allocation;
use object::Held;
use work::{Batch, CopyNode, FillNode, KernelNode};

/// What a node does.
#[derive(Clone)]
pub enum Payload {
    /// A kernel.
    Kernel(KernelNode),
    /// A copy.
    Copy(CopyNode),
    /// A set.
    Fill(FillNode),
    /// A function of the program.
    Host(Function),
    /// A child graph, which belongs to this node.
    Child(Arc<Graph>),
    /// Nothing.
    Empty,
    /// Waits for an event.
    Wait(Arc<event::Object>),
    /// Records an event.
    Record(Arc<event::Object>),
    /// Allocates memory.
    Alloc(Arc<Allocation>),
    /// Frees memory that was allocated at this address.
    Free(u64),
    /// Operations on values in memory.
    Batch(Arc<Batch>),
    /// Bodies, of which a value chooses one.
    Condition(Arc<Condition>),
}

impl Payload {
    /// `CUgraphNodeType`.
    pub fn kind(&self) -> i32 {
        match self {
            Payload::Kernel(_) => 0,
            Payload::Copy(_) => 1,
            Payload::Fill(_) => 2,
            Payload::Host(_) => 3,
            Payload::Child(_) => 4,
            Payload::Empty => 5,
            Payload::Wait(_) => 6,
            Payload::Record(_) => 7,
            Payload::Alloc(_) => 10,
            Payload::Free(_) => 11,
            Payload::Batch(_) => 12,
            Payload::Condition(_) => 13,
        }
    }
}

/// A node of a graph.
pub struct Node {
    /// Its graph.
    pub graph: Weak<Graph>,
    /// Its number in the graph, in the order in which nodes were added.
    pub id: u32,
    /// Unique in the process.
    pub tools: u64,
    /// The handle of the node that it was copied from, or 0.
    pub original: usize,
    /// What it does.
    pub payload: Mutex<Payload>,
    /// In an instance: whether it is to run.
    pub enabled: AtomicBool,
    /// Attributes of kernel nodes that were set, by `CUlaunchAttributeID`.
    pub attributes: Mutex<Vec<(i32, [u8; 64])>>,
}

/// A graph.
pub struct Graph {
    /// Unique in the process.
    pub id: u32,
    /// The handle of the graph that it was copied from, or 0.
    pub original: usize,
    /// The program has its handle and its nodes' handles.
    public: bool,
    /// It belongs to a node or an instance: the program cannot destroy it.
    owned: AtomicBool,
    /// The graph in which it is the body of a conditional node.
    parent: Weak<Graph>,
    /// The claim that its instance holds, where it may have one only.
    single: Mutex<Weak<()>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u32,
    nodes: BTreeMap<u32, Arc<Node>>,
    /// Edges (from, to).
    edges: BTreeSet<(u32, u32)>,
    /// Edges (to, from).
    back: BTreeSet<(u32, u32)>,
    objects: Vec<Held>,
    values: Vec<Arc<Value>>,
}

/// Graphs by handle.
pub static GRAPHS: Handles<Graph> = Handles::new();
/// Nodes by handle.
pub static NODES: Handles<Node> = Handles::new();

static NEXT_GRAPH: AtomicU32 = AtomicU32::new(1);
static NEXT_NODE: AtomicU64 = AtomicU64::new(1);

/// The graph of a handle.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE, and those of [`check`].
pub fn graph(graph: abi::Graph) -> Result<Arc<Graph>, i32> {
    check()?;
    GRAPHS.get(graph.0).ok_or(status::INVALID_VALUE)
}

/// The node of a handle, and its graph.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE, and those of [`check`].
pub fn node(node: abi::Node) -> Result<(Arc<Node>, Arc<Graph>), i32> {
    check()?;
    let node = NODES.get(node.0).ok_or(status::INVALID_VALUE)?;
    let graph = node.graph.upgrade().ok_or(status::INVALID_VALUE)?;
    Ok((node, graph))
}

fn ends(set: &BTreeSet<(u32, u32)>, of: u32) -> impl Iterator<Item = u32> {
    set.range((of, 0)..=(of, u32::MAX)).map(|(_, other)| *other)
}

impl Graph {
    /// An empty one. `public`: its handles are given out.
    pub fn new(original: usize, public: bool, owned: bool) -> Arc<Graph> {
        Graph::within(Weak::new(), original, public, owned)
    }

    /// An empty body of a conditional node of this graph.
    pub fn body(parent: &Arc<Graph>) -> Arc<Graph> {
        Graph::within(Arc::downgrade(parent), 0, parent.public, true)
    }

    fn within(parent: Weak<Graph>, original: usize, public: bool, owned: bool) -> Arc<Graph> {
        let id = NEXT_GRAPH.fetch_add(1, Ordering::Relaxed);
        let (single, state, owned) = (Mutex::default(), Mutex::default(), AtomicBool::new(owned));
        let graph = Arc::new(Graph { id, original, public, owned, parent, single, state });
        if public {
            GRAPHS.add(graph.clone());
        }
        graph
    }

    /// Whether it belongs to a node or an instance.
    pub fn is_owned(&self) -> bool {
        self.owned.load(Ordering::Acquire)
    }

    /// It belongs to a node from now on.
    pub fn own(&self) {
        self.owned.store(true, Ordering::Release);
    }

    /// Whether it is another graph, or has it inside.
    pub fn holds(&self, other: &Graph) -> bool {
        let inside = |node: &Arc<Node>| match &*lock(&node.payload) {
            Payload::Child(child) => child.holds(other),
            Payload::Condition(node) => node.bodies.iter().any(|body| body.holds(other)),
            _ => false,
        };
        self.id == other.id || self.nodes().iter().any(inside)
    }

    /// The graph, and those in which it is a body.
    pub fn lineage(self: &Arc<Self>) -> Vec<Arc<Graph>> {
        let next = |graph: &Arc<Graph>| graph.parent.upgrade();
        std::iter::successors(Some(self.clone()), next).collect()
    }

    /// Adds a node behind others of this graph.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE for one that is not of this graph, or named twice.
    pub fn add(self: &Arc<Self>, payload: Payload, after: &[u32]) -> Result<Arc<Node>, i32> {
        let mut state = lock(&self.state);
        let known = after.iter().all(|id| state.nodes.contains_key(id));
        let once = after.iter().collect::<BTreeSet<_>>().len() == after.len();
        if !known || !once {
            return Err(status::INVALID_VALUE);
        }
        let id = state.next;
        state.next += 1;
        let node = self.insert(&mut state, id, payload, 0);
        for from in after {
            state.edges.insert((*from, id));
            state.back.insert((id, *from));
        }
        Ok(node)
    }

    fn insert(
        self: &Arc<Self>,
        state: &mut State,
        id: u32,
        payload: Payload,
        original: usize,
    ) -> Arc<Node> {
        let node = Arc::new(Node {
            graph: Arc::downgrade(self),
            id,
            tools: NEXT_NODE.fetch_add(1, Ordering::Relaxed),
            original,
            payload: Mutex::new(payload),
            enabled: AtomicBool::new(true),
            attributes: Mutex::default(),
        });
        if self.public {
            NODES.add(node.clone());
        }
        state.nodes.insert(id, node.clone());
        node
    }

    /// Removes a node and its edges.
    pub fn remove(&self, node: &Arc<Node>) {
        let mut state = lock(&self.state);
        state.nodes.remove(&node.id);
        state.edges.retain(|(from, to)| *from != node.id && *to != node.id);
        state.back.retain(|(from, to)| *from != node.id && *to != node.id);
        forget(node);
    }

    /// Adds edges: all or none.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE for one that exists, and from a node to itself. A cycle is refused
    /// when the graph is instantiated (measured).
    pub fn connect(&self, edges: &[(u32, u32)]) -> Result<(), i32> {
        let mut state = lock(&self.state);
        for (done, &(from, to)) in edges.iter().enumerate() {
            if from == to || !state.edges.insert((from, to)) {
                for &(from, to) in edges.iter().take(done) {
                    state.edges.remove(&(from, to));
                    state.back.remove(&(to, from));
                }
                return Err(status::INVALID_VALUE);
            }
            state.back.insert((to, from));
        }
        Ok(())
    }

    /// Removes edges: all or none.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE for one that does not exist.
    pub fn disconnect(&self, edges: &[(u32, u32)]) -> Result<(), i32> {
        let mut state = lock(&self.state);
        if !edges.iter().all(|edge| state.edges.contains(edge)) {
            return Err(status::INVALID_VALUE);
        }
        for &(from, to) in edges {
            state.edges.remove(&(from, to));
            state.back.remove(&(to, from));
        }
        Ok(())
    }

    /// Its nodes, in the order in which they were added.
    pub fn nodes(&self) -> Vec<Arc<Node>> {
        lock(&self.state).nodes.values().cloned().collect()
    }

    /// The node with this number.
    pub fn node(&self, id: u32) -> Option<Arc<Node>> {
        lock(&self.state).nodes.get(&id).cloned()
    }

    /// Nodes that wait for none.
    pub fn roots(&self) -> Vec<Arc<Node>> {
        let state = lock(&self.state);
        let is_root = |node: &&Arc<Node>| ends(&state.back, node.id).next().is_none();
        state.nodes.values().filter(is_root).cloned().collect()
    }

    /// Edges by the numbers of their nodes.
    pub fn edges(&self) -> Vec<(u32, u32)> {
        lock(&self.state).edges.iter().copied().collect()
    }

    /// The nodes that a node waits for, or that wait for it.
    pub fn neighbours(&self, id: u32, before: bool) -> Vec<Arc<Node>> {
        let state = lock(&self.state);
        let set = if before { &state.back } else { &state.edges };
        ends(set, id).filter_map(|other| state.nodes.get(&other).cloned()).collect()
    }

    /// These nodes and everything that they wait for.
    pub fn ancestors(&self, of: &[u32]) -> BTreeSet<u32> {
        let state = lock(&self.state);
        let (mut open, mut seen) = (of.to_vec(), BTreeSet::new());
        while let Some(at) = open.pop() {
            if seen.insert(at) {
                open.extend(ends(&state.back, at));
            }
        }
        seen
    }

    /// Its nodes in topological order; of several, the first added first. Nodes in a cycle are left
    /// out.
    pub fn order(&self) -> Vec<Arc<Node>> {
        let state = lock(&self.state);
        let count = |id: &u32| ends(&state.back, *id).count();
        let mut left: BTreeMap<u32, usize> =
            state.nodes.keys().map(|id| (*id, count(id))).collect();
        let mut ready: BTreeSet<u32> =
            left.iter().filter(|(_, n)| **n == 0).map(|(id, _)| *id).collect();
        let mut order = Vec::with_capacity(left.len());
        while let Some(id) = ready.pop_first() {
            order.extend(state.nodes.get(&id).cloned());
            for next in ends(&state.edges, id) {
                if let Some(n) = left.get_mut(&next) {
                    *n -= 1;
                    if *n == 0 {
                        ready.insert(next);
                    }
                }
            }
        }
        order
    }

    /// A copy, with the same numbers of nodes.
    pub fn copy(self: &Arc<Self>, public: bool, owned: bool) -> Arc<Graph> {
        self.copy_within(Weak::new(), public, owned)
    }

    fn copy_within(self: &Arc<Self>, parent: Weak<Graph>, public: bool, owned: bool) -> Arc<Graph> {
        let copy = Graph::within(parent, handle(self), public, owned);
        let from = lock(&self.state);
        let mut to = lock(&copy.state);
        to.next = from.next;
        to.edges.clone_from(&from.edges);
        to.back.clone_from(&from.back);
        to.objects.clone_from(&from.objects);
        to.values.clone_from(&from.values);
        for node in from.nodes.values() {
            let payload = match &*lock(&node.payload) {
                Payload::Child(child) => Payload::Child(child.copy(public, true)),
                Payload::Condition(node) => {
                    let parent = Arc::downgrade(&copy);
                    let body = |body: &Arc<Graph>| body.copy_within(parent.clone(), public, true);
                    let bodies = node.bodies.iter().map(body).collect();
                    Payload::Condition(Condition::new(node.value.clone(), node.kind, bodies))
                }
                other => other.clone(),
            };
            let made = copy.insert(&mut to, node.id, payload, handle(node));
            lock(&made.attributes).clone_from(&lock(&node.attributes));
        }
        drop(to);
        copy
    }

    /// Whether it allocates or frees memory.
    pub fn has_memory(&self) -> bool {
        self.nodes().iter().any(|node| match &*lock(&node.payload) {
            Payload::Alloc(_) | Payload::Free(_) => true,
            Payload::Child(child) => child.has_memory(),
            _ => false,
        })
    }

    /// Whether it has conditional nodes.
    pub fn has_conditions(&self) -> bool {
        self.nodes().iter().any(|node| matches!(&*lock(&node.payload), Payload::Condition(_)))
    }

    /// Claims a graph that may have one instance for a new one, which keeps the result.
    ///
    /// # Errors
    /// CUDA_ERROR_NOT_SUPPORTED while another instance exists.
    pub fn claim(&self) -> Result<Arc<()>, i32> {
        let mut single = lock(&self.single);
        if single.strong_count() > 0 {
            return Err(status::NOT_SUPPORTED);
        }
        let claim = Arc::new(());
        *single = Arc::downgrade(&claim);
        Ok(claim)
    }

    /// Changes the list of conditional values made for it.
    pub fn with_values<R>(&self, change: impl FnOnce(&mut Vec<Arc<Value>>) -> R) -> R {
        change(&mut lock(&self.state).values)
    }

    /// Invalidates its handle and those of its nodes.
    pub fn forget(self: &Arc<Self>) {
        GRAPHS.remove(handle(self));
        self.nodes().iter().for_each(forget);
    }

    /// Changes the list of user objects that it holds.
    pub fn with_objects<R>(&self, change: impl FnOnce(&mut Vec<Held>) -> R) -> R {
        change(&mut lock(&self.state).objects)
    }
}

/// Invalidates a node's handle.
fn forget(node: &Arc<Node>) {
    NODES.remove(handle(node));
    match &*lock(&node.payload) {
        Payload::Child(child) => child.forget(),
        Payload::Condition(node) => node.bodies.iter().for_each(Graph::forget),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn order_follows_edges_and_copies_are_apart() {
        let graph = Graph::new(0, false, false);
        let ids: Vec<u32> = (0..4).map(|_| graph.add(Payload::Empty, &[]).unwrap().id).collect();
        assert_eq!(graph.connect(&[(2, 0), (0, 3), (3, 1)]), Ok(()));
        let order = |graph: &Graph| graph.order().iter().map(|node| node.id).collect::<Vec<_>>();
        assert_eq!(order(&graph), [2, 0, 3, 1]);
        for wrong in [[(2, 0)], [(1, 1)]] {
            assert_eq!(graph.connect(&wrong), Err(status::INVALID_VALUE));
        }
        assert_eq!(graph.connect(&[(2, 3), (1, 1)]), Err(status::INVALID_VALUE));
        assert_eq!(graph.edges().len(), 3, "all or none");
        assert_eq!((graph.connect(&[(1, 2)]), order(&graph).len()), (Ok(()), 0), "a cycle");
        assert_eq!(graph.disconnect(&[(1, 2)]), Ok(()));
        let copy = graph.copy(false, false);
        assert_eq!(graph.disconnect(&[(2, 0), (0, 3), (3, 1)]), Ok(()));
        assert_eq!(graph.disconnect(&[(2, 0)]), Err(status::INVALID_VALUE));
        assert_eq!((order(&graph), order(&copy)), (ids, vec![2, 0, 3, 1]));
        copy.remove(&copy.node(3).unwrap());
        assert_eq!((copy.edges(), copy.ancestors(&[0]).len()), (vec![(2, 0)], 2));
        assert!(graph.add(Payload::Empty, &[9]).is_err());
    }
}
