//! The recorder, with which the preloaded process writes events.
//!
//! Owns: the file, its chunks, one buffer per thread, the metadata area. A buffer has one writer; an
//! event costs a bounds check and the stores of its bytes. System calls happen once per chunk.
//!
//! Must not know: any CUDA function, what an argument means, when to record.
//!
//! A lock that gives up protects the cold part: tracing must never hang a process.

mod backlog;
mod buffer;
mod file;
mod lock;
mod ring;
mod settings;

use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

pub use buffer::{Buffer, Slots};
pub use file::NOT_SHARED;
pub use settings::{Backlog, Settings};

use crate::Error;
use crate::clock;
use crate::layout::*;
use crate::mailbox::Page;
use crate::meta::Process;
use file::Backing;
use lock::Lock;
use ring::Ring;

/// An open trace file of this process.
pub struct Recorder {
    header: NonNull<FileHeader>,
    use_tsc: bool,
    limit: u64,
    lock: Lock,
    /// Guarded by `lock`.
    cold: std::cell::UnsafeCell<Cold>,
    /// 0 while there is room, else 1 + the [`Lost`] that ended it.
    full: AtomicU32,
    /// With [`FLAG_RING`]: the size of every event chunk; else 0.
    ring_chunk: usize,
    backlog: Option<Backlog>,
    /// The reader is gone: no call waits any more.
    alone: AtomicBool,
    /// Bytes that a reader cannot give back: the first page, and a chunk for each buffer and for metadata.
    pinned: AtomicU64,
}

// SAFETY: `header` is only written through atomics or under `lock`; `cold` only under `lock`.
unsafe impl Sync for Recorder {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Recorder {}

struct Cold {
    backing: Backing,
    /// Start of the unused rest of the metadata chunk, and its end.
    meta: Option<MetaChunk>,
    next_buffer: u32,
    free: Vec<Buffer>,
    ring: Option<Ring>,
}

struct MetaChunk {
    base: NonNull<u8>,
    size: usize,
    used: usize,
}

impl Recorder {
    /// [`Recorder::open`] with a limit and an earlier moment of this process, all else as usual.
    pub fn create(
        path: &Path,
        limit: u64,
        first: Option<Calibration>,
        process: &Process,
    ) -> Result<Self, Error> {
        Self::open(path, &Settings { limit, first, ..Settings::default() }, process)
    }

    /// Creates the file at `path` (0600; an existing file or link there is an error of kind
    /// `AlreadyExists`) and writes its first page and the process record.
    pub fn open(path: &Path, settings: &Settings, process: &Process) -> Result<Self, Error> {
        let (backing, limit) = Backing::create(path, settings.limit)?;
        let header = backing.map(0, PAGE, path).inspect_err(|_| backing.discard())?;
        let header = header.cast::<FileHeader>();
        let now = clock::calibrate(settings.tsc);
        let ring = settings.keep.map(Ring::new);
        let flags = if settings.tsc { FLAG_TSC } else { 0 };
        let ring_flag = if ring.is_some() { FLAG_RING } else { 0 };
        // SAFETY: `header` is a fresh, writable, page-aligned mapping of PAGE bytes, seen by nobody.
        unsafe {
            let h = header.as_ptr();
            (&raw mut (*h).version).write(VERSION);
            (&raw mut (*h).flags).write(flags | ring_flag);
            (&raw mut (*h).pid).write(process.pid);
            (&raw mut (*h).used).write(PAGE as u64);
            (&raw mut (*h).limit).write(limit);
            (&raw mut (*h).first).write(settings.first.unwrap_or(now));
            (&raw mut (*h).latest).write(now);
            (&raw mut (*h).control).write(settings.control);
            (&raw mut (*h).keep).write(ring.as_ref().map_or(0, |ring| ring.keep));
            std::sync::atomic::fence(Ordering::Release);
            (&raw mut (*h).magic).write(FILE_MAGIC);
        }
        let recorder = Recorder {
            header,
            use_tsc: settings.tsc,
            limit: settings.limit,
            lock: Lock::default(),
            ring_chunk: ring.as_ref().map_or(0, |ring| ring.chunk),
            cold: Cold { backing, meta: None, next_buffer: 0, free: Vec::new(), ring }.into(),
            full: AtomicU32::new(0),
            backlog: settings.backlog,
            alone: AtomicBool::new(false),
            pinned: AtomicU64::new(PAGE as u64),
        };
        recorder.write_meta(&process.encode());
        Ok(recorder)
    }

