//! The file by which processes report findings to the launcher.
//!
//! Owns writing a line, and what happens if that fails because a disk is full or a limit of the process is reached:
//! the file itself is marked, which takes no space, so that the launcher knows that something is missing. Must not
//! know what the lines contain.

use std::fs::File;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use cushim_accel::locks::lock;
use cushim_process::limit::without_signal;

/// The permission bit that marks missing lines; it grants no access.
pub const MISSING: u32 = libc::S_ISVTX;

/// The file, open for lines.
#[derive(Debug)]
pub struct Lines {
    path: PathBuf,
    /// Which file it is: device and number; `None` where the system does not say.
    known: Option<(u64, u64)>,
    /// Never closed: a program that closes every descriptor may have given the number to its own file.
    file: Mutex<ManuallyDrop<File>>,
    missing: AtomicBool,
}

fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC;
    File::options().append(true).custom_flags(flags).open(path)
}

fn which(file: &File) -> io::Result<(u64, u64)> {
    file.metadata().map(|file| (file.dev(), file.ino()))
}

impl Lines {
    /// Opens an existing file that is no link. `None` if it cannot be written.
    pub fn open(path: &Path) -> Option<Lines> {
        let file = open(path).ok()?;
        let known = which(&file).ok();
        let file = Mutex::new(ManuallyDrop::new(file));
        Some(Lines { path: path.to_owned(), known, file, missing: AtomicBool::new(false) })
    }

    /// Adds a line, in one write: those of several processes do not mix.
    pub fn write(&self, mut line: String) {
        line.push('\n');
        let written = self.with(|mut file| without_signal(|| file.write_all(line.as_bytes())));
        if let Err(error) = written
            && self.mark_missing()
        {
            cushim_accel::say(&format!("not all that was found can be told: {error}"));
        }
    }

    /// Marks that lines are missing; returns whether that is new.
    pub fn mark_missing(&self) -> bool {
        let first = !self.missing.swap(true, Relaxed);
        if first {
            let _ = self.with(|file| {
                // SAFETY: a descriptor that is open, and a number.
                unsafe { libc::fchmod(file.as_raw_fd(), 0o600 | MISSING) };
                Ok(())
            });
        }
        first
    }

    /// With the file, opened again if the program has closed it.
    fn with(&self, work: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        let mut file = lock(&self.file);
        if !self.is_it(&file) {
            let again = open(&self.path)?;
            if !self.is_it(&again) {
                return Err(io::ErrorKind::NotFound.into());
            }
            *file = ManuallyDrop::new(again);
        }
        work(&file)
    }

    fn is_it(&self, file: &File) -> bool {
        match which(file) {
            Ok(found) => self.known.is_none_or(|known| known == found),
            // A sandbox may refuse to say which file it is.
            Err(error) => error.raw_os_error() != Some(libc::EBADF),
        }
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
        let reading = ManuallyDrop::new(File::open(&path).unwrap());
        let reading = Lines { file: Mutex::new(reading), ..lines };
        reading.write("two".into());
        assert_eq!(mode() & MISSING, MISSING);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
    }

    #[test]
    fn a_number_that_is_the_programs_now_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("told"), folder.path().join("other"));
        std::fs::write(&path, "").unwrap();
        let lines = Lines::open(&path).unwrap();
        let own = File::create(&other).unwrap();
        let number = lock(&lines.file).as_raw_fd();
        // SAFETY: descriptors of this test; nobody else writes to them.
        assert_eq!(unsafe { libc::dup2(own.as_raw_fd(), number) }, number);
        lines.write("one".into());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "");
    }
}
