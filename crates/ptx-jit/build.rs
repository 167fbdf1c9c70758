//! Gives the crate a hash of everything that determines the generated code: its sources, those of the IR that it
//! reads, the locked versions of its dependencies, and the Rust compiler. Code cached on disk belongs to one such
//! hash.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut found = Vec::new();
    for folder in ["src", "../ptx/src", "../translate/src"] {
        println!("cargo::rerun-if-changed={folder}");
        files(&here.join(folder), &mut found);
    }
    for file in ["Cargo.toml", "build.rs", "../../Cargo.lock"] {
        if here.join(file).exists() {
            println!("cargo::rerun-if-changed={file}");
            found.push(here.join(file));
        }
    }
    found.sort();
    let mut hash = Sha256::new();
    for path in found {
        let name = path.strip_prefix(&here).unwrap_or(&path).to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap_or_default();
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    let compiler = std::process::Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    let version = { compiler }.arg("-vV").output().map(|o| o.stdout).unwrap_or_default();
    hash.update(version);
    let text: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=CUSHIM_JIT_SOURCES={text}");
}
