//! How far the file may grow ahead of a reader that follows it.
//!
//! The reader frees space as it reads; if it stalls (a pager, a full pipe), the file would otherwise take all memory.
//! Beyond a bound, events are lost and counted, or the calls wait. Must not know: who reads.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Recorder;
use super::buffer::FIRST_CHUNK;
use crate::layout::{CHUNK_MAX, PAGE};

/// What part of the bound is left to a process where the spare room is used up.
const SHARE: u64 = 64;
/// Time between two looks at the reader's progress.
const PAUSE_NS: libc::c_long = 1_000_000;
/// Pauses after which the writer checks that there still is a reader.
const PAUSES: u32 = 100;

impl Recorder {
    /// The largest chunk. Where the reader's lag is bounded, a thousand threads must fit a chunk
    /// each, since a reader cannot free a chunk that is still written.
    pub(super) fn largest_chunk(&self) -> usize {
        self.backlog.map_or(CHUNK_MAX, |backlog| {
            let share = (backlog.most / 1024).min(CHUNK_MAX as u64) as usize;
            share.max(FIRST_CHUNK) / PAGE * PAGE
        })
    }

    /// Whether the reader would be too far behind with `size` more bytes. What it cannot give back, the chunks
    /// that are still written, does not count against it.
    pub(super) fn is_behind(&self, size: usize) -> bool {
        let Some(backlog) = self.backlog else { return false };
        let free = (backlog.spare > 0).then(|| self.cold(|cold| cold.backing.free())).flatten();
        let crowded = free.flatten().is_some_and(|free| free < backlog.spare);
        let most = if crowded { backlog.most / SHARE } else { backlog.most };
        let needed = self.pinned.load(Ordering::Relaxed).saturating_add(size as u64);
        let header = self.header.as_ptr();
        // SAFETY: `header` stays mapped as long as `self`; both words are only touched as atomics from now on.
        let (used, returned) = unsafe {
            (
                AtomicU64::from_ptr(&raw mut (*header).used).load(Ordering::Acquire),
                AtomicU64::from_ptr(&raw mut (*header).returned).load(Ordering::Acquire),
            )
        };
        used.saturating_sub(returned).saturating_add(size as u64) > most.max(needed)
    }

