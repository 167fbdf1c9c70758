//! Whether code is the same as code that was loaded before.
//!
//! Owns: the key that stands for an image's bytes and their origin. Images in memory, or in a file that the program
//! named, are read when they are loaded, and hashed then. Images in a loaded library are not: libraries have
//! gigabytes. Their address is the key, and the bytes are hashed when a library is loaded at that address again.
//!
//! Must not know: what equal code is good for.

use std::sync::atomic::Ordering;

use cushim_process::elf::Object;
use xxhash_rust::xxh3::xxh3_128;

use super::Code;

/// The key of code: 128 bits of XXH3, which makes collisions improbable in everything that one process loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Unknown: equal to nothing.
    Unknown,
    /// A hash of its bytes and their origin.
    Bytes(u128),
    /// Its location: the library's file, offset and length. Other bytes may have been there before.
    Place(u128),
}

/// Larger images in libraries are not hashed, bytes: a library with one is not loaded a thousand times.
const MOST: usize = 64 << 20;

impl Content {
    /// The key of bytes without an origin.
    pub fn of(bytes: &[u8]) -> Self {
        Content::Bytes(xxh3_128(bytes))
    }

    pub(super) fn of_file(path: &str, bytes: &[u8]) -> Self {
        Content::Bytes(both(xxh3_128(path.as_bytes()), xxh3_128(bytes)))
    }

    pub(super) fn of_object(object: &Object, address: usize, length: usize) -> Self {
        let place = [address.wrapping_sub(object.base()), length].map(usize::to_le_bytes);
        let name = xxh3_128(object.file_name().to_bytes());
        Content::Place(both(name, xxh3_128(place.as_flattened())))
    }

    /// The same with more that tells it from others.
    pub fn with(self, more: &[u8]) -> Self {
        let more = xxh3_128(more);
        match self {
            Content::Unknown => Content::Unknown,
            Content::Bytes(of) => Content::Bytes(both(of, more)),
            Content::Place(of) => Content::Place(both(of, more)),
        }
    }
}

fn both(a: u128, b: u128) -> u128 {
    xxh3_128([a.to_le_bytes(), b.to_le_bytes()].as_flattened())
}

impl Code {
    /// The key of this code.
    pub fn content(&self) -> Content {
        self.content
    }

    /// The hash of its bytes; `None` where there are none, or too many. To be called while they are there.
    pub fn hash(&self) -> Option<u128> {
        self.bytes().filter(|bytes| bytes.len() <= MOST).map(xxh3_128)
    }

    /// Becomes `other`, which is the same code, possibly at another address; takes over what was read of it.
    /// False if another thread holds the lock.
    pub fn renew(&self, other: &mut Code) -> bool {
        let theirs = other.index.get_mut();
        let done = self.index.with(|ours| std::mem::swap(ours, theirs)).is_some();
        if done {
            self.address.store(other.address(), Ordering::Release);
        }
        done
    }
}
