//! Accesses of all lanes that are checked at once, and then executed without further checks.
//!
//! Owns the usual cases: values of 32 and 64 bits, in shared memory or in device memory. Memory is accessed only if
//! every lane's access is valid; all other cases are left to [`super::memory`], which goes lane by lane and finds the
//! lane at fault.

use super::atomics::Cell;
use super::lane::{lanes, width};
use crate::simt::plan::shape::Class;
use crate::warp::Site;
use crate::warp::{Slot, Warp};
use cushim_ptx::alu;
use cushim_ptx::exec::{LOCAL_WINDOW, SHARED_WINDOW};
use cushim_ptx::ir::Dst;
use cushim_ptx::sem::Update;
use cushim_ptx::types::{Scalar, Space};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Where lanes' accesses are in this process's memory, all of them checked.
pub(super) struct Places {
    /// What is added to an address.
    base: *mut u8,
    addresses: [u64; 32],
    /// Other threads may use them at the same time.
    public: bool,
}

impl Places {
    /// The address of a lane.
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
    /// As 64 bits, and the lowest of them.
    fn wide(self) -> u64;
    fn cut(v: u64) -> Self;
}

impl Number for u32 {
    fn of(slot: &mut Slot) -> &mut [u32] {
        // SAFETY: twice as many numbers of half the size, which want less alignment.
        unsafe { std::slice::from_raw_parts_mut(slot.as_mut_ptr().cast(), 64) }
    }

    unsafe fn get(at: *mut u32) -> u32 {
        // SAFETY: `Places` found the address mapped and aligned to 4 bytes.
        unsafe { AtomicU32::from_ptr(at) }.load(Ordering::Relaxed)
    }

    unsafe fn put(at: *mut u32, v: u32) {
        // SAFETY: `Places` found the address mapped for writing and aligned to 4 bytes.
        unsafe { AtomicU32::from_ptr(at) }.store(v, Ordering::Relaxed);
    }

    #[inline(always)]
    fn wide(self) -> u64 {
        self.into()
    }

    #[inline(always)]
    fn cut(v: u64) -> u32 {
        v as u32
    }
}

impl Number for u64 {
    fn of(slot: &mut Slot) -> &mut [u64] {
        slot
    }

    unsafe fn get(at: *mut u64) -> u64 {
        // SAFETY: `Places` found the address mapped and aligned to 8 bytes.
        unsafe { AtomicU64::from_ptr(at) }.load(Ordering::Relaxed)
    }

    unsafe fn put(at: *mut u64, v: u64) {
        // SAFETY: `Places` found the address mapped for writing and aligned to 8 bytes.
        unsafe { AtomicU64::from_ptr(at) }.store(v, Ordering::Relaxed);
    }

    #[inline(always)]
    fn wide(self) -> u64 {
        self
    }

    #[inline(always)]
    fn cut(v: u64) -> u64 {
        v
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

/// The widest range that is checked as a whole.
const NEAR: u64 = 32 * 4096;

/// Checks `bytes` at each of the addresses, whose multiples they are to be, for reading or for writing, too; `None`: look closer.
pub(super) fn check(
    w: &Warp,
    space: Space,
    addresses: [u64; 32],
    mask: u32,
    (bytes, writes): (u64, bool),
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
    let local = LOCAL_WINDOW..LOCAL_WINDOW + (1 << 32);
    let own = match space {
        Space::Local => Some(0),
        Space::Generic if local.contains(&least) && local.contains(&most) => Some(LOCAL_WINDOW),
        _ => None,
    };
    if let Some(from) = own {
        let end = (most - from).checked_add(bytes)?;
        let mut at = addresses;
        at.iter_mut().zip(0..).for_each(|(at, lane)| {
            *at = at.wrapping_sub(from).wrapping_add(lane * w.local_stride);
        });
        return (end <= w.local_size).then_some(Places {
            base: w.local,
            addresses: at,
            public: false,
        });
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
    // Usually within one allocation; else each by itself, as when they are far apart: a check takes time proportional
    // to its range.
    let there = |at: u64, bytes: u64| match writes {
        true => memory.takes(at, bytes),
        false => memory.holds(at, bytes),
    };
    let known = whole <= NEAR && there(least, whole);
    if !known && !lanes(mask).all(|l| there(addresses[l], bytes)) {
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
    let (ty, dst) = (site.inst.sem.ty(), &site.inst.dst);
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
    let ty = site.inst.sem.ty();
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
pub(super) fn atom(w: &mut Warp, site: &Site, places: &Places, update: Update, mask: u32) -> bool {
    let (inst, ty) = (&site.inst, update.ty());
    let operands = &site.operands[1..];
    let plain = operands.len() == update.operands()
        && operands.iter().all(|c| *c == Class::of(ty))
        && inst.dst.iter().zip(&site.results).all(|(d, c)| takes(*d, *c, ty));
    match ty.bytes() {
        4 if plain => atom_of::<u32>(w, places, update, mask),
        8 if plain => atom_of::<u64>(w, places, update, mask),
        _ => false,
    }
}

/// The same for numbers of one size: a loop for each update that the processor has instructions for.
fn atom_of<T: Number + Cell>(w: &mut Warp, places: &Places, update: Update, mask: u32) -> bool {
    macro_rules! with {
        ($known:expr) => {{
            let known = $known;
            if places.public {
                // SAFETY: checked and aligned. There is an instruction for each of these.
                each_of::<T>(w, places, mask, |p, b, c| unsafe {
                    T::update(p, known, b, c).unwrap_or(b)
                });
            } else {
                each_of::<T>(w, places, mask, |p, b, c| {
                    // SAFETY: checked; shared memory is one thread's as long as a block runs.
                    let old = unsafe { p.read_unaligned() };
                    let new = alu::atomic(known, old.wide(), b.wide(), c.wide());
                    // SAFETY: `p` is the place that was just read, which `Places` found mapped for writing.
                    unsafe { p.write_unaligned(T::cut(new)) };
                    old
                });
            }
        }};
    }
    match update {
        Update::Add(ty) => with!(Update::Add(ty)),
        Update::And(ty) => with!(Update::And(ty)),
        Update::Or(ty) => with!(Update::Or(ty)),
        Update::Xor(ty) => with!(Update::Xor(ty)),
        Update::Exchange(ty) => with!(Update::Exchange(ty)),
        Update::Min(ty) => with!(Update::Min(ty)),
        Update::Max(ty) => with!(Update::Max(ty)),
        Update::CompareExchange(ty) => with!(Update::CompareExchange(ty)),
        Update::Increment | Update::Decrement => return false,
        Update::FloatAdd(_) | Update::FloatMin(_) | Update::FloatMax(_) => return false,
        Update::ExchangePair | Update::CompareExchangePair => return false,
    }
    true
}

/// Executes one operation after the other; the old values go to slot 0.
#[inline(always)]
fn each_of<T: Number>(w: &mut Warp, places: &Places, mask: u32, f: impl Fn(*mut T, T, T) -> T) {
    let [to, b, c, ..] = &mut w.scratch;
    let (to, b, c) = (T::of(to), T::of(b), T::of(c));
    each(mask, |l| to[l] = f(places.at(l), b[l], c[l]));
}
