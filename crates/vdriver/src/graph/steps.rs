//! Execution of a graph's nodes: their order, their queues, and the bodies of conditional nodes.
//!
//! Owns the order of an instance's nodes and their submission. A child graph takes the place of its node. A
//! conditional node runs on a host thread when everything before it is complete: it reads its value, runs a body on
//! the body's own queues, and waits for it. Must not know: streams, how instances are created and updated.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use super::condition::{self, Condition, Kind, Value};
use super::device;
use super::plan::Plan;
use super::work::KernelNode;
use super::{Graph as Object, Node as Part, Payload, memory};
use crate::context::Context;
use crate::state::accelerator;
use crate::status;
use crate::stream::operation::perform;
use crate::stream::slot::{host_behind, send};
use cushim_accel::locks::lock;
use cushim_accel::{Dispatch, Queue, Signal, Work};

/// The owner of nodes that run.
pub trait Owner: Send + Sync {
    /// A kernel node as a launch of this owner.
    fn dispatch(self: Arc<Self>, kernel: &KernelNode) -> Dispatch;
}

/// Queues by lane.
type Queues = Vec<Arc<dyn Queue>>;

/// The nodes of a graph, or of one body of a conditional node.
#[derive(Default)]
pub struct Steps {
    /// Every node in topological order, with the nodes of child graphs instead of their node.
    pub order: Vec<Arc<Part>>,
    /// Which of them run in parallel; one step per node.
    pub plan: Plan,
    /// Queues that were made for it, and their device.
    queues: Mutex<(usize, Queues)>,
    /// The bodies of conditional nodes, by the node's index in the order.
    bodies: HashMap<usize, Arc<[Steps]>>,
}

/// Nodes in order, and what each waits for.
#[derive(Default)]
struct Flat {
    order: Vec<Arc<Part>>,
    after: Vec<Vec<usize>>,
    bodies: HashMap<usize, Arc<[Steps]>>,
}

/// The nodes of an instance, by the handle of the node in the program's graph.
pub type Named = HashMap<usize, Arc<Part>>;

impl Flat {
    /// Appends the nodes of a graph, which wait for the nodes `before` it; fails for a cycle.
    /// Returns the nodes that later work waits for.
    fn add(
        &mut self,
        graph: &Object,
        before: &[usize],
        named: &mut Named,
    ) -> Result<Vec<usize>, i32> {
        let own = graph.order();
        if own.len() != graph.nodes().len() {
            return Err(status::INVALID_VALUE);
        }
        let mut from: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut open: HashSet<u32> = own.iter().map(|node| node.id).collect();
        for (a, b) in graph.edges() {
            from.entry(b).or_default().push(a);
            open.remove(&a);
        }
        let mut ends: HashMap<u32, Vec<usize>> = HashMap::new();
        let union = |ends: &HashMap<u32, Vec<usize>>, of: &[u32]| -> Vec<usize> {
            let all: BTreeSet<usize> =
                of.iter().filter_map(|id| ends.get(id)).flatten().copied().collect();
            all.into_iter().collect()
        };
        let mut last = Vec::new();
        for node in own {
            named.insert(node.original, node.clone());
            let after = from.get(&node.id).map_or_else(|| before.to_vec(), |of| union(&ends, of));
            let id = node.id;
            if open.contains(&id) {
                last.push(id);
            }
            let payload = lock(&node.payload).clone();
            if device::is_updatable(&node) {
                self.bodies.insert(self.order.len(), Arc::new([Steps::alone(node.clone())]));
            }
            if let Payload::Condition(condition) = &payload {
                let body = |body: &Arc<Object>| {
                    condition::check_body(body)?;
                    Steps::of(body, named)
                };
                let bodies = condition.bodies.iter().map(body).collect::<Result<_, _>>()?;
                self.bodies.insert(self.order.len(), bodies);
            }
            let end = match payload {
                Payload::Child(child) => self.add(&child, &after, named)?,
                _ => {
                    self.order.push(node);
                    self.after.push(after);
                    vec![self.order.len() - 1]
                }
            };
            ends.insert(id, end);
        }
        Ok(if last.is_empty() { before.to_vec() } else { union(&ends, &last) })
    }
}

impl Steps {
    /// The steps of an instance's own graph; `named` gets its nodes, including those of bodies.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE for one with a cycle, CUDA_ERROR_NOT_SUPPORTED for a body with
    /// nodes that are not allowed in bodies.
    pub fn of(graph: &Object, named: &mut Named) -> Result<Steps, i32> {
        let mut flat = Flat::default();
        flat.add(graph, &[], named)?;
        let Flat { order, after, bodies } = flat;
        Ok(Steps { order, plan: Plan::new(after), queues: Mutex::default(), bodies })
    }

    /// The steps of one node.
    fn alone(node: Arc<Part>) -> Steps {
        let plan = Plan::new(vec![Vec::new()]);
        Steps { order: vec![node], plan, ..Steps::default() }
    }

    /// Whether some nodes are only read when they are reached: conditional ones, and those that
    /// kernels change.
    pub fn has_bodies(&self) -> bool {
        !self.bodies.is_empty()
    }

    /// The values of their conditional nodes, at any depth.
    pub fn values(&self) -> Vec<Arc<Value>> {
        let mut all = Vec::new();
        for (place, bodies) in &self.bodies {
            if let Some(condition) = self.condition(*place) {
                all.push(condition.value.clone());
            }
            bodies.iter().for_each(|body| all.extend(body.values()));
        }
        all
    }

    fn condition(&self, place: usize) -> Option<Arc<Condition>> {
        match &*lock(&self.order.get(place)?.payload) {
            Payload::Condition(condition) => Some(condition.clone()),
            _ => None,
        }
    }

