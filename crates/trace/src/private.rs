//! Files and folders that only the user may read.
//!
//! Owns: how cushim creates a file, for every writer: mode 0600, folders 0700, never through a link that somebody
//! else could have put there, and whole or not at all. A folder is opened once, and its files are reached by that
//! descriptor, so nobody can exchange the folder in between. Must not know: what is written.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cushim_process::limit::without_signal;

/// The most links that are followed, as in the kernel.
const LINKS_MAX: u32 = 40;

/// A folder that was found to be safe, held open.
#[derive(Debug)]
pub struct Folder {
    folder: File,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder; makes it and its parents with mode 0700 where they are missing.
    ///
    /// # Errors
    /// The system's; [`ErrorKind::PermissionDenied`] where the path leads through another user's
    /// link.
    pub fn make(path: &Path) -> io::Result<Self> {
        let real = follow(path)?;
        if !real.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(&real)?;
        }
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let folder = OpenOptions::new().read(true).custom_flags(flags).open(&real)?;
        Ok(Folder { folder, path: path.to_owned() })
    }

    /// Makes a new folder; its parents may exist.
    ///
    /// # Errors
    /// As [`Folder::make`]; [`ErrorKind::AlreadyExists`], also for a link.
    pub fn create_new(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
        let above = match path.parent() {
            Some(above) if !above.as_os_str().is_empty() => above,
            _ => Path::new("."),
        };
        let above = Folder::make(above)?;
        let c_name = c_name(name)?;
        // SAFETY: an open folder and a NUL-terminated name.
        if unsafe { libc::mkdirat(above.folder.as_raw_fd(), c_name.as_ptr(), 0o700) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let folder = above.open(name, libc::O_DIRECTORY)?;
        Ok(Folder { folder, path: path.to_owned() })
    }

    /// The requested path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether something is called `name`, be it a dangling link.
    pub fn has(&self, name: &OsStr) -> bool {
        let Ok(name) = c_name(name) else { return false };
        // SAFETY: all zeros is a valid `stat`.
        let mut found: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: an open folder, a NUL-terminated name and a valid place for the answer.
        unsafe {
            let folder = self.folder.as_raw_fd();
            libc::fstatat(folder, name.as_ptr(), &mut found, libc::AT_SYMLINK_NOFOLLOW) == 0
        }
    }

    /// Makes a new file.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`], also for a link.
    pub fn create(&self, name: &OsStr) -> io::Result<File> {
        self.open(name, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL)
    }

    /// Opens a file to write at its end, made where it is missing.
    ///
    /// # Errors
    /// [`ErrorKind::PermissionDenied`] for what is not a file of the user's with one name.
    pub fn append(&self, name: &OsStr) -> io::Result<File> {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_NONBLOCK;
        let file = self.open(name, flags)?;
        let about = file.metadata()?;
        if about.is_file() && about.uid() == user() && about.nlink() == 1 {
            return Ok(file);
        }
        let text = format!("{}: others than this user may access it", name.to_string_lossy());
        Err(io::Error::new(ErrorKind::PermissionDenied, text))
    }

    /// Writes a file at once: under another name, then renamed. It replaces what had the name, be
    /// it a link.
    pub fn replace(&self, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
        // A name of its own for each writer of each process.
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut part = OsString::from(".");
        // SAFETY: gettid has no preconditions.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) };
        part.push(format!("{thread}-{number}-"));
        // File systems take 255 bytes.
        part.push(OsStr::from_bytes(name.as_bytes().get(..180).unwrap_or(name.as_bytes())));
        part.push(".part");
        let (from, to) = (c_name(&part)?, c_name(name)?);
        let written =
            self.create(&part).and_then(|mut file| without_signal(|| file.write_all(bytes)));
        let folder = self.folder.as_raw_fd();
        let renamed = written.and_then(|()| {
            // SAFETY: an open folder and NUL-terminated names.
            match unsafe { libc::renameat(folder, from.as_ptr(), folder, to.as_ptr()) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        });
        if renamed.as_ref().is_err_and(|e| e.kind() != ErrorKind::AlreadyExists) {
            // SAFETY: the folder is open and the name ends with a NUL.
            unsafe { libc::unlinkat(folder, from.as_ptr(), 0) };
        }
        renamed
    }

    fn open(&self, name: &OsStr, flags: i32) -> io::Result<File> {
        let name = c_name(name)?;
        let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NOCTTY;
        let mode: libc::c_uint = 0o600;
        // SAFETY: an open folder and a NUL-terminated name.
        let fd = unsafe { libc::openat(self.folder.as_raw_fd(), name.as_ptr(), flags, mode) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: opened above and not shared.
        Ok(unsafe { File::from_raw_fd(fd) })
    }
}

/// A single name, not a path.
fn c_name(name: &OsStr) -> io::Result<CString> {
    match name.as_bytes() {
        b"" | b"." | b".." => Err(ErrorKind::InvalidInput.into()),
        bytes if bytes.contains(&b'/') => Err(ErrorKind::InvalidInput.into()),
        bytes => CString::new(bytes).map_err(|_| ErrorKind::InvalidInput.into()),
    }
}

fn user() -> u32 {
    // SAFETY: cannot fail and touches no memory.
    unsafe { libc::geteuid() }
}

/// What kind of file the user's own output path is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A regular file or a free name, with links followed.
    File(PathBuf),
    /// A pipe, a device or a descriptor of this process, which is written to as it is.
    Stream(PathBuf),
}

/// Where `path` leads. The user's own links are followed; a link that another user put into a
/// folder where everybody may write is refused, as Linux does (`fs.protected_symlinks`).
///
/// # Errors
/// The system's; [`ErrorKind::PermissionDenied`] for such a link.
pub fn destination(path: &Path) -> io::Result<Destination> {
    let real = follow(path)?;
    // `/dev/stdout` and `/dev/fd/1` lead there.
    let own = real.starts_with("/proc") && real.components().any(|part| part.as_os_str() == "fd");
    let stream = |about: Metadata| {
        let kind = about.file_type();
        kind.is_fifo() || kind.is_char_device() || kind.is_socket()
    };
    if own || std::fs::metadata(&real).is_ok_and(stream) {
        return Ok(Destination::Stream(real));
    }
    Ok(Destination::File(real))
}

/// `path` with its links followed, as far as it exists; refuses another user's link in a folder
/// where everybody may write. The links of `/proc` are not followed: their targets have no path.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut done = PathBuf::new();
    let mut left: Vec<OsString> = parts(&std::path::absolute(path)?);
    let mut links = 0;
    while let Some(part) = left.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        done.push(&part);
        let Ok(about) = done.symlink_metadata() else { continue };
        if !about.is_symlink() || done.starts_with("/proc") && !done.ends_with("self") {
            continue;
        }
        links += 1;
        if links > LINKS_MAX {
            return Err(io::Error::from_raw_os_error(libc::ELOOP));
        }
        let above = done.parent().unwrap_or(Path::new("/")).metadata()?;
        let everybody = libc::S_ISVTX | libc::S_IWOTH;
        if above.mode() & everybody == everybody
            && about.uid() != user()
            && about.uid() != above.uid()
        {
            let text = format!("{} is a link that user {} made", done.display(), about.uid());
            return Err(io::Error::new(ErrorKind::PermissionDenied, text));
        }
        let target = std::fs::read_link(&done)?;
        done.pop();
        left.extend(parts(&target));
        if target.is_absolute() {
            done = PathBuf::from("/");
        }
    }
    Ok(done)
}

