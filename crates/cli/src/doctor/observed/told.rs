//! The audit library's report of a run: records of `crates/audit/src/observe.rs`.
//!
//! Owns: their meaning. Must not know: CUDA, files.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What was loaded in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The system's error number, where not all could be told.
    pub missed: Option<i32>,
    /// Processes that wrote a record.
    pub processes: BTreeSet<u32>,
    /// Files that were mapped, each once, in the order of the first time.
    pub files: Vec<PathBuf>,
    /// Requested names without a mapped file, each once.
    pub missing: Vec<String>,
}

/// How the file begins while nothing is missing; an error number takes its place.
pub const BEGIN: [u8; 4] = [0; 4];

/// Reads the records; skips invalid ones.
pub fn read(bytes: &[u8]) -> Loaded {
    let (mark, records) = bytes.split_first_chunk().unwrap_or((&BEGIN, &[]));
    let missed = (*mark != BEGIN).then(|| i32::from_ne_bytes(*mark));
    let mut loaded = Loaded { missed, ..Loaded::default() };
    let mut names: Vec<&Path> = Vec::new();
    let (mut files, mut asked) = (BTreeSet::new(), BTreeSet::new());
    for record in records.split(|b| *b == 0) {
        let Some((kind, pid, path)) = record.strip_suffix(b"\n").and_then(parts) else { continue };
        loaded.processes.insert(pid);
        let path = Path::new(OsStr::from_bytes(path));
        match kind {
            // The kernel's own object has no path.
            b'+' if path.is_absolute() && files.insert(path) => loaded.files.push(path.to_owned()),
            b'?' if asked.insert(path) => names.push(path),
            _ => {}
        }
    }
    let there: BTreeSet<&OsStr> = files.iter().filter_map(|file| file.file_name()).collect();
    // Where records are missing, a file's may be.
    names.retain(|_| missed.is_none());
    let is_missing = |name: &&&Path| name.file_name().is_some_and(|file| !there.contains(file));
    let missing = names.iter().filter(is_missing);
    loaded.missing = missing.map(|name| name.to_string_lossy().into_owned()).collect();
    loaded
}

/// Kind, process, and path or name of a record.
fn parts(record: &[u8]) -> Option<(u8, u32, &[u8])> {
    let (kind, rest) = record.split_first()?;
    let space = rest.iter().position(|b| *b == b' ')?;
    let pid = std::str::from_utf8(&rest[..space]).ok()?.parse().ok()?;
    let path = &rest[space + 1..];
    (!path.is_empty()).then_some((*kind, pid, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run() {
        let told = b"\0\0\0\0\0+7 /usr/bin/app\n\0+7 linux-vdso.so.1\n\0?7 libm.so.6\n\0+7 /lib/libm.so.6\n\
                     \0?7 libcudnn.so.9\n\0?8 libcudnn.so.9\n\0+8 /usr/bin/app\n\0?8 /opt/a\nb/libx.so\n\
                     \0+8 /opt/a\nb/libx.so\n";
        let loaded = read(told);
        assert_eq!(loaded.processes, BTreeSet::from([7, 8]));
        let files = ["/usr/bin/app", "/lib/libm.so.6", "/opt/a\nb/libx.so"];
        assert_eq!(loaded.files, files.map(PathBuf::from));
        assert_eq!(loaded.missing, ["libcudnn.so.9"]);
        assert_eq!(loaded.missed, None);
    }

    /// A full disk cuts a record off; the next process's may follow.
    #[test]
    fn what_is_cut_off_is_no_name() {
        let mut told = libc::ENOSPC.to_ne_bytes().to_vec();
        told.extend(b"\0+7 /usr/bin/app\n\0?7 libcudnn\0+8 /usr/bin/other\n\0+8 /lib/li");
        let loaded = read(&told);
        assert_eq!(loaded.files, ["/usr/bin/app", "/usr/bin/other"].map(PathBuf::from));
        assert_eq!((loaded.missing.len(), loaded.missed), (0, Some(libc::ENOSPC)));
    }

    #[test]
    fn anything() {
        for bytes in [&b""[..], b"+", b"+x y", b"+1 ", b" ", b"?4294967296 a", b"+1 /\xff\n\0\0?"] {
            let loaded = read(&[&BEGIN, &b"\0"[..], bytes].concat());
            assert!(loaded.files.len() <= 1 && loaded.missing.is_empty(), "{loaded:?}");
            read(bytes);
        }
    }
}
