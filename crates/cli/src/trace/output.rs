//! The view's output: a file, or standard error.
//!
//! Owns: a file is never reached through a link, only its owner may read it, it has one writer, and it keeps its old
//! content until the program runs. Must not know: what is written.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::{Error, complain};
use cushim_names::Foreign as _;

/// The most names that are tried where other traces are writing.
const NAMES_MAX: u32 = 1000;
/// Bytes that are gathered before they are written, up to the last whole line.
const GATHER: usize = 32 << 10;

/// An output file that has not been begun.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    file: File,
    /// The file is new: it is removed if nothing is written.
    created: bool,
    begun: bool,
}

impl Output {
    /// Opens `path`, or the next free name where another trace is writing it. Its contents stay.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let wanted = path;
        crate::launch::make_folder(wanted)?;
        let mut path = wanted.to_owned();
        for number in 1..NAMES_MAX {
            let (file, created) = open(&path).map_err(|e| refused(&path, e))?;
            let kind = file.metadata().map_err(|e| Error::io("look at", &path, e))?.file_type();
            if !kind.is_file() && !kind.is_char_device() && !kind.is_fifo() {
                let found = "a folder or a device".to_owned();
                return Err(Error::Foreign { path, found, expected: "a file to write to" });
            }
            if !kind.is_file() || lock(&file) {
                if path != wanted {
                    let (wanted, path) = (wanted.shown(), path.shown());
                    complain(&format!(
                        "another trace is writing {wanted}; this one goes to {path}"
                    ));
                }
                return Ok(Output { path, file, created, begun: false });
            }
            path = crate::launch::insert(wanted.as_os_str(), &number.to_string()).into();
        }
        let found = format!("{NAMES_MAX} traces that are being written");
        Err(Error::Foreign { path: wanted.to_owned(), found, expected: "a free name" })
    }

    /// The file, emptied, for its owner only.
    pub fn begin(&mut self) -> Result<File, Error> {
        self.begun = true;
        let kind = self.file.metadata().map_err(|e| Error::io("look at", &self.path, e))?;
        if kind.is_file() {
            self.file.set_len(0).map_err(|e| Error::io("empty", &self.path, e))?;
            // The mode of another user's file cannot be changed; the file may still be written.
            let _ = self.file.set_permissions(Permissions::from_mode(0o600));
        }
        self.file.try_clone().map_err(|e| Error::io("open", &self.path, e))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if self.created && !self.begun {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn open(path: &Path) -> io::Result<(File, bool)> {
    let mut options = File::options();
    // Without O_NONBLOCK, opening a pipe without a reader would block.
    options
        .write(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY);
    match options.clone().create_new(true).open(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            options.open(path).map(|file| (file, false))
        }
        opened => opened.map(|file| (file, true)),
    }
}

fn refused(path: &Path, error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::ELOOP) => Error::Foreign {
            path: path.to_owned(),
            found: "a symbolic link".to_owned(),
            expected: "a file; cushim does not write through links",
        },
        Some(libc::ENXIO) => Error::Foreign {
            path: path.to_owned(),
            found: "a pipe that nobody reads".to_owned(),
            expected: "a file, or a pipe with a reader",
        },
        _ => Error::io("write", path, error),
    }
}

/// Whether only cushim uses the file. The lock ends with the last copy of the file; on file systems
/// without locks, one writer is assumed.
fn lock(file: &File) -> bool {
    // SAFETY: an open file; no memory is touched.
    let locked = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    locked == 0 || io::Error::last_os_error().kind() != ErrorKind::WouldBlock
}

/// The most that is written at once where a reader may be slow, bytes: a pipe that is ready takes so much (PIPE_BUF).
const PIECE: usize = 4096;

/// Gathers bytes and writes them in whole lines, so that cushim's lines do not tear the program's.
pub struct WholeLines<W: Write + AsRawFd> {
    to: W,
    held: Vec<u8>,
    /// A write may wait for a reader.
    is_slow: bool,
}

impl<W: Write + AsRawFd> WholeLines<W> {
    /// Before `to`.
    pub fn new(to: W) -> Self {
        let is_slow = is_slow(to.as_raw_fd());
        WholeLines { to, held: Vec::with_capacity(2 * GATHER), is_slow }
    }

    fn write_held(&mut self, count: usize) -> io::Result<()> {
        let mut done = 0;
        let result = loop {
            if done == count {
                break Ok(());
            }
            let mut end = count;
            if self.is_slow {
                // While nobody reads, signals still reach the program.
                while !has_room(self.to.as_raw_fd()) {
                    crate::launch::pass_on();
                }
                end = end.min(done + PIECE);
            }
            match self.to.write(&self.held[done..end]) {
                Ok(0) => break Err(ErrorKind::WriteZero.into()),
                Ok(n) => done += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // The program may have made the shared terminal non-blocking.
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    has_room(self.to.as_raw_fd());
                }
                Err(e) => break Err(e),
            }
        };
        self.held.drain(..if result.is_ok() { count } else { self.held.len() });
        result
    }
}

/// Waits a moment for room; whether there is some, or an error that a write tells of.
fn has_room(fd: i32) -> bool {
    const PATIENCE_MS: i32 = 100;
    let mut poll = libc::pollfd { fd, events: libc::POLLOUT, revents: 0 };
    // SAFETY: one valid entry.
    unsafe { libc::poll(&mut poll, 1, PATIENCE_MS) != 0 }
}

/// Whether it is no file on a disk.
fn is_slow(fd: i32) -> bool {
    // SAFETY: all zeros is a valid `stat`.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a valid place for the answer; a bad descriptor is an error.
    let known = unsafe { libc::fstat(fd, &mut found) } == 0;
    known && found.st_mode & libc::S_IFMT != libc::S_IFREG
}

impl<W: Write + AsRawFd> Write for WholeLines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= GATHER
            && let Some(end) = self.held.iter().rposition(|b| *b == b'\n')
        {
            self.write_held(end + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_held(self.held.len())?;
        self.to.flush()
    }
}

impl<W: Write + AsRawFd> Drop for WholeLines<W> {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn old_content_stays_until_it_begins() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.txt");
        fs::write(&path, "old").unwrap();
        drop(Output::open(&path).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        let mut output = Output::open(&path).unwrap();
        output.begin().unwrap().write_all(b"new").unwrap();
        drop(output);
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_was_not_begun_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        drop(Output::open(&dir.path().join("x")).unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn two_writers_have_two_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.jsonl");
        let first = Output::open(&path).unwrap();
        let second = Output::open(&path).unwrap();
        assert_eq!(second.path, dir.path().join("x.1.jsonl"));
        drop((first, second));
    }

    #[test]
    fn lines_are_written_whole() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut lines = WholeLines::new(writer);
        let line = [b'x'; 1000];
        for _ in 0..33 {
            lines.write_all(&line).unwrap();
            lines.write_all(b"\n").unwrap();
        }
        lines.write_all(b"rest").unwrap();
        let mut got = vec![0; 64 << 10];
        let n = reader.read(&mut got).unwrap();
        assert!(n > 0 && got[n - 1] == b'\n', "{n}");
        drop(lines);
        let n = reader.read(&mut got).unwrap();
        assert!(got[..n].ends_with(b"\nrest") || &got[..n] == b"rest");
    }
}
