//! `-o FILE`: its path, its permissions, and that no output is lost or half-written.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Bench, mode};

#[test]
fn the_ending_chooses_the_format() {
    let bench = Bench::new();
    let trace = bench.trace_file();
    for (name, json) in [("a.jsonl", true), ("a.txt", false)] {
        let mut command = bench.cushim(&["trace", "-o", name, "true"]);
        let done = bench.start(command.env("FAKE_TRACE", &trace)).done();
        assert_eq!((done.code(), done.stderr.as_str()), (0, ""));
        let text = fs::read_to_string(bench.path(name)).unwrap();
        assert!(text.contains("step"), "{text}");
        let is_json = text.lines().all(|l| serde_json::from_str::<serde_json::Value>(l).is_ok());
        assert_eq!(is_json, json, "{text}");
        assert_eq!(mode(&bench.path(name)), 0o600);
    }
}

#[test]
fn what_a_command_does_not_write_or_read_names_the_one_that_does() {
    let bench = Bench::new();
    fs::write(bench.path("a.jsonl"), "{}\n").unwrap();
    for (arguments, word) in [
        (&["trace", "-o", "a.html", "true"][..], "cushim report -o a.html"),
        (&["trace", "-o", "a.csv", "true"], "cushim report -o a.csv"),
        (&["report", "a.jsonl"], "cushim record -o"),
    ] {
        let done = bench.run(arguments);
        assert_eq!((done.code(), done.stderr.lines().count()), (125, 1), "{done:?}");
        assert!(done.stderr.contains(word), "{done:?}");
    }
}

#[test]
fn an_older_file_is_replaced_whole() {
    let bench = Bench::new();
    fs::write(bench.path("a.txt"), "old ".repeat(10_000)).unwrap();
    assert_eq!(bench.run(&["trace", "-o", "a.txt", "true"]).code(), 0);
    assert!(!fs::read_to_string(bench.path("a.txt")).unwrap().contains("old"));
}

#[test]
fn an_early_failure_leaves_files_as_they_were() {
    let bench = Bench::new();
    fs::write(bench.path("a.txt"), "old").unwrap();
    assert_eq!(bench.run(&["trace", "-o", "a.txt", "no-such-program"]).code(), 127);
    assert_eq!(fs::read_to_string(bench.path("a.txt")).unwrap(), "old");
    assert_eq!(bench.run(&["trace", "-o", "b.txt", "no-such-program"]).code(), 127);
    assert!(!bench.path("b.txt").exists());
}

#[test]
fn a_name_that_cannot_be_written_costs_no_run() {
    let bench = Bench::new();
    fs::write(bench.path("target"), "precious").unwrap();
    symlink(bench.path("target"), bench.path("link.txt")).unwrap();
    symlink(bench.path("nothing"), bench.path("dangling.txt")).unwrap();
    fs::create_dir(bench.path("folder")).unwrap();
    for name in [
        "link.txt",
        "dangling.txt",
        "folder",
        "/proc/none/x.txt",
        "%x",
        "%q{SURELY_UNSET}",
        "x.cushim",
    ] {
        let done = bench.run(&["trace", "-o", name, "touch", "ran"]);
        assert_eq!((done.code(), done.stderr.lines().count()), (125, 1), "{name}: {done:?}");
        assert!(!bench.path("ran").exists(), "{name}");
    }
    assert_eq!(fs::read_to_string(bench.path("target")).unwrap(), "precious");
    assert!(!bench.path("nothing").exists());
}

#[test]
fn letters_are_filled_in() {
    let bench = Bench::new();
    let mut command = bench.cushim(&["trace", "-o", "%p.%r.%q{WORD}.txt", "sh", "-c", "echo $$"]);
    let done =
        bench.start(command.env("WORD", "a/b").env("RANK", "3").env("WORLD_SIZE", "4")).done();
    let name = format!("{}.3.a_b.txt", done.stdout.trim());
    assert!(bench.path(&name).exists(), "{name}: {done:?}");
}

#[test]
fn ranks_do_not_share_a_file() {
    let bench = Bench::new();
    for rank in ["0", "1"] {
        let mut command = bench.cushim(&["trace", "-o", "run.txt", "true"]);
        command.env("OMPI_COMM_WORLD_RANK", rank).env("OMPI_COMM_WORLD_SIZE", "2");
        assert_eq!(bench.start(&mut command).done().code(), 0);
    }
    assert!(bench.path("run.0.txt").exists() && bench.path("run.1.txt").exists());
    assert!(!bench.path("run.txt").exists());
}

#[test]
fn two_traces_at_once_do_not_share_a_file() {
    let bench = Bench::new();
    let script = "echo ready; exec sleep 300";
    let mut first = bench.start(&mut bench.cushim(&["trace", "-o", "run.txt", "sh", "-c", script]));
    first.until("ready");
    let second = bench.run(&["trace", "-o", "run.txt", "true"]);
    assert!(second.stderr.contains("run.1.txt"), "{second:?}");
    assert!(bench.path("run.1.txt").exists());
    // SAFETY: the process belongs to this test.
    unsafe { libc::kill(first.id() as i32, libc::SIGTERM) };
    first.done();
}

#[test]
fn a_folder_that_is_not_there_is_made() {
    let bench = Bench::new();
    let trace = bench.trace_file();
    let mut command = bench.cushim(&["trace", "-o", "runs/%h/a.%p.jsonl", "true"]);
    let done = bench.start(command.env("FAKE_TRACE", &trace)).done();
    assert_eq!((done.code(), done.stderr.as_str()), (0, ""));
    let host = fs::read_dir(bench.path("runs")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::read_dir(host).unwrap().count(), 1);
    let mut command = bench.cushim(&["record", "-o", "other/%h.%p.cushim", "true"]);
    let done = bench.start(command.env("FAKE_TRACE", &trace)).done();
    assert_eq!(done.code(), 0, "{done:?}");
    assert_eq!(fs::read_dir(bench.path("other")).unwrap().count(), 1, "{done:?}");
    fs::write(bench.path("file"), "").unwrap();
    let done = bench.run(&["trace", "-o", "file/a.txt", "true"]);
    assert_eq!((done.code(), done.stderr.lines().count()), (125, 1), "{done:?}");
}

