//! The folder where traced processes write their files while the launcher reads them.
//!
//! Owns: that it is private, is in memory if there is enough, and is removed; also removing the folders of killed
//! launchers. Must not know: what is in the files.

use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use cushim_trace::control::DONE;

use crate::Error;

/// The prefix of cushim's folder names; the process id and six more characters follow.
const PREFIX: &str = "cushim-spool-";
/// The least free memory for which `/dev/shm` is used.
const MEMORY_MIN: u64 = 2 << 30;

/// The folder; it is removed when this goes.
#[derive(Debug)]
pub struct Spool {
    path: PathBuf,
    /// Locked: a process that can lock it too knows that its launcher is gone.
    _lock: File,
}

impl Spool {
    /// Makes the folder, in `/dev/shm` if that has 2 GiB, else in `$TMPDIR` or `/tmp`.
    pub fn create() -> Result<Self, Error> {
        let mut failure = None;
        for parent in parents() {
            sweep(&parent);
            match create(&parent) {
                Ok(spool) => return Ok(spool),
                Err(error) => failure = failure.or(Some((parent, error))),
            }
        }
        let (parent, error) =
            failure.unwrap_or_else(|| ("/tmp".into(), io::ErrorKind::NotFound.into()));
        Err(Error::io("make a private folder in", &parent, error))
    }

    /// How much may wait there to be read by default: a share of what is free, since others need
    /// space there too.
    pub fn backlog(&self) -> u64 {
        (free(&self.path) / 4).clamp(16 << 20, 1 << 30)
    }

    /// How much all processes together leave free, where one alone may take `backlog` bytes.
    pub fn spare(&self, backlog: u64) -> u64 {
        let free = free(&self.path);
        (free / 2).min(free.saturating_sub(backlog))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder; files that are open in this process stay readable. A process that starts from here on finds by
    /// the launcher's name that the folder is not hidden from it.
    pub fn remove(&self) {
        let _ = fs::write("/proc/self/comm", DONE);
        let _ = fs::remove_dir_all(&self.path);
    }

    /// The pattern by which the library names its files.
    pub fn pattern(&self) -> OsString {
        let folder = self.path.as_os_str().as_bytes();
        let mut pattern = Vec::with_capacity(folder.len() + 16);
        for &byte in folder {
            pattern.extend(if byte == b'%' { &b"%%"[..] } else { std::slice::from_ref(&byte) });
        }
        pattern.extend(b"/%p.cushim");
        OsString::from_vec(pattern)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.remove();
    }
}

fn parents() -> Vec<PathBuf> {
    let mut parents = Vec::new();
    let memory = PathBuf::from("/dev/shm");
    if free(&memory) >= MEMORY_MIN {
        parents.push(memory);
    }
    let absolute = |path: &PathBuf| path.is_absolute();
    parents.extend(std::env::var_os("TMPDIR").map(PathBuf::from).filter(absolute));
    parents.push("/tmp".into());
    parents
}

fn free(path: &Path) -> u64 {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return 0 };
    // SAFETY: all zeros is a valid `statvfs`.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: a NUL-terminated path and a valid place for the answer.
    match unsafe { libc::statvfs(path.as_ptr(), &mut found) } {
        0 => found.f_bavail.saturating_mul(found.f_frsize),
        _ => 0,
    }
}

fn create(parent: &Path) -> io::Result<Spool> {
    let name = format!("{PREFIX}{}-XXXXXX", std::process::id());
    let mut template = parent.join(name).into_os_string().into_vec();
    template.push(0);
    // SAFETY: a NUL-terminated template in memory of ours; the folder is made with mode 0700.
    if unsafe { libc::mkdtemp(template.as_mut_ptr().cast()) }.is_null() {
        return Err(io::Error::last_os_error());
    }
    template.pop();
    let path = PathBuf::from(OsString::from_vec(template));
    let lock = open_locked(&path)?;
    Ok(Spool { path, _lock: lock })
}

/// Opens the folder and locks it; `WouldBlock` where it is locked.
fn open_locked(path: &Path) -> io::Result<File> {
    let folder =
        File::options().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path)?;
    // SAFETY: an open file; no memory is touched.
    match unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } {
        0 => Ok(folder),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Removes folders of launchers that are gone (they were killed). A new folder may not be locked
/// yet: those of the last minute stay, unless no process has the id in their name; then those of
/// the last seconds stay, as the id may be from elsewhere (a container with this /dev/shm).
fn sweep(parent: &Path) {
    // SAFETY: cannot fail and touches no memory.
    let user = unsafe { libc::geteuid() };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        if !entry.file_name().as_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        let ripe = if owner_is_gone(entry.file_name().as_bytes()) { 2 } else { 60 };
        let young =
            found.modified().ok().and_then(|t| t.elapsed().ok()).is_none_or(|a| a.as_secs() < ripe);
        if found.is_dir() && found.uid() == user && !young && open_locked(&path).is_ok() {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Whether the folder's name has a process id, and there is no such process.
fn owner_is_gone(name: &[u8]) -> bool {
    let number = name.get(PREFIX.len()..).and_then(|rest| rest.split(|b| *b == b'-').next());
    let pid = number.and_then(|n| std::str::from_utf8(n).ok()?.parse::<libc::pid_t>().ok());
    // SAFETY: signal 0 asks whether there is such a process, and does nothing to it.
    pid.is_some_and(|pid| pid > 0 && unsafe { libc::kill(pid, 0) } != 0)
        && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_is_private_and_goes_away() {
        let dir = tempfile::tempdir().unwrap();
        let spool = create(dir.path()).unwrap();
        let path = spool.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(path.join("1.cushim"), "x").unwrap();
        drop(spool);
        assert!(!path.exists());
    }

    #[test]
    fn percent_signs_in_the_folder_stay() {
        let dir = tempfile::Builder::new().prefix("100%p").tempdir().unwrap();
        let spool = create(dir.path()).unwrap();
        let pattern = spool.pattern().into_string().unwrap();
        assert!(pattern.contains("100%%p") && pattern.ends_with("/%p.cushim"), "{pattern}");
    }

    #[test]
    fn only_what_is_old_and_unlocked_is_swept() {
        let dir = tempfile::tempdir().unwrap();
        let spool = create(dir.path()).unwrap();
        let (young, old) =
            (dir.path().join("cushim-spool-young"), dir.path().join("cushim-spool-old"));
        let other = dir.path().join("other");
        for folder in [&young, &old, &other] {
            fs::create_dir(folder).unwrap();
        }
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        for folder in [&old, &other, spool.path()] {
            File::open(folder).unwrap().set_modified(long_ago).unwrap();
        }
        sweep(dir.path());
        assert!(young.exists() && other.exists() && spool.path().exists() && !old.exists());
        // A folder whose launcher is gone is removed even if it is new; a link to a folder is kept.
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let gone = dir.path().join(format!("cushim-spool-{}-abcdef", child.id()));
        let link = dir.path().join(format!("cushim-spool-{}-fedcba", child.id()));
        let alive = dir.path().join(format!("cushim-spool-{}-abcdef", std::process::id()));
        child.wait().unwrap();
        fs::create_dir(&gone).unwrap();
        fs::create_dir(&alive).unwrap();
        std::os::unix::fs::symlink(&other, &link).unwrap();
        for folder in [&gone, &alive] {
            let then = std::time::SystemTime::now() - std::time::Duration::from_secs(5);
            File::open(folder).unwrap().set_modified(then).unwrap();
        }
        sweep(dir.path());
        assert!(!gone.exists() && alive.exists() && other.exists() && link.is_symlink());
    }
}
