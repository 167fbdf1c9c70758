//! Signals, the terminal, job control.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

use crate::support::Bench;

fn kill(pid: u32, signal: i32) {
    // SAFETY: the process belongs to this test.
    assert_eq!(unsafe { libc::kill(pid as i32, signal) }, 0);
}

/// Counts the signals that it gets, for a while after the first.
const COUNTER: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile sig_atomic_t count;
static void on(int s) { (void)s; count++; }
int main(void) {
    int all[] = {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM};
    for (int i = 0; i < 6; i++) signal(all[i], on);
    puts("ready");
    fflush(stdout);
    while (!count) pause();
    for (int i = 0; i < 20; i++) usleep(10000);
    printf("got %d\n", (int)count);
    fflush(stdout);
    return 40;
}
"#;

#[test]
fn signals_to_the_launcher_reach_the_program_once() {
    let bench = Bench::new();
    bench.compile("counter", COUNTER, &[]);
    let all =
        [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGTERM];
    for signal in all {
        let mut running = bench.start(&mut bench.cushim(&["trace", "./counter"]));
        running.until("ready");
        kill(running.id(), signal);
        let done = running.done();
        assert_eq!((done.code(), done.stdout.as_str()), (40, "ready\ngot 1\n"), "signal {signal}");
        assert!(done.stderr.contains("no kernel launch"), "no summary after {signal}: {done:?}");
    }
}

/// Signals that are ignored or blocked stay so, and no others become so.
#[test]
fn what_is_ignored_and_blocked() {
    let bench = Bench::new();
    let ran = |words: &[&str], ignored: &'static [i32]| {
        let mut command = match words {
            [] => Command::new("grep"),
            words => {
                let mut command = bench.cushim(words);
                command.arg("grep");
                command
            }
        };
        command.args(["-E", "Sig(Blk|Ign)", "/proc/self/status"]);
        // SAFETY: system calls only, after those of the standard library.
        unsafe {
            command.pre_exec(move || {
                let mut set = std::mem::zeroed();
                libc::sigemptyset(&raw mut set);
                for signal in ignored {
                    libc::signal(*signal, libc::SIG_IGN);
                    // The next one is blocked.
                    libc::sigaddset(&raw mut set, signal + 1);
                }
                libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
                Ok(())
            });
        }
        bench.start(&mut command).done().stdout
    };
    for ignored in [&[][..], &[libc::SIGPIPE, libc::SIGXFSZ, libc::SIGHUP, libc::SIGUSR1]] {
        let alone = ran(&[], ignored);
        assert!(alone.starts_with("SigBlk:\t"), "{alone}");
        let ways =
            [&["run", "--backend", "native"][..], &["trace"], &["record", "-o", "/dev/null"]];
        for way in ways {
            assert_eq!(ran(way, ignored), alone, "{way:?}");
        }
    }
}

#[test]
fn a_program_that_dies_of_it_is_shown_as_such() {
    let bench = Bench::new();
    let mut running =
        bench.start(&mut bench.cushim(&["trace", "sh", "-c", "echo ready; exec sleep 300"]));
    running.until("ready");
    kill(running.id(), libc::SIGTERM);
    assert_eq!(running.done().status.signal(), Some(libc::SIGTERM));
}

#[test]
fn the_programs_own_signal_to_its_group_is_not_doubled() {
    let bench = Bench::new();
    let source = COUNTER.replace("puts(\"ready\");", "kill(0, SIGUSR1);");
    bench.compile("own", &source, &[]);
    let mut command = bench.cushim(&["trace", "./own"]);
    let done = bench.start(command.process_group(0)).done();
    assert_eq!((done.code(), done.stdout.as_str()), (40, "got 1\n"), "{done:?}");
}

#[test]
fn control_c_comes_once_and_the_summary_is_printed() {
    let bench = Bench::new();
    bench.compile("counter", COUNTER, &[]);
    let (mut main, mut other) = (0, 0);
    // SAFETY: two places for descriptors; name and settings may be null.
    let opened = unsafe {
        libc::openpty(
            &mut main,
            &mut other,
            std::ptr::null_mut(),
            std::ptr::null(),
            std::ptr::null(),
        )
    };
    assert_eq!(opened, 0);
    // SAFETY: two new descriptors that nothing else owns.
    let (mut main, other) = unsafe { (File::from_raw_fd(main), OwnedFd::from_raw_fd(other)) };
    let errors = bench.path("errors");
    let mut command = bench.cushim(&["trace", "./counter"]);
    command
        .stdin(Stdio::from(other.try_clone().unwrap()))
        .stdout(Stdio::from(other))
        .stderr(File::create(&errors).unwrap());
    let own_terminal = || {
        // SAFETY: between fork and exec; a new session, whose terminal is standard input.
        unsafe {
            libc::setsid();
            libc::ioctl(0, libc::TIOCSCTTY, 0);
        }
        Ok(())
    };
    // SAFETY: only system calls.
    unsafe { command.pre_exec(own_terminal) };
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut seen = String::new();
    let mut byte = [0; 1];
    while let Ok(1) = main.read(&mut byte) {
        seen.push(byte[0] as char);
        if seen.ends_with("ready\r\n") {
            use std::io::Write;
            main.write_all(b"\x03").unwrap();
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(40));
    assert!(seen.contains("got 1\r\n"), "{seen:?}");
    assert!(fs::read_to_string(errors).unwrap().contains("no kernel launch"));
}

#[test]
fn a_stopped_program_stops_its_launcher_and_goes_on_with_it() {
    let bench = Bench::new();
    let script = "echo ready; kill -STOP $$; echo again; exit 6";
    let mut running = bench.start(&mut bench.cushim(&["trace", "sh", "-c", script]));
    running.until("ready");
    let state = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes()[0])
    };
    for _ in 0..1000 {
        if state(running.id()) == Some(b'T') {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(state(running.id()), Some(b'T'), "the launcher did not stop");
    kill(running.id(), libc::SIGCONT);
    let done = running.done();
    assert_eq!((done.code(), done.stdout.as_str()), (6, "ready\nagain\n"));
}

#[test]
fn a_second_launcher_sweeps_what_a_killed_one_left() {
    let bench = Bench::new();
    let script = "dirname \"$CUSHIM_OUTPUT\"; echo ready; exec sleep 300";
    let mut running = bench.start(&mut bench.cushim(&["trace", "sh", "-c", script]));
    running.until("ready");
    let spool = running.stdout().lines().next().unwrap().to_owned();
    let child = fs::read_to_string(format!("/proc/{0}/task/{0}/children", running.id())).unwrap();
    kill(running.id(), libc::SIGKILL);
    running.done();
    kill(child.trim().parse().unwrap(), libc::SIGKILL);
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    File::open(&spool).unwrap().set_modified(long_ago).unwrap();
    bench.run(&["trace", "true"]);
    assert!(!fs::exists(&spool).unwrap());
}

#[test]
fn the_process_group_is_the_launchers() {
    let bench = Bench::new();
    let done = bench.start(&mut {
        let mut command: Command =
            bench.cushim(&["trace", "sh", "-c", "ps -o pgid= -p $$ -p $PPID"]);
        command.process_group(0);
        command
    });
    let group = done.id().to_string();
    let done = done.done();
    let groups: Vec<&str> = done.stdout.split_whitespace().collect();
    assert_eq!(groups, [group.as_str(), group.as_str()], "{done:?}");
}
