//! The process that has LLVM's library, as the program sees it.
//!
//! Owns starting it for one text, and asking it. Libraries of LLVM are large, take what they want of a process, and end it at
//! an error; a program may have one itself. So it is the program `cushim`, beside the library that this code is in, which
//! opens one. It ends when this process does, at once, and nothing of it is in the program but a socket that only one thread
//! has. Must not know LLVM's functions.

use super::asked::asked;
use super::spawn;
use super::wire::{ARGUMENT, BUILD, Library, Made, read_hello, read_made, receive, send};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// How long an answer may take, and how long a text may wait to be taken.
const PATIENCE: Duration = Duration::from_secs(120);

/// The library, once one was found, or why there is none: nothing is tried twice.
static FOUND: OnceLock<Result<Library, String>> = OnceLock::new();

/// A process that has said which library it has.
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

/// The library in use. The thread has files of its own ([`with_own_files`]).
pub(super) fn library() -> Result<Library, String> {
    FOUND.get_or_init(|| Ok(Process::start()?.library)).clone()
}

/// The object file of a text in LLVM's language, optimised for a processor. The thread has files of its own.
///
/// # Errors
/// What LLVM says, or why it is not there.
pub(super) fn object(text: &str, cpu: &str) -> Result<Made, String> {
    let found = library()?;
    let mut process = Process::start()?;
    match process.library == found {
        true => process.object(text, cpu),
        false => Err("LLVM's library has changed meanwhile".into()),
    }
}

/// Runs something on a thread that has files of its own and on which no signal handler runs, and waits for it.
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

/// The program `cushim` that belongs to the file that this code is in: beside it, in the folder `bin` beside its own, or, of
/// tests and examples, in the folder above.
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
