//! `cushim record`, windows and `cushim ctl`, with the real library and the test-only CUDA.

use std::path::Path;
use std::process::Command;

use crate::lab::{How, Lab, Ran, library, stub};
use crate::trace::{Trace, read, read_all};

/// The numbers that `steps.c` passes as second argument, for the recorded launches.
fn numbers(trace: &Trace) -> Vec<u32> {
    trace.launches().iter().map(|launch| number(launch)).collect()
}

/// `…>>>(16 hex digits of a pointer, then the number, little-endian…`
fn number(launch: &str) -> u32 {
    let args = launch.split(">>>(").nth(1).unwrap();
    u32::from_str_radix(&args[16..24], 16).unwrap().swap_bytes()
}

fn window(variables: &[(&str, &str)], steps: &[&str]) -> Vec<u32> {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let how = variables.iter().fold(How::shim(), |how, (name, value)| how.with(name, *value));
    let ran = lab.run(&program, steps, &how);
    assert_eq!(ran.end, "exit 0", "{}", ran.stderr);
    assert!(ran.traces[0].is_whole());
    numbers(&ran.traces[0])
}

#[test]
fn launches_are_skipped_and_counted() {
    assert_eq!(window(&[("CUSHIM_LAUNCH_SKIP", "7")], &["launch", "10"]), [7, 8, 9]);
    assert_eq!(window(&[("CUSHIM_LAUNCH_COUNT", "2")], &["launch", "10"]), [0, 1]);
    let both = [("CUSHIM_LAUNCH_SKIP", "3"), ("CUSHIM_LAUNCH_COUNT", "2")];
    assert_eq!(window(&both, &["launch", "10", "sync"]), [3, 4]);
}

/// Driver calls inside a launch belong to it and do not count as launches.
#[test]
fn nested_calls_follow_the_outer_one() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let how = How::shim()
        .with("STUB_DRIVER", "1")
        .with("CUSHIM_NESTED", "1")
        .with("CUSHIM_LAUNCH_SKIP", "2")
        .with("CUSHIM_LAUNCH_COUNT", "3");
    let ran = lab.run(&program, &["launch", "10"], &how);
    let trace = &ran.traces[0];
    assert_eq!(numbers(trace), [2, 3, 4]);
    let inner = trace.calls.iter().filter(|call| call.depth == 1 && call.launch.is_some());
    assert_eq!(inner.count(), 3, "{:?}", trace.calls);
}

#[test]
fn between_the_profiler_calls() {
    let steps =
        ["launch", "2", "start", "launch", "2", "stop", "launch", "2", "start", "launch", "1"];
    let range = ("CUSHIM_CAPTURE_RANGE", "cudaProfilerApi");
    assert_eq!(window(&[range], &steps), [2, 3, 6]);
    assert_eq!(window(&[range, ("CUSHIM_LAUNCH_COUNT", "1")], &steps), [2]);
}

#[test]
fn from_a_delay_on() {
    let steps = ["launch", "3", "sleep", "1200", "launch", "3"];
    assert_eq!(window(&[("CUSHIM_DELAY", "1.0")], &steps), [3, 4, 5]);
    // Launches after the sleep are too late, whatever else takes time.
    let kept = window(&[("CUSHIM_DURATION", "1.0")], &steps);
    assert!(kept.contains(&0) && !kept.contains(&3), "{kept:?}");
}

#[test]
fn a_paused_process_records_no_event() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let how = How::shim().with("CUSHIM_START", "paused");
    let ran = lab.run(&program, &["launch", "5", "sync"], &how);
    let trace = &ran.traces[0];
    assert!(trace.calls.is_empty() && trace.is_whole(), "{:?}", trace.calls);
    assert_eq!(trace.metadata.process.pid, trace.pid, "metadata is never dropped");
}

fn ctl(arguments: &[&str]) -> (String, String, Option<i32>) {
    let done = Command::new(env!("CARGO_BIN_EXE_cushim")).arg("ctl").args(arguments).output();
    let done = done.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&done.stdout), text(&done.stderr), done.status.code())
}

