//! The folder of cached code, and the check of who may write there.

use crate::error::CacheRefused;
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A folder with code.
#[derive(Debug)]
pub struct Cache {
    pub(super) path: PathBuf,
    pub(super) limit: u64,
}

/// The folder while it is in use: no one can exchange it between the check and its use. It is not kept open, because
/// programs close files that they did not open.
pub(super) struct Folder(File);

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Folder, CacheRefused> {
        let failed = |e: std::io::Error| CacheRefused::Folder(path.into(), e.to_string());
        let flags = libc::O_DIRECTORY | libc::O_CLOEXEC;
        let folder =
            OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
        let about = folder.metadata().map_err(failed)?;
        if !is_ours(&about) {
            let (owner, mode) = (about.uid(), about.mode() & 0o7777);
            return Err(CacheRefused::Writable { path: path.into(), owner, mode });
        }
        Ok(Folder(folder))
    }

    /// A file in it.
    pub(super) fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        let folder = format!("/proc/thread-self/fd/{}", self.0.as_raw_fd());
        Path::new(&folder).join(name.as_ref())
    }
}

impl Cache {
    /// The default limit of all files together, in bytes.
    pub const LIMIT: u64 = 256 << 20;

    /// The folder at a path, made for the user alone if it is not there. Its files take `limit` bytes at most:
    /// the oldest go.
    ///
    /// # Errors
    /// [`CacheRefused`]: the folder cannot be made or opened, or others than the user may write there.
    pub fn open(path: &Path, limit: u64) -> Result<Cache, CacheRefused> {
        let failed = |e: std::io::Error| CacheRefused::Folder(path.into(), e.to_string());
        let path = std::path::absolute(path).map_err(failed)?;
        if !path.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(failed)?;
        }
        Folder::open(&path)?;
        Ok(Cache { path, limit })
    }
}

/// Whether it belongs to the user, and no other user may write to it.
pub(super) fn is_ours(about: &Metadata) -> bool {
    // SAFETY: asks for a number.
    let user = unsafe { libc::geteuid() };
    about.uid() == user && about.mode() & 0o022 == 0
}
