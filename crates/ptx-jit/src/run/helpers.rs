//! What generated code calls.
//!
//! Every helper has one shape: the warp, a number (mostly of a [`Site`]), and
//! the lanes it is for. Arguments and results lie in the warp's scratch slots.

use super::calls;
use super::collective::{collective, meet};
use super::external;
use super::guard::{Body, Guarded};
use super::mbarrier;
use super::memory;
use super::warp::{Arrival, DONE, FAULT, NOWHERE, WAITS, Warp, YIELDS};
use super::{whole, wide, widest};
use crate::emit::Site;
use crate::simt::plan::shape::Class;
use cushim_ptx::alu;
pub(crate) use cushim_ptx::exec::lanes;
use cushim_ptx::exec::{Cause, Fault};
use cushim_ptx::ir::Dst;
use cushim_ptx::sem::{Barrier, Operation};

/// Names the helpers, by their places in [`TABLE`].
macro_rules! helpers {
    ($($name:ident: $function:path,)*) => {
        /// A helper, by its place in [`TABLE`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Which {
            $($name,)*
        }

        mod bodies {
            $(pub(super) struct $name;)*
        }

        $(impl Body for bodies::$name {
            const WHICH: Which = Which::$name;

            #[inline(always)]
            unsafe fn run(w: *mut Warp, n: u32, mask: u32) -> u32 {
                // SAFETY: the caller's promise.
                unsafe { $function(w, n, mask) }
            }
        })*

        /// What generated code calls, each of which catches its own panics.
        pub(crate) static TABLE: &[Guarded] = &[$(Guarded::of::<bodies::$name>(),)*];

        #[cfg(test)]
        pub(crate) const ALL: &[Which] = &[$(Which::$name,)*];
    };
}

helpers! {
    Pure: pure,
    Dispatch: dispatch,
    Spin: spin,
    Arrive: arrive,
    Meet: meet,
    Load: memory::load,
    Store: memory::store,
    Atom: memory::atom,
    Collective: collective,
    Clock: clock,
    Trap: trap,
    Call: external::call,
    CopyAsync: memory::copy_async,
    Ex2: widest::ex2,
    Lg2: wide::lg2,
    Tanh: wide::tanh,
    Sin: wide::sin,
    Cos: wide::cos,
    Directed: widest::directed,
    Fused: wide::fused,
    Enter: calls::enter,
    Save: calls::save,
    Restore: calls::restore,
    Mbarrier: mbarrier::mbarrier,
    Integers: whole::integers,
    Shuffle: whole::shuffle,
}

/// The warp behind a helper's first argument.
///
/// # Safety
/// Generated code passes the warp it was entered with, which nobody else uses
/// until it leaves.
pub(crate) unsafe fn warp<'a>(w: *mut Warp) -> &'a mut Warp {
    // SAFETY: the caller's promise.
    unsafe { &mut *w }
}

impl Warp {
    pub(crate) fn site<'a>(&self, n: u32) -> &'a Site {
        // SAFETY: the table of sites outlives every run of the code that was
        // made with it, and has all numbers that occur in that code.
        unsafe { &*self.sites.add(n as usize) }
    }

    /// An operand of a lane, as the interpreter has it.
    pub(crate) fn value(&self, slot: usize, class: Class, lane: usize) -> u64 {
        match class {
            Class::Narrow => self.narrow(slot, lane).into(),
            Class::Wide => self.scratch[slot][lane],
            Class::Predicate => self.scratch[slot][0] >> lane & 1,
        }
    }

    /// A result of a lane.
    pub(crate) fn set_value(&mut self, slot: usize, class: Class, lane: usize, v: u64) {
        match class {
            Class::Narrow => self.set_narrow(slot, lane, v as u32),
            Class::Wide => self.scratch[slot][lane] = v,
            Class::Predicate => {
                let bit = 1 << lane;
                let cell = &mut self.scratch[slot][0];
                *cell = if v & 1 != 0 { *cell | bit } else { *cell & !bit };
            }
        }
    }

    /// Remembers why the launch ends.
    pub(crate) fn fail(&mut self, site: &Site, lane: usize, cause: Cause) -> u32 {
        let fault = self.fault_at(site, lane, cause);
        self.fault = Some(Box::new(fault));
        FAULT
    }

    pub(crate) fn fault_at(&self, site: &Site, lane: usize, cause: Cause) -> Fault {
        let pos = Some(site.inst.pos);
        self.exec().fault(cause, pos, self.block(), self.thread(lane)).by(&site.inst)
    }

