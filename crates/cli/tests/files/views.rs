//! The output of `report` for made-up trace files, byte for byte. `UPDATE_GOLDEN=1 cargo test` writes the
//! golden files anew.

use crate::manual;
use cushim_testkit::{corpus, trace as fuzz};

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use cushim_cli::report::merge;
use cushim_cli::view::{
    Children, Class, Classes, Format, KernelFilter, NameForm, Run, Totals, View, ViewOptions,
};
use cushim_trace::event::{Body, Call, Event, LaunchEvent, Texts, Words};
use cushim_trace::layout::*;
use cushim_trace::meta::{Kernel, Process};
use cushim_trace::reader::TraceFile;
use cushim_trace::testing::FileBuilder;
use manual::documented;

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const LAUNCH: u16 = 1;
const MALLOC: u16 = 2;
const MEMCPY: u16 = 3;
const DRIVER_LAUNCH: u16 = 4;
const ADD_NODE: u16 = 5;
const GRAPH_LAUNCH: u16 = 6;
const STREAM_CREATE: u16 = 7;
const SYNC: u16 = 8;
const QUERY: u16 = 9;
const GET_KERNEL: u16 = 10;
const MEMCPY_3D: u16 = 11;
const MODULE_LOAD: u16 = 12;

struct Sample {
    file: FileBuilder,
    now: u64,
    tid: u32,
}

impl Sample {
    fn new(pid: u32, ppid: u32, argv: &[&str]) -> Self {
        let mut file = FileBuilder::new(&Process {
            pid,
            ppid,
            exe: format!("/usr/local/bin/{}", argv[0]),
            argv: argv.iter().map(|a| (*a).to_owned()).collect(),
            host: "node7".into(),
            rank: None,
            version: "0.1.0".into(),
        });
        file.api(LAUNCH, "cudaLaunchKernel", "launch", "");
        file.api(MALLOC, "cudaMalloc", "memory", "devPtr:ptr,size:size");
        file.api(
            MEMCPY,
            "cudaMemcpyAsync",
            "copy",
            "dst:ptr,src:ptr,count:size,kind:memcpykind,stream:stream",
        );
        file.api(DRIVER_LAUNCH, "cuLaunchKernel", "launch", "");
        file.api(ADD_NODE, "cudaGraphAddKernelNode", "graph", "");
        file.api(GRAPH_LAUNCH, "cudaGraphLaunch", "graph", "graphExec:graphexec,stream:stream");
        file.api(
            STREAM_CREATE,
            "cudaStreamCreateWithFlags",
            "stream",
            "pStream:stream,flags:flags",
        );
        file.api(SYNC, "cudaDeviceSynchronize", "sync", "");
        file.api(QUERY, "cudaStreamQuery", "sync", "stream:stream");
        file.api(GET_KERNEL, "__cudaGetKernel", "register", "kernel:func,hostFun:func");
        file.api(MEMCPY_3D, "cudaMemset3D", "copy", "pitched.0:dim,pitched.1:dim,pitched.2:dim,pitched.3:dim,value:int,extent.0:dim,extent.1:dim,extent.2:dim");
        file.api(MODULE_LOAD, "cuModuleLoad", "module", "module:ptr,fname:str");
        let kernel = |mangled: &str, params: &[(u32, u32)]| Kernel {
            mangled: mangled.into(),
            address: 0x55d0_0000,
            owner: "/home/u/app".into(),
            params: Ok(params.to_vec()),
            types: String::new(),
        };
        file.kernel(1, &kernel("_Z4initPfi", &[(0, 8), (8, 4)]));
        file.kernel(2, &kernel("_Z4stepIfLi256EEvPT_iS0_", &[(0, 8), (8, 4), (12, 4)]));
        file.kernel(3, &kernel("triton_poi_fused_add_0", &[(0, 8), (8, 8), (16, 4)]));
        file.kernel(
            4,
            &Kernel {
                params: Err("the image holds no layout".into()),
                ..kernel("_Z4initPdi", &[])
            },
        );
        file.kernel(5, &kernel("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_", &[(0, 4), (4, 4), (8, 8)]));
        file.kernel(6, &Kernel { address: 0x7f00_1234, ..Kernel::default() });
        file.context(0xc0, 1);
        Sample { file, now: 0, tid: pid }
    }
    fn at(&mut self, api: u16, depth: u8, ns: Option<u64>, status: i32, body: Body<'_>) {
        self.now += 1000;
        let event = Event {
            id: 0,
            parent: None,
            tid: self.tid,
            api,
            depth,
            begin_ns: self.now,
            call_ns: ns,
            status: ns.map(|_| status),
            link: 0,
            body,
        };
        if depth == 0 {
            self.now += ns.unwrap_or(0);
        }
        self.file.event(&event);
    }
    fn launch(&mut self, kernel: u32, grid: u32, stream: u64, ns: u64, status: i32, args: &[u8]) {
        let body = launch(kernel, [grid, 1, 1], stream, args);
        self.at(LAUNCH, 0, Some(ns), status, Body::Launch(body));
    }
    fn call(&mut self, api: u16, ns: u64, status: i32, kernel: u32, outs: u16, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let words = Words::new(&bytes);
        self.at(
            api,
            0,
            Some(ns),
            status,
            Body::Call(Call { kernel, outs, words, texts: Texts::default() }),
        );
    }
}

