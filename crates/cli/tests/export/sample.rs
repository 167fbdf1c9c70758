//! Makes traces, and runs `cushim export` on them.

use std::path::{Path, PathBuf};
use std::process::Command;

use cushim_trace::event::{Body, Call, Event, LaunchEvent, Texts, Words};
use cushim_trace::layout::{LaunchBody, Lost};
use cushim_trace::meta::{Kernel, Process};
use cushim_trace::testing::FileBuilder;

pub const LAUNCH: u16 = 1;
pub const DRIVER_LAUNCH: u16 = 2;
pub const MEMCPY: u16 = 3;
pub const SYNC: u16 = 4;
pub const MALLOC: u16 = 5;
pub const STREAM: u64 = 0x5566_0010;

/// The short and the declared name of kernel 2.
pub const STEP: (&str, &str) = ("step<float, 256>", "void step<float, 256>(float*, int, float)");

/// A process with this number and rank: 20 launches with a driver launch inside, on two threads, a
/// copy, a failed call, a mark, a call that never returned, and 12 lost events.
pub fn program(pid: u32, rank: Option<u32>) -> FileBuilder {
    let mut file = FileBuilder::new(&Process {
        pid,
        ppid: 1,
        exe: "/usr/local/bin/app".into(),
        argv: vec!["app".into(), "a b".into()],
        host: "node7".into(),
        rank,
        version: "0.1.0".into(),
    });
    file.api(LAUNCH, "cudaLaunchKernel", "launch", "");
    file.api(DRIVER_LAUNCH, "cuLaunchKernel", "launch", "");
    let copy = "dst:ptr,src:ptr,count:size,kind:memcpykind,stream:stream";
    file.api(MEMCPY, "cudaMemcpyAsync_ptsz", "copy", copy);
    file.api(SYNC, "cudaDeviceSynchronize", "sync", "");
    file.api(MALLOC, "cudaMalloc", "memory", "devPtr:ptr,size:size");
    for (id, mangled) in [(1, "_Z4initPfi"), (2, "_Z4stepIfLi256EEvPT_iS0_")] {
        let params = Ok([(0, 8), (8, 4), (12, 4)].iter().take(id as usize + 1).copied().collect());
        let owner = "/usr/local/bin/app".into();
        file.kernel(
            id,
            &Kernel { mangled: mangled.into(), address: 0x10, owner, params, types: String::new() },
        );
    }
    file.context(0xc0, 1);
    file.lost[Lost::Limit as usize] = 12;
    let mut now = 0;
    let mut at = |tid, api, depth, begin, ns: Option<u64>, status: i32, body: Body<'_>| {
        let status = ns.map(|_| status);
        let (id, parent, call_ns) = (0, None, ns);
        file.event(&Event {
            id,
            parent,
            tid,
            api,
            depth,
            begin_ns: begin,
            call_ns,
            status,
            link: 0,
            body,
        });
    };
    let mut args = 0x7f3a_0000_0000u64.to_le_bytes().to_vec();
    args.extend(7i32.to_le_bytes());
    args.extend(0.01f32.to_le_bytes());
    at(pid, MALLOC, 0, now, Some(90_000), 0, call(&words(&[0x7f3a_0000_0000, 4096])));
    now += 100_000;
    let copied = words(&[0x7f3a_0000_0000, 0x7ffc_1000, 4096, 1, STREAM]);
    at(pid, MEMCPY, 0, now, Some(12_345), 0, call(&copied));
    for n in 0..20 {
        now += 20_000;
        let tid = pid + n % 2;
        let body = launch(2, if n % 3 == 0 { 0 } else { STREAM }, &args);
        at(tid, LAUNCH, 0, now, Some(5_000), 0, Body::Launch(body));
        at(tid, DRIVER_LAUNCH, 1, now + 1_000, Some(3_000 + u64::from(n)), 0, Body::Launch(body));
    }
    now += 20_000;
    at(pid, LAUNCH, 0, now, Some(2_000), 98, Body::Launch(launch(1, 0, &args[..12])));
    now += 20_000;
    at(pid, 0, 0, now, Some(0), 0, Body::Mark("epoch 2\x1b[2J \"é\""));
    now += 20_000;
    at(pid, SYNC, 0, now, None, 0, call(&[]));
    file
}

/// The number of calls in [`program`].
pub const CALLS: usize = 44;

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn call(bytes: &[u8]) -> Body<'_> {
    let (words, texts) = (Words::new(bytes), Texts::default());
    Body::Call(Call { kernel: 0, outs: u16::from(bytes.len() == 16), words, texts })
}

fn launch(kernel: u32, stream: u64, args: &[u8]) -> LaunchEvent<'_> {
    let (grid, block, shared, context) = ([16, 2, 1], [256, 1, 1], 64, 0xc0);
    let stored =
        LaunchBody { kernel, grid, block, shared, stream, context, ..LaunchBody::default() };
    LaunchEvent { stored, args }
}

/// Runs `cushim ARGS` in `folder`; returns exit code, standard output and standard error.
pub fn cushim(folder: &Path, args: &[&str]) -> (i32, Vec<u8>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cushim"));
    let run = command.args(args).current_dir(folder).output().unwrap();
    (run.status.code().unwrap(), run.stdout, String::from_utf8(run.stderr).unwrap())
}

/// Exports the traces in `folder` to standard output and returns it.
pub fn stdout(folder: &Path, format: &str, from: &str) -> Vec<u8> {
    let (status, out, err) = cushim(folder, &["export", from, "--to", format, "-o", "-"]);
    assert_eq!(status, 0, "{err}");
    out
}

/// A folder that holds the trace of [`program`].
pub fn one() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.4242.cushim");
    program(4242, None).write(&path).unwrap();
    (folder, path)
}

/// The names in a folder and its subfolders, sorted.
pub fn tree(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => names.extend(tree(&entry.path()).into_iter().map(|n| format!("{name}/{n}"))),
            false => names.push(name),
        }
    }
    names.sort();
    names
}
