//! Finds and runs compilers and reference tools.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of a toolkit; if it is not installed, reports what is left out.
pub fn toolkit(name: &str) -> Option<PathBuf> {
    cushim_testkit::needs::toolkit(name, "images beside the compilers' own tools")
}

/// A source file in `tests/data`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// An empty folder for one case.
pub fn folder(case: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("oracle").join(case);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder in target");
    path
}

/// Runs a program in `folder`; returns its standard output. Panics with all its output
/// if it fails.
pub fn run(folder: &Path, program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    // cuobjdump fails if the file has no image of a kind.
    let nothing = complaints.contains("No ") && complaints.contains("file found to extract");
    assert!(
        output.status.success() || nothing,
        "{} {}:\n{out}\n{complaints}",
        program.display(),
        arguments.join(" ")
    );
    out
}
