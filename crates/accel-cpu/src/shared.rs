//! Memory of the range that is backed by files, so that other processes can share it, and reserved addresses without
//! memory.
//!
//! Owns moving an allocation's pages into a file, making an allocation from a file, and mapping memory at reserved
//! addresses, all in whole granules. Must not know: how processes find each other's files.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use cushim_accel::locks::lock;
use cushim_accel::{Access, Failure, Sharing, file};

use super::arena::{Allocation, Arena, GRANULE, PAGE, State};

/// Pages that are backed by a file.
pub(super) struct Shared {
    length: u64,
    /// `None` for a file that another process made.
    file: Option<Arc<OwnedFd>>,
}

impl Arena {
    /// Makes the granules of an allocation pages of a file, if they are not yet; returns the file, and the
    /// allocation's offset in it. The caller ensures that nothing accesses them meanwhile. `None` if the system has
    /// no more memory, or if the allocation shares granules with others that are shared differently.
    pub fn share(&self, address: u64) -> Option<(Arc<OwnedFd>, u64)> {
        let mut state = lock(&self.state);
        let found = *state.live.get(&address)?;
        let from = address / GRANULE * GRANULE;
        let length = (address + found.length).next_multiple_of(GRANULE) - from;
        if let Some((at, shared)) = state.shared.range(..from + length).next_back()
            && at + shared.length > from
        {
            let all = *at <= from && at + shared.length >= from + length;
            let file = shared.file.clone().filter(|_| all)?;
            return Some((file, address - at));
        }
        let file = file::create("memory", length)?;
        if !fill(file.as_fd(), from, length) {
            return None;
        }
        if !self.granules.replace(from, length, Some((file.as_raw_fd(), 0)), true) {
            return None;
        }
        let file = Arc::new(file);
        state.shared.insert(from, Shared { length, file: Some(file.clone()) });
        Some((file, address - from))
    }

    /// An allocation of pages of a file: `from` and `bytes` are multiples of [`GRANULE`].
    pub fn attach(&self, file: BorrowedFd<'_>, from: u64, bytes: u64) -> Option<u64> {
        if bytes == 0 || !(from | bytes).is_multiple_of(GRANULE) {
            return None;
        }
        let mut state = lock(&self.state);
        let place = state.find(bytes, GRANULE)?;
        let at = place.2;
        if !self.granules.commit(at, bytes) {
            return None;
        }
        if !self.granules.replace(at, bytes, Some((file.as_raw_fd(), from)), true) {
            self.granules.leave(at, bytes, true);
            return None;
        }
        state.take(place, bytes);
        state.live.insert(at, Allocation { span: bytes, length: bytes, bytes });
        state.shared.insert(at, Shared { length: bytes, file: None });
        Some(at)
    }

    /// An allocation was freed: pages of a file without another allocation become the range's own again.
    pub(super) fn unshare(&self, state: &mut State, address: u64, length: u64) {
        let Some((&at, shared)) = state.shared.range(..address + length).next_back() else {
            return;
        };
        let end = at + shared.length;
        if end <= address || state.live.range(at..end).next().is_some() {
            return;
        }
        if self.granules.replace(at, end - at, None, true) {
            state.shared.remove(&at);
        }
    }

    /// Reserves addresses for later memory: a multiple of [`GRANULE`], at `near` if nothing is there.
    pub fn reserve_addresses(&self, bytes: u64, align: u64, near: u64) -> Option<u64> {
        if bytes == 0 || !bytes.is_multiple_of(GRANULE) {
            return None;
        }
        let align = align.max(GRANULE);
        let mut state = lock(&self.state);
        let wished = near.is_multiple_of(align).then(|| state.unused(near, bytes)).flatten();
        let place = wished.or_else(|| state.find(bytes, align))?;
        let at = place.2;
        // Memory that was freed there may still be mapped.
        if !self.granules.replace(at, bytes, None, false)
            || !self.granules.open(at, bytes, Access::None)
        {
            return None;
        }
        state.take(place, bytes);
        state.reserved.insert(at, bytes);
        Some(at)
    }

    /// Gives addresses back; nothing is mapped there any more.
    pub fn release_addresses(&self, at: u64) -> bool {
        let mut state = lock(&self.state);
        let Some(bytes) = state.reserved.remove(&at) else { return false };
        state.give_back(at, bytes);
        true
    }

    /// Maps a part of a file at reserved addresses, inaccessible until it is opened; or unmaps what is mapped there.
    pub fn map(&self, at: u64, bytes: u64, file: Option<(BorrowedFd<'_>, u64)>) -> bool {
        let state = lock(&self.state);
        if !within(&state, at, bytes) {
            return false;
        }
        let file = file.map(|(file, from)| (file.as_raw_fd(), from));
        self.granules.open(at, bytes, Access::None) && self.granules.replace(at, bytes, file, false)
    }

    /// Sets the access rights of a mapping at reserved addresses.
    pub fn open(&self, at: u64, bytes: u64, access: Access) -> bool {
        let state = lock(&self.state);
        within(&state, at, bytes) && self.granules.open(at, bytes, access)
    }
}

impl Sharing for Arena {
    fn granule(&self) -> u64 {
        GRANULE
    }

    fn share(&self, address: u64) -> Result<(Arc<OwnedFd>, u64), Failure> {
        Arena::share(self, address).ok_or(Failure::OutOfMemory)
    }

    fn attach(&self, file: BorrowedFd<'_>, from: u64, bytes: u64) -> Result<u64, Failure> {
        Arena::attach(self, file, from, bytes).ok_or(Failure::OutOfMemory)
    }

