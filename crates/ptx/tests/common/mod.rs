//! Finds nvcc, and compiles CUDA sources to PTX in tests.

#![allow(dead_code)] // each test binary uses a part

pub mod device;

use std::path::{Path, PathBuf};
use std::process::Command;

/// nvcc of each toolkit, with the architecture to compile for; reports those that are not installed.
pub fn toolkits() -> Vec<(PathBuf, &'static str)> {
    ["cuda-11.8", "cuda-12.4"].into_iter().filter_map(toolkit).chain(newest()).collect()
}

/// nvcc of the newest toolkit, as [`toolkits`].
pub fn newest() -> Option<(PathBuf, &'static str)> {
    toolkit("cuda-13.5")
}

fn toolkit(name: &str) -> Option<(PathBuf, &'static str)> {
    let nvcc = cushim_testkit::needs::of_toolkit(name, "bin/nvcc", "PTX that nvcc writes")?;
    Some((nvcc, "sm_80"))
}

/// Compiles one source to PTX. `None` if this nvcc refuses it (its
/// headers are older than the source).
pub fn ptx(nvcc: &Path, arch: &str, source: &Path, flags: &[&str]) -> Result<String, String> {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.ptx");
    let done = Command::new(nvcc)
        .args(["-std=c++17", "-extended-lambda", "-allow-unsupported-compiler", "-w", "-ptx"])
        .args(["-arch", arch])
        .args(flags)
        .arg("-o")
        .arg(&out)
        .arg(source)
        .output()
        .unwrap();
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into_owned());
    }
    Ok(std::fs::read_to_string(out).unwrap())
}
