//! Controls a recording process from outside: on, off, a mark. It uses the first page of the trace file, which both
//! processes have mapped; the process is not interrupted.
//!
//! Owns: the check that the file is a trace of the same user whose process is alive and has it mapped; how a launcher
//! says that it takes in no more traces. Must not know: the command line.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::layout::*;
use crate::mailbox::Page;
use crate::reader::TraceFile;
use crate::{Error, clock};

/// The process name (`/proc/PID/comm`, at most 15 bytes) of a launcher that takes in no more traces, but still writes
/// what it read.
pub const DONE: &str = "cushim: writing";

/// The first page of another process's trace file.
pub struct Remote {
    path: PathBuf,
    pid: u32,
    tsc: bool,
    map: NonNull<FileHeader>,
}

/// The counter in which the reader of a growing file says how much space it has given back.
pub struct Room(NonNull<FileHeader>);

impl Room {
    /// Opens the counter of the file at `path`, which this user has just opened as a trace.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = open_for_writing(path)?;
        map_page(&file, path).map(Room)
    }

    /// Adds `bytes` to what was given back.
    pub fn give_back(&self, bytes: u64) {
        // SAFETY: mapped until `self` is dropped; the word is only touched as an atomic.
        let returned = unsafe { AtomicU64::from_ptr(&raw mut (*self.0.as_ptr()).returned) };
        returned.fetch_add(bytes, Ordering::AcqRel);
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: our own mapping of one page; nobody holds a pointer into it.
        unsafe { libc::munmap(self.0.as_ptr().cast(), PAGE) };
    }
}

fn open_for_writing(path: &Path) -> Result<File, Error> {
    File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)
        .map_err(|e| Error::io("open for writing", path, e))
}

/// Maps the first page of `file`, shared and writable. The file must have one.
fn map_page(file: &File, path: &Path) -> Result<NonNull<FileHeader>, Error> {
    // SAFETY: a new mapping at an address of the kernel's choice; the file has that page.
    let map = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    let map =
        NonNull::new(map.cast::<FileHeader>()).filter(|m| m.as_ptr().cast() != libc::MAP_FAILED);
    map.ok_or_else(|| Error::io("map", path, std::io::Error::last_os_error()))
}

/// What is recorded now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Every call.
    On,
    /// Every call in the window that was requested at the start.
    Window,
    /// Nothing.
    Off,
}

impl Remote {
    /// The trace at `path`, if a living process of this user writes it.
    pub fn of_file(path: &Path) -> Result<Self, Error> {
        let pid = TraceFile::open(path)?.header().pid;
        Remote::open(path, pid)
    }