    /// Runs the conditional node at an index, on a host thread that may wait.
    pub fn branch(
        &self,
        place: usize,
        condition: &Arc<Condition>,
        context: &Arc<Context>,
        priority: i32,
        run: &Arc<dyn Owner>,
    ) -> impl FnOnce() + Send + 'static {
        let (condition, bodies) = (condition.clone(), self.bodies.get(&place).cloned());
        let (context, run) = (context.clone(), run.clone());
        move || {
            let Some(bodies) = bodies else { return };
            // A failure ends every loop.
            while context.healthy().is_ok()
                && let Some(body) = condition.choice().and_then(|body| bodies.get(body))
                && body.run(&context, priority, &run).is_ok()
                && condition.kind == Kind::While
            {}
        }
    }

    /// Runs a node at an index that kernels may change, with its present parameters, on a host
    /// thread that may wait. Nothing for other nodes.
    pub fn late(
        &self,
        place: usize,
        context: &Arc<Context>,
        priority: i32,
        run: &Arc<dyn Owner>,
    ) -> Option<impl FnOnce() + Send + 'static> {
        let node = self.order.get(place)?;
        let bodies = self.bodies.get(&place).filter(|_| device::is_updatable(node))?.clone();
        let (context, run) = (context.clone(), run.clone());
        Some(move || {
            if context.healthy().is_ok() {
                // Where no queue can be made, the context has failed already.
                for body in bodies.iter() {
                    let _ = body.run(&context, priority, &run);
                }
            }
        })
    }

    /// Runs them on their own queues, and waits until they have ended.
    ///
    /// # Errors
    /// Those of [`Steps::queues`].
    pub fn run(
        &self,
        context: &Arc<Context>,
        priority: i32,
        run: &Arc<dyn Owner>,
    ) -> Result<(), i32> {
        let queues = self.queues(context.device, priority, self.plan.lanes)?;
        let ends = self.submit(context, priority, &queues, None, run);
        ends.iter().for_each(|end| drop(end.wait()));
        Ok(())
    }

    /// Its own queues, one per lane, the same for every run on a device.
    ///
    /// # Errors
    /// What the accelerator says.
    pub fn queues(&self, device: usize, priority: i32, count: usize) -> Result<Queues, i32> {
        let mut own = lock(&self.queues);
        if own.0 != device || own.1.len() != count {
            let make = |_| accelerator().queue(device, priority).map_err(|why| status::of(&why));
            *own = (device, (0..count).map(make).collect::<Result<_, _>>()?);
        }
        Ok(own.1.clone())
    }

    /// Submits all of them to the queues of their lanes, the first behind `begin`. Returns the ends
    /// of those that no other waits for.
    pub fn submit(
        &self,
        context: &Arc<Context>,
        priority: i32,
        queues: &[Arc<dyn Queue>],
        begin: Option<&Signal>,
        run: &Arc<dyn Owner>,
    ) -> Vec<Signal> {
        let mut ends: Vec<Signal> = Vec::with_capacity(self.order.len());
        for (place, (node, step)) in self.order.iter().zip(&self.plan.steps).enumerate() {
            let Some(queue) = queues.get(step.lane) else { break };
            let mut waits: Vec<Signal> =
                step.after.iter().filter_map(|n| ends.get(*n)).cloned().collect();
            if waits.is_empty() {
                waits.extend(begin.cloned());
            }
            waits.retain(|wait| !wait.is_done());
            if let Some(late) = self.late(place, context, priority, run) {
                ends.push(on_host(context, &**queue, waits, late));
                continue;
            }
            let done = Signal::new();
            let work = match &*lock(&node.payload) {
                _ if !node.enabled.load(Ordering::Acquire) => Work::Barrier,
                Payload::Kernel(kernel) => Work::Dispatch(Box::new(run.clone().dispatch(kernel))),
                Payload::Copy(node) => Work::Copy(node.copy),
                Payload::Fill(node) => node.fill.map_or(Work::Barrier, Work::Fill),
                Payload::Host(function) => {
                    let (function, own) = (*function, context.clone());
                    let call = move || {
                        if own.healthy().is_ok() {
                            function.call();
                        }
                    };
                    ends.push(on_host(context, &**queue, waits, call));
                    continue;
                }
                Payload::Batch(batch) => {
                    let (batch, own) = (batch.clone(), context.clone());
                    let call = move || perform(&own, &batch.operations);
                    ends.push(on_host(context, &**queue, waits, call));
                    continue;
                }
                Payload::Condition(condition) => {
                    let branch = self.branch(place, condition, context, priority, run);
                    ends.push(on_host(context, &**queue, waits, branch));
                    continue;
                }
                Payload::Record(event) => {
                    event.set(done.clone());
                    Work::Barrier
                }
                Payload::Wait(event) => {
                    waits.extend(event.last());
                    Work::Barrier
                }
                Payload::Alloc(allocation) => {
                    memory::take_now(allocation);
                    Work::Barrier
                }
                Payload::Free(address) => {
                    drop(memory::give_back(*address));
                    Work::Barrier
                }
                Payload::Child(_) | Payload::Empty => Work::Barrier,
            };
            send(context, &**queue, work, waits, done.clone());
            ends.push(done);
        }
        let last = self.plan.steps.iter().zip(ends).filter(|(step, _)| step.last);
        last.map(|(_, end)| end).collect()
    }
}

/// Runs a function on a host thread behind the work in a queue; returns its end.
fn on_host(
    context: &Arc<Context>,
    queue: &dyn Queue,
    waits: Vec<Signal>,
    function: impl FnOnce() + Send + 'static,
) -> Signal {
    let (reached, done) = (Signal::new(), Signal::new());
    send(context, queue, Work::Barrier, waits, reached.clone());
    host_behind(&reached, done.clone(), function);
    done
}
