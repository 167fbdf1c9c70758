//! Copies and fills: of bytes, of rows and planes, to and from arrays and variables.
//!
//! Owns what a `cudaMemcpyKind` selects: the driver function and the kinds of memory. Synchronous forms use the
//! legacy default stream, their `_ptds` forms the thread's own: the driver has both. Must not know: where memory is,
//! which the driver finds out.

pub mod array;
pub mod fill;
pub mod linear;
pub mod planes;
pub mod symbol;
#[cfg(test)]
mod tests;

use cushim_abi::types::{CopyKind, Status};

use super::context;
use super::error::code;
use super::forward::done;
use super::layout::memory;

/// Defines synchronous functions: `name / name_ptds (arguments) |per_thread| { body }`, where `per_thread`
/// says which default stream it is.
macro_rules! twins {
    () => {};
    ($name:ident / $per_thread:ident ($($arg:ident : $type:ty),*) |$which:ident| $body:block $($rest:tt)*) => {
        $crate::forward::functions! {
            $name ($($arg : $type),*) { let $which = false; $body }
            $per_thread ($($arg : $type),*) { let $which = true; $body }
        }
        twins!($($rest)*);
    };
}

/// Calls one of a driver function's two forms, for the legacy and the per-thread default stream.
macro_rules! either {
    ($which:expr, $legacy:ident / $per_thread:ident ($($value:expr),* $(,)?)) => {
        if $which { cushim_vbase::api::$per_thread($($value),*) } else { cushim_vbase::api::$legacy($($value),*) }
    };
}

pub(super) use {either, twins};

/// A copy or memory set of these bytes, rows and planes. One of nothing always succeeds: neither
/// direction nor addresses, devices, variables, pitches or streams are checked, nor whether work
/// has failed (measured).
fn some(extent: &[usize], copy: impl FnOnce() -> Result<(), Status>) -> Status {
    done(context::ready().and_then(|()| if extent.contains(&0) { Ok(()) } else { copy() }))
}

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `cudaMemcpyHostToHost`.
    HostToHost,
    /// `cudaMemcpyHostToDevice`.
    HostToDevice,
    /// `cudaMemcpyDeviceToHost`.
    DeviceToHost,
    /// `cudaMemcpyDeviceToDevice`.
    DeviceToDevice,
    /// `cudaMemcpyDefault`: as the addresses say.
    Default,
}

impl Direction {
    /// The direction of a `cudaMemcpyKind`.
    ///
    /// # Errors
    /// cudaErrorInvalidMemcpyDirection.
    pub fn of(kind: CopyKind) -> Result<Self, Status> {
        Ok(match kind.0 {
            0 => Self::HostToHost,
            1 => Self::HostToDevice,
            2 => Self::DeviceToHost,
            3 => Self::DeviceToDevice,
            4 => Self::Default,
            _ => return Err(code::INVALID_MEMCPY_DIRECTION),
        })
    }

    /// `CUmemorytype` of source and destination.
    pub fn memory(self) -> (i32, i32) {
        match self {
            Self::HostToHost => (memory::HOST, memory::HOST),
            Self::HostToDevice => (memory::HOST, memory::DEVICE),
            Self::DeviceToHost => (memory::DEVICE, memory::HOST),
            Self::DeviceToDevice => (memory::DEVICE, memory::DEVICE),
            Self::Default => (memory::UNIFIED, memory::UNIFIED),
        }
    }

    /// The `cudaMemcpyKind` of two `CUmemorytype`s; arrays are on the device.
    pub fn between(source: i32, destination: i32) -> Self {
        match (source, destination) {
            (memory::UNIFIED, _) | (_, memory::UNIFIED) => Self::Default,
            (memory::HOST, memory::HOST) => Self::HostToHost,
            (memory::HOST, _) => Self::HostToDevice,
            (_, memory::HOST) => Self::DeviceToHost,
            _ => Self::DeviceToDevice,
        }
    }
}