    /// The index of a lane's thread in the block.
    pub(super) fn thread(&self, lane: usize) -> [u32; 3] {
        self.tid.map(|axis| axis[lane & 31])
    }

    pub(crate) fn exec<'a>(&self) -> &'a super::launch::Exec<'a> {
        // SAFETY: set before the code is entered; the launch outlives that.
        unsafe { &*self.exec.cast() }
    }

    /// Puts results where the code looks for them, which is where operands were.
    pub(super) fn publish(&mut self, site: &Site, mask: u32) {
        for k in 0..site.inst.dst.len().min(2) {
            for l in lanes(mask) {
                let v = self.results[k][l];
                self.set_value(k, site.results[k], l, v);
            }
        }
    }

    fn mask(&mut self, region: usize) -> &mut u32 {
        // SAFETY: there are as many masks as regions, and no other number occurs.
        unsafe { &mut *self.masks.add(region) }
    }
}

/// The width of the register that a result goes to.
pub(crate) fn width(dst: Dst) -> u32 {
    match dst {
        Dst::Reg(_, bits) => bits,
        Dst::Sink => 32,
    }
}

unsafe fn pure(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let site = w.site(n);
    let inst = &site.inst;
    for l in lanes(mask) {
        let mut a = [0; 5];
        for (k, class) in site.operands.iter().take(5).enumerate() {
            a[k] = w.value(k, *class, l);
        }
        let out = alu::eval(&inst.sem, a);
        for (k, (dst, v)) in inst.dst.iter().zip([out.0, out.1]).enumerate() {
            w.results[k][l] = v & alu::mask(width(*dst));
        }
    }
    w.publish(site, mask);
    0
}

/// The next region, with the lanes that are ready there.
unsafe fn dispatch(w: *mut Warp, _: u32, _: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let mut at = w.low;
    if at == NOWHERE {
        // Lanes that ended keep nobody waiting.
        super::collective::settle(w);
        at = w.low;
    }
    if at == NOWHERE {
        let done = w.waiting.is_empty() && w.parked.is_empty();
        w.status = if done { DONE } else { WAITS };
        return NOWHERE;
    }
    let regions = w.regions;
    if std::mem::take(&mut w.rotate) {
        let after = (w.last + 1..regions).chain(0..regions);
        for region in after {
            if *w.mask(region as usize) != 0 {
                at = region;
                break;
            }
        }
    }
    w.act = std::mem::take(w.mask(at as usize));
    if at == w.low {
        let next = (at + 1..regions).find(|p| *w.mask(*p as usize) != 0);
        w.low = next.unwrap_or(NOWHERE);
    }
    at
}

/// Lanes go round a loop that may wait for others. Answers what to leave with.
unsafe fn spin(w: *mut Warp, region: u32, _: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    w.turns = w.turns.wrapping_add(1);
    (w.last, w.rotate) = (region, true);
    let others = (0..w.regions).any(|p| p != region && *w.mask(p as usize) != 0);
    if others && w.turns % 16 != 0 { 0 } else { YIELDS }
}

/// Lanes come to a barrier of the block.
unsafe fn arrive(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    if mask == 0 {
        return 0;
    }
    let site = w.site(n);
    let lane = mask.trailing_zeros() as usize & 31;
    // What the code says it does not hand over.
    let number = crate::emit::barrier_number(&site.inst)
        .filter(|_| site.inst.sem == Operation::Barrier(Barrier::Sync));
    let barrier = number.unwrap_or_else(|| w.narrow(0, lane) & 15);
    let given = |k: usize| !matches!(site.inst.src.get(k), None | Some(cushim_ptx::ir::Src::None));
    let count = given(1).then(|| w.narrow(1, lane));
    let predicate = given(2).then(|| w.scratch[2][0] as u32);
    w.arrivals.push(Arrival { barrier, lanes: mask, count, predicate });
    if site.extra != NOWHERE {
        w.waiting.push((barrier, mask, site.extra, n));
    }
    0
}

unsafe fn clock(w: *mut Warp, global: u32, _: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let exec = w.exec();
    w.scratch[0][0] =
        if global != 0 { exec.host.nanoseconds() } else { exec.start.elapsed().as_nanos() as u64 };
    0
}

unsafe fn trap(w: *mut Warp, n: u32, mask: u32) -> u32 {
    if mask == 0 {
        return 0;
    }
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let site = w.site(n);
    w.fail(site, mask.trailing_zeros() as usize, Cause::Trap)
}
