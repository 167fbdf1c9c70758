//! Restricted programs: sandboxes that refuse system calls, and limits of all kinds. They run as without cushim,
//! cushim prints nothing on their stderr, and as much as possible is recorded.

use std::path::Path;

use crate::compare::behaves;
use cushim_testkit::needs::left_out;

use crate::lab::{How, Lab, library};

fn how() -> How {
    // The stub's own log needs calls that are refused here.
    How::default()
        .with("STUB_LOG", "/dev/null")
        .with("CUSHIM_EVENTS", "launch")
        .with("CUSHIM_LOG", "off")
}

/// The calls are refused before the first use of CUDA, and after the first launch.
#[test]
fn system_calls_that_are_refused() {
    let lab = Lab::new();
    let program = lab.program("denied.c", 12);
    if lab.run(&program, &["getrandom", "EPERM"], &how()).end == "exit 77" {
        return left_out("refused system calls: no seccomp here");
    }
    let calls = [
        "getrandom",
        "clock_gettime",
        "openat",
        "open",
        "memfd_create",
        "fallocate",
        "mmap",
        "madvise",
        "ftruncate",
        "fcntl",
        "newfstatat",
        "readlink",
        "fstat",
        "munmap",
        "prlimit64",
        "getrlimit",
        "futex",
        "statx",
        "mremap",
        "sched_yield",
    ];
    for call in calls {
        for answer in ["EPERM", "ENOSYS"] {
            for late in [&[][..], &["late"]] {
                let arguments = [&[call, answer][..], late].concat();
                let ran = behaves(&lab, &program, &arguments, &how());
                println!(
                    "{call} {answer} {late:?}: {} recorded",
                    ran.traces.iter().map(|t| t.launches().len()).sum::<usize>()
                );
                for trace in &ran.traces {
                    let there = trace.launches().len() as u64 + trace.lost.iter().sum::<u64>();
                    assert!(there <= 3001 && trace.damaged == 0, "{call} {answer}: {there}");
                    // Calls without which the recorder still records everything.
                    if ["getrandom", "clock_gettime", "memfd_create", "fallocate", "madvise"]
                        .contains(&call)
                    {
                        assert_eq!(
                            trace.launches().len() as u64,
                            3000 + u64::from(!late.is_empty()),
                            "{call}"
                        );
                    }
                }
            }
        }
    }
}

/// Calls that cushim never makes, or makes only when the program expects them, may end the program.
#[test]
fn system_calls_that_end_the_program() {
    let lab = Lab::new();
    let program = lab.program("denied.c", 12);
    if lab.run(&program, &["getrandom", "EPERM"], &how()).end == "exit 77" {
        return left_out("refused system calls: no seccomp here");
    }
    for call in
        ["getrandom", "clock_gettime", "memfd_create", "open", "ftruncate", "newfstatat", "statx"]
    {
        let ran = behaves(&lab, &program, &[call, "kill"], &how());
        assert_eq!(ran.traces[0].launches().len(), 3000, "{call}");
    }
}

/// In a program without CUDA, cushim makes system calls only at its start.
#[test]
fn limits() {
    let lab = Lab::new();
    let (plain, cuda) =
        (lab.build("plain", "sane.c", &["-lpthread", "-ldl"]), lab.program("threads.c", 12));
    let size = std::fs::metadata(library()).unwrap().len() >> 10;
    let address_space = |least: u64| format!("ulimit -v {}", size + least);
    let limits = [
        "ulimit -s 64".to_owned(),
        "ulimit -s 128".to_owned(),
        "ulimit -n 8".to_owned(),
        "ulimit -n 64".to_owned(),
        "ulimit -f 0".to_owned(),
        "ulimit -f 1".to_owned(),
        "ulimit -f 40".to_owned(),
        "ulimit -l 0".to_owned(),
        address_space(200_000),
        address_space(400_000),
    ];
    for limit in &limits {
        let line = format!("{limit} && exec \"$0\" \"$@\"");
        let shell = |program: &Path, arguments: &[&str]| {
            let program = program.to_str().unwrap();
            let arguments = [&["-c", line.as_str(), program][..], arguments].concat();
            behaves(&lab, Path::new("/bin/sh"), &arguments, &how())
        };
        println!("{limit}");
        shell(&plain, &[]);
        let ran = shell(&cuda, &["together", "2", "2000"]);
        // Standard output is a file here: with a limit of 0 the program ends by a signal, without and with cushim.
        if limit != "ulimit -f 0" {
            assert_eq!(ran.stdout, "4000 launches\n", "{limit}");
        }
        let counted =
            |t: &crate::trace::Trace| t.launches().len() as u64 + t.lost.iter().sum::<u64>();
        if let Some(trace) = ran.traces.first() {
            assert_eq!(counted(trace), 4000, "{limit}");
        }
        if limit == "ulimit -f 40" {
            let lost = ran.traces[0].lost;
            assert!(lost[cushim_trace::layout::Lost::FileSize as usize] > 0, "{lost:?}");
        }
    }
}

/// Without /proc, and with a read-only folder for the traces.
#[test]
fn nothing_of_the_system_is_there() {
    let lab = Lab::new();
    let cuda = lab.program("threads.c", 12);
    let ran =
        behaves(&lab, &cuda, &["short", "3"], &how().with("CUSHIM_OUTPUT", "/proc/none/%p.cushim"));
    assert!(ran.traces.is_empty());
    let folder = lab.path("made/by %h");
    let into = format!("{}/deep/%p.cushim", folder.to_str().unwrap().replace('%', "%%"));
    behaves(&lab, &cuda, &["short", "3"], &how().with("CUSHIM_OUTPUT", into));
    assert_eq!(crate::trace::read_all(&folder.join("deep"))[0].launches().len(), 6);
    let line = "mount -t tmpfs none /proc 2>/dev/null && exec \"$0\" \"$@\" || echo skipped";
    let arguments = ["-m", "sh", "-c", line, cuda.to_str().unwrap(), "short", "3"];
    let unshare = Path::new("/usr/bin/unshare");
    let alone = lab.run(unshare, &arguments, &How { shim: false, ..how() });
    if alone.end != "exit 0" || alone.stdout.contains("skipped") {
        return left_out("a program without /proc: this system lets nobody mount over it");
    }
    let ran = lab.run(unshare, &arguments, &How { shim: true, ..how() });
    assert_eq!(
        (ran.end.as_str(), ran.stdout.as_str(), ran.stderr.as_str()),
        ("exit 0", "6 launches\n", "")
    );
    assert_eq!(ran.traces[0].launches().len(), 6);
}

/// A trace to /dev/null: no file appears beside it.
#[test]
fn into_the_null_device() {
    let lab = Lab::new();
    let cuda = lab.program("threads.c", 12);
    behaves(&lab, &cuda, &["short", "3"], &how().with("CUSHIM_OUTPUT", "/dev/null"));
    assert!(!Path::new("/dev/null.1").exists());
}
