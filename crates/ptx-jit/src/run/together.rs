//! Accesses of all lanes that are checked at once, and then done without looking again.
//!
//! Owns the usual cases: values of 32 and 64 bits, in shared memory or in device memory. Nothing is touched
//! unless every lane may touch what it wants; what is not a usual case, or not in order, is left to
//! [`super::memory`], which goes lane by lane and finds the one to blame.

use super::helpers::{lanes, width};
use super::warp::{Slot, Warp};
use crate::emit::Site;
use crate::plan::form::Class;
use cushim_ptx::interp::SHARED_WINDOW;
use cushim_ptx::ir::Dst;
use cushim_ptx::table::Word;
use cushim_ptx::types::{Kind, Scalar, Space};
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

/// Where lanes' accesses are in this process's memory, all of them checked.
pub(super) struct Places {
    /// What is added to an address.
    base: *mut u8,
    addresses: [u64; 32],
    /// Other threads may use them at the same time.
    public: bool,
}

impl Places {
    /// The place of a lane.
    pub(super) fn at<T>(&self, lane: usize) -> *mut T {
        self.base.wrapping_add(self.addresses[lane] as usize).cast()
    }
}

/// A slot as numbers of 32 or 64 bits, and what others may read or write meanwhile: each one access.
trait Number: Copy {
    fn of(slot: &mut Slot) -> &mut [Self];
    /// # Safety
    /// `at` is mapped and aligned.
    unsafe fn get(at: *mut Self) -> Self;
    /// # Safety
    /// As for [`Number::get`], and writable.
    unsafe fn put(at: *mut Self, v: Self);
}

impl Number for u32 {
    fn of(slot: &mut Slot) -> &mut [u32] {
        // SAFETY: twice as many numbers of half the size, which want less alignment.
        unsafe { std::slice::from_raw_parts_mut(slot.as_mut_ptr().cast(), 64) }
    }

    unsafe fn get(at: *mut u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { AtomicU32::from_ptr(at) }.load(Ordering::Relaxed)
    }

    unsafe fn put(at: *mut u32, v: u32) {
        // SAFETY: the caller's promise.
        unsafe { AtomicU32::from_ptr(at) }.store(v, Ordering::Relaxed);
    }
}

impl Number for u64 {
    fn of(slot: &mut Slot) -> &mut [u64] {
        slot
    }

    unsafe fn get(at: *mut u64) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { AtomicU64::from_ptr(at) }.load(Ordering::Relaxed)
    }

    unsafe fn put(at: *mut u64, v: u64) {
        // SAFETY: the caller's promise.
        unsafe { AtomicU64::from_ptr(at) }.store(v, Ordering::Relaxed);
    }
}

/// Runs for the lanes of a mask.
#[inline(always)]
fn each(mask: u32, mut f: impl FnMut(usize)) {
    if mask == u32::MAX {
        (0..32).for_each(f);
    } else {
        lanes(mask).for_each(&mut f);
    }
}

/// The widest range that is looked at as a whole.
const NEAR: u64 = 32 * 4096;

