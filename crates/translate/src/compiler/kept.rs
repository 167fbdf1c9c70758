//! What a compiler reported about itself in an earlier run.
//!
//! Owns how a compiler is recognised, and the format of the record. Only machine-code programs have records: a script
//! may start another compiler tomorrow without being changed. Must not know how a compiler is queried.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::cache::{Cache, Key};

/// Between version and head, neither of which has one.
const BETWEEN: char = '\0';

/// The identity of the program at a path: the path, and its file's number, size and times. `None` if it is no
/// machine-code program.
pub(super) fn key(program: &Path) -> Option<Key> {
    let path = std::fs::canonicalize(program).ok()?;
    let mut file = File::open(&path).ok()?;
    let about = file.metadata().ok()?;
    let mut begin = [0; 4];
    if !about.is_file() || file.read_exact(&mut begin).is_err() || begin != *b"\x7fELF" {
        return None;
    }
    let numbers = [about.dev(), about.ino(), about.size()];
    let times = [about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()];
    let bytes: Vec<u8> = numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .chain(times.iter().flat_map(|time| time.to_le_bytes()))
        .collect();
    Some(Key::of(&[b"compiler", path.as_os_str().as_bytes(), &bytes]))
}

/// The cached version and head of a compiler.
pub(super) fn load(cache: &Cache, key: &Key) -> Option<(String, String)> {
    let text = String::from_utf8(cache.load(key)?).ok()?;
    let (version, head) = text.split_once(BETWEEN)?;
    Some((version.to_owned(), head.to_owned()))
}

/// Keeps them.
pub(super) fn store(cache: &Cache, key: &Key, version: &str, head: &str) {
    cache.store(key, format!("{version}{BETWEEN}{head}").as_bytes());
}
