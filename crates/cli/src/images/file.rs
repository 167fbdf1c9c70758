//! Files that may hold device code: opened, mapped, searched for in folders.
//!
//! Owns the one mapping of a file into memory. Must not know: the file's contents.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use cushim_image::inventory::{Place, Space};
use cushim_image::{Error as ImageError, Format, Limits, sniff};
use memmap2::{Mmap, MmapOptions};
use xxhash_rust::xxh3::Xxh3;

use crate::Error;
use cushim_names::Foreign as _;

/// Bytes hashed at a time: enough for the disk, small enough for the cache.
const CHUNK: usize = 256 << 10;

/// A file to examine.
pub struct Source {
    /// Its path.
    pub path: PathBuf,
    /// It was named on the command line: a message says if it holds no device code.
    pub named: bool,
}

/// The files meant by `paths`: folders are searched in order of names, without following links, for
/// files that begin like something that can hold device code.
pub fn sources(paths: &[PathBuf]) -> Result<Vec<Source>, Error> {
    let mut out = Vec::new();
    for path in paths {
        let kind = std::fs::metadata(path).map_err(|error| Error::io("open", path, error))?;
        if kind.is_dir() {
            let before = out.len();
            search(path, &mut out)?;
            if out.len() == before {
                crate::complain(&format!(
                    "{}: no file in this folder can hold device code",
                    path.shown()
                ));
            }
        } else {
            out.push(Source { path: path.clone(), named: true });
        }
    }
    Ok(out)
}

fn search(folder: &Path, out: &mut Vec<Source>) -> Result<(), Error> {
    let wrong = |error| Error::io("read the folder", folder, error);
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).map_err(wrong)?.collect::<Result<_, _>>().map_err(wrong)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                // A folder that cannot be read does not stop the search.
                if let Err(error) = search(&path, out) {
                    crate::complain(&error.to_string());
                }
            }
            Ok(kind) if kind.is_file() && may_hold_code(&path) => {
                out.push(Source { path, named: false });
            }
            _ => {}
        }
    }
    Ok(())
}

fn may_hold_code(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut head));
    read.is_ok() && sniff(&head) != Format::Unknown
}

/// An open file and its bytes.
pub struct HostFile {
    path: PathBuf,
    data: Bytes,
}

enum Bytes {
    Mapped(Mmap, File),
    Read(Vec<u8>),
}

impl HostFile {
    /// Opens `path`: maps a regular file, reads anything else to its end, and a file that cannot be mapped.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let wrong = |error| Error::io("open", path, error);
        let mut file = File::open(path).map_err(wrong)?;
        let is_file = file.metadata().map_err(wrong)?.is_file();
        // SAFETY: the mapping is private and only read, through checked slices. A file that another
        // process shortens meanwhile ends this program by SIGBUS, as it does every linker.
        let map = is_file.then(|| unsafe { MmapOptions::new().map_copy_read_only(&file) });
        let data = match map {
            Some(Ok(map)) => Bytes::Mapped(map, file),
            // Not all file systems can map.
            Some(Err(error)) if error.raw_os_error() != Some(libc::ENODEV) => {
                return Err(Error::io("map", path, error));
            }
            _ => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).map_err(|error| Error::io("read", path, error))?;
                Bytes::Read(bytes)
            }
        };
        Ok(Self { path: path.to_owned(), data })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.data {
            Bytes::Mapped(map, _) => map,
            Bytes::Read(bytes) => bytes,
        }
    }

    /// XXH3 (64 bit) of an image's stored bytes; of an image that shares a packed stream with others,
    /// of its bytes in the unpacked stream.
    ///
    /// Reads a mapped file by `pread`: through the mapping, all images would count as this program's
    /// memory.
    pub fn hash(&self, place: &Place<'_>, limits: &Limits) -> Result<u64, ImageError> {
        let (Bytes::Mapped(_, file), Space::File(_)) = (&self.data, &place.space) else {
            return Ok(xxhash_rust::xxh3::xxh3_64(&place.bytes(limits)?));
        };
        let mut hasher = Xxh3::new();
        let mut buffer = vec![0; CHUNK.min(place.stored as usize)];
        let (mut at, mut left) = (place.start, place.stored);
        while left > 0 {
            let part = left.min(buffer.len() as u64) as usize;
            // The file was shortened since it was opened.
            let short = |_| ImageError::Truncated { what: "image", at, need: left, have: 0 };
            file.read_exact_at(&mut buffer[..part], at).map_err(short)?;
            hasher.update(&buffer[..part]);
            at += part as u64;
            left -= part as u64;
        }
        Ok(hasher.digest())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_mapped_is_read() {
        let path = Path::new("/proc/self/cmdline");
        // SAFETY: nothing is mapped.
        let map = unsafe { Mmap::map(&File::open(path).unwrap()) };
        assert_eq!(map.unwrap_err().raw_os_error(), Some(libc::ENODEV));
        let file = HostFile::open(path).unwrap();
        assert_eq!(file.bytes(), std::fs::read(path).unwrap());
        assert!(!file.bytes().is_empty());
    }
}
