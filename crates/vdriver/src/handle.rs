//! Handles: addresses of the driver's own objects, looked up before they are used.
//!
//! Owns the tables. A handle that was never issued, or whose object was destroyed, is not found; a handle is never
//! dereferenced. Must not know: what the objects are.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, RwLock};

use cushim_accel::locks::{read, write};

const SHARDS: usize = 16;

/// The objects of one kind that have handles.
pub struct Handles<T> {
    shards: [RwLock<HashMap<usize, Arc<T>, Mix>>; SHARDS],
}

impl<T> Handles<T> {
    /// None yet.
    pub const fn new() -> Self {
        Handles { shards: [const { RwLock::new(HashMap::with_hasher(Mix)) }; SHARDS] }
    }

    fn shard(&self, handle: usize) -> Option<&RwLock<HashMap<usize, Arc<T>, Mix>>> {
        // Handles are addresses of allocations: their low bits vary little.
        self.shards.get((handle >> 5 ^ handle >> 9) % SHARDS)
    }

    /// Gives an object a handle: its address.
    pub fn add(&self, object: Arc<T>) -> usize {
        let handle = handle(&object);
        if let Some(shard) = self.shard(handle) {
            write(shard).insert(handle, object);
        }
        handle
    }

    /// The object of a handle.
    #[inline]
    pub fn get(&self, handle: usize) -> Option<Arc<T>> {
        read(self.shard(handle)?).get(&handle).cloned()
    }

    /// All objects that have a handle.
    pub fn all(&self) -> Vec<Arc<T>> {
        self.shards
            .iter()
            .flat_map(|shard| read(shard).values().cloned().collect::<Vec<_>>())
            .collect()
    }

    /// Invalidates the handle.
    pub fn remove(&self, handle: usize) -> Option<Arc<T>> {
        write(self.shard(handle)?).remove(&handle)
    }
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// The handle of an object, whether it was given out or not.
pub fn handle<T>(object: &Arc<T>) -> usize {
    Arc::as_ptr(object).expose_provenance()
}

/// A hash of one word: good enough for addresses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mix;

/// See [`Mix`].
#[derive(Debug, Default)]
pub struct Word(u64);

impl BuildHasher for Mix {
    type Hasher = Word;
    fn build_hasher(&self) -> Word {
        Word(0)
    }
}

impl Hasher for Word {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_live_handles_are_found() {
        static THINGS: Handles<u32> = Handles::new();
        let all: Vec<usize> = (0..1000).map(|n| THINGS.add(Arc::new(n))).collect();
        for (n, &handle) in (0..).zip(&all) {
            assert_eq!(THINGS.get(handle).as_deref(), Some(&n));
            assert!(THINGS.get(handle + 1).is_none() && THINGS.get(0).is_none());
        }
        assert_eq!(all.first().and_then(|&first| THINGS.remove(first)).as_deref(), Some(&0));
        assert!(all.first().is_some_and(|&first| THINGS.get(first).is_none()));
    }
}
