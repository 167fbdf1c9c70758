//! Programs with unusual behaviour (`strange.c`): they close every file, start without standard files, have their own
//! handlers and stacks, drop privileges, unload cushim. Their output and exit status are the same as without cushim.

use std::path::Path;
use std::process::{Command, Stdio};

use cushim_testkit::needs::left_out;

use crate::compare::behaves;
use crate::headers::toolkit;
use crate::lab::{How, Lab};

fn how() -> How {
    // The stub's own log needs what the program gives up here.
    How::default().with("STUB_LOG", "/dev/null").with("CUSHIM_EVENTS", "launch")
}

/// KiB of the smallest stack on which a thread launches: glibc's least, with optimised code.
const LEAST: &str = if cfg!(debug_assertions) { "20" } else { "16" };

/// What they do, and how many launches are recorded: those of children that only fork are none.
const MODES: [(&[&str], usize); 13] = [
    (&["plain"], 30),
    (&["early-close"], 30),
    (&["close"], 30),
    (&["close-us"], 30),
    (&["early-close-us"], 30),
    (&["stacks", LEAST], 55),
    (&["undumpable"], 30),
    (&["chroot", "."], 30),
    (&["forks", "fork"], 30),
    (&["forks", "vfork"], 30),
    (&["limits"], 30),
    (&["crash"], 10),
    (&["close-all", "said"], 40),
];

/// With a shared runtime, whose calls are recorded, and with a static one.
#[test]
fn as_without_us() {
    let lab = Lab::new();
    for program in [lab.program("strange.c", 12), lab.static_program("strange.c", 13)] {
        for (mode, launches) in MODES {
            // Where there is no /dev.
            let log = if mode[0] == "chroot" { "log" } else { "/dev/null" };
            let ran = behaves(&lab, &program, mode, &how().with("STUB_LOG", log));
            if ran.stdout.contains("skipped") {
                left_out(&format!("strange programs: {} is not allowed here", mode[0]));
                continue;
            }
            if mode[0] != "crash" {
                assert_eq!(ran.end, "exit 7", "{mode:?}: {}", ran.stderr);
            }
            let recorded: usize = ran.traces.iter().map(|trace| trace.launches().len()).sum();
            let lost: u64 = ran.traces.iter().flat_map(|trace| trace.lost).sum();
            // The stub's static runtime reaches no driver.
            let expected = if program.to_string_lossy().ends_with("static") { 0 } else { launches };
            assert_eq!(recorded + lost as usize, expected, "{mode:?}");
        }
    }
}

/// Faults that the program waits for, on its own stack, and ticks of its own timer.
#[test]
fn handlers_of_the_program() {
    let lab = Lab::new();
    let program = lab.program("strange.c", 12);
    let ran = behaves(&lab, &program, &["handlers"], &how());
    assert_eq!(ran.stdout, "20 faults, handler 1, stack 1\n", "{}", ran.stderr);
}

/// Files that the program opens get the same numbers as without cushim, and its output to 1 and 2 is not in cushim's
/// files.
#[test]
fn without_standard_files() {
    let lab = Lab::new();
    let program = lab.program("strange.c", 12);
    let line = "exec \"$0\" files said 0<&- 1>&- 2>&-";
    let ran = |how: How| {
        let ran = lab.run(Path::new("/bin/sh"), &["-c", line, program.to_str().unwrap()], &how);
        assert_eq!(ran.end, "exit 0");
        let said = std::fs::read_to_string(ran.folder.join("said")).unwrap();
        (said, ran.traces)
    };
    let (bare, _) = ran(how());
    let shim = How { shim: true, ..how() };
    let log = lab.path("log");
    let logged = shim.clone().with("CUSHIM_LOG", format!("info,{}", log.to_str().unwrap()));
    for how in [shim, logged] {
        let (said, traces) = ran(how);
        assert_eq!(said, bare);
        assert!(said.ends_with(" 20\n2: Bad file descriptor\n"), "{said}");
        assert!(traces.iter().all(|trace| trace.damaged == 0));
    }
    assert!(std::fs::read_to_string(log).unwrap().starts_with("cushim: "));
}

/// The same on the CPU, where nothing can be compared but what such programs must say.
#[test]
fn on_the_cpu() {
    let Some(toolkit) = toolkit("cuda-12.4") else { return };
    let lab = Lab::new();
    let (source, program) =
        (crate::lab::root().join("c-tests/shim/strange.c"), lab.path("strange"));
    let mut nvcc = Command::new(toolkit.join("bin/nvcc"));
    nvcc.args(["-w", "-x", "cu"]).arg(source).arg("-o").arg(&program);
    let built = nvcc.output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cushim"));
        command.args(["run", "--backend", "cpu"]).arg(&program).args(arguments);
        command.current_dir(lab.path(".")).stdin(Stdio::null());
        let done = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&done.stderr), "", "{arguments:?}");
        (String::from_utf8_lossy(&done.stdout).into_owned(), done.status.code())
    };
    for (mode, launches) in MODES {
        // Kernels are launched on stacks of more than 16 KiB, by NVIDIA's driver, too.
        if matches!(mode[0], "crash" | "stacks" | "close-all") {
            continue;
        }
        let (printed, code) = run(mode);
        let last = printed.lines().last().unwrap_or_default();
        assert_eq!((last, code), (format!("{launches} launches").as_str(), Some(7)), "{mode:?}");
    }
    assert_eq!(run(&["idle-stacks"]), ("16 KiB: Success\n30 launches\n".to_owned(), Some(7)));
    let (printed, code) = run(&["handlers"]);
    assert!(printed.starts_with("20 faults,") && code == Some(0), "{printed}");
}
