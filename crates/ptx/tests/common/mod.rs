//! Finds nvcc, and compiles CUDA sources to PTX in tests.

#![allow(dead_code)] // each test binary uses a part

pub mod device;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The toolkits that `scripts/cuda-toolkits` installs, with the
/// architecture to compile for. Empty if none is installed.
pub fn toolkits() -> Vec<(PathBuf, &'static str)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/toolkits");
    let found: Vec<_> = [("cuda-11.8", "sm_80"), ("cuda-12.4", "sm_80"), ("cuda-13.5", "sm_80")]
        .into_iter()
        .map(|(dir, arch)| (root.join(dir).join("bin/nvcc"), arch))
        .filter(|(nvcc, _)| nvcc.exists())
        .collect();
    if found.is_empty() {
        eprintln!("no nvcc: run scripts/cuda-toolkits to have this test compile CUDA sources");
    }
    found
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
