//! Finds compilers, and a folder for their output.

use std::ffi::OsStr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Names in `$PATH`: without a version first, then the newest.
fn names() -> impl Iterator<Item = String> {
    let numbered = (17..=24).rev().map(|n| format!("clang-{n}"));
    std::iter::once("clang".to_owned()).chain(numbered)
}

/// Files that may be compilers, in the order in which they are tried.
pub(super) fn candidates() -> Vec<PathBuf> {
    if let Some(given) = std::env::var_os("CUSHIM_CLANG").filter(|v| !v.is_empty()) {
        return vec![given.into()];
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).filter(|p| p.is_absolute()).collect();
    let within = folders.iter().flat_map(|folder| names().map(|name| folder.join(name)));
    let rocm = [PathBuf::from("/opt/rocm/llvm/bin/clang")];
    within.chain(rocm).filter(|path| path.is_file()).collect()
}

/// The linker beside a compiler.
pub(super) fn linker(program: &Path) -> Option<PathBuf> {
    let suffix = program.file_name().and_then(OsStr::to_str)?.strip_prefix("clang")?.to_owned();
    let real = std::fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    let folders = [program.parent(), real.parent()].into_iter().flatten();
    let names = [format!("ld.lld{suffix}"), "ld.lld".to_owned()];
    folders.flat_map(|folder| names.iter().map(move |name| folder.join(name))).find(|p| p.is_file())
}

/// A folder that is removed with its contents.
pub(super) struct Temporary(PathBuf);

impl Temporary {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A new folder of the user's alone.
pub(super) fn temporary() -> std::io::Result<Temporary> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let time = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_nanos());
        let name = format!("cushim-translate-{}-{time:x}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        match std::fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(Temporary(path)),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}
