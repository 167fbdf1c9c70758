//! `cushim doctor -- PROG`: which files the loader maps, and which names it is asked for, one line each.
//!
//! Owns: CUSHIM_OBSERVE, the file for it, and how a line looks; `crates/cli/src/doctor/observed` reads it. Must not know:
//! what is made of it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;

/// The file to write to, which the launcher has made.
const VARIABLE: &str = "CUSHIM_OBSERVE";

/// Whether the launcher asked for it.
pub fn wanted() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|file| !file.is_empty())
}

/// A file was mapped; `path` is empty for the program.
pub fn mapped(path: &[u8]) {
    if path.is_empty() {
        let own = std::fs::read_link("/proc/self/exe").unwrap_or_default();
        return line(b'+', own.as_os_str().as_bytes());
    }
    // The loader keeps what `dlopen` was given; the kernel's own object has no path.
    if !path.starts_with(b"/") && path.contains(&b'/') {
        let folder = std::env::current_dir().unwrap_or_default();
        return line(b'+', folder.join(OsStr::from_bytes(path)).as_os_str().as_bytes());
    }
    line(b'+', path);
}

/// A library was asked for by this name.
pub fn asked(name: &[u8]) {
    line(b'?', name);
}

/// `+PID PATH` or `?PID NAME`. The file is opened for each line: the program could close a
/// descriptor that stayed open and reuse its number. One write per line, so that lines of several
/// processes stay whole.
fn line(kind: u8, name: &[u8]) {
    let Some(file) = std::env::var_os(VARIABLE).filter(|file| !file.is_empty()) else { return };
    if name.contains(&b'\n') {
        return;
    }
    let mut text = vec![kind];
    text.extend(std::process::id().to_string().as_bytes());
    text.push(b' ');
    text.extend(name);
    text.push(b'\n');
    let options = |options: &mut std::fs::OpenOptions| {
        options.append(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(file)
    };
    if let Ok(mut file) = options(&mut File::options()) {
        let _ = file.write_all(&text);
    }
}
