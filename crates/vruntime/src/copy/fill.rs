//! Fills bytes, rows and planes with a byte value.
//!
//! Owns the runtime's forms over the driver's; must not know: copies.

use cushim_abi::types::*;

use super::{either, some, twins};
use crate::context;
use crate::error::{self, code};
use crate::forward::functions;
use cushim_vbase::api;

twins! {
    cudaMemset / cudaMemset_ptds (devPtr: Ptr, value: i32, count: usize) |per_thread| {
        some(&[count], || context::attempt(|| {
            // SAFETY: the program's address; the value's low byte is what counts (CUDA Runtime API).
            unsafe { either!(per_thread, cuMemsetD8_v2 / cuMemsetD8_v2_ptds(devPtr, value as u8, count)) }
        }))
    }

    cudaMemset2D / cudaMemset2D_ptds (devPtr: Ptr, pitch: usize, value: i32, width: usize, height: usize) |per_thread| {
        rows(devPtr, pitch, value, width, height, Order::Now(per_thread))
    }

    cudaMemset3D / cudaMemset3D_ptds (pitchedDevPtr: PitchedPtr, value: i32, extent: Extent) |per_thread| {
        planes(pitchedDevPtr, value, extent, Order::Now(per_thread))
    }
}

functions! {
    cudaMemsetAsync / cudaMemsetAsync_ptsz (devPtr: Ptr, value: i32, count: usize, stream: Stream) {
        // SAFETY: the program's memory; the program vouches for its length.
        some(&[count], || context::attempt(|| unsafe { api::cuMemsetD8Async(devPtr, value as u8, count, stream) }))
    }

    cudaMemset2DAsync / cudaMemset2DAsync_ptsz (devPtr: Ptr, pitch: usize, value: i32, width: usize, height: usize, stream: Stream) {
        rows(devPtr, pitch, value, width, height, Order::In(stream))
    }

    cudaMemset3DAsync / cudaMemset3DAsync_ptsz (pitchedDevPtr: PitchedPtr, value: i32, extent: Extent, stream: Stream) {
        planes(pitchedDevPtr, value, extent, Order::In(stream))
    }
}

/// The order of a memory set.
#[derive(Clone, Copy)]
enum Order {
    /// In a default stream: the thread's own or the legacy one.
    Now(bool),
    /// In this stream.
    In(Stream),
}

/// Rows of a pitch.
fn rows(at: Ptr, pitch: usize, value: i32, width: usize, height: usize, order: Order) -> Status {
    if height > 1 && width > pitch {
        return error::failed(code::INVALID_VALUE);
    }
    let set = || {
        // SAFETY: the program's address, of the same meaning in both APIs.
        unsafe {
            match order {
                Order::Now(per_thread) => either!(
                    per_thread,
                    cuMemsetD2D8_v2 / cuMemsetD2D8_v2_ptds(at, pitch, value as u8, width, height)
                ),
                Order::In(stream) => {
                    api::cuMemsetD2D8Async(at, pitch, value as u8, width, height, stream)
                }
            }
        }
    };
    some(&[width, height], || context::attempt(set))
}

/// Planes: as one run of rows where nothing lies between them, else one after the other.
fn planes(at: PitchedPtr, value: i32, extent: Extent, order: Order) -> Status {
    if extent.width == 0 || extent.height == 0 || extent.depth == 0 {
        return context::with(|| 0);
    }
    if extent.height > at.ysize && extent.depth > 1 {
        return error::failed(code::INVALID_VALUE);
    }
    if extent.depth == 1 || extent.height == at.ysize {
        let Some(height) = extent.height.checked_mul(extent.depth) else {
            return error::failed(code::INVALID_VALUE);
        };
        return rows(Ptr(at.ptr), at.pitch, value, extent.width, height, order);
    }
    let Some(plane) = at.pitch.checked_mul(at.ysize) else {
        return error::failed(code::INVALID_VALUE);
    };
    for z in 0..extent.depth {
        let from = Ptr(at.ptr.wrapping_add(z.wrapping_mul(plane)));
        let status = rows(from, at.pitch, value, extent.width, extent.height, order);
        if status != 0 {
            return status;
        }
    }
    0
}
