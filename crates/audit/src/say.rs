//! Settings from the environment, and messages on stderr.
//!
//! Owns: CUSHIM_BACKEND, CUSHIM_SYMBOLS and CUSHIM_LOG as far as they concern this library. Must not know:
//! objects.

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use cushim_process::limit::without_signal;

/// Whether anything is to be redirected in this process.
pub fn wanted() -> bool {
    let off = |name| {
        let value = std::env::var_os(name).unwrap_or_default().to_ascii_lowercase();
        ["", "0", "no", "off", "false"].iter().any(|word| value == *word)
    };
    let native = std::env::var_os("CUSHIM_BACKEND").is_some_and(|b| b == "native");
    !off("CUSHIM_BACKEND") && !native && off("CUSHIM_DISABLE")
}

/// Whether the driver below is NVIDIA's own, whose handles are valid for every runtime above it.
pub fn over_nvidias_driver() -> bool {
    std::env::var_os("CUSHIM_BACKEND").is_some_and(|b| b == "driver")
}

/// The files of `--symbols`, in CUSHIM_SYMBOLS with colons between.
pub fn symbols() -> Vec<PathBuf> {
    let value = std::env::var_os("CUSHIM_SYMBOLS").unwrap_or_default();
    std::env::split_paths(&value).filter(|p| !p.as_os_str().is_empty()).collect()
}

/// CUSHIM_LOG is LEVEL[,FILE]; where it is not set, errors go to stderr.
fn line(level: &str, text: &str) {
    let setting = std::env::var_os("CUSHIM_LOG").unwrap_or_default();
    let mut parts = setting.as_bytes().splitn(2, |byte| *byte == b',');
    let asked = parts.next().unwrap_or_default();
    let file = parts.next().filter(|file| !file.is_empty()).map(OsStr::from_bytes);
    let rank = |level: &[u8]| match level {
        b"off" => 0,
        b"warn" => 2,
        b"info" => 3,
        _ => 1,
    };
    if rank(level.as_bytes()) > rank(asked) {
        return;
    }
    // One write, so that lines of several processes stay whole.
    let text = format!("cushim: {text}\n");
    let open = |file| {
        let mut options = File::options();
        options.append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        options.open(file).ok()
    };
    let _ = without_signal(|| match file.and_then(open) {
        Some(mut file) => file.write_all(text.as_bytes()),
        None => std::io::stderr().write_all(text.as_bytes()),
    });
}

/// Says that something that the user asked for does not happen.
pub fn error(text: &str) {
    line("error", text);
}

/// Says what was done with the runtime inside `path`.
pub fn done(path: &Path, count: usize, major: u32, into: impl Display) {
    let path = path.display();
    line(
        "info",
        &format!(
            "{path}: {count} functions of its static CUDA runtime {major} are redirected to {into}"
        ),
    );
}

/// What can be done about a runtime that stays as it is.
fn advice(symbols: bool) -> &'static str {
    match symbols {
        true => {
            "keep its symbols, name the file that has them, or the libcudart_static.a of its version of CUDA, with \
                 --symbols FILE, relink it with \
                 `nvcc -cudart shared`, or use --backend native"
        }
        false => "relink it with `nvcc -cudart shared`, or use --backend native",
    }
}

/// The runtime inside `path` stays as it is. For the program itself this is reported at once. For a
/// library, libcushim.so says it when the library looks for a driver: PyTorch loads many that most
/// programs never call.
pub fn refused(path: &Path, program: bool, why: impl Display, symbols: bool) {
    let level = if program { "error" } else { "info" };
    let text = format!(
        "{}: its CUDA runtime is linked statically and cannot be redirected: {why}. It will find no CUDA \
         driver; {}",
        path.display(),
        advice(symbols)
    );
    line(level, &text);
}

/// The runtime inside `path` stays as it is and works over NVIDIA's driver. In the program itself,
/// that is not what the user asked for; in a library it is normal for NVIDIA's own.
pub fn left(path: &Path, program: bool, why: impl Display, symbols: bool) {
    let level = if program { "error" } else { "info" };
    line(
        level,
        &format!(
            "{}: its CUDA runtime is linked statically and cannot be redirected: {why}. It keeps running \
             over NVIDIA's driver; {}",
            path.display(),
            advice(symbols)
        ),
    );
}
