//! Finds chunks, and reads metadata.
//!
//! Owns which chunks there are at a given time. Must not know: events.

use super::decode::{u32_at, u64_at};
use super::{Chunk, Found, MetaChunk, TraceFile};
use crate::Error;
use crate::layout::*;

impl TraceFile {
    /// Finds chunks of a ring that were reused for later events.
    pub(super) fn find_reused(&mut self, found: &mut Vec<Found>) -> Result<(), Error> {
        let mut bytes = [0; CHUNK_HEADER];
        let mut index = 0;
        while let Some(&(start, before)) = self.ring.get(index) {
            index += 1;
            let size = self.read_at(&mut bytes, start)?;
            let sequence = u64_at(&bytes, 32);
            if size < CHUNK_HEADER || sequence == before || sequence == 0 {
                continue;
            }
            if let Some(chunk) = self.ring.get_mut(index - 1) {
                chunk.1 = sequence;
            }
            found.push((sequence, start, bytes));
        }
        Ok(())
    }

    /// Adds an event chunk to those of its writer.
    pub(super) fn add_chunk(&mut self, start: u64, header: &[u8; CHUNK_HEADER]) {
        let chunk = Chunk {
            start,
            size: u32_at(header, 8).into(),
            tid: u32_at(header, 12),
            sequence: u64_at(header, 32),
        };
        self.buffers.entry(u32_at(header, 16)).or_default().chunks.push(chunk);
    }

    /// Finds chunks that were begun since the last call.
    pub(super) fn find_chunks(&mut self, found: &mut Vec<Found>) -> Result<(), Error> {
        let mut bytes = [0; CHUNK_HEADER];
        while self.scanned + CHUNK_HEADER as u64 <= self.header.used {
            if self.read_at(&mut bytes, self.scanned)? < CHUNK_HEADER {
                break;
            }
            let size = u32_at(&bytes, 8) as u64;
            let sane = u32_at(&bytes, 0) == CHUNK_MAGIC
                && size >= PAGE as u64
                && size <= CHUNK_MAX as u64
                && size.is_multiple_of(PAGE as u64);
            if !sane {
                // Chunk headers are written before `used` covers them: this one is damage. The next
                // page may hold the next chunk.
                self.damaged += 1;
                self.scanned += PAGE as u64;
                continue;
            }
            match u32_at(&bytes, 4) {
                CHUNK_META => self.meta_chunks.push(MetaChunk {
                    start: self.scanned,
                    size,
                    read: CHUNK_HEADER as u64,
                }),
                CHUNK_EVENTS => {
                    let sequence = u64_at(&bytes, 32);
                    if self.header.keep.is_some() {
                        self.ring.push((self.scanned, sequence));
                    }
                    // A chunk without a sequence is being emptied.
                    if self.header.keep.is_none() || sequence != 0 {
                        found.push((sequence, self.scanned, bytes));
                    }
                }
                _ => self.damaged += 1,
            }
            self.scanned += size;
        }
        Ok(())
    }

    /// Reads metadata that was written since the last call.
    pub(super) fn read_metadata(&mut self) -> Result<(), Error> {
        let mut index = 0;
        while let Some(&MetaChunk { start, size, read }) = self.meta_chunks.get(index) {
            index += 1;
            let mut used = [0; 8];
            self.read_at(&mut used, start + 24)?;
            let used = u64::from_le_bytes(used).min(size);
            if used <= read {
                continue;
            }
            let mut bytes = vec![0; (used - read) as usize];
            let got = self.read_at(&mut bytes, start + read)?;
            let mut at = 0;
            while let Some(n) = self.metadata.read(bytes.get(at..got).unwrap_or(&[])) {
                at += n;
            }
            if at < got {
                self.damaged += 1;
            }
            if let Some(chunk) = self.meta_chunks.get_mut(index - 1) {
                chunk.read = used;
            }
        }
        // The writer has left all but the last one: that was there when the others were read.
        let left = self.meta_chunks.len().saturating_sub(1);
        self.finished.extend(self.meta_chunks.drain(..left).map(|chunk| (chunk.start, chunk.size)));
        Ok(())
    }
}
