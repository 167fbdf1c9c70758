//! Kernel nodes of HIP's graphs: recorded as launches whose stream is the graph, the node or the executable graph.
//!
//! A node is recorded with shape and argument values at the time they are set. Captured launches are ordinary
//! launches.
//!
//! Must not know: how an event is stored.

use cushim_abi::structs::{GraphNodeParams, HipKernelNodeParams};
use cushim_abi::types::*;

use super::launch::record;
use crate::forward::{launched, observed};
use crate::record::launch::LaunchRecord;
use crate::site::Site;

/// `hipGraphNodeTypeKernel`.
const NODE_KERNEL: i32 = 0;

/// The launch that a kernel node describes; its stream is `of`.
///
/// # Safety
/// `at` points to `hipKernelNodeParams` with valid argument lists.
unsafe fn node(at: usize, of: usize) -> LaunchRecord {
    // SAFETY: as the caller promises.
    let p = unsafe { (at as *const HipKernelNodeParams).read_unaligned() };
    let lists = [Ptr(p.args), Ptr(p.extra)];
    record(Func(p.func), p.grid, p.block, p.shared as usize, of, lists, 0)
}

/// The address of the kernel's parameters in a node's generic structure; `None` for another kind of node.
///
/// # Safety
/// `params` is null or points to `hipGraphNodeParams`.
unsafe fn kernel(params: Ptr) -> Option<usize> {
    if params.0 == 0 {
        return None;
    }
    // SAFETY: as the caller promises.
    let kind = unsafe { (params.0 as *const GraphNodeParams).read_unaligned() }.kind;
    (kind == NODE_KERNEL).then_some(params.0 + size_of::<GraphNodeParams>())
}

type AddNode = unsafe extern "C-unwind" fn(Out<Node>, Graph, Ptr, usize, Ptr) -> i32;
type SetParams = unsafe extern "C-unwind" fn(Node, Ptr) -> i32;
type ExecSetParams = unsafe extern "C-unwind" fn(GraphExec, Node, Ptr) -> i32;

/// A call about a node: recorded as a launch if it has a kernel's parameters, else as a call. `$of` is the stream
/// that is recorded.
macro_rules! about {
    ($site:ident, $kernel:expr, $of:expr, $real:ident($($arg:ident),*)) => {
        match $kernel {
            // SAFETY: the program's parameters, which HIP is about to read.
            Some(at) => launched!($site, unsafe { node(at, $of.0) }, $real($($arg),*)),
            None => observed!($site, [$($arg),*], $real($($arg),*)),
        }
    };
}

/// Parameters of a kernel, without a generic structure around them.
fn alone(params: Ptr) -> Option<usize> {
    (params.0 != 0).then_some(params.0)
}

/// `hipGraphAddKernelNode`.
pub unsafe fn graph_add_kernel_node(
    site: &'static Site,
    real: AddNode,
    out: Out<Node>,
    graph: Graph,
    dependencies: Ptr,
    count: usize,
    params: Ptr,
) -> i32 {
    about!(site, alone(params), graph, real(out, graph, dependencies, count, params))
}

/// `hipGraphAddNode`.
pub unsafe fn graph_add_node(
    site: &'static Site,
    real: AddNode,
    out: Out<Node>,
    graph: Graph,
    dependencies: Ptr,
    count: usize,
    params: Ptr,
) -> i32 {
    // SAFETY: the program's node parameters.
    let kernel = unsafe { kernel(params) };
    about!(site, kernel, graph, real(out, graph, dependencies, count, params))
}

/// `hipGraphKernelNodeSetParams`.
pub unsafe fn graph_kernel_node_set_params(
    site: &'static Site,
    real: SetParams,
    handle: Node,
    params: Ptr,
) -> i32 {
    about!(site, alone(params), handle, real(handle, params))
}

/// `hipGraphNodeSetParams`.
pub unsafe fn graph_node_set_params(
    site: &'static Site,
    real: SetParams,
    handle: Node,
    params: Ptr,
) -> i32 {
    // SAFETY: the program's node parameters.
    let kernel = unsafe { kernel(params) };
    about!(site, kernel, handle, real(handle, params))
}

/// `hipGraphExecKernelNodeSetParams`.
pub unsafe fn graph_exec_kernel_node_set_params(
    site: &'static Site,
    real: ExecSetParams,
    exec: GraphExec,
    handle: Node,
    params: Ptr,
) -> i32 {
    about!(site, alone(params), exec, real(exec, handle, params))
}

/// `hipGraphExecNodeSetParams`.
pub unsafe fn graph_exec_node_set_params(
    site: &'static Site,
    real: ExecSetParams,
    exec: GraphExec,
    handle: Node,
    params: Ptr,
) -> i32 {
    // SAFETY: the program's node parameters.
    let kernel = unsafe { kernel(params) };
    about!(site, kernel, exec, real(exec, handle, params))
}
