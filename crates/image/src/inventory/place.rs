//! Where an image's bytes are, and how to get them.
//!
//! An image may be in the file, or in something that must be unpacked first (a group of a fat binary, a compressed
//! bundle). A [`Place`] stores the location, not the unpacked bytes, so a listing keeps no image in memory.

use crate::codec::{unpack, unpack_into};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::packing::Codec;
use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The bytes in which offsets count.
#[derive(Debug, Clone)]
pub enum Space<'a> {
    /// The file itself.
    File(&'a [u8]),
    /// The unpacked contents of a packed part of another space.
    Blob(Arc<Blob<'a>>),
}

/// A packed stream that holds several images.
#[derive(Debug)]
pub struct Blob<'a> {
    /// Bytes that precede the unpacked ones (a restored header).
    head: Vec<u8>,
    packed: Place<'a>,
    /// Kept while in use, so that images extracted together unpack it once.
    cache: Mutex<Weak<Vec<u8>>>,
}

impl<'a> Blob<'a> {
    pub(super) fn new(head: Vec<u8>, packed: Place<'a>) -> Arc<Self> {
        Arc::new(Self { head, packed, cache: Mutex::default() })
    }

    /// Where the packed stream lies.
    pub fn packed(&self) -> &Place<'a> {
        &self.packed
    }

    /// The bytes; unpacked if they are not in use at the moment.
    pub fn bytes(&self, limits: &Limits) -> Result<Arc<Vec<u8>>> {
        // A poisoned lock only guards a cache.
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = cache.upgrade() {
            return Ok(bytes);
        }
        let tail = self.packed.unpack(limits)?;
        let bytes = Arc::new(if self.head.is_empty() {
            tail.into_vec()
        } else {
            [self.head.as_slice(), &tail].concat()
        });
        *cache = Arc::downgrade(&bytes);
        Ok(bytes)
    }
}

/// A range of a space and how it is packed.
#[derive(Debug, Clone)]
pub struct Place<'a> {
    /// The space of `start`.
    pub space: Space<'a>,
    /// Offset of the first stored byte.
    pub start: u64,
    /// Bytes stored.
    pub stored: u64,
    /// How they are packed.
    pub codec: Codec,
    /// Bytes after unpacking.
    pub unpacked: u64,
}

impl<'a> Place<'a> {
    /// The bytes as stored.
    pub fn bytes(&self, limits: &Limits) -> Result<Data<'a>> {
        let have = |space: &[u8]| {
            let end = self.start.checked_add(self.stored).filter(|&end| end <= space.len() as u64);
            end.map(|end| self.start as usize..end as usize).ok_or(Error::Truncated {
                what: "image",
                at: self.start,
                need: self.stored,
                have: (space.len() as u64).saturating_sub(self.start),
            })
        };
        match &self.space {
            Space::File(file) => {
                have(file).map(|range| Data::Borrowed(file.get(range).unwrap_or_default()))
            }
            Space::Blob(blob) => {
                let bytes = blob.bytes(limits)?;
                have(&bytes).map(|range| Data::Shared(bytes, range))
            }
        }
    }

    /// The unpacked bytes, with the container's padding.
    pub fn unpack(&self, limits: &Limits) -> Result<Data<'a>> {
        let stored = self.bytes(limits)?;
        match self.codec {
            Codec::None => Ok(stored),
            codec => unpack(codec, &stored, self.unpacked, self.start, limits).map(Data::Owned),
        }
    }
}

impl Place<'_> {
    /// As [`Place::unpack`], using `buffer` where something must be unpacked.
    pub fn unpack_with<T>(
        &self,
        buffer: &mut Vec<u8>,
        limits: &Limits,
        see: impl FnOnce(&[u8]) -> T,
    ) -> Result<T> {
        let stored = self.bytes(limits)?;
        if self.codec == Codec::None {
            return Ok(see(&stored));
        }
        unpack_into(buffer, self.codec, &stored, self.unpacked, self.start, limits)?;
        Ok(see(buffer))
    }
}

/// Bytes, wherever they live.
#[derive(Debug)]
pub enum Data<'a> {
    /// In the file.
    Borrowed(&'a [u8]),
    /// Unpacked for the caller.
    Owned(Vec<u8>),
    /// A part of something unpacked for several.
    Shared(Arc<Vec<u8>>, Range<usize>),
}

impl Data<'_> {
    /// The bytes as a vector of their own.
    pub fn into_vec(self) -> Vec<u8> {
        match self {
            Self::Owned(bytes) => bytes,
            other => other.to_vec(),
        }
    }
}

impl Deref for Data<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
            Self::Shared(bytes, range) => bytes.get(range.clone()).unwrap_or_default(),
        }
    }
}
