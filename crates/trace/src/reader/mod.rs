//! Reads trace files: finished ones, ones that are still being written, and what a killed process left.
//!
//! Owns: finding the chunks, walking the slots, converting ticks, merging the threads in time order.
//! Must not know: what a function does, or how anything is printed.
//!
//! The writer stores payload, then the slot's first word; end and status, then `done`. The reader copies
//! bytes with `pread`, in two passes while the file is live: the first finds which events are done, the
//! second copies them anew, so that everything stored before `done` is in the copy.

mod decode;
mod header;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::event::{Body, Event};
use crate::layout::*;
use crate::mailbox;
use crate::meta::{Mark, Metadata};

pub use header::Header;

use decode::{End, body, u16_at, u32_at, u64_at, usable};
use header::read_header;

/// How much of one buffer is read at a time, bytes.
const WINDOW: usize = 256 << 10;

/// An open trace file.
pub struct TraceFile {
    path: PathBuf,
    file: File,
    header: Header,
    /// Where the next unseen chunk begins.
    scanned: u64,
    meta_chunks: Vec<MetaChunk>,
    buffers: BTreeMap<u32, Buffer>,
    /// Event chunks of a ring: where, and the sequence when last seen.
    ring: Vec<(u64, u64)>,
    metadata: Metadata,
    /// Marks from outside that were not handed out yet, by ticks and number; and the numbers of all.
    marks: BTreeMap<(u64, u32), String>,
    marks_seen: BTreeSet<u32>,
    marks_read: usize,
    events: u64,
    damaged: u64,
    finished: Vec<(u64, u64)>,
    /// Ticks at the next event of each buffer that has one ready, and its number.
    heads: BinaryHeap<Reverse<(u64, u32)>>,
    /// Calls that did not come back are handed out too.
    last: bool,
}

struct MetaChunk {
    start: u64,
    size: u64,
    read: u64,
}

/// An event chunk that is new to the reader: its sequence, where it is, its header.
type Found = (u64, u64, [u8; CHUNK_HEADER]);

#[derive(Clone, Copy)]
struct Chunk {
    start: u64,
    size: u64,
    tid: u32,
    /// In a ring: overwritten since, if it does not stand there any more.
    sequence: u64,
}

/// The chunks that one writer filled, one after another.
#[derive(Default)]
struct Buffer {
    tid: u32,
    chunks: Vec<Chunk>,
    /// Chunk and offset in it where the next event begins.
    at: (usize, u64),
    /// Ids of the events that enclose the next one.
    open: Vec<u64>,
    window: Vec<u8>,
    /// File offset of `window`, and how much of it is usable and used.
    usable: usize,
    taken: usize,
}

/// How far a poll got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Events handed out by this poll.
    pub events: u64,
    /// Calls that had not come back when the file was read.
    pub pending: u64,
}

