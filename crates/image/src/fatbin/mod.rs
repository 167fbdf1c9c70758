//! NVIDIA's fat binary container: headers, entries, groups.
//!
//! Owns the container's byte layout (as measured with fatbinary and nvcc 11.8, 12.4 and 13.5); must not know the
//! contents of cubins or PTX, nor where containers are in a host file.

mod entry;
mod write;

pub use entry::{Entry, Kind, flags};
pub use write::{Image, write};

use crate::bytes::{Bytes, zeros};
use crate::error::Result;
use crate::limits::Limits;

/// First word of a container header.
pub const MAGIC: u32 = 0xBA55_ED50;
/// Bytes of the container header that every version has.
pub const HEADER: u64 = 16;

/// One container: a header and the entries behind it.
#[derive(Debug, Clone, Copy)]
pub struct Fatbin<'a> {
    body: Bytes<'a>,
    /// Offset of the header in the outermost bytes.
    pub offset: u64,
    /// Header and body together.
    pub size: u64,
    /// Format version: 1.
    pub version: u16,
}

impl<'a> Fatbin<'a> {
    /// Reads the container at the start of `data`; what follows it is ignored.
    /// `base` is the offset of `data` in the outermost bytes.
    pub fn read(data: &'a [u8], base: u64) -> Result<Self> {
        let bytes = Bytes::new(data, base, "fatbin header");
        let (header, size) = header(&bytes)?;
        let body = bytes.part(header, size - header, "fatbin body")?;
        Ok(Self { body, offset: base, size, version: bytes.u16(4)? })
    }

    /// Reads the container at the start of `data` although its end may be
    /// missing: the entries that are whole can still be read.
    pub fn read_truncated(data: &'a [u8], base: u64) -> Result<Self> {
        let bytes = Bytes::new(data, base, "fatbin header");
        let (header, size) = header(&bytes)?;
        let there = (data.len() as u64 - header).min(size - header);
        let body = bytes.part(header, there, "fatbin body")?;
        Ok(Self { body, offset: base, size, version: bytes.u16(4)? })
    }

    /// The entries in order; ends after the first one that cannot be skipped.
    pub fn entries(&self, limits: &Limits) -> Entries<'a> {
        Entries { body: self.body, at: 0, left: limits.max_items }
    }
}

/// Length of the header and of the whole container.
fn header(bytes: &Bytes<'_>) -> Result<(u64, u64)> {
    let magic = bytes.u32(0)?;
    if magic != MAGIC {
        return Err(bytes.field(0, "magic", magic.into(), "0xba55ed50"));
    }
    let header = bytes.u16(6)?;
    if u64::from(header) < HEADER {
        return Err(bytes.field(6, "header size", header.into(), "at least 0x10"));
    }
    let body = bytes.u64(8)?;
    let size = body.checked_add(header.into());
    let size = size.ok_or_else(|| bytes.field(8, "size", body, "a size in memory"))?;
    bytes.slice(0, header.into())?;
    Ok((header.into(), size))
}

/// Total size of the container that begins with `prefix` (16 bytes suffice).
pub fn total_size(prefix: &[u8]) -> Result<u64> {
    let bytes = Bytes::new(prefix, 0, "fatbin header");
    let magic = bytes.u32(0)?;
    if magic != MAGIC {
        return Err(bytes.field(0, "magic", magic.into(), "0xba55ed50"));
    }
    let (header, body) = (bytes.u16(6)?, bytes.u64(8)?);
    body.checked_add(header.into()).ok_or_else(|| bytes.field(8, "size", body, "a size in memory"))
}

/// Iterator over a container's entries. Behind an entry with a wrong extent nothing can be found,
/// so it yields that error and ends.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    body: Bytes<'a>,
    at: u64,
    left: usize,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.body.len() as u64 || self.left == 0 {
            return None;
        }
        self.left -= 1;
        let read = Entry::read(&self.body, self.at);
        match &read {
            Ok(entry) => self.at = self.at.saturating_add(entry.extent()),
            Err(_) => self.left = 0,
        }
        Some(read)
    }
}

/// Walks containers that lie back to back with zero padding between them, as linkers leave them in
/// `.nv_fatbin`. Yields each, or an error where there is neither padding nor a container; then it
/// searches for the next magic number on an 8-byte boundary, so that one bad container does not
/// hide the rest.
pub fn containers(data: &[u8], base: u64) -> Containers<'_> {
    Containers { data, base, at: 0 }
}

/// Iterator returned by [`containers`].
#[derive(Debug, Clone)]
pub struct Containers<'a> {
    data: &'a [u8],
    base: u64,
    at: usize,
}

impl<'a> Containers<'a> {
    /// Steps over padding: a header's first byte is not zero.
    fn skip_zeros(&mut self) {
        self.at += zeros(self.data.get(self.at..).unwrap_or_default());
    }

    /// Steps to the next place where a header could begin.
    fn resynchronise(&mut self, from: usize) {
        let rest = self.data.get(from..).unwrap_or_default();
        let found = memchr::memmem::find(rest, &MAGIC.to_le_bytes());
        self.at = found.map_or(self.data.len(), |at| from + at);
    }
}

impl<'a> Iterator for Containers<'a> {
    type Item = Result<Fatbin<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.skip_zeros();
        if self.at >= self.data.len() {
            return None;
        }
        let rest = self.data.get(self.at..).unwrap_or_default();
        let read = Fatbin::read_truncated(rest, self.base + self.at as u64);
        match &read {
            Ok(fatbin) => {
                let next = (self.at as u64).saturating_add(fatbin.size);
                self.at = usize::try_from(next).unwrap_or(usize::MAX).min(self.data.len());
            }
            Err(_) => self.resynchronise(self.at + 1),
        }
        Some(read)
    }
}

#[cfg(test)]
mod tests;
