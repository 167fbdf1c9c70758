//! Node parameters: from the program's structures, and back to them.
//!
//! Owns the layouts of the node parameters. Source: cuda.h 13.0. Must not know: graphs' shape.

use std::sync::Arc;

use cushim_abi::types::{self as abi, *};

use super::Payload;
use super::memory::Allocation;
use crate::context;
use crate::device::device;
use crate::event;
use crate::memory::copy::Home;
use crate::memory::set;
use crate::memory::shape::{End, Shape, plan};
use crate::state::{at, give, take};
use crate::status;
use crate::stream::callback::Function;
use cushim_accel::{Copy, Dispatch, Fill};

/// A kernel with its arguments, to which the program may get pointers.
pub struct KernelNode {
    /// The launch.
    pub dispatch: Dispatch,
    /// Where each argument lies in the launch's buffer.
    pointers: Box<[usize]>,
}

impl KernelNode {
    /// Of a launch.
    pub fn new(dispatch: Dispatch) -> Self {
        let base = dispatch.arguments.as_ptr().expose_provenance();
        let kernel = dispatch.code.kernels().get(dispatch.kernel);
        let params = kernel.map_or(&[][..], |kernel| kernel.params.as_slice());
        let pointers = params.iter().map(|(offset, _)| base + *offset as usize).collect();
        KernelNode { dispatch, pointers }
    }

    /// `CUDA_KERNEL_NODE_PARAMS`.
    ///
    /// # Safety
    /// `to` is null or has room for one.
    pub unsafe fn give(&self, to: Ptr) -> Result<(), i32> {
        let ([gx, gy, gz], [bx, by, bz]) = (self.dispatch.grid, self.dispatch.block);
        let shape = [gx, gy, gz, bx, by, bz, self.dispatch.dynamic_shared, 0];
        let raw = RawKernel {
            function: self.dispatch.tag,
            shape,
            params: self.pointers.as_ptr().expose_provenance(),
            extra: 0,
        };
        // SAFETY: the caller's.
        unsafe { give(at(to), raw) }
    }
}

impl Clone for KernelNode {
    fn clone(&self) -> Self {
        KernelNode::new(self.dispatch.clone())
    }
}

/// `CUDA_KERNEL_NODE_PARAMS`; later versions have a kernel and a context behind it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawKernel {
    /// `CUfunction`.
    pub function: usize,
    /// Grid, block, dynamic shared memory, padding.
    pub shape: [u32; 8],
    /// `void **kernelParams`.
    pub params: usize,
    /// `void **extra`.
    pub extra: usize,
}

/// A copy as it was described, and as it is done.
#[derive(Clone)]
pub struct CopyNode {
    /// As described.
    pub shape: Shape,
    /// As done.
    pub copy: Copy,
}

impl CopyNode {
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE.
    pub fn new(shape: Shape) -> Result<Self, i32> {
        // A node of nothing is none (measured).
        let (copy, ..) = plan(&shape)?.ok_or(status::INVALID_VALUE)?;
        Ok(CopyNode { shape, copy })
    }

    /// Of a copy that was captured.
    pub fn captured(copy: Copy, to: Home, from: Home) -> Self {
        let end = |address: u64, home: Home, side: usize| {
            let row = copy.row.get(side).copied().filter(|row| *row > 0).unwrap_or(copy.width);
            let plane = copy.plane.get(side).copied().unwrap_or(0);
            let (address, host) = (address as usize, home == Home::Pageable);
            End {
                origin: [0; 4],
                kind: match home {
                    Home::Pageable => 1,
                    Home::Device => 2,
                    Home::Shared => 4,
                },
                host: if host { address } else { 0 },
                device: if host { 0 } else { address },
                array: 0,
                context: 0,
                pitch: row,
                height: (plane / row.max(1)).max(copy.height),
            }
        };
        let extent = [copy.width, copy.height.max(1), copy.depth.max(1)];
        let shape = Shape { from: end(copy.from, from, 1), to: end(copy.to, to, 0), extent };
        CopyNode { shape, copy }
    }
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawFill {
    to: usize,
    pitch: usize,
    value: u32,
    size: u32,
    width: usize,
    height: usize,
}

/// A set as it was described, and as it is done.
#[derive(Clone)]
pub struct FillNode {
    /// As described.
    pub raw: RawFill,
    /// As done.
    pub fill: Option<Fill>,
}

impl FillNode {
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE.
    pub fn new(raw: RawFill) -> Result<Self, i32> {
        let size = raw.size as usize;
        if !matches!(size, 1 | 2 | 4) || raw.width == 0 || raw.height == 0 {
            return Err(status::INVALID_VALUE);
        }
        let RawFill { to, pitch, value, width, height, .. } = raw;
        let fill = Fill { to: to as u64, value, size, width, height, pitch };
        Ok(FillNode { raw, fill: set::plan(fill)?.map(|(fill, _)| fill) })
    }

