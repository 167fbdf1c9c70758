//! Conditional nodes (if, while, switch), whose bodies depend on a value that kernels set.
//!
//! Owns the values and their handles, which nodes may use one, and which body a value selects. A handle is the
//! address of its value in device memory, so a kernel sets it by a store. Source: CUDA Driver API,
//! `cuGraphConditionalHandleCreate`, `CUDA_CONDITIONAL_NODE_PARAMS`; CUDA Programming Guide, "Conditional Graph
//! Nodes". Must not know: how a body runs ([`super::steps`]).

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use cushim_abi::types::*;

use super::{Graph as Object, Node as Part, Payload, graph};
use crate::context::{self, Context as Owner};
use crate::entry::entry;
use crate::handle::handle;
use crate::state::{accelerator, at, give, take};
use crate::{memory, status};
use cushim_accel::locks::lock;
use cushim_accel::{Fill, MemoryKind};

/// `CU_GRAPH_COND_ASSIGN_DEFAULT`.
const ASSIGN_DEFAULT: u32 = 1;
/// Bytes of a value.
const VALUE: usize = 4;
/// Offset of the returned graphs in `CUDA_CONDITIONAL_NODE_PARAMS`.
const GRAPHS_OUT: usize = 16;
/// The most bodies of a switch: cushim's own bound, so that an absurd number takes no memory.
const MOST: u32 = 1 << 16;

/// A value that kernels set.
pub struct Value {
    /// Its address, which is its handle.
    address: u64,
    /// The id of its context.
    context: u64,
    /// The graph that it was made for.
    graph: Weak<Object>,
    /// Its value when a launch begins; none where it stays as it is.
    default: Option<u32>,
    /// A node uses it.
    used: AtomicBool,
}

static VALUES: Mutex<Option<HashMap<u64, Weak<Value>>>> = Mutex::new(None);

impl Value {
    fn new(graph: &Arc<Object>, context: &Owner, default: Option<u32>) -> Result<Arc<Value>, i32> {
        let address = memory::take::allocate(context.device, MemoryKind::Device, VALUE)?;
        let (context, graph, used) = (context.id, Arc::downgrade(graph), AtomicBool::new(false));
        let value = Arc::new(Value { address, context, graph, default, used });
        value.set(default.unwrap_or(0));
        lock(&VALUES).get_or_insert_default().insert(address, Arc::downgrade(&value));
        Ok(value)
    }

    fn set(&self, to: u32) {
        let from = (&raw const to).expose_provenance() as u64;
        // Our own memory: it cannot fail.
        let _ = accelerator().copy_now(self.address, from, VALUE);
    }

    fn get(&self) -> u32 {
        let mut value = 0u32;
        let to = (&raw mut value).expose_provenance() as u64;
        // As above; 0 ends every loop.
        let _ = accelerator().copy_now(to, self.address, VALUE);
        value
    }

    /// The first step of a launch.
    pub fn assign(&self) -> Option<Fill> {
        let (to, size) = (self.address, VALUE);
        self.default.map(|value| Fill { to, value, size, width: 1, height: 1, pitch: VALUE })
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        if let Some(values) = &mut *lock(&VALUES) {
            values.remove(&self.address);
        }
        accelerator().free(self.address);
    }
}

/// `CUgraphConditionalNodeType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The first body if the value is not 0, the second, if there is one, if it is.
    If,
    /// The body as long as the value is not 0.
    While,
    /// The body with the value's number, if there is one.
    Switch,
}

impl Kind {
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE for an unknown kind, or a wrong number of bodies.
    fn new(kind: i32, bodies: u32) -> Result<Kind, i32> {
        match (kind, bodies) {
            (0, 1 | 2) => Ok(Kind::If),
            (1, 1) => Ok(Kind::While),
            (2, 1..=MOST) => Ok(Kind::Switch),
            (2, more) if more > MOST => Err(status::OUT_OF_MEMORY),
            _ => Err(status::INVALID_VALUE),
        }
    }

    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::If => "if",
            Kind::While => "while",
            Kind::Switch => "switch",
        }
    }

    /// The number of the body that a value chooses; there may be none.
    fn body(self, value: u32) -> usize {
        match self {
            Kind::If | Kind::While => usize::from(value == 0),
            Kind::Switch => value as usize,
        }
    }
}

/// What a conditional node does.
pub struct Condition {
    /// The value that chooses.
    pub value: Arc<Value>,
    /// How it chooses.
    pub kind: Kind,
    /// The bodies: graphs that belong to the node.
    pub bodies: Vec<Arc<Object>>,
    /// Their handles, to which `phGraph_out` points.
    shown: Box<[usize]>,
}

