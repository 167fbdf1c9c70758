//! The process with LLVM's library: what `cushim __llvm` does.
//!
//! Owns reporting the library, making one object file, and ending as soon as nobody waits for it. Must not know who
//! asks.

use super::library;
use super::wire::{ARGUMENT, BUILD, hello, made, receive, send};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};

/// Whether the arguments of a program ask for this.
fn is_asked(mut arguments: impl Iterator<Item = OsString>) -> bool {
    let first = arguments.nth(1);
    first.is_some_and(|first| first.as_encoded_bytes() == ARGUMENT.to_bytes())
        && arguments.next().is_none()
}

/// Serves another cushim process on standard input, which is a socket; false if the arguments do not ask for that.
#[must_use]
pub fn serve(arguments: impl Iterator<Item = OsString>) -> bool {
    if !is_asked(arguments) {
        return false;
    }
    // SAFETY: this thread's mask; whoever started the process had all signals blocked.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
    // SAFETY: standard input, which nobody else in this process reads.
    let mut socket = unsafe { File::from_raw_fd(0) };
    end_with(&socket);
    let found = library::find();
    let about = found.as_ref().map(|l| l.about()).map_err(String::clone);
    if send(&mut socket, &hello(BUILD, about)).is_err() {
        return true;
    }
    let (Ok(cpu), Ok(text)) = (receive(&mut socket), receive(&mut socket)) else { return true };
    limit();
    let (cpu, text) = (String::from_utf8_lossy(&cpu), String::from_utf8_lossy(&text));
    let object = found.and_then(|library| library.object(&text, &cpu));
    let _ = send(&mut socket, &made(object));
    true
}

/// The most bytes of memory, and seconds of CPU time, for one kernel: more than any has taken.
const MEMORY: u64 = 4 << 30;
const SECONDS: u64 = 300;

/// Limits LLVM's memory and CPU time; beyond that the process ends, and the kernel stays with Cranelift.
fn limit() {
    let both = |most| libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: two structures are read.
    unsafe {
        libc::setrlimit(libc::RLIMIT_AS, &both(MEMORY));
        libc::setrlimit(libc::RLIMIT_CPU, &both(SECONDS));
        libc::setrlimit(libc::RLIMIT_CORE, &both(0));
    }
}

/// Starts a thread that ends the process, whatever it does, when the other end of the socket is closed.
fn end_with(socket: &File) {
    let socket = socket.as_raw_fd();
    std::thread::spawn(move || {
        let mut asked = libc::pollfd { fd: socket, events: 0, revents: 0 };
        loop {
            // SAFETY: one structure is read and written; the socket stays open as long as the process.
            unsafe {
                if libc::poll(&raw mut asked, 1, -1) > 0 {
                    libc::_exit(0);
                }
            }
        }
    });
}