fn launch(kernel: u32, grid: [u32; 3], stream: u64, args: &[u8]) -> LaunchEvent<'_> {
    let (block, context) = ([256, 1, 1], 0xc0);
    let stored = LaunchBody { kernel, grid, block, stream, context, ..LaunchBody::default() };
    LaunchEvent { stored, args }
}

fn bytes(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn pointer(n: u64) -> [u8; 8] {
    (0x7f3a_0000_0000 + n).to_le_bytes()
}

/// A program with events of every kind.
fn program() -> Sample {
    let mut s = Sample::new(4242, 1, &["app", "1024"]);
    s.call(MALLOC, 90_000, 0, 0, 1, &[0x7f3a_0000_0000, 4096]);
    s.call(STREAM_CREATE, 8_000, 0, 0, 1, &[0x5566_0010, 1]);
    s.call(MEMCPY, 12_345, 0, 0, 0, &[0x7f3a_0000_0000, 0x7ffc_1000, 4096, 1, 0x5566_0010]);
    let init = bytes(&[&pointer(0), &4096i32.to_le_bytes()]);
    s.launch(1, 16, 0, 41_000, 0, &init);
    let step = |n: i32| bytes(&[&pointer(0), &n.to_le_bytes(), &0.01f32.to_le_bytes()]);
    for n in 0..400 {
        s.launch(2, 16, 0x5566_0010, 3_000 + n % 7, 0, &step(n as i32));
    }
    s.launch(2, 32, 0x5566_0010, 2_900, 0, &step(1));
    s.launch(2, 32, 0x5566_0010, 2_900, 0, &step(2));
    let triton = bytes(&[&pointer(512), &4096u64.to_le_bytes(), &7i32.to_le_bytes()]);
    s.launch(3, 8, 0, 5_000, 98, &triton);
    s.launch(4, 1, 0, 2_000, 0, &[]);
    s.launch(6, 1, 0, 2_000, 0, &[]);
    let fill = bytes(&[&9i32.to_le_bytes(), &1.5f32.to_le_bytes(), &pointer(64)]);
    let mut cluster = launch(5, [4, 2, 1], 2, &fill);
    let asked = &mut cluster.stored;
    (asked.cluster, asked.flags, asked.shared) = ([2, 1, 1], LAUNCH_COOPERATIVE, 4096);
    s.at(LAUNCH, 0, Some(9_000), 0, Body::Launch(cluster));
    s.at(DRIVER_LAUNCH, 1, Some(7_000), 0, Body::Launch(launch(5, [4, 2, 1], 2, &fill)));
    let mut cut = launch(1, [1, 1, 1], 0, &init[..8]);
    cut.stored.flags = LAUNCH_ARGS_CUT;
    s.at(LAUNCH, 0, Some(1_000), 0, Body::Launch(cut));
    s.at(ADD_NODE, 0, Some(1_500), 0, Body::Launch(launch(1, [16, 1, 1], 0x9000, &init)));
    s.call(GRAPH_LAUNCH, 6_000, 0, 0, 0, &[0x9100, 0]);
    s.call(QUERY, 700, 600, 0, 0, &[0x5566_0010]);
    s.call(GET_KERNEL, 300, 35, 2, 1, &[0x1, 0x2]);
    s.call(MEMCPY_3D, 400, 1, 0, 0, &[0x7f3a_0000_0000, 512, 512, 4, 0, 16, 4, 1]);
    let words = bytes(&[&0x8800u64.to_le_bytes(), &pointer(0)]);
    let name = bytes(&[&1u16.to_le_bytes(), &7u16.to_le_bytes(), b"a\"b.ptx\0"]);
    let (words, texts) = (Words::new(&words), Texts::new(&name, 1));
    s.at(MODULE_LOAD, 0, Some(77), 0, Body::Call(Call { kernel: 0, outs: 1, words, texts }));
    s.call(STREAM_CREATE, 100, 2, 0, 0, &[0x7ffc_2000, 1]);
    s.at(0, 0, Some(0), 0, Body::Mark("epoch 2\x1b[2J"));
    s.at(
        SYNC,
        0,
        None,
        0,
        Body::Call(Call { kernel: 0, outs: 0, words: Words::new(&[]), texts: Texts::default() }),
    );
    s.file.lost[Lost::Limit as usize] = 12;
    s.file.note("parameter layouts of 1 image are unknown");
    s
}

fn show(samples: &[&Sample], options: ViewOptions) -> (String, Totals) {
    let folder = tempfile::tempdir().unwrap();
    let mut files: Vec<TraceFile> = samples
        .iter()
        .enumerate()
        .map(|(n, sample)| {
            let path = folder.path().join(format!("{n}.cushim"));
            sample.file.write(&path).unwrap();
            TraceFile::open(&path).unwrap()
        })
        .collect();
    let out = Shared::default();
    let mut view = View::new(options, Run::default(), Box::new(out.clone()));
    merge(&mut files, &mut view).unwrap();
    for (n, file) in files.iter().enumerate() {
        view.ended(n, file);
    }
    let totals = view.finish().unwrap();
    let text = String::from_utf8(out.0.borrow().clone()).unwrap();
    (text, totals)
}

fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{name} differs; now:\n{text}");
}

