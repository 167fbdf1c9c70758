//! Tests in a separate process, which is told to use LLVM's library.

use std::path::PathBuf;
use std::process::Command;

use cushim_testkit::needs;

/// A library of the test toolkits, if the environment names none; the system may have others.
pub fn library() -> Option<PathBuf> {
    if std::env::var_os("CUSHIM_LLVM").is_some() {
        return None;
    }
    let mut all: Vec<PathBuf> = std::fs::read_dir(needs::toolkits())
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .collect();
    all.sort();
    let inside = |folder: &PathBuf| {
        let folder = folder.join("root/usr/lib/x86_64-linux-gnu");
        let names = (17..=22).map(|v| folder.join(format!("libLLVM.so.{v}.1")));
        names.into_iter().find(|path| path.exists())
    };
    all.iter().find_map(inside)
}

/// Runs a test again in a process that uses the library and waits for its code at the first launch; does nothing
/// without a library.
pub fn with_llvm(test: &str) -> bool {
    again(test, "1")
}

/// As [`with_llvm`], and again with the code for processors with masks, which is not kept.
pub fn with_both(test: &str) -> bool {
    again(test, "1") || run(test, "1", &[("CUSHIM_LLVM_MASKS", "1"), ("CUSHIM_CACHE", "off")])
}

/// What such a process prints if there is no library.
pub const NONE: &str = "left out: no libLLVM";

/// As [`with_llvm`], with or without waiting.
pub fn again(test: &str, waits: &str) -> bool {
    if std::env::var_os("CUSHIM_LLVM_WAIT").is_some() {
        return match cushim_ptx_jit::llvm() {
            Some(Ok(_)) => true,
            None => panic!("it is switched off"),
            Some(Err(why)) if why.starts_with("no libLLVM") => {
                println!("{NONE}");
                false
            }
            Some(Err(why)) => panic!("{why}"),
        };
    }
    run(test, waits, &[])
}

fn run(test: &str, waits: &str, more: &[(&str, &str)]) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env("CUSHIM_LLVM_WAIT", waits);
    command.envs(more.iter().copied());
    if let Some(library) = library() {
        command.env("CUSHIM_LLVM", library);
    } else if std::env::var_os("CUSHIM_LLVM").is_none_or(|v| v == "off") {
        command.env("CUSHIM_LLVM", "auto");
    }
    let done = command.output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && text.contains("1 passed"), "{done:?}");
    if text.contains(NONE) {
        println!("{NONE}");
        needs::left_out("kernels by LLVM: no libLLVM here");
    }
    false
}
