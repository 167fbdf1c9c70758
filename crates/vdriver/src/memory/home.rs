//! The kind of memory at an address that a copy or a set is given.
//!
//! Owns whether a call may use the memory of a pool from the current device. Must not know: how anything is copied.

use super::pool::POOLS;
use super::{Range, Source, find, is_pageable};
use crate::context;
use crate::status;

/// What a call requires of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The device end of a copy: on the device, or at least known to it.
    Device,
    /// As [`Role::Device`], of the context that the call names.
    Peer,
    /// What the current device has access to.
    Reached,
    /// Anything: the address decides.
    Any,
}

/// The kind of memory at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// The program's own memory.
    Pageable,
    /// Page-locked or managed: host and device access it.
    Shared,
    /// Device memory.
    Device,
}

/// The kind of the `bytes` from `address` on.
///
/// # Errors
/// CUDA_ERROR_INVALID_VALUE where there is no or too little memory, and where a device needs its
/// own.
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
        // A block of the program that is partly page-locked may extend beyond that part.
        let own = range.source == Source::Registered && role == Role::Any;
        if own {
            return Ok(Home::Pageable);
        }
        refused(address, bytes);
        return Err(status::INVALID_VALUE);
    }
    if range.source == Source::Pool && !may_use(&range, role) {
        return Err(status::INVALID_VALUE);
    }
    Ok(match range.source {
        Source::Pool if range.host != 0 => Home::Shared,
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

/// Whether a call may use a pool's memory in this role. A copy may not have memory of the host's pools as its device end,
/// and may use them as its host end without the device's access (an H200, as all of this).
fn may_use(range: &Range, role: Role) -> bool {
    let on_host = range.host != 0;
    match role {
        Role::Device if on_host => false,
        Role::Any if on_host => true,
        Role::Peer => true,
        Role::Any | Role::Device | Role::Reached => is_open(range),
    }
}

/// Whether the current device may use the memory of a pool. That of a destroyed pool stays as it is; a node of a graph may
/// be made without a current context.
pub fn is_open(range: &Range) -> bool {
    context::top().is_none_or(|context| {
        // A device's access to its own pool cannot be revoked.
        (range.host == 0 && range.device == context.device)
            || POOLS.get(range.pool).is_none_or(|pool| pool.is_open_to(context.device))
    })
}

/// The same for memory that is to be written.
///
/// # Errors
/// As [`home`]'s, and CUDA_ERROR_INVALID_VALUE for memory that may only be read (an H100).
pub fn target(address: u64, bytes: usize, role: Role) -> Result<Home, i32> {
    let home = home(address, bytes, role)?;
    if super::mapped::is_read_only(address, bytes as u64) {
        return Err(status::INVALID_VALUE);
    }
    Ok(home)
}

/// Reports it to the checker of the program.
fn refused(address: u64, bytes: usize) {
    if let Some(checks) = cushim_accel::checks() {
        checks.beyond(address, bytes as u64);
    }
}
