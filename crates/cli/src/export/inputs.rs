//! The traces that are exported: opened, told apart, read in order.
//!
//! Owns: which process belongs to which host and rank, merging by time, and what each event is about
//! in the words of all formats. Must not know: any format.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use cushim_abi::errors;
use cushim_trace::event::{Body, Event};
use cushim_trace::layout::{GPU_KERNEL, Lost};
use cushim_trace::meta::{Api, Metadata};
use cushim_trace::reader::TraceFile;

use crate::progress::Progress;
use crate::view::{REPORTERS, Source, mapped_class, output};
use crate::{Error, complain};
use cushim_names::Foreign as _;

/// What takes the events of an export.
pub trait Sink {
    /// One event; within one source they come in the order of their beginning.
    fn event(&mut self, source: &Source, meta: &Metadata, event: &Event<'_>) -> io::Result<()>;
}

/// A process among those that are exported.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Number of its host among all, from 0.
    pub host: usize,
    /// Rank among the job's processes: its own, else one that nobody has.
    pub rank: u32,
    /// Whether the process told its rank.
    pub told: bool,
    /// The program's file name.
    pub program: String,
    /// Nanoseconds since 1970 at which recording began.
    pub begin_ns: u64,
}

/// Tells the processes apart. Those that do not know their rank get free ones in their
/// order.
pub fn origins(files: &[TraceFile]) -> Vec<Origin> {
    let mut hosts: Vec<&str> = Vec::new();
    let mut origins: Vec<Origin> = Vec::new();
    for file in files {
        let process = &file.metadata().process;
        let host = hosts.iter().position(|h| *h == process.host).unwrap_or_else(|| {
            hosts.push(&process.host);
            hosts.len() - 1
        });
        let program = process.exe.rsplit('/').next().unwrap_or_default().to_owned();
        let timeline = &file.header().timeline;
        origins.push(Origin {
            host,
            rank: process.rank.unwrap_or(0),
            told: process.rank.is_some(),
            program,
            begin_ns: realtime(timeline.origin_ns(), timeline.realtime_offset_ns()),
        });
    }
    let mut next = 0;
    for n in 0..origins.len() {
        if origins.get(n).is_none_or(|origin| origin.told) {
            continue;
        }
        while origins.iter().enumerate().any(|(m, o)| (o.told || m < n) && o.rank == next) {
            next += 1;
        }
        if let Some(origin) = origins.get_mut(n) {
            origin.rank = next;
        }
    }
    origins
}

/// Nanoseconds since 1970, within what the formats' signed numbers hold, however damaged the file is.
pub fn realtime(monotonic_ns: u64, offset_ns: i64) -> u64 {
    (monotonic_ns as i64).wrapping_add(offset_ns).max(0) as u64
}

/// Hands the events of all files to `take`, by the time since 1970.
pub fn merge(
    files: &mut [TraceFile],
    progress: &mut Progress,
    take: &mut dyn FnMut(&Source, &Metadata, &Event<'_>) -> io::Result<()>,
) -> Result<(), Error> {
    let sources: Vec<Source> = files.iter().enumerate().map(|(n, f)| Source::of(n, f)).collect();
    let next = |file: &TraceFile, source: &Source| {
        Some(realtime(file.next_ns()?, source.realtime_offset_ns))
    };
    let mut heads = BinaryHeap::new();
    for (file, source) in files.iter_mut().zip(&sources) {
        file.look(true)?;
        heads.extend(next(file, source).map(|ns| Reverse((ns, source.index))));
    }
    while let Some(Reverse((_, index))) = heads.pop() {
        let (Some(file), Some(source)) = (files.get_mut(index), sources.get(index)) else {
            continue;
        };
        // Up to where another file goes on.
        let until = heads.peek().map_or((u64::MAX, 0), |Reverse(head)| *head);
        loop {
            let mut result = Ok(());
            let more = file.take_next(&mut |meta, event| {
                progress.event(event);
                result = take(source, meta, event);
            })?;
            result.map_err(output)?;
            match next(file, source) {
                Some(ns) if more && (ns, index) < until => {}
                Some(ns) if more => {
                    heads.push(Reverse((ns, index)));
                    break;
                }
                _ => break,
            }
        }
    }
    Ok(())
}

/// Says what is missing from the files, one line each.
pub fn complain_of_losses(files: &[TraceFile]) {
    for file in files {
        let (path, lost) = (file.path().shown(), file.header().lost);
        let reasons = [
            (Lost::Limit, "the file reached its --limit"),
            (Lost::NoSpace, "the file system was full"),
            (Lost::FileSize, "a file-size limit (ulimit -f) was reached"),
            (Lost::Behind, "what was recorded was not read fast enough"),
            (Lost::NotReady, "the process could not record at that moment"),
        ];
        for (kind, why) in reasons {
            let n = lost.get(kind as usize).copied().unwrap_or(0);
            if n > 0 {
                complain(&format!("{path}: {n} events are missing: {why}"));
            }
        }
        let overwritten = file.header().overwritten;
        if overwritten > 0 {
            complain(&format!(
                "{path}: {overwritten} earlier events were overwritten (only the latest were kept)"
            ));
        }
        if file.damaged() > 0 {
            complain(&format!("{path}: {} damaged records were skipped", file.damaged()));
        }
    }
}

/// What an event is about.
pub struct Facts<'a> {
    /// The function, where the trace describes it.
    pub api: Option<&'a Api>,
    /// Its name, empty where unknown.
    pub name: &'a str,
    /// The event class, a word.
    pub class: &'a str,
    /// Number of the kernel in its file.
    pub kernel: Option<u32>,
    /// A kernel node of a graph, which has the form of a launch.
    pub is_node: bool,
    /// The call failed.
    pub failed: bool,
}

impl<'a> Facts<'a> {
    /// About `event`.
    pub fn of(meta: &'a Metadata, event: &Event<'_>) -> Self {
        let api = meta.apis.get(&event.api);
        let name = api.map_or("", |api| api.name.as_str());
        let (class, kernel) = match &event.body {
            Body::Launch(l) => (api.map_or("launch", |api| &api.class), Some(l.kernel)),
            Body::Call(call) => {
                (api.map_or("unknown", |api| &api.class), Some(call.kernel).filter(|&id| id != 0))
            }
            Body::Mark(_) => ("mark", None),
            Body::Gpu(gpu) => {
                ("gpu", Some(gpu.kernel).filter(|&id| id != 0 && gpu.what == GPU_KERNEL))
            }
            Body::Range(_) => ("nvtx", None),
            Body::Mapped(mapped) => mapped_class(mapped),
        };
        let is_node = class == "graph" && matches!(event.body, Body::Launch(_));
        let failed = event.status.is_some_and(errors::is_failure) && !REPORTERS.contains(&name);
        Facts { api, name, class, kernel, is_node, failed }
    }

    /// The stream on which the call puts work, or by which it waits.
    pub fn stream(&self, event: &Event<'_>) -> Option<u64> {
        match &event.body {
            Body::Launch(launch) => (!self.is_node).then_some(launch.stream),
            Body::Call(call) => {
                let args = &self.api?.args;
                call.words.get(args.iter().position(|(_, shape)| shape == "stream")?)
            }
            Body::Mark(_) | Body::Gpu(_) | Body::Range(_) | Body::Mapped(_) => None,
        }
    }

    /// Whether the call puts work on its stream.
    pub fn enqueues(&self) -> bool {
        !self.is_node
            && (matches!(self.class, "launch" | "copy" | "memory")
                || self.class == "graph" && self.name.contains("GraphLaunch"))
    }
}
