//! `--gpu-time` by event pairs, against a driver whose kernels take a known time: each launch that can have
//! a time has one, no event enters a capture, and the program notices nothing.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use cushim_trace::event::Body;
use cushim_trace::layout::GPU_KERNEL;
use cushim_trace::layout::GpuBody;
use cushim_trace::reader::TraceFile;
use serde_json::Value;

use crate::lab::{How, Lab, Ran, library, stub};
use crate::log::Line;

/// A GPU time: begin, duration, work; the begin of its call, and its grid's first number.
type Timed = (u64, u64, GpuBody, u64, u32);

/// Reads a trace: times with their launches, grids of the launches without a time, notes.
fn read(path: &Path) -> (Vec<Timed>, Vec<u32>, Vec<String>) {
    let mut file = TraceFile::open(path).unwrap();
    let (mut work, mut calls) = (Vec::new(), HashMap::new());
    file.poll(true, &mut |meta, event| match &event.body {
        Body::Gpu(gpu) => {
            assert_eq!(meta.kernels[&gpu.kernel].mangled, "_Z4betav");
            work.push((event.begin_ns, event.call_ns.unwrap(), gpu.stored));
        }
        Body::Launch(launch) => {
            assert!(calls.insert(event.link, (event.begin_ns, launch.grid[0])).is_none());
        }
        _ => {}
    })
    .unwrap();
    assert_eq!((file.damaged(), file.header().lost), (0, Default::default()));
    let mut timed = Vec::new();
    for (begin, ns, gpu) in work {
        let (called, grid) = calls.remove(&gpu.link).expect("a launch has one time at most");
        timed.push((begin, ns, gpu, called, grid));
    }
    timed.sort_by_key(|(.., called, _)| *called);
    let mut rest: Vec<u32> = calls.into_values().map(|(_, grid)| grid).collect();
    rest.sort_unstable();
    (timed, rest, file.metadata().notes.clone())
}

fn program(lab: &Lab) -> PathBuf {
    let folder = format!("-L{}", stub().display());
    lab.build("gpuevents", "gpuevents.c", &[&folder, "-l:libcuda.so.1", "-lpthread"])
}

fn how(value: &str) -> How {
    How::shim().with("CUSHIM_GPU_TIME", value)
}

fn ran(lab: &Lab, arguments: &[&str], how: &How) -> Ran {
    let ran = lab.run(&program(lab), arguments, how);
    assert_eq!(ran.end, "exit 0", "{}{}", ran.stdout, ran.stderr);
    ran
}

/// A line of the log without the stream's address.
fn without_address(line: &Line) -> String {
    let words = line.rest.split(' ').filter(|word| !word.starts_with("stream="));
    format!("{} {}", line.function, words.collect::<Vec<_>>().join(" "))
}

/// Grids of launches without a time: 5 captured ones, the one on the legacy stream meanwhile, 2 failed ones.
const UNTIMED: [u32; 8] = [0, 201, 210, 211, 212, 213, 214, 220];

/// The number of other launches.
const LAUNCHES: usize = 200 + 1 + 1 + 3 + 1;

/// The number of launches without a time besides [`UNTIMED`]: on a busy machine the system may suspend a thread
/// within a launch, which then has no time. A program that ended normally notes the number in its trace.
fn lost(timed: usize, untimed: &[u32], notes: &[String]) -> usize {
    let mut rest = untimed.to_vec();
    for grid in UNTIMED {
        rest.remove(rest.iter().position(|g| *g == grid).expect("it can have no time"));
    }
    let note = notes.iter().find_map(|note| note.split_once(" launches have no GPU time"));
    let told = note.map(|(before, _)| before.rsplit(' ').next().unwrap().parse().unwrap());
    let ended = notes.iter().any(|note| note.contains("cost the host"));
    assert_eq!(timed + rest.len(), LAUNCHES, "{rest:?} {notes:?}");
    assert!(timed > LAUNCHES / 2 && (!ended || told.unwrap_or(0) == rest.len()), "{notes:?}");
    rest.len()
}

fn check(path: &Path) -> Vec<String> {
    let (timed, untimed, notes) = read(path);
    let lost = lost(timed.len(), &untimed, &notes);
    let mut ends = HashMap::new();
    for (begin, ns, gpu, called, grid) in timed {
        assert_eq!(
            (gpu.what, gpu.grid, gpu.block, gpu.shared),
            (GPU_KERNEL, [grid, 1, 1], [32, 1, 1], 8)
        );
        assert_eq!(ns, 1000 * u64::from(grid), "the driver says how long kernels take");
        assert_eq!(gpu.device, u32::from((240..250).contains(&grid)));
        // The machine may be busy with other tests while clocks are compared.
        assert!(begin + 20_000_000 >= called, "{grid}: {called} {begin}");
        let end: &mut u64 = ends.entry((gpu.context, gpu.stream)).or_default();
        assert!(begin + 20_000_000 >= *end, "{grid}: kernels of a stream follow each other");
        *end = begin + ns;
    }
    // The default stream, the per-thread one, one more; two on the other device. Some have one launch only.
    assert!((5usize.saturating_sub(lost)..=5).contains(&ends.len()), "{lost} {ends:?}");
    notes
}

