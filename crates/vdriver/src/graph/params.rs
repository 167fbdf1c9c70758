//! Conversion of node parameters from the program's structures, and back.
//!
//! Source: cuda.h 13.0. Must not know: the shape of graphs, what nodes store ([`super::work`]), how a launch is
//! checked ([`launch`]).

use std::sync::Arc;

use cushim_abi::types::{self as abi, *};

use super::Payload;
use super::memory::Allocation;
use super::work::{Batch, CopyNode, FillNode, KernelNode, RawFill, RawKernel};
use crate::argument::{Given, Place, Plain};
use crate::context;
use crate::device::device;
use crate::event;
use crate::host::Function;
use crate::memory::ends::Shape;
use crate::memory::set;
use crate::memory::shape::plan;
use crate::state::{at, give, pointer, take};
use crate::stream::value::read;
use crate::{function_api, launch, status};
use cushim_accel::Fill;

/// `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawAlloc {
    /// Allocation type, handle types, location.
    pool: [i32; 4],
    rest: [u64; 9],
    access: usize,
    access_count: usize,
    bytes: usize,
    /// The address, which the driver writes.
    pub address: usize,
}

// SAFETY: numbers.
unsafe impl Plain for RawAlloc {}

/// Offset of the address in `CUDA_MEM_ALLOC_NODE_PARAMS`.
pub const ALLOC_ADDRESS: usize = 112;