fn all_classes() -> ViewOptions {
    ViewOptions {
        classes: Classes::of(&[Class::All]),
        classes_chosen: true,
        ..ViewOptions::default()
    }
}

#[test]
fn text_by_default() {
    let (text, totals) = show(&[&program()], ViewOptions::default());
    golden("default.txt", &text);
    assert_eq!((totals.launches, totals.failed, totals.pending), (408, 4, 1));
    assert_eq!(totals.lost[Lost::Limit as usize], 12);
}

#[test]
fn text_of_everything_nested() {
    let options = ViewOptions { nested: true, ..all_classes() };
    golden("all-nested.txt", &show(&[&program()], options).0);
}

#[test]
fn text_on_a_narrow_ascii_terminal() {
    let options =
        ViewOptions { width: Some(72), color: true, utf8: false, limit: Some(5), ..all_classes() };
    golden("narrow.txt", &show(&[&program()], options).0);
}

#[test]
fn summary_only_with_full_names() {
    let options = ViewOptions { lines: false, names: NameForm::Full, ..ViewOptions::default() };
    golden("summary-full.txt", &show(&[&program()], options).0);
}

#[test]
fn json_lines() {
    let options = ViewOptions { format: Format::Jsonl, nested: true, ..all_classes() };
    let (text, _) = show(&[&program()], options);
    // Each line is one object, and the 400 repetitions are not folded.
    let values: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(values.first().unwrap()["event"], "header");
    assert_eq!(values.last().unwrap()["event"], "summary");
    let steps = values.iter().filter(|v| v["event"] == "launch" && v["kernel_id"] == "k2");
    assert_eq!(steps.count(), 402);
    let nested = values.iter().find(|v| v["depth"] == 1).unwrap();
    assert!(values.iter().any(|v| v["id"] == nested["parent"] && v["api"] == "cudaLaunchKernel"));
    // The golden file keeps one event of each kind.
    let kept =
        text.lines().zip(&values).filter(|(_, v)| v["kernel_id"] != "k2" || v["event"] != "launch");
    let kept: Vec<String> = kept.map(|(line, _)| format!("{line}\n")).collect();
    golden("lines.jsonl", &kept.concat());
    for value in &values {
        documented(value, "trace-jsonl.md");
    }
}

