//! The traced program as a child process.
//!
//! Owns: starting it in two steps (its process id is known before it runs, so that `%p` can name the output, and a
//! wrong name is reported before the program runs), waiting for it, and exiting with its status or signal. Must not
//! know: traces.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use super::signals::{self, Signals};
use crate::Error;

/// How often `look` is called.
const INTERVAL: Duration = Duration::from_millis(40);

/// A child that waits until it may start.
pub struct Held {
    pid: libc::pid_t,
    program: OsString,
    go: Option<File>,
    failure: File,
}

/// The running program.
pub struct Child {
    pid: libc::pid_t,
}

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Through exit.
    Status(u8),
    /// By a signal.
    Signal(i32),
}

impl Held {
    /// Forks; the child waits. `set` are variables for its environment.
    pub fn fork(
        command: &[OsString],
        set: &[(&str, OsString)],
        signals: &Signals,
    ) -> Result<Self, Error> {
        let program = command[0].clone();
        let fail = |source| Error::start(&program, source);
        let arguments = command
            .iter()
            .map(|word| CString::new(word.as_bytes()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|e| fail(e.into()))?;
        let environment = environment(set).map_err(fail)?;
        let argv = pointers(&arguments);
        let envp = pointers(&environment);
        let (go_read, go) = pipe().map_err(fail)?;
        let (failure, failure_write) = pipe().map_err(fail)?;
        // SAFETY: this program has one thread; the child only makes system calls on prepared memory.
        let pid = unsafe { libc::fork() };
        if pid < 0 {
            return Err(fail(io::Error::last_os_error()));
        }
        if pid == 0 {
            drop((go, failure));
            start_program(&argv, &envp, go_read, failure_write, signals);
        }
        Ok(Held { pid, program, go: Some(go), failure })
    }

    /// The program's process id.
    pub fn id(&self) -> u32 {
        self.pid as u32
    }

    /// Lets the program start.
    pub fn release(mut self) -> Result<Child, Error> {
        // If the child is already gone (Ctrl-C), waiting for it tells so.
        let _ = self.go.take().map(|mut go| go.write_all(b"g"));
        let mut code = [0; 4];
        // At exec the pipe closes by itself: no bytes mean that the program runs.
        match self.failure.read_exact(&mut code) {
            Ok(()) => {
                let source = io::Error::from_raw_os_error(i32::from_ne_bytes(code));
                Err(Error::start(&self.program, source))
            }
            Err(_) => {
                let pid = std::mem::replace(&mut self.pid, 0);
                allow_many_files();
                Ok(Child { pid })
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.go.take());
        if self.pid > 0 {
            // SAFETY: our child, which ends by itself now.
            unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
        }
    }
}

/// The child's part: between fork and exec, so nothing but system calls.
fn start_program(
    argv: &[*const libc::c_char],
    envp: &[*const libc::c_char],
    mut go: File,
    mut failure: File,
    signals: &Signals,
) -> ! {
    let mut word = [0; 1];
    if go.read_exact(&mut word).is_err() {
        // SAFETY: ends this process without running anything of its parent's.
        unsafe { libc::_exit(125) };
    }
    signals.restore();
    // SAFETY: NULL-terminated arrays of NUL-terminated strings.
    unsafe {
        libc::execvpe(argv[0], argv.as_ptr(), envp.as_ptr());
        let code = *libc::__errno_location();
        let _ = failure.write_all(&code.to_ne_bytes());
        libc::_exit(125)
    }
}

/// One open file for each traced process: as many as the system allows. After the fork, so that the
/// program keeps its own limit.
fn allow_many_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid place for the limit.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: two new descriptors that nobody else has.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]).into(), OwnedFd::from_raw_fd(ends[1]).into()) })
}

unsafe extern "C" {
    static mut environ: *const *const libc::c_char;
}

