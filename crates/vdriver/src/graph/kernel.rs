//! Kernel nodes.
//!
//! Source: CUDA Driver API, `cuGraphAddKernelNode`, `cuGraphKernelNodeSetAttribute`. Must not know: how parameters
//! become a launch ([`super::params`]).

use cushim_abi::types::*;

use super::params::{kernel, replace};
use super::work::{KernelNode, RawKernel};
use super::{Payload, device, graph, node};
use crate::argument::{At, Place};
use crate::entry::entry;
use crate::state::{at, give, pointer};
use crate::{cluster, function_api, status};
use cushim_accel::locks::lock;

unsafe fn add(
    to: Place<Node>,
    graph: Graph,
    dependencies: (Ptr, usize),
    params: Ptr,
    later: bool,
) -> Result<(), i32> {
    let graph = self::graph(graph)?;
    // SAFETY: an entry point's arguments: a list of as many nodes as it says, and a structure of parameters.
    unsafe { super::build::add(to, &graph, dependencies, || kernel(params, later)) }
}

unsafe fn set(hnode: Node, params: Ptr, later: bool) -> Result<(), i32> {
    let (node, _) = node(hnode)?;
    // SAFETY: an entry point's argument: null or a structure of a kernel node's parameters.
    let made = unsafe { kernel(params, later)? };
    replace(&mut lock(&node.payload), made)
}

unsafe fn set_exec(exec: GraphExec, node: Node, params: Ptr, later: bool) -> Result<(), i32> {
    let exec = super::exec::exec(exec)?;
    // SAFETY: an entry point's argument: null or a structure of a kernel node's parameters.
    let made = unsafe { kernel(params, later)? };
    exec.replace(node, made)
}

/// A kernel node's attribute until it is set: zeros, except the cooperative flag.
fn attribute(hnode: Node, number: i32) -> Result<[u8; 64], i32> {
    let (node, _) = node(hnode)?;
    let payload = lock(&node.payload);
    let Payload::Kernel(kernel) = &*payload else { return Err(status::INVALID_VALUE) };
    let kept = lock(&node.attributes);
    if let Some((_, value)) = kept.iter().find(|(kept, _)| *kept == number) {
        return Ok(*value);
    }
    let mut value = [0; 64];
    match number {
        2 => value[0] = u8::from(kernel.dispatch.cooperative),
        4 => {
            let sides = kernel.dispatch.cluster.unwrap_or([0; 3]);
            for (to, from) in value.iter_mut().zip(sides.iter().flat_map(|n| n.to_le_bytes())) {
                *to = from;
            }
        }
        1 | 5 | 8..=11 | 13 | 14 => {}
        _ => return Err(status::INVALID_VALUE),
    }
    Ok(value)
}

/// The size of clusters that a node's attribute sets.
///
/// # Errors
/// Those of [`cluster::size`].
fn clustered(kernel: &KernelNode, value: &[u8; 64]) -> Result<Option<[u32; 3]>, i32> {
    let word =
        |n: usize| value.iter().skip(4 * n).take(4).rev().fold(0, |v, b| v << 8 | u32::from(*b));
    let given = Some([0, 1, 2].map(word)).filter(|sides| *sides != [0; 3]);
    let function = function_api::of(Func(kernel.dispatch.tag))?;
    cluster::size(&function, kernel.dispatch.grid, given)
}

/// Bytes of an attribute's value that are read and written.
fn size(number: i32) -> usize {
    match number {
        1 => 32,
        4 | 11 => 12,
        9 => 2,
        13 => 16,
        _ => 4,
    }
}

