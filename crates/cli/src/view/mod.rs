//! Views: recorded events as people and programs read them.
//!
//! Owns: [`View`], which is fed events in order, from one or several processes, and writes text or JSON
//! lines and a summary. Must not know: where the files come from, or whether they are still written.

mod args;
mod filter;
mod options;

use std::io::{self, Write};

use cushim_trace::event::{Body, Event};
use cushim_trace::layout::{LOST_KINDS, Lost};
use cushim_trace::meta::Metadata;
use cushim_trace::reader::TraceFile;

use crate::Error;

pub use args::{Class, ColorWhen, Format, NameForm, ViewArgs};
pub use filter::{Children, KernelFilter};
pub use options::{Classes, Target, ViewOptions, utf8_locale};

/// One traced process's file, as the view knows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Source {
    /// Number of the file, from 0, in the order in which they were found.
    pub index: usize,
    /// Add this to the monotonic clock's nanoseconds to get those since 1970.
    pub realtime_offset_ns: i64,
}

impl Source {
    /// File number `index`.
    pub fn of(index: usize, file: &TraceFile) -> Self {
        Source { index, realtime_offset_ns: file.header().timeline.realtime_offset_ns() }
    }
}

/// What was traced, for the header of JSON lines.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Command line.
    pub argv: Vec<String>,
    /// Host name.
    pub host: String,
    /// Rank among the job's processes.
    pub rank: Option<u32>,
}

/// What came by, whether it was shown or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Events, nested ones too.
    pub events: u64,
    /// Kernel launches that the program made, by itself or as nodes of a graph.
    pub launches: u64,
    /// Outermost calls that failed.
    pub failed: u64,
    /// Processes that left a file.
    pub processes: u64,
    /// Events missing, by [`Lost`].
    pub lost: [u64; LOST_KINDS],
}

/// Writes what it is fed.
pub struct View {
    options: ViewOptions,
    out: Box<dyn Write>,
    totals: Totals,
}

impl View {
    /// A view that writes to `out`.
    pub fn new(options: ViewOptions, run: Run, out: Box<dyn Write>) -> Self {
        let _ = run;
        View { options, out, totals: Totals::default() }
    }

    /// Takes in one event; within one source they come in the order of their beginning.
    pub fn event(&mut self, _: &Source, meta: &Metadata, event: &Event<'_>) -> io::Result<()> {
        self.totals.events += 1;
        self.totals.launches +=
            u64::from(event.depth == 0 && matches!(event.body, Body::Launch(_)));
        let name = meta.apis.get(&event.api).map_or("?", |a| &a.name);
        match self.options.lines {
            true => writeln!(self.out, "{name}() = {:?}", event.status),
            false => Ok(()),
        }
    }

    /// Hands over all that has come to an end in `file` since the last time; with `last` also calls that
    /// never came back.
    pub fn pump(&mut self, index: usize, file: &mut TraceFile, last: bool) -> Result<(), Error> {
        let source = Source::of(index, file);
        let mut result = Ok(());
        file.poll(last, &mut |meta, event| {
            if result.is_ok() {
                result = self.event(&source, meta, event);
            }
        })?;
        result.map_err(output)
    }

    /// Says that nothing more comes from `file` (after its last [`View::pump`]): its losses and notes are
    /// taken in.
    pub fn ended(&mut self, index: usize, file: &TraceFile) {
        let _ = index;
        self.totals.processes += 1;
        for (sum, n) in self.totals.lost.iter_mut().zip(file.header().lost) {
            *sum += n;
        }
    }

    /// To be called every now and then while the program runs: what is being held back to be folded is
    /// written.
    pub fn tick(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writes the summary.
    pub fn finish(mut self) -> io::Result<Totals> {
        let _ = Lost::Limit;
        self.out.flush()?;
        Ok(self.totals)
    }
}

/// Output could not be written.
pub fn output(error: io::Error) -> Error {
    Error::io("write", std::path::Path::new("the output"), error)
}
