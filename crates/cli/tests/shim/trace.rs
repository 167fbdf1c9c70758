//! Reads recorded trace files with the reader that all commands use.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cushim_trace::event::{Body, Event};
use cushim_trace::layout::{LAUNCH_ARGS_NULL, LAUNCH_ARGS_UNKNOWN, LOST_KINDS};
use cushim_trace::meta::Metadata;
use cushim_trace::reader::TraceFile;

/// The content of a trace file.
#[derive(Debug)]
pub struct Trace {
    /// The path of the file.
    pub path: PathBuf,
    /// The process id in it.
    pub pid: u32,
    /// The process ended through `exit`.
    pub closed: bool,
    /// Lost events by reason.
    pub lost: [u64; LOST_KINDS],
    /// The number of records that could not be understood.
    pub damaged: u64,
    /// Its events in the reader's order.
    pub calls: Vec<Recorded>,
    /// The kernels, images and other metadata that events refer to.
    pub metadata: Metadata,
}

/// One recorded call.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The function's name.
    pub function: String,
    /// The number of recorded calls that enclose it.
    pub depth: u8,
    /// Its result; `None` if it never returned.
    pub status: Option<i32>,
    /// A launch or kernel node as text, see [`crate::log::Line::launch`].
    pub launch: Option<String>,
    /// The argument words of any other call.
    pub words: Vec<u64>,
    /// The thread id.
    pub tid: u32,
}

/// Reads all traces of a folder.
pub fn read_all(folder: &Path) -> Vec<Trace> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

/// Reads one trace.
pub fn read(path: &Path) -> Trace {
    let mut file = TraceFile::open(path).unwrap_or_else(|e| panic!("{e}"));
    let mut calls = Vec::new();
    let progress = file.poll(true, &mut |metadata, event| calls.push(recorded(metadata, event)));
    progress.unwrap_or_else(|e| panic!("{e}"));
    Trace {
        path: path.to_owned(),
        pid: file.header().pid,
        closed: file.header().closed,
        lost: file.header().lost,
        damaged: file.damaged(),
        calls,
        metadata: file.metadata().clone(),
    }
}

fn recorded(metadata: &Metadata, event: &Event<'_>) -> Recorded {
    let function = metadata.apis.get(&event.api).map(|api| api.name.clone()).unwrap_or_default();
    let mut words = Vec::new();
    let launch = match &event.body {
        Body::Launch(launch) => {
            let kernel = metadata.kernels.get(&launch.kernel);
            let name = kernel.map(|k| k.mangled.as_str()).filter(|n| !n.is_empty()).unwrap_or("?");
            let none = kernel.is_some_and(|k| k.params.as_ref().is_ok_and(Vec::is_empty));
            let args = match launch.flags {
                f if f & LAUNCH_ARGS_UNKNOWN != 0 => "unknown".to_owned(),
                f if f & LAUNCH_ARGS_NULL != 0 => "none".to_owned(),
                _ if none => "-".to_owned(),
                _ => launch.args.iter().map(|b| format!("{b:02x}")).collect(),
            };
            let shape = |d: [u32; 3]| format!("{},{},{}", d[0], d[1], d[2]);
            let stream = match function.contains("Graph") {
                true => "graph".to_owned(),
                false if launch.stream == 0 => "0".to_owned(),
                false => format!("{:#x}", launch.stream),
            };
            Some(format!(
                "{function} {name}<<<{} | {}, {}, {stream}>>>({args}) = {}",
                shape(launch.grid),
                shape(launch.block),
                launch.shared,
                event.status.map_or("none".to_owned(), |s| s.to_string()),
            ))
        }
        Body::Call(call) => {
            words = call.words.iter().collect();
            None
        }
        Body::Mark(_) | Body::Gpu(_) | Body::Range(_) | Body::Mapped(_) => None,
    };
    Recorded { function, depth: event.depth, status: event.status, launch, words, tid: event.tid }
}

impl Trace {
    /// Whether it lost no event and has no damage.
    pub fn is_whole(&self) -> bool {
        self.damaged == 0 && self.lost.iter().all(|&n| n == 0)
    }

    /// Launches that the program itself made, as text.
    pub fn launches(&self) -> Vec<String> {
        self.calls.iter().filter(|c| c.depth == 0).filter_map(|c| c.launch.clone()).collect()
    }
}

/// The launches of all traces by process, sorted.
pub fn launches(traces: &[Trace]) -> BTreeMap<u32, Vec<String>> {
    let mut by_pid: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for trace in traces.iter().filter(|t| !t.launches().is_empty()) {
        by_pid.entry(trace.pid).or_default().extend(trace.launches());
    }
    by_pid.values_mut().for_each(|launches| launches.sort());
    by_pid
}