#[test]
fn the_null_device_takes_everything_and_stays_alone() {
    let bench = Bench::new();
    let trace = bench.trace_file();
    for arguments in [
        &["trace", "-o", "/dev/null", "sh", "-c", "exit 3"][..],
        &["record", "-o", "/dev/null", "sh", "-c", "exit 3"],
    ] {
        let mut command = bench.cushim(arguments);
        command.env("FAKE_TRACE", &trace).env("SLURM_PROCID", "0");
        let done = bench.start(command.env("SLURM_STEP_NUM_TASKS", "4")).done();
        assert_eq!((done.code(), done.stdout.as_str()), (3, ""), "{done:?}");
    }
    let beside = fs::read_dir("/dev").unwrap().flatten().map(|e| e.file_name());
    let ours: Vec<_> = beside.filter(|n| n.to_string_lossy().starts_with("null.")).collect();
    assert!(ours.is_empty(), "{ours:?}");
}

#[test]
fn json_lines_and_recordings_may_be_compressed() {
    let bench = Bench::new();
    let trace = bench.trace_file();
    let run = |name: &str| {
        let mut command = bench.cushim(&["trace", "-o", name, "true"]);
        assert_eq!(bench.start(command.env("FAKE_TRACE", &trace)).done().code(), 0);
        fs::read(bench.path(name)).unwrap()
    };
    let expanded = |bytes: &[u8]| {
        let mut text = Vec::new();
        cushim_analysis::expand(bytes, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    let packed = run("a.jsonl.zst");
    assert_eq!(mode(&bench.path("a.jsonl.zst")), 0o600);
    let lines = expanded(&packed);
    assert!(lines.contains("step<float>"), "{lines}");
    assert!(lines.lines().all(|l| serde_json::from_str::<serde_json::Value>(l).is_ok()), "{lines}");
    // `report` reads a recording that the user compressed, and writes its events compressed.
    let mut out = cushim_cli::zst::Compressed::new(Vec::new()).unwrap();
    std::io::Write::write_all(&mut out, &fs::read(&trace).unwrap()).unwrap();
    fs::create_dir(bench.path("kept")).unwrap();
    fs::write(bench.path("kept/run.cushim.zst"), out.finish().unwrap()).unwrap();
    for of in ["kept/run.cushim.zst", "kept"] {
        let done = bench.run(&["report", of]);
        assert!(done.code() == 0 && done.stdout.contains("step<float>"), "{done:?}");
        let done = bench.run(&["report", "-o", "events.jsonl.zst", of]);
        assert_eq!(done.code(), 0, "{done:?}");
        assert!(
            expanded(&fs::read(bench.path("events.jsonl.zst")).unwrap()).contains("step<float>")
        );
        let done = bench.run(&["export", "--to", "jsonl", "-o", "-", of]);
        assert!(done.code() == 0 && done.stdout.contains("step<float>"), "{done:?}");
    }
    let cut = fs::read(bench.path("kept/run.cushim.zst")).unwrap();
    fs::write(bench.path("cut.cushim.zst"), &cut[..cut.len() / 2]).unwrap();
    let done = bench.run(&["report", "cut.cushim.zst"]);
    assert_eq!((done.code(), done.stderr.lines().count()), (125, 1), "{done:?}");
}

/// The launcher works with a small stack, a small address space and few files.
#[test]
fn limits_of_the_launcher() {
    let bench = Bench::new();
    // The library's stub needs a stack of its own.
    bench.compile("libcushim.so", "int nothing;", &["-shared", "-fPIC"]);
    for limit in ["ulimit -s 64", "ulimit -s 256", "ulimit -n 16", "ulimit -v 900000"] {
        let line = format!("{limit}; exec \"$0\" trace sh -c 'echo ran; exit 5'");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_cushim")]).env("CUSHIM_LIB", &bench.library);
        let done = bench.start(&mut command).done();
        assert_eq!((done.code(), done.stdout.as_str()), (5, "ran\n"), "{limit}: {done:?}");
    }
}

/// What is too large for the limit of files is an error that names the file, not the launcher's end by a signal.
#[test]
fn beyond_the_limit_for_files() {
    let bench = Bench::new();
    let ran = |words: &str| {
        let line = format!("ulimit -f 1; exec \"$0\" {words}");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_cushim")]).current_dir(bench.dir.path());
        let done = bench.start(command.env("CUSHIM_LIB", &bench.library)).done();
        assert_eq!(done.code(), 125, "{words}: {done:?}");
        assert!(done.stderr.contains("File too large"), "{words}: {done:?}");
    };
    // Standard output is a file here.
    ran("completions bash");
    ran("man --dir .");
}

/// A folder that is gone is needed for relative names only.
#[test]
fn in_a_folder_that_is_gone() {
    let bench = Bench::new();
    let ran = |output: &str| {
        let line = format!(
            "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" record -o {output} true"
        );
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_cushim")]).current_dir(bench.dir.path());
        bench.start(command.env("CUSHIM_LIB", &bench.library)).done()
    };
    let whole = bench.path("whole.cushim");
    assert_eq!(ran(whole.to_str().unwrap()).code(), 0);
    let relative = ran("%p.cushim");
    assert!(relative.code() == 125 && relative.stderr.contains("current folder"), "{relative:?}");
}
