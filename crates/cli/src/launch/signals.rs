//! Signals while the program runs: the launcher has no signal handlers; it takes signals from a queue between two
//! reads of the trace.
//!
//! Owns: which signals are passed on and when, and what the program inherits. Must not know: traces.

use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// Signals that are passed on.
const FORWARDED: [i32; 8] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGTERM,
    libc::SIGCONT,
];

/// The program, while it runs; else 0.
static PROGRAM: AtomicU32 = AtomicU32::new(0);

/// Passes on what came for the program, without waiting: for a launcher that waits for the reader of its output. Where
/// the program has ended, this process is to end instead, and does.
pub fn pass_on() {
    let program = PROGRAM.load(Ordering::Relaxed);
    while let Some(came) = next_of(&forwarded(), Duration::ZERO) {
        if [libc::SIGTERM, libc::SIGHUP].contains(&came.signal) && has_ended(program) {
            die_of(came.signal);
        }
        came.pass_on(program);
    }
}

/// Whether `program`, the launcher's child or 0, has ended; it may still have to be waited for.
fn has_ended(program: u32) -> bool {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: a place for the answer, which is zeros where there is none; the child stays to be waited for.
    program == 0
        || unsafe {
            libc::waitid(libc::P_PID, program, info.as_mut_ptr(), how) == 0
                && info.assume_init().si_pid() != 0
        }
}

/// Says which program runs; 0: none does any more.
pub fn runs(program: u32) {
    PROGRAM.store(program, Ordering::Relaxed);
}

/// Rust ignores SIGPIPE before `main`, and we ignore SIGXFSZ: a write beyond the limit for files (`ulimit -f`) is an error
/// that we tell. The program must inherit the launcher's original dispositions.
static PIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);
static SIZE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);
/// The signals that were blocked.
static BLOCKED: OnceLock<libc::sigset_t> = OnceLock::new();

#[used]
#[unsafe(link_section = ".init_array")]
static REMEMBER: extern "C" fn() = remember;

extern "C" fn remember() {
    PIPE_WAS_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    SIZE_WAS_IGNORED.store(is_ignored(libc::SIGXFSZ), Ordering::Relaxed);
    let mut blocked = empty();
    // SAFETY: a valid set; nothing changes.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, std::ptr::null(), &mut blocked) };
    let _ = BLOCKED.set(blocked);
}

