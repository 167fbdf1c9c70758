//! What a test needs of the machine, and how it says that it left something out.
//!
//! Owns both; a test that returns early without a call of [`left_out`] looks as if it had passed. Must not know any test.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Reports that a test left something out, and why; `scripts/test` repeats it at its end.
pub fn left_out(what: &str) {
    eprintln!("left out: {what}");
    if let Some(path) = std::env::var_os("TEST_SKIPS") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(&path);
        // One write: tests of several processes append to the file.
        let written = file.and_then(|mut file| file.write_all(format!("{what}\n").as_bytes()));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

/// The folder of the toolkits that `scripts/cuda-toolkits` installs.
pub fn toolkits() -> PathBuf {
    std::env::var_os("CUSHIM_TOOLKITS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/toolkits"),
        PathBuf::from,
    )
}

/// The folder of a toolkit. If it is not installed, reports `what`, the tests that need it, as left out.
pub fn toolkit(name: &str, what: &str) -> Option<PathBuf> {
    let folder = toolkits().join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    left_out(&format!("{what}: no {name} here, scripts/cuda-toolkits installs it"));
    None
}

/// A file of a toolkit, as [`toolkit`]; panics if the toolkit is installed without it.
pub fn of_toolkit(name: &str, file: &str, what: &str) -> Option<PathBuf> {
    let path = toolkit(name, what)?.join(file);
    assert!(path.exists(), "{} is missing: run scripts/cuda-toolkits again", path.display());
    Some(path)
}
