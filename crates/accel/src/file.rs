//! Memory backed by files, which processes pass to each other.
//!
//! Owns how such files are created and recognised. They have no name in any folder, and their size is sealed: no
//! process that maps one can be killed because another truncated it. Another process may pass any file, so each is
//! checked before use. Must not know: what the memory is for.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The beginning of every file's name, followed by the purpose given to [`create`] and a number.
const PREFIX: &str = "cushim-";
/// How the kernel shows such a file in the link of a descriptor.
const SHOWN: [&str; 2] = ["/memfd:", " (deleted)"];
/// Neither the size nor the seals can change.
const SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
/// The longest name that is read.
const LONGEST: usize = 128;

/// The properties of one of cushim's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its purpose, as given to [`create`].
    pub what: String,
    /// A unique number, known only to processes that have seen the file.
    pub secret: u128,
    /// Its size.
    pub bytes: u64,
}

fn secret() -> Option<u128> {
    let mut bytes = [0u8; 16];
    // SAFETY: room for as many bytes.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    (got == bytes.len() as isize).then(|| u128::from_le_bytes(bytes))
}

/// Whether the process may have files of this size: otherwise it would be killed on the attempt.
fn is_allowed(bytes: u64) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a place for the result.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0;
    known && bytes <= limit.rlim_cur
}

/// A sparse file of `bytes` zeros; the purpose `what` is a few plain letters. `None` where the
/// system cannot make one.
pub fn create(what: &str, bytes: u64) -> Option<OwnedFd> {
    let name = std::ffi::CString::new(format!("{PREFIX}{what}-{:032x}", secret()?)).ok()?;
    let size = i64::try_from(bytes).ok().filter(|_| is_allowed(bytes))?;
    // SAFETY: a string with its NUL; the descriptor is not used elsewhere.
    let file = unsafe {
        let fd = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))?
    };
    let fd = file.as_raw_fd();
    // SAFETY: numbers only.
    let ready = unsafe {
        libc::fchmod(fd, 0o600) == 0
            && libc::ftruncate(fd, size) == 0
            && libc::fcntl(fd, libc::F_ADD_SEALS, SEALS) == 0
    };
    ready.then_some(file)
}

/// The properties of one of cushim's files; `None` for any other file.
pub fn known(file: BorrowedFd<'_>) -> Option<Known> {
    let fd = file.as_raw_fd();
    // SAFETY: a number; a place of the structure's size.
    let status = unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        (libc::fstat(fd, &raw mut status) == 0).then_some(status)?
    };
    if status.st_mode & libc::S_IFMT != libc::S_IFREG {
        return None;
    }
    // SAFETY: a number.
    let seals = unsafe { libc::fcntl(fd, libc::F_GET_SEALS) };
    if seals < 0 || seals & SEALS != SEALS {
        return None;
    }
    let path = std::fs::read_link(format!("/proc/self/fd/{fd}")).ok()?;
    let text = path.to_str().filter(|text| text.len() <= LONGEST)?;
    let name = text.strip_prefix(SHOWN[0])?.strip_suffix(SHOWN[1])?.strip_prefix(PREFIX)?;
    let (what, secret) = name.rsplit_once('-')?;
    let secret = u128::from_str_radix(secret, 16).ok()?;
    Some(Known { what: what.into(), secret, bytes: u64::try_from(status.st_size).ok()? })
}

/// One of cushim's files that another process has open, by its descriptor there. Other files are
/// not touched, not even opened, which pipes and devices would notice.
pub fn of_process(process: u32, number: u32) -> Option<OwnedFd> {
    let open = |path: String, flags: i32| {
        let path = std::ffi::CString::new(path).ok()?;
        // SAFETY: a string with its NUL; the descriptor is not used elsewhere.
        unsafe {
            let fd = libc::open(path.as_ptr(), flags | libc::O_CLOEXEC);
            (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
        }
    };
    let place = open(format!("/proc/{process}/fd/{number}"), libc::O_PATH)?;
    let shown = std::fs::read_link(format!("/proc/self/fd/{}", place.as_raw_fd())).ok()?;
    let begins = format!("{}{PREFIX}", SHOWN[0]);
    if !shown.to_str().is_some_and(|text| text.starts_with(&begins)) {
        return None;
    }
    let file = open(format!("/proc/self/fd/{}", place.as_raw_fd()), libc::O_RDWR)?;
    known(file.as_fd()).map(|_| file)
}

/// Frees memory of a file; it reads as zeros afterwards.
pub fn empty(file: BorrowedFd<'_>, from: u64, bytes: u64) {
    let (Ok(from), Ok(bytes)) = (i64::try_from(from), i64::try_from(bytes)) else { return };
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: numbers only. On failure the memory stays in use, which is harmless.
    unsafe { libc::fallocate(file.as_raw_fd(), mode, from, bytes) };
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn files_of_ours_are_known_and_others_are_not() {
        let file = create("some 7", 1 << 20).unwrap();
        let found = known(file.as_fd()).unwrap();
        assert_eq!((&*found.what, found.bytes), ("some 7", 1 << 20));
        assert_ne!(known(create("some 7", 1 << 20).unwrap().as_fd()).unwrap().secret, found.secret);
        assert!(!is_allowed(u64::MAX) || create("large", u64::MAX).is_none());
        // SAFETY: a descriptor that the test owns.
        assert_ne!(unsafe { libc::ftruncate(file.as_raw_fd(), 0) }, 0, "sealed");
        let again = of_process(std::process::id(), file.as_raw_fd() as u32).unwrap();
        assert_eq!(known(again.as_fd()), known(file.as_fd()));
        assert!(of_process(std::process::id(), 1 << 20).is_none());
        let other = std::fs::File::open("/proc/self/exe").unwrap();
        assert_eq!(known(other.as_fd()), None);
        assert!(of_process(std::process::id(), other.as_raw_fd() as u32).is_none());
        // SAFETY: a name and a descriptor that the test owns.
        let unsealed = unsafe {
            OwnedFd::from_raw_fd(libc::memfd_create(c"cushim-x".as_ptr(), libc::MFD_CLOEXEC))
        };
        assert_eq!(known(unsealed.as_fd()), None, "who made it could make it shorter");
        assert!(of_process(std::process::id(), unsealed.as_raw_fd() as u32).is_none());
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let mut ends = [0; 2];
        // SAFETY: a place for two descriptors.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        assert!(of_process(std::process::id(), ends[0] as u32).is_none());
        for end in ends {
            // SAFETY: a descriptor that the test owns.
            unsafe { libc::close(end) };
        }
    }
}