#[test]
fn launches_have_their_times_and_the_program_notices_nothing() {
    let lab = Lab::new();
    let alone = ran(&lab, &[], &How::bare());
    let ran = ran(&lab, &[], &how("events"));
    assert_eq!((&ran.stdout, ran.stderr.as_str()), (&alone.stdout, ""));
    assert!(alone.stdout.contains("end 0 1\n"), "the capture is whole: {}", alone.stdout);
    let notes = check(&ran.traces[0].path);
    assert!(notes[0].contains("two events around each launch"), "{notes:?}");
    assert!(notes[1].contains("timing 206 launches by event pairs cost the host"), "{notes:?}");
    // Only events and one stream for each context are added to the calls that reach the driver.
    let calls = |ran: &Ran| {
        let ours = |line: &&Line| {
            line.function.starts_with("cuEvent")
                || line.function == "cuFuncLoad"
                || line.function == "cuStreamCreate" && line.rest == "flags=1"
        };
        let mut calls: Vec<String> =
            ran.log.iter().filter(|line| !ours(line)).map(without_address).collect();
        calls.sort_unstable();
        calls
    };
    assert_eq!(calls(&ran), calls(&alone));
    // Once for each context; two threads may come first at the same time.
    let loads = ran.log.iter().filter(|line| line.function == "cuFuncLoad").count();
    assert!((2..=3).contains(&loads), "{loads}");
}

/// A driver that loads a kernel's code at its first launch.
#[test]
fn no_time_counts_the_loading_of_code() {
    let lab = Lab::new();
    check(&ran(&lab, &[], &how("events").with("STUB_LAZY", "1")).traces[0].path);
    // An older driver that cannot load code early: the first launch of at most two threads, and that in the
    // second context, have no time.
    let ran = ran(&lab, &[], &how("events").with("STUB_LAZY", "old"));
    let (timed, untimed, notes) = read(&ran.traces[0].path);
    assert!(lost(timed.len(), &untimed, &notes) >= 2 && untimed.contains(&240), "{untimed:?}");
    for (_, ns, _, _, grid) in timed {
        assert_eq!(ns, 1000 * u64::from(grid));
    }
}

/// CUPTI is missing or refuses, and the user did not ask for CUPTI.
#[test]
fn in_the_place_of_cupti() {
    let lab = Lab::new();
    let library = library();
    for (name, value, says) in [
        ("CUSHIM_CUPTI", "/nowhere/libcupti.so", "cannot open /nowhere/libcupti.so"),
        ("STUB_CUPTI_REFUSE", "10", "CUPTI_ERROR_STUB_REFUSED"),
    ] {
        let how =
            how("1").with("CUDA_INJECTION64_PATH", library.to_str().unwrap()).with(name, value);
        let notes = check(&ran(&lab, &[], &how).traces[0].path);
        assert!(notes[0].contains(says) && notes[0].contains("event pairs instead"), "{notes:?}");
    }
    // A driver that loads no tools, or that has loaded another one.
    check(&ran(&lab, &[], &how("auto")).traces[0].path);
}

#[test]
fn a_child_has_none_and_what_is_not_over_is_counted() {
    let lab = Lab::new();
    let ran = self::ran(&lab, &["fork"], &how("events"));
    assert!(ran.stdout.ends_with("child 0\n"), "{}", ran.stdout);
    let mut all: Vec<_> = ran.traces.iter().map(|trace| read(&trace.path)).collect();
    all.sort_by_key(|(timed, ..)| timed.len());
    let [(of_child, one, _), (timed, untimed, notes)] = &all[..] else { panic!("{all:?}") };
    assert_eq!((of_child.len(), one.len()), (0, 1));
    lost(timed.len(), untimed, notes);
    let ran = self::ran(&lab, &["early"], &how("events"));
    let (timed, mut untimed, notes) = read(&ran.traces[0].path);
    assert_eq!(untimed.pop(), Some(1 << 20));
    let told = format!("{} launches have no GPU time", untimed.len() + 1 - UNTIMED.len());
    assert!(notes[2].contains(&told) && timed.len() > LAUNCHES / 2, "{told} {notes:?}");
}

