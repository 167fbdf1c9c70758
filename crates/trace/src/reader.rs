//! Reads trace files: finished ones, ones that are still being written, and what a killed process left.
//!
//! Owns: finding the chunks, walking the slots, converting ticks, merging the threads in time order.
//! Must not know: what a function does, or how anything is printed.
//!
//! The writer stores payload, then the slot's first word; end and status, then `done`. The reader copies
//! bytes with `pread`, in two passes while the file is live: the first finds which events are done, the
//! second copies them anew, so that everything stored before `done` is in the copy.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::clock::Timeline;
use crate::event::{Body, Call, Event, Launch, Texts, Words};
use crate::layout::*;
use crate::meta::Metadata;

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
    metadata: Metadata,
    events: u64,
    damaged: u64,
    finished: Vec<(u64, u64)>,
    /// Ticks at the next event of each buffer that has one ready, and its number.
    heads: BinaryHeap<Reverse<(u64, u32)>>,
    /// Calls that did not come back are handed out too.
    last: bool,
}

/// What the first page says.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Process id.
    pub pid: u32,
    /// The process ended through `exit`.
    pub closed: bool,
    /// Bytes in use.
    pub used: u64,
    /// The limit in bytes.
    pub limit: u64,
    /// Events missing, by [`Lost`].
    pub lost: [u64; LOST_KINDS],
    /// Ticks are those of the time-stamp counter.
    pub tsc: bool,
    /// The two points of the clock.
    pub timeline: Timeline,
}

struct MetaChunk {
    start: u64,
    size: u64,
    read: u64,
}

/// The chunks that one writer filled, one after another.
#[derive(Default)]
struct Buffer {
    tid: u32,
    chunks: Vec<(u64, u64)>,
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

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).and_then(|b| b.try_into().ok()).map_or(0, u16::from_le_bytes)
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
        let header = read_header(&file, path)?;
        let mut trace = TraceFile {
            path: path.to_owned(),
            file,
            header,
            scanned: PAGE as u64,
            meta_chunks: Vec::new(),
            buffers: BTreeMap::new(),
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

    /// Reads the first page, new chunk headers and new metadata.
    pub fn refresh(&mut self) -> Result<(), Error> {
        self.header = read_header(&self.file, &self.path)?;
        self.find_chunks()?;
        self.read_metadata()
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

    fn find_chunks(&mut self) -> Result<(), Error> {
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
                    let tid = u32_at(&bytes, 12);
                    let number = u32_at(&bytes, 16);
                    let buffer = self.buffers.entry(number).or_default();
                    if buffer.chunks.is_empty() {
                        buffer.tid = tid;
                    }
                    buffer.chunks.push((self.scanned, size));
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
        self.heads.peek().map(|Reverse((begin, _))| self.header.timeline.ns(*begin))
    }

    /// Hands out the next event; false where there is none. A record that is no event takes a turn too.
    pub fn take_next(
        &mut self,
        take: &mut dyn FnMut(&Metadata, &Event<'_>),
    ) -> Result<bool, Error> {
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
            let Some(&(start, size)) = buffer.chunks.get(buffer.at.0) else { return Ok(()) };
            buffer.at.1 = buffer.at.1.max(CHUNK_HEADER as u64);
            let at = start + buffer.at.1;
            let room = (size.saturating_sub(buffer.at.1) as usize).min(WINDOW);
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
            let usable = usable.min(window.len());
            let Some(buffer) = self.buffers.get_mut(&number) else { return Ok(()) };
            (buffer.window, buffer.usable) = (window, usable);
            // The chunk is finished where nothing more was written in it and the writer went on to
            // the next, or where not even one slot is left.
            let finished = usable == 0 && (end == End::Nothing || room < SLOT) && more_chunks;
            if !finished {
                return Ok(());
            }
            buffer.at = (buffer.at.0 + 1, CHUNK_HEADER as u64);
            self.finished.push((start, size));
        }
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
        buffer.open.truncate(depth.into());
        let timeline = &self.header.timeline;
        let event = Event {
            id: self.events,
            parent: buffer.open.last().copied(),
            tid: buffer.tid,
            api: u16_at(bytes, 4),
            depth,
            begin_ns: timeline.ns(begin),
            call_ns: done.then(|| timeline.span_ns(begin, u64_at(bytes, 16))),
            status: done.then(|| u32_at(bytes, 24) as i32),
            body,
        };
        buffer.open.push(self.events);
        take(&self.metadata, &event);
    }
}

/// What follows the last usable event of a window.
#[derive(PartialEq, Eq)]
enum End {
    /// No event begins there.
    Nothing,
    /// One begins there that is not done, or not whole in the window.
    Something,
}

/// How many bytes of `window` are whole events that are done (or any, with `last`).
fn usable(window: &[u8], last: bool, damaged: &mut u64) -> (usize, End) {
    let mut at = 0;
    while at + SLOT <= window.len() {
        let head = u32_at(window, at);
        if head == 0 {
            return (at, End::Nothing);
        }
        let size = (head >> 16) as usize * SLOT;
        if size == 0 || size > CHUNK_MAX {
            // A foreign word where an event should begin: nothing behind it can be trusted.
            *damaged += u64::from(at == 0);
            return (at, End::Something);
        }
        if at + size > window.len() || !last && u32_at(window, at + 28) != 1 {
            return (at, End::Something);
        }
        at += size;
    }
    (at, if at == window.len() { End::Nothing } else { End::Something })
}

fn body(kind: u16, bytes: &[u8]) -> Option<Body<'_>> {
    let dims = |at| [u32_at(bytes, at), u32_at(bytes, at + 4), u32_at(bytes, at + 8)];
    Some(match kind {
        EVENT_LAUNCH => {
            let size = u32_at(bytes, 60) as usize;
            Body::Launch(Launch {
                kernel: u32_at(bytes, 32),
                shared: u32_at(bytes, 36),
                stream: u64_at(bytes, 40),
                grid: dims(48),
                block: dims(64),
                cluster: [*bytes.get(76)?, *bytes.get(77)?, *bytes.get(78)?],
                flags: *bytes.get(79)?,
                context: u64_at(bytes, 80),
                args: bytes.get(LAUNCH_ARGS..LAUNCH_ARGS.checked_add(size)?)?,
            })
        }
        EVENT_CALL => {
            let words = *bytes.get(38)? as usize;
            Body::Call(Call {
                kernel: u32_at(bytes, 32),
                outs: u16_at(bytes, 36),
                words: Words(bytes.get(CALL_WORDS..CALL_WORDS + words * 8)?),
                texts: Texts {
                    bytes: bytes.get(CALL_WORDS + words * 8..)?,
                    count: *bytes.get(39)?,
                },
            })
        }
        EVENT_MARK => {
            let size = u32_at(bytes, 32) as usize;
            Body::Mark(std::str::from_utf8(bytes.get(40..40usize.checked_add(size)?)?).ok()?)
        }
        _ => return None,
    })
}

