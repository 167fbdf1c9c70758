//! Variables of device code: their addresses, and copies to and from them.
//!
//! Owns what a copy may do with a variable; must not know: how variables are registered and loaded.

use cushim_abi::types::*;

use super::{Direction, linear, twins};
use crate::error::{self, code};
use crate::forward::{done, functions};
use crate::registry;

/// The address of `count` bytes of a variable, from `offset` on.
///
/// # Errors
/// As [`registry::variable`]; cudaErrorInvalidValue for bytes outside of it.
pub fn part(symbol: Ptr, offset: usize, count: usize) -> Result<Ptr, Status> {
    let (at, bytes) = registry::variable(symbol)?;
    match offset.checked_add(count) {
        Some(end) if end <= bytes => Ok(Ptr(at.0 + offset)),
        _ => Err(code::INVALID_VALUE),
    }
}

/// The address of a variable's bytes that a copy of this kind may write.
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

/// The address of a variable's bytes that a copy of this kind may read.
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

/// Copies to a variable, by a copy to an address.
fn to(
    symbol: Ptr,
    offset: usize,
    count: usize,
    kind: CopyKind,
    copy: impl Fn(Ptr) -> Status,
) -> Status {
    let place = if count == 0 { Ok(Ptr(0)) } else { destination(symbol, offset, count, kind) };
    place.map_or_else(error::failed, copy)
}

/// As [`to`], from a variable.
fn from(
    symbol: Ptr,
    offset: usize,
    count: usize,
    kind: CopyKind,
    copy: impl Fn(Ptr) -> Status,
) -> Status {
    let place = if count == 0 { Ok(Ptr(0)) } else { source(symbol, offset, count, kind) };
    place.map_or_else(error::failed, copy)
}

twins! {
    cudaMemcpyToSymbol / cudaMemcpyToSymbol_ptds (symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: CopyKind) |per_thread| {
        to(symbol, offset, count, kind, |dst| linear::now(dst, src, count, kind, per_thread))
    }

    cudaMemcpyFromSymbol / cudaMemcpyFromSymbol_ptds (dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: CopyKind) |per_thread| {
        from(symbol, offset, count, kind, |src| linear::now(dst, src, count, kind, per_thread))
    }
}

functions! {
    cudaMemcpyToSymbolAsync / cudaMemcpyToSymbolAsync_ptsz (symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: CopyKind, stream: Stream) {
        to(symbol, offset, count, kind, |dst| linear::later(dst, src, count, kind, stream))
    }

    cudaMemcpyFromSymbolAsync / cudaMemcpyFromSymbolAsync_ptsz (dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: CopyKind, stream: Stream) {
        from(symbol, offset, count, kind, |src| linear::later(dst, src, count, kind, stream))
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
