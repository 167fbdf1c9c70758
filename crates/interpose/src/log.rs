//! Our own diagnostics, from inside the traced process: a line on stderr or in a file, written with one
//! system call, from cold paths only. `CUSHIM_LOG=LEVEL[,FILE]`, levels `off`, `error` (default),
//! `warn`, `info`.

use std::ffi::CString;
use std::fmt;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Level {
    /// The tracing does not work.
    Error = 1,
    /// Something is missing from the trace.
    Warn = 2,
    /// Normal events.
    Info = 3,
}

static LEVEL: AtomicU32 = AtomicU32::new(Level::Error as u32);
static FD: AtomicI32 = AtomicI32::new(2);

/// Takes `CUSHIM_LOG`'s value.
pub fn configure(spec: &str) {
    let (level, file) = spec.split_once(',').unwrap_or((spec, ""));
    let level = match level.trim() {
        "off" | "0" => 0,
        "warn" => Level::Warn as u32,
        "info" | "debug" | "trace" | "1" => Level::Info as u32,
        _ => Level::Error as u32,
    };
    LEVEL.store(level, Ordering::Relaxed);
    if let Some(path) = CString::new(file).ok().filter(|p| !p.is_empty()) {
        let flags =
            libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: `path` is NUL-terminated.
        let fd = unsafe { libc::open(path.as_ptr(), flags, 0o600 as libc::c_uint) };
        if fd >= 0 {
            FD.store(fd, Ordering::Relaxed);
        }
    }
}

/// Writes one line.
#[cold]
pub fn line(level: Level, text: fmt::Arguments<'_>) {
    if level as u32 > LEVEL.load(Ordering::Relaxed) {
        return;
    }
    let line = format!("cushim: {}\n", cushim_names::lines(&text.to_string()));
    // SAFETY: errno is this thread's; the write is of our own bytes. A short or failed write only
    // loses a diagnostic; errno is restored because the program may be about to read it.
    unsafe {
        let errno = libc::__errno_location();
        let saved = *errno;
        libc::write(FD.load(Ordering::Relaxed), line.as_ptr().cast(), line.len());
        *errno = saved;
    }
}
