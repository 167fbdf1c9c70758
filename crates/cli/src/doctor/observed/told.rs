//! What the audit library told of a run: lines of `crates/audit/src/observe.rs`.
//!
//! Owns: their meaning. Must not know: CUDA, files.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What was loaded in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Processes that wrote a line.
    pub processes: BTreeSet<u32>,
    /// Files that were mapped, each once, in the order of the first time.
    pub files: Vec<PathBuf>,
    /// Requested names without a mapped file, each once.
    pub missing: Vec<String>,
}

/// Reads the lines; skips invalid ones.
pub fn read(bytes: &[u8]) -> Loaded {
    let mut loaded = Loaded::default();
    let mut names: Vec<&Path> = Vec::new();
    let (mut files, mut asked) = (BTreeSet::new(), BTreeSet::new());
    for line in bytes.split(|b| *b == b'\n') {
        let Some((kind, pid, path)) = parts(line) else { continue };
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
    let is_missing = |name: &&&Path| name.file_name().is_some_and(|file| !there.contains(file));
    let missing = names.iter().filter(is_missing);
    loaded.missing = missing.map(|name| name.to_string_lossy().into_owned()).collect();
    loaded
}

/// Kind, process, and path or name of a line.
fn parts(line: &[u8]) -> Option<(u8, u32, &[u8])> {
    let (kind, rest) = line.split_first()?;
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
        let told = b"+7 /usr/bin/app\n+7 linux-vdso.so.1\n?7 libm.so.6\n+7 /lib/libm.so.6\n?7 libcudnn.so.9\n\
                     ?8 libcudnn.so.9\n+8 /usr/bin/app\n?8 /opt/a b/libx.so\n+8 /opt/a b/libx.so\n";
        let loaded = read(told);
        assert_eq!(loaded.processes, BTreeSet::from([7, 8]));
        let files = ["/usr/bin/app", "/lib/libm.so.6", "/opt/a b/libx.so"];
        assert_eq!(loaded.files, files.map(PathBuf::from));
        assert_eq!(loaded.missing, ["libcudnn.so.9"]);
    }

    #[test]
    fn anything() {
        for bytes in [&b""[..], b"+", b"+x y", b"+1 ", b" ", b"?4294967296 a", b"+1 /\xff\n\n?"] {
            let loaded = read(bytes);
            assert!(loaded.files.len() <= 1 && loaded.missing.is_empty(), "{loaded:?}");
        }
    }
}