impl Condition {
    /// With empty `bodies` as the node's own.
    pub fn new(value: Arc<Value>, kind: Kind, bodies: Vec<Arc<Object>>) -> Arc<Condition> {
        let shown = bodies.iter().map(handle).collect();
        Arc::new(Condition { value, kind, bodies, shown })
    }

    /// The number of the body to run now, if any.
    pub fn choice(&self) -> Option<usize> {
        Some(self.kind.body(self.value.get())).filter(|body| *body < self.bodies.len())
    }

    /// `CUDA_CONDITIONAL_NODE_PARAMS`.
    pub fn raw(&self) -> [u64; 4] {
        let kind = match self.kind {
            Kind::If => 0,
            Kind::While => 1,
            Kind::Switch => 2,
        };
        let context = context::CONTEXTS.all().into_iter().find(|c| c.id == self.value.context);
        let sizes = kind | (self.bodies.len() as u64) << 32;
        let context = context.map_or(0, |context| context.handle() as u64);
        [self.value.address, sizes, self.shown.as_ptr().expose_provenance() as u64, context]
    }
}

/// A conditional node of a graph, by `CUDA_CONDITIONAL_NODE_PARAMS`: handle, kind and number of
/// bodies, place for the bodies, context. Writes the bodies' handles there.
///
/// # Safety
/// `from` is null or such a structure.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE for an invalid handle or one of another graph, context or node, and for
/// an invalid kind or number of bodies.
pub unsafe fn node(to: &Arc<Object>, from: Ptr) -> Result<Payload, i32> {
    // SAFETY: null, which `take` refuses, or a structure that begins with these four words, by the caller's promise.
    let [address, sizes, _, context]: [u64; 4] = unsafe { take(from)? };
    let kind = Kind::new(sizes as i32, (sizes >> 32) as u32)?;
    let value = lock(&VALUES).as_ref().and_then(|all| all.get(&address)?.upgrade());
    let value = value.ok_or(status::INVALID_VALUE)?;
    let owner = context::of(context as usize)?;
    // In the graph that it was made for, or in a body inside that.
    let made_for = |graph: &Arc<Object>| std::ptr::eq(Arc::as_ptr(graph), value.graph.as_ptr());
    let within = to.lineage().iter().any(made_for);
    if owner.id != value.context || !within || value.used.swap(true, Ordering::AcqRel) {
        return Err(status::INVALID_VALUE);
    }
    let bodies = (0..sizes >> 32).map(|_| Object::body(to)).collect();
    let made = Condition::new(value, kind, bodies);
    let shown = made.shown.as_ptr().expose_provenance();
    // SAFETY: within the structure, which is not null.
    give(unsafe { at(Ptr(from.0 + GRAPHS_OUT)) }, shown)?;
    Ok(Payload::Condition(made))
}

/// Whether a value made for a graph, or for a body in it, is used by no node.
pub fn is_any_unused(graph: &Object) -> bool {
    let unused = |value: &Arc<Value>| !value.used.load(Ordering::Acquire);
    let inner = |node: &Arc<Part>| match &*lock(&node.payload) {
        Payload::Condition(node) => node.bodies.iter().any(|body| is_any_unused(body)),
        _ => false,
    };
    graph.with_values(|values| values.iter().any(unused)) || graph.nodes().iter().any(inner)
}

/// Whether the nodes of a body may be there.
///
/// # Errors
/// CUDA_ERROR_NOT_SUPPORTED for a kind of node that CUDA does not allow in bodies.
pub fn check_body(body: &Object) -> Result<(), i32> {
    body.nodes().iter().try_for_each(|node| match &*lock(&node.payload) {
        Payload::Kernel(_) | Payload::Copy(_) | Payload::Fill(_) | Payload::Empty => Ok(()),
        // Its bodies are checked on their own.
        Payload::Condition(_) => Ok(()),
        Payload::Child(child) => check_body(child),
        _ => Err(status::NOT_SUPPORTED),
    })
}

entry! {
    fn cuGraphConditionalHandleCreate (pHandle_out: Out<u64>, hGraph: Graph, ctx: Context, defaultLaunchValue: u32, flags: Flags) {
        let graph = graph(hGraph)?;
        if pHandle_out.is_null() || flags.0 & !ASSIGN_DEFAULT != 0 {
            return Err(status::INVALID_VALUE);
        }
        let context = context::of(ctx.0)?;
        let default = (flags.0 & ASSIGN_DEFAULT != 0).then_some(defaultLaunchValue);
        let value = Value::new(&graph, &context, default)?;
        let handle = value.address;
        graph.with_values(|values| values.push(value));
        give(pHandle_out, handle)
    }
}
