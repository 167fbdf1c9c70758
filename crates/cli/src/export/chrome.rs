//! Chrome's trace format in the dialect of PyTorch's profiler (Kineto), one file per rank: what
//! Holistic Trace Analysis, TensorBoard's plugin, chrome://tracing and Perfetto read.
//!
//! Owns: the names, categories and arguments that such readers look for. `"rank": N` is in the first line, with the
//! space, because HTA finds it that way; functions have the names of CUDA's manual; a call is a `cuda_runtime` or
//! `cuda_driver` event with a `correlation`.
//!
//! GPU work is on its device's and stream's track, with the call's `correlation`, if it was recorded (`--gpu-time`);
//! a time that was not measured is not written.
//!
//! Must not know: files and folders.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use cushim_abi::Library;
use cushim_abi::named::{Named, named};
use cushim_trace::event::{Body, Event, Gpu, Mapped, Range};
use cushim_trace::layout::{
    GPU_COPY, GPU_KERNEL, RANGE_END, RANGE_MARK, RANGE_POP, RANGE_PUSH, RANGE_START,
};
use cushim_trace::meta::{Api, Metadata};
use cushim_trace::reader::TraceFile;
use serde::Serialize;
use serde_json::Value as Json;

use super::apart;
use super::inputs::{Origin, Sink, realtime};
use crate::view::{JsonValue, KernelFilter, Source, word_value};
use cushim_analysis::arguments::{arguments, words};
use cushim_analysis::facts::Facts;
use cushim_analysis::known::{Handle, Kernel, Known};
use cushim_analysis::mapped::{self, mappings};

/// Writes the file of one rank.
pub struct Chrome<W: Write> {
    out: W,
    known: Known,
    all: KernelFilter,
    /// Nanoseconds since 1970 that all times of the export count from.
    base: u64,
    /// The last correlation; they are unique in the rank.
    correlations: u64,
    /// Ranges that are open: by file, thread and domain, or by file and id; when they began.
    ranges: HashMap<(usize, u64, u32), Vec<(u64, String)>>,
    /// GPUs that were introduced.
    gpus: BTreeSet<u32>,
    empty: bool,
}

/// A complete event; `ph` is `X`, or `i` for a mark.
#[derive(Serialize)]
struct Line<'a> {
    ph: &'static str,
    cat: &'a str,
    name: &'a str,
    pid: u32,
    tid: u32,
    ts: Micros,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<Micros>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    args: Args<'a>,
}

/// Its arguments. Fields without a value are omitted: readers take them for -1.
#[derive(Default, Serialize)]
struct Args<'a> {
    #[serde(rename = "External id")]
    external: u64,
    correlation: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grid: Option<[u32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<[u32; 3]>,
    #[serde(rename = "shared memory", skip_serializing_if = "Option::is_none")]
    shared: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<i32>,
    /// The stream as `report` names it; `stream` would be the number of a GPU's track, which does
    /// not exist here.
    #[serde(rename = "cuda stream", skip_serializing_if = "Option::is_none")]
    stream: Option<String>,
    #[serde(rename = "kernel args", skip_serializing_if = "Option::is_none")]
    args: Option<Vec<Option<JsonValue>>>,
    #[serde(rename = "call args", skip_serializing_if = "Option::is_none")]
    words: Option<serde_json::Map<String, Json>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    returned: Option<bool>,
}

/// Nanoseconds, written as microseconds with three decimals.
struct Micros(u64);

impl Serialize for Micros {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1000.0)
    }
}

/// The whole second that all ranks' times count from.
pub fn base(origins: &[Origin]) -> u64 {
    let first = origins.iter().map(|origin| origin.begin_ns).min().unwrap_or(0);
    first / 1_000_000_000 * 1_000_000_000
}