#[test]
fn several_processes() {
    let mut child = Sample::new(4243, 4242, &["worker", "--fast"]);
    child.now = 500;
    let args = bytes(&[&pointer(0), &1i32.to_le_bytes()]);
    (0..3).for_each(|_| child.launch(1, 2, 0x77, 1_000, 0, &args));
    let mut parent = Sample::new(4242, 1, &["app"]);
    (0..3).for_each(|_| parent.launch(1, 2, 0, 1_000, 0, &args));
    parent.launch(2, 2, 0, 1_000, 0, &[]);
    let both = [&parent, &child];
    golden("processes.txt", &show(&both, ViewOptions::default()).0);
    let jsonl = ViewOptions { format: Format::Jsonl, ..ViewOptions::default() };
    let (text, _) = show(&both, jsonl);
    let ids: Vec<u64> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_u64())
        .collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!((ids.len(), unique.len()), (7, 7));
    for (children, launches) in [("none", 4), ("work", 7), ("^app$", 4)] {
        let children = Children::new(children).unwrap();
        let options = ViewOptions { children, root: Some(4242), ..ViewOptions::default() };
        assert_eq!(show(&both, options).1.launches, launches);
    }
}

#[test]
fn calls_within_repeated_calls_are_repeated_too() {
    let mut s = Sample::new(1, 0, &["app"]);
    let args = bytes(&[&pointer(0), &1i32.to_le_bytes()]);
    for n in 0..10 {
        s.launch(1, 2, 0, 1_000, 0, &args);
        if n == 5 {
            s.at(MALLOC, 1, Some(10), 0, Body::Mark("loads a module"));
        }
        s.at(DRIVER_LAUNCH, 1, Some(700), 0, Body::Launch(launch(1, [2, 1, 1], 0, &args)));
    }
    let options = ViewOptions { nested: true, summary: false, ..ViewOptions::default() };
    golden("nested-fold.txt", &show(&[&s], options).0);
}

#[test]
fn one_symbol_in_two_files_is_two_kernels() {
    let mut s = Sample::new(1, 0, &["app"]);
    for (id, owner) in [(7, "/lib/liba.so"), (8, "/lib/libb.so")] {
        let kernel = Kernel {
            mangled: "_Z4scanPi".into(),
            owner: owner.into(),
            params: Ok(vec![]),
            ..Kernel::default()
        };
        s.file.kernel(id, &kernel);
        (0..id - 5).for_each(|_| s.launch(id, 1, 0, 100, 0, &[]));
    }
    let text = show(&[&s], ViewOptions::default()).0;
    assert!(text.contains("k1 scan [liba.so]\n") && text.contains("k2 scan [libb.so]\n"), "{text}");
}

#[test]
fn filters() {
    let lines = |options: ViewOptions| {
        let text = show(&[&program()], ViewOptions { summary: false, ..options }).0;
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let only = |expressions: &[&str]| ViewOptions {
        kernels: KernelFilter::new(
            &expressions.iter().map(|e| (*e).to_owned()).collect::<Vec<_>>(),
        )
        .unwrap(),
        ..ViewOptions::default()
    };
    // Failed and unfinished calls appear whatever is selected, unless they belong to another kernel.
    let triton = lines(only(&["triton"]));
    assert_eq!(triton.len(), 4, "{triton:?}");
    assert!(lines(only(&["k3"])).iter().any(|l| l.starts_with("k3 triton")));
    assert!(
        lines(only(&["!k2", "!init"])).iter().all(|l| !l.contains("step") && !l.contains("init"))
    );
    let failed = lines(ViewOptions { failed_only: true, ..ViewOptions::default() });
    assert_eq!(failed.len(), 5, "{failed:?}");
    assert!(failed.iter().all(|l| l.contains(" cudaError") || l.ends_with(" = ?")));
}

fn cushim(args: &[&str]) -> (i32, String, String) {
    let run = Command::new(env!("CARGO_BIN_EXE_cushim")).args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (run.status.code().unwrap(), text(run.stdout), text(run.stderr))
}

#[test]
fn report_finds_files_and_refuses_others() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (status, _, stderr) = cushim(&["report", &text(folder.path())]);
    assert!(status == 125 && stderr.contains("no trace file in this folder"), "{stderr}");
    std::fs::create_dir(at("rank=0")).unwrap();
    program().file.write(&at("rank=0/app.4242.cushim")).unwrap();
    let (status, stdout, stderr) = cushim(&["report", "-c", &text(folder.path())]);
    assert!(status == 0 && stdout.contains("step<float, 256>"), "{stderr}");
    let out = text(&at("out.jsonl"));
    let (status, stdout, stderr) = cushim(&["report", "-o", &out, &text(folder.path())]);
    assert!(status == 0 && stdout.is_empty(), "{stderr}");
    assert!(std::fs::read_to_string(&out).unwrap().starts_with("{\"event\":\"header\""));
    std::fs::write(at("bad.cushim"), "not a trace").unwrap();
    for bad in [at("bad.cushim"), at("none.cushim"), PathBuf::from("/dev/null")] {
        let (status, stdout, stderr) = cushim(&["report", &text(&bad)]);
        assert_eq!((status, stdout.as_str(), stderr.lines().count()), (125, "", 1), "{stderr}");
        assert!(stderr.contains(&text(&bad)), "{stderr}");
    }
    let (status, _, stderr) = cushim(&["report", "-k", "(", &text(&at("rank=0/app.4242.cushim"))]);
    assert!(status == 125 && stderr.contains("--kernel"), "{stderr}");
}