/// Times reach the file soon after they are known.
#[test]
fn killed() {
    let lab = Lab::new();
    let (trace, enough) = (lab.path("killed.cushim"), lab.path("enough"));
    let how = how("events").with("CUSHIM_OUTPUT", trace.to_str().unwrap());
    let program = program(&lab);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let ran = lab.run(&program, &["killed", enough.to_str().unwrap()], &how);
            assert_eq!(ran.end, "signal 9", "{}", ran.stderr);
        });
        let until = Instant::now() + Duration::from_secs(50);
        let mut seen = 0;
        while seen <= LAUNCHES / 2 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
            let Ok(mut file) = TraceFile::open(&trace) else { continue };
            seen = 0;
            file.poll(true, &mut |_, event| {
                seen += usize::from(matches!(event.body, Body::Gpu(_)))
            })
            .unwrap();
        }
        std::fs::write(&enough, "").unwrap();
    });
    check(&trace);
}

/// With a static runtime, and with a shared one.
#[test]
fn through_the_runtime() {
    let lab = Lab::new();
    for program in [lab.program("steps.c", 12), lab.static_program("steps.c", 12)] {
        // With STUB_CONTEXTS the runtime's kernels have driver functions.
        let how = how("events").with("STUB_DRIVER", "1").with("STUB_CONTEXTS", "1");
        let ran = lab.run(&program, &["launch", "10"], &how);
        assert_eq!(ran.end, "exit 0", "{}", ran.stderr);
        let mut file = TraceFile::open(&ran.traces[0].path).unwrap();
        let (mut work, mut links) = (Vec::new(), Vec::new());
        file.poll(true, &mut |_, event| match &event.body {
            Body::Gpu(gpu) => work.push(gpu.link),
            Body::Launch(_) if event.depth == 0 => links.push(event.link),
            _ => {}
        })
        .unwrap();
        work.sort_unstable();
        links.sort_unstable();
        let notes = &file.metadata().notes;
        // A first launch that loads the driver has no time.
        assert!(
            links.len() == 10 && work.len() >= 5,
            "{} of {}: {notes:?}",
            work.len(),
            links.len()
        );
        assert!(work.iter().all(|link| links.contains(link)));
    }
}

/// From `cushim record` to the summary and the report.
#[test]
fn from_record_to_report() {
    let lab = Lab::new();
    let (program, folder) = (program(&lab), tempfile::tempdir().unwrap());
    let cushim = |args: &[&str], slot: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cushim"));
        let run = command.args(args).current_dir(&folder).env("LD_LIBRARY_PATH", stub());
        let run = run.env("CUDA_INJECTION64_PATH", slot).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (run.status.code(), text(run.stdout), text(run.stderr))
    };
    let app = program.to_str().unwrap();
    // Another tool has CUDA_INJECTION64_PATH: event pairs give times all the same.
    let (status, _, said) =
        cushim(&["record", "--gpu-time", "-o", "g.cushim", app], "/opt/tool.so");
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("already names /opt/tool.so") && said.contains("event pairs"), "{said}");
    let (_, report, _) = cushim(&["report", "g.cushim", "--format", "json"], "");
    let report: Value = serde_json::from_str(&report).unwrap();
    let kernel = &report["kernels"][0];
    let timed = kernel["gpu"]["count"].as_u64().unwrap() as usize;
    assert!(kernel["mangled"] == "_Z4betav" && timed > LAUNCHES / 2, "{kernel}");
    let (_, events, _) = cushim(&["export", "g.cushim", "--to", "jsonl", "-o", "-"], "");
    let gpu = events.lines().filter(|line| line.contains("\"gpu\""));
    let gpu: Vec<Value> = gpu.map(|line| serde_json::from_str(line).unwrap()).collect();
    let gpu: Vec<_> = gpu.iter().filter(|line| line["event"] == "gpu").collect();
    assert_eq!(gpu.len(), timed);
    assert!(gpu.iter().all(|line| line["mangled"] == "_Z4betav"), "{:?}", gpu[0]);
    let (_, text, _) = cushim(&["report", "g.cushim"], "");
    assert!(text.contains("GPU total") && text.contains("event pairs cost the host"), "{text}");
    let (_, _, trace) = cushim(&["trace", "-c", "--gpu-time=events", app], "");
    assert!(trace.contains("GPU avg") && trace.contains("ns each"), "{trace}");
    let (status, _, said) = cushim(&["record", "--gpu-time=cupti", app], "/opt/tool.so");
    assert!(status == Some(125) && said.contains("already names /opt/tool.so"), "{said}");
    let (_, help, _) = cushim(&["record", "--help"], "");
    assert!(help.contains("--gpu-time[=<HOW>]") && help.contains("some microseconds"), "{help}");
}
