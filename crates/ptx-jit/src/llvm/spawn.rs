//! A process of cushim that the program does not notice.
//!
//! Owns starting it: it is no child of the program, which may wait for any child; neither opens or closes file
//! descriptors of the other. Must not know what the process does.

use std::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::ptr::null;

/// Stack bytes of a process before it becomes another program.
const STACK: usize = 64 << 10;
/// `close_range` (Linux 5.9), and its flag that gives a thread its own file descriptor table.
const CLOSE_RANGE: libc::c_long = 436;
const UNSHARE: libc::c_uint = 2;

/// The name of such a thread.
const NAME: &CStr = c"cuda-llvm";

/// Gives this thread its own file descriptor table, with only `/dev/null` three times. For threads that end soon.
///
/// # Errors
/// Why the system refuses it.
pub(super) fn own_files() -> Result<(), String> {
    let failed = || format!("files of its own: {}", std::io::Error::last_os_error());
    // SAFETY: closes the files of this thread alone. Nobody else's are touched, and the caller has none it still needs.
    unsafe {
        libc::pthread_setname_np(libc::pthread_self(), NAME.as_ptr());
        if libc::syscall(CLOSE_RANGE, 0, libc::c_uint::MAX, UNSHARE) != 0 {
            if libc::unshare(libc::CLONE_FILES) != 0 {
                return Err(failed());
            }
            let all = std::fs::read_dir("/proc/thread-self/fd").map_err(|e| e.to_string())?;
            let all: Vec<RawFd> =
                all.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
            all.into_iter().for_each(|fd| {
                libc::close(fd);
            });
        }
        for fd in 0..3 {
            if libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) != fd {
                return Err(failed());
            }
        }
    }
    Ok(())
}

/// What the intermediate processes need.
struct Start {
    program: *const libc::c_char,
    arguments: *const *const libc::c_char,
    environment: *const *const libc::c_char,
    socket: RawFd,
    stack: *mut libc::c_void,
    /// Why it did not begin; 0 if it did.
    error: libc::c_int,
}

/// Starts a program whose standard input is the other end of the returned socket. The thread must have its own file
/// descriptor table ([`own_files`]) and run no signal handler.
///
/// # Errors
/// Why it does not start.
pub(super) fn start(
    program: &CStr,
    arguments: &[&CStr],
    environment: &[&CStr],
) -> Result<UnixStream, String> {
    // SAFETY: both calls only ask.
    let (process, mut adopts) = (unsafe { libc::getpid() }, 0 as libc::c_int);
    // SAFETY: a number is written.
    unsafe { libc::prctl(libc::PR_GET_CHILD_SUBREAPER, &raw mut adopts) };
    if process == 1 || adopts != 0 {
        // It might wait for any child, and the new process would be one.
        return Err("the program is given processes that have lost their parent".into());
    }
    let (own, other) = UnixStream::pair().map_err(|e| e.to_string())?;
    // The program's standard input must stay open: a number below three would be closed.
    let other = above_standard(other.into())?;
    let pointers = |all: &[&CStr]| -> Vec<*const libc::c_char> {
        all.iter().map(|s| s.as_ptr()).chain([null()]).collect()
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    let mut stacks = vec![0u128; 2 * STACK / size_of::<u128>()];
    let ends = stacks.as_mut_ptr_range();
    let mut start = Start {
        program: program.as_ptr(),
        arguments: arguments.as_ptr(),
        environment: environment.as_ptr(),
        socket: other.as_raw_fd(),
        stack: ends.end.cast(),
        error: 0,
    };
    // SAFETY: this thread stands still until the process has ended, which has half of the stacks; it ends without a signal,
    // and no wait for any child finds it.
    let waited = unsafe {
        let middle = ends.start.byte_add(STACK).cast();
        let flags = libc::CLONE_VM | libc::CLONE_VFORK;
        let pid = libc::clone(between, middle, flags, (&raw mut start).cast());
        if pid < 0 {
            return Err(std::io::Error::last_os_error().to_string());
        }
        libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL)
    };
    let _ = waited;
    match start.error {
        0 => Ok(own),
        error => Err(std::io::Error::from_raw_os_error(error).to_string()),
    }
}

fn above_standard(fd: OwnedFd) -> Result<OwnedFd, String> {
    if fd.as_raw_fd() > 2 {
        return Ok(fd);
    }
    let file = File::from(fd);
    // SAFETY: a new number, which is ours alone.
    let new = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3) };
    match new {
        // SAFETY: just made.
        new if new >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(new) }),
        _ => Err(std::io::Error::last_os_error().to_string()),
    }
}

/// The intermediate process: it starts the other one and ends, so that one's parent is the system.
extern "C" fn between(start: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `start` gave it, and waits. Only system calls are made.
    unsafe {
        let given = &mut *start.cast::<Start>();
        let flags = libc::CLONE_VM | libc::CLONE_VFORK;
        if libc::clone(becomes, given.stack, flags, start) < 0 {
            given.error = *libc::__errno_location();
        }
    }
    0
}

extern "C" fn becomes(start: *mut libc::c_void) -> libc::c_int {
    // SAFETY: as above; the thread that waits looks at it when this process has ended, or become another program.
    unsafe {
        let given = &mut *start.cast::<Start>();
        if libc::dup2(given.socket, 0) == 0 {
            libc::execve(given.program, given.arguments, given.environment);
        }
        given.error = *libc::__errno_location();
    }
    127
}
