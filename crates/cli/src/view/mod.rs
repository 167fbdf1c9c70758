//! Views: recorded events for people and programs.
//!
//! Owns: [`View`], which receives events in order, from one or several processes, and writes text or JSON lines and a
//! summary. Must not know: where the files come from, or whether they are still being written.

mod args;
mod json;
mod options;
mod seen;
mod stats;
pub(crate) mod style;
pub(crate) mod table;
mod text;

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::time::{Duration, Instant};

use cushim_trace::event::{Body, Event, Gpu};
use cushim_trace::meta::Metadata;
use cushim_trace::reader::TraceFile;

use crate::Error;

pub use args::{Class, ColorWhen, Format, ViewArgs, name_forms};
pub use cushim_analysis::{Children, KernelFilter, NameForm, Source};
pub use options::{Classes, Target, ViewOptions, utf8_locale};
pub use seen::{Run, Totals};

use cushim_analysis::facts::Facts;
use cushim_analysis::known::Known;
pub(crate) use json::{JsonValue, word_value};
#[cfg(feature = "parquet")]
pub(crate) use json::{gpu_word, range_word};
use seen::Seen;
use stats::Stats;
pub(crate) use table::size;
use text::Text;

/// How long one file is read before its launcher looks after the program and other files.
const ROUND: Duration = Duration::from_millis(200);

/// Writes the events that it gets.
pub struct View {
    options: ViewOptions,
    out: BufWriter<Box<dyn Write>>,
    text: Option<Text>,
    known: Known,
    stats: Stats,
    totals: Totals,
    notes: Vec<String>,
    /// By number of the file: whether it is shown; `None` before its first event.
    sources: Vec<Option<bool>>,
    pids: BTreeSet<u32>,
    run: Option<Run>,
}

impl View {
    /// A view that writes to `out`, in blocks; [`View::tick`] and [`View::finish`] write what is
    /// left. Where `run` is empty, the first file's process is used.
    pub fn new(options: ViewOptions, run: Run, out: Box<dyn Write>) -> Self {
        View {
            text: (options.format == Format::Text).then(|| Text::new(&options)),
            options,
            out: BufWriter::with_capacity(64 << 10, out),
            known: Known::default(),
            stats: Stats::default(),
            totals: Totals::default(),
            notes: Vec::new(),
            sources: Vec::new(),
            pids: BTreeSet::new(),
            run: Some(run),
        }
    }

    /// Takes in one event; within one source they come in the order of their beginning.
    pub fn event(&mut self, source: &Source, meta: &Metadata, event: &Event<'_>) -> io::Result<()> {
        if !self.is_shown(source.index, meta)? {
            return Ok(());
        }
        if let Body::Gpu(gpu) = &event.body {
            return self.gpu(source, meta, event, gpu);
        }
        let Facts { api, class, kernel: id, failed, .. } = Facts::of(meta, event);
        let filter = &self.options.kernels;
        let kernel = id.map(|id| self.known.kernel(filter, source.index, meta, id));
        let seen = Seen { source, meta, event, api, class, kernel };
        let passes = match kernel.and_then(|place| self.known.kernels().get(place)) {
            Some(kernel) => kernel.shown,
            None => filter.is_empty() || self.options.classes_chosen,
        };
        let is_mark = matches!(event.body, Body::Mark(_));
        let is_range = matches!(event.body, Body::Range(_));
        let chosen = passes && (is_mark || self.options.classes.contains(class));
        // Failures and calls that never returned are shown whatever their class.
        let remarkable = failed || event.status.is_none();
        let wanted = if remarkable { passes || kernel.is_none() } else { chosen };
        self.totals.events += 1;
        if event.depth == 0 && !is_mark && !is_range {
            self.count(&seen, wanted, failed);
        }
        let shown = self.options.lines
            && wanted
            && (remarkable || !self.options.failed_only)
            && (event.depth == 0 || self.options.nested);
        match (&mut self.text, shown) {
            (_, false) => Ok(()),
            (Some(text), true) => text.event(&mut self.out, &seen, &mut self.known),
            (None, true) => json::event(&mut self.out, &seen, &mut self.known),
        }
    }

    /// GPU work: a line of JSON; in text it comes too late for a line, and is only summed up.
    fn gpu(
        &mut self,
        source: &Source,
        meta: &Metadata,
        event: &Event<'_>,
        gpu: &Gpu,
    ) -> io::Result<()> {
        self.totals.events += 1;
        let filter = &self.options.kernels;
        let kernel = self.known.gpu(filter, source.index, meta, gpu);
        let passes = match kernel.and_then(|place| self.known.kernels().get(place)) {
            Some(kernel) => kernel.shown,
            None => filter.is_empty(),
        };
        if !passes {
            return Ok(());
        }
        if let Some(place) = kernel {
            self.stats.gpu(place, event.call_ns);
        }
        let lines = self.options.lines && !self.options.failed_only && self.text.is_none();
        match lines {
            true => json::gpu(&mut self.out, (source, meta, event, gpu), kernel, &self.known),
            false => Ok(()),
        }
    }

