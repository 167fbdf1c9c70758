//! What nodes store about their work: the program's description, and the form in which it is executed.
//!
//! Owns the layouts to which the program gets pointers. Source: cuda.h 13.0. Must not know: graphs, how a description
//! is checked ([`super::params`]).

use crate::argument::{Place, Plain};
use crate::memory::ends::{End, Shape};
use crate::memory::home::Home;
use crate::stream::operation::Operation;
use cushim_accel::{Copy, Dispatch, Fill};

/// A kernel with its arguments, to which the program may get pointers.
pub struct KernelNode {
    /// The launch.
    pub dispatch: Dispatch,
    /// Address of each argument in the launch's buffer.
    pointers: Box<[usize]>,
}

impl KernelNode {
    /// The node of a launch.
    pub fn new(dispatch: Dispatch) -> Self {
        let base = dispatch.arguments.as_ptr().expose_provenance();
        let kernel = dispatch.code.kernels().get(dispatch.kernel);
        let params = kernel.map_or(&[][..], |kernel| kernel.params.as_slice());
        let pointers = params.iter().map(|(offset, _)| base + *offset as usize).collect();
        KernelNode { dispatch, pointers }
    }

    /// `CUDA_KERNEL_NODE_PARAMS`.
    ///
    /// # Errors
    /// CUDA_ERROR_INVALID_VALUE for a null place.
    pub fn give(&self, to: Place<RawKernel>) -> Result<(), i32> {
        let ([gx, gy, gz], [bx, by, bz]) = (self.dispatch.grid, self.dispatch.block);
        let shape = [gx, gy, gz, bx, by, bz, self.dispatch.dynamic_shared, 0];
        let raw = RawKernel {
            function: self.dispatch.tag,
            shape,
            params: self.pointers.as_ptr().expose_provenance(),
            extra: 0,
        };
        to.give(raw)
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

/// A copy as it was described, and as it is performed.
#[derive(Clone)]
pub struct CopyNode {
    /// As described.
    pub shape: Shape,
    /// As done.
    pub copy: Copy,
}

impl CopyNode {
    /// The node of a copy that was captured.
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
    /// Where.
    pub to: usize,
    /// Bytes from row to row.
    pub pitch: usize,
    /// What.
    pub value: u32,
    /// Bytes of the value.
    pub size: u32,
    /// Values of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

// SAFETY: numbers.
unsafe impl Plain for RawFill {}

/// A memory set as it was described, and as it is performed.
#[derive(Clone)]
pub struct FillNode {
    /// As described.
    pub raw: RawFill,
    /// As done.
    pub fill: Option<Fill>,
}

impl FillNode {
    /// The node of a memory set that was captured.
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

/// A batch.
pub struct Batch {
    /// As described: the program may have pointers to it.
    pub raw: Box<[[u64; 6]]>,
    /// As done.
    pub operations: Vec<Operation>,
    /// The context's handle.
    pub context: u64,
}

impl Batch {
    /// `CUDA_BATCH_MEM_OP_NODE_PARAMS`: context, count, operations, flags.
    pub fn parameters(&self) -> [u64; 4] {
        let place = self.raw.as_ptr().expose_provenance() as u64;
        [self.context, self.raw.len() as u64, place, 0]
    }
}

const _: () = {
    assert!(size_of::<RawKernel>() == 56);
    assert!(size_of::<RawFill>() == 40);
};