    fn page(&self) -> Page {
        // SAFETY: `header` stays mapped as long as `self`.
        unsafe { Page::new(self.header) }
    }

    /// The control word: zero means that every call is to be recorded.
    #[inline(always)]
    pub fn control(&self) -> u32 {
        // SAFETY: `header` stays mapped as long as `self`; the word is only touched as an atomic.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.header.as_ptr()).control) }
            .load(Ordering::Relaxed)
    }

    /// Clears `bits` in the control word; returns the new value.
    #[cold]
    pub fn clear_control(&self, bits: u32) -> u32 {
        self.page().control().fetch_and(!bits, Ordering::AcqRel) & !bits
    }

    /// Moves marks from the mailbox to the metadata.
    #[cold]
    pub fn take_mail(&self) {
        self.page().take(|mark| self.write_meta(&mark.encode()));
    }

    /// Now, in ticks of this file.
    #[inline(always)]
    pub fn ticks(&self) -> u64 {
        if self.use_tsc { clock::tsc() } else { clock::clock_ns(libc::CLOCK_MONOTONIC) }
    }

    /// The line from ticks to nanoseconds as it is now.
    #[cold]
    pub fn timeline(&self) -> clock::Timeline {
        // SAFETY: `header` stays mapped as long as `self`; `first` was written before anybody saw it.
        let first = unsafe { (&raw const (*self.header.as_ptr()).first).read() };
        clock::Timeline::new(first, clock::calibrate(self.use_tsc))
    }

    /// Counts an event that could not be recorded.
    #[cold]
    pub fn lose(&self, why: Lost) {
        self.counter(why).fetch_add(1, Ordering::Relaxed);
    }

    fn counter(&self, why: Lost) -> &AtomicU64 {
        // SAFETY: `header` stays mapped as long as `self`; each reason has a counter, which is only
        // touched as an atomic.
        unsafe {
            let first = (&raw mut (*self.header.as_ptr()).lost).cast::<u64>();
            AtomicU64::from_ptr(first.add(why as usize))
        }
    }

    /// Appends a metadata record as [`crate::meta`] encodes it. False if it could not be written.
    #[cold]
    pub fn write_meta(&self, record: &[u8]) -> bool {
        if record.len() + CHUNK_HEADER > CHUNK_MAX {
            return false;
        }
        self.cold(|cold| self.append_meta(cold, record)).unwrap_or(false)
    }

    fn append_meta(&self, cold: &mut Cold, record: &[u8]) -> bool {
        let fits = cold.meta.as_ref().is_some_and(|m| m.used + record.len() <= m.size);
        if !fits {
            let least = (record.len() + CHUNK_HEADER).next_multiple_of(PAGE);
            let size = least.max(if cold.meta.is_none() { 16 << 10 } else { 128 << 10 });
            let Ok(base) = self.new_chunk(cold, CHUNK_META, size, 0, 0) else { return false };
            let before = cold.meta.as_ref().map_or(0, |full| full.size as u64);
            if let Some(full) = cold.meta.take() {
                // SAFETY: a whole mapping of ours, which nobody else has.
                unsafe { libc::munmap(full.base.as_ptr().cast(), full.size) };
            }
            self.pinned.fetch_add(size as u64, Ordering::Relaxed);
            self.pinned.fetch_sub(before, Ordering::Relaxed);
            cold.meta = Some(MetaChunk { base, size, used: CHUNK_HEADER });
        }
        let Some(meta) = cold.meta.as_mut() else { return false };
        // SAFETY: `used + len <= size` bytes of the chunk's mapping; its header's `used` is an aligned u64.
        unsafe {
            let to = meta.base.as_ptr().add(meta.used);
            to.copy_from_nonoverlapping(record.as_ptr(), record.len());
            meta.used += record.len();
            let header = meta.base.as_ptr().cast::<ChunkHeader>();
            AtomicU64::from_ptr(&raw mut (*header).used).store(meta.used as u64, Ordering::Release);
        }
        true
    }