entry! {
    fn cuGraphAddKernelNode (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, nodeParams: Ptr) {
        // SAFETY: as many handles as the call says; a CUDA_KERNEL_NODE_PARAMS with arguments as the kernel asks for.
        unsafe { add(phGraphNode, hGraph, (dependencies, numDependencies), nodeParams, false) }
    }

    fn cuGraphAddKernelNode_v2 (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, nodeParams: Ptr) {
        // SAFETY: as many handles as the call says; a CUDA_KERNEL_NODE_PARAMS with arguments as the kernel asks for.
        unsafe { add(phGraphNode, hGraph, (dependencies, numDependencies), nodeParams, true) }
    }

    fn cuGraphKernelNodeSetParams (hNode: Node, nodeParams: Ptr) {
        // SAFETY: a CUDA_KERNEL_NODE_PARAMS with arguments as the kernel asks for.
        unsafe { set(hNode, nodeParams, false) }
    }

    fn cuGraphKernelNodeSetParams_v2 (hNode: Node, nodeParams: Ptr) {
        // SAFETY: a CUDA_KERNEL_NODE_PARAMS with arguments as the kernel asks for.
        unsafe { set(hNode, nodeParams, true) }
    }

    fn cuGraphExecKernelNodeSetParams (hGraphExec: GraphExec, hNode: Node, nodeParams: Ptr) {
        // SAFETY: a CUDA_KERNEL_NODE_PARAMS with arguments as the kernel asks for.
        unsafe { set_exec(hGraphExec, hNode, nodeParams, false) }
    }

    fn cuGraphExecKernelNodeSetParams_v2 (hGraphExec: GraphExec, hNode: Node, nodeParams: Ptr) {
        // SAFETY: a CUDA_KERNEL_NODE_PARAMS with arguments as the kernel asks for.
        unsafe { set_exec(hGraphExec, hNode, nodeParams, true) }
    }

    fn cuGraphKernelNodeGetParams (hNode: Node, nodeParams: At<RawKernel>) {
        let (node, _) = node(hNode)?;
        match &*lock(&node.payload) {
            Payload::Kernel(kernel) => kernel.give(nodeParams),
            _ => Err(status::INVALID_VALUE),
        }
    }

    fn cuGraphKernelNodeGetParams_v2 (hNode: Node, nodeParams: Ptr) {
        let (node, _) = node(hNode)?;
        let function = match &*lock(&node.payload) {
            Payload::Kernel(kernel) => {
                // SAFETY: a CUDA_KERNEL_NODE_PARAMS, or null.
                kernel.give(unsafe { at(nodeParams) })?;
                kernel.dispatch.tag
            }
            _ => return Err(status::INVALID_VALUE),
        };
        // The kernel, and its context, which the function tells.
        let behind = Ptr(nodeParams.0 + size_of::<RawKernel>());
        // SAFETY: the fields that the second version has at its end, of a structure that is not
        // null.
        give(unsafe { at(behind) }, [crate::kernel::of_function(function), 0])
    }

    fn cuGraphKernelNodeGetAttribute (hNode: Node, attr: i32, value_out: Ptr) {
        let value = attribute(hNode, attr)?;
        if value_out.0 == 0 {
            return Err(status::INVALID_VALUE);
        }
        // SAFETY: room for the attribute's value, of which this is the size.
        unsafe { pointer::<u8>(value_out).copy_from_nonoverlapping(value.as_ptr(), size(attr)) };
        Ok(())
    }

    fn cuGraphKernelNodeSetAttribute (hNode: Node, attr: i32, value: Ptr) {
        attribute(hNode, attr)?;
        if value.0 == 0 {
            return Err(status::INVALID_VALUE);
        }
        let mut kept = [0u8; 64];
        // SAFETY: the attribute's value, of which this is the size.
        unsafe { kept.as_mut_ptr().copy_from_nonoverlapping(pointer::<u8>(value), size(attr)) };
        let (node, _) = node(hNode)?;
        if attr == device::UPDATABLE {
            let [a, b, c, d, ..] = kept;
            let made = device::allow(&node, i32::from_le_bytes([a, b, c, d]))?;
            // SAFETY: the attribute's value, of which this is the size; CUDA gives the handle back there.
            unsafe { pointer::<u8>(value).copy_from_nonoverlapping(made.as_ptr(), size(attr)) };
            return Ok(());
        }
        if let Payload::Kernel(kernel) = &mut *lock(&node.payload) {
            match attr {
                2 => kernel.dispatch.cooperative = kept[0] != 0,
                4 => kernel.dispatch.cluster = clustered(kernel, &kept)?,
                _ => {}
            }
        }
        let mut attributes = lock(&node.attributes);
        attributes.retain(|(other, _)| *other != attr);
        attributes.push((attr, kept));
        Ok(())
    }

    fn cuGraphKernelNodeCopyAttributes (dst: Node, src: Node) {
        let ((to, _), (from, _)) = (node(dst)?, node(src)?);
        if device::is_updatable(&to) || device::is_updatable(&from) {
            return Err(status::INVALID_VALUE);
        }
        let (cooperative, cluster) = match &*lock(&from.payload) {
            Payload::Kernel(kernel) => (kernel.dispatch.cooperative, kernel.dispatch.cluster),
            _ => return Err(status::INVALID_VALUE),
        };
        match &mut *lock(&to.payload) {
            Payload::Kernel(kernel) => {
                (kernel.dispatch.cooperative, kernel.dispatch.cluster) = (cooperative, cluster);
            }
            _ => return Err(status::INVALID_VALUE),
        }
        let kept = lock(&from.attributes).clone();
        *lock(&to.attributes) = kept;
        Ok(())
    }
}