impl TraceFile {
    /// Opens `path` and reads its first page and metadata. A pipe, a device or a link is refused.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = File::options()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(path)
            .map_err(|e| Error::io("open", path, e))?;
        let kind = file.metadata().map_err(|e| Error::io("look at", path, e))?;
        if !kind.is_file() {
            let found = "something that is not a regular file".to_owned();
            return Err(Error::Foreign { path: path.to_owned(), found, expected: "a trace file" });
        }
        TraceFile::of(file, path)
    }

    /// As [`TraceFile::open`] of what `file` holds; it is called `path` where it is named.
    pub fn of(file: File, path: &Path) -> Result<Self, Error> {
        let header = read_header(&file, path)?;
        let mut trace = TraceFile {
            path: path.to_owned(),
            file,
            header,
            scanned: PAGE as u64,
            meta_chunks: Vec::new(),
            buffers: BTreeMap::new(),
            ring: Vec::new(),
            marks: BTreeMap::new(),
            marks_seen: BTreeSet::new(),
            marks_read: 0,
            metadata: Metadata::default(),
            events: 0,
            damaged: 0,
            finished: Vec::new(),
            heads: BinaryHeap::new(),
            last: false,
        };
        trace.refresh()?;
        Ok(trace)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first page as last read.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What events refer to, as far as it has been read.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Events and chunks that could not be understood and were skipped.
    pub fn damaged(&self) -> u64 {
        self.damaged + self.metadata.foreign
    }

    /// Reads the first page, new chunk headers, new metadata and new marks.
    pub fn refresh(&mut self) -> Result<(), Error> {
        self.header = read_header(&self.file, &self.path)?;
        let mut found = Vec::new();
        self.find_reused(&mut found)?;
        self.find_chunks(&mut found)?;
        // In a ring the order in the file is not that in time; else there is no sequence, and the sort
        // leaves them as they are.
        found.sort_by_key(|(sequence, ..)| *sequence);
        for (_, start, bytes) in found {
            self.add_chunk(start, &bytes);
        }
        // The mailbox before the metadata: a mark that moves between the two is seen in one of them.
        let mut page = [0; PAGE];
        let size = self.read_at(&mut page, 0)?;
        let posted = mailbox::posted(page.get(..size).unwrap_or(&[]));
        self.read_metadata()?;
        let recorded = self.metadata.marks.iter().skip(self.marks_read).cloned();
        let all: Vec<Mark> = recorded.chain(posted).collect();
        self.marks_read = self.metadata.marks.len();
        for mark in all {
            if self.marks_seen.insert(mark.number) {
                self.marks.insert((mark.ticks, mark.number), mark.text);
            }
        }
        Ok(())
    }

    /// Chunks of a ring that belong to later events by now.
    fn find_reused(&mut self, found: &mut Vec<Found>) -> Result<(), Error> {
        let mut bytes = [0; CHUNK_HEADER];
        for index in 0..self.ring.len() {
            let (start, before) = self.ring[index];
            let size = self.read_at(&mut bytes, start)?;
            let sequence = u64_at(&bytes, 32);
            if size < CHUNK_HEADER || sequence == before || sequence == 0 {
                continue;
            }
            self.ring[index].1 = sequence;
            found.push((sequence, start, bytes));
        }
        Ok(())
    }

    fn add_chunk(&mut self, start: u64, header: &[u8; CHUNK_HEADER]) {
        let chunk = Chunk {
            start,
            size: u32_at(header, 8).into(),
            tid: u32_at(header, 12),
            sequence: u64_at(header, 32),
        };
        self.buffers.entry(u32_at(header, 16)).or_default().chunks.push(chunk);
    }

    /// Places (offset and size in bytes) of event chunks that were handed out whole since the last call
    /// and that the writer has left: whoever follows a live file alone may give their room back.
    pub fn take_finished(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.finished)
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<usize, Error> {
        let mut got = 0;
        while got < bytes.len() {
            match self.file.read_at(&mut bytes[got..], at + got as u64) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::io("read", &self.path, e)),
            }
        }
        Ok(got)
    }

    fn find_chunks(&mut self, found: &mut Vec<Found>) -> Result<(), Error> {
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
                    // Without a sequence it is being emptied.
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

    fn read_metadata(&mut self) -> Result<(), Error> {
        for index in 0..self.meta_chunks.len() {
            let MetaChunk { start, size, read } = self.meta_chunks[index];
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
            self.meta_chunks[index].read = used;
        }
        Ok(())
    }

    /// Hands the events that have come to an end since the last poll to `take`, in the order of their
    /// beginning as far as it is known. With `last`, calls that never came back are handed out too.
    pub fn poll(
        &mut self,
        last: bool,
        take: &mut dyn FnMut(&Metadata, &Event<'_>),
    ) -> Result<Progress, Error> {
        self.look(last)?;
        let before = self.events;
        while self.take_next(take)? {}
        let mut progress = Progress { events: self.events - before, pending: 0 };
        for buffer in self.buffers.values() {
            let head = buffer.window.get(buffer.taken..buffer.taken + 32).unwrap_or(&[]);
            progress.pending += u64::from(u32_at(head, 0) != 0 && u32_at(head, 28) == 0);
        }
        Ok(progress)
    }

    /// Looks for events that have come to an end (with `last`, for all); [`TraceFile::next_ns`] and
    /// [`TraceFile::take_next`] then go through them. `poll` is the two together, for one file.
    pub fn look(&mut self, last: bool) -> Result<(), Error> {
        self.refresh()?;
        self.last = last;
        let numbers: Vec<u32> = self.buffers.keys().copied().collect();
        for &number in &numbers {
            self.fill(number, last)?;
        }
        // An event is stored after its metadata: what the windows refer to is in the file by now.
        self.refresh()?;
        self.heads.clear();
        for &number in &numbers {
            if let Some(begin) = self.peek(number, last)? {
                self.heads.push(Reverse((begin, number)));
            }
        }
        Ok(())
    }

    /// Monotonic nanoseconds at the beginning of the event that [`TraceFile::take_next`] would hand out.
    pub fn next_ns(&self) -> Option<u64> {
        let event = self.heads.peek().map(|Reverse((begin, _))| *begin);
        let mark = self.marks.keys().next().map(|(ticks, _)| *ticks);
        let next = event.into_iter().chain(mark).min()?;
        Some(self.header.timeline.ns(next))
    }

    /// Hands out the next mark from outside, if it comes before all events.
    fn take_mark(&mut self, take: &mut dyn FnMut(&Metadata, &Event<'_>)) -> bool {
        let Some(first) = self.marks.first_entry() else { return false };
        let ticks = first.key().0;
        if self.heads.peek().is_some_and(|Reverse((begin, _))| *begin < ticks) {
            return false;
        }
        let text = first.remove();
        self.events += 1;
        let event = Event {
            id: self.events,
            parent: None,
            tid: 0,
            api: 0,
            depth: 0,
            begin_ns: self.header.timeline.ns(ticks),
            call_ns: Some(0),
            status: Some(0),
            link: 0,
            body: Body::Mark(&text),
        };
        take(&self.metadata, &event);
        true
    }

    /// Hands out the next event; false where there is none. A record that is no event takes a turn too.
    pub fn take_next(
        &mut self,
        take: &mut dyn FnMut(&Metadata, &Event<'_>),
    ) -> Result<bool, Error> {
        if self.take_mark(take) {
            return Ok(true);
        }
        let Some(Reverse((_, number))) = self.heads.pop() else { return Ok(false) };
        self.take(number, take);
        if let Some(begin) = self.peek(number, self.last)? {
            self.heads.push(Reverse((begin, number)));
        }
        Ok(true)
    }

    /// Ticks at the beginning of the buffer's next event.
    fn peek(&mut self, number: u32, last: bool) -> Result<Option<u64>, Error> {
        let exhausted = self.buffers.get(&number).is_none_or(|b| b.taken >= b.usable);
        if exhausted {
            self.fill(number, last)?;
            // These events may be younger than the metadata that was read; theirs is in the file by now.
            self.refresh()?;
        }
        let Some(buffer) = self.buffers.get(&number) else { return Ok(None) };
        if buffer.taken >= buffer.usable {
            return Ok(None);
        }
        Ok(Some(u64_at(&buffer.window, buffer.taken + 8)))
    }

    /// Reads on where the buffer's window ends.
    fn fill(&mut self, number: u32, last: bool) -> Result<(), Error> {
        loop {
            let Some(buffer) = self.buffers.get_mut(&number) else { return Ok(()) };
            if buffer.taken < buffer.usable {
                return Ok(());
            }
            buffer.at.1 += buffer.taken as u64;
            (buffer.taken, buffer.usable) = (0, 0);
            let Some(&chunk) = buffer.chunks.get(buffer.at.0) else { return Ok(()) };
            if buffer.at.1 <= CHUNK_HEADER as u64 {
                buffer.at.1 = CHUNK_HEADER as u64;
                buffer.tid = chunk.tid;
            }
            let at = chunk.start + buffer.at.1;
            let room = (chunk.size.saturating_sub(buffer.at.1) as usize).min(WINDOW);
            let mut window = std::mem::take(&mut buffer.window);
            let more_chunks = buffer.chunks.len() > buffer.at.0 + 1;
            window.resize(room, 0);
            let got = self.read_at(&mut window, at)?;
            window.truncate(got);
            let (usable, end) = usable(&window, last, &mut self.damaged);
            if usable > 0 && !self.header.closed {
                // Second pass: everything stored before the `done` that was just seen.
                let got = self.read_at(&mut window[..usable], at)?;
                window.truncate(got.min(usable) / SLOT * SLOT);
            }
            let gone =
                self.header.keep.is_some() && self.sequence_at(chunk.start)? != chunk.sequence;
            let usable = if gone { 0 } else { usable.min(window.len()) };
            let Some(buffer) = self.buffers.get_mut(&number) else { return Ok(()) };
            (buffer.window, buffer.usable) = (window, usable);
            if gone {
                // Later events stand there; what enclosed the next one is not known any more.
                buffer.window.clear();
                buffer.open.clear();
                buffer.at = (buffer.at.0 + 1, 0);
                continue;
            }
            // The chunk is finished where nothing more was written in it and the writer went on to
            // the next, or where not even one slot is left.
            let finished = usable == 0 && (end == End::Nothing || room < SLOT) && more_chunks;
            if !finished {
                return Ok(());
            }
            buffer.at = (buffer.at.0 + 1, 0);
            self.finished.push((chunk.start, chunk.size));
        }
    }

    fn sequence_at(&self, start: u64) -> Result<u64, Error> {
        let mut bytes = [0; 8];
        self.read_at(&mut bytes, start + 32)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Decodes the buffer's next event and hands it on.
    fn take(&mut self, number: u32, take: &mut dyn FnMut(&Metadata, &Event<'_>)) {
        let Some(buffer) = self.buffers.get_mut(&number) else { return };
        let at = buffer.taken;
        let head = u32_at(&buffer.window, at);
        let slots = (head >> 16) as usize;
        buffer.taken += slots * SLOT;
        let bytes = buffer.window.get(at..buffer.taken).unwrap_or(&[]);
        let kind = head as u16;
        if kind == EVENT_THREAD {
            buffer.tid = u32_at(bytes, 24);
            buffer.open.clear();
            return;
        }
        let Some(body) = body(kind, bytes) else {
            self.damaged += 1;
            return;
        };
        let done = u32_at(bytes, 28) == 1;
        let depth = bytes.get(6).copied().unwrap_or(0);
        let begin = u64_at(bytes, 8);
        self.events += 1;
        let timeline = &self.header.timeline;
        // Neither encloses a call nor is enclosed by one.
        let apart = matches!(body, Body::Gpu(_) | Body::Range(_));
        if !apart {
            // What encloses it may not have been recorded, or have been overwritten: 0.
            buffer.open.resize(depth.into(), 0);
        }
        let parent = buffer.open.last().copied().filter(|&id| id != 0 && !apart);
        let is_linked = bytes.get(7).is_some_and(|flags| flags & EVENT_LINKED != 0);
        let link = if is_linked { u64_at(bytes, bytes.len() - 8) } else { 0 };
        if let Body::Gpu(_) = body {
            let (start, end) = (u64_at(bytes, 64), u64_at(bytes, 72));
            let event = Event {
                id: self.events,
                parent,
                tid: buffer.tid,
                api: 0,
                depth: 0,
                begin_ns: start,
                call_ns: Some(end.saturating_sub(start)),
                status: Some(0),
                link: 0,
                body,
            };
            return take(&self.metadata, &event);
        }
        let event = Event {
            id: self.events,
            parent,
            tid: buffer.tid,
            api: u16_at(bytes, 4),
            depth,
            begin_ns: timeline.ns(begin),
            call_ns: done.then(|| timeline.span_ns(begin, u64_at(bytes, 16))),
            status: done.then(|| u32_at(bytes, 24) as i32),
            link,
            body,
        };
        if !apart {
            buffer.open.push(self.events);
        }
        take(&self.metadata, &event);
    }
}
