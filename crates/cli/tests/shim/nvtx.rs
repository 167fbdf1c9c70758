//! The program's own NVTX ranges (`-e nvtx`): every kind of call, by a program that implements NVTX's
//! interface itself, and by the same program with NVIDIA's headers if a toolkit has them.

use std::path::Path;
use std::process::Command;

use cushim_trace::event::{Body, Payload};
use cushim_trace::layout::*;
use cushim_trace::reader::TraceFile;
use serde_json::Value;

use crate::headers::toolkit;
use crate::lab::{How, Lab, Ran, library};

/// The ranges and marks of a trace as `what domain text`, and its launches, in order for each thread.
fn moments(path: &Path) -> Vec<String> {
    let mut file = TraceFile::open(path).unwrap();
    let mut all = Vec::new();
    file.poll(true, &mut |meta, event| match &event.body {
        Body::Range(range) => {
            let domain = meta.names.get(&range.domain).map_or("-", String::as_str);
            let word = match range.what {
                RANGE_PUSH => "push",
                RANGE_POP => "pop",
                RANGE_START => "start",
                RANGE_END => "end",
                RANGE_MARK => "mark",
                what => panic!("{what}"),
            };
            let id = if range.id == 0 { String::new() } else { format!(" #{}", range.id) };
            let text = match range.text {
                "" => String::new(),
                text => format!(" {text}"),
            };
            let more = match (range.payload(), range.category, range.color) {
                (None, 0, 0) => String::new(),
                (payload, category, color) => {
                    let payload = match payload {
                        Some(Payload::Whole(whole)) => whole.to_string(),
                        Some(Payload::Real(real)) => real.to_string(),
                        None => "-".to_owned(),
                    };
                    format!(" {payload} {category} {color:08x}")
                }
            };
            assert_eq!(event.call_ns, Some(0));
            all.push(format!("{word} {domain}{text}{id}{more}"));
        }
        Body::Launch(_) => all.push("launch".to_owned()),
        _ => {}
    })
    .unwrap();
    assert_eq!((file.damaged(), file.header().lost), (0, Default::default()));
    all
}

fn how() -> How {
    How::shim()
        .with("CUSHIM_EVENTS", "launch,nvtx")
        .with("NVTX_INJECTION64_PATH", library().to_str().unwrap())
}

fn ran(lab: &Lab, program: &Path, what: &str, how: &How) -> Ran {
    let ran = lab.run(program, &[what], how);
    assert_eq!((ran.end.as_str(), ran.stderr.as_str()), ("exit 0", ""), "{}", ran.stdout);
    ran
}

const RANGES: &[&str] = &[
    "start - any thread #1",
    "push - outer",
    "push - größe",
    "launch",
    "push physics step 2.5 3 ff102030",
    "launch",
    "launch",
    "pop physics",
    "pop -",
    "pop -",
    "mark - mark",
    "mark - wide",
    "mark physics number -7 0 00000000",
    "mark -",
    "start physics ex #2",
    "end physics #2",
    "end - #1",
];

fn every_kind(lab: &Lab, program: &Path) {
    let ran = ran(lab, program, "ranges", &how());
    assert_eq!(ran.stdout, "one domain 1\npush 0 1 0 pop 0 1 0 -1\nthread -1\n");
    assert_eq!(moments(&ran.traces[0].path), RANGES);
}

#[test]
fn every_kind_of_call() {
    let lab = Lab::new();
    every_kind(&lab, &lab.program("nvtx.c", 12));
}

/// The same program with NVIDIA's headers; NVTX consists of headers only.
#[test]
fn with_headers_of_nvidia() {
    let Some(nvtx) = toolkit("nvtx-13.5") else { return };
    let lab = Lab::new();
    let include = format!("-I{}/include", nvtx.display());
    let folder = format!("-L{}", crate::lab::stub().display());
    let library = format!("-l:{}", crate::lab::cudart(12));
    let flags = ["-DREAL_NVTX", "-DMAJOR=12", &include, &folder, &library, "-lpthread", "-ldl"];
    every_kind(&lab, &lab.build("nvtx-nvidia", "nvtx.c", &flags));
}

