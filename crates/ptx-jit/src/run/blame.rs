//! Finds the lane whose access faulted in generated code.
//!
//! Owns finding a lane and its address from the program counter and the processor's registers. One processor
//! instruction serves several lanes, including inactive ones: at fault is the first active lane whose own bytes are
//! unmapped. Must not know: signals ([`super::trap`]).

use super::lane::lanes;
use super::launch::Exec;
use super::operand;
use super::tier::Machine;
use super::trap::TrapFrame;
use crate::warp::Warp;
use crate::warp::{Addresses, Site};
use cushim_ptx::exec::{Cause, Fault};
use cushim_ptx::ir::Inst;
use cushim_ptx::sem::Operation;

/// Bytes that a lane accesses.
fn total(inst: &Inst) -> u64 {
    match inst.sem {
        Operation::Load(a) | Operation::Store(a) => a.bytes().into(),
        Operation::Atomic(a) => a.access.bytes().into(),
        _ => inst.sem.ty().bytes().into(),
    }
}

/// How much further the address of each lane is than that of `lane`.
fn distances(site: &Site, lane: usize) -> Option<[u64; 32]> {
    let by = |steps: &[i64; 32], scale: i64| {
        let own = steps.get(lane).copied().unwrap_or(0);
        steps.map(|s| s.wrapping_sub(own).wrapping_mul(scale) as u64)
    };
    match &site.addresses {
        Addresses::Lanes => None,
        Addresses::Steps { steps, .. } => Some(by(steps, 1)),
        Addresses::Extended { steps, scale, .. } => Some(by(steps, *scale)),
    }
}

/// The instruction that accesses memory, given the one to which a processor instruction belongs: that may be an
/// arithmetic instruction that uses a value loaded just before, because nothing between them accesses memory.
fn accessing(code: &[Inst], at: u32, computes: bool) -> Option<u32> {
    let own = code.get(at as usize).is_some_and(|i| {
        matches!(i.sem, Operation::Load(_) | Operation::Store(_) | Operation::Atomic(_))
    });
    if own && !computes {
        return Some(at);
    }
    let before = code.get(..at as usize)?.iter().rposition(|i| matches!(i.sem, Operation::Load(_)));
    before.map(|n| n as u32).or(own.then_some(at))
}

/// The fault of a warp that touched an address of the arena where nothing is.
pub(super) fn touched(exec: &Exec<'_>, machine: &Machine, w: &Warp, frame: &TrapFrame) -> Fault {
    let code = &exec.variant.lowered.function.code;
    let operand = operand::find(machine.code.from(frame.at), &frame.registers);
    let origin = machine.origin(frame.at);
    let computes = operand.is_some_and(|o| o.computes);
    let at = origin.and_then(|o| accessing(code, o.inst, computes));
    let inst = at.and_then(|at| code.get(at as usize));
    let (Some(origin), Some(at), Some(inst)) = (origin, at, inst) else {
        let cause = Cause::Address { address: frame.address, bytes: 1, space: "global" };
        return exec.fault(cause, None, w.block(), w.thread(0));
    };
    let first = (origin.lane + w.from) as usize & 31;
    let bytes = total(inst);
    // The code's own accesses are aligned; of several parts of a lane, it may have been any.
    let touched = operand.map_or(frame.address, |o| o.address) & !(bytes - 1);
    let site = exec.variant.sites.iter().find(|s| s.at == at);
    let addresses = site.map(|site| match distances(site, first) {
        Some(all) => all.map(|d| touched.wrapping_add(d)),
        None => w.addresses(site),
    });
    let addresses = addresses.unwrap_or([touched; 32]);
    let writes = !matches!(inst.sem, Operation::Load(_));
    let wrong = |l: &usize| match writes {
        true => !exec.memory.takes(addresses[*l], bytes),
        false => !exec.memory.holds(addresses[*l], bytes),
    };
    let takes = |l: usize| w.taking >> l & 1 != 0;
    // The memory is mapped again by now: the lane that was handled first is named, else the first one.
    let known = if takes(first) { first } else { w.taking.trailing_zeros() as usize & 31 };
    let lane = lanes(w.taking).find(wrong).unwrap_or(known);
    let cause = Cause::Address { address: addresses[lane], bytes: bytes as u32, space: "global" };
    exec.fault(cause, Some(inst.pos), w.block(), w.thread(lane)).by(inst)
}