#[test]
fn controlled_from_outside() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let file = |name: &str| lab.path(name).to_string_lossy().into_owned();
    let into = file("run.cushim");
    let names: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(file).to_vec();
    let [a, b, c, d, e, f] = names.each_str();
    let steps = [
        "launch", "2", "touch", a, "await", b, "launch", "2", "touch", c, "await", d, "launch",
        "2", "touch", e, "await", f,
    ];
    let mut child = Command::new(&program)
        .args(steps)
        .env("LD_LIBRARY_PATH", stub())
        .env("LD_PRELOAD", library())
        .env("CUSHIM_OUTPUT", &into)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id().to_string();
    await_file(a);
    assert_eq!(ctl(&[&into, "status"]).0, format!("{pid}: on\n"));
    let marked = ctl(&[&into, "mark", "before off"]);
    assert_eq!(marked, (String::new(), String::new(), Some(0)));
    assert_eq!(ctl(&[&pid, "off"]).0, format!("{pid}: off\n"));
    std::fs::write(b, "").unwrap();
    await_file(c);
    assert_eq!(ctl(&[&pid, "on"]).0, format!("{pid}: on\n"));
    assert_eq!(ctl(&[&pid, "mark", "after on"]).2, Some(0));
    std::fs::write(d, "").unwrap();
    await_file(e);
    // The process makes no more calls: the mark stays in the mailbox, where the reader finds it.
    assert_eq!(ctl(&[&pid, "mark", "the end é"]).2, Some(0));
    let (_, error, code) = ctl(&[&pid, "mark", &"x".repeat(300)]);
    assert!(code == Some(125) && error.contains("300 bytes"), "{error}");
    std::fs::write(f, "").unwrap();
    assert!(child.wait().unwrap().success());
    let (_, error, code) = ctl(&[&into, "on"]);
    assert!(code == Some(125) && error.contains("running process"), "{error}");

    let trace = read(Path::new(&into));
    assert_eq!(numbers(&trace), [0, 1, 4, 5]);
    let shown = Command::new(env!("CARGO_BIN_EXE_cushim"))
        .args(["report", "-e", "launch,graph,copy", "--color", "never", &into])
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let place = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text:?} in {shown}"));
    assert!(place("before off") < place("after on") && place("after on") < place("the end é"));
}

trait EachStr {
    fn each_str(&self) -> [&str; 6];
}

impl EachStr for Vec<String> {
    fn each_str(&self) -> [&str; 6] {
        std::array::from_fn(|n| self[n].as_str())
    }
}