/// Checks `bytes` at each of the addresses, whose multiples they are to be; `None`: look closer.
pub(super) fn check(
    w: &Warp,
    space: Space,
    addresses: [u64; 32],
    mask: u32,
    bytes: u64,
) -> Option<Places> {
    let (mut least, mut most, mut all) = (u64::MAX, 0, 0);
    each(mask, |l| {
        let a = addresses[l];
        (least, most, all) = (least.min(a), most.max(a), all | a);
    });
    // A number of parts that is not a power of two has no such mask.
    if mask == 0 || !bytes.is_power_of_two() || all & (bytes - 1) != 0 {
        return None;
    }
    let window = SHARED_WINDOW..SHARED_WINDOW + (1 << 32);
    let shared = match space {
        Space::Shared => Some(0),
        Space::Generic if window.contains(&least) && window.contains(&most) => Some(SHARED_WINDOW),
        Space::Generic if most >= SHARED_WINDOW => return None,
        Space::Global | Space::Const | Space::Generic => None,
        _ => return None,
    };
    if let Some(from) = shared {
        let end = (most - from).checked_add(bytes)?;
        let base = w.shared.wrapping_sub(from as usize);
        return (end <= w.shared_size).then_some(Places { base, addresses, public: false });
    }
    let memory = w.exec().memory;
    let whole = (most - least).checked_add(bytes)?;
    // Of one allocation, mostly; else each on its own, as where they lie far apart: looking takes as long as what is
    // looked at.
    let known = whole <= NEAR && memory.holds(least, whole);
    if !known && !lanes(mask).all(|l| memory.holds(addresses[l], bytes)) {
        return None;
    }
    let base = std::ptr::with_exposed_provenance_mut(0);
    Some(Places { base, addresses, public: true })
}

/// Whether a result takes the bits of such a number as they are.
fn takes(dst: Dst, class: Class, ty: Scalar) -> bool {
    match dst {
        Dst::Reg(..) => class == Class::of(ty) && width(dst) == ty.bits(),
        Dst::Sink => true,
    }
}

/// A load; whether it was done.
pub(super) fn load(w: &mut Warp, site: &Site, places: &Places, mask: u32) -> bool {
    let (ty, dst) = (site.inst.types[0], &site.inst.dst);
    if !dst.iter().zip(&site.results).all(|(d, c)| takes(*d, *c, ty)) {
        return false;
    }
    match ty.bytes() {
        4 => load_of::<u32>(w, dst, places, mask),
        8 => load_of::<u64>(w, dst, places, mask),
        _ => return false,
    }
    true
}

fn load_of<T: Number>(w: &mut Warp, dst: &[Dst], places: &Places, mask: u32) {
    for (k, d) in dst.iter().enumerate() {
        if matches!(d, Dst::Sink) {
            continue;
        }
        let to = T::of(&mut w.scratch[k]);
        // SAFETY: all parts were checked.
        each(mask, |l| to[l] = unsafe { T::get(places.at::<T>(l).add(k)) });
    }
}

/// A store; whether it was done.
pub(super) fn store(w: &mut Warp, site: &Site, places: &Places, mask: u32) -> bool {
    let ty = site.inst.types[0];
    let parts = &site.operands[1..];
    if !parts.iter().all(|c| *c == Class::of(ty)) {
        return false;
    }
    match ty.bytes() {
        4 => store_of::<u32>(w, parts.len(), places, mask),
        8 => store_of::<u64>(w, parts.len(), places, mask),
        _ => return false,
    }
    true
}

fn store_of<T: Number>(w: &mut Warp, parts: usize, places: &Places, mask: u32) {
    // Lane by lane: of two with one address, the later has all parts.
    each(mask, |l| {
        for k in 0..parts {
            let v = T::of(&mut w.scratch[k + 1])[l];
            // SAFETY: all parts were checked.
            unsafe { T::put(places.at::<T>(l).add(k), v) };
        }
    });
}

