//! The numbers of all strings of a construct in the source (its location, its variables), cached by address.
//!
//! A region that runs again passes the same location string and the same array of names, so the two addresses
//! together are the key. The array must still hold the same addresses, and no library may have been unloaded since;
//! otherwise each string is looked up by itself ([`super::place`]).
//!
//! Must not know: what a string means, how an event is stored.

use std::sync::atomic::{AtomicU32, Ordering};

use cushim_process::table::PointerTable;

use super::place;
use crate::keep;
use crate::lock;
use crate::state::Global;

/// The addresses by which a call tells its place in the source.
#[derive(Clone, Copy)]
pub struct Said {
    /// Address of the string with its source position, 0 for none.
    pub place: u64,
    /// Address of the array of its variables' names, 0 for none.
    pub names: u64,
    /// How many of these are used.
    pub count: usize,
}

impl Said {
    /// Address of the string with name `i`, 0 for none.
    ///
    /// # Safety
    /// `names` is 0 or an array of more than `i` addresses.
    #[inline(always)]
    pub unsafe fn name(&self, i: usize) -> u64 {
        match self.names {
            0 => 0,
            // SAFETY: as the caller promises.
            names => unsafe { (names as *const u64).add(i).read_unaligned() },
        }
    }

    #[inline(always)]
    fn key(&self) -> usize {
        (self.place.rotate_left(20) ^ self.names) as usize
    }
}

/// The numbers found for it. Their records are in the trace of process [`Global::generation`].
pub struct Construct {
    place: u64,
    names: u64,
    /// The number of the place.
    pub number: u32,
    /// The address of each name, and its number.
    pub each: Box<[(u64, u32)]>,
    generation: AtomicU32,
    unloads: AtomicU32,
    /// How many other names these addresses had before.
    others: u32,
}

static CONSTRUCTS: PointerTable<Construct> = PointerTable::new();
/// If a program writes other names into its array each time, memory must not grow without end.
const MOST_OTHERS: u32 = 16;

/// What was kept for `said`, if it is still valid.
///
/// # Safety
/// `said.names` is 0 or an array of `said.count` addresses.
#[inline(always)]
pub unsafe fn find(global: &Global, said: &Said) -> Option<&'static Construct> {
    let found = CONSTRUCTS.get(said.key())?;
    let same = found.place == said.place
        && found.names == said.names
        && found.each.len() == said.count
        && found.generation.load(Ordering::Relaxed) == global.generation
        && found.unloads.load(Ordering::Relaxed) == place::unloads();
    // SAFETY: as the caller promises.
    let stands = |(i, (at, _)): (usize, &(u64, u32))| unsafe { said.name(i) } == *at;
    (same && found.each.iter().enumerate().all(stands)).then_some(found)
}

/// Keeps what was found for `said` when `unloads` was [`place::unloads`]: the `number` of its
/// place, and those of its names, `each`. Keeps nothing if a string may change until the next time,
/// or if there is none.
///
/// # Safety
/// As for [`find`].
pub unsafe fn keep(global: &Global, said: &Said, unloads: u32, number: u32, each: &[u32]) {
    // SAFETY: as the caller promises.
    let at = |i: usize| unsafe { said.name(i) };
    let settled = (0..said.count).all(|i| place::is_settled(global, at(i)));
    if !settled || !place::is_settled(global, said.place) || said.key() == 0 {
        return;
    }
    // SAFETY: errno is this thread's; what follows allocates.
    let errno = unsafe { *libc::__errno_location() };
    let numbered = |(i, number): (usize, &u32)| (at(i), *number);
    let each: Box<[_]> = each.iter().enumerate().map(numbered).collect();
    keep_all(global, said, unloads, number, each);
    // SAFETY: the calling thread's own errno.
    unsafe { *libc::__errno_location() = errno };
}

fn keep_all(global: &Global, said: &Said, unloads: u32, number: u32, each: Box<[(u64, u32)]>) {
    let known = CONSTRUCTS.get(said.key());
    if let Some(known) = known
        && (known.place, known.names, known.number) == (said.place, said.names, number)
        && known.each == each
    {
        known.generation.store(global.generation, Ordering::Relaxed);
        known.unloads.store(unloads, Ordering::Relaxed);
        return;
    }
    let others = known.map_or(0, |known| known.others + 1);
    if others > MOST_OTHERS {
        return;
    }
    let construct: &'static Construct = keep::forever(Construct {
        place: said.place,
        names: said.names,
        number,
        each,
        generation: AtomicU32::new(global.generation),
        unloads: AtomicU32::new(unloads),
        others,
    });
    lock::registry(|held| CONSTRUCTS.set(&mut held.tables, said.key(), Some(construct)));
}
