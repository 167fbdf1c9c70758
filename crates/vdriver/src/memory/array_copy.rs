//! Copies of contiguous bytes to and from arrays.
//!
//! Source: CUDA Driver API, cuMemcpyAtoH and similar. [`super::shape`] copies boxes. Must not know: what elements
//! are.

use cushim_abi::types::{self as abi, *};

use super::array::by_handle;
use super::copy::copy;
use super::home::{Home, Role, home, target};
use crate::context;
use crate::entry::{in_default_stream, on_stream};
use crate::stream::resolve;
use cushim_accel::Copy;

/// Where a copy of bytes begins or ends.
enum End {
    Array(Ptr, usize),
    Memory(Ptr, Role),
}

fn resolved(end: &End, bytes: usize, writes: bool) -> Result<(u64, Home), i32> {
    let of = if writes { target } else { home };
    match *end {
        End::Array(array, offset) => Ok((by_handle(array)?.part(offset, bytes)?, Home::Device)),
        End::Memory(address, role) => Ok((address.0 as u64, of(address.0 as u64, bytes, role)?)),
    }
}

fn bytes(stream: abi::Stream, to: End, from: End, bytes: usize, blocking: bool) -> Result<(), i32> {
    context::current()?;
    if bytes == 0 {
        return resolve(stream).map(drop);
    }
    let (to, to_home) = resolved(&to, bytes, true)?;
    let (from, from_home) = resolved(&from, bytes, false)?;
    copy(stream, Copy::line(to, from, bytes), to_home, from_home, blocking)
}

use End::{Array as InArray, Memory};
use Role::{Any, Device as OnDevice};

in_default_stream! { stream;
    fn cuMemcpyDtoA_v2 cuMemcpyDtoA_v2_ptds (dstArray: Ptr, dstOffset: usize, srcDevice: Ptr, ByteCount: usize) {
        bytes(stream, InArray(dstArray, dstOffset), Memory(srcDevice, OnDevice), ByteCount, true)
    }

    fn cuMemcpyAtoD_v2 cuMemcpyAtoD_v2_ptds (dstDevice: Ptr, srcArray: Ptr, srcOffset: usize, ByteCount: usize) {
        bytes(stream, Memory(dstDevice, OnDevice), InArray(srcArray, srcOffset), ByteCount, true)
    }

    fn cuMemcpyHtoA_v2 cuMemcpyHtoA_v2_ptds (dstArray: Ptr, dstOffset: usize, srcHost: Ptr, ByteCount: usize) {
        bytes(stream, InArray(dstArray, dstOffset), Memory(srcHost, Any), ByteCount, true)
    }

    fn cuMemcpyAtoH_v2 cuMemcpyAtoH_v2_ptds (dstHost: Ptr, srcArray: Ptr, srcOffset: usize, ByteCount: usize) {
        bytes(stream, Memory(dstHost, Any), InArray(srcArray, srcOffset), ByteCount, true)
    }

    fn cuMemcpyAtoA_v2 cuMemcpyAtoA_v2_ptds (dstArray: Ptr, dstOffset: usize, srcArray: Ptr, srcOffset: usize, ByteCount: usize) {
        bytes(stream, InArray(dstArray, dstOffset), InArray(srcArray, srcOffset), ByteCount, true)
    }
}

on_stream! { hStream;
    fn cuMemcpyHtoAAsync_v2 cuMemcpyHtoAAsync_v2_ptsz (dstArray: Ptr, dstOffset: usize, srcHost: Ptr, ByteCount: usize, hStream: Stream) {
        bytes(hStream, InArray(dstArray, dstOffset), Memory(srcHost, Any), ByteCount, false)
    }

    fn cuMemcpyAtoHAsync_v2 cuMemcpyAtoHAsync_v2_ptsz (dstHost: Ptr, srcArray: Ptr, srcOffset: usize, ByteCount: usize, hStream: Stream) {
        bytes(hStream, Memory(dstHost, Any), InArray(srcArray, srcOffset), ByteCount, false)
    }
}
