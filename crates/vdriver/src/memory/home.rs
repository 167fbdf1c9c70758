//! What is at an address that a copy or a set is given.
//!
//! Must not know: how anything is copied.

use super::{Source, find, is_pageable};
use crate::status;

/// What a call says that an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// On the device, or at least known to it.
    Device,
    /// Anything: the address decides.
    Any,
}

/// What is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// The program's own memory.
    Pageable,
    /// Page-locked or managed: both sides touch it.
    Shared,
    /// Device memory.
    Device,
}

/// What `bytes` from `address` on are.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE where nothing is, where too little is, and where a device has nothing.
pub fn home(address: u64, bytes: usize, role: Role) -> Result<Home, i32> {
    let Some(range) = find(address) else {
        let fits = address.checked_add(bytes as u64).is_some();
        return match role == Role::Any && fits && is_pageable(address) {
            true => Ok(Home::Pageable),
            false => {
                refused(address, bytes);
                Err(status::INVALID_VALUE)
            }
        };
    };
    if !super::holds(&range, address, bytes) {
        // A block of the program that is page-locked in part may go on behind that part.
        let own = range.source == Source::Registered && role == Role::Any;
        if own {
            return Ok(Home::Pageable);
        }
        refused(address, bytes);
        return Err(status::INVALID_VALUE);
    }
    Ok(match range.source {
        Source::Host
        | Source::Registered
        | Source::Managed
        | Source::ManagedVariable
        | Source::ManagedPool => Home::Shared,
        Source::Mapped if range.host != 0 => Home::Shared,
        Source::Device
        | Source::Pool
        | Source::Graph
        | Source::Variable
        | Source::Mapped
        | Source::Imported => Home::Device,
    })
}

/// Tells whoever checks the program.
fn refused(address: u64, bytes: usize) {
    if let Some(checks) = cushim_accel::checks() {
        checks.beyond(address, bytes as u64);
    }
}
