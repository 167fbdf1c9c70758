//! Builds that the user runs get NVIDIA's own program.
//!
//! Owns: whether a compiler started this process, and which program it would have started without cushim. A build
//! makes machine code for other machines, as it does without cushim. Must not know: what the programs do.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::environ::PTXAS;

/// How many generations up a compiler may be: it starts its tools itself or by a shell.
const GENERATIONS: usize = 3;

/// Becomes the next `name` of PATH if a compiler asks; returns if none does, or there is no such
/// program.
pub fn hand_over(name: &str, arguments: &[OsString]) {
    // Without it, the audit library has found that the program is to have PTX.
    let is_for_us = std::env::var_os(PTXAS).is_none_or(|file| file.is_empty());
    if is_for_us || !built() {
        return;
    }
    if let Some(next) = next(name) {
        // Where it cannot be started, the stand-in works.
        let _ = Command::new(next).args(arguments).exec();
    }
}

/// Whether one of the processes above is nvcc or clang.
fn built() -> bool {
    let mut process = std::process::id();
    for _ in 0..GENERATIONS {
        let Some(parent) = parent(process) else { return false };
        let name = std::fs::read_to_string(format!("/proc/{parent}/comm")).unwrap_or_default();
        let name = name.trim_end();
        if name == "nvcc" || name == "clang" || name.starts_with("clang-") || name == "clang++" {
            return true;
        }
        process = parent;
    }
    false
}

/// The parent of a process, by `/proc/N/status` (proc(5)).
fn parent(process: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

/// The program of that name in PATH that is not this one.
fn next(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?.canonicalize().ok()?;
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.canonicalize().is_ok_and(|file| file.is_file() && file != own))
}
