//! `cushim doctor -- PROG`: records the files that the loader maps, and the names that it is asked for.
//!
//! Owns: CUSHIM_OBSERVE, its file, and the format of a record; `crates/cli/src/doctor/observed/told.rs` reads it. If
//! a record cannot be written, a mark at the start of the file says so, which takes no space. Must not know: how the
//! records are used.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicPtr, Ordering};

use cushim_process::limit::without_signal;

use crate::say;

/// The file to write to, which the launcher has made. It begins with [`MARK`] bytes of zeros.
const VARIABLE: &str = "CUSHIM_OBSERVE";
/// The size of the mark: the system's error number, of what could not be written first.
const MARK: usize = size_of::<u32>();
/// The mark, mapped. Null: nothing is observed.
static MAPPED: AtomicPtr<u32> = AtomicPtr::new(std::ptr::null_mut());

/// Begins, if the launcher asked for it; whether it did.
///
/// The mark is mapped now: later the file may be out of reach, because the program has given up its rights or its files.
pub fn begin() -> bool {
    if std::env::var_os(VARIABLE).is_none_or(|file| file.is_empty()) {
        return false;
    }
    match map() {
        Ok(mark) => MAPPED.store(mark, Ordering::Relaxed),
        // The program outlives the launcher, which has removed it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return false,
        Err(error) => {
            say::error(&format!("doctor does not see what this process loads: {error}"));
            return false;
        }
    }
    true
}

fn map() -> io::Result<*mut u32> {
    let file = open(File::options().read(true).write(true))?;
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping of a file that is open; it stays.
    let mark = unsafe {
        let (at, fd) = (std::ptr::null_mut(), file.as_raw_fd());
        libc::mmap(at, MARK, rights, libc::MAP_SHARED, fd, 0)
    };
    if mark == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(mark.cast()) }
}

fn open(how: &mut OpenOptions) -> io::Result<File> {
    let file = std::env::var_os(VARIABLE).unwrap_or_default();
    how.custom_flags(libc::O_NOFOLLOW).open(file)
}

/// A file was mapped; `path` is empty for the program.
pub fn mapped(path: &[u8]) {
    if path.is_empty() {
        let own = std::fs::read_link("/proc/self/exe").unwrap_or_default();
        return record(b'+', own.as_os_str().as_bytes());
    }
    // The loader keeps what `dlopen` was given; the kernel's own object has no path.
    if !path.starts_with(b"/") && path.contains(&b'/') {
        let folder = std::env::current_dir().unwrap_or_default();
        return record(b'+', folder.join(OsStr::from_bytes(path)).as_os_str().as_bytes());
    }
    record(b'+', path);
}

/// A library was requested by this name.
pub fn asked(name: &[u8]) {
    record(b'?', name);
}

/// A NUL, `+PID PATH` or `?PID NAME`, and a newline: truncation is detected by either end. The file is opened for
/// each record: if a descriptor stayed open, the program could close it and reuse its number. Each record is one
/// write, so that records of several processes stay whole.
fn record(kind: u8, name: &[u8]) {
    if MAPPED.load(Ordering::Relaxed).is_null() {
        return;
    }
    let mut text = vec![0, kind];
    text.extend(std::process::id().to_string().as_bytes());
    text.push(b' ');
    text.extend(name);
    text.push(b'\n');
    let opened = open(File::options().append(true));
    if let Err(error) = opened.and_then(|mut file| without_signal(|| file.write_all(&text))) {
        mark(error.raw_os_error().unwrap_or(libc::EIO));
    }
}

/// Marks that records are missing, and why.
fn mark(error: i32) {
    let mark = MAPPED.load(Ordering::Relaxed);
    let value = error as u32;
    let part = |at: *const u32| libc::iovec { iov_base: at.cast_mut().cast(), iov_len: MARK };
    let (from, to) = (part(&raw const value), part(mark));
    // A plain store would end the program (SIGBUS) where the file system copies what it writes and has no room left.
    // SAFETY: memory of this process: a number, and the mapping.
    let copied =
        unsafe { libc::process_vm_writev(libc::getpid(), &raw const from, 1, &raw const to, 1, 0) };
    if copied != MARK as isize {
        say::error(&format!(
            "not all that this process loads can be told to doctor: {}",
            io::Error::from_raw_os_error(error)
        ));
    }
}
