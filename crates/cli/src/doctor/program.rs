//! Finds the file that the kernel executes for what the user typed.
//!
//! Owns: PATH, `#!` lines, the effect of the file's mode on the loader. Must not know: CUDA.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::obstacle::Obstacle;
use crate::Error;
use cushim_names::Foreign as _;

/// Interpreters may be scripts themselves; the kernel gives up after this many.
const SCRIPTS_MAX: usize = 5;

/// The file to run, and the script that names it.
#[derive(Debug)]
pub struct Found {
    /// An executable or a library, not a script.
    pub path: PathBuf,
    /// The script that was given.
    pub script: Option<PathBuf>,
}

/// Finds `name` as a shell would, and follows `#!` lines.
pub fn find(name: &Path) -> Result<Found, Error> {
    let mut path = on_path(name)?;
    let mut script = None;
    for _ in 0..SCRIPTS_MAX {
        let Some(line) = interpreter(&path)? else { return Ok(Found { path, script }) };
        let mut words = line.split_ascii_whitespace();
        let mut next = words.next().unwrap_or_default().to_owned();
        // `#!/usr/bin/env -S python3 -u`: the program that env runs counts.
        if next.ends_with("/env") {
            let program = words.find(|w| !w.starts_with('-') && !w.contains('='));
            next = program.map_or(next, str::to_owned);
        }
        script = script.or(Some(path));
        path = on_path(Path::new(&next))?;
    }
    let found = format!("more than {SCRIPTS_MAX} interpreters in a row");
    Err(Error::Foreign { path, found, expected: "a program" })
}

fn on_path(name: &Path) -> Result<PathBuf, Error> {
    if name.as_os_str().as_bytes().contains(&b'/') {
        fs::metadata(name).map_err(|e| Error::io("open", name, e))?;
        return Ok(name.to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let runnable =
        |p: &PathBuf| fs::metadata(p).is_ok_and(|m| m.is_file() && m.mode() & 0o111 != 0);
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(runnable)
        // A library or a program in this folder may be named without `./`.
        .or_else(|| name.is_file().then(|| name.to_owned()))
        .ok_or_else(|| {
            let why =
                if name.is_dir() { "a folder, not a program" } else { "no such program on PATH" };
            Error::Usage(format!("{}: {why}", name.shown()))
        })
}

/// The `#!` line of a script.
fn interpreter(path: &Path) -> Result<Option<String>, Error> {
    let kind = fs::metadata(path).map_err(|e| Error::io("open", path, e))?;
    if !kind.is_file() {
        return Ok(None);
    }
    let mut head = Vec::new();
    let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
    file.take(4096).read_to_end(&mut head).map_err(|e| Error::io("read", path, e))?;
    let Some(rest) = head.strip_prefix(b"#!") else { return Ok(None) };
    let line = rest.split(|b| *b == b'\n').next().unwrap_or_default();
    Ok(Some(String::from_utf8_lossy(line).trim().to_owned()))
}

/// Rights of the file that make the loader ignore LD_PRELOAD.
pub fn privileges(path: &Path) -> Option<Obstacle> {
    let meta = fs::metadata(path).ok()?;
    // SAFETY: these two cannot fail and touch no memory.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let whose = if meta.mode() & 0o4000 != 0 && meta.uid() != user {
        "is setuid to another user"
    } else if meta.mode() & 0o2010 == 0o2010 && meta.gid() != group {
        "is setgid to another group"
    } else if user != 0 && has_capabilities(path) {
        "has file capabilities"
    } else {
        return None;
    };
    let why = format!(
        "{} {whose}: the loader ignores LD_PRELOAD (run a copy without these rights)",
        path.shown()
    );
    Some(Obstacle { name: "privileges", blocks: true, why })
}

fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: NUL-terminated strings; a size of zero asks for the size only.
    unsafe {
        libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) > 0
    }
}
