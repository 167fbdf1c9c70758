//! A disk cache of code objects, and of compilers' reports about themselves.
//!
//! Owns the folder and its files: each entry has the SHA-256 of everything that it depends on as its key, and its own
//! SHA-256 at its end. A folder or file that other users could write to is not used. No problem here is an error: the
//! code is then compiled again. Must not know where users want the folder.

use sha2::{Digest, Sha256};
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How names of files end.
const ENDING: &str = ".amdgpu";
/// Bytes of a hash.
const HASH: usize = 32;
/// The largest file that is read or written, in bytes.
const LARGEST: u64 = 256 << 20;
/// Bytes of all files together; the oldest go.
const LIMIT: u64 = 1 << 30;

/// A folder of cached entries.
#[derive(Debug, Clone)]
pub struct Cache {
    path: PathBuf,
}

/// A hash of everything that an entry depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; HASH]);

impl Key {
    /// The key of these parts, in this order, and of cushim's version.
    pub fn of(parts: &[&[u8]]) -> Key {
        let mut hash = Sha256::new();
        for part in parts.iter().copied().chain([env!("CARGO_PKG_VERSION").as_bytes()]) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Key(hash.finalize().into())
    }

    fn name(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + ENDING
    }
}

/// Whether it belongs to the user, and no other user may write to it.
fn is_ours(about: &Metadata) -> bool {
    // SAFETY: asks for a number.
    let user = unsafe { libc::geteuid() };
    about.uid() == user && about.mode() & 0o022 == 0
}

impl Cache {
    /// The folder at a path; it is made for the user alone when something is kept.
    pub fn at(path: &Path) -> Cache {
        Cache { path: path.to_owned() }
    }

    /// The folder, opened: it cannot be exchanged for another between looking at it and using it.
    fn folder(&self) -> Option<(File, PathBuf)> {
        let flags = libc::O_DIRECTORY | libc::O_CLOEXEC;
        let folder = OpenOptions::new().read(true).custom_flags(flags).open(&self.path).ok()?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        is_ours(&folder.metadata().ok()?).then_some((folder, path))
    }

    /// What is kept for a key.
    pub fn load(&self, key: &Key) -> Option<Vec<u8>> {
        let (_held, folder) = self.folder()?;
        let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
        let file =
            OpenOptions::new().read(true).custom_flags(flags).open(folder.join(key.name())).ok()?;
        let about = file.metadata().ok()?;
        if !about.is_file() || !is_ours(&about) || about.len() > LARGEST {
            return None;
        }
        let mut bytes = Vec::with_capacity(about.len() as usize);
        file.take(LARGEST).read_to_end(&mut bytes).ok()?;
        let (code, hash) = bytes.split_last_chunk::<HASH>()?;
        (summed(key, code) == *hash).then(|| code.to_vec())
    }

    /// Stores a code object, or another result.
    pub fn store(&self, key: &Key, code: &[u8]) {
        if !self.path.is_dir() {
            let _ = DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        }
        let Some((_held, folder)) = self.folder() else { return };
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let time = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_nanos());
        let part = folder.join(format!("{}-{time}-{number}.part", std::process::id()));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&part)
            .and_then(|mut file| {
                file.write_all(code)?;
                file.write_all(&summed(key, code))
            })
            .and_then(|()| std::fs::rename(&part, folder.join(key.name())));
        if written.is_err() {
            let _ = std::fs::remove_file(&part);
            return;
        }
        trim(&folder);
    }
}

/// The hash at the end of an entry: it proves that this is the code for this key.
fn summed(key: &Key, code: &[u8]) -> [u8; HASH] {
    let mut hash = Sha256::new();
    hash.update(key.0);
    hash.update(code);
    hash.finalize().into()
}

/// Removes the oldest files while there is too much.
fn trim(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder.join(".")) else { return };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name.as_encoded_bytes().ends_with(ENDING.as_bytes());
        let Ok(about) = entry.metadata() else { continue };
        if let (true, true, Ok(time)) = (ours, about.is_file(), about.modified()) {
            files.push((time, about.len(), name));
        }
    }
    let mut total: u64 = files.iter().map(|(_, size, _)| *size).sum();
    files.sort();
    for (_, size, name) in files {
        if total <= LIMIT {
            return;
        }
        let _ = std::fs::remove_file(folder.join(name));
        total -= size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_is_kept_comes_back_and_what_was_changed_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        let (cache, key, other) = (Cache::at(&path), Key([1; HASH]), Key([2; HASH]));
        assert_eq!(cache.load(&key), None);
        cache.store(&key, b"code");
        assert_eq!(cache.load(&key).as_deref(), Some(&b"code"[..]));
        assert_eq!(cache.load(&other), None);
        // A file for another key, and a file that was changed.
        std::fs::copy(path.join(key.name()), path.join(other.name())).unwrap();
        assert_eq!(cache.load(&other), None);
        let mut bytes = std::fs::read(path.join(key.name())).unwrap();
        bytes[0] ^= 1;
        std::fs::write(path.join(key.name()), &bytes).unwrap();
        assert_eq!(cache.load(&key), None);
        cache.store(&key, b"code");
        assert!(cache.load(&key).is_some());
        // If others may write to the folder, nothing in it is trusted.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(cache.load(&key), None);
    }

    #[test]
    fn links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        let (cache, key) = (Cache::at(folder.path()), Key([3; HASH]));
        cache.store(&key, b"code");
        let at = folder.path().join(key.name());
        std::fs::rename(&at, folder.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", &at).unwrap();
        assert_eq!(cache.load(&key), None);
    }
}
