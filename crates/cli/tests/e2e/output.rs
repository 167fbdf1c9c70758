//! `-o FILE`: where it goes, who can read it, and that nothing is lost or half-written.

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
        "no/such/x.txt",
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
    // SAFETY: a process of this test.
    unsafe { libc::kill(first.id() as i32, libc::SIGTERM) };
    first.done();
}
