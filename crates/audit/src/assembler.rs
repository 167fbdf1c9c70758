//! NVIDIA's ptxas as a separate process, when a program that uses CUDA makes nvcc build a cubin.
//!
//! PyCUDA starts `nvcc --cubin` and loads the result. nvcc takes ptxas from its own folder, so no variable can lead
//! it to the stand-in. But the audit library is loaded into that ptxas, too: before ptxas starts, the process
//! executes the stand-in. A build keeps NVIDIA's: there, nvcc makes other files than cubins, or no parent process has
//! called `cuInit`.
//!
//! Owns: which process asks for what, by /proc. Must not know: what the stand-in does (`crates/cli/src/stand_in`).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The stand-in; the launcher sets it unless `--no-ptxas-stand-in` is given. The stand-in is started without it.
const STAND_IN: &str = "CUSHIM_PTXAS";
/// What `crates/vdriver` (`mark.rs`) maps in `cuInit`.
const MARK: &[u8] = b"/memfd:cushim-initialised-";
/// How many generations up nvcc may be, and above it the program: either may start the other by a shell.
const GENERATIONS: usize = 3;
const ABOVE_NVCC: usize = 2;

/// Becomes the stand-in, if this is ptxas and its cubin is for a program that uses CUDA.
pub fn replace() {
    let Some(stand_in) = std::env::var_os(STAND_IN).filter(|file| !file.is_empty()) else { return };
    let own = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    if own.file_name() != Some("ptxas".as_ref()) || !is_for_cuda() {
        return;
    }
    let arguments = words("self").into_iter().skip(1);
    // Where it cannot be started, NVIDIA's ptxas works as always.
    let _ = Command::new(stand_in).args(arguments).env_remove(STAND_IN).exec();
}

/// Whether nvcc is an ancestor of this process, builds a cubin, and has an ancestor that has called `cuInit`.
fn is_for_cuda() -> bool {
    let mut above = Ancestors(String::from("self"));
    let is_nvcc = |process: &String| file(process, "comm").trim_ascii_end() == b"nvcc";
    let Some(nvcc) = above.by_ref().take(GENERATIONS).find(is_nvcc) else { return false };
    let is_cubin = |word: &OsString| word == "--cubin" || word == "-cubin";
    words(&nvcc).iter().any(is_cubin) && above.take(ABOVE_NVCC).any(|process| uses_cuda(&process))
}

/// Whether a process has called `cuInit` of cushim's driver.
fn uses_cuda(process: &str) -> bool {
    file(process, "maps").windows(MARK.len()).any(|part| part == MARK)
}

/// A file of a process; empty where it cannot be read.
fn file(process: &str, name: &str) -> Vec<u8> {
    std::fs::read(Path::new("/proc").join(process).join(name)).unwrap_or_default()
}

/// A process's command line.
fn words(process: &str) -> Vec<OsString> {
    let text = file(process, "cmdline");
    let text = text.strip_suffix(b"\0").unwrap_or(&text);
    text.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect()
}

/// The processes above one, by `/proc/N/status` (proc(5)).
struct Ancestors(String);

impl Iterator for Ancestors {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let status = String::from_utf8_lossy(&file(&self.0, "status")).into_owned();
        let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        let parent = line.trim().to_owned();
        if parent == "0" {
            return None;
        }
        self.0.clone_from(&parent);
        Some(parent)
    }
}
