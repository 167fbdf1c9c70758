//! Copies of contiguous bytes: one driver call each.
//!
//! Owns which call; must not know: pitches, arrays.

use cushim_abi::types::*;

use super::{Direction, either, some, twins};
use crate::context;
use crate::forward::{forwards, functions, pass};
use cushim_vbase::api;

/// A copy that has ended when this returns, as far as CUDA promises (CUDA Driver API, "API
/// synchronization behavior").
#[inline]
pub fn now(dst: Ptr, src: Ptr, count: usize, kind: CopyKind, per_thread: bool) -> Status {
    let direction = match Direction::of(kind) {
        Ok(direction) if count > 0 => direction,
        outcome => return some(&[count], || outcome.map(drop)),
    };
    context::with(|| {
        // SAFETY: the program's addresses, of the same meaning in both APIs.
        unsafe {
            match direction {
                Direction::HostToHost | Direction::Default => {
                    either!(per_thread, cuMemcpy / cuMemcpy_ptds(dst, src, count))
                }
                Direction::HostToDevice => {
                    either!(per_thread, cuMemcpyHtoD_v2 / cuMemcpyHtoD_v2_ptds(dst, src, count))
                }
                Direction::DeviceToHost => {
                    either!(per_thread, cuMemcpyDtoH_v2 / cuMemcpyDtoH_v2_ptds(dst, src, count))
                }
                Direction::DeviceToDevice => {
                    either!(per_thread, cuMemcpyDtoD_v2 / cuMemcpyDtoD_v2_ptds(dst, src, count))
                }
            }
        }
    })
}

/// A copy in stream order.
#[inline]
pub fn later(dst: Ptr, src: Ptr, count: usize, kind: CopyKind, stream: Stream) -> Status {
    let direction = match Direction::of(kind) {
        Ok(direction) if count > 0 => direction,
        outcome => return some(&[count], || outcome.map(drop)),
    };
    context::with(|| {
        // SAFETY: the program's memory, whose length is its word.
        unsafe {
            match direction {
                Direction::HostToHost | Direction::Default => {
                    api::cuMemcpyAsync(dst, src, count, stream)
                }
                Direction::HostToDevice => api::cuMemcpyHtoDAsync_v2(dst, src, count, stream),
                Direction::DeviceToHost => api::cuMemcpyDtoHAsync_v2(dst, src, count, stream),
                Direction::DeviceToDevice => api::cuMemcpyDtoDAsync_v2(dst, src, count, stream),
            }
        }
    })
}

twins! {
    cudaMemcpy / cudaMemcpy_ptds (dst: Ptr, src: Ptr, count: usize, kind: CopyKind) |per_thread| {
        now(dst, src, count, kind, per_thread)
    }
}

functions! {
    cudaMemcpyAsync / cudaMemcpyAsync_ptsz (dst: Ptr, src: Ptr, count: usize, kind: CopyKind, stream: Stream) {
        later(dst, src, count, kind, stream)
    }

    cudaMemcpyPeer (dst: Ptr, dstDevice: Device, src: Ptr, srcDevice: Device, count: usize) {
        some(&[count], || {
            let (to, from) = peers(dstDevice, srcDevice)?;
            context::attempt(|| {
                // SAFETY: the program's addresses in contexts of this driver.
                unsafe { api::cuMemcpyPeer(dst, to, src, from, count) }
            })
        })
    }

    cudaMemcpyPeerAsync (dst: Ptr, dstDevice: Device, src: Ptr, srcDevice: Device, count: usize, stream: Stream) {
        some(&[count], || {
            let (to, from) = peers(dstDevice, srcDevice)?;
            context::attempt(|| {
                // SAFETY: the program's memory, whose length is its word; contexts of the driver.
                unsafe { api::cuMemcpyPeerAsync(dst, to, src, from, count, stream) }
            })
        })
    }
}

forwards! {
    cudaMemcpyBatchAsync_12 / cudaMemcpyBatchAsync_ptsz_12 (dsts: Ptr, srcs: Ptr, sizes: Ptr, count: usize, attrs: Ptr, attrsIdxs: Ptr, numAttrs: usize, failIdx: Ptr, stream: Stream) = cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx, stream);
    cudaMemcpyBatchAsync_13 / cudaMemcpyBatchAsync_ptsz_13 (dsts: Ptr, srcs: Ptr, sizes: Ptr, count: usize, attrs: Ptr, attrsIdxs: Ptr, numAttrs: usize, stream: Stream) = cuMemcpyBatchAsync_v2(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, stream);
    cudaMemcpyWithAttributesAsync / cudaMemcpyWithAttributesAsync_ptsz (dst: Ptr, src: Ptr, size: usize, attr: Ptr, stream: Stream) = cuMemcpyWithAttributesAsync(dst, src, size, attr, stream);
}

/// The primary contexts of two devices.
pub fn peers(dst: Device, src: Device) -> Result<(Context, Context), Status> {
    context::ready()?;
    Ok((context::primary(dst.0)?, context::primary(src.0)?))
}