/// From here on a write beyond the file-size limit fails and does not end the launcher.
pub fn outlive_limits() {
    // SAFETY: a disposition without a handler.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Before this process becomes the program: all that the launcher found.
pub fn restore_all() {
    restore_dispositions();
    if let Some(blocked) = BLOCKED.get() {
        // SAFETY: a valid set.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, blocked, std::ptr::null_mut()) };
    }
}

/// What the launcher found. Async-signal-safe.
fn restore_dispositions() {
    let found = [(libc::SIGPIPE, &PIPE_WAS_IGNORED), (libc::SIGXFSZ, &SIZE_WAS_IGNORED)];
    for (signal, was_ignored) in found {
        let ignored = was_ignored.load(Ordering::Relaxed);
        // SAFETY: a disposition without a handler.
        unsafe { libc::signal(signal, if ignored { libc::SIG_IGN } else { libc::SIG_DFL }) };
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: all zeros is a valid `sigaction`; without a new action nothing changes.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}

/// The queue.
pub struct Signals {
    taken: libc::sigset_t,
    before: libc::sigset_t,
    children_were_ignored: bool,
}

/// One signal that came.
#[derive(Clone, Copy, Debug)]
pub struct Came {
    /// Which.
    pub signal: i32,
    /// Who sent it; `None`: the kernel, which sends a terminal's signals to the program too.
    pub sender: Option<u32>,
}

impl Signals {
    /// From here on signals wait in the queue.
    pub fn block() -> Self {
        let children_were_ignored = is_ignored(libc::SIGCHLD);
        let mut taken = empty();
        let mut before = empty();
        // SAFETY: valid sets; ignored SIGCHLD would mean that no child's status is kept.
        unsafe {
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            for signal in FORWARDED.into_iter().chain([libc::SIGCHLD]) {
                libc::sigaddset(&mut taken, signal);
            }
            libc::sigprocmask(libc::SIG_BLOCK, &taken, &mut before);
        }
        Signals { taken, before, children_were_ignored }
    }

    /// In the child, before the program: restores what the launcher found. Async-signal-safe.
    pub fn restore(&self) {
        let disposition = |ignored| if ignored { libc::SIG_IGN } else { libc::SIG_DFL };
        restore_dispositions();
        // SAFETY: a disposition without a handler, and a mask that was in force before.
        unsafe {
            libc::signal(libc::SIGCHLD, disposition(self.children_were_ignored));
            libc::sigprocmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut());
        }
    }

    /// The next signal, waiting at most `patience`.
    pub fn next(&mut self, patience: Duration) -> Option<Came> {
        next_of(&self.taken, patience)
    }

    /// The program is gone: a further Ctrl-C is for the launcher. Pending signals for the program
    /// are dropped.
    pub fn release_keyboard(&mut self) {
        while self.next(Duration::ZERO).is_some() {}
        let mut keyboard = empty();
        // SAFETY: a valid set.
        unsafe {
            libc::sigaddset(&mut keyboard, libc::SIGINT);
            libc::sigaddset(&mut keyboard, libc::SIGQUIT);
            libc::sigprocmask(libc::SIG_UNBLOCK, &keyboard, std::ptr::null_mut());
        }
    }
}

/// The next signal of `set`, waiting at most `patience`.
fn next_of(set: &libc::sigset_t, patience: Duration) -> Option<Came> {
    let time = libc::timespec {
        tv_sec: patience.as_secs() as libc::time_t,
        tv_nsec: patience.subsec_nanos().into(),
    };
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: a valid set, a place for the answer, a valid time.
    let signal = unsafe { libc::sigtimedwait(set, info.as_mut_ptr(), &time) };
    if signal <= 0 {
        return None;
    }
    // SAFETY: sigtimedwait filled it in; user codes (0 and below) carry the sender.
    let (code, pid) = unsafe {
        let info = info.assume_init();
        (info.si_code, info.si_pid())
    };
    Some(Came { signal, sender: (code <= 0).then_some(pid as u32) })
}

fn forwarded() -> libc::sigset_t {
    let mut set = empty();
    for signal in FORWARDED {
        // SAFETY: a valid set and signal.
        unsafe { libc::sigaddset(&mut set, signal) };
    }
    set
}

impl Came {
    /// Whether we must pass it on to the program `child`: not if the kernel sent it, nor if the
    /// program or its descendants did, which means a signal to the whole group.
    pub fn is_for(&self, child: u32) -> bool {
        self.signal != libc::SIGCHLD
            && (self.signal == libc::SIGCONT || self.sender.is_some_and(|s| !descends(s, child)))
    }

    /// Sends it to the program `child`, which the launcher has not yet waited for, if the signal is meant for that.
    pub fn pass_on(&self, child: u32) {
        if child != 0 && self.is_for(child) {
            // SAFETY: a signal to our child.
            unsafe { libc::kill(child as libc::pid_t, self.signal) };
        }
    }
}

fn empty() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset fills in the whole set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

/// Whether `pid` is `ancestor` or one of its descendants.
fn descends(mut pid: u32, ancestor: u32) -> bool {
    for _ in 0..64 {
        if pid == ancestor {
            return true;
        }
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // `pid (name) state ppid …`; the name may hold anything.
        let parent =
            stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        match parent {
            Some(parent) if parent > 1 => pid = parent,
            _ => return false,
        }
    }
    false
}

/// Ends this process by `signal`, without a core dump of its own: the program wrote one if the user
/// wants one. Comes back if the signal does not end a process.
pub fn die_of(signal: i32) {
    // SAFETY: plain system calls on this process; the set is valid.
    unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        libc::signal(signal, libc::SIG_DFL);
        let mut set = empty();
        libc::sigaddset(&mut set, signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::raise(signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families() {
        let own = std::process::id();
        assert!(descends(own, own));
        assert!(!descends(1, own));
        // SAFETY: it takes nothing and cannot fail.
        let parent = unsafe { libc::getppid() } as u32;
        assert!(descends(own, parent) && !descends(parent, own));
    }
}
