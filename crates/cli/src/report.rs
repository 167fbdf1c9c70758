//! `cushim report FILE|DIR...`: what was recorded, as `trace` would have shown it.
//!
//! Owns: which files are meant, and merging them by time. Must not know: how events look.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use cushim_trace::reader::TraceFile;

use crate::view::{self, Run, Source, Target, View, ViewArgs};
use crate::{Error, Outcome, complain};

/// Arguments of `cushim report`.
#[derive(clap::Args, Debug)]
#[command(
    after_long_help = "Examples:\n  cushim report app.1234.cushim\n  cushim report -c runs/\n  \
                       cushim report -k gemm -o gemm.jsonl runs/"
)]
pub struct ReportArgs {
    /// Trace files, or folders in which to look for them (*.cushim)
    ///
    /// Files that are still being written are shown as far as they are. Several files are merged by time.
    #[arg(required = true, value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,

    /// Write to FILE instead of standard output; .jsonl means JSON lines
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    view: ViewArgs,
}

/// Runs the command.
pub fn run(args: ReportArgs) -> Outcome {
    let mut files = open_all(&args.files)?;
    let target = match &args.output {
        Some(path) => Target::file(path),
        None => Target::stream(std::io::stdout()),
    };
    let options = args.view.options(&target)?;
    refuse_overwriting(&args, &files)?;
    let out: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(create(path)?),
        None => Box::new(std::io::stdout()),
    };
    let mut view = View::new(options, Run::default(), out);
    merge(&mut files, &mut view)?;
    for (index, file) in files.iter().enumerate() {
        view.ended(index, file);
    }
    let totals = view.finish().map_err(view::output)?;
    if totals.launches + totals.nodes == 0 {
        complain(&format!(
            "no kernel launch in {} of {} events",
            plural(files.len()),
            totals.events
        ));
    }
    Ok(0)
}

fn plural(files: usize) -> String {
    format!("{files} {}", if files == 1 { "file" } else { "files" })
}

/// Hands the events of all files to the view, by the time since 1970: monotonic clocks of different
/// machines have nothing to do with each other.
pub fn merge(files: &mut [TraceFile], view: &mut View) -> Result<(), Error> {
    let sources: Vec<Source> = files.iter().enumerate().map(|(n, f)| Source::of(n, f)).collect();
    let next = |file: &TraceFile, source: &Source| {
        let ns = file.next_ns()? as i64;
        Some(ns.wrapping_add(source.realtime_offset_ns))
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
        let mut result = Ok(());
        file.take_next(&mut |meta, event| result = view.event(source, meta, event))?;
        result.map_err(view::output)?;
        heads.extend(next(file, source).map(|ns| Reverse((ns, index))));
    }
    Ok(())
}

/// A trace that was just opened is not what to write to.
fn refuse_overwriting(args: &ReportArgs, files: &[TraceFile]) -> Result<(), Error> {
    let Some(output) = args.output.as_ref().and_then(|path| path.canonicalize().ok()) else {
        return Ok(());
    };
    match files.iter().any(|file| file.path().canonicalize().is_ok_and(|path| path == output)) {
        true => Err(Error::Usage(format!("--output: {} is one of the traces", output.display()))),
        false => Ok(()),
    }
}

/// Opens the files, and those in the folders; the order is that of the arguments, then of the names.
pub fn open_all(paths: &[PathBuf]) -> Result<Vec<TraceFile>, Error> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(TraceFile::open(path)?);
            continue;
        }
        let mut found = Vec::new();
        find(path, &mut found)?;
        if found.is_empty() {
            let path = path.display();
            return Err(Error::Usage(format!("{path}: no trace file in this folder (*.cushim)")));
        }
        found.sort();
        for path in found {
            files.push(TraceFile::open(&path)?);
        }
    }
    Ok(files)
}

/// Trace files in `folder` and the folders below it, links aside.
fn find(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    let read = |e| Error::io("read the folder", folder, e);
    for entry in fs::read_dir(folder).map_err(read)? {
        let entry = entry.map_err(read)?;
        let path = entry.path();
        match entry.file_type().map_err(read)? {
            kind if kind.is_dir() => find(&path, found)?,
            kind if kind.is_file() && path.extension().is_some_and(|e| e == "cushim") => {
                found.push(path);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The output: for the user alone, and never through a link that somebody else put there.
fn create(path: &Path) -> Result<fs::File, Error> {
    fs::File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)
        .map_err(|e| Error::io("create", path, e))
}
