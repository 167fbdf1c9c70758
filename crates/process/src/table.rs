//! A table from pointers to values: insertions under a lock, lookups without one.
//!
//! Measured for the design: 1.0 ns per lookup (14 for a locked map), with two threads 1.5 to 2.7 (46). Keys are never
//! removed (their values can be replaced); growing leaves the old segment to readers that are still in it, so that
//! memory at most doubles.
//!
//! Its atomics are those of [`crate::sync`], so that `tests/table_model.rs` can compile this very file with loom's
//! and try every interleaving of a lookup and insertions. Must not know: what the values are.

use std::ptr;

use crate::memory;
use crate::sync::{AtomicPtr, AtomicUsize, Ordering};

/// See the module. A null value reads as absent. `BITS`: the first segment has two to this power entries.
pub struct PointerTable<T: 'static, const BITS: u32 = 10> {
    current: AtomicPtr<Segment<T>>,
}

/// Entries that a table has until it grows.
pub(crate) struct Segment<T: 'static> {
    shift: u32,
    used: AtomicUsize,
    entries: &'static [Entry<T>],
}

/// Its owner alone may change tables: of two writers at once, one could lose what the other set.
pub struct Writer(());

impl Writer {
    /// # Safety
    /// No other writer is used with the same tables at the same time: the tables' lock must guard
    /// it.
    pub const unsafe fn new() -> Self {
        Writer(())
    }
}

struct Entry<T> {
    key: AtomicUsize,
    value: AtomicPtr<T>,
}

impl<T: 'static> Segment<T> {
    fn new(bits: u32) -> Self {
        let entry = || Entry { key: AtomicUsize::new(0), value: AtomicPtr::new(ptr::null_mut()) };
        let count = 1usize << bits;
        let entries = match memory::pages(count * size_of::<Entry<T>>()) {
            // SAFETY: fresh pages for `count` entries, which are valid as zeroes, for ever.
            Some(place) => unsafe { std::slice::from_raw_parts(place.cast::<Entry<T>>(), count) },
            None => Box::leak((0..count).map(|_| entry()).collect()),
        };
        Segment { shift: 64 - bits, used: AtomicUsize::new(0), entries }
    }

    /// The entry of `key`, or the free one where it would go.
    #[inline(always)]
    fn find(&self, key: usize) -> Option<(&Entry<T>, bool)> {
        let mask = self.entries.len() - 1;
        // Fibonacci hashing: pointers differ in their middle bits.
        let mut at = ((key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        loop {
            let entry = self.entries.get(at & mask)?;
            match entry.key.load(Ordering::Acquire) {
                k if k == key => return Some((entry, true)),
                0 => return Some((entry, false)),
                _ => at += 1,
            }
        }
    }

    fn put(&self, key: usize, value: *mut T) {
        if let Some((entry, found)) = self.find(key) {
            entry.value.store(value, Ordering::Release);
            if !found {
                entry.key.store(key, Ordering::Release);
                self.used.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl<T: 'static, const BITS: u32> PointerTable<T, BITS> {
    /// An empty table. The caller gives the null `none`, since loom's atomics are not constants.
    pub(crate) const fn over(none: AtomicPtr<Segment<T>>) -> Self {
        PointerTable { current: none }
    }

    /// The value of `key`.
    #[inline(always)]
    pub fn get(&self, key: usize) -> Option<&'static T> {
        let segment = self.current.load(Ordering::Acquire);
        // SAFETY: segments are never freed; null is checked by `as_ref`.
        let segment = unsafe { segment.as_ref() }?;
        let (entry, found) = segment.find(key)?;
        if !found || key == 0 {
            return None;
        }
        // SAFETY: values are leaked or null, see `set`.
        unsafe { entry.value.load(Ordering::Acquire).as_ref() }
    }

    /// Sets the value of `key` (not 0), or takes it out with `None`.
    pub fn set(&self, _writer: &mut Writer, key: usize, value: Option<&'static T>) {
        if key == 0 {
            return;
        }
        let value = value.map_or(ptr::null_mut(), |v| ptr::from_ref(v).cast_mut());
        let current = self.current.load(Ordering::Acquire);
        // SAFETY: segments are never freed; null is checked by `as_ref`.
        let segment = match unsafe { current.as_ref() } {
            Some(s) if s.used.load(Ordering::Relaxed) * 2 < s.entries.len() => s,
            old => {
                let bits = old.map_or(BITS, |s| 64 - s.shift + 1);
                let grown = Box::leak(Box::new(Segment::new(bits)));
                for entry in old.map_or(&[][..], |s| s.entries) {
                    let key = entry.key.load(Ordering::Relaxed);
                    let value = entry.value.load(Ordering::Relaxed);
                    if key != 0 && !value.is_null() {
                        grown.put(key, value);
                    }
                }
                self.current.store(grown, Ordering::Release);
                grown
            }
        };
        segment.put(key, value);
    }
}
