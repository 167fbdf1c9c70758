//! Memory for blocks, kept from one launch of a kernel to the next: allocating and clearing it took longer than a
//! small kernel runs.
//!
//! Owns the memory and how much is kept. Must not know its contents.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::sync::{Mutex, PoisonError};

/// Memory of 64-byte alignment.
#[derive(Debug)]
pub(super) struct Bytes {
    base: *mut u8,
    size: usize,
}

// SAFETY: whoever has it uses its memory alone, whichever thread that is.
unsafe impl Send for Bytes {}

impl Bytes {
    /// Zeros.
    pub(super) fn new(size: usize) -> Bytes {
        let size = size.max(64);
        // SAFETY: the size is not zero.
        let base = unsafe { alloc_zeroed(Self::layout(size)) };
        if base.is_null() {
            handle_alloc_error(Self::layout(size));
        }
        Bytes { base, size }
    }

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 64).unwrap_or(Layout::new::<u64>())
    }

    pub(super) fn base(&self) -> *mut u8 {
        self.base
    }

    pub(super) fn zero(&mut self) {
        // SAFETY: the memory is ours, all of it.
        unsafe { std::ptr::write_bytes(self.base, 0, self.size) };
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.base, Self::layout(self.size)) };
    }
}

/// The most that is kept: bytes of one piece, and the number of pieces.
const LARGEST: usize = 256 << 10;
const MOST: usize = 16;

/// A piece of memory for blocks.
#[derive(Debug)]
pub(super) struct Room {
    /// What the sizes are: warps and their frames, shared memory, local memory.
    sizes: [usize; 3],
    pub(super) warps: Bytes,
    pub(super) shared: Bytes,
    pub(super) local: Bytes,
    /// Numbers for warps, zeros where no block runs.
    pub(super) masks: Vec<u32>,
    /// It was used before: shared and local memory are not empty.
    pub(super) used: bool,
}

/// Memory that no thread uses at present.
#[derive(Debug, Default)]
pub(super) struct Rooms(Mutex<Vec<Room>>);

impl Rooms {
    /// Memory of these sizes.
    pub(super) fn take(&self, sizes: [usize; 3], masks: usize) -> Room {
        let fits = |room: &Room| room.sizes == sizes && room.masks.len() == masks;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(n) = all.iter().rposition(fits) {
            return all.swap_remove(n);
        }
        drop(all);
        let [warps, shared, local] = sizes.map(Bytes::new);
        Room { sizes, warps, shared, local, masks: vec![0; masks], used: false }
    }

    /// Nobody uses it any more.
    pub(super) fn give_back(&self, mut room: Room) {
        let size = room.sizes.iter().fold(0usize, |sum, size| sum.saturating_add(*size));
        if size > LARGEST {
            return;
        }
        room.used = true;
        // After a fault, lanes are left that were ready somewhere.
        room.masks.fill(0);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST {
            all.remove(0);
        }
        all.push(room);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_to_who_wants_as_much() {
        let rooms = Rooms::default();
        let mut room = rooms.take([4096, 64, 64], 3);
        assert!(!room.used && room.masks == [0; 3]);
        room.masks[1] = 7;
        let base = room.warps.base();
        rooms.give_back(room);
        assert!(!rooms.take([4096, 128, 64], 3).used);
        assert!(!rooms.take([4096, 64, 64], 4).used);
        let again = rooms.take([4096, 64, 64], 3);
        assert!(again.used && again.masks == [0; 3] && again.warps.base() == base);
        assert!(!rooms.take([4096, 64, 64], 3).used);
    }

    #[test]
    fn what_is_large_and_what_are_many_is_given_up() {
        let rooms = Rooms::default();
        rooms.give_back(rooms.take([LARGEST, 64, 64], 0));
        assert!(rooms.0.lock().unwrap().is_empty());
        let many: Vec<Room> = (0..=MOST).map(|_| rooms.take([64; 3], 0)).collect();
        many.into_iter().for_each(|room| rooms.give_back(room));
        assert_eq!(rooms.0.lock().unwrap().len(), MOST);
    }
}
