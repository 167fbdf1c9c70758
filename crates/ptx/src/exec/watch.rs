//! Observers of running kernels: they see every access before it is executed, and everything that orders accesses.
//!
//! Owns the interface between an engine and an observer. The interpreter calls it, and compiled code that was made
//! with checks does. A check decorates an operation: it sees what the operation is about to do, and changes nothing
//! about it. Must not know what the observer looks for.

use super::address::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_SIZE};
use super::fault::{Access, Cause};
use crate::ir::Inst;
use crate::types::Space;

/// Lanes of a warp are about to access memory.
#[derive(Debug)]
pub struct Touch<'a> {
    /// The instruction.
    pub inst: &'a Inst,
    /// What it does.
    pub access: Access,
    /// The warp's number in its block.
    pub warp: u32,
    /// Which lanes take part.
    pub lanes: u32,
    /// The space that the instruction names.
    pub space: Space,
    /// An address of each lane; of lanes that do not take part, anything.
    pub addresses: &'a [u64; 32],
    /// Bytes of each lane.
    pub bytes: u64,
}

/// An instruction that a warp runs.
#[derive(Debug)]
pub struct Ran<'a> {
    /// The instruction.
    pub inst: &'a Inst,
    /// The number of its function in the module.
    pub function: u32,
    /// Its number in the function's code.
    pub pc: u32,
    /// The existing lanes.
    pub mask: u32,
    /// The lanes for which its predicate holds.
    pub active: u32,
}

/// A bit for each byte of device memory, or of a block's shared memory, set where an access needs no closer look: compiled code tests it itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// Where the bits of address 0 would be: those of address `a` begin at bit `a % 8` of the byte at `base + a / 8`,
    /// wrapping around.
    pub base: u64,
}

/// Looks on while a launch runs.
pub trait Watch: Sync {
    /// Where compiled code finds the marks.
    fn marks(&self) -> Marks;
    /// The range that each parameter points into, as first address and end, for each multiple of 8 in the kernel's
    /// parameters: compiled code reports accesses outside of it whose addresses are computed from the parameter
    /// ([`crate::origin`]), if that is enabled.
    fn bounds(&self) -> &[[u64; 2]] {
        &[]
    }
    /// Somebody who looks at one block after the other, on one thread.
    fn blocks(&self) -> Box<dyn BlockWatch>;
}

/// Looks on while blocks run, one after the other.
pub trait BlockWatch {
    /// Before the first block: marks of the block's shared memory, whose addresses begin at 0 and which is as large. Compiled
    /// code shows accesses only where one is missing, if there are any; they stay where they are while this lives.
    fn marks(&mut self, shared: u64) -> Option<Marks> {
        let _ = shared;
        None
    }

    /// A block begins, whose shared memory is as large; nothing of the one before it is left.
    fn begin(&mut self, block: [u32; 3], shared: u64);

    /// A warp runs an instruction; its accesses are reported after this. Only the interpreter calls it.
    fn run(&mut self, ran: &Ran<'_>) {
        let _ = ran;
    }

    /// Lanes are about to access memory.
    ///
    /// # Errors
    /// The access must not be done: the lane, and why.
    fn touch(&mut self, touch: &Touch<'_>) -> Result<(), (usize, Cause)>;

    /// Lanes arrive at a barrier of the block. `count`: the number of threads, if the instruction has one.
    fn arrive(&mut self, warp: u32, lanes: u32, inst: &Inst, barrier: u32, count: Option<u32>);

    /// Lanes execute a fence, a collective instruction, or the cluster's barrier. `members`: for each lane the lanes
    /// that it waits for, if the instruction names them.
    fn order(&mut self, warp: u32, lanes: u32, inst: &Inst, members: Option<&[u32; 32]>);

    /// All threads of the block have ended.
    fn end(&mut self);
}

/// The space of an access, and the address there: global for addresses in no window.
pub fn resolve(space: Space, address: u64) -> (Space, u64) {
    if space != Space::Generic {
        return (space, address);
    }
    let windows = [
        (SHARED_WINDOW, Space::Shared),
        (LOCAL_WINDOW, Space::Local),
        (PARAM_WINDOW, Space::Param),
    ];
    let found = windows.iter().find(|(at, _)| address.wrapping_sub(*at) < WINDOW_SIZE);
    found.map_or((Space::Global, address), |(at, space)| (*space, address - at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_addresses_are_of_their_window() {
        let generic = |address| resolve(Space::Generic, address);
        assert_eq!(generic(0x1000), (Space::Global, 0x1000));
        assert_eq!(generic(SHARED_WINDOW + 8), (Space::Shared, 8));
        assert_eq!(generic(LOCAL_WINDOW + WINDOW_SIZE - 1), (Space::Local, WINDOW_SIZE - 1));
        assert_eq!(generic(PARAM_WINDOW), (Space::Param, 0));
        assert_eq!(
            generic(PARAM_WINDOW + WINDOW_SIZE),
            (Space::Global, PARAM_WINDOW + WINDOW_SIZE)
        );
        assert_eq!(resolve(Space::Shared, 0x1000), (Space::Shared, 0x1000));
    }
}
