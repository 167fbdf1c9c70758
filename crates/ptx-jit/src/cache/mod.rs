//! Compiled code that is cached on disk between runs of a program.
//!
//! Owns the folder: who may write there, that files appear whole or not at all, its size limit. [`file`] owns the
//! content of a file, [`key`] its name. Must not know where users want the folder.
//!
//! A cached file is executed, so only the user may be able to create one: a folder that belongs to another user, or
//! that others may write to, is refused, and so is such a file. No problem here is an error for the program: the code
//! is then compiled again.

mod file;
pub(crate) mod folder;
mod key;
#[cfg(test)]
mod tests;

use crate::simt::plan::Layout;
use crate::source::Source;
use cushim_process::limit::without_signal;
pub(crate) use file::Kept;
pub use folder::Cache;
use folder::{Folder, is_ours};
use key::ENDING;
pub(crate) use key::Key;
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// The suffix of files that are being written.
const UNFINISHED: &str = ".part";
/// The largest file that is read or written, in bytes.
const LARGEST: u64 = 64 << 20;
/// A file that is not finished after this time never will be.
const ABANDONED: Duration = Duration::from_secs(3600);

impl Cache {
    /// The code kept for a key.
    pub(crate) fn load(&self, source: &Source, key: &Key) -> Option<Kept> {
        let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
        let folder = Folder::open(&self.path).ok()?;
        let path = folder.path(key.name());
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
        let about = file.metadata().ok()?;
        if !about.is_file() || !is_ours(&about) || about.len() > LARGEST {
            return None;
        }
        let mut bytes = Vec::with_capacity(about.len() as usize);
        file.take(LARGEST).read_to_end(&mut bytes).ok()?;
        file::read(&bytes, key, source.function())
    }

    /// Stores code, on this thread. Quick code never replaces better code.
    pub(crate) fn store(&self, source: &Source, key: &Key, kept: &Kept) {
        let Some(bytes) = file::write(key, source.function(), kept) else { return };
        let quick = kept.quality == crate::warp::Quality::Quick;
        if bytes.len() as u64 > LARGEST.min(self.limit) || quick && self.load(source, key).is_some()
        {
            return;
        }
        let Ok(folder) = Folder::open(&self.path) else { return };
        // A different name for each writer of each process.
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let (process, time) = (std::process::id(), time.as_nanos());
        let part = folder.path(format!("{process}-{time}-{number}{UNFINISHED}"));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&part)
            .and_then(|mut file| without_signal(|| file.write_all(&bytes)))
            .and_then(|()| std::fs::rename(&part, folder.path(key.name())));
        if written.is_err() {
            let _ = std::fs::remove_file(&part);
            return;
        }
        self.trim(&folder);
    }

    /// Removes the oldest files while there are too many, and abandoned partial files.
    fn trim(&self, folder: &Folder) {
        let Ok(entries) = std::fs::read_dir(folder.path(".")) else { return };
        let mut files = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Ok(about) = entry.metadata() else { continue };
            let ours = name.as_encoded_bytes();
            let time = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if !about.is_file() {
            } else if ours.len() == 64 + ENDING.len() && ours.ends_with(ENDING.as_bytes()) {
                files.push((time, about.len(), name));
            } else if ours.ends_with(UNFINISHED.as_bytes())
                && time.elapsed().is_ok_and(|age| age > ABANDONED)
            {
                let _ = std::fs::remove_file(folder.path(name));
            }
        }
        let mut total: u64 = files.iter().map(|(_, size, _)| *size).sum();
        if total <= self.limit {
            return;
        }
        files.sort();
        for (_, size, name) in files {
            // A little more than must be, so that not every file costs another.
            if total <= self.limit - self.limit / 8 {
                break;
            }
            let _ = std::fs::remove_file(folder.path(name));
            total -= size;
        }
    }
}

/// The cache entry of a kernel's code for a block layout; each version of LLVM has a separate one.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    cache: Arc<Cache>,
    key: Key,
}

impl Place {
    pub(crate) fn of(source: &Source, layout: Layout, llvm: Option<[u32; 3]>) -> Option<Place> {
        let cache = source.cache.clone()?;
        Some(Place { key: Key::of(source, layout, llvm), cache })
    }

    pub(crate) fn load(&self, source: &Source) -> Option<Kept> {
        self.cache.load(source, &self.key)
    }

    pub(crate) fn store(&self, source: &Source, kept: &Kept) {
        self.cache.store(source, &self.key, kept);
    }
}
