//! Signals and kernels on the CPU, without a GPU: each fault reaches its owner, and an endless kernel can be
//! interrupted.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../c-tests/virtual")
}

/// Runs on the CPU with a time limit: a run that hangs is killed and fails the test.
fn on_the_cpu(program: &[&str]) -> Command {
    let cushim = env!("CARGO_BIN_EXE_cushim");
    assert!(Path::new(cushim).with_file_name("libvcuda.so").exists(), "run `cargo build` first");
    let mut command = Command::new("timeout");
    command.args(["--foreground", "-s", "KILL", "100", cushim, "run", "--backend", "cpu"]);
    command.args(program);
    command
}

/// The program of `c-tests/virtual/signals.c` in a folder of its own, which `body` may use.
fn with_program(body: impl FnOnce(&str)) {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let program = folder.join("signals");
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(cc);
    command.args(["-O1", "-w", "-o"]).arg(&program).arg(sources().join("signals.c")).arg("-ldl");
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    body(program.to_str().unwrap());
}

/// The exit status by the shell's convention, as `cushim run` returns it.
fn code(done: &Output) -> i32 {
    done.status.code().or(done.status.signal().map(|signal| 128 + signal)).unwrap()
}

#[test]
fn a_kernels_fault_is_an_error_and_the_programs_is_its_own() {
    with_program(|program| {
        for (mode, expected) in [("fault", 139), ("fault-before", 7), ("fault-after", 7)] {
            let done = on_the_cpu(&[program, mode]).output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr);
            assert_eq!(String::from_utf8_lossy(&done.stdout), "launched\n700\n", "{mode}: {said}");
            assert_eq!(code(&done), expected, "{mode}: {said}");
            assert!(
                said.contains("; kernel load, ") && said.contains(", PTX 12:3"),
                "{mode}: {said}"
            );
        }
    });
}

#[test]
fn a_kernel_that_never_ends_is_interrupted() {
    with_program(|program| {
        for (mode, expected) in [("plain", 130), ("handled", 5)] {
            let mut command = on_the_cpu(&[program, mode]);
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let mut output = BufReader::new(child.stdout.take().unwrap());
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            assert_eq!(line, "launched\n", "{mode}");
            // As the keyboard does: the signal goes to the launcher and the program, which share this test's process group.
            let of = format!("/proc/{0}/task/{0}/children", child.id());
            let launcher = std::fs::read_to_string(of).unwrap();
            let launcher: i32 = launcher.trim().parse().unwrap();
            // SAFETY: sends a signal to a process that this test started and has not waited for.
            unsafe { libc::kill(launcher, libc::SIGINT) };
            output.read_to_string(&mut line).unwrap();
            let status = child.wait().unwrap();
            assert_eq!(line, "launched\n", "{mode}: the wait was not over");
            assert_eq!(
                status.code().or(status.signal().map(|n| 128 + n)),
                Some(expected),
                "{mode}"
            );
        }
    });
}

#[test]
fn python_keeps_its_signals() {
    let script = sources().join("signals.py");
    let run =
        |mode: &str| on_the_cpu(&["python3", script.to_str().unwrap(), mode]).output().unwrap();
    let done = run("fault");
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(String::from_utf8_lossy(&done.stdout), "kernel 700\n", "{said}");
    assert_eq!(code(&done), 139, "{said}");
    assert_eq!(said.matches("Fatal Python error: Segmentation fault").count(), 1, "{said}");
    assert!(said.contains("in string_at"), "{said}");

    let done = run("interrupt");
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!((code(&done), &*said), (0, ""), "{}", String::from_utf8_lossy(&done.stdout));
    let out = String::from_utf8_lossy(&done.stdout);
    let mut lines: Vec<&str> = out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["KeyboardInterrupt", "KeyboardInterrupt", "ending", "waited 0"]);
}
