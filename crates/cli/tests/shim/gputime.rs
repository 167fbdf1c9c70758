//! `--gpu-time` with a CUPTI that reports the test-only driver's work: each record is found at its call, with
//! its times; if CUPTI is missing or refuses, the trace says so.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use cushim_trace::event::Body;
use cushim_trace::layout::GpuBody;
use cushim_trace::layout::{GPU_COPY, GPU_KERNEL};
use cushim_trace::reader::TraceFile;
use serde_json::Value;

use crate::lab::{How, Lab, Ran, library, stub};

/// GPU work: begin, duration, what it is, and the name of its kernel.
type Work = (u64, u64, GpuBody, String);

/// Calls by link: begin, function, the grid's first number.
type Calls = HashMap<u64, (u64, String, u32)>;

/// Reads a trace: work, calls and notes.
fn read(path: &Path) -> (Vec<Work>, Calls, Vec<String>) {
    let mut file = TraceFile::open(path).unwrap();
    let (mut work, mut calls) = (Vec::new(), HashMap::new());
    file.poll(true, &mut |meta, event| {
        let grid = match &event.body {
            Body::Gpu(gpu) => {
                let ns = event.call_ns.unwrap();
                let kernel = meta.kernels.get(&gpu.kernel).map(|k| k.mangled.clone());
                work.push((event.begin_ns, ns, gpu.stored, kernel.unwrap_or_default()));
                return;
            }
            Body::Launch(launch) => launch.grid[0],
            _ => 0,
        };
        if event.link != 0 {
            let api = meta.apis[&event.api].name.clone();
            let before = calls.insert(event.link, (event.begin_ns, api, grid));
            assert!(before.is_none(), "a link names one call");
        }
    })
    .unwrap();
    assert_eq!((file.damaged(), file.header().lost), (0, Default::default()));
    (work, calls, file.metadata().notes.clone())
}

fn how() -> How {
    How::shim()
        .with("CUSHIM_GPU_TIME", "1")
        .with("CUDA_INJECTION64_PATH", library().to_str().unwrap())
}

fn driver_program(lab: &Lab) -> PathBuf {
    let folder = format!("-L{}", stub().display());
    lab.build("gputime", "gputime.c", &[&folder, "-l:libcuda.so.1", "-lpthread"])
}

fn ran(lab: &Lab, how: &How) -> Ran {
    let ran = lab.run(&driver_program(lab), &[], how);
    assert_eq!((ran.end.as_str(), ran.stdout.as_str()), ("exit 0", "done\n"), "{}", ran.stderr);
    ran
}

#[test]
fn every_record_finds_its_call() {
    let lab = Lab::new();
    for variable in ["", "STUB_CUPTI_OLD"] {
        let old = variable == "STUB_CUPTI_OLD";
        let how = if variable.is_empty() { how() } else { how().with(variable, "1") };
        let ran = ran(&lab, &how);
        let (work, calls, notes) = read(&ran.traces[0].path);
        assert!(notes.is_empty() && ran.stderr.is_empty(), "{notes:?} {}", ran.stderr);
        // 80 launches, 8 copies, 3 launches of a graph with two kernels.
        assert_eq!(work.len(), 80 + 8 + 6);
        for (begin, ns, gpu, kernel) in &work {
            let (called, api, grid) = &calls[&gpu.link];
            // The old CUPTI's clock counts from 1970 and is compared at another moment.
            let early = if old { 5_000_000 } else { 5_000 };
            assert!(called.saturating_sub(early) <= *begin, "{api}: {called} {begin}");
            match gpu.what {
                GPU_COPY => {
                    assert_eq!((api.as_str(), *ns), ("cuMemcpyHtoD_v2", 500));
                    assert_eq!((gpu.bytes, gpu.direction), (4096, 1));
                }
                GPU_KERNEL if api == "cuGraphLaunch" => {
                    assert_eq!((kernel.as_str(), *ns, gpu.grid), ("_Z4betav", 5000, [5, 1, 1]));
                    assert!((77..=78).contains(&gpu.graph_node));
                }
                GPU_KERNEL => {
                    assert_eq!((api.as_str(), kernel.as_str()), ("cuLaunchKernel", "_Z5alphaPfif"));
                    assert_eq!((gpu.grid[0], *ns), (*grid, 1000 * u64::from(*grid)));
                    assert_eq!((gpu.block, gpu.shared), ([32, 1, 1], 24));
                    assert_eq!(gpu.stream, if grid % 2 == 1 { 7 } else { 13 });
                }
                what => panic!("{what}"),
            }
        }
    }
}