/// An allocation node, by `CUDA_MEM_ALLOC_NODE_PARAMS`.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY.
pub fn alloc(from: Place<RawAlloc>) -> Result<Payload, i32> {
    let context = context::current()?;
    let raw = from.read()?;
    let [kind, handles, place, id] = raw.pool;
    match (kind, handles, place) {
        (1, 0, 1) => {}
        // Managed memory, host memory, or memory with a handle for other processes.
        (1 | 2, 0 | 1 | 8 | 9, 1..=3) => return Err(status::NOT_SUPPORTED),
        _ => return Err(status::INVALID_VALUE),
    }
    // An invalid device is CUDA_ERROR_INVALID_VALUE here (measured).
    device(Device(id)).map_err(|error| match error {
        status::INVALID_DEVICE => status::INVALID_VALUE,
        other => other,
    })?;
    Allocation::new(&context, id as usize, raw.bytes).map(Payload::Alloc)
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS`.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE.
pub fn give_alloc(allocation: &Allocation, to: Place<RawAlloc>) -> Result<(), i32> {
    let raw = RawAlloc {
        pool: [1, 0, 1, allocation.device as i32],
        rest: [0; 9],
        access: 0,
        access_count: 0,
        bytes: allocation.bytes,
        address: allocation.address as usize,
    };
    give(to, raw)
}

/// A host node, by `CUDA_HOST_NODE_PARAMS`.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE.
pub fn host(from: Given<[usize; 2]>) -> Result<Payload, i32> {
    let [function, data] = from.read()?;
    match function {
        0 => Err(status::INVALID_VALUE),
        _ => Ok(Payload::Host(Function { function, data })),
    }
}

/// A copy, by `CUDA_MEMCPY3D`.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE.
pub fn copy(from: Given<Shape>) -> Result<Payload, i32> {
    let shape = from.read()?;
    // A copy of no bytes cannot be a node (measured).
    let (copy, ..) = plan(&shape)?.ok_or(status::INVALID_VALUE)?;
    Ok(Payload::Copy(CopyNode { shape, copy }))
}

/// A set, by `CUDA_MEMSET_NODE_PARAMS`.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE.
pub fn fill(from: Given<RawFill>) -> Result<Payload, i32> {
    let raw = from.read()?;
    let size = raw.size as usize;
    if !matches!(size, 1 | 2 | 4) || raw.width == 0 || raw.height == 0 {
        return Err(status::INVALID_VALUE);
    }
    let RawFill { to, pitch, value, width, height, .. } = raw;
    let fill = Fill { to: to as u64, value, size, width, height, pitch };
    Ok(Payload::Fill(FillNode { raw, fill: set::plan(fill)?.map(|(fill, _)| fill) }))
}

/// A batch by its parameters.
///
/// # Safety
/// The parameters hold as many operations as they say.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED for an unknown operation.
pub unsafe fn batch(from: Given<[u64; 4]>) -> Result<Payload, i32> {
    let [context, count, place, flags] = from.read()?;
    context::of(context as usize)?;
    if flags as u32 != 0 {
        return Err(status::INVALID_VALUE);
    }
    // SAFETY: the caller's array has as many.
    let (raw, operations) = unsafe { read(count as u32, Ptr(place as usize))? };
    Ok(Payload::Batch(Arc::new(Batch { raw: raw.into(), operations, context })))
}

/// A launch of `CUDA_KERNEL_NODE_PARAMS`; `later`: a `CUkernel` follows, used where there is no
/// function, and its context; null: the current one.
///
/// # Safety
/// `from` is null or such a structure, its arguments as the kernel's parameters ask for.
///
/// # Errors
/// Those of [`launch::prepare`].
pub unsafe fn kernel(from: Ptr, later: bool) -> Result<Payload, i32> {
    // SAFETY: null, which `take` refuses, or a structure of a kernel node's parameters by the caller's promise.
    let raw: RawKernel = unsafe { take(from)? };
    let (mut function, mut context) = (Func(raw.function), 0);
    if later && function.0 == 0 {
        // SAFETY: the caller's: the fields behind.
        let behind: [usize; 2] = unsafe { take(Ptr(from.0 + size_of::<RawKernel>()))? };
        (function, context) = (Func(behind[0]), behind[1]);
    }
    if function.0 == 0 {
        return Err(status::INVALID_VALUE);
    }
    let [gx, gy, gz, bx, by, bz, shared, _] = raw.shape;
    let launch = launch::LaunchCall {
        function,
        grid: [gx, gy, gz],
        block: [bx, by, bz],
        shared,
        cluster: None,
        cooperative: false,
        params: Ptr(raw.params),
        extra: Ptr(raw.extra),
    };
    let function = match context {
        0 => function_api::of(function)?,
        context => crate::kernel::of(function)?.in_context(&context::of(context)?)?,
    };
    // SAFETY: the arguments are as the kernel's parameters ask for, by the caller's promise.
    let dispatch = unsafe { launch::prepare(&function, &launch)? };
    Ok(Payload::Kernel(KernelNode::new(dispatch)))
}

/// Offset of the union in `CUgraphNodeParams`.
pub const MEMBER: usize = 16;

/// A node of any kind but a conditional one, by `CUgraphNodeParams`: type, three words, the union.
///
/// # Safety
/// `from` is null or such a structure.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE; CUDA_ERROR_NOT_SUPPORTED for external semaphores and batches of copies.
pub unsafe fn any(from: Ptr) -> Result<Payload, i32> {
    // SAFETY: the caller's; each kind's parameters are as large as what is read of them.
    unsafe {
        let kind: i32 = take(from)?;
        let inner = Ptr(from.0 + MEMBER);
        match kind {
            0 => kernel(inner, true),
            1 => {
                let flags: [i32; 2] = take(inner)?;
                if flags != [0; 2] {
                    return Err(status::INVALID_VALUE);
                }
                copy(Given::new(pointer(Ptr(inner.0 + 16))))
            }
            2 => fill(Given::new(pointer(inner))),
            3 => host(Given::new(pointer(inner))),
            4 => child(abi::Graph(take(inner)?)),
            5 => Ok(Payload::Empty),
            6 => event::by_handle(abi::Event(take(inner)?)).map(Payload::Wait),
            7 => event::by_handle(abi::Event(take(inner)?)).map(Payload::Record),
            10 => {
                let made = alloc(at(inner))?;
                if let Payload::Alloc(allocation) = &made {
                    give(at(Ptr(inner.0 + ALLOC_ADDRESS)), allocation.address)?;
                }
                Ok(made)
            }
            11 => free(take(inner)?),
            // A conditional node cannot be changed.
            13 => Err(status::INVALID_VALUE),
            12 => batch(Given::new(pointer(inner))),
            8 | 9 | 14 | 15 => {
                cushim_vbase::unsupported::note("a graph node of this kind");
                Err(status::NOT_SUPPORTED)
            }
            _ => Err(status::INVALID_VALUE),
        }
    }
}

/// A copy of a graph, for a child graph node.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE; CUDA_ERROR_NOT_SUPPORTED where it allocates memory or has conditional
/// nodes.
pub fn child(graph: abi::Graph) -> Result<Payload, i32> {
    let graph = super::graph(graph)?;
    if graph.has_memory() || graph.has_conditions() {
        return Err(status::NOT_SUPPORTED);
    }
    Ok(Payload::Child(graph.copy(true, true)))
}

/// A graph that becomes a node's of another graph, and whose nodes keep their handles.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE where it belongs to a node already, or has the other one inside; as [`child`].
pub fn moved(into: &Arc<super::Graph>, graph: abi::Graph) -> Result<Payload, i32> {
    let graph = super::graph(graph)?;
    if graph.is_owned() || graph.holds(into) {
        return Err(status::INVALID_VALUE);
    }
    if graph.has_memory() || graph.has_conditions() {
        return Err(status::NOT_SUPPORTED);
    }
    Ok(Payload::Child(graph))
}

/// A node that frees what a graph allocates at this address.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE where no graph allocates there.
pub fn free(address: u64) -> Result<Payload, i32> {
    match super::memory::at_address(address) {
        Some(_) => Ok(Payload::Free(address)),
        None => Err(status::INVALID_VALUE),
    }
}

/// Replaces a payload by one of the same kind.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE where the kinds differ.
pub fn replace(old: &mut Payload, new: Payload) -> Result<(), i32> {
    if old.kind() != new.kind() {
        return Err(status::INVALID_VALUE);
    }
    *old = new;
    Ok(())
}

/// Checks the layouts next to their definitions.
const _: () = {
    assert!(std::mem::offset_of!(RawAlloc, access) == 88);
    assert!(std::mem::offset_of!(RawAlloc, address) == ALLOC_ADDRESS);
};

/// An event by handle, as a node holds it.
///
/// # Errors
/// As [`event::by_handle`].
pub fn event(event: abi::Event) -> Result<Arc<event::Object>, i32> {
    event::by_handle(event)
}
