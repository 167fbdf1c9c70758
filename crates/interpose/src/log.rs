//! cushim's own diagnostics inside the traced process: one line on stderr or in a file, by one write, from cold paths
//! only. `CUSHIM_LOG=LEVEL[,FILE]`, levels `off`, `error` (default), `warn`, `info`.

use std::ffi::CString;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use cushim_process::limit::without_signal;

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
static FILE: OnceLock<CString> = OnceLock::new();

/// Takes `CUSHIM_LOG`'s value.
pub fn configure(spec: &[u8]) {
    let mut parts = spec.splitn(2, |byte| *byte == b',');
    let level = match parts.next().unwrap_or_default().trim_ascii() {
        b"off" | b"0" => 0,
        b"warn" => Level::Warn as u32,
        b"info" | b"debug" | b"trace" | b"1" => Level::Info as u32,
        _ => Level::Error as u32,
    };
    LEVEL.store(level, Ordering::Relaxed);
    if let Some(path) = parts.next().filter(|path| !path.is_empty())
        && let Ok(path) = CString::new(path)
    {
        let _ = FILE.set(path);
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
        let file = file();
        let to = file.unwrap_or(libc::STDERR_FILENO);
        without_signal(|| libc::write(to, line.as_ptr().cast(), line.len()));
        if let Some(file) = file {
            libc::close(file);
        }
        *errno = saved;
    }
}

/// The file, opened for a line: the program would have other numbers for its own files if it stayed open, and could
/// close it and give its number to another. `None`: there is none, or it cannot be opened.
fn file() -> Option<i32> {
    let path = FILE.get()?;
    let flags =
        libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: `path` is NUL-terminated.
    let file = unsafe { libc::open(path.as_ptr(), flags, 0o600 as libc::c_uint) };
    (file >= 0).then_some(file)
}