/// An atomic operation on one number for each lane; whether it was done.
pub(super) fn atom(w: &mut Warp, site: &Site, places: &Places, word: Word, mask: u32) -> bool {
    let (inst, ty) = (&site.inst, site.inst.types[0]);
    let cas = word == Word::Cas;
    let operands = &site.operands[1..];
    let plain = operands.len() == 1 + usize::from(cas)
        && operands.iter().all(|c| *c == Class::of(ty))
        && inst.dst.iter().zip(&site.results).all(|(d, c)| takes(*d, *c, ty));
    if !plain {
        return false;
    }
    let signed = ty.is_signed();
    let float = ty.kind() == Kind::Float;
    let order = Ordering::SeqCst;
    macro_rules! run {
        ($int:ident, $signed:ident, $atomic:ident, $atomic_signed:ident) => {{
            type T = $int;
            if places.public {
                macro_rules! cell {
                    ($kind:ident, $p:expr) => {
                        // SAFETY: checked and aligned.
                        unsafe { $kind::from_ptr($p.cast()) }
                    };
                }
                match word {
                    Word::Add if !float => {
                        each_of::<T>(w, places, mask, |p, b, _| cell!($atomic, p).fetch_add(b, order))
                    }
                    Word::And => {
                        each_of::<T>(w, places, mask, |p, b, _| cell!($atomic, p).fetch_and(b, order))
                    }
                    Word::Or => {
                        each_of::<T>(w, places, mask, |p, b, _| cell!($atomic, p).fetch_or(b, order))
                    }
                    Word::Xor => {
                        each_of::<T>(w, places, mask, |p, b, _| cell!($atomic, p).fetch_xor(b, order))
                    }
                    Word::Exch => {
                        each_of::<T>(w, places, mask, |p, b, _| cell!($atomic, p).swap(b, order))
                    }
                    Word::Min if signed => each_of::<T>(w, places, mask, |p, b, _| {
                        cell!($atomic_signed, p).fetch_min(b as $signed, order) as T
                    }),
                    Word::Max if signed => each_of::<T>(w, places, mask, |p, b, _| {
                        cell!($atomic_signed, p).fetch_max(b as $signed, order) as T
                    }),
                    Word::Min if !float => {
                        each_of::<T>(w, places, mask, |p, b, _| cell!($atomic, p).fetch_min(b, order))
                    }
                    Word::Max if !float => {
                        each_of::<T>(w, places, mask, |p, b, _| cell!($atomic, p).fetch_max(b, order))
                    }
                    Word::Cas => each_of::<T>(w, places, mask, |p, b, c| {
                        match cell!($atomic, p).compare_exchange(b, c, order, order) {
                            Ok(old) | Err(old) => old,
                        }
                    }),
                    _ => return false,
                }
            } else {
                macro_rules! with {
                    ($f:expr) => {
                        each_of::<T>(w, places, mask, |p, b, c| {
                            // SAFETY: checked; shared memory is one thread's as long as a block runs.
                            let old = unsafe { p.read_unaligned() };
                            // SAFETY: as above.
                            unsafe { p.write_unaligned($f(old, b, c)) };
                            old
                        })
                    };
                }
                match word {
                    Word::Add if !float => with!(|old: T, b: T, _| old.wrapping_add(b)),
                    Word::And => with!(|old: T, b: T, _| old & b),
                    Word::Or => with!(|old: T, b: T, _| old | b),
                    Word::Xor => with!(|old: T, b: T, _| old ^ b),
                    Word::Exch => with!(|_, b: T, _| b),
                    Word::Min if signed => {
                        with!(|old: T, b: T, _| (old as $signed).min(b as $signed) as T)
                    }
                    Word::Max if signed => {
                        with!(|old: T, b: T, _| (old as $signed).max(b as $signed) as T)
                    }
                    Word::Min if !float => with!(|old: T, b: T, _| old.min(b)),
                    Word::Max if !float => with!(|old: T, b: T, _| old.max(b)),
                    Word::Cas => with!(|old: T, b: T, c: T| if old == b { c } else { old }),
                    _ => return false,
                }
            }
        }};
    }
    match ty.bytes() {
        4 if ty.kind() != Kind::Packed => run!(u32, i32, AtomicU32, AtomicI32),
        8 => run!(u64, i64, AtomicU64, AtomicI64),
        _ => return false,
    }
    true
}

/// Does one operation after the other; what was there before goes to slot 0.
#[inline(always)]
fn each_of<T: Number>(w: &mut Warp, places: &Places, mask: u32, f: impl Fn(*mut T, T, T) -> T) {
    let [to, b, c, ..] = &mut w.scratch;
    let (to, b, c) = (T::of(to), T::of(b), T::of(c));
    each(mask, |l| to[l] = f(places.at(l), b[l], c[l]));
}
