//! The process with LLVM's library, as the program sees it.
//!
//! Owns starting it for one kernel, and sending it the IR. LLVM's libraries are large, use a process as they like, and
//! end it at an error; a program may have one itself. So the program `cushim`, beside the library with this code, opens
//! it. It ends as soon as this process does, and the program has nothing of it but a socket that only one thread has.
//! Must not know LLVM's functions.

use super::asked::asked;
use super::spawn;
use super::wire::{ARGUMENT, BUILD, Library, Made, read_hello, read_made, receive, send};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// The time limit for an answer, and for sending the IR.
const PATIENCE: Duration = Duration::from_secs(120);

/// The library, or why there is none: nothing is tried twice.
static FOUND: OnceLock<Result<Library, String>> = OnceLock::new();

/// A process that has reported its library.
struct Process {
    socket: UnixStream,
    library: Library,
}

impl Process {
    fn start() -> Result<Process, String> {
        let asked = asked().ok_or("the environment asks for none")?;
        let program = program()?;
        let program = CString::new(program.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
        let environment: Vec<&CStr> = asked.environment.iter().map(CString::as_c_str).collect();
        let mut socket = spawn::start(&program, &[&program, ARGUMENT], &environment)
            .map_err(|e| format!("{}: {e}", program.to_string_lossy()))?;
        let said = |e: std::io::Error| format!("the process that opens LLVM: {e}");
        socket.set_read_timeout(Some(PATIENCE)).map_err(said)?;
        socket.set_write_timeout(Some(PATIENCE)).map_err(said)?;
        let hello = receive(&mut socket).map_err(said)?;
        Ok(Process { socket, library: read_hello(BUILD, &hello)? })
    }

    fn object(&mut self, text: &str, cpu: &str) -> Result<Made, String> {
        let said = |e: std::io::Error| format!("LLVM's process ended: {e}");
        for message in [cpu, text] {
            send(&mut self.socket, message.as_bytes()).map_err(said)?;
        }
        read_made(&receive(&mut self.socket).map_err(said)?)
    }
}

/// The library in use. The thread must have its own file descriptor table ([`with_own_files`]).
pub(super) fn library() -> Result<Library, String> {
    FOUND.get_or_init(|| Ok(Process::start()?.library)).clone()
}

/// Compiles LLVM IR to an object file, optimised for a processor. The thread must have its own file descriptor table.
///
/// # Errors
/// LLVM's error, or why there is no library.
pub(super) fn object(text: &str, cpu: &str) -> Result<Made, String> {
    let found = library()?;
    let mut process = Process::start()?;
    match process.library == found {
        true => process.object(text, cpu),
        false => Err("LLVM's library has changed meanwhile".into()),
    }
}

/// Runs a closure on a thread with its own file descriptor table and without signal handlers, and waits for it.
pub(super) fn with_own_files<T: Send>(
    body: impl FnOnce() -> Result<T, String> + Send,
) -> Result<T, String> {
    let work = || {
        // SAFETY: the mask of this thread alone.
        unsafe {
            let mut all = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        }
        spawn::own_files()?;
        body()
    };
    std::thread::scope(|s| {
        let thread =
            std::thread::Builder::new().spawn_scoped(s, work).map_err(|e| e.to_string())?;
        thread.join().unwrap_or_else(|_| Err("a panic".into()))
    })
}

/// The program `cushim` of the file with this code: beside it, in the folder `bin` beside its own, or, for tests and
/// examples, in the folder above.
fn program() -> Result<PathBuf, String> {
    let own = file_of(program as fn() -> Result<PathBuf, String> as usize)
        .ok_or("the file of this code is not known")?;
    let folder = own.parent().unwrap_or(Path::new("/"));
    let names = ["cushim", "../bin/cushim", "../cushim"].map(|name| folder.join(name));
    let found = names.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| format!("no program `cushim` beside {}", own.display()))
}

/// The file that an address of this process was mapped from.
fn file_of(address: usize) -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let number = |text: &str| usize::from_str_radix(text, 16).ok();
        let inside = (number(start)?..number(end)?).contains(&address);
        let path = rest.get(rest.find('/')?..)?;
        inside.then(|| PathBuf::from(path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_in_a_file() {
        let own = file_of(code_is_in_a_file as fn() as usize);
        assert_eq!(own, std::env::current_exe().ok());
        assert_eq!(file_of(1), None);
    }
}
