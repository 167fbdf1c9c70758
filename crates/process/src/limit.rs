//! Writes to files in a process with a file-size limit (`RLIMIT_FSIZE`, `ulimit -f`).
//!
//! Owns: that a write beyond the limit only fails, with EFBIG. The signal that comes with it (SIGXFSZ) would end the
//! program. Must not know: what is written.

use libc::c_long;

/// SIGXFSZ in a set of signals as the kernel has it (linux/signal.h): signal 1 is bit 0.
static SIGNAL: u64 = 1 << (libc::SIGXFSZ - 1);
/// The size of such a set, in bytes.
const SET: c_long = size_of::<u64>() as c_long;

/// The signal, held back from this thread until this is dropped.
struct Held {
    /// The signals that the thread held back before.
    before: u64,
    /// One waited already: it is the program's.
    waited: bool,
}

impl Held {
    /// `None` where no write can raise it: files have no limit.
    fn back() -> Option<Self> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: a place for the answer.
        let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0;
        if known && limit.rlim_cur == libc::RLIM_INFINITY {
            return None;
        }
        let (mut waiting, mut before) = (0u64, 0u64);
        // By number: the C library's functions may be replaced, also before they work.
        // SAFETY: sets of the size that is given.
        unsafe {
            libc::syscall(libc::SYS_rt_sigpending, &raw mut waiting, SET);
            let how = libc::SIG_BLOCK as c_long;
            let set = &raw const SIGNAL;
            let done = libc::syscall(libc::SYS_rt_sigprocmask, how, set, &raw mut before, SET);
            (done == 0).then_some(Held { before, waited: waiting & SIGNAL != 0 })
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let nothing = std::ptr::null::<u64>();
        // SAFETY: sets of the size that is given; errno is this thread's, and stays as the write left it.
        unsafe {
            let errno = libc::__errno_location();
            let left = *errno;
            if !self.waited {
                let (set, now) = (&raw const SIGNAL, &raw const now);
                libc::syscall(libc::SYS_rt_sigtimedwait, set, nothing, now, SET);
            }
            let how = libc::SIG_SETMASK as c_long;
            let before = &raw const self.before;
            libc::syscall(libc::SYS_rt_sigprocmask, how, before, nothing, SET);
            *errno = left;
        }
    }
}

/// Runs `write`, which writes files on this thread. What is beyond the limit fails with EFBIG and raises no signal.
pub fn without_signal<T>(write: impl FnOnce() -> T) -> T {
    let _held = Held::back();
    write()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::FromRawFd;

    /// In a process of its own, as limits are a process's.
    fn in_child(work: impl FnOnce() -> i32) -> i32 {
        // SAFETY: the child makes system calls and ends by `_exit`.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                let limit = libc::rlimit { rlim_cur: 4, rlim_max: 4 };
                libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
                libc::_exit(work());
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            if libc::WIFSIGNALED(status) {
                -libc::WTERMSIG(status)
            } else {
                libc::WEXITSTATUS(status)
            }
        }
    }

    fn file() -> File {
        // SAFETY: a name; the descriptor is not used elsewhere.
        unsafe {
            let fd = libc::memfd_create(c"limit".as_ptr(), libc::MFD_CLOEXEC);
            assert!(fd >= 0);
            File::from_raw_fd(fd)
        }
    }

    #[test]
    fn a_write_beyond_the_limit_fails_and_no_more() {
        let mut to = file();
        assert_eq!(in_child(|| to.write_all(b"12345678").is_ok().into()), -libc::SIGXFSZ);
        let to = file();
        let error = |mut to: &File| to.write_all(b"12345678").unwrap_err().raw_os_error();
        assert_eq!(in_child(|| without_signal(|| error(&to)).unwrap()), libc::EFBIG);
    }

    /// The mask is as before, and a signal that waited before still waits.
    #[test]
    fn the_programs_own_signal_is_left() {
        let to = file();
        let died = in_child(|| {
            // SAFETY: sets that are filled first; the signal is this thread's.
            unsafe {
                let mut set = std::mem::zeroed();
                libc::sigemptyset(&raw mut set);
                libc::sigaddset(&raw mut set, libc::SIGXFSZ);
                libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
                libc::raise(libc::SIGXFSZ);
                let failed = without_signal(|| (&to).write_all(b"12345678")).is_err();
                let mut waiting = std::mem::zeroed();
                libc::sigpending(&raw mut waiting);
                if !failed || libc::sigismember(&raw const waiting, libc::SIGXFSZ) != 1 {
                    return 9;
                }
                libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
            }
            0
        });
        assert_eq!(died, -libc::SIGXFSZ);
    }
}