    /// A buffer for the calling thread; `None` while the recorder cannot give one.
    #[cold]
    pub fn attach(&self, tid: u32) -> Option<Buffer> {
        let mut buffer = self.cold(|cold| {
            cold.free.pop().unwrap_or_else(|| {
                cold.next_buffer += 1;
                self.pinned.fetch_add(self.largest_chunk() as u64, Ordering::Relaxed);
                Buffer::new(cold.next_buffer, tid)
            })
        })?;
        if buffer.tid() != tid {
            buffer.rename(self, tid);
        }
        Some(buffer)
    }

    /// Takes back the buffer of a thread that ends; another thread will use it.
    pub fn detach(&self, buffer: Buffer) {
        let mut buffer = Some(buffer);
        self.cold(|cold| cold.free.extend(buffer.take()));
    }

    /// A chunk for `buffer`, of `size` bytes: its mapping, header written. With [`FLAG_RING`] `done`,
    /// the buffer's chunks in which no event is open, may be used again.
    ///
    /// # Errors
    /// The reason by which the event is counted as lost.
    #[cold]
    fn event_chunk(
        &self,
        buffer: u32,
        tid: u32,
        size: usize,
        done: &mut Vec<(NonNull<u8>, usize)>,
    ) -> Result<NonNull<u8>, Lost> {
        if let Some(why) = self.full() {
            return Err(why);
        }
        if !self.keeps_up(size) {
            return Err(Lost::Behind);
        }
        let mut again = None;
        let got = self.cold(|cold| {
            // With a reader, files are on a file system shared with others, mostly in memory: leave
            // some of it free.
            if self.backlog.is_some() && cold.backing.is_crowded() {
                return Err(Lost::NoSpace);
            }
            let mut room = cold.backing.used + size as u64 <= self.limit;
            if let Some(ring) = &mut cold.ring {
                ring.done.extend(done.drain(..));
                ring.sequence += 1;
                room &= ring.bytes + size as u64 <= ring.keep || ring.done.is_empty();
            }
            let fresh = match room {
                true => self.new_chunk(cold, CHUNK_EVENTS, size, buffer, tid),
                false => Err(Lost::Limit),
            };
            let Some(ring) = &mut cold.ring else { return fresh };
            match fresh {
                Ok(_) => ring.bytes += size as u64,
                // A full ring has room again once a call has returned.
                Err(_) => again = ring.done.pop_front().map(|(base, _)| (base, ring.sequence)),
            }
            if again.is_some() {
                self.recalibrate();
            }
            fresh
        });
        if let Some((base, sequence)) = again {
            // Done outside the lock: emptying takes microseconds.
            let chunk = ring::header(size, buffer, tid);
            // SAFETY: a whole chunk of the ring, mapped for good, which was taken out of it above.
            let lost = unsafe { ring::empty(base, chunk, sequence) };
            self.page().overwritten().fetch_add(lost, Ordering::Relaxed);
            return Ok(base);
        }
        // The lock may be unavailable, in a process that was just forked for instance.
        let got = got.unwrap_or(Err(Lost::NotReady));
        match got {
            // Also outside the lock: it takes a fault per page.
            Ok(base) => file::populate(base, size),
            // Where a reader frees space, a full file may have room later.
            Err(why)
                if self.ring_chunk == 0
                    && (self.backlog.is_none() || why == Lost::FileSize)
                    && why != Lost::NotReady =>
            {
                self.full.store(1 + why as u32, Ordering::Relaxed);
            }
            Err(_) => {}
        }
        got
    }