/// If no range is to be recorded, the calls return what they return without a tool.
#[test]
fn not_asked_for() {
    let lab = Lab::new();
    let program = lab.program("nvtx.c", 12);
    let bare = ran(&lab, &program, "ranges", &How::bare());
    assert_eq!(bare.stdout, "one domain 1\npush -2 -2 -2 pop -2 -2 -2 -2\nthread -2\n");
    for how in
        [How::shim(), how().with("CUSHIM_EVENTS", "launch"), how().with("CUSHIM_DISABLE", "1")]
    {
        let disabled = how.environment.iter().any(|(name, _)| name == "CUSHIM_DISABLE");
        let ran = ran(&lab, &program, "ranges", &how);
        assert_eq!(ran.stdout, bare.stdout);
        match ran.traces.first() {
            Some(trace) => assert_eq!(moments(&trace.path), ["launch"; 3]),
            None => assert!(disabled),
        }
    }
}

/// A range that began inside the window ends in the trace; one that began before it does not.
#[test]
fn a_window_cuts_no_range() {
    let lab = Lab::new();
    let how = how().with("CUSHIM_CAPTURE_RANGE", "1");
    let ran = ran(&lab, &lab.program("nvtx.c", 12), "window", &how);
    assert_eq!(ran.stdout, "pop 1 0\n");
    let found = moments(&ran.traces[0].path);
    let id = found.iter().find_map(|line| line.strip_prefix("start - across ")).unwrap();
    let end = format!("end - {id}");
    let start = format!("start - across {id}");
    let all = ["push - inside", "pop -", "push - across", &start, "pop -", &end];
    assert_eq!(found, all);
}

#[test]
fn a_child_has_its_own() {
    let lab = Lab::new();
    let ran = ran(&lab, &lab.program("nvtx.c", 12), "fork", &how());
    assert_eq!(ran.stdout, "child 0 parent 0\n");
    let mut found: Vec<_> = ran.traces.iter().map(|trace| moments(&trace.path)).collect();
    found.sort();
    let own = ["push family both", "pop family"].map(str::to_owned).to_vec();
    let child = ["push family child", "pop family"].map(str::to_owned).to_vec();
    assert_eq!(found, [own, child]);
}

/// The launcher sets the injection variable, shows ranges in every view, and leaves another tool's setting.
#[test]
fn through_the_launcher() {
    let lab = Lab::new();
    let program = lab.program("nvtx.c", 12);
    let cushim = |arguments: &[&str], taken: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cushim"));
        command.args(arguments).arg("--").arg(&program).arg("ranges").current_dir(lab.path("."));
        command.env("LD_LIBRARY_PATH", crate::lab::stub()).env_remove("NVTX_INJECTION64_PATH");
        if let Some(taken) = taken {
            command.env("NVTX_INJECTION64_PATH", taken);
        }
        let done = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    };
    let (code, out, err) = cushim(&["trace", "-e", "nvtx", "-o", "run.jsonl"], None);
    assert!(code == Some(0) && out.contains("push 0 1 0"), "{err}");
    assert!(!err.contains("no kernel launch was seen"), "{err}");
    let lines = std::fs::read_to_string(lab.path("run.jsonl")).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ranges: Vec<Value> = lines.filter(|line| line["event"] == "nvtx").collect();
    assert_eq!(ranges.len(), RANGES.iter().filter(|line| **line != "launch").count());
    let step = ranges.iter().find(|line| line["text"] == "step").unwrap();
    assert_eq!(
        (&step["range"]["payload"], &step["range"]["domain"]),
        (&2.5.into(), &"physics".into())
    );
    let (_, _, err) = cushim(&["trace", "-e", "launch,nvtx"], None);
    assert!(err.contains("range begins [physics]: step") && err.contains("range ends"), "{err}");

    let other = "/opt/another/tool.so";
    let (code, out, err) = cushim(&["trace", "-e", "nvtx"], Some(other));
    assert!(code == Some(125) && out.is_empty() && err.contains(other), "{err}");
    let (code, out, err) = cushim(&["trace", "-e", "all"], Some(other));
    assert!(code == Some(0) && out.contains("push -2"), "{err}");
    assert!(err.contains(other) && err.contains("alpha") && !err.contains("range begins"), "{err}");
}
