//! The recorder's file: creating it safely, growing it, mapping its chunks.
//!
//! Space is reserved with `fallocate` before it is mapped, so that a full disk is an error here and never a SIGBUS at
//! a store. Must not know: what is written.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Error;
use crate::layout::{Lost, PAGE};

/// What is wrong with a file system that refuses to map files shared (ENODEV).
pub const NOT_SHARED: &str = "its file system cannot share mapped files between processes, as some kinds of 9P \
                              and FUSE cannot; choose a folder elsewhere, as /tmp";

/// Programs that close descriptors after a fork rarely touch those from here up.
const HIGH_FD: i32 = 700;

pub(super) struct Backing {
    fd: i32,
    dev: u64,
    ino: u64,
    pub path: PathBuf,
    /// Bytes of the file in use.
    pub used: u64,
}

impl Backing {
    /// Creates the file; returns it and the limit, which `RLIMIT_FSIZE` may lower (growing beyond
    /// it would raise SIGXFSZ in the traced program).
    pub fn create(path: &Path, limit: u64) -> Result<(Self, u64), Error> {
        let c_path = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| Error::io("create", path, io::ErrorKind::InvalidInput.into()))?;
        // SAFETY: `c_path` is a NUL-terminated string.
        let low = unsafe {
            libc::open(
                c_path.as_ptr(),
                libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_CLOEXEC,
                0o600 as libc::c_uint,
            )
        };
        if low < 0 {
            return Err(Error::io("create", path, io::Error::last_os_error()));
        }
        // SAFETY: `low` is open and ours.
        let high = unsafe { libc::fcntl(low, libc::F_DUPFD_CLOEXEC, HIGH_FD) };
        let fd = if high >= 0 {
            // SAFETY: `low` is open and ours; `high` takes its place.
            unsafe { libc::close(low) };
            high
        } else {
            low
        };
        let (dev, ino) = identity(fd).map_err(|e| Error::io("look at", path, e))?;
        let ceiling = file_size_limit();
        let mut backing = Backing { fd, dev, ino, path: path.to_owned(), used: 0 };
        let reserved = match ceiling < PAGE as u64 {
            true => Err(io::Error::other("a file-size limit (ulimit -f) allows none")),
            false => backing.reserve(0, PAGE),
        };
        if let Err(e) = reserved {
            // SAFETY: `c_path` is NUL-terminated; the file was created above and holds nothing.
            unsafe { libc::unlink(c_path.as_ptr()) };
            return Err(Error::io("reserve room for", path, e));
        }
        backing.used = PAGE as u64;
        Ok((backing, limit.min(ceiling)))
    }

    /// Maps `size` bytes at `at` for writing.
    pub fn map(&self, at: u64, size: usize, path: &Path) -> Result<NonNull<u8>, Error> {
        // SAFETY: a new mapping at an address of the kernel's choice; `fd` is open.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                self.fd,
                at as libc::off_t,
            )
        };
        match NonNull::new(base.cast::<u8>()) {
            Some(base) if base.as_ptr().cast() != libc::MAP_FAILED => Ok(base),
            _ => {
                let error = io::Error::last_os_error();
                let error = match error.raw_os_error() {
                    Some(libc::ENODEV) => io::Error::other(NOT_SHARED),
                    _ => error,
                };
                Err(Error::io("map a chunk of", path, error))
            }
        }
    }

    /// Removes the file, of which nothing was written.
    pub fn discard(&self) {
        let _ = std::fs::remove_file(&self.path);
    }

    /// Adds `size` bytes at the end, reserves and maps them.
    pub fn grow(&mut self, size: usize) -> Result<NonNull<u8>, Lost> {
        // A program may have closed cushim's descriptor, and opened something else under its number.
        if identity(self.fd).ok() != Some((self.dev, self.ino)) {
            self.reopen().ok_or(Lost::NoSpace)?;
        }
        // The program may have lowered its limit since.
        if self.used + size as u64 > file_size_limit() {
            return Err(Lost::FileSize);
        }
        self.reserve(self.used, size).map_err(|_| Lost::NoSpace)?;
        let base = self.map(self.used, size, &self.path).map_err(|_| Lost::NoSpace)?;
        self.used += size as u64;
        Ok(base)
    }

    fn reserve(&self, at: u64, size: usize) -> io::Result<()> {
        loop {
            // SAFETY: `fd` is open and ours.
            if unsafe { libc::fallocate(self.fd, 0, at as libc::off_t, size as libc::off_t) } == 0 {
                return Ok(());
            }
            let e = io::Error::last_os_error();
            match e.raw_os_error() {
                Some(libc::EINTR) => {}
                // The file system cannot, or a sandbox forbids it.
                Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EPERM) => {
                    return self.write_zeros(at, size);
                }
                _ => return Err(e),
            }
        }
    }

    /// For file systems without `fallocate`: writing zeros allocates the space.
    fn write_zeros(&self, at: u64, size: usize) -> io::Result<()> {
        let zeros = [0u8; PAGE];
        let mut done = 0;
        while done < size {
            let n = PAGE.min(size - done);
            // SAFETY: `zeros` holds `n` bytes; `fd` is open.
            let got = unsafe {
                libc::pwrite(self.fd, zeros.as_ptr().cast(), n, (at as usize + done) as libc::off_t)
            };
            match got {
                1.. => done += got as usize,
                0 => return Err(io::ErrorKind::WriteZero.into()),
                _ => {
                    let e = io::Error::last_os_error();
                    if e.kind() != io::ErrorKind::Interrupted {
                        return Err(e);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether the file system is nearly full: less than an eighth free, and less than 1 GiB.
    pub fn is_crowded(&self) -> bool {
        self.stat().is_some_and(|found| {
            let most = (1u64 << 30) / (found.f_bsize as u64).max(1);
            found.f_bavail < most.min(found.f_blocks / 8)
        })
    }

    /// The free bytes of the file system, where they are known.
    pub fn free(&self) -> Option<u64> {
        self.stat().map(|found| found.f_bavail.saturating_mul(found.f_bsize as u64))
    }

    fn stat(&self) -> Option<libc::statfs> {
        // SAFETY: all-zero is a valid `statfs`.
        let mut found: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: `found` is a valid place for the answer; a bad descriptor is an error.
        let known = unsafe { libc::syscall(libc::SYS_fstatfs, self.fd, &raw mut found) } == 0;
        known.then_some(found)
    }

    fn reopen(&mut self) -> Option<()> {
        let c_path = CString::new(self.path.as_os_str().as_bytes()).ok()?;
        // SAFETY: `c_path` is NUL-terminated.
        let fd = unsafe {
            libc::open(c_path.as_ptr(), libc::O_RDWR | libc::O_NOFOLLOW | libc::O_CLOEXEC)
        };
        if fd < 0 {
            return None;
        }
        if identity(fd).ok() != Some((self.dev, self.ino)) {
            // SAFETY: `fd` was opened above.
            unsafe { libc::close(fd) };
            return None;
        }
        self.fd = fd;
        Some(())
    }
}

/// `RLIMIT_FSIZE`: growing a file beyond it raises SIGXFSZ, which ends the program.
fn file_size_limit() -> u64 {
    let mut rlimit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `rlimit` is a valid place for the answer.
    let limited = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut rlimit) } == 0;
    if limited { rlimit.rlim_cur } else { u64::MAX }
}

fn identity(fd: i32) -> io::Result<(u64, u64)> {
    // SAFETY: all-zero is a valid `stat`.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is a valid place for the answer; a bad descriptor is an error.
    match unsafe { libc::fstat(fd, &mut stat) } {
        0 => Ok((stat.st_dev, stat.st_ino)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes the pages present and writable, so that a store in the traced program takes no fault
/// (measured: 38 ns a record without, 1.4 with, on tmpfs).
pub(super) fn populate(base: NonNull<u8>, size: usize) {
    /// Linux 5.14.
    const MADV_POPULATE_WRITE: i32 = 23;
    // SAFETY: the range is one mapping of ours.
    if unsafe { libc::madvise(base.as_ptr().cast(), size, MADV_POPULATE_WRITE) } == 0 {
        return;
    }
    for page in (0..size).step_by(PAGE) {
        // SAFETY: inside the mapping, aligned; what stands there stays.
        let word = unsafe { AtomicU32::from_ptr(base.as_ptr().add(page).cast()) };
        word.fetch_or(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backing(fd: i32) -> Backing {
        Backing { fd, dev: 0, ino: 0, path: PathBuf::new(), used: 0 }
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        let error = backing(-1).write_zeros(0, PAGE).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));
        assert!(!backing(-1).is_crowded(), "not known");
    }

    #[test]
    fn a_small_file_system_is_crowded_before_it_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let mount = |words: &[&str]| {
            let mut command = std::process::Command::new(words[0]);
            command.args(&words[1..]).arg(at).stderr(std::process::Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        if mount(&["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs"]) {
            let (backing, _) = Backing::create(&at.join("x"), 1 << 20).unwrap();
            assert!(!backing.is_crowded(), "15 of 16 pages are free");
            std::fs::write(at.join("fill"), [0; 12 * PAGE]).unwrap();
            assert!(!backing.is_crowded(), "3 of 16, and an eighth is 2");
            std::fs::write(at.join("more"), [0; 2 * PAGE]).unwrap();
            assert!(backing.is_crowded(), "1 of 16");
            // Such events count as lost for lack of space, not for a limit.
            let process = crate::meta::Process::default();
            std::fs::remove_file(at.join("fill")).unwrap();
            let recorder =
                crate::recorder::Recorder::create(&at.join("y"), 1 << 30, None, &process).unwrap();
            let mut buffer = recorder.attach(1).unwrap();
            for _ in 0..1000 {
                crate::recorder::tests::launch(&recorder, &mut buffer, 1, &[], true);
            }
            let file = crate::reader::TraceFile::open(&at.join("y")).unwrap();
            let lost = file.header().lost;
            assert_eq!(lost[Lost::NoSpace as usize], lost.iter().sum::<u64>(), "{lost:?}");
            assert!(lost[Lost::NoSpace as usize] > 0);
            // The same with a reader, which leaves space for others.
            let backlog = Some(crate::recorder::Backlog { most: 1 << 30, wait: false, spare: 0 });
            let settings = crate::recorder::Settings { backlog, ..Default::default() };
            let recorder =
                crate::recorder::Recorder::open(&at.join("z"), &settings, &process).unwrap();
            let mut buffer = recorder.attach(1).unwrap();
            crate::recorder::tests::launch(&recorder, &mut buffer, 1, &[], true);
            let file = crate::reader::TraceFile::open(&at.join("z")).unwrap();
            let lost = file.header().lost;
            assert_eq!(
                (lost[Lost::NoSpace as usize], lost.iter().sum::<u64>()),
                (1, 1),
                "{lost:?}"
            );
            assert!(mount(&["umount", "-l"]));
        } else {
            eprintln!("left out: a crowded file system: this user may not mount a tmpfs");
        }
    }
}