/// Any bytes in a file give an answer or an error, and no panic.
#[test]
fn damaged_files_are_shown_as_far_as_they_go() {
    let whole = program().file.bytes();
    let mut seed = 7u64;
    for round in 0..200 {
        let mut bytes = whole.clone();
        for _ in 0..1 + round % 20 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (seed >> 20) as usize % bytes.len();
            bytes[at] = (seed >> 56) as u8;
        }
        bytes.truncate(if round % 3 == 0 { bytes.len() / 2 + round } else { bytes.len() });
        fuzz::file(&bytes);
    }
}

/// Seeds for `scripts/fuzz`, and inputs with which fuzzing once found a fault.
#[test]
fn seeds_for_fuzzing() {
    corpus::regressions("trace_file", fuzz::file);
    let mut s = Sample::new(1, 0, &["app"]);
    s.call(MALLOC, 90_000, 0, 0, 1, &[0x7f3a_0000_0000, 4096]);
    let args = bytes(&[&pointer(0), &1i32.to_le_bytes()]);
    for n in 0..3 {
        s.launch(1, 2, 0, 1_000, n, &args);
        s.at(DRIVER_LAUNCH, 1, Some(700), 0, Body::Launch(launch(1, [2, 1, 1], 0, &args)));
    }
    s.at(0, 0, Some(0), 0, Body::Mark("here"));
    let seeds = [s.file.bytes(), as_ring(s.file.bytes())];
    seeds.iter().for_each(|seed| fuzz::file(seed));
    corpus::seeds("trace_file", seeds);
}

/// The same file as a flight recorder's, with a mark in the mailbox.
fn as_ring(mut file: Vec<u8>) -> Vec<u8> {
    use cushim_trace::layout::*;
    file[12] |= FLAG_RING as u8;
    file[std::mem::offset_of!(FileHeader, keep) + 2] = 1;
    file[std::mem::offset_of!(FileHeader, overwritten)] = 7;
    let slot = [[MAIL_FULL, 1], [1 << 30, 0], [4, 0]].concat();
    let slot = slot.iter().flat_map(|word| word.to_le_bytes()).chain(*b"mark");
    file.splice(MAILBOX..MAILBOX + 28, slot);
    let mut at = PAGE;
    let word = |file: &[u8], at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    for sequence in 1u8.. {
        if at >= file.len() {
            break;
        }
        if word(&file, at + 4) == CHUNK_EVENTS {
            file[at + 32] = sequence;
        }
        at += word(&file, at + 8) as usize;
    }
    file
}

#[test]
fn a_ring_is_shown_as_such() {
    let mut s = Sample::new(1, 0, &["app"]);
    s.launch(1, 2, 0, 1_000, 0, &bytes(&[&pointer(0), &1i32.to_le_bytes()]));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring.cushim");
    std::fs::write(&path, as_ring(s.file.bytes())).unwrap();
    let mut file = cushim_trace::reader::TraceFile::open(&path).unwrap();
    let mut seen = Vec::new();
    file.poll(true, &mut |_, event| seen.push(matches!(event.body, Body::Mark("mark")))).unwrap();
    assert_eq!((seen, file.header().overwritten), (vec![false, true], 7));
}
