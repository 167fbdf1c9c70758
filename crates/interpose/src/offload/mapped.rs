//! Stores the events of regions and mappings.
//!
//! Must not know: which call has which arguments.

use cushim_trace::layout::*;
use cushim_trace::recorder::Slots;

use super::construct::{self, Said};
use super::place;
use crate::record::{Observed, Stored};

/// Arrays of libomptarget's with `count` entries each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrays {
    /// How many.
    pub count: u32,
    /// `void *[]`: where the data begin.
    pub pointers: u64,
    /// `i64[]`.
    pub sizes: u64,
    /// `i64[]`: `OMP_TGT_MAPTYPE_*`.
    pub types: u64,
    /// `map_var_info_t[]`, or 0.
    pub names: u64,
}

/// The arguments of a region or a mapping.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mapped {
    /// The stored form, without places, counts and arguments.
    pub body: MappedBody,
    /// `ident_t`, or 0.
    pub location: u64,
    /// The arguments.
    pub arrays: Arrays,
}

/// Where an `ident_t` has its text.
const PLACE_TEXT: u64 = 16;

impl Mapped {
    /// Its place in the source: the address of the text, 0 for none.
    ///
    /// # Safety
    /// `location` is 0 or an `ident_t`.
    unsafe fn place(&self) -> u64 {
        match self.location {
            0 => 0,
            // SAFETY: as the caller promises.
            at => unsafe { ((at + PLACE_TEXT) as *const u64).read_unaligned() },
        }
    }
}

impl Arrays {
    fn kept(&self) -> usize {
        let there = self.pointers != 0 && self.sizes != 0 && self.types != 0;
        if there { (self.count as usize).min(MAPPED_MOST) } else { 0 }
    }

    /// Entry `i`, without its name.
    ///
    /// # Safety
    /// `i` is less than [`Arrays::kept`], and the arrays are libomptarget's.
    #[inline(always)]
    unsafe fn get(&self, i: usize) -> MappedArg {
        // SAFETY: as the caller promises.
        unsafe {
            MappedArg {
                pointer: (self.pointers as *const u64).add(i).read_unaligned(),
                size: (self.sizes as *const i64).add(i).read_unaligned(),
                kind: (self.types as *const u64).add(i).read_unaligned(),
                name: 0,
                reserved: 0,
            }
        }
    }
}

/// Stores an event for it, if such events are recorded.
///
/// # Safety
/// `mapped` has the arguments of the call that `observed` observes.
#[inline(always)]
pub unsafe fn begin(observed: &Observed, kind: u16, mapped: &Mapped) -> Stored {
    // SAFETY: as the caller promises.
    observed.stored(|begin| unsafe { store(observed, begin, kind, mapped) })
}

/// # Safety
/// As of [`begin`].
#[inline(always)]
pub unsafe fn store(observed: &Observed, begin: u64, kind: u16, mapped: &Mapped) -> Option<Slots> {
    let count = mapped.arrays.kept();
    // SAFETY: as the caller promises.
    let said = Said { place: unsafe { mapped.place() }, names: mapped.arrays.names, count };
    // SAFETY: as the caller promises, an array of as many entries as are kept.
    let Some(found) = (unsafe { construct::find(observed.global, &said) }) else {
        // SAFETY: as the caller promises; `said` is of this call's arrays.
        return unsafe { store_anew(observed, begin, kind, mapped, &said) };
    };
    let number = |i: usize| found.each.get(i).map_or(0, |(_, number)| *number);
    // SAFETY: as the caller promises.
    unsafe { store_named(observed, begin, kind, mapped, found.number, number) }
}

/// As [`store`] where nothing is kept for the call, or it has no names: looks up each text, and
/// keeps the result where possible.
///
/// # Safety
/// As of [`begin`].
#[inline(never)]
unsafe fn store_anew(
    observed: &Observed,
    begin: u64,
    kind: u16,
    mapped: &Mapped,
    said: &Said,
) -> Option<Slots> {
    let (global, recorder) = (observed.global, observed.recorder);
    let unloads = place::unloads();
    // SAFETY: as the caller promises.
    let place = unsafe { place::number(global, recorder, said.place) };
    let mut names = [0u32; MAPPED_MOST];
    let names = names.get_mut(..said.count)?;
    for (i, name) in names.iter_mut().enumerate() {
        // SAFETY: as the caller promises; `i` is less than `count`.
        *name = unsafe { place::number(global, recorder, said.name(i)) };
    }
    // SAFETY: as the caller promises.
    unsafe { construct::keep(global, said, unloads, place, names) };
    let number = |i: usize| names.get(i).copied().unwrap_or(0);
    // SAFETY: as the caller promises.
    unsafe { store_named(observed, begin, kind, mapped, place, number) }
}

/// Stores it with the numbers of its place and its arguments' names, in the short form if it fits.
///
/// # Safety
/// As of [`begin`].
#[inline(always)]
unsafe fn store_named(
    observed: &Observed,
    begin: u64,
    kind: u16,
    mapped: &Mapped,
    place: u32,
    name: impl Fn(usize) -> u32,
) -> Option<Slots> {
    let arrays = mapped.arrays;
    let kept = arrays.kept();
    let body = MappedBody { place, count: arrays.count, kept: kept as u16, ..mapped.body };
    // SAFETY: `i` is less than `kept`, and the arrays are the call's, as the caller promises.
    let arg = |i: usize| unsafe { MappedArg { name: name(i), ..arrays.get(i) } };
    if body.is_short() && (0..kept).all(|i| arg(i).is_short()) {
        let kind = if kind == EVENT_MAP { EVENT_SHORT_MAP } else { EVENT_SHORT_REGION };
        let size = SHORT_MAPPED_ARGS + kept * size_of::<ShortMappedArg>();
        let fill = |slots: Slots| {
            // SAFETY: `size` bytes were reserved, aligned to 64; the short form is aligned to four.
            unsafe {
                slots.at::<ShortMappedBody>(32).write(body.short());
                let to = slots.at::<ShortMappedArg>(SHORT_MAPPED_ARGS);
                (0..kept).for_each(|i| to.add(i).write(arg(i).short()));
            }
        };
        return observed.store_bytes(begin, kind, body.kernel, size, fill);
    }
    let size = MAPPED_ARGS + kept * size_of::<MappedArg>();
    let fill = |slots: Slots| {
        // SAFETY: `size` bytes were reserved.
        unsafe {
            slots.at::<MappedBody>(32).write(body);
            let to = slots.at::<MappedArg>(MAPPED_ARGS);
            (0..kept).for_each(|i| to.add(i).write(arg(i)));
        }
    };
    observed.store_bytes(begin, kind, body.kernel, size, fill)
}

/// Stores why a region ran on the host. Call it before its end is stored.
#[cold]
pub fn fell_back(stored: &Stored, why: u8) {
    use std::mem::offset_of;
    let Some(slots) = stored.slots() else { return };
    // SAFETY: the event's first word, which this thread published.
    let kind = unsafe { slots.at::<u32>(0).read() } as u16;
    let at = match kind {
        EVENT_SHORT_REGION => offset_of!(ShortMappedBody, fallback),
        _ => offset_of!(MappedBody, fallback),
    };
    // SAFETY: that byte lies inside the event, which is not finished yet.
    unsafe { slots.at::<u8>(32 + at).write(why) };
}