impl<W: Write> Chrome<W> {
    /// Begins the file of `rank`, whose processes left `files`; `base` is that of the whole export.
    pub fn new(
        mut out: W,
        rank: u32,
        ranks: usize,
        base: u64,
        files: &[TraceFile],
    ) -> io::Result<Self> {
        writeln!(
            out,
            "{{\"schemaVersion\": 1, \"distributedInfo\": {{\"rank\": {rank}, \"world_size\": {ranks}}},"
        )?;
        let version = env!("CARGO_PKG_VERSION");
        write!(out, "\"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": {base}, ")?;
        writeln!(out, "\"trace_name\": \"cushim {version}\", \"traceEvents\": [")?;
        let mut chrome = Chrome {
            out,
            known: Known::default(),
            all: KernelFilter::default(),
            base,
            correlations: 0,
            ranges: HashMap::new(),
            gpus: BTreeSet::new(),
            empty: true,
        };
        for file in files {
            let process = &file.metadata().process;
            let name = process.exe.rsplit('/').next().unwrap_or_default();
            let labels = format!("{} on {}", process.argv.join(" "), process.host);
            for (what, key, value) in
                [("process_name", "name", name), ("process_labels", "labels", &labels)]
            {
                let args = serde_json::json!({ key: value });
                let line = serde_json::json!({
                    "name": what, "ph": "M", "ts": 0, "pid": process.pid, "tid": 0, "args": args,
                });
                chrome.line(&line)?;
            }
        }
        Ok(chrome)
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        self.out.write_all(if self.empty { b"" } else { b",\n" })?;
        self.empty = false;
        Ok(serde_json::to_writer(&mut self.out, line)?)
    }

    /// Ends the file.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(b"\n]}\n")?;
        Ok(self.out)
    }
}

impl Args<'_> {
    /// The fields that only this kind of event has.
    fn detail(
        &mut self,
        event: &Event<'_>,
        meta: &Metadata,
        api: Option<&Api>,
        kernel: Option<&Kernel>,
    ) -> io::Result<()> {
        match &event.body {
            Body::Launch(launch) => {
                (self.grid, self.block) = (Some(launch.grid), Some(launch.block));
                self.shared = Some(launch.shared);
                self.device = meta.contexts.device(launch.context);
                let list = kernel.and_then(|kernel| arguments(launch, kernel, meta).ok());
                self.args = list.map(|l| l.into_iter().map(|a| a.value.map(JsonValue)).collect());
            }
            Body::Call(call) => {
                let mut named = serde_json::Map::new();
                for (n, word) in words(call, api).into_iter().enumerate() {
                    let name = if word.name.is_empty() { format!("{n}") } else { word.name.into() };
                    let value = match word.text {
                        Some(text) => Json::String(text),
                        None => {
                            serde_json::to_value(JsonValue(word_value(word.shape, &word.words)))?
                        }
                    };
                    named.insert(name, value);
                }
                self.words = Some(named).filter(|named| !named.is_empty());
            }
            Body::Mapped(mapped) => {
                let of = |asked: [u32; 3]| Some(asked).filter(|asked| *asked != [0; 3]);
                (self.grid, self.block) = (of(mapped.teams), of(mapped.threads));
                self.words = Some(mapped_words(mapped, meta));
            }
            Body::Mark(_) | Body::Gpu(_) | Body::Range(_) => {}
        }
        Ok(())
    }
}