    fn count(&mut self, seen: &Seen<'_>, wanted: bool, failed: bool) {
        let (event, is_node) = (seen.event, seen.is_node());
        self.totals.calls += 1;
        self.totals.failed += u64::from(failed);
        if event.status.is_none() {
            self.totals.pending += 1;
            self.stats.pending(seen.name());
        }
        if let Body::Mapped(mapped) = &event.body
            && mapped.what == 0
        {
            self.totals.launches += 1;
        }
        if let Body::Launch(_) = event.body {
            self.totals.launches += u64::from(!is_node);
            self.totals.nodes += u64::from(is_node);
        }
        if !wanted {
            return;
        }
        match (&event.body, seen.kernel) {
            (Body::Launch(launch), Some(place)) if !is_node => {
                self.stats.launch(place, launch, event.call_ns, failed);
            }
            (Body::Mapped(mapped), Some(place)) => {
                self.stats.region(place, mapped, event.call_ns, failed);
            }
            _ => self.stats.call(seen.name(), event.call_ns, failed),
        }
        if let Some(status) = event.status.filter(|_| failed) {
            self.stats.failure(seen.name(), status);
        }
    }

    /// Whether events of this file are shown; at its first event the process is introduced.
    fn is_shown(&mut self, index: usize, meta: &Metadata) -> io::Result<bool> {
        if let Some(&Some(shown)) = self.sources.get(index) {
            return Ok(shown);
        }
        let process = &meta.process;
        let is_child = match self.options.root {
            Some(root) => process.pid != root,
            None => self.pids.contains(&process.ppid),
        };
        let shown = !is_child || self.options.children.matches(&process.exe);
        self.pids.insert(process.pid);
        if self.sources.len() <= index {
            self.sources.resize(index + 1, None);
        }
        if let Some(place) = self.sources.get_mut(index) {
            *place = Some(shown);
        }
        if shown {
            self.header(Some(meta))?;
            match &mut self.text {
                Some(text) if self.options.lines => text.process(&mut self.out, meta)?,
                Some(_) => {}
                None => json::process(&mut self.out, meta)?,
            }
        }
        Ok(shown)
    }

    /// Writes the header if that has not been done yet.
    fn header(&mut self, meta: Option<&Metadata>) -> io::Result<()> {
        let Some(mut run) = self.run.take() else { return Ok(()) };
        if let Some(process) = meta.map(|meta| &meta.process) {
            if run.argv.is_empty() {
                run.argv = process.argv.clone();
            }
            if run.host.is_empty() {
                run.host = process.host.clone();
            }
            run.rank = run.rank.or(process.rank);
        }
        if self.text.is_none() { json::header(&mut self.out, &run) } else { Ok(()) }
    }

    /// Takes all events that ended in `file` since the last time; with `last` also calls that never
    /// returned.
    pub fn pump(&mut self, index: usize, file: &mut TraceFile, last: bool) -> Result<(), Error> {
        let source = Source::of(index, file);
        let mut result = Ok(());
        let begun = Instant::now();
        let mut go_on = || last || begun.elapsed() < ROUND;
        file.poll_while(last, &mut go_on, &mut |meta, event| {
            if result.is_ok() {
                result = self.event(&source, meta, event);
            }
        })?;
        result.map_err(output)
    }

    /// Says that nothing more comes from `file` (after its last [`View::pump`]): its losses and notes are
    /// taken in.
    pub fn ended(&mut self, index: usize, file: &TraceFile) {
        if let Some(&Some(false)) = self.sources.get(index) {
            return;
        }
        self.totals.processes += 1;
        for (sum, n) in self.totals.lost.iter_mut().zip(file.header().lost) {
            *sum = sum.saturating_add(n);
        }
        let header = file.header();
        self.totals.overwritten = self.totals.overwritten.saturating_add(header.overwritten);
        self.totals.keep = self.totals.keep.max(header.keep.unwrap_or(0));
        self.totals.damaged = self.totals.damaged.saturating_add(file.damaged());
        for note in &file.metadata().notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
    }

    /// Call it regularly while the program runs: writes what is buffered, and repetitions that
    /// ended.
    pub fn tick(&mut self) -> io::Result<()> {
        if let Some(text) = &mut self.text {
            text.tick(&mut self.out)?;
        }
        self.out.flush()
    }

    /// Writes what was held back, and the summary.
    pub fn finish(mut self) -> io::Result<Totals> {
        self.header(None)?;
        if let Some(text) = &mut self.text {
            text.flush(&mut self.out)?;
        }
        if self.options.summary {
            let (out, totals) = (&mut self.out, &self.totals);
            match &self.text {
                Some(_) => {
                    table::summary(
                        out,
                        &self.options,
                        totals,
                        &self.stats,
                        &self.known,
                        &self.notes,
                    )?;
                }
                None => json::summary(out, totals, &self.stats, &self.known, &self.notes)?,
            }
        }
        self.out.flush()?;
        Ok(self.totals)
    }
}

/// Output could not be written.
pub fn output(error: io::Error) -> Error {
    Error::io("write", std::path::Path::new("the output"), error)
}
