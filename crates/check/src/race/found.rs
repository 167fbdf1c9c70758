//! Two unordered accesses.
//!
//! Owns their record until they are reported. Must not know how they were found, or the message.

use cushim_ptx::Pos;
use cushim_ptx::exec::Access;

use super::record::When;

/// One of two accesses.
#[derive(Debug, Clone, Copy)]
pub struct Told {
    /// By whom.
    pub when: When,
    /// Where in the code.
    pub site: u32,
}

/// Memory that two threads access.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// Shared memory of the block.
    Shared {
        /// The address.
        at: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// Global memory.
    Global {
        /// The address.
        at: u64,
        /// How many bytes.
        bytes: u64,
    },
}

impl Place {
    /// The address.
    pub fn at(self) -> u64 {
        let (Place::Shared { at, .. } | Place::Global { at, .. }) = self;
        at
    }
}

/// Two accesses that nothing orders.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// The later one.
    pub now: Told,
    /// What it does.
    pub access: Access,
    /// And where.
    pub pos: Pos,
    /// The one before it.
    pub before: Told,
    /// What both access.
    pub place: Place,
}
