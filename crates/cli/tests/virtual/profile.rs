//! `cushim profile -o`: the counters of launches in the trace, and in its exports.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Launches of different sizes in two streams, then a graph of two kernels, twice; a child does the same with other sizes.
const PROGRAM: &str = r#"
import ctypes, os, sys
cuda = ctypes.CDLL(None)
PTX = b""".version 8.0
.target sm_80
.address_size 64
.visible .entry fill(.param .u64 to) {
  .reg .u64 %a; .reg .u32 %i, %n, %b;
  ld.param.u64 %a, [to]; mov.u32 %i, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %b, %ctaid.x;
  mad.lo.u32 %i, %n, %b, %i;
  mad.wide.u32 %a, %i, 4, %a; st.global.u32 [%a], %i; ret; }
.visible .entry meet(.param .u64 to) { bar.sync 0; ret; }
"""
def call(name, *args):
    error = getattr(cuda, name)(*args)
    assert error == 0, (name, error)
v = ctypes.c_void_p
def out():
    return v()
ref = ctypes.byref
def main(scale):
    context, module, fill, meet, memory = out(), out(), out(), out(), ctypes.c_uint64()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ref(module), PTX)
    call("cuModuleGetFunction", ref(fill), module, b"fill")
    call("cuModuleGetFunction", ref(meet), module, b"meet")
    call("cuMemAlloc_v2", ref(memory), ctypes.c_size_t(1 << 20))
    arguments = (v * 1)(ctypes.cast(ctypes.pointer(memory), v))
    streams = [out(), out()]
    def launch(function, blocks, stream):
        call("cuLaunchKernel", function, blocks, 1, 1, 64, 1, 1, 0, stream, arguments, None)
    for stream in streams:
        call("cuStreamCreate", ref(stream), 1)
    for n in range(1, 4):
        launch(fill, n * scale, streams[n % 2])
    launch(meet, 5 * scale, streams[0])
    call("cuCtxSynchronize")
    graph, instance = out(), out()
    call("cuStreamBeginCapture_v2", streams[0], 2)
    launch(fill, 7 * scale, streams[0])
    launch(meet, 8 * scale, streams[0])
    call("cuStreamEndCapture", streams[0], ref(graph))
    call("cuGraphInstantiateWithFlags", ref(instance), graph, ctypes.c_ulonglong(0))
    for n in range(2):
        call("cuGraphLaunch", instance, streams[n])
    call("cuCtxSynchronize")
if os.fork() == 0:
    main(10)
    sys.exit(0)
assert os.wait()[1] == 0
main(1)
"#;

fn cushim(folder: &Path, args: &[&str]) -> Output {
    let cushim = env!("CARGO_BIN_EXE_cushim");
    assert!(Path::new(cushim).with_file_name("libvcuda.so").exists(), "run `cargo build` first");
    let mut command = Command::new("timeout");
    let done = command.args(["-s", "KILL", "100", cushim]).args(args).current_dir(folder);
    let done = done.output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    done
}

/// The lines of a trace, as JSON.
fn lines(folder: &Path, file: &str) -> Vec<Value> {
    let done = cushim(folder, &["export", "--to", "jsonl", "-o", "-", file]);
    let text = String::from_utf8(done.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of<'a>(lines: &'a [Value], event: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["event"] == event).collect()
}

#[test]
fn launches_have_their_counters() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    std::fs::write(folder.join("program.py"), PROGRAM).unwrap();
    let run = ["profile", "-o", "t.%p.cushim", "--json", "all.json", "python3", "program.py"];
    cushim(folder, &run);
    let profile: Value =
        serde_json::from_slice(&std::fs::read(folder.join("all.json")).unwrap()).unwrap();
    let names = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
    let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    let traces: Vec<&String> = names.iter().filter(|name| name.ends_with(".cushim")).collect();
    assert_eq!(traces.len(), 2, "a trace for each process: {names:?}");
    let mut sums: HashMap<(u64, String, String), u64> = HashMap::new();
    for trace in traces {
        let lines = lines(folder, trace);
        let calls: HashMap<u64, &Value> = lines
            .iter()
            .filter(|line| line["event"] != "gpu")
            .filter_map(|line| Some((line["link"].as_u64()?, line)))
            .collect();
        let work = of(&lines, "gpu");
        assert_eq!(work.len(), 8, "four launches, and two of a graph with two");
        let mut of_graphs = 0;
        for ran in work {
            let (grid, n) = (ran["grid"][0].as_u64().unwrap(), &ran["counters"]);
            // Each block has two warps; each stores once, or comes to a barrier once.
            let (stores, barriers) = match ran["kernel"].as_str().unwrap() {
                "fill" => (2 * grid, 0),
                _ => (0, 2 * grid),
            };
            assert_eq!(n["global_store_requests"], stores, "{ran}");
            assert_eq!(
                (&n["barriers"], &n["global_store_sectors"]),
                (&barriers.into(), &(4 * stores).into())
            );
            let call = calls[&ran["link"].as_u64().unwrap()];
            if call["event"] == "launch" {
                assert_eq!((&call["grid"], &call["kernel"]), (&ran["grid"], &ran["kernel"]));
            } else {
                of_graphs += 1;
                assert!(call["api"].as_str().unwrap().starts_with("cuGraphLaunch"), "{call}");
            }
            for (name, value) in n.as_object().unwrap() {
                let kernel = ran["kernel"].as_str().unwrap().to_owned();
                let key = (ran["pid"].as_u64().unwrap(), kernel, name.clone());
                *sums.entry(key).or_default() += value.as_u64().unwrap();
            }
        }
        assert_eq!(of_graphs, 4);
    }
    // `profile` shows the same numbers for each launch.
    let mut told: HashMap<(u64, String, String), u64> = HashMap::new();
    for kernel in profile["kernels"].as_array().unwrap() {
        for launch in kernel["launches"].as_array().unwrap() {
            for (name, value) in launch["counters"].as_object().unwrap() {
                let symbol = kernel["symbol"].as_str().unwrap().to_owned();
                let key = (launch["pid"].as_u64().unwrap(), symbol, name.clone());
                *told.entry(key).or_default() += value.as_u64().unwrap();
            }
        }
    }
    sums.retain(|(_, _, name), _| name != "dram_write_sectors");
    assert_eq!(sums, told);
    exports(folder);
}

/// Perfetto's and Chrome's files and the report have the counters.
fn exports(folder: &Path) {
    cushim(folder, &["export", "--to", "perfetto", "-o", "t.pftrace", "."]);
    let bytes = std::fs::read(folder.join("t.pftrace")).unwrap();
    let has = |name: &str| bytes.windows(name.len()).any(|window| window == name.as_bytes());
    assert!(has("global_store_sectors") && has("barriers"));
    // One file for each rank.
    cushim(folder, &["export", "--to", "chrome", "-o", "chrome", "."]);
    let mut counted = 0;
    for file in std::fs::read_dir(folder.join("chrome")).unwrap() {
        let chrome: Value =
            serde_json::from_slice(&std::fs::read(file.unwrap().path()).unwrap()).unwrap();
        let events = chrome["traceEvents"].as_array().unwrap();
        counted += events.iter().filter(|e| e["args"]["global_store_requests"].is_u64()).count();
    }
    assert_eq!(counted, 16);
}

#[test]
fn nothing_is_recorded_unless_asked_for() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    std::fs::write(folder.join("program.py"), PROGRAM).unwrap();
    cushim(folder, &["profile", "--json", "all.json", "python3", "program.py"]);
    let names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}
