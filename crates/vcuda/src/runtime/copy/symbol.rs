//! Variables of device code: where they lie, and copies to and from them.
//!
//! Owns what a copy may do with a variable; must not know: how variables are registered and loaded.

use cushim_abi::types::*;

use super::{Direction, linear, twins};
use crate::runtime::error::{self, code};
use crate::runtime::forward::{done, functions};
use crate::runtime::registry;

/// Where `count` bytes of a variable lie, `offset` bytes behind its start.
///
/// # Errors
/// As [`registry::variable`]; cudaErrorInvalidValue for bytes that it does not have.
pub fn part(symbol: Ptr, offset: usize, count: usize) -> Result<Ptr, Status> {
    let (at, bytes) = registry::variable(symbol)?;
    match offset.checked_add(count) {
        Some(end) if end <= bytes => Ok(Ptr(at.0 + offset)),
        _ => Err(code::INVALID_VALUE),
    }
}

/// Where bytes of a variable lie that a copy of this kind may write.
///
/// # Errors
/// As [`part`]; cudaErrorInvalidMemcpyDirection for a copy to the host.
pub fn destination(
    symbol: Ptr,
    offset: usize,
    count: usize,
    kind: CopyKind,
) -> Result<Ptr, Status> {
    match Direction::of(kind)? {
        Direction::HostToDevice | Direction::DeviceToDevice | Direction::Default => {
            part(symbol, offset, count)
        }
        _ => Err(code::INVALID_MEMCPY_DIRECTION),
    }
}

/// Where bytes of a variable lie that a copy of this kind may read.
///
/// # Errors
/// As [`part`]; cudaErrorInvalidMemcpyDirection for a copy from the host.
pub fn source(symbol: Ptr, offset: usize, count: usize, kind: CopyKind) -> Result<Ptr, Status> {
    match Direction::of(kind)? {
        Direction::DeviceToHost | Direction::DeviceToDevice | Direction::Default => {
            part(symbol, offset, count)
        }
        _ => Err(code::INVALID_MEMCPY_DIRECTION),
    }
}

twins! {
    cudaMemcpyToSymbol / cudaMemcpyToSymbol_ptds (symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: CopyKind) |per_thread| {
        match destination(symbol, offset, count, kind) {
            Ok(dst) => linear::now(dst, src, count, kind, per_thread),
            Err(error) => error::failed(error),
        }
    }

    cudaMemcpyFromSymbol / cudaMemcpyFromSymbol_ptds (dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: CopyKind) |per_thread| {
        match source(symbol, offset, count, kind) {
            Ok(src) => linear::now(dst, src, count, kind, per_thread),
            Err(error) => error::failed(error),
        }
    }
}

functions! {
    cudaMemcpyToSymbolAsync / cudaMemcpyToSymbolAsync_ptsz (symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: CopyKind, stream: Stream) {
        match destination(symbol, offset, count, kind) {
            Ok(dst) => linear::later(dst, src, count, kind, stream),
            Err(error) => error::failed(error),
        }
    }

    cudaMemcpyFromSymbolAsync / cudaMemcpyFromSymbolAsync_ptsz (dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: CopyKind, stream: Stream) {
        match source(symbol, offset, count, kind) {
            Ok(src) => linear::later(dst, src, count, kind, stream),
            Err(error) => error::failed(error),
        }
    }

    cudaGetSymbolAddress (devPtr: Out<Ptr>, symbol: Ptr) {
        // The symbol comes first (measured).
        done(registry::variable(symbol).and_then(|found| if devPtr.0.is_null() { Err(code::INVALID_VALUE) } else { Ok(found) }).map(|(at, _)| {
            // SAFETY: not null; the program's place for an address.
            unsafe { devPtr.0.write_unaligned(at) }
        }))
    }

    cudaGetSymbolSize (size: Out<usize>, symbol: Ptr) {
        // The symbol comes first (measured).
        done(registry::variable(symbol).and_then(|found| if size.0.is_null() { Err(code::INVALID_VALUE) } else { Ok(found) }).map(|(_, bytes)| {
            // SAFETY: not null; the program's place for a size.
            unsafe { size.0.write_unaligned(bytes) }
        }))
    }
}