    /// Whether the reader is near enough for `size` more bytes; waits for it where the settings say
    /// so.
    #[cold]
    pub(super) fn keeps_up(&self, size: usize) -> bool {
        let mut pauses = 0;
        while self.is_behind(size) {
            let waits = self.backlog.is_some_and(|backlog| backlog.wait);
            if !waits || self.alone.load(Ordering::Relaxed) {
                return false;
            }
            pauses += 1;
            if pauses % PAUSES == 0 && !self.has_reader() {
                self.alone.store(true, Ordering::Relaxed);
                return false;
            }
            let pause = libc::timespec { tv_sec: 0, tv_nsec: PAUSE_NS };
            // SAFETY: a valid time; errno is not touched.
            unsafe {
                libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &pause, std::ptr::null_mut())
            };
        }
        true
    }

    /// Whether a reader is there: it holds a lock on the file's folder.
    fn has_reader(&self) -> bool {
        let path = self.path();
        let folder = path.parent().and_then(|f| CString::new(f.as_os_str().as_bytes()).ok());
        let Some(folder) = folder else { return false };
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: a NUL-terminated path; the descriptor is ours, and its lock goes with it.
        unsafe {
            let fd = libc::open(folder.as_ptr(), flags);
            let locked =
                fd >= 0 && libc::syscall(libc::SYS_flock, fd, libc::LOCK_SH | libc::LOCK_NB) != 0;
            if fd >= 0 {
                libc::close(fd);
            }
            locked
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Room;
    use crate::layout::Lost;
    use crate::meta::Process;
    use crate::reader::TraceFile;
    use crate::recorder::Backlog;
    use crate::recorder::Settings;

    fn recorder(wait: bool) -> (tempfile::TempDir, Recorder) {
        let dir = tempfile::tempdir().unwrap();
        let backlog = Some(Backlog { most: 1 << 20, wait, spare: 0 });
        let settings = Settings { backlog, limit: 1 << 40, ..Settings::default() };
        let recorder = Recorder::open(&dir.path().join("x.cushim"), &settings, &Process::default());
        (dir, recorder.unwrap())
    }

    fn store(recorder: &Recorder, buffer: &mut crate::recorder::Buffer, count: usize) {
        for _ in 0..count {
            crate::recorder::tests::launch(recorder, buffer, 1, &[], true);
        }
    }

    #[test]
    fn what_nobody_reads_is_lost_and_counted() {
        let (dir, recorder) = recorder(false);
        let mut buffer = recorder.attach(1).unwrap();
        store(&recorder, &mut buffer, 100_000);
        let path = dir.path().join("x.cushim");
        let mut file = TraceFile::open(&path).unwrap();
        let (used, lost) = (file.header().used, file.header().lost[Lost::Behind as usize]);
        assert!(used <= 1 << 20 && lost > 80_000, "{used} {lost}");
        // Both the reader and the writer continue.
        let mut seen = 0;
        file.poll(false, &mut |_, _| seen += 1).unwrap();
        let given = file.take_finished().iter().map(|(_, size)| size).sum();
        assert!(given > 0);
        Room::open(&path).unwrap().give_back(given);
        store(&recorder, &mut buffer, 1000);
        file.poll(true, &mut |_, _| seen += 1).unwrap();
        assert_eq!(seen as u64 + file.header().lost[Lost::Behind as usize], 101_000);
        assert_eq!(
            crate::layout::missing(&file.header().lost),
            file.header().lost[Lost::Behind as usize]
        );
        assert!(file.header().used > used);
    }

    #[test]
    fn who_waits_goes_on_with_the_reader_or_without_one() {
        use std::os::fd::AsRawFd;
        let (dir, recorder) = recorder(true);
        let path = dir.path().join("x.cushim");
        let folder = std::fs::File::open(dir.path()).unwrap();
        // SAFETY: an open file.
        assert_eq!(unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX) }, 0);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut buffer = recorder.attach(1).unwrap();
                store(&recorder, &mut buffer, 100_000);
            });
            let mut file = TraceFile::open(&path).unwrap();
            let (room, mut seen) = (Room::open(&path).unwrap(), 0);
            // Reads until the writer ends: its last writes may exceed the allowed lag.
            while !writer.is_finished() {
                file.poll(false, &mut |_, _| seen += 1).unwrap();
                room.give_back(file.take_finished().iter().map(|(_, size)| size).sum());
            }
            writer.join().unwrap();
            file.poll(true, &mut |_, _| seen += 1).unwrap();
            assert_eq!((seen, file.header().lost), (100_000, Default::default()));
        });
        drop(folder);
        let mut buffer = recorder.attach(2).unwrap();
        store(&recorder, &mut buffer, 40_000);
        let file = TraceFile::open(&path).unwrap();
        assert!(file.header().lost[Lost::Behind as usize] > 0, "nobody is waited for");
    }

    /// Reads and frees chunks until `stop`.
    fn read_along(path: &std::path::Path, stop: impl Fn() -> bool) -> (u64, TraceFile) {
        let mut file = TraceFile::open(path).unwrap();
        let (room, mut seen) = (Room::open(path).unwrap(), 0);
        while !stop() {
            file.poll(false, &mut |_, _| seen += 1).unwrap();
            room.give_back(file.take_finished().iter().map(|(_, size)| size).sum());
        }
        file.poll(true, &mut |_, _| seen += 1).unwrap();
        (seen, file)
    }

    fn locked(dir: &tempfile::TempDir) -> std::fs::File {
        use std::os::fd::AsRawFd;
        let folder = std::fs::File::open(dir.path()).unwrap();
        // SAFETY: an open file.
        assert_eq!(unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX) }, 0);
        folder
    }

    /// Each thread has a chunk that it writes, which no reader can free: 100 of them exceed the bound.
    #[test]
    fn more_threads_than_the_bound_has_chunks() {
        let (dir, recorder) = recorder(true);
        let _folder = locked(&dir);
        let start = std::sync::Barrier::new(100);
        std::thread::scope(|scope| {
            let write = || {
                let mut buffer = recorder.attach(1).unwrap();
                store(&recorder, &mut buffer, 1);
                start.wait();
                store(&recorder, &mut buffer, 2000);
                buffer
            };
            let writers: Vec<_> = (0..100).map(|_| scope.spawn(write)).collect();
            let over = || writers.iter().all(|writer| writer.is_finished());
            let (seen, file) = read_along(&dir.path().join("x.cushim"), over);
            assert_eq!((seen, file.header().lost), (100 * 2001, Default::default()));
        });
    }

    /// The reader frees metadata as it frees events: a program with much of it does not stay behind.
    #[test]
    fn more_metadata_than_the_bound() {
        let (dir, recorder) = recorder(true);
        let _folder = locked(&dir);
        let path = dir.path().join("x.cushim");
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut buffer = recorder.attach(1).unwrap();
                for round in 0..3000 {
                    let name = format!("{round} {}", "x".repeat(2000));
                    assert!(recorder.write_meta(&crate::meta::encode_name(round, &name)));
                    store(&recorder, &mut buffer, 10);
                }
            });
            let (seen, file) = read_along(&path, || writer.is_finished());
            assert_eq!((seen, file.header().lost), (30_000, Default::default()));
            assert_eq!(file.metadata().names.len(), 3000);
            assert_eq!(file.damaged(), 0);
        });
    }

    /// Several processes share a file system: below its spare room, each gets a part of its bound.
    #[test]
    fn all_files_together_leave_room() {
        let dir = tempfile::tempdir().unwrap();
        let backlog = Some(Backlog { most: 64 << 20, wait: false, spare: u64::MAX });
        let settings = Settings { backlog, limit: 1 << 40, ..Settings::default() };
        let path = dir.path().join("x.cushim");
        let recorder = Recorder::open(&path, &settings, &Process::default()).unwrap();
        let mut buffer = recorder.attach(1).unwrap();
        store(&recorder, &mut buffer, 100_000);
        let file = TraceFile::open(&path).unwrap();
        let (used, lost) = (file.header().used, file.header().lost[Lost::Behind as usize]);
        assert!(used <= 1 << 20 && lost > 80_000, "{used} {lost}");
    }
}
