//! Graphs that kernels may launch, with the allowed node types; and nodes that kernels may change.
//!
//! Source: CUDA Driver API, `cuGraphInstantiateWithParams`, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH,
//! CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE. Must not know: how they are launched ([`super::run`]).

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Weak};

use super::{Graph as Object, Node as Part, Payload};
use crate::handle::handle;
use crate::memory::home::Home;
use crate::memory::shape::plan;
use crate::status;
use cushim_accel::locks::lock;
use cushim_accel::{NodeChange, NodeField};

/// `CUmemorytype` of an array.
const ARRAY: u32 = 3;
/// The most blocks of a grid.
const MOST_BLOCKS: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];

/// Why a graph cannot be launched by kernels.
pub struct Refused {
    /// `CUgraphInstantiateResult`.
    pub result: i32,
    /// The node that is the reason, if any.
    pub node: Option<Arc<Part>>,
}

/// Why kernels cannot launch a graph, if they cannot.
pub fn refused(graph: &Object) -> Option<Refused> {
    let mut found = 0;
    match first_refused(graph, &mut found) {
        // CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE.
        Some(node) => Some(Refused { result: 3, node: Some(node) }),
        None if found == 0 => Some(Refused { result: 2, node: None }),
        None => None,
    }
}

/// The first node that is not allowed; counts those that do something.
fn first_refused(graph: &Object, found: &mut usize) -> Option<Arc<Part>> {
    graph.nodes().into_iter().find_map(|node| {
        let payload = lock(&node.payload).clone();
        let good = match payload {
            Payload::Kernel(kernel) => {
                let kernels = kernel.dispatch.code.kernels();
                // Kernels in such graphs may not launch grids.
                kernels.get(kernel.dispatch.kernel).is_some_and(|kernel| !kernel.launches_grids)
            }
            Payload::Copy(copy) => {
                let arrays = [&copy.shape.from, &copy.shape.to].map(|end| end.kind as u32);
                let homes = plan(&copy.shape);
                let reached = |home| home != Home::Pageable;
                let there = homes.is_ok_and(|found| {
                    found.is_none_or(|(_, to, from)| reached(to) && reached(from))
                });
                there && !arrays.contains(&ARRAY)
            }
            Payload::Fill(_) => true,
            Payload::Child(child) => return first_refused(&child, found),
            _ => false,
        };
        *found += usize::from(good);
        (!good).then_some(node)
    })
}

/// `CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE`: whether it is updatable, 4 unused bytes, the
/// handle for kernels.
pub const UPDATABLE: i32 = 13;

/// The nodes of instances that kernels may change, by the handle of the node in the program's graph.
static CHANGED: Mutex<BTreeMap<u64, Weak<Part>>> = Mutex::new(BTreeMap::new());

/// Whether kernels may change a node.
pub fn is_updatable(node: &Part) -> bool {
    lock(&node.attributes)
        .iter()
        .any(|(kept, value)| *kept == UPDATABLE && value.first() == Some(&1))
}

/// Whether kernels may change a node of a graph, or of a graph in it.
pub fn has_updatable(graph: &Object) -> bool {
    graph.nodes().iter().any(|node| match &*lock(&node.payload) {
        Payload::Child(child) => has_updatable(child),
        Payload::Condition(node) => node.bodies.iter().any(|body| has_updatable(body)),
        _ => is_updatable(node),
    })
}

/// Lets kernels change a kernel node; returns the attribute's value, with the handle for them.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE for a value other than 0 and 1, and for revoking it.
pub fn allow(node: &Arc<Part>, wanted: i32) -> Result<[u8; 64], i32> {
    let mut value = [0; 64];
    match (wanted, is_updatable(node)) {
        (0, false) => return Ok(value),
        (1, _) => {}
        _ => return Err(status::INVALID_VALUE),
    }
    let bytes = (handle(node) as u64).to_le_bytes();
    value.iter_mut().skip(8).zip(bytes).for_each(|(to, from)| *to = from);
    if let Some(first) = value.first_mut() {
        *first = 1;
    }
    let mut attributes = lock(&node.attributes);
    attributes.retain(|(kept, _)| *kept != UPDATABLE);
    attributes.push((UPDATABLE, value));
    Ok(value)
}

/// Directs kernels' changes to the nodes of this instance.
pub fn register<'a>(nodes: impl Iterator<Item = (&'a usize, &'a Arc<Part>)>) {
    let mut all = lock(&CHANGED);
    all.retain(|_, node| node.strong_count() > 0);
    for (original, node) in nodes.filter(|(_, node)| is_updatable(node)) {
        all.insert(*original as u64, Arc::downgrade(node));
    }
}

/// Changes nodes, all or none.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE for a node that kernels may not change, and for an invalid change.
pub fn update(changes: &[NodeChange]) -> Result<(), i32> {
    let found: Option<Vec<_>> = {
        let all = lock(&CHANGED);
        changes.iter().map(|change| all.get(&change.node)?.upgrade()).collect()
    };
    let found = found.ok_or(status::INVALID_VALUE)?;
    for (node, change) in found.iter().zip(changes) {
        check(node, &change.field)?;
    }
    for (node, change) in found.iter().zip(changes) {
        let Payload::Kernel(kernel) = &mut *lock(&node.payload) else { continue };
        match &change.field {
            NodeField::Enabled(enabled) => node.enabled.store(*enabled, Ordering::Release),
            NodeField::Grid(grid) => kernel.dispatch.grid = *grid,
            NodeField::Parameter(offset, bytes) => {
                let to = kernel.dispatch.arguments.iter_mut().skip(*offset as usize);
                to.zip(bytes).for_each(|(to, from)| *to = *from);
            }
        }
    }
    Ok(())
}

fn check(node: &Part, field: &NodeField) -> Result<(), i32> {
    let Payload::Kernel(kernel) = &*lock(&node.payload) else { return Err(status::INVALID_VALUE) };
    let dispatch = &kernel.dispatch;
    let good = match field {
        NodeField::Enabled(_) => true,
        NodeField::Grid(grid) => {
            let cluster = dispatch.cluster.unwrap_or([1; 3]);
            let whole = |(side, part): (&u32, u32)| part > 0 && side.is_multiple_of(part);
            grid.iter().zip(MOST_BLOCKS).all(|(side, most)| *side > 0 && *side <= most)
                && grid.iter().zip(cluster).all(whole)
        }
        NodeField::Parameter(offset, bytes) => {
            let end = offset.checked_add(bytes.len() as u64);
            end.is_some_and(|end| end <= dispatch.arguments.len() as u64)
        }
    };
    if good { Ok(()) } else { Err(status::INVALID_VALUE) }
}
