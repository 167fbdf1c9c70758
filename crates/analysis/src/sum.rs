//! The steps from trace files to a report.
//!
//! Owns: which files are used, and reading them in parallel. Must not know: how a report is shown.

use std::collections::HashSet;
use std::path::PathBuf;

use cushim_trace::event::Event;
use cushim_trace::reader::TraceFile;
use rayon::prelude::*;

use crate::collect::{FileSums, collect};
use crate::error::Error;
use crate::filter::{Children, KernelFilter};
use crate::merge;
use crate::model::Report;
use crate::names::NameForm;
use crate::reading::open;

/// What a report is about.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which kernels.
    pub kernels: KernelFilter,
    /// Which child processes.
    pub children: Children,
    /// How kernels are named.
    pub names: NameForm,
}

type Summed = Vec<(TraceFile, FileSums)>;

/// Reads all of these files, each in one pass.
fn sum<W: FnMut(&Event<'_>) + Clone + Send + Sync>(
    paths: &[PathBuf],
    only: Option<&[HashSet<u32>]>,
    begin: &impl Fn(u64) -> W,
) -> Result<Summed, Error> {
    let sizes = paths.iter().filter_map(|path| path.metadata().ok());
    let watch = begin(sizes.map(|found| found.len()).fold(0, u64::saturating_add));
    let one = |(index, path): (usize, &PathBuf)| {
        let mut file = open(path)?;
        let only = only.and_then(|only| only.get(index));
        let sums = collect(&mut file, only, watch.clone())?;
        Ok((file, sums))
    };
    paths.par_iter().enumerate().map(one).collect()
}

/// Leaves out the files of child processes that are not wanted.
fn wanted(paths: &[PathBuf], children: &Children) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for path in paths {
        let process = open(path)?.metadata().process.clone();
        found.push((path, process));
    }
    let pids: HashSet<u32> = found.iter().map(|(_, process)| process.pid).collect();
    let wanted = found
        .into_iter()
        .filter(|(_, process)| !pids.contains(&process.ppid) || children.matches(&process.exe));
    Ok(wanted.map(|(path, _)| path.clone()).collect())
}

/// The report of these files, each of which is read in one pass (in two, if only some kernels are selected), several at
/// a time.
///
/// # Errors
/// Where a file cannot be read or is no trace. Damaged records are counted in the report.
pub fn analyse(paths: &[PathBuf], options: &Options) -> Result<Report, Error> {
    analyse_watched(paths, options, |_| |_: &Event<'_>| ())
}

/// As [`analyse`], for callers that show progress: at the start of each pass `begin` gets the total bytes of all
/// files, and clones of the function that it returns are called with each event, on several threads.
///
/// # Errors
/// As [`analyse`].
pub fn analyse_watched<W: FnMut(&Event<'_>) + Clone + Send + Sync>(
    paths: &[PathBuf],
    options: &Options,
    begin: impl Fn(u64) -> W,
) -> Result<Report, Error> {
    let paths = match options.children {
        Children::All => paths.to_vec(),
        _ => wanted(paths, &options.children)?,
    };
    let mut files = sum(&paths, None, &begin)?;
    let numbers = merge::Numbers::new(&files, &options.kernels);
    if !options.kernels.is_empty() {
        // What `k2` means is known now; the second pass leaves the others out.
        let shown: Vec<HashSet<u32>> = (0..files.len()).map(|n| numbers.shown(n)).collect();
        files = sum(&paths, Some(&shown), &begin)?;
    }
    Ok(merge::report(&files, numbers, options.names))
}