    /// Why nothing has room any more.
    fn full(&self) -> Option<Lost> {
        let ends = [Lost::Limit, Lost::FileSize, Lost::NoSpace];
        let full = self.full.load(Ordering::Relaxed);
        ends.into_iter().find(|why| full == 1 + *why as u32)
    }

    fn new_chunk(
        &self,
        cold: &mut Cold,
        kind: u32,
        size: usize,
        buffer: u32,
        tid: u32,
    ) -> Result<NonNull<u8>, Lost> {
        let base = cold.backing.grow(size)?;
        let used = if kind == CHUNK_META { CHUNK_HEADER as u64 } else { 0 };
        let ring = cold.ring.as_ref().filter(|_| kind == CHUNK_EVENTS);
        let sequence = ring.map_or(0, |ring| ring.sequence);
        let chunk = ChunkHeader { kind, used, sequence, ..ring::header(size, buffer, tid) };
        // SAFETY: `base` is a fresh mapping of `size >= PAGE` bytes that nobody else has.
        unsafe { base.cast::<ChunkHeader>().write(chunk) };
        // SAFETY: `header` stays mapped; `used` is an aligned u64 that is only touched as an atomic.
        let shared = unsafe { AtomicU64::from_ptr(&raw mut (*self.header.as_ptr()).used) };
        shared.store(cold.backing.used, Ordering::Release);
        self.recalibrate();
        Ok(base)
    }

    /// Writes the latest calibration. Under `lock`, or at exit.
    fn recalibrate(&self) {
        let now = clock::calibrate(self.use_tsc);
        // SAFETY: `header` stays mapped; the caller holds the lock, so there is one writer, and readers
        // of other processes check the sequence.
        unsafe {
            let h = self.header.as_ptr();
            let seq = AtomicU64::from_ptr(&raw mut (*h).latest_seq);
            let n = seq.load(Ordering::Relaxed);
            seq.store(n.wrapping_add(1), Ordering::Release);
            std::sync::atomic::fence(Ordering::SeqCst);
            (&raw mut (*h).latest).write_volatile(now);
            seq.store(n.wrapping_add(2), Ordering::Release);
        }
    }

    /// The process ends through `exit`: writes the last calibration and sets `closed`. Recording
    /// still works.
    pub fn close(&self) {
        self.cold(|_| self.recalibrate());
        // SAFETY: `header` stays mapped; `closed` is an aligned u32.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.header.as_ptr()).closed) }
            .store(1, Ordering::Release);
    }

    /// The file's path.
    pub fn path(&self) -> PathBuf {
        self.cold(|cold| cold.backing.path.clone()).unwrap_or_default()
    }

    /// Runs `work` under the lock; `None` if the lock could not be had in reasonable time.
    fn cold<R>(&self, work: impl FnOnce(&mut Cold) -> R) -> Option<R> {
        let _errno = Errno::keep();
        let _held = self.lock.acquire()?;
        // SAFETY: the lock is held, so this is the only reference.
        Some(work(unsafe { &mut *self.cold.get() }))
    }
}

/// Restores errno, which the traced call set for the program.
struct Errno(i32);

impl Errno {
    fn keep() -> Self {
        // SAFETY: errno is this thread's.
        Errno(unsafe { *libc::__errno_location() })
    }
}

impl Drop for Errno {
    fn drop(&mut self) {
        // SAFETY: errno is this thread's.
        unsafe { *libc::__errno_location() = self.0 };
    }
}

#[cfg(test)]
mod live;
#[cfg(test)]
mod ring_tests;
#[cfg(test)]
mod tests;