/// A call that is not recorded has no link and no GPU work.
#[test]
fn only_work_of_what_is_recorded() {
    let lab = Lab::new();
    let how = how().with("CUSHIM_EVENTS", "copy");
    let (work, calls, _) = read(&ran(&lab, &how).traces[0].path);
    assert_eq!((work.len(), calls.len()), (8, 8));
    let how = self::how().with("CUSHIM_EVENTS", "launch").with("CUSHIM_LAUNCH_COUNT", "5");
    let (work, calls, _) = read(&ran(&lab, &how).traces[0].path);
    assert_eq!((work.len(), calls.len()), (5, 5));
}

/// A launch that initialises CUDA has a time, too.
#[test]
fn the_launch_that_initialises() {
    let lab = Lab::new();
    let program = lab.program("steps.c", 12);
    let ran = lab.run(&program, &["launch", "10"], &how().with("STUB_DRIVER", "1"));
    assert_eq!(ran.end, "exit 0", "{}", ran.stderr);
    let (work, calls, _) = read(&ran.traces[0].path);
    let kernels: Vec<&Work> = work.iter().filter(|(_, _, gpu, _)| gpu.what == GPU_KERNEL).collect();
    assert_eq!(kernels.len(), 10, "{work:?}");
    assert!(kernels.iter().all(|(_, _, gpu, _)| calls[&gpu.link].1 == "cudaLaunchKernel"));
}

#[test]
fn without_cupti_the_trace_says_so() {
    let lab = Lab::new();
    for (name, value, says) in [
        ("CUSHIM_CUPTI", "/nowhere/libcupti.so", "cannot open /nowhere/libcupti.so"),
        ("STUB_CUPTI_REFUSE", "10", "CUPTI_ERROR_STUB_REFUSED"),
        ("STUB_CUPTI_TAKEN", "1", "CUPTI_ERROR_STUB_TAKEN"),
    ] {
        let ran = ran(&lab, &how().with(name, value).with("CUSHIM_GPU_TIME", "cupti"));
        let (work, calls, notes) = read(&ran.traces[0].path);
        assert_eq!((work.len(), calls.len()), (0, 91));
        assert!(notes[0].contains(says) && notes[0].contains("no GPU times"), "{notes:?}");
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
    }
    let ran = ran(&lab, &how().with("STUB_CUPTI_DROPPED", "7"));
    let (_, _, notes) = read(&ran.traces[0].path);
    assert!(notes[0].contains("no room for 7 records"), "{notes:?}");
}

/// The links are so far apart that each fifth call replaces the first in the table: late records are counted.
#[test]
fn records_that_come_too_late_are_counted() {
    let lab = Lab::new();
    let ran = ran(&lab, &how().with("STUB_CUPTI_STEP", "262144"));
    let (work, calls, notes) = read(&ran.traces[0].path);
    let late = notes[0].strip_prefix("--gpu-time: ").and_then(|note| note.split(' ').next());
    let late: usize = late.and_then(|n| n.parse().ok()).unwrap();
    assert!(notes[0].contains("came more than 1048576 calls after theirs"), "{notes:?}");
    assert!(late > 0 && work.len() + late == 94, "{} {late}", work.len());
    for (_, _, gpu, _) in work.iter().filter(|(_, _, gpu, _)| gpu.what == GPU_KERNEL) {
        let (_, api, grid) = &calls[&gpu.link];
        assert!(api == "cuGraphLaunch" || *grid == gpu.grid[0], "{api} {grid} {:?}", gpu.grid);
    }
}

/// The record of a node that did not run has old times: it does not count as work, and the trace says so.
#[test]
fn records_of_nodes_that_did_not_run_are_counted() {
    let lab = Lab::new();
    for how in [how(), how().with("STUB_CUPTI_OLD", "1")] {
        let ran = ran(&lab, &how.with("STUB_CUPTI_STALE", "1"));
        let (work, calls, notes) = read(&ran.traces[0].path);
        assert!(notes[0].contains(" 3 records of CUPTI are of nodes of graphs"), "{notes:?}");
        let of_graphs = work.iter().filter(|(_, _, gpu, _)| calls[&gpu.link].1 == "cuGraphLaunch");
        assert_eq!((work.len(), of_graphs.count()), (80 + 8 + 3, 3));
    }
}

/// Off by default: the trace has no GPU work, and no call has a link.
#[test]
fn off_by_default() {
    let lab = Lab::new();
    let (work, calls, _) = read(&ran(&lab, &How::shim()).traces[0].path);
    assert!(work.is_empty() && calls.is_empty());
}

/// Records that CUPTI delivered before a kill are in the file.
#[test]
fn killed() {
    let lab = Lab::new();
    let ran = lab.run(&driver_program(&lab), &["killed"], &how());
    assert_eq!(ran.end, "signal 9");
    let (work, calls, _) = read(&ran.traces[0].path);
    assert!(work.len() > 50 && work.iter().all(|(_, _, gpu, _)| calls.contains_key(&gpu.link)));
}

