//! Output files that appear whole or not at all.
//!
//! Owns: [`Output`], which collects bytes in a file without a name and gives it its name at the end. A process that
//! is killed before leaves nothing behind. Must not know: what is written.

use std::cell::RefCell;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cushim_trace::private::{Destination, destination};

use crate::Error;
use cushim_names::Foreign as _;

const BUFFER: usize = 256 << 10;

/// Where bytes go to.
pub struct Output {
    out: BufWriter<Raw>,
    path: PathBuf,
}

enum Raw {
    Stdout(io::Stdout),
    /// A pipe or a device that was there before.
    Stream(File),
    /// A file that has no name yet (`O_TMPFILE`, Linux 3.11).
    Nameless {
        file: File,
        force: bool,
    },
    /// The same where the file system does not support that: a hidden name beside the real one.
    Hidden {
        file: File,
        name: PathBuf,
        force: bool,
    },
}

impl Write for Raw {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Raw::Stdout(out) => out.write(bytes),
            Raw::Stream(file) | Raw::Nameless { file, .. } | Raw::Hidden { file, .. } => {
                file.write(bytes)
            }
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Raw::Stdout(out) => out.flush(),
            _ => Ok(()),
        }
    }
}

/// Whether `path` may become an output: an error where there is a folder, or a file and no `force`.
pub fn check(path: &Path, force: bool) -> Result<(), Error> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => {
            Err(Error::Usage(format!("--output: {} is a folder", path.shown())))
        }
        Ok(found) if is_stream(&found) || force => Ok(()),
        Ok(_) => Err(exists(path)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(Error::io("look at", path, e)),
    }
}

/// An output that a view, which keeps its writer, also writes to.
#[derive(Clone)]
pub struct Shared(Rc<RefCell<Option<Output>>>);

impl Shared {
    /// Of an output.
    pub fn new(out: Output) -> Self {
        Shared(Rc::new(RefCell::new(Some(out))))
    }

    /// As [`Output::commit`]; nothing can be written after it.
    pub fn commit(self) -> Result<(), Error> {
        let out = self.0.borrow_mut().take();
        out.map_or(Ok(()), Output::commit)
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.borrow_mut().as_mut() {
            Some(out) => out.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.borrow_mut().as_mut().map_or(Ok(()), Output::flush)
    }
}

fn exists(path: &Path) -> Error {
    Error::Usage(format!("--output: {} exists; --force replaces it", path.shown()))
}

fn is_stream(found: &fs::Metadata) -> bool {
    let kind = found.file_type();
    kind.is_fifo() || kind.is_char_device() || kind.is_socket()
}

impl Output {
    /// Standard output.
    pub fn stdout() -> Self {
        let out = BufWriter::with_capacity(BUFFER, Raw::Stdout(io::stdout()));
        Output { out, path: PathBuf::from("stdout") }
    }

    /// A file that will be called `path`, readable by the user alone.
    /// Where a link of the user's leads, its target is replaced, not the link; a pipe, a device and
    /// `/dev/stdout` are written to as they are.
    pub fn create(path: &Path, force: bool) -> Result<Self, Error> {
        let failed = |e| Error::io("create", path, e);
        let (raw, path) = match destination(path).map_err(failed)? {
            // `/dev/stdout` may be a file that already has contents.
            Destination::Stream(path) => {
                let file = File::options().append(true).open(&path).map_err(failed)?;
                (Raw::Stream(file), path)
            }
            Destination::File(real) => {
                check(&real, force)?;
                (raw(&real, force).map_err(failed)?, real)
            }
        };
        Ok(Output { out: BufWriter::with_capacity(BUFFER, raw), path })
    }

    /// Writes what is left and gives the file its name.
    pub fn commit(mut self) -> Result<(), Error> {
        let path = self.path.clone();
        let failed = |e| Error::io("write", &path, e);
        self.out.flush().map_err(failed)?;
        // A failure to flush was reported above.
        let (mut raw, _) = self.out.into_parts();
        let result = match &mut raw {
            Raw::Stdout(_) | Raw::Stream(_) => return Ok(()),
            Raw::Nameless { file, force } => name(file, &path, *force),
            Raw::Hidden { name, force, .. } => {
                let moved = if *force { fs::rename(&*name, &path) } else { link(name, &path) };
                if moved.is_ok() {
                    *name = PathBuf::new();
                }
                moved
            }
        };
        match result {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(exists(&path)),
            result => result.map_err(failed),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if let Raw::Hidden { name, .. } = self
            && !name.as_os_str().is_empty()
        {
            let _ = fs::remove_file(name);
        }
    }
}

fn raw(path: &Path, force: bool) -> io::Result<Raw> {
    let mut options = File::options();
    options.write(true).mode(0o600);
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match options.clone().custom_flags(libc::O_TMPFILE | libc::O_CLOEXEC).open(folder) {
        Ok(file) => return Ok(Raw::Nameless { file, force }),
        Err(e) => match e.raw_os_error() {
            // The errors of file systems without it: open(2), "O_TMPFILE".
            Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL) => {}
            _ => return Err(e),
        },
    }
    let name = hidden(path);
    let file = options.create_new(true).custom_flags(libc::O_CLOEXEC).open(&name)?;
    Ok(Raw::Hidden { file, name, force })
}

/// A name beside `path` that no other process takes.
fn hidden(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

/// Gives the nameless file its name; over another file in one step.
fn name(file: &File, path: &Path, force: bool) -> io::Result<()> {
    let source = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let link_to = |path: &Path| {
        let target = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: two NUL-terminated strings that live through the call.
        let result = unsafe {
            let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
            libc::linkat(here, source.as_ptr(), here, target.as_ptr(), follow)
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    match link_to(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && force => {
            let hidden = hidden(path);
            link_to(&hidden)?;
            fs::rename(&hidden, path).inspect_err(|_| {
                let _ = fs::remove_file(&hidden);
            })
        }
        result => result,
    }
}

/// Renames without replacing.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(e),
        // A file system without links; `check` saw no file there.
        Err(_) => fs::rename(from, to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_appears_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut out = Output::create(&path, false).unwrap();
        out.write_all(b"hello").unwrap();
        assert_eq!(names(folder.path()), Vec::<String>::new());
        drop(out);
        assert_eq!(names(folder.path()), Vec::<String>::new());
        let mut out = Output::create(&path, false).unwrap();
        out.write_all(b"hello").unwrap();
        let late = Output::create(&path, false).unwrap();
        out.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"hello");
        assert!(late.commit().unwrap_err().to_string().contains("exists"));
        assert!(Output::create(&path, false).is_err());
        let mut out = Output::create(&path, true).unwrap();
        out.write_all(b"bye").unwrap();
        out.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"bye");
        assert_eq!(names(folder.path()), ["x"]);
        assert!(Output::create(folder.path(), true).is_err());
        assert!(Output::create(&folder.path().join("none/x"), true).is_err());
        Output::create(Path::new("/dev/null"), false).unwrap().commit().unwrap();
    }

    #[test]
    fn a_file_system_without_nameless_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let hide = |force| {
            let name = hidden(&path);
            let file = File::create(&name).unwrap();
            let raw = Raw::Hidden { file, name, force };
            Output { out: BufWriter::new(raw), path: path.clone() }
        };
        drop(hide(false));
        assert_eq!(names(folder.path()), Vec::<String>::new());
        hide(false).commit().unwrap();
        assert!(hide(false).commit().is_err());
        hide(true).commit().unwrap();
        assert_eq!(names(folder.path()), ["x"]);
    }
}
