//! Kernel nodes, and the general form of nodes (`cudaGraphAddNode`).
//!
//! Owns the conversion between host stubs and the driver's kernels, and of `cudaGraphNodeParams` to
//! `CUgraphNodeParams`, which differ for kernels and copies, and in contexts, which the runtime's structure lacks.
//! Must not know: how kernels are found.

use std::mem::offset_of;

use cushim_abi::structs::KernelNodeParams;
use cushim_abi::types::*;

use crate::context;
use crate::copy::planes::{from_driver, read, to_driver};
use crate::error::code;
use crate::forward::{address, address_mut, done, functions, put};
use crate::layout::*;
use crate::registry;
use cushim_vbase::api;

/// A kernel node in the driver's form.
fn kernel<const MAJOR: usize>(given: &KernelNodeParams) -> Result<DriverKernelNode, Status> {
    context::ready()?;
    let handle = registry::kernel::<MAJOR>(Func(given.func))?;
    let KernelNodeParams { grid, block, shared, args, extra, .. } = *given;
    Ok(DriverKernelNode { func: 0, grid, block, shared, args, extra, kernel: handle.0, context: 0 })
}

/// The stub or handle by which the program named the kernel.
fn func(node: &DriverKernelNode) -> usize {
    registry::stub(Func(if node.kernel == 0 { node.func } else { node.kernel })).0
}

functions! {
    cudaGraphAddKernelNode (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, pNodeParams: Ptr) {
        // SAFETY: a cudaKernelNodeParams.
        done(unsafe { read(pNodeParams) }.and_then(|given| kernel::<MAJOR>(&given)).and_then(|node| {
            context::attempt(|| {
                // SAFETY: the program's arguments, and a structure of ours.
                unsafe { api::cuGraphAddKernelNode_v2(pGraphNode, graph, pDependencies, numDependencies, address(&node)) }
            })
        }))
    }

    cudaGraphKernelNodeSetParams (node: Node, pNodeParams: Ptr) {
        // SAFETY: a cudaKernelNodeParams.
        done(unsafe { read(pNodeParams) }.and_then(|given| kernel::<MAJOR>(&given)).and_then(|params| {
            // SAFETY: the program's node, and a structure of ours with the program's argument pointers.
            context::attempt(|| unsafe { api::cuGraphKernelNodeSetParams_v2(node, address(&params)) })
        }))
    }

    cudaGraphExecKernelNodeSetParams (hGraphExec: GraphExec, node: Node, pNodeParams: Ptr) {
        // SAFETY: a cudaKernelNodeParams.
        done(unsafe { read(pNodeParams) }.and_then(|given| kernel::<MAJOR>(&given)).and_then(|params| {
            // SAFETY: the program's graph and node, and a structure of ours with the program's argument pointers.
            context::attempt(|| unsafe { api::cuGraphExecKernelNodeSetParams_v2(hGraphExec, node, address(&params)) })
        }))
    }

    cudaGraphKernelNodeGetParams (node: Node, pNodeParams: Ptr) {
        if pNodeParams.0 == 0 {
            return done(Err(code::INVALID_VALUE));
        }
        let mut found = DriverKernelNode::default();
        let at = address_mut(&mut found);
        // SAFETY: room for the driver's structure.
        done(context::attempt(|| unsafe { api::cuGraphKernelNodeGetParams_v2(node, at) }).map(|()| {
            let DriverKernelNode { grid, block, shared, args, extra, .. } = found;
            let given = KernelNodeParams { func: func(&found), grid, block, shared, args, extra };
            // SAFETY: the program's place for a cudaKernelNodeParams.
            unsafe { put(pNodeParams, given) };
        }))
    }

    cudaGraphAddNode_12 (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, nodeParams: Ptr) {
        done(general::<MAJOR>(nodeParams, |params| {
            // SAFETY: the program's arguments, and a structure of ours.
            unsafe { api::cuGraphAddNode(pGraphNode, graph, pDependencies, numDependencies, params) }
        }))
    }

    cudaGraphAddNode (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, dependencyData: Ptr, numDependencies: usize, nodeParams: Ptr) {
        done(general::<MAJOR>(nodeParams, |params| {
            // SAFETY: the program's arguments, and a structure of ours in the place of its own.
            unsafe { api::cuGraphAddNode_v2(pGraphNode, graph, pDependencies, dependencyData, numDependencies, params) }
        }))
    }

    cudaGraphAddNode_v2 (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, dependencyData: Ptr, numDependencies: usize, nodeParams: Ptr) {
        done(general::<MAJOR>(nodeParams, |params| {
            // SAFETY: the program's arguments, and a structure of ours in the place of its own.
            unsafe { api::cuGraphAddNode_v2(pGraphNode, graph, pDependencies, dependencyData, numDependencies, params) }
        }))
    }

    cudaGraphNodeSetParams (node: Node, nodeParams: Ptr) {
        done(general::<MAJOR>(nodeParams, |params| {
            // SAFETY: the program's node, and a structure of ours in the place of its own.
            unsafe { api::cuGraphNodeSetParams(node, params) }
        }))
    }

    cudaGraphExecNodeSetParams (graphExec: GraphExec, node: Node, nodeParams: Ptr) {
        done(general::<MAJOR>(nodeParams, |params| {
            // SAFETY: the program's graph and node, and a structure of ours in the place of its own.
            unsafe { api::cuGraphExecNodeSetParams(graphExec, node, params) }
        }))
    }

    cudaGraphNodeGetParams (node: Node, nodeParams: Ptr) {
        if nodeParams.0 == 0 {
            return done(Err(code::INVALID_VALUE));
        }
        let mut params = NodeParams { kind: 0, reserved: [0; 3], node: [0; 29], tail: 0 };
        let at = address_mut(&mut params);
        // SAFETY: room for the driver's structure.
        done(context::attempt(|| unsafe { api::cuGraphNodeGetParams(node, at) }).and_then(|()| {
            let given = of_driver(params)?;
            // SAFETY: the program's place for a cudaGraphNodeParams.
            unsafe { put(nodeParams, given) };
            Ok(())
        }))
    }
}

