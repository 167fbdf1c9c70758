//! The file in which processes tell the launcher what they found.
//!
//! Owns how a line gets into it, and what happens where it does not: a disk is full, a limit of the process is reached. That is
//! marked at the file itself, which takes no room, so that the launcher knows that something is missing. Must not know what
//! the lines say.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use cushim_accel::locks::lock;

/// The bit of the file's permissions that says that lines are missing; it allows nobody anything.
pub const MISSING: u32 = libc::S_ISVTX;

/// The file, open for lines.
#[derive(Debug)]
pub struct Lines {
    file: Mutex<File>,
    missing: AtomicBool,
}

impl Lines {
    /// A file that is there, and is no link. `None` where it cannot be written.
    pub fn open(path: &Path) -> Option<Lines> {
        let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let file = File::options().append(true).custom_flags(flags).open(path).ok()?;
        Some(Lines { file: Mutex::new(file), missing: AtomicBool::new(false) })
    }

    /// Adds a line, in one write: those of several processes do not mix.
    pub fn write(&self, mut line: String) {
        line.push('\n');
        let mut file = lock(&self.file);
        let written = without_signal(|| file.write_all(line.as_bytes()));
        drop(file);
        if let Err(error) = written
            && self.mark_missing()
        {
            cushim_accel::say(&format!("not all that was found can be told: {error}"));
        }
    }

    /// Marks that lines are missing; whether that was not known.
    pub fn mark_missing(&self) -> bool {
        let first = !self.missing.swap(true, Relaxed);
        if first {
            // SAFETY: a descriptor that is open while the lock is held, and a number.
            unsafe { libc::fchmod(lock(&self.file).as_raw_fd(), 0o600 | MISSING) };
        }
        first
    }
}

/// Writes without the signal that a write beyond the process's limit for files (`RLIMIT_FSIZE`) sends to this thread: it
/// would end the program.
fn without_signal<T>(write: impl FnOnce() -> T) -> T {
    // SAFETY: sets that are filled before they are used; the mask of this thread is put back. A signal that waited before
    // is the program's, and is left.
    unsafe {
        let (mut ours, mut old, mut waiting) =
            (std::mem::zeroed(), std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&raw mut ours);
        libc::sigaddset(&raw mut ours, libc::SIGXFSZ);
        libc::sigpending(&raw mut waiting);
        let waited = libc::sigismember(&raw const waiting, libc::SIGXFSZ) == 1;
        if libc::pthread_sigmask(libc::SIG_BLOCK, &raw const ours, &raw mut old) != 0 {
            return write();
        }
        let done = write();
        if !waited {
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            libc::sigtimedwait(&raw const ours, std::ptr::null_mut(), &raw const now);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut());
        done
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_line_that_cannot_be_written_is_marked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("told");
        std::fs::write(&path, "").unwrap();
        let mode = || std::fs::metadata(&path).unwrap().permissions().mode();
        let lines = Lines::open(&path).unwrap();
        lines.write("one".into());
        assert_eq!(
            (mode() & MISSING, std::fs::read_to_string(&path).unwrap()),
            (0, "one\n".into())
        );
        // A descriptor that cannot be written, as one whose disk is full.
        let reading = Lines { file: Mutex::new(File::open(&path).unwrap()), ..lines };
        reading.write("two".into());
        assert_eq!(mode() & MISSING, MISSING);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
    }
}