/// Our environment with these variables, each where it was, new ones at the end. All else stays unchanged, also entries
/// without `=` and duplicates.
fn environment(set: &[(&str, OsString)]) -> io::Result<Vec<CString>> {
    let entry = |name: &str, value: &OsString| {
        let parts = [name.as_bytes(), b"=", value.as_bytes()];
        CString::new(parts.concat()).map_err(io::Error::from)
    };
    // SAFETY: an array of strings that ends with null, or null. This program has one thread.
    let mut at = unsafe { environ };
    let next = move || {
        // SAFETY: null, or a place of the array.
        let one = unsafe { at.as_ref() }.copied().filter(|one| !one.is_null())?;
        // SAFETY: this entry is not the last, and is a string.
        unsafe {
            at = at.add(1);
            Some(CStr::from_ptr(one))
        }
    };
    let mut done = vec![false; set.len()];
    let mut all = Vec::new();
    for old in std::iter::from_fn(next) {
        let is_it = |(name, _): &(&str, OsString)| {
            old.to_bytes().strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
        };
        match set.iter().rposition(is_it) {
            None => all.push(old.to_owned()),
            Some(n) if !done[n] => {
                done[n] = true;
                all.push(entry(set[n].0, &set[n].1)?);
            }
            Some(_) => {}
        }
    }
    for (n, (name, value)) in set.iter().enumerate() {
        // The last of a name counts.
        if !done[n] && set[n + 1..].iter().all(|(other, _)| other != name) {
            all.push(entry(name, value)?);
        }
    }
    Ok(all)
}

/// Becomes the program, with these variables, and signals as the launcher found them. Returns only if that fails.
pub fn become_program(command: &[OsString], set: &[(&str, OsString)]) -> Error {
    let words = command.iter().map(|word| CString::new(word.as_bytes()));
    let arguments = words.collect::<Result<Vec<_>, _>>().map_err(io::Error::from);
    let (arguments, environment) = match (arguments, environment(set)) {
        (Ok(arguments), Ok(environment)) => (arguments, environment),
        (Err(error), _) | (_, Err(error)) => return Error::start(&command[0], error),
    };
    let (argv, envp) = (pointers(&arguments), pointers(&environment));
    signals::restore_all();
    // SAFETY: arrays of strings that end with null, alive for the call; this program has one thread. The program is searched
    // in its own PATH.
    let error = unsafe {
        let before = environ;
        environ = envp.as_ptr();
        libc::execvp(argv[0], argv.as_ptr());
        let error = io::Error::last_os_error();
        environ = before;
        error
    };
    Error::start(&command[0], error)
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect()
}

impl Child {
    /// Waits for the end, passing signals on and calling `look` now and then.
    pub fn wait(&self, signals: &mut Signals, look: &mut dyn FnMut()) -> Ending {
        loop {
            if let Some(came) = signals.next(INTERVAL) {
                came.pass_on(self.pid as u32);
            }
            signals::runs(self.pid as u32);
            if let Some(ending) = self.look() {
                signals::runs(0);
                return ending;
            }
            look();
        }
    }

    fn look(&self) -> Option<Ending> {
        let mut status = 0;
        // SAFETY: our child, and a place for the answer.
        let got = unsafe { libc::waitpid(self.pid, &mut status, libc::WNOHANG | libc::WUNTRACED) };
        if got == 0 {
            return None;
        }
        if got < 0 {
            let interrupted = io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
            return (!interrupted).then_some(Ending::Status(crate::OWN_FAILURE));
        }
        if libc::WIFSTOPPED(status) {
            // Terminal stops reach the launcher as part of the group; a program that is stopped alone
            // stops its launcher, so that the shell sees it, and both continue together.
            if libc::WSTOPSIG(status) == libc::SIGSTOP {
                // SAFETY: signals to ourselves and to our child.
                unsafe {
                    libc::raise(libc::SIGSTOP);
                    libc::kill(self.pid, libc::SIGCONT);
                }
            }
            return None;
        }
        Some(match libc::WIFSIGNALED(status) {
            true => Ending::Signal(libc::WTERMSIG(status)),
            false => Ending::Status(libc::WEXITSTATUS(status) as u8),
        })
    }
}

impl Ending {
    /// Ends this process by the same signal, or returns the exit code.
    pub fn end(self) -> u8 {
        match self {
            Ending::Status(code) => code,
            Ending::Signal(signal) => {
                signals::die_of(signal);
                128u8.wrapping_add(signal as u8)
            }
        }
    }
}

impl Error {
    /// `program` cannot be started. "Not found" for an existing file means that its interpreter is
    /// missing.
    pub fn start(program: &OsStr, source: io::Error) -> Self {
        let named = program.as_bytes().contains(&b'/');
        let path = std::path::Path::new(program);
        let source = match source.kind() {
            io::ErrorKind::PermissionDenied if named && path.is_dir() => {
                io::Error::new(io::ErrorKind::PermissionDenied, "it is a folder")
            }
            io::ErrorKind::NotFound if named && path.exists() => {
                io::Error::other("the interpreter or loader that it asks for is not found")
            }
            io::ErrorKind::NotFound if !named => {
                io::Error::new(io::ErrorKind::NotFound, "it is not on PATH")
            }
            _ => source,
        };
        Error::Start { program: program.to_string_lossy().into_owned(), source }
    }
}
