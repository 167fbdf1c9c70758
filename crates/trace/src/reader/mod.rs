//! Reads trace files: complete ones, ones that are still being written, and those of killed processes.
//!
//! Owns: finding the chunks, walking the slots, converting ticks, merging the threads in time order.
//! Must not know: what a function does, or how anything is printed.
//!
//! The writer stores the payload, then the slot's first word; later end and status, then `done`. The reader copies
//! bytes with `pread`, in two passes while the file is live: the first finds which events are done, the second copies
//! them again, so that the copy has everything that was stored before `done`.

mod chunks;
mod decode;
mod header;
mod window;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::event::{Body, Event};
use crate::layout::*;
use crate::mailbox;
use crate::meta::{Mark, Metadata};

pub use header::Header;

use decode::{u32_at, u64_at};
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
    /// A process of this machine writes the file meanwhile.
    live: bool,
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
    /// In a ring: the chunk was overwritten if its sequence has changed.
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

    /// As [`TraceFile::open`], with the open `file`; messages call it `path`.
    pub fn of(file: File, path: &Path) -> Result<Self, Error> {
        let header = read_header(&file, path, false)?;
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
            live: false,
        };
        trace.refresh()?;
        Ok(trace)
    }

    /// The file is one that a process of this machine writes meanwhile: until the process closes it,
    /// times are converted with this machine's clocks as they are.
    pub fn follow(&mut self) -> Result<(), Error> {
        self.live = true;
        self.refresh()
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
        let mut found = Vec::new();
        self.find_reused(&mut found)?;
        self.refresh_with(found)
    }

    /// The same, with chunks that were `found` before. Those of a ring are looked at once for each look at the file,
    /// and not for each of its buffers: both may be thousands.
    fn refresh_with(&mut self, mut found: Vec<Found>) -> Result<(), Error> {
        self.header = read_header(&self.file, &self.path, self.live)?;
        self.find_chunks(&mut found)?;
        // In a ring, file order is not time order; otherwise all sequences are 0, and the sort
        // keeps their order.
        found.sort_by_key(|(sequence, ..)| *sequence);
        for (_, start, bytes) in found {
            self.add_chunk(start, &bytes);
        }
        // The mailbox is read before the metadata: a mark that moves meanwhile is seen in one of
        // them.
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

    /// Places (offset and size in bytes) of chunks that were read completely since the last call and that the
    /// writer has left: the only reader of a live file may free them.
    pub fn take_finished(&mut self) -> Vec<(u64, u64)> {
        std::mem::take(&mut self.finished)
    }

    /// Whether a process has the file open, or mapped, for writing; `None` where the file system does not say. SIGIO
    /// must be ignored: it tells of one that opens the file at this moment.
    pub fn has_writer(&self) -> Option<bool> {
        let lease = |kind: i32| {
            // SAFETY: an open file; no memory is touched.
            match unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_SETLEASE, kind) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // A lease for reading is only given where nobody writes (fcntl(2)).
        match lease(libc::F_RDLCK) {
            Ok(()) => lease(libc::F_UNLCK).ok().map(|()| false),
            Err(error) => (error.raw_os_error() == Some(libc::EAGAIN)).then_some(true),
        }
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<usize, Error> {
        let mut got = 0;
        while let Some(rest) = bytes.get_mut(got..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, at + got as u64) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::io("read", &self.path, e)),
            }
        }
        Ok(got)
    }

    /// Hands events that ended since the last poll to `take`, in the order of their beginning as
    /// far as it is known. With `last`, calls that never returned are handed out too.
    pub fn poll(
        &mut self,
        last: bool,
        take: &mut dyn FnMut(&Metadata, &Event<'_>),
    ) -> Result<Progress, Error> {
        self.poll_while(last, &mut || true, take)
    }

    /// As [`TraceFile::poll`], as long as `go_on` says so, which is asked now and then: a process may write faster than
    /// its trace is read. What is left is there at the next poll.
    pub fn poll_while(
        &mut self,
        last: bool,
        go_on: &mut dyn FnMut() -> bool,
        take: &mut dyn FnMut(&Metadata, &Event<'_>),
    ) -> Result<Progress, Error> {
        const ROUND: u64 = 1024;
        self.look(last)?;
        let before = self.events;
        let mut steps = 0u64;
        while self.take_next(take)? {
            steps += 1;
            if steps.is_multiple_of(ROUND) && !go_on() {
                break;
            }
        }
        let mut progress = Progress { events: self.events - before, pending: 0 };
        for buffer in self.buffers.values() {
            let head = buffer.window.get(buffer.taken..buffer.taken + 32).unwrap_or(&[]);
            progress.pending += u64::from(u32_at(head, 0) != 0 && u32_at(head, 28) == 0);
        }
        Ok(progress)
    }

    /// Looks for events that have ended (with `last`, for all); [`TraceFile::next_ns`] and
    /// [`TraceFile::take_next`] then go through them. `poll` does both for one file.
    pub fn look(&mut self, last: bool) -> Result<(), Error> {
        self.refresh()?;
        self.last = last;
        let numbers: Vec<u32> = self.buffers.keys().copied().collect();
        for &number in &numbers {
            self.fill(number, last)?;
        }
        // Metadata is stored before the events that refer to it: it is in the file by now.
        self.refresh_with(Vec::new())?;
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

    /// Hands out the next event; false where there is none. A call may also consume a record that
    /// is no event.
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
            // These events may be newer than the metadata read so far; theirs is in the file by
            // now.
            self.refresh_with(Vec::new())?;
        }
        let Some(buffer) = self.buffers.get(&number) else { return Ok(None) };
        if buffer.taken >= buffer.usable {
            return Ok(None);
        }
        Ok(Some(u64_at(&buffer.window, buffer.taken + 8)))
    }
}