/// Complete records reach the file before a buffer is full.
#[test]
fn killed_later() {
    let lab = Lab::new();
    let (trace, enough) = (lab.path("killed.cushim"), lab.path("enough"));
    let how = how().with("CUSHIM_OUTPUT", trace.to_str().unwrap());
    let program = driver_program(&lab);
    let seen = std::thread::scope(|scope| {
        scope.spawn(|| lab.run(&program, &["killed", enough.to_str().unwrap()], &how));
        let until = Instant::now() + Duration::from_secs(50);
        let mut work = 0;
        while work < 94 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
            let Ok(mut file) = TraceFile::open(&trace) else { continue };
            work = 0;
            file.poll(true, &mut |_, event| {
                work += usize::from(matches!(event.body, Body::Gpu(_)))
            })
            .unwrap();
        }
        std::fs::write(&enough, "").unwrap();
        work
    });
    assert_eq!(seen, 94);
    assert_eq!(read(&trace).0.len(), 94);
}

/// From `cushim record` to the report and the exports.
#[test]
fn from_record_to_export() {
    let lab = Lab::new();
    let (program, folder) = (driver_program(&lab), tempfile::tempdir().unwrap());
    let cushim = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cushim"));
        let run = command.args(args).current_dir(&folder).env("LD_LIBRARY_PATH", stub());
        let run = run.env_remove("CUDA_INJECTION64_PATH").output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        assert!(run.status.success(), "{args:?}: {}", text(run.stderr));
        (text(run.stdout), text(run.stderr))
    };
    cushim(&["record", "--gpu-time", "-o", "g.cushim", program.to_str().unwrap()]);
    let report: Value =
        serde_json::from_str(&cushim(&["report", "g.cushim", "--format", "json"]).0).unwrap();
    let kernels = report["kernels"].as_array().unwrap();
    let alpha = kernels.iter().find(|k| k["mangled"] == "_Z5alphaPfif").unwrap();
    let beta = kernels.iter().find(|k| k["mangled"] == "_Z4betav").unwrap();
    assert_eq!((&alpha["calls"], &alpha["gpu"]["count"]), (&80.into(), &80.into()));
    // The times are 1 to 40 and 101 to 140 microseconds.
    assert_eq!(alpha["gpu"]["gpu_ns"]["total"], (820 + 4820) * 1000);
    assert_eq!(alpha["gpu"]["gpu_ns"]["max"], 140_000);
    assert_eq!((&beta["calls"], &beta["gpu"]["count"]), (&0.into(), &6.into()));
    assert_eq!(report["gpu_copies"][0]["bytes"], 8 * 4096);
    assert_eq!(report["gpu_copies"][0]["direction"], "host to device");
    let text = cushim(&["report", "g.cushim"]).0;
    assert!(text.contains("GPU total") && text.contains("GPU streams"), "{text}");
    let trace = cushim(&["trace", "-c", "--gpu-time", program.to_str().unwrap()]).1;
    assert!(trace.contains("GPU avg") && trace.contains("time on the GPU"), "{trace}");
    let trace = cushim(&["trace", "-c", program.to_str().unwrap()]).1;
    assert!(trace.contains("--gpu-time") && !trace.contains("GPU avg"), "{trace}");

    let chrome = cushim(&["export", "g.cushim", "--to", "chrome", "-o", "-"]).0;
    let chrome: Value = serde_json::from_str(&chrome).unwrap();
    let events = chrome["traceEvents"].as_array().unwrap();
    let of = |cat: &str| events.iter().filter(|e| e["cat"] == cat).collect::<Vec<_>>();
    assert_eq!((of("kernel").len(), of("gpu_memcpy").len()), (86, 8));
    let calls: HashMap<u64, &Value> = of("cuda_driver")
        .into_iter()
        .map(|e| (e["args"]["correlation"].as_u64().unwrap(), e))
        .collect();
    for kernel in of("kernel") {
        let call = calls[&kernel["args"]["correlation"].as_u64().unwrap()];
        // The fit from counter to clock has this error over a few milliseconds.
        assert!(call["ts"].as_f64().unwrap() <= kernel["ts"].as_f64().unwrap() + 5.0);
        assert_eq!(kernel["tid"], kernel["args"]["stream"]);
    }
    let ends = |ph: &str| of("ac2g").iter().filter(|e| e["ph"] == ph).count();
    assert_eq!((ends("s"), ends("f")), (91, 94));
    let lines = cushim(&["export", "g.cushim", "--to", "jsonl", "-o", "-"]).0;
    let gpu = lines.lines().filter(|line| line.contains("\"event\":\"gpu\"")).count();
    assert_eq!(gpu, 94);
    cushim(&["export", "g.cushim", "--to", "perfetto", "-o", "g.pftrace"]);
    cushim(&["export", "g.cushim", "--to", "parquet", "-o", "lake"]);
}
