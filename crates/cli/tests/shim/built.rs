//! Programs that several tests run: each is compiled once per run of this test binary.
//!
//! Must not know: what a program consists of, except that it depends only on the compiler's arguments and the
//! repository.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::lab::compile;

/// Arguments of the compiler, and the file that it built.
type Built = HashMap<Vec<OsString>, Arc<OnceLock<PathBuf>>>;

/// As [`compile`], but takes a copy if these arguments had a result before.
pub fn copy(arguments: &[OsString], into: &Path) {
    static BUILT: OnceLock<Mutex<Built>> = OnceLock::new();
    // A test that fails here leaves the map as it was.
    let mut built =
        BUILT.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let one = Arc::clone(built.entry(arguments.to_vec()).or_default());
    drop(built);
    let from = one.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("built");
        fs::create_dir_all(&folder).unwrap();
        let mut hasher = DefaultHasher::new();
        arguments.hash(&mut hasher);
        let name = format!("{:016x}", hasher.finish());
        // Another run of this test may be copying the file: rename replaces it atomically.
        let fresh = folder.join(format!("{name}.{}", std::process::id()));
        compile(arguments, &fresh);
        fs::rename(&fresh, folder.join(&name)).unwrap();
        folder.join(name)
    });
    // By a process: a child of another test could inherit a descriptor that writes the file, which then could not run.
    let done = Command::new("cp").arg(from).arg(into).status().unwrap();
    assert!(done.success(), "cp {} {}", from.display(), into.display());
}
