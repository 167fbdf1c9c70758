//! Accesses in any state space: all lanes together if possible, else lane by lane.

use super::access::{self, get, put};
use super::arena::update as exchange;
use super::atomics;
use super::lane::{lanes, warp, width};
use super::vector_access;
use crate::simt::plan::shape::Class;
use crate::warp::Warp;
use crate::warp::{Site, at_once};
use cushim_ptx::alu;
use cushim_ptx::exec::cluster::{self, RANK_SIZE};
use cushim_ptx::exec::{Access, Cause, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use cushim_ptx::sem::{Atomic, Operation, Source};
use cushim_ptx::types::Space;

const WINDOW_SIZE: u64 = 1 << 32;

/// An address in this process's memory.
pub(crate) struct Place {
    pub(crate) at: *mut u8,
    /// Other threads may use it at the same time.
    pub(crate) public: bool,
}

impl Warp {
    /// The process's address of `bytes` at an address, or what is wrong with it.
    pub(crate) fn place(
        &self,
        space: Space,
        address: u64,
        lane: usize,
        bytes: u64,
        write: bool,
    ) -> Result<Place, Cause> {
        let within = |w: u64| (w..w + WINDOW_SIZE).contains(&address);
        let (space, at) = match space {
            Space::Generic if within(SHARED_WINDOW) => (Space::Shared, address - SHARED_WINDOW),
            Space::Generic if within(LOCAL_WINDOW) => (Space::Local, address - LOCAL_WINDOW),
            Space::Generic if within(PARAM_WINDOW) => (Space::Param, address - PARAM_WINDOW),
            s => (s, address),
        };
        let exec = self.exec();
        let inside = |size: u64| at.checked_add(bytes).is_some_and(|end| end <= size);
        let found = |at: *mut u8, ok: bool| ok.then_some(at);
        let (found, name) = match space {
            Space::Shared => {
                let (memory, at) = match at < RANK_SIZE {
                    true => (self.shared, at),
                    false => self.peer(at),
                };
                let inside = at.checked_add(bytes).is_some_and(|end| end <= self.shared_size);
                let there = !memory.is_null() && inside;
                (found(memory.wrapping_add(at as usize), there), "shared")
            }
            Space::Local => {
                let size = self.local_size;
                let base = self.local.wrapping_add(lane * self.local_stride as usize);
                (found(base.wrapping_add(at as usize), inside(size)), "local")
            }
            Space::Param => {
                let base = self.params.cast_mut();
                let ok = !write && inside(exec.launch.params.len() as u64);
                (found(base.wrapping_add(at as usize), ok), "param")
            }
            _ => {
                // Not an offset from null, which the compiler knows to be nowhere: it drops such reads.
                let place = std::ptr::with_exposed_provenance_mut(at as usize);
                let there = match write {
                    true => exec.memory.takes(at, bytes),
                    false => exec.memory.holds(at, bytes),
                };
                (found(place, there), "global")
            }
        };
        let public = name == "global";
        match found {
            Some(at) => Ok(Place { at, public }),
            None => Err(Cause::Address { address: at, bytes: bytes as u32, space: name }),
        }
    }

    /// The shared memory of the cluster's block that an address means, null if there is none, and the offset in it.
    fn peer(&self, address: u64) -> (*mut u8, u64) {
        let (rank, at) = cluster::find(address, self.rank.into());
        if rank >= u64::from(self.cluster_size) {
            return (std::ptr::null_mut(), at);
        }
        // SAFETY: as many as the cluster has blocks, which live as long as this one.
        (unsafe { *self.peers.add(rank as usize) }, at)
    }

    /// The addresses of an access; of lanes that do not take part, anything.
    pub(super) fn addresses(&self, site: &Site) -> [u64; 32] {
        let (first, second) = (self.scratch[0][0], self.scratch[0][1]);
        site.addresses.all(first, second, || match site.operands[0] {
            Class::Wide => self.scratch[0],
            class => std::array::from_fn(|l| self.value(0, class, l)),
        })
    }

    /// Copies bytes out of memory; for the host's functions.
    pub(crate) fn read(&self, lane: usize, address: u64, out: &mut [u8]) -> Result<(), Cause> {
        let place = self.place(Space::Generic, address, lane, out.len() as u64, false)?;
        // SAFETY: `place` has checked the range; `out` is not in it.
        unsafe { access::read(place.at, out) };
        Ok(())
    }
}

/// The address of one lane's access, or the fault.
fn find(
    w: &mut Warp,
    site: &Site,
    lane: usize,
    address: u64,
    bytes: u64,
    write: bool,
) -> Result<Place, u32> {
    if !address.is_multiple_of(bytes) {
        let bytes = bytes as u32;
        return Err(w.fail(site, lane, Cause::Misaligned { address, bytes }));
    }
    w.place(site.space, address, lane, bytes, write).map_err(|cause| w.fail(site, lane, cause))
}

pub(super) unsafe fn load(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let site = w.site(n);
    let inst = &site.inst;
    let Operation::Load(access) = &inst.sem else { return 0 };
    let ty = access.element;
    let (bytes, parts) = (ty.bytes() as usize, inst.dst.len());
    let (addresses, total) = (w.addresses(site), (bytes * parts) as u64);
    let known = vector_access::check(w, site.space, addresses, mask, (total, false));
    let once = at_once(access);
    if let Some(places) = &known
        && !once
        && vector_access::load(w, site, places, mask)
    {
        return 0;
    }
    for l in lanes(mask) {
        let at = match &known {
            Some(places) => places.at(l),
            None => match find(w, site, l, addresses[l], total, false) {
                Ok(p) => p.at,
                Err(fault) => return fault,
            },
        };
        // SAFETY: all parts have been checked.
        let copy = once.then(|| unsafe { atomics::read_at_once(at, total as usize) });
        let from = copy.as_ref().map_or(at.cast_const(), |c| c.as_ptr().cast());
        for k in 0..parts {
            // SAFETY: all parts have been checked, and a copy has as many bytes.
            let mut v = unsafe { get(from.add(k * bytes), bytes) };
            if ty.is_signed() {
                let shift = 64 - ty.bits();
                v = ((v << shift) as i64 >> shift) as u64;
            }
            let v = v & alu::mask(width(inst.dst[k]));
            w.set_value(k, site.results[k], l, v);
        }
    }
    0
}

pub(super) unsafe fn store(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let site = w.site(n);
    let Operation::Store(access) = &site.inst.sem else { return 0 };
    let bytes = access.element.bytes() as usize;
    let parts = site.operands.len() - 1;
    let (addresses, total) = (w.addresses(site), (bytes * parts) as u64);
    let known = vector_access::check(w, site.space, addresses, mask, (total, true));
    let once = at_once(access);
    if let Some(places) = &known
        && !once
        && vector_access::store(w, site, places, mask)
    {
        return 0;
    }
    for l in lanes(mask) {
        let at = match &known {
            Some(places) => places.at(l),
            None => match find(w, site, l, addresses[l], total, true) {
                Ok(p) => p.at,
                Err(fault) => return fault,
            },
        };
        let mut copy = [0u64; 2];
        let to = if once { copy.as_mut_ptr().cast() } else { at };
        for k in 0..parts {
            let v = w.value(k + 1, site.operands[k + 1], l);
            // SAFETY: all parts have been checked, and a copy has as many bytes.
            unsafe { put(to.add(k * bytes), bytes, v) };
        }
        if once {
            // SAFETY: all parts have been checked.
            unsafe { atomics::write_at_once(at, total as usize, copy) };
        }
    }
    0
}

pub(super) unsafe fn atom(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let site = w.site(n);
    let inst = &site.inst;
    let Operation::Atomic(Atomic { update, access }) = inst.sem else { return 0 };
    let ty = update.ty();
    let bytes = ty.bytes();
    let (parts, second) = (usize::from(access.parts), update.operands() > 1);
    let addresses = w.addresses(site);
    let whole = u64::from(bytes) * parts as u64;
    if let Some(places) = vector_access::check(w, site.space, addresses, mask, (whole, true))
        && vector_access::atom(w, site, &places, update, mask)
    {
        return 0;
    }
    for l in lanes(mask) {
        let place = match find(w, site, l, addresses[l], whole, true) {
            Ok(p) => p,
            Err(fault) => return fault,
        };
        if update.is_pair() {
            let operand =
                |n: usize| [1, 2].map(|half| w.value(2 * n + half, site.operands[2 * n + half], l));
            let (b, c) = (operand(0), operand(update.operands() - 1));
            let mut new = |old| alu::atomic_pair(update, old, b, c);
            // SAFETY: `find` has checked range and alignment.
            w.results[1][..2].copy_from_slice(&unsafe {
                if place.public {
                    access::update_pair(place.at, &mut new)
                } else {
                    let old = place.at.cast::<[u64; 2]>().read_unaligned();
                    place.at.cast::<[u64; 2]>().write_unaligned(new(old));
                    old
                }
            });
        }
        for k in (0..parts).filter(|_| !update.is_pair()) {
            let b = w.value(k + 1, site.operands[k + 1], l) & alu::mask(ty.bits());
            let c = if second { w.value(2, site.operands[2], l) } else { 0 };
            let at = place.at.wrapping_add(k * bytes as usize);
            // SAFETY: `find` has checked range and alignment.
            let old = unsafe {
                if place.public {
                    let new = &mut |old| alu::atomic_global(update, old, b, c);
                    atomics::fast(at, update, b, c).unwrap_or_else(|| exchange(at, bytes, new))
                } else {
                    let old = get(at, bytes as usize);
                    put(at, bytes as usize, alu::atomic(update, old, b, c));
                    old
                }
            };
            if let Some(dst) = inst.dst.get(k) {
                w.results[0][l] = old & alu::mask(width(*dst));
                if parts > 1 {
                    // Slots of further operands are still to be read.
                    w.results[1][k] = w.results[0][l];
                }
            }
        }
        if parts > 1 {
            for k in 0..inst.dst.len() {
                let v = w.results[1][k];
                w.set_value(k + 1, site.results[k], l, v);
            }
        }
    }
    if parts > 1 {
        for k in 0..inst.dst.len() {
            w.scratch[k] = w.scratch[k + 1];
        }
    } else if !inst.dst.is_empty() {
        for l in lanes(mask) {
            let v = w.results[0][l];
            w.set_value(0, site.results[0], l, v);
        }
    }
    0
}

pub(super) unsafe fn copy_async(w: *mut Warp, n: u32, mask: u32) -> u32 {
    // SAFETY: called by generated code.
    let w = unsafe { warp(w) };
    let site = w.site(n);
    let inst = &site.inst;
    let Operation::CopyAsync(copy) = inst.sem else { return 0 };
    let size = usize::from(copy.bytes);
    for l in lanes(mask) {
        let limit = || w.value(3, site.operands[3], l);
        let count = match copy.source {
            Source::Whole => size,
            Source::Ignored if limit() != 0 => 0,
            Source::Ignored => size,
            Source::Bytes => (limit() as usize).min(size),
        };
        let (to, from) = (w.value(0, site.operands[0], l), w.value(1, site.operands[1], l));
        let mut bytes = [0u8; 16];
        let shown = w.show_lane(site, l, Access::Read, (Space::Global, from), count);
        let shown =
            shown.and_then(|()| w.show_lane(site, l, Access::Write, (Space::Shared, to), size));
        if let Err(cause) = shown {
            return w.fail(site, l, cause);
        }
        if count > 0 {
            match w.place(Space::Global, from, l, count as u64, false) {
                // SAFETY: `place` has checked the range.
                Ok(p) => unsafe { access::read(p.at, &mut bytes[..count]) },
                Err(cause) => return w.fail(site, l, cause),
            }
        }
        match w.place(Space::Shared, to, l, size as u64, true) {
            // SAFETY: `place` has checked the range.
            Ok(p) => unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), p.at, size) },
            Err(cause) => return w.fail(site, l, cause),
        }
    }
    0
}