    fn reserve(&self, bytes: u64, align: u64, near: u64) -> Result<u64, Failure> {
        self.reserve_addresses(bytes, align, near).ok_or(Failure::OutOfMemory)
    }

    fn release(&self, address: u64) {
        self.release_addresses(address);
    }

    fn map(
        &self,
        address: u64,
        bytes: u64,
        file: Option<(BorrowedFd<'_>, u64)>,
    ) -> Result<(), Failure> {
        done(Arena::map(self, address, bytes, file), address)
    }

    fn open(&self, address: u64, bytes: u64, access: Access) -> Result<(), Failure> {
        done(Arena::open(self, address, bytes, access), address)
    }
}

fn done(done: bool, address: u64) -> Result<(), Failure> {
    if done { Ok(()) } else { Err(Failure::InvalidAddress(address)) }
}

/// Whether whole granules lie within a reservation.
fn within(state: &State, at: u64, bytes: u64) -> bool {
    let found = state.reserved.range(..=at).next_back();
    let fits = |(first, length): (&u64, &u64)| at - first + bytes <= *length;
    bytes > 0 && (at | bytes).is_multiple_of(GRANULE) && found.is_some_and(fits)
}

/// Writes the contents of memory into a file; pages that are all zero stay holes.
fn fill(file: BorrowedFd<'_>, from: u64, length: u64) -> bool {
    (0..length / PAGE).all(|page| {
        let at = page * PAGE;
        // SAFETY: granules with an allocation can be read, and nobody writes meanwhile.
        let bytes = unsafe { std::slice::from_raw_parts((from + at) as *const u8, PAGE as usize) };
        if bytes.iter().all(|byte| *byte == 0) {
            return true;
        }
        // SAFETY: those bytes.
        let written = unsafe {
            libc::pwrite(file.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), at as i64)
        };
        written == bytes.len() as isize
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn word(at: u64) -> &'static std::sync::atomic::AtomicU64 {
        // SAFETY: the test's memory, aligned.
        unsafe { &*(at as *const std::sync::atomic::AtomicU64) }
    }

    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn shared_memory_keeps_what_it_has_and_is_seen_at_both_places() {
        let (one, other) = (Arena::reserve(), Arena::reserve());
        let (at, neighbour) = (one.allocate(512, 1).unwrap(), one.allocate(512, 1).unwrap());
        word(at).store(7, Relaxed);
        word(neighbour).store(8, Relaxed);
        let (file, offset) = one.share(at).unwrap();
        assert_eq!((word(at).load(Relaxed), word(neighbour).load(Relaxed)), (7, 8));
        let (same, _) = one.share(neighbour).unwrap();
        assert!(Arc::ptr_eq(&file, &same), "they lie on one granule");
        let theirs = other.attach(file.as_fd(), 0, GRANULE).unwrap();
        word(theirs + offset).store(9, Relaxed);
        assert_eq!(word(at).load(Relaxed), 9);
        assert!(one.free(at));
        assert_eq!(word(neighbour).load(Relaxed), 8, "as long as somebody has it");
        assert!(one.free(neighbour));
        let again = one.allocate(512, 1).unwrap();
        word(again).store(1, Relaxed);
        assert_eq!(word(theirs + offset).load(Relaxed), 9, "no longer the same");
        assert!(other.free(theirs) && !other.is_live(theirs, 1));
        assert!(other.attach(file.as_fd(), 1, GRANULE).is_none());
    }

    #[test]
    fn reserved_addresses_are_opened_where_something_is_mapped() {
        let arena = Arena::reserve();
        let at = arena.reserve_addresses(3 * GRANULE, 8 * GRANULE, 0).unwrap();
        assert!(at.is_multiple_of(8 * GRANULE) && !arena.is_live(at, 1));
        let file = file::create("test", GRANULE).unwrap();
        let part = Some((file.as_fd(), 0));
        assert!(arena.map(at, GRANULE, part) && arena.map(at + 2 * GRANULE, GRANULE, part));
        assert!(!arena.is_live(at, 1));
        let both = Access::Write;
        assert!(arena.open(at, GRANULE, both) && arena.open(at + 2 * GRANULE, GRANULE, both));
        word(at).store(5, Relaxed);
        assert_eq!(word(at + 2 * GRANULE).load(Relaxed), 5, "one memory at two addresses");
        assert!(arena.is_live(at, GRANULE) && !arena.is_live(at, GRANULE + 1));
        assert!(!arena.map(at + 3 * GRANULE, GRANULE, part) && !arena.open(at, 4 * GRANULE, both));
        // To be read only.
        assert!(arena.is_writable(at, GRANULE) && arena.open(at, GRANULE, Access::Read));
        assert!(arena.is_live(at, GRANULE) && !arena.is_writable(at + GRANULE - 1, 1));
        assert_eq!(word(at).load(Relaxed), 5);
        assert!(arena.open(at, GRANULE, both) && arena.is_writable(at, GRANULE));
        assert!(!arena.map(at, PAGE, part));
        assert!(arena.map(at, 3 * GRANULE, None) && !arena.is_live(at, 1));
        assert!(arena.release_addresses(at) && !arena.release_addresses(at));
        let near = arena.reserve_addresses(GRANULE, 0, at).unwrap();
        assert_eq!(near, at);
        assert_ne!(arena.reserve_addresses(GRANULE, 0, at).unwrap(), at);
    }
}