fn read_header(file: &File, path: &Path) -> Result<Header, Error> {
    let mut page = [0; size_of::<FileHeader>()];
    let mut tries = 0;
    loop {
        match file.read_exact_at(&mut page, 0) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                let size = file.metadata().map_or(0, |m| m.len());
                return Err(Error::Foreign {
                    path: path.to_owned(),
                    found: format!("{size} bytes"),
                    expected: "a trace file, at least its first page of 4096 bytes",
                });
            }
            Err(e) => return Err(Error::io("read", path, e)),
        }
        if page[..8] != FILE_MAGIC {
            return Err(Error::Foreign {
                path: path.to_owned(),
                found: format!("{:02x?} in the first 8 bytes", &page[..8]),
                expected: "a trace file, which begins with \"CUSHIM\"",
            });
        }
        let version = u32_at(&page, 8);
        if version != VERSION {
            return Err(Error::Foreign {
                path: path.to_owned(),
                found: format!("trace format {version}"),
                expected: "format 1 (the file was written by another version of cushim)",
            });
        }
        // An odd sequence: the writer was interrupted there, or died there. The first calibration is
        // always good.
        let seq = u64_at(&page, std::mem::offset_of!(FileHeader, latest_seq));
        if seq.is_multiple_of(2) || tries > 100 {
            break;
        }
        tries += 1;
    }
    let calibration = |at| Calibration {
        ticks: u64_at(&page, at),
        monotonic_ns: u64_at(&page, at + 8),
        realtime_ns: u64_at(&page, at + 16),
    };
    let mut lost = [0; LOST_KINDS];
    for (i, n) in lost.iter_mut().enumerate() {
        *n = u64_at(&page, std::mem::offset_of!(FileHeader, lost) + i * 8);
    }
    Ok(Header {
        pid: u32_at(&page, 16),
        closed: u32_at(&page, 20) == 1,
        used: u64_at(&page, 24),
        limit: u64_at(&page, 32),
        lost,
        tsc: u32_at(&page, 12) & FLAG_TSC != 0,
        timeline: Timeline::new(
            calibration(std::mem::offset_of!(FileHeader, first)),
            calibration(std::mem::offset_of!(FileHeader, latest)),
        ),
    })
}
