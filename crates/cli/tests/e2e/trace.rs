//! `cushim trace`: the program must not notice it, and its trace must be shown.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Stdio;

use crate::support::Bench;

#[test]
fn output_and_status_are_the_programs() {
    let bench = Bench::new();
    let done = bench.run(&["trace", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!((done.code(), done.stdout.as_str()), (7, "out\n"));
    assert!(done.stderr.starts_with("err\n"), "{done:?}");
    assert_eq!(bench.run(&["trace", "--", "sh", "-c", "exit 0"]).code(), 0);
}

#[test]
fn options_of_the_program_are_its_own() {
    let bench = Bench::new();
    let done = bench.run(&["trace", "echo", "-n", "--help", "-o", "x"]);
    assert_eq!((done.code(), done.stdout.as_str()), (0, "--help -o x"));
}

#[test]
fn standard_input_reaches_the_program() {
    let bench = Bench::new();
    let mut child = bench
        .cushim(&["trace", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"hello").unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"hello");
}

#[test]
fn a_fatal_signal_is_the_launchers_too() {
    let bench = Bench::new();
    for signal in [libc::SIGSEGV, libc::SIGABRT, libc::SIGKILL, libc::SIGPIPE] {
        let done = bench.run(&["trace", "sh", "-c", &format!("kill -{signal} $$")]);
        assert_eq!(done.status.signal(), Some(signal), "{done:?}");
    }
}

#[test]
fn own_failures_have_their_codes() {
    let bench = Bench::new();
    let done = bench.run(&["trace", "no-such-program-here"]);
    assert_eq!((done.code(), done.stderr.lines().count()), (127, 1), "{done:?}");
    assert_eq!(bench.run(&["trace", "./no/such"]).code(), 127);
    fs::write(bench.path("plain"), "text").unwrap();
    assert_eq!(bench.run(&["trace", "./plain"]).code(), 126);
    fs::write(bench.path("script"), "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(bench.path("script"), fs::Permissions::from_mode(0o755)).unwrap();
    let done = bench.run(&["trace", "./script"]);
    assert_eq!(done.code(), 126);
    assert!(done.stderr.contains("interpreter"), "{done:?}");
    for wrong in
        [&["trace"][..], &["trace", "--no-such-option", "true"], &["trace", "--limit", "x", "true"]]
    {
        assert_eq!(bench.run(wrong).code(), 125, "{wrong:?}");
    }
}

/// execvp passes a file that the kernel refuses to the shell, which would run it as a script.
#[test]
fn a_program_for_another_processor_is_refused_before_it_starts() {
    let bench = Bench::new();
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([2, 0, 183, 0, 1, 0, 0, 0]);
    file.resize(200, 0);
    fs::write(bench.path("arm"), file).unwrap();
    fs::set_permissions(bench.path("arm"), fs::Permissions::from_mode(0o755)).unwrap();
    for command in ["run", "trace", "record"] {
        let done = bench.run(&[command, "./arm"]);
        assert_eq!((done.code(), done.stderr.lines().count()), (126, 1), "{done:?}");
        assert!(done.stderr.contains("aarch64"), "{done:?}");
    }
}

#[test]
fn without_the_library_nothing_runs() {
    let bench = Bench::new();
    let done = bench
        .start(bench.cushim(&["trace", "echo", "ran"]).env("CUSHIM_LIB", "/no/such.so"))
        .done();
    assert_eq!((done.code(), done.stdout.as_str()), (125, ""));
    assert!(
        done.stderr.contains("libcushim.so") && done.stderr.contains("/no/such.so"),
        "{done:?}"
    );
    let done = bench.run(&["trace", "--lib", "/etc/passwd", "echo", "ran"]);
    assert_eq!((done.code(), done.stdout.as_str()), (125, ""));
}

#[test]
fn the_program_finds_what_the_library_needs() {
    let bench = Bench::new();
    let other = bench.compile("libother.so", "int other;", &["-shared", "-fPIC"]);
    let script = r#"echo "$LD_PRELOAD|$CUSHIM_EVENTS|$CUSHIM_NESTED|$CUSHIM_LIMIT|$CUSHIM_LOG";
        stat -c %a "$(dirname "$CUSHIM_OUTPUT")"; dirname "$CUSHIM_OUTPUT""#;
    let arguments = [
        "trace",
        "-e",
        "launch,sync",
        "--nested",
        "--limit",
        "1M",
        "--log",
        "warn",
        "sh",
        "-c",
        script,
    ];
    let done = bench.start(bench.cushim(&arguments).env("LD_PRELOAD", &other)).done();
    let lines: Vec<&str> = done.stdout.lines().collect();
    let preload = format!("{}:{}", other.display(), bench.library.display());
    assert_eq!(
        lines[..2],
        [format!("{preload}|launch,sync|1|1048576|warn").as_str(), "700"],
        "{done:?}"
    );
    assert!(!std::path::Path::new(lines[2]).exists(), "the spool {} is still there", lines[2]);
}

#[test]
fn a_path_that_ld_preload_cannot_express_is_reached() {
    let bench = Bench::new();
    let folder = bench.path("a b:c");
    fs::create_dir(&folder).unwrap();
    fs::copy(&bench.library, folder.join("libcushim.so")).unwrap();
    let mut command = bench.cushim(&["trace", "cat", "/proc/self/maps"]);
    let done = bench.start(command.env("CUSHIM_LIB", folder.join("libcushim.so"))).done();
    assert!(done.stdout.contains("a b:c/libcushim.so"), "{done:?}");
    assert!(!done.stderr.contains("ld.so"), "{done:?}");
}

#[test]
fn disabled_means_untouched() {
    let bench = Bench::new();
    let mut command =
        bench.cushim(&["trace", "sh", "-c", "echo \"[$LD_PRELOAD$CUSHIM_OUTPUT]\"; exit 3"]);
    let done = bench.start(command.env("CUSHIM_DISABLE", "1")).done();
    assert_eq!((done.code(), done.stdout.as_str(), done.stderr.as_str()), (3, "[]\n", ""));
    let mut command = bench.cushim(&["trace", "sh", "-c", "echo \"[$LD_PRELOAD]\""]);
    let done = bench.start(command.env("CUSHIM_DISABLE", "0")).done();
    assert!(done.stdout.contains("libcushim.so"), "{done:?}");
}

#[test]
fn options_come_from_the_environment() {
    let bench = Bench::new();
    let script = "echo \"$CUSHIM_EVENTS|$CUSHIM_NESTED\"";
    let run = |name: &str, value: &str| {
        bench.start(bench.cushim(&["trace", "sh", "-c", script]).env(name, value)).done()
    };
    assert_eq!(run("CUSHIM_EVENTS", "sync").stdout, "sync|\n");
    assert_eq!(run("CUSHIM_NESTED", "1").stdout, "launch,graph,copy,region,map|1\n");
    for off in ["", "0"] {
        assert_eq!(run("CUSHIM_NESTED", off).stdout, "launch,graph,copy,region,map|\n");
        assert_eq!(run("CUSHIM_EVENTS", off).stdout, "launch,graph,copy,region,map|\n");
        assert_eq!(run("CUSHIM_OUTPUT", off).code(), 0);
    }
    assert_eq!(run("CUSHIM_EVENTS", "nonsense").code(), 125);
    let done = run("CUSHIM_EVENT", "sync");
    let warnings: Vec<&str> = done.stderr.lines().filter(|l| l.contains("CUSHIM_EVENT;")).collect();
    assert_eq!(warnings.len(), 1, "{done:?}");
    assert!(warnings[0].contains("did you mean CUSHIM_EVENTS?"), "{done:?}");
}

#[test]
fn a_trace_inside_a_trace_takes_no_words_for_its_own() {
    let bench = Bench::new();
    let program = env!("CARGO_BIN_EXE_cushim");
    let library = bench.library.display();
    let inner = format!("{program} trace --lib {library} sh -c 'echo \"$CUSHIM_EVENTS\"'");
    let mut command = bench.cushim(&["trace", "-e", "all", "sh", "-c"]);
    command.arg(inner);
    let done = bench.start(&mut command).done();
    assert_eq!(
        (done.code(), done.stdout.as_str()),
        (0, "launch,graph,copy,region,map\n"),
        "{done:?}"
    );
}

#[test]
fn signal_dispositions_are_inherited_unchanged() {
    let bench = Bench::new();
    let status = ["sh", "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status"];
    for ignored in [&[][..], &[libc::SIGPIPE], &[libc::SIGPIPE, libc::SIGCHLD, libc::SIGINT]] {
        let prepare = |command: &mut std::process::Command| {
            let ignored = ignored.to_vec();
            let set = move || {
                for &signal in &ignored {
                    // SAFETY: SIG_DFL or SIG_IGN, no handler.
                    unsafe { libc::signal(signal, libc::SIG_IGN) };
                }
                Ok(())
            };
            // SAFETY: only system calls between fork and exec.
            unsafe { command.pre_exec(set) };
        };
        let mut alone = std::process::Command::new(status[0]);
        alone.args(&status[1..]);
        let mut traced = bench.cushim(&["trace"]);
        traced.args(status);
        prepare(&mut alone);
        prepare(&mut traced);
        let (alone, traced) = (bench.start(&mut alone).done(), bench.start(&mut traced).done());
        assert!(alone.stdout.contains("SigIgn"), "{alone:?}");
        assert_eq!((traced.code(), &traced.stdout), (0, &alone.stdout), "{ignored:?}");
    }
}

#[test]
fn what_the_processes_left_is_shown() {
    let bench = Bench::new();
    let trace = bench.trace_file();
    let done = bench.start(bench.cushim(&["trace", "true"]).env("FAKE_TRACE", &trace)).done();
    assert_eq!(done.code(), 0);
    assert!(!done.stderr.contains("no kernel launch was seen"), "{done:?}");
    assert!(done.stderr.contains("step<float>"), "{done:?}");
}

#[test]
fn no_launch_is_explained() {
    let bench = Bench::new();
    let done = bench.run(&["trace", "true"]);
    assert!(done.stderr.contains("no kernel launch was seen"), "{done:?}");
    assert!(done.stderr.contains("nor another call of the kinds that are recorded"), "{done:?}");
    assert!(!done.stderr.contains("DEEPBIND"), "{done:?}");
    // The launcher says what it knows for certain: how the program ended, and that it is static.
    let done = bench.run(&["trace", "sh", "-c", "kill -SEGV $$"]);
    assert!(done.stderr.contains("ended by signal 11"), "{done:?}");
    let source = "int main(void) { return 0; }";
    let program = bench.compile("static", source, &["-static"]);
    let done = bench.run(&["trace", program.to_str().unwrap()]);
    assert!(done.stderr.contains("fully static"), "{done:?}");
    // Only the first rank explains.
    let done = bench.start(bench.cushim(&["trace", "true"]).env("SLURM_PROCID", "1")).done();
    assert_eq!((done.code(), done.stderr.as_str()), (0, ""));
}

#[test]
fn only_the_first_rank_sums_up() {
    let bench = Bench::new();
    let trace = bench.trace_file();
    let run = |rank: &str| {
        let mut command = bench.cushim(&["trace", "-c", "true"]);
        command.env("FAKE_TRACE", &trace).env("PMI_RANK", rank).env("PMI_SIZE", "2");
        bench.start(&mut command).done()
    };
    assert!(!run("0").stderr.is_empty());
    assert_eq!(run("1").stderr, "");
}

#[test]
fn the_trace_ends_with_the_program() {
    let bench = Bench::new();
    let trace = bench.trace_file();
    let mut command = bench.cushim(&["trace", "sh", "-c", "sleep 2 & sleep 0.3; exit 3"]);
    let done = bench.start(command.env("FAKE_TRACE", &trace)).done();
    assert_eq!(done.code(), 3);
    assert!(done.stderr.contains("3 processes"), "{done:?}");
    // Process 1 runs, and has none of these files open: another process in another PID namespace wrote them.
    assert!(!done.stderr.contains("still running"), "{done:?}");
}

#[test]
fn nobody_reading_costs_the_program_nothing() {
    let bench = Bench::new();
    let trace = bench.trace_file();
    let mut command = bench.cushim(&["trace", "--all", "sh", "-c", "sleep 0.3; exit 4"]);
    let mut child = command
        .env("FAKE_TRACE", &trace)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(4));
}

#[test]
fn something_that_is_no_trace_is_named() {
    let bench = Bench::new();
    let run = |bytes: Vec<u8>| {
        let path = bench.path("garbage");
        fs::write(&path, bytes).unwrap();
        let mut command = bench.cushim(&["trace", "sh", "-c", "exit 5"]);
        let done = bench.start(command.env("FAKE_TRACE", &path)).done();
        assert_eq!(done.code(), 5);
        done.stderr
    };
    assert!(run(vec![0x5a; 8192]).contains("expected a trace file"));
    // A process that was killed while it created its file has recorded nothing.
    let stderr = run(vec![0; 8]);
    assert!(!stderr.contains("expected a trace file"), "{stderr}");
}

#[test]
fn more_processes_than_open_files() {
    let bench = Bench::new();
    let trace = bench.trace_file();
    let script = "for i in $(seq 60); do (exit 0); sh -c :; done";
    let mut command = bench.cushim(&["trace", "-c", "-o", "all.jsonl", "sh", "-c", script]);
    let few = || {
        let limit = libc::rlimit { rlim_cur: 40, rlim_max: 40 };
        // SAFETY: a valid limit, set between fork and exec.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
        Ok(())
    };
    // SAFETY: only a system call.
    unsafe { command.env("FAKE_TRACE", &trace).pre_exec(few) };
    let done = bench.start(&mut command).done();
    assert_eq!((done.code(), done.stderr.as_str()), (0, ""));
    let text = fs::read_to_string(bench.path("all.jsonl")).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    // The shell, seq, and sixty more processes.
    assert_eq!(last["processes"], 62, "{last}");
}