/// Its parts, the last first.
fn parts(path: &Path) -> Vec<OsString> {
    let part = |part: Component<'_>| match part {
        Component::CurDir => None,
        part => Some(part.as_os_str().to_owned()),
    };
    path.components().rev().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_are_private_whatever_the_mask() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::make(&scratch.path().join("a/b")).unwrap();
        folder.replace(OsStr::new("one"), b"x").unwrap();
        folder.create(OsStr::new("two")).unwrap();
        folder.append(OsStr::new("three")).unwrap().write_all(b"y").unwrap();
        let at = |name: &str| scratch.path().join("a/b").join(name);
        assert_eq!([mode(&scratch.path().join("a")), mode(&at(""))], [0o700; 2]);
        assert_eq!([mode(&at("one")), mode(&at("two")), mode(&at("three"))], [0o600; 3]);
        assert_eq!(fs::read_dir(at("")).unwrap().count(), 3, "nothing is left aside");
        assert!(folder.has(OsStr::new("one")) && !folder.has(OsStr::new("four")));
        assert!(folder.create(OsStr::new("../one")).is_err());
        let fresh = scratch.path().join("fresh");
        Folder::create_new(&fresh).unwrap().create(OsStr::new("x")).unwrap();
        assert_eq!((mode(&fresh), mode(&fresh.join("x"))), (0o700, 0o600));
        assert!(Folder::create_new(&fresh).is_err());
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let scratch = tempfile::tempdir().unwrap();
        let victim = scratch.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        let folder = Folder::make(&scratch.path().join("out")).unwrap();
        for name in ["made", "appended", "replaced", "dangling"] {
            let target =
                if name == "dangling" { scratch.path().join("none") } else { victim.clone() };
            symlink(target, scratch.path().join("out").join(name)).unwrap();
        }
        assert!(folder.has(OsStr::new("dangling")));
        let refused = folder.create(OsStr::new("made")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AlreadyExists);
        assert!(folder.create(OsStr::new("dangling")).is_err());
        let refused = folder.append(OsStr::new("appended")).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::ELOOP));
        folder.replace(OsStr::new("replaced"), b"new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert!(!scratch.path().join("none").exists());
        assert_eq!(fs::read_to_string(scratch.path().join("out/replaced")).unwrap(), "new");
        fs::hard_link(&victim, scratch.path().join("out/second")).unwrap();
        let refused = folder.append(OsStr::new("second")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    }

    #[test]
    fn own_links_lead_on() {
        let scratch = tempfile::tempdir().unwrap();
        let real = scratch.path().canonicalize().unwrap();
        fs::create_dir(real.join("far")).unwrap();
        symlink("far", real.join("near")).unwrap();
        symlink("../far/x", real.join("far/y")).unwrap();
        let file = |path: &str| destination(&real.join(path)).unwrap();
        assert_eq!(file("near/x"), Destination::File(real.join("far/x")));
        assert_eq!(file("near/y"), Destination::File(real.join("far/x")));
        assert_eq!(file("near/../none"), Destination::File(real.join("none")));
        symlink("round", real.join("round")).unwrap();
        assert!(destination(&real.join("round")).is_err());
        let null = Path::new("/dev/null");
        assert_eq!(destination(null).unwrap(), Destination::Stream(null.to_owned()));
        assert!(matches!(destination(Path::new("/dev/stdout")).unwrap(), Destination::Stream(_)));
    }

    /// Links that another user may have put into a folder to which everybody may write.
    #[test]
    fn links_of_others_are_refused_where_everybody_writes() {
        if user() != 0 {
            return eprintln!("SKIPPED: only root can make a link that is another user's");
        }
        let scratch = tempfile::tempdir().unwrap();
        let real = scratch.path().canonicalize().unwrap();
        let (shared, link) = (real.join("shared"), real.join("shared/link"));
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
        symlink(&real, &link).unwrap();
        std::os::unix::fs::lchown(&link, Some(12345), None).unwrap();
        for path in [link.clone(), link.join("x")] {
            let refused = destination(&path).unwrap_err();
            assert!(refused.to_string().contains("a link that user 12345 made"), "{refused}");
            assert!(Folder::make(&path).is_err());
        }
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(destination(&link.join("x")).unwrap(), Destination::File(real.join("x")));
    }

    #[test]
    fn so_many_links_are_followed_and_no_more() {
        let scratch = tempfile::tempdir().unwrap();
        let name = |n: u32| scratch.path().join(format!("l{n}"));
        fs::write(name(0), "").unwrap();
        for n in 1..=LINKS_MAX + 1 {
            symlink(name(n - 1), name(n)).unwrap();
        }
        assert!(follow(&name(LINKS_MAX)).is_ok());
        assert_eq!(follow(&name(LINKS_MAX + 1)).unwrap_err().raw_os_error(), Some(libc::ELOOP));
    }
}