    /// The trace that process `pid` writes.
    pub fn of_process(pid: u32) -> Result<Self, Error> {
        let maps = PathBuf::from(format!("/proc/{pid}/maps"));
        let process = PathBuf::from(format!("process {pid}"));
        let text = match fs::read(&maps) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let (found, expected) = ("no such process".to_owned(), "a running one");
                return Err(Error::Foreign { path: process, found, expected });
            }
            read => read.map_err(|e| Error::io("read", &maps, e))?,
        };
        let text = String::from_utf8_lossy(&text);
        let mut failure = None;
        // `begin-end rights offset device inode path`: the process keeps the first page mapped as
        // long as it runs.
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let (shared, first) = (words.nth(1), words.next());
            let Some(at) = line.find('/') else { continue };
            if shared != Some("rw-s") || first != Some("00000000") {
                continue;
            }
            let path = Path::new(&line[at..]);
            match Remote::open(path, pid) {
                Ok(remote) => return Ok(remote),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        Err(match failure {
            Some(error @ Error::Io { .. }) => error,
            _ => Error::Foreign {
                path: process,
                found: "no trace file that it writes".to_owned(),
                expected: "a process that cushim records and that has called CUDA",
            },
        })
    }

    fn open(path: &Path, pid: u32) -> Result<Self, Error> {
        let trace = TraceFile::open(path)?;
        let file = open_for_writing(path)?;
        let found = file.metadata().map_err(|e| Error::io("look at", path, e))?;
        // SAFETY: cannot fail.
        let user = unsafe { libc::geteuid() };
        if !found.is_file() || found.uid() != user {
            return Err(Error::Foreign {
                path: path.to_owned(),
                found: format!("a file of user {}", found.uid()),
                expected: "a trace of the user who controls it",
            });
        }
        if found.len() < PAGE as u64 {
            return Err(Error::Foreign {
                path: path.to_owned(),
                found: format!("a file of {} bytes", found.len()),
                expected: "a trace file, which has 4096 bytes or more",
            });
        }
        if !is_mapped(pid, path, &found) {
            return Err(Error::Foreign {
                path: path.to_owned(),
                found: format!("a trace that process {pid} is not writing"),
                expected: "the trace of a running process",
            });
        }
        let map = map_page(&file, path)?;
        Ok(Remote { path: path.to_owned(), pid, tsc: trace.header().tsc, map })
    }

    fn page(&self) -> Page {
        // SAFETY: mapped until `self` is dropped.
        unsafe { Page::new(self.map) }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The process, as this process sees it.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What is recorded now.
    pub fn state(&self) -> State {
        match self.page().control().load(Ordering::Acquire) {
            bits if bits & CONTROL_OFF != 0 => State::Off,
            bits if bits & CONTROL_WINDOW != 0 => State::Window,
            _ => State::On,
        }
    }

    /// Records again. A trace that was off continues as before, also in a window; one that was not
    /// off records from now on and ignores the window.
    pub fn on(&self) -> State {
        let control = self.page();
        let was_off =
            control.control().fetch_and(!CONTROL_OFF, Ordering::AcqRel) & CONTROL_OFF != 0;
        if !was_off {
            control.control().fetch_and(!CONTROL_WINDOW, Ordering::AcqRel);
        }
        self.state()
    }

    /// Stops recording. Calls that are under way are still finished.
    pub fn off(&self) -> State {
        self.page().control().fetch_or(CONTROL_OFF, Ordering::AcqRel);
        self.state()
    }

    /// Puts a mark into the trace, at this moment. An error where the text is too long, or where
    /// the mailbox is full of marks that the process has not read yet.
    pub fn mark(&self, text: &str) -> Result<u32, Error> {
        if text.len() > MAIL_TEXT {
            return Err(Error::Foreign {
                path: self.path.clone(),
                found: format!("a mark of {} bytes", text.len()),
                expected: "at most 232 bytes",
            });
        }
        let ticks = clock::calibrate(self.tsc).ticks;
        self.page().post(ticks, text).ok_or_else(|| Error::Foreign {
            path: self.path.clone(),
            found: "12 marks that the process has not recorded yet".to_owned(),
            expected: "a process that calls CUDA: it records marks at its next call",
        })
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // SAFETY: our own mapping of one page; nobody holds a pointer into it.
        unsafe { libc::munmap(self.map.as_ptr().cast(), PAGE) };
    }
}

/// Whether the process has this very file open or mapped. Some file systems show other device numbers in
/// `maps` than in `stat`, so there the name has to agree instead.
fn is_mapped(pid: u32, path: &Path, file: &fs::Metadata) -> bool {
    let fds = fs::read_dir(format!("/proc/{pid}/fd"));
    let same = |entry: fs::DirEntry| {
        fs::metadata(entry.path())
            .is_ok_and(|found| (found.dev(), found.ino()) == (file.dev(), file.ino()))
    };
    if fds.into_iter().flatten().flatten().any(same) {
        return true;
    }
    let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let inode = file.ino().to_string();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    String::from_utf8_lossy(&maps).lines().any(|line| {
        line.split_whitespace().nth(4) == Some(&inode) && line.ends_with(&format!("/{name}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::Process;
    use crate::recorder::Recorder;

    fn mappings(of: &Path) -> usize {
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        maps.lines().filter(|line| line.ends_with(of.to_string_lossy().as_ref())).count()
    }

    #[test]
    fn marks_have_a_length_and_pages_go_with_who_mapped_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        let recorder = Recorder::create(&path, 1 << 20, None, &Process::default()).unwrap();
        let before = mappings(&path);
        let remote = Remote::open(&path, std::process::id()).unwrap();
        let room = Room::open(&path).unwrap();
        assert_eq!(mappings(&path), before + 2);
        assert!(remote.mark(&"x".repeat(MAIL_TEXT)).is_ok());
        assert!(remote.mark(&"x".repeat(MAIL_TEXT + 1)).is_err());
        drop((remote, room));
        assert_eq!(mappings(&path), before);
        drop(recorder);
        fs::remove_file(&path).unwrap();
    }
}
