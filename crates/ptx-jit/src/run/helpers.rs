//! The functions that generated code calls.
//!
//! All helpers have one signature: the warp, a number (mostly of a [`Site`]), and the mask of lanes. Arguments and
//! results are in the warp's scratch slots.

use super::asynchronous;
use super::calls;
use super::collective::{collective, meet};
use super::device_runtime;
use super::guard::{Body, Guarded};
use super::lane::{lanes, warp, width};
use super::mbarrier;
use super::memory;
use super::show;
use super::texture;
use super::{vector_float, vector_half, vector_int};
use crate::warp::Which;
use crate::warp::{Arrival, CLUSTER, DONE, FAULT, NOWHERE, WAITS, Warp, YIELDS};
use cushim_ptx::alu;
use cushim_ptx::exec::Cause;
use cushim_ptx::sem::{Barrier, Operation};

/// Names the helpers, by their index in [`TABLE`].
macro_rules! helpers {
    ($($name:ident: $function:path,)*) => {
        mod bodies {
            $(pub(super) struct $name;)*
        }

        $(impl Body for bodies::$name {
            const WHICH: Which = Which::$name;

            #[inline(always)]
            unsafe fn run(w: *mut Warp, n: u32, mask: u32) -> u32 {
                // SAFETY: [`enter`] hands on what generated code passed: its own warp, and the number of one of its
                // sites.
                unsafe { $function(w, n, mask) }
            }
        })*

        /// What generated code calls, each of which catches its own panics.
        pub(crate) static TABLE: &[Guarded] = &[$(Guarded::of::<bodies::$name>(),)*];

        // Each is at its index.
        const _: () = {
            let here = [$(Which::$name as usize),*];
            assert!(here.len() == Which::ALL.len());
            let mut n = 0;
            while n < here.len() {
                assert!(here[n] == n);
                n += 1;
            }
        };
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
    Call: device_runtime::call,
    CopyAsync: memory::copy_async,
    Ex2: vector_float::ex2,
    Lg2: vector_float::lg2,
    Tanh: vector_float::tanh,
    Sin: vector_float::sin,
    Cos: vector_float::cos,
    Rcp: vector_float::rcp,
    Rsqrt: vector_float::rsqrt,
    Sqrt: vector_float::sqrt,
    DivApprox: vector_float::div_approx,
    DivFull: vector_float::div_full,
    Directed: vector_float::directed,
    Fused: vector_float::fused,
    Halves: vector_half::halves,
    Enter: calls::enter,
    Save: calls::save,
    Restore: calls::restore,
    Mbarrier: mbarrier::mbarrier,
    Integers: vector_int::integers,
    Shuffle: vector_int::shuffle,
    Asynchronous: asynchronous::asynchronous,
    Texture: texture::texture,
    Show: show::show,
    Pause: pause,
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
        // Exited lanes do not keep others waiting.
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

/// Lanes take the back edge of a loop that may wait for others. Answers what to leave with.
unsafe fn spin(w: *mut Warp, region: u32, _: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    w.turns = w.turns.wrapping_add(1);
    (w.last, w.rotate) = (region, true);
    let others = (0..w.regions).any(|p| p != region && *w.mask(p as usize) != 0);
    if others && w.turns % 16 != 0 { 0 } else { YIELDS }
}

/// Lanes arrive at a barrier of the block, or of its cluster.
unsafe fn arrive(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    if mask == 0 {
        return 0;
    }
    let site = w.site(n);
    match site.inst.sem {
        Operation::Barrier(Barrier::ClusterArrive) => {
            let (barrier, lanes) = (CLUSTER, mask);
            w.arrivals.push(Arrival { barrier, lanes, count: None, predicate: None });
            return 0;
        }
        Operation::Barrier(Barrier::ClusterWait) => {
            w.waiting.push((CLUSTER, mask, site.extra, n));
            return 0;
        }
        _ => {}
    }
    let lane = mask.trailing_zeros() as usize & 31;
    // The code does not pass what is constant.
    let number = crate::warp::barrier_number(&site.inst)
        .filter(|_| site.inst.sem == Operation::Barrier(Barrier::Sync));
    let barrier = number.unwrap_or_else(|| match site.inst.sem {
        Operation::Barrier(what) => what.number(w.narrow(0, lane)),
        _ => 0,
    });
    let given = |k: usize| !matches!(site.inst.src.get(k), None | Some(cushim_ptx::ir::Src::None));
    let count = given(1).then(|| w.narrow(1, lane));
    let predicate = given(2).then(|| w.scratch[2][0] as u32);
    w.arrivals.push(Arrival { barrier, lanes: mask, count, predicate });
    if site.extra != NOWHERE {
        w.waiting.push((barrier, mask, site.extra, n));
    }
    0
}

/// What the host says: 0 the time since the launch began, 1 the time of day, 2 the graph.
unsafe fn clock(w: *mut Warp, which: u32, _: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let exec = w.exec();
    w.scratch[0][0] = match which {
        0 => exec.start.elapsed().as_nanos() as u64,
        1 => exec.host.nanoseconds(),
        _ => exec.host.current_graph(),
    };
    0
}

/// Called after many rounds of a loop in code that does not leave for that: whether the launch is being ended.
unsafe fn pause(w: *mut Warp, _: u32, _: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let exec = w.exec();
    if !exec.host.interrupted() {
        return 0;
    }
    // As the scheduler says it, which names no thread.
    let fault = exec.fault(Cause::Interrupted, None, [0; 3], [0; 3]);
    w.fault = Some(Box::new(fault));
    FAULT
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