    /// Of a set that was captured.
    pub fn captured(fill: Fill) -> Self {
        let raw = RawFill {
            to: fill.to as usize,
            pitch: fill.pitch,
            value: fill.value,
            size: fill.size as u32,
            width: fill.width,
            height: fill.height,
        };
        FillNode { raw, fill: Some(fill) }
    }
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct RawAlloc {
    /// Allocation type, handle types, location.
    pool: [i32; 4],
    rest: [u64; 9],
    access: usize,
    access_count: usize,
    bytes: usize,
    address: usize,
}

/// Where `CUDA_MEM_ALLOC_NODE_PARAMS` has the address.
pub const ALLOC_ADDRESS: usize = 112;

/// # Safety
/// `from` is null or a `CUDA_MEM_ALLOC_NODE_PARAMS`.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY.
pub unsafe fn alloc(from: Ptr) -> Result<Payload, i32> {
    let context = context::current()?;
    // SAFETY: the caller's.
    let raw: RawAlloc = unsafe { take(from)? };
    let [kind, handles, place, id] = raw.pool;
    match (kind, handles, place) {
        (1, 0, 1) => {}
        // Managed memory, of the host, or with a handle for other processes.
        (1 | 2, 0 | 1 | 8 | 9, 1..=3) => return Err(status::NOT_SUPPORTED),
        _ => return Err(status::INVALID_VALUE),
    }
    // A wrong device is a wrong value here (measured).
    device(Device(id)).map_err(|error| match error {
        status::INVALID_DEVICE => status::INVALID_VALUE,
        other => other,
    })?;
    Allocation::new(&context, id as usize, raw.bytes).map(Payload::Alloc)
}

/// # Safety
/// `to` is null or has room for a `CUDA_MEM_ALLOC_NODE_PARAMS`.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE.
pub unsafe fn give_alloc(allocation: &Allocation, to: Ptr) -> Result<(), i32> {
    let raw = RawAlloc {
        pool: [1, 0, 1, allocation.device as i32],
        rest: [0; 9],
        access: 0,
        access_count: 0,
        bytes: allocation.bytes,
        address: allocation.address as usize,
    };
    // SAFETY: the caller's.
    unsafe { give(at(to), raw) }
}

/// # Safety
/// `from` is null or a `CUDA_HOST_NODE_PARAMS`.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE.
pub unsafe fn host(from: Ptr) -> Result<Payload, i32> {
    // SAFETY: the caller's.
    let [function, data]: [usize; 2] = unsafe { take(from)? };
    match function {
        0 => Err(status::INVALID_VALUE),
        _ => Ok(Payload::Host(Function { function, data })),
    }
}

/// # Safety
/// `from` is null or a `CUDA_MEMCPY3D`.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE.
pub unsafe fn copy(from: Ptr) -> Result<Payload, i32> {
    // SAFETY: the caller's.
    CopyNode::new(unsafe { take(from)? }).map(Payload::Copy)
}

/// # Safety
/// `from` is null or a `CUDA_MEMSET_NODE_PARAMS`.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE.
pub unsafe fn fill(from: Ptr) -> Result<Payload, i32> {
    // SAFETY: the caller's.
    FillNode::new(unsafe { take(from)? }).map(Payload::Fill)
}

/// Where `CUgraphNodeParams` has its union.
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
            0 => super::kernel::kernel(inner, true),
            1 => {
                let flags: [i32; 2] = take(inner)?;
                if flags != [0; 2] {
                    return Err(status::INVALID_VALUE);
                }
                copy(Ptr(inner.0 + 16))
            }
            2 => fill(inner),
            3 => host(inner),
            4 => child(abi::Graph(take(inner)?)),
            5 => Ok(Payload::Empty),
            6 => event::by_handle(abi::Event(take(inner)?)).map(Payload::Wait),
            7 => event::by_handle(abi::Event(take(inner)?)).map(Payload::Record),
            10 => {
                let made = alloc(inner)?;
                if let Payload::Alloc(allocation) = &made {
                    give(at(Ptr(inner.0 + ALLOC_ADDRESS)), allocation.address)?;
                }
                Ok(made)
            }
            11 => free(take(inner)?),
            // Of a conditional node nothing can be changed.
            13 => Err(status::INVALID_VALUE),
            12 => super::batch::batch(inner),
            8 | 9 | 14 | 15 => {
                cushim_vbase::unsupported::note("a graph node of this kind");
                Err(status::NOT_SUPPORTED)
            }
            _ => Err(status::INVALID_VALUE),
        }
    }
}

/// A copy of a graph, as a node's own.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE; CUDA_ERROR_NOT_SUPPORTED where it takes memory or has conditional nodes.
pub fn child(graph: abi::Graph) -> Result<Payload, i32> {
    let graph = super::graph(graph)?;
    if graph.has_memory() || graph.has_conditions() {
        return Err(status::NOT_SUPPORTED);
    }
    Ok(Payload::Child(graph.copy(true, true)))
}

/// Giving back what a graph takes at this address.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE where no graph takes anything.
pub fn free(address: u64) -> Result<Payload, i32> {
    match super::memory::at_address(address) {
        Some(_) => Ok(Payload::Free(address)),
        None => Err(status::INVALID_VALUE),
    }
}

/// What a node of kind `like` becomes by parameters of its kind; events by handle.
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

/// Kept here so that the layouts are checked where they are written down.
const _: () = {
    assert!(size_of::<RawKernel>() == 56);
    assert!(size_of::<RawFill>() == 40);
    assert!(std::mem::offset_of!(RawAlloc, access) == 88);
    assert!(std::mem::offset_of!(RawAlloc, address) == ALLOC_ADDRESS);
    assert!(size_of::<Shape>() == 200);
};

/// An event by handle, as a node holds it.
///
/// # Errors
/// As [`event::by_handle`].
pub fn event(event: abi::Event) -> Result<Arc<event::Object>, i32> {
    event::by_handle(event)
}
