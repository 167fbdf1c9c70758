//! Runs LLVM's code: whole blocks, from start to end.
//!
//! Owns which blocks run by it, and the message of a fault in it. Must not know how it is compiled ([`crate::llvm`]).

use super::block::{BlockSlot, Outcome};
use super::by_llvm::Native;
use super::launch::Exec;
use super::trap;
use crate::warp::{DONE, NOWHERE, SIGNAL, Site};
use cushim_ptx::exec::{Cause, Fault};
use std::cell::Cell;

impl BlockSlot<'_> {
    /// LLVM's code, if this block can and should run by it: there is no observer, and it waits for no other block.
    pub(super) fn native<'a>(&self, exec: &Exec<'a>) -> Option<&'a Native> {
        let native = exec.variant.native()?;
        let alone = !exec.launch.cooperative && exec.launch.cluster_size() <= 1;
        (alone && self.watch.is_none() && exec.by_llvm.get()).then_some(native)
    }

    /// Runs the block, and those that follow it along x.
    pub(super) fn run_native(
        &mut self,
        exec: &Exec<'_>,
        native: &Native,
    ) -> Result<Outcome, Fault> {
        let usual = &exec.variant.sites;
        self.look_at(&native.sites);
        let Some(first) = self.warps.first().map(|w| w.as_ptr()) else {
            return Ok(Outcome::Done);
        };
        let (entry, range) = (native.code.entry(), native.code.range());
        // SAFETY: the code was made for this layout of blocks; the warps have what it addresses.
        let (status, frame) = unsafe { trap::enter(entry, range, first, exec.stack) };
        self.look_at(usual);
        let warp_loop = self.warp_loop();
        (warp_loop.region, warp_loop.alive) = (NOWHERE, 0);
        match status {
            DONE => {
                for w in &mut self.warps {
                    (w.live, w.low) = (0, NOWHERE);
                }
                Ok(Outcome::Done)
            }
            SIGNAL => Err(touched(exec, self.index(), frame.address)),
            _ => {
                // SAFETY: the code leaves one of the block's warps there.
                let k = unsafe { (*self.warp_loop().current).index } as usize;
                let place = || Cause::Internal { place: "a helper".into(), message: String::new() };
                let fault = self.warps.get_mut(k).and_then(|w| w.fault.take());
                Err(fault.map_or_else(|| exec.fault(place(), None, self.index(), [0; 3]), |f| *f))
            }
        }
    }

    /// Sets the sites that helpers use.
    fn look_at(&mut self, sites: &[Site]) {
        for w in &mut self.warps {
            (w.sites, w.site_count) = (sites.as_ptr(), sites.len());
        }
    }
}

/// The fault of a block that accessed an unmapped address of the arena. LLVM's code does not tell which lane it was:
/// the interpreter runs the block again, and finds it. The launch fails, so nothing observes the repeated effects. If
/// the interpreter finds no fault, because other blocks have changed something meanwhile, no lane is named.
fn touched(exec: &Exec<'_>, block: [u32; 3], address: u64) -> Fault {
    let [gx, gy, _] = exec.launch.grid.map(u64::from);
    let [x, y, z] = block.map(u64::from);
    let number = Cell::new(Some(x + gx * (y + gy * z)));
    let next = || number.take();
    let found = cushim_ptx::interp::run_blocks(exec.launch, exec.memory, exec.host, &next);
    found.err().unwrap_or_else(|| {
        let message = format!("LLVM's code touched {address:#x}, and the interpreter did not");
        let cause = Cause::Internal { place: "running blocks".into(), message };
        exec.fault(cause, None, block, [0; 3])
    })
}