impl<W: Write> Sink for Chrome<W> {
    fn event(&mut self, source: &Source, meta: &Metadata, event: &Event<'_>) -> io::Result<()> {
        match &event.body {
            Body::Gpu(gpu) => return self.gpu(source, meta, event, gpu),
            Body::Range(range) => return self.range(source, meta, event, range),
            _ => {}
        }
        let facts = Facts::of(meta, event);
        let begin = realtime(event.begin_ns, source.realtime_offset_ns).saturating_sub(self.base);
        self.correlations += 1;
        let kernel = facts.kernel.map(|id| self.known.kernel(&self.all, source.index, meta, id));
        let stream = facts.stream(event);
        let stream = stream.map(|s| self.known.handle(source.index, Handle::Stream, s));
        let kernel = kernel.and_then(|place| self.known.kernels().get(place));
        let mut args = Args {
            external: event.id,
            correlation: match event.link {
                0 => self.correlations,
                link => apart::number(source.index, link),
            },
            kernel: kernel.map(|kernel| kernel.name.short.as_str()),
            stream,
            status: event.status.filter(|&status| status != 0),
            returned: event.call_ns.is_none().then_some(false),
            ..Args::default()
        };
        args.detail(event, meta, facts.api, kernel)?;
        let fallback;
        let (ph, cat, name) = match &event.body {
            Body::Mark(text) => ("i", "user_annotation", *text),
            Body::Mapped(mapped) => {
                let name = kernel.map(|kernel| kernel.name.short.as_str());
                ("X", facts.class, name.unwrap_or(mapped::what(mapped)))
            }
            _ if facts.name.is_empty() => {
                fallback = format!("function {}", event.api);
                ("X", "cuda_runtime", fallback.as_str())
            }
            _ => match named(facts.name) {
                Some(Named { library: Library::Driver, manual }) => ("X", "cuda_driver", manual),
                Some(Named { manual, .. }) => ("X", "cuda_runtime", manual),
                None => ("X", "cuda_runtime", facts.name),
            },
        };
        let line = Line {
            ph,
            cat,
            name,
            pid: meta.process.pid,
            tid: event.tid,
            ts: Micros(begin),
            // A call that never returned has no end: its length is 0, and an argument says so.
            dur: (ph == "X").then_some(Micros(event.call_ns.unwrap_or(0))),
            s: (ph == "i").then_some("p"),
            args,
        };
        self.out.write_all(if self.empty { b"" } else { b",\n" })?;
        self.empty = false;
        serde_json::to_writer(&mut self.out, &line)?;
        if event.link != 0 && event.depth == 0 {
            let id = apart::number(source.index, event.link);
            self.flow("s", id, (meta.process.pid.into(), event.tid.into()), begin)?;
        }
        Ok(())
    }
}

/// A region's or a mapping's facts by name.
fn mapped_words(mapped: &Mapped<'_>, meta: &Metadata) -> serde_json::Map<String, Json> {
    let mut words = serde_json::Map::new();
    for (name, value) in mapped::facts(mapped, meta) {
        words.insert(name.to_owned(), value.into());
    }
    for (n, mapping) in mappings(mapped, meta).enumerate() {
        words.insert(format!("{n}"), mapping.text("...").into());
    }
    words
}

impl<W: Write> Chrome<W> {
    /// An arrow from a call (`s`) to its work on a GPU (`f`).
    fn flow(&mut self, ph: &str, id: u64, (pid, tid): (u64, u64), at: u64) -> io::Result<()> {
        let mut line = serde_json::json!({
            "ph": ph, "cat": "ac2g", "name": "ac2g", "id": id, "pid": pid, "tid": tid,
            "ts": at as f64 / 1000.0,
        });
        if let (Some(line), "f") = (line.as_object_mut(), ph) {
            line.insert("bp".into(), "e".into());
        }
        self.line(&line)
    }

