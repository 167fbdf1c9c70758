//! Storing the events of regions and mappings.
//!
//! Must not know: which call has which arguments.

use cushim_trace::layout::*;
use cushim_trace::recorder::Slots;

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

/// What a region or a mapping is called with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mapped {
    /// As it is stored, but for places, counts and arguments.
    pub body: MappedBody,
    /// `ident_t`, or 0.
    pub location: u64,
    /// The arguments.
    pub arrays: Arrays,
}

/// Where an `ident_t` has its text.
const PLACE_TEXT: u64 = 16;

impl Mapped {
    /// Where in the source it is: the address of the text, 0 for nowhere.
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

    /// Entry `i`, but for its name.
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

    /// Where the text of entry `i`'s name is, 0 for nowhere.
    ///
    /// # Safety
    /// As of [`Arrays::get`].
    #[inline(always)]
    unsafe fn name(&self, i: usize) -> u64 {
        match self.names {
            0 => 0,
            // SAFETY: as the caller promises.
            names => unsafe { (names as *const u64).add(i).read_unaligned() },
        }
    }
}

/// Stores it where it is wanted.
///
/// # Safety
/// The arguments of the call that `observed` is about.
#[inline(always)]
pub unsafe fn begin(observed: &Observed, kind: u16, mapped: &Mapped) -> Stored {
    // SAFETY: as the caller promises.
    observed.stored(|begin| unsafe { store(observed, begin, kind, mapped) })
}

/// # Safety
/// As of [`begin`].
pub unsafe fn store(observed: &Observed, begin: u64, kind: u16, mapped: &Mapped) -> Option<Slots> {
    let (global, recorder) = (observed.global, observed.recorder);
    let kept = mapped.arrays.kept();
    // Names first: they may take slots of their own.
    // SAFETY: as the caller promises.
    let place = unsafe { place::number(global, recorder, mapped.place()) };
    let mut names = [0u32; MAPPED_MOST];
    for (i, name) in names.iter_mut().enumerate().take(kept) {
        // SAFETY: as the caller promises; `i` is less than `kept`.
        *name = unsafe { place::number(global, recorder, mapped.arrays.name(i)) };
    }
    let size = MAPPED_ARGS + kept * size_of::<MappedArg>();
    let body = MappedBody { place, count: mapped.arrays.count, kept: kept as u16, ..mapped.body };
    let fill = |slots: Slots| {
        // SAFETY: `size` bytes were reserved; the arrays have `kept` entries, as the caller promises.
        unsafe {
            slots.at::<MappedBody>(32).write(body);
            for (i, name) in names.iter().enumerate().take(kept) {
                let arg = MappedArg { name: *name, ..mapped.arrays.get(i) };
                let at = MAPPED_ARGS + i * size_of::<MappedArg>();
                slots.at::<MappedArg>(at).write(arg);
            }
        }
    };
    observed.store_bytes(begin, kind, body.kernel, size, fill)
}

/// Says why a region went to the host. To be called before its end is stored.
pub fn fell_back(stored: &Stored, why: u8) {
    if let Some(slots) = stored.slots() {
        let at = 32 + std::mem::offset_of!(MappedBody, fallback);
        // SAFETY: that byte lies inside the event, which is not finished yet.
        unsafe { slots.at::<u8>(at).write(why) };
    }
}
