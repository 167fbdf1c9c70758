//! Finds and runs compilers and reference tools.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of a toolkit; `None` and a message if it is not installed.
pub fn toolkit(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("CUSHIM_TOOLKITS")
        .map(PathBuf::from)
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/toolkits"));
    let path = root.join(name);
    if path.is_dir() {
        return Some(path);
    }
    left_out(&format!("images beside the tools of {name}: scripts/cuda-toolkits installs it"));
    None
}

/// Reports that a test left something out, and why; `scripts/test` repeats it at its end.
fn left_out(what: &str) {
    eprintln!("left out: {what}");
    if let Some(file) = std::env::var_os("TEST_SKIPS") {
        let line = format!("{what}\n");
        let opened = std::fs::OpenOptions::new().append(true).create(true).open(file);
        opened.and_then(|mut file| std::io::Write::write_all(&mut file, line.as_bytes())).unwrap();
    }
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
