//! The allocations that a launch's arguments point into.
//!
//! Owns the bounds of each, and the finding for an access that leaves them for another allocation. Must not know how
//! addresses are computed ([`cushim_ptx::origin`] determines the parameter), or how kernels run.

use std::collections::BTreeSet;
use std::sync::Arc;

use cushim_ptx::exec::{Cause, Fault, Touch, lanes};
use cushim_ptx::ir::Inst;
use cushim_ptx::origin::Origins;

use super::checker::Checker;
use super::look::CheckedLaunch;
use super::options::Tool;

/// Nothing is known: anything may be accessed.
const ANY: [u64; 2] = [0, u64::MAX];

/// What the arguments of a launch point into.
#[derive(Debug, Default)]
pub struct Bounds {
    /// From which parameter the addresses of accesses are computed.
    origins: Arc<Origins>,
    /// For each multiple of 8 in the parameters: the first address and the end.
    all: Vec<[u64; 2]>,
}

impl Bounds {
    /// The bounds of a launch with these arguments.
    pub fn new(checker: &Checker, origins: Arc<Origins>, arguments: &[u8]) -> Bounds {
        let mut all = vec![ANY; arguments.len().div_ceil(8)];
        let used: BTreeSet<u32> = origins.values().copied().collect();
        for at in used {
            let from = arguments.get(at as usize..).and_then(|bytes| bytes.first_chunk::<8>());
            let value = from.map(|bytes| u64::from_le_bytes(*bytes));
            let block = value.and_then(|value| checker.of_program(value));
            if let (Some(block), Some(place)) = (block, all.get_mut(at as usize / 8)) {
                *place = block;
            }
        }
        Bounds { origins, all }
    }

    /// As compiled code reads them.
    pub(super) fn all(&self) -> &[[u64; 2]] {
        &self.all
    }

    /// The bounds of an access, if its address is computed from an argument that points somewhere.
    fn of(&self, inst: &Inst) -> Option<[u64; 2]> {
        let at = self.origins.get(&inst.pos)?;
        self.all.get(*at as usize / 8).copied().filter(|bounds| *bounds != ANY)
    }
}

impl CheckedLaunch {
    /// Reports lanes that leave what their argument points into, and reach another live allocation.
    pub(super) fn look_at_bounds(
        &self,
        touch: &Touch<'_>,
        addresses: &[u64; 32],
        by: u32,
        block: [u32; 3],
    ) {
        let Some([low, end]) = self.bounds.of(touch.inst).filter(|_| self.reported) else { return };
        for lane in lanes(by) {
            let Some(at) = addresses.get(lane).copied() else { continue };
            let inside = low <= at && at.checked_add(touch.bytes).is_some_and(|last| last <= end);
            if !inside && self.checker.is_in_use(at, touch.bytes) {
                self.tell_of_another(touch, (lane, at), low, block);
            }
        }
    }

    fn tell_of_another(
        &self,
        touch: &Touch<'_>,
        (lane, at): (usize, u64),
        low: u64,
        block: [u32; 3],
    ) {
        let (Some(near), Some(meant)) =
            (self.checker.near(at, touch.bytes), self.checker.near(low, 0))
        else {
            return;
        };
        let thread = self.thread(touch.warp, lane);
        let pos = Some(touch.inst.pos);
        let fault = Fault::new(&self.module, self.kernel, Cause::Trap, pos, block, thread);
        let (bytes, what) = (touch.bytes, touch.access);
        let s = if bytes == 1 { "" } else { "s" };
        let meant_text = meant.text.split_once(" bytes into ").map_or("", |(_, whole)| whole);
        let message = format!(
            "global {what} of {bytes} byte{s} at {at:#x}, {}, by an address that is computed from an argument which points into {meant_text}",
            near.text
        );
        let mut trails = near.trails;
        let made = meant.trails.into_iter().filter(|(what, _)| what == "allocated");
        trails.extend(
            made.map(|(_, trail)| ("what the argument points into allocated".to_owned(), trail)),
        );
        let kind = "access of another allocation";
        self.tell(Tool::Memory, kind, message, &fault, (near.variable, trails));
    }
}