    /// Work that a GPU did: process and thread are device and stream, as in PyTorch's traces.
    fn gpu(
        &mut self,
        source: &Source,
        meta: &Metadata,
        event: &Event<'_>,
        gpu: &Gpu,
    ) -> io::Result<()> {
        let begin = realtime(event.begin_ns, source.realtime_offset_ns).saturating_sub(self.base);
        let ns = event.call_ns.unwrap_or(0);
        if self.gpus.insert(gpu.device) {
            let pid = gpu.device;
            for (what, key, value) in [
                ("process_name", "name", Json::from(format!("GPU {pid}"))),
                ("process_sort_index", "sort_index", Json::from(5_000_000 + u64::from(pid))),
            ] {
                self.line(&serde_json::json!({
                    "name": what, "ph": "M", "ts": 0, "pid": pid, "tid": 0, "args": { key: value },
                }))?;
            }
        }
        let kernel = self.known.gpu(&self.all, source.index, meta, gpu);
        let kernel = kernel.and_then(|place| self.known.kernels().get(place));
        let correlation = if gpu.link == 0 { 0 } else { apart::number(source.index, gpu.link) };
        let mut args = serde_json::json!({
            "External id": event.id, "correlation": correlation, "device": gpu.device,
            "context": gpu.context, "stream": gpu.stream,
        });
        let (cat, name) = match gpu.what {
            GPU_KERNEL => ("kernel", kernel.map_or("kernel".to_owned(), |k| k.name.full.clone())),
            GPU_COPY => ("gpu_memcpy", format!("Memcpy {}", short_direction(gpu.direction))),
            _ => ("gpu_memset", "Memset (Device)".to_owned()),
        };
        if let Some(args) = args.as_object_mut() {
            match gpu.what {
                GPU_KERNEL => {
                    args.insert("grid".into(), serde_json::json!(gpu.grid));
                    args.insert("block".into(), serde_json::json!(gpu.block));
                    args.insert("shared memory".into(), gpu.shared.into());
                }
                _ => {
                    args.insert("bytes".into(), gpu.bytes.into());
                    let rate = gpu.bytes as f64 / ns.max(1) as f64;
                    args.insert("memory bandwidth (GB/s)".into(), rate.into());
                }
            }
            if gpu.graph_node != 0 {
                args.insert("graph node id".into(), gpu.graph_node.into());
            }
            // The counters, if any.
            args.extend(gpu.counted(meta).map(|(name, n)| (name.to_owned(), Json::from(n))));
        }
        let line = serde_json::json!({
            "ph": "X", "cat": cat, "name": name, "pid": gpu.device, "tid": gpu.stream,
            "ts": begin as f64 / 1000.0, "dur": ns as f64 / 1000.0, "args": args,
        });
        self.line(&line)?;
        match gpu.link {
            0 => Ok(()),
            _ => self.flow("f", correlation, (gpu.device.into(), gpu.stream.into()), begin),
        }
    }

    /// A moment of a range of the program's own; its slice is written when it ends.
    fn range(
        &mut self,
        source: &Source,
        meta: &Metadata,
        event: &Event<'_>,
        range: &Range<'_>,
    ) -> io::Result<()> {
        let now = realtime(event.begin_ns, source.realtime_offset_ns).saturating_sub(self.base);
        let key = match range.what {
            RANGE_START | RANGE_END => (source.index, range.id, u32::MAX),
            _ => (source.index, u64::from(event.tid) << 32, range.domain),
        };
        let begun = match range.what {
            RANGE_PUSH | RANGE_START => {
                self.ranges.entry(key).or_default().push((now, range.text.to_owned()));
                return Ok(());
            }
            RANGE_POP | RANGE_END => self.ranges.get_mut(&key).and_then(Vec::pop),
            _ => None,
        };
        if range.what == RANGE_END {
            self.ranges.remove(&key);
        }
        let args = serde_json::json!({
            "External id": event.id, "domain": meta.names.get(&range.domain),
        });
        let (pid, tid) = (meta.process.pid, event.tid);
        let line = match begun {
            Some((begin, text)) => serde_json::json!({
                "ph": "X", "cat": "user_annotation", "name": text, "pid": pid, "tid": tid,
                "ts": begin as f64 / 1000.0, "dur": now.saturating_sub(begin) as f64 / 1000.0,
                "args": args,
            }),
            None if range.what == RANGE_MARK => serde_json::json!({
                "ph": "i", "cat": "user_annotation", "name": range.text, "pid": pid, "tid": tid,
                "ts": now as f64 / 1000.0, "s": "t", "args": args,
            }),
            // It began before recording did.
            None => return Ok(()),
        };
        self.line(&line)
    }
}

/// The direction of a copy in PyTorch's words.
fn short_direction(kind: u8) -> &'static str {
    match kind {
        1 | 3 => "HtoD",
        2 | 4 => "DtoH",
        9 => "HtoH",
        10 => "PtoP",
        _ => "DtoD",
    }
}