fn await_file(path: &str) {
    for _ in 0..60_000 {
        if Path::new(path).exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("{path} never came");
}

/// Runs `cushim record` on a program.
fn record(lab: &Lab, options: &[&str], program: &Path, steps: &[&str]) -> Ran {
    let program = program.to_string_lossy();
    let arguments = [&["record"], options, &["--", &program], steps].concat();
    let how = How::bare()
        .with("CUSHIM_LIB", library().to_string_lossy())
        .with("CUSHIM_OUTPUT", "")
        .with("CUSHIM_EVENTS", "");
    lab.run(Path::new(env!("CARGO_BIN_EXE_cushim")), &arguments, &how)
}

fn recordings(ran: &Ran) -> Vec<Trace> {
    let folder = std::fs::read_dir(&ran.folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        folder.filter(|p| p.extension().is_some_and(|e| e == "cushim")).collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

#[test]
fn a_recording_is_named_at_the_start_and_at_the_end() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let ran = record(&lab, &[], &program, &["launch", "3"]);
    assert_eq!((ran.end.as_str(), ran.stdout.as_str()), ("exit 0", "3 launches\n"));
    let traces = recordings(&ran);
    let name = traces[0].path.file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(name, format!("steps-c-12.{}.cushim", traces[0].pid));
    let expected =
        format!("cushim: recording into {name}\ncushim: recorded; next: cushim report {name}\n");
    assert_eq!(ran.stderr, expected);
    assert_eq!(numbers(&traces[0]), [0, 1, 2]);
}

#[test]
fn status_and_signals_are_the_programs() {
    let lab = Lab::new();
    let steps = lab.program("steps.c", 12);
    assert_eq!(record(&lab, &[], &steps, &["nonsense"]).end, "exit 2");
    let many = lab.program("many.c", 12);
    let ran = record(&lab, &[], &many, &["500", "kill"]);
    assert_eq!(ran.end, "signal 9");
    assert_eq!(recordings(&ran)[0].launches().len(), 500);
}

#[test]
fn children_have_recordings_of_their_own() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let ran = record(&lab, &["-o", "a b.cushim"], &program, &["launch", "1", "forks", "5", "2"]);
    let traces = recordings(&ran);
    assert_eq!(traces.iter().map(|t| t.launches().len()).sum::<usize>(), 11);
    assert_eq!(traces.len(), 6);
    assert!(
        ran.stderr.contains("next: cushim report 'a b.cushim' 'a b.1.cushim'")
            && ran.stderr.contains("and 2 files"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_options_reach_the_library() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let ran = record(&lab, &["--launch-skip=1", "--launch-count=1"], &program, &["launch", "4"]);
    assert_eq!(numbers(&recordings(&ran)[0]), [1]);
    let ran = record(&lab, &["--last", "64K"], &program, &["launch", "5000"]);
    let kept = numbers(&recordings(&ran)[0]);
    assert!(kept.len() < 1000 && kept.ends_with(&[4998, 4999]), "{}", kept.len());
    let overwritten = 5000 - kept.len();
    let expected = format!("kept the last 64 KiB; {overwritten} earlier events were overwritten");
    assert!(ran.stderr.contains(&expected), "{}", ran.stderr);
    let shown = Command::new(env!("CARGO_BIN_EXE_cushim"))
        .args(["report", "-c", "--color", "never"])
        .arg(&recordings(&ran)[0].path)
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let line = format!("kept the last 64 KiB: {overwritten} earlier events were overwritten");
    assert!(shown.contains(&line), "{line:?} in {shown}");
    let ran = record(&lab, &["--limit", "200K"], &program, &["launch", "5000"]);
    assert!(ran.stderr.contains("events are missing: the file reached its --limit"));
}

#[test]
fn what_cannot_be_written_is_said_before_the_program_runs() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let ran = record(&lab, &["-o", "/proc/x.cushim"], &program, &["launch", "1"]);
    assert_eq!((ran.end.as_str(), ran.stdout.as_str()), ("exit 125", ""));
    assert!(ran.stderr.contains("cannot write into the folder /proc"), "{}", ran.stderr);
    for (output, expected) in [("x.jsonl", "cushim trace -o x.jsonl"), ("%z", "%z is unknown")] {
        let ran = record(&lab, &["-o", output], &program, &["launch", "1"]);
        assert_eq!((ran.end.as_str(), ran.stdout.as_str()), ("exit 125", ""));
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

#[test]
fn sixteen_at_once_in_one_folder() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let into = lab.path("out");
    std::fs::create_dir(&into).unwrap();
    let one_name = into.join("run.cushim");
    let children: Vec<_> = (0..16)
        .map(|n| {
            Command::new(&program)
                .args(["launch", &(100 + n).to_string()])
                .env("LD_LIBRARY_PATH", stub())
                .env("LD_PRELOAD", library())
                .env("CUSHIM_OUTPUT", &one_name)
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let traces = read_all(&into);
    let mut counts: Vec<usize> = traces.iter().map(|trace| trace.launches().len()).collect();
    counts.sort();
    assert_eq!(counts, (100..116).collect::<Vec<_>>());
    assert!(traces.iter().all(Trace::is_whole));
}
