//! The traces to export: opened, identified, read in order.
//!
//! Owns: the host and rank of each process, and the messages about missing events. Must not know: any format.

use std::io;

use cushim_analysis::{Source, in_order};
use cushim_trace::event::Event;
use cushim_trace::layout::Lost;
use cushim_trace::meta::Metadata;
use cushim_trace::reader::TraceFile;

use crate::progress::Progress;
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
    /// Rank among the job's processes: its own, else an unused one.
    pub rank: u32,
    /// Whether the process knew its rank.
    pub told: bool,
    /// The program's file name.
    pub program: String,
    /// Nanoseconds since 1970 at which recording began.
    pub begin_ns: u64,
}

/// Gives each process an identity. Those that do not know their rank get unused ones in their
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
    let mut counted = |source: &Source, meta: &Metadata, event: &Event<'_>| {
        progress.event(event);
        take(source, meta, event)
    };
    Ok(in_order(files, &mut counted)?)
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
