//! `cushim report` as an analysis: sums over whole traces, in bounded memory.
//!
//! Owns: the way from trace files to a [`model::Report`] ([`collect`] sums each file, files in parallel;
//! [`merge`] makes one report of them) and from there to text, CSV, JSON and HTML. Must not know: which
//! files are meant, the command line.

pub mod collect;
mod compare;
mod copies;
mod csv;
pub mod fast;
mod histogram;
mod html;
mod merge;
pub mod model;
pub mod rows;
pub mod tables;
mod text;
mod timeline;

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::PathBuf;

use cushim_trace::reader::TraceFile;
use rayon::prelude::*;

use crate::Error;
use crate::progress::Progress;
use crate::view::{Children, KernelFilter, NameForm};
use collect::{FileSums, collect};
use model::Report;
use tables::{By, Sort};

/// What is wanted and how it looks.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which kernels.
    pub kernels: KernelFilter,
    /// Which child processes.
    pub children: Children,
    /// How kernels are named.
    pub names: NameForm,
    /// One table only.
    pub by: Option<By>,
    /// What rows are sorted by.
    pub sort: Sort,
    /// At most so many rows of each table; `None`: what suits the format.
    pub top: Option<usize>,
    /// Columns of the terminal; `None`: nothing is shortened.
    pub width: Option<usize>,
    /// Colors.
    pub color: bool,
    /// Signs beyond ASCII.
    pub utf8: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            kernels: KernelFilter::default(),
            children: Children::All,
            names: NameForm::Short,
            by: None,
            sort: Sort::Total,
            top: None,
            width: None,
            color: false,
            utf8: true,
        }
    }
}

/// Output formats of the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// For people.
    Text,
    /// `docs/report-json.md`.
    Json,
    /// One table, RFC 4180.
    Csv,
    /// One self-contained page.
    Html,
}

type Summed = Vec<(TraceFile, FileSums)>;

/// Reads all of these files, each in one pass.
fn sum(paths: &[PathBuf], only: Option<&[HashSet<u32>]>) -> Result<Summed, Error> {
    let sizes = paths.iter().filter_map(|path| path.metadata().ok());
    let progress = Progress::new(sizes.map(|found| found.len()).fold(0, u64::saturating_add));
    let one = |(index, path): (usize, &PathBuf)| {
        let mut file = crate::zst::open(path)?;
        let only = only.and_then(|only| only.get(index));
        let sums = collect(&mut file, only, progress.clone())?;
        Ok((file, sums))
    };
    paths.par_iter().enumerate().map(one).collect()
}

/// Leaves out the files of child processes that are not wanted.
fn wanted(paths: &[PathBuf], children: &Children) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for path in paths {
        let process = crate::zst::open(path)?.metadata().process.clone();
        found.push((path, process));
    }
    let pids: HashSet<u32> = found.iter().map(|(_, process)| process.pid).collect();
    let wanted = found
        .into_iter()
        .filter(|(_, process)| !pids.contains(&process.ppid) || children.matches(&process.exe));
    Ok(wanted.map(|(path, _)| path.clone()).collect())
}

/// The report of these files.
pub fn analyse(paths: &[PathBuf], options: &Options) -> Result<Report, Error> {
    let paths = match options.children {
        Children::All => paths.to_vec(),
        _ => wanted(paths, &options.children)?,
    };
    let mut files = sum(&paths, None)?;
    let numbers = merge::Numbers::new(&files, &options.kernels);
    if !options.kernels.is_empty() {
        // What `k2` means is known now; the second pass leaves the others out.
        let shown: Vec<HashSet<u32>> = (0..files.len()).map(|n| numbers.shown(n)).collect();
        files = sum(&paths, Some(&shown))?;
    }
    Ok(merge::report(&files, numbers, options.names))
}

/// Writes it.
pub fn write(
    out: &mut dyn Write,
    report: &Report,
    output: Output,
    options: &Options,
) -> io::Result<()> {
    match output {
        Output::Text => text::write(out, report, options),
        Output::Csv => {
            let by = options.by.unwrap_or(By::Kernel);
            csv::write(out, &tables::table(report, by, options.sort), options.top)
        }
        Output::Json => {
            serde_json::to_writer_pretty(&mut *out, report)?;
            writeln!(out)
        }
        Output::Html => html::write(out, report, options),
    }
}

/// Writes what changed from one report to another.
pub fn write_changes(
    out: &mut dyn Write,
    (before, after): (&Report, &Report),
    output: Output,
    options: &Options,
) -> io::Result<()> {
    let changes = compare::compare(before, after);
    match output {
        Output::Json => {
            serde_json::to_writer_pretty(&mut *out, &changes)?;
            writeln!(out)
        }
        Output::Csv => compare::csv(out, &changes, options.top),
        Output::Html => html::write_changes(out, &changes, after, options),
        Output::Text => compare::text(out, &changes, options),
    }
}
