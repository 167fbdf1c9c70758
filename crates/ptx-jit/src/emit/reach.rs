//! The address ranges of inline accesses, and the known facts about them in a region's version for whole warps.
//!
//! Owns the records of these facts, which [`super::address`] and [`super::whole`] establish. Must not know how they
//! do.

use super::val::Val;
use cranelift_codegen::ir::Value;
use std::collections::{BTreeMap, HashMap};

/// Where an access goes that the code does itself.
#[derive(Clone)]
pub(super) struct Reach {
    /// The address in this process of what `steps` are added to.
    pub(super) pointer: Value,
    /// Bytes that each lane adds.
    pub(super) steps: [i64; 32],
    /// Whether all accesses are in range and aligned, and possibly those of its group, too.
    pub(super) inside: Value,
    /// The lowest address is the pointer and this.
    pub(super) first: i64,
    /// How many bytes from there on are touched.
    pub(super) length: i64,
    pub(super) shared: bool,
}

impl Reach {
    /// Whether all lanes access one address.
    pub(super) fn is_one(&self) -> bool {
        self.steps == [self.steps[0]; 32]
    }
}

/// What is known of the version of a region for whole warps while it is made.
#[derive(Default)]
pub(super) struct Whole {
    /// It is being made: all lanes of the warp are here, and no others wait.
    pub(super) on: bool,
    /// Where accesses go, which are all inside, and whether each is the first of its group.
    pub(super) accesses: BTreeMap<usize, (Reach, bool)>,
    /// What instructions gave to registers before the check.
    pub(super) values: HashMap<usize, Vec<(u32, Val)>>,
    /// Loads before this instruction may pass each other: each was tried before.
    pub(super) until: usize,
}