/// The values of `cudaGraphNodeType` that are used here.
mod kind {
    pub const KERNEL: i32 = 0;
    pub const MEMCPY: i32 = 1;
    pub const MEMSET: i32 = 2;
    pub const MEM_ALLOC: i32 = 10;
    pub const CONDITIONAL: i32 = 13;
}

/// Words from the union's start: a memset's context, a conditional node's context and its returned
/// graphs, an allocation's address.
const MEMSET_CONTEXT: usize = 5;
const CONDITIONAL_GRAPHS: usize = 2;
const CONDITIONAL_CONTEXT: usize = 3;
const ALLOCATED: usize = offset_of!(MemAllocNodeParams, ptr) / 8;

/// Reads the union as one of its members.
fn member<T: Copy>(params: &NodeParams) -> T {
    const { assert!(size_of::<T>() <= 29 * 8 && align_of::<T>() <= 8) };
    // SAFETY: the union is as large, and every bit pattern is a `T` of the layouts module.
    unsafe { params.node.as_ptr().cast::<T>().read() }
}

fn with_member<T: Copy>(params: &NodeParams, value: T) -> NodeParams {
    const { assert!(size_of::<T>() <= 29 * 8 && align_of::<T>() <= 8) };
    let mut out = NodeParams { node: [0; 29], ..*params };
    // SAFETY: the array has room for a `T` and is aligned for one, which the assertion says.
    unsafe { out.node.as_mut_ptr().cast::<T>().write(value) };
    out
}

/// A general node in the driver's form.
fn for_driver<const MAJOR: usize>(given: &NodeParams) -> Result<NodeParams, Status> {
    Ok(match given.kind {
        kind::KERNEL => {
            let KernelNodeV2 { func, grid, block, shared, args, extra, context, .. } =
                member(given);
            let plain = KernelNodeParams { func, grid, block, shared, args, extra };
            with_member(given, DriverKernelNode { context, ..kernel::<MAJOR>(&plain)? })
        }
        kind::MEMCPY => {
            let node: MemcpyNode = member(given);
            let context = match node.context {
                0 => context::current_context()?.0,
                named => named,
            };
            let copy = to_driver(&node.copy)?;
            with_member(given, DriverMemcpyNode { flags: node.flags, reserved: 0, context, copy })
        }
        kind::MEMSET | kind::CONDITIONAL => {
            let at = if given.kind == kind::MEMSET { MEMSET_CONTEXT } else { CONDITIONAL_CONTEXT };
            let mut out = *given;
            if let Some(context @ 0) = out.node.get_mut(at) {
                *context = context::current_context()?.0 as u64;
            }
            out
        }
        _ => *given,
    })
}

/// The inverse of [`for_driver`].
fn of_driver(found: NodeParams) -> Result<NodeParams, Status> {
    Ok(match found.kind {
        kind::KERNEL => {
            let node: DriverKernelNode = member(&found);
            let DriverKernelNode { grid, block, shared, args, extra, context, .. } = node;
            let func = func(&node);
            with_member(
                &found,
                KernelNodeV2 { func, grid, block, shared, args, extra, context, function_type: 0 },
            )
        }
        kind::MEMCPY => {
            let node: DriverMemcpyNode = member(&found);
            let DriverMemcpyNode { flags, context, .. } = node;
            with_member(
                &found,
                MemcpyNode { flags, reserved: 0, context, copy: from_driver(&node.copy)? },
            )
        }
        _ => found,
    })
}

/// Passes a general node to the driver, and copies back what the driver wrote into it.
fn general<const MAJOR: usize>(params: Ptr, call: impl Fn(Ptr) -> i32) -> Result<(), Status> {
    context::ready()?;
    // SAFETY: a cudaGraphNodeParams.
    let given: NodeParams = unsafe { read(params) }?;
    let mut ours = for_driver::<MAJOR>(&given)?;
    let at = address_mut(&mut ours);
    context::attempt(|| call(at))?;
    let written = match ours.kind {
        kind::MEM_ALLOC => ALLOCATED,
        kind::CONDITIONAL => CONDITIONAL_GRAPHS,
        _ => return Ok(()),
    };
    if let Some(word) = ours.node.get(written) {
        let place = params.0 + offset_of!(NodeParams, node) + written * 8;
        // SAFETY: within the program's structure, where CUDA writes the same.
        unsafe { put(Ptr(place), *word) };
    }
    Ok(())
}
