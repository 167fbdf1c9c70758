//! `cushim export FILE|DIR... --to FORMAT -o OUT|-`: converts recordings for other tools.
//!
//! Owns: the command's arguments, and the output path of each format. Must not know: how a format looks.
//!
//! Every format is written in one pass over the files: memory grows with the number of threads, streams, kernels and
//! functions, never with the number of events.

mod apart;
mod args;
pub mod chrome;
pub mod inputs;
#[cfg(feature = "parquet")]
mod lake;
pub mod output;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod perfetto;
mod ranks;

use std::path::Path;

use cushim_trace::reader::TraceFile;

pub use self::args::{ExportArgs, To};
use self::inputs::{Sink, complain_of_losses, merge, origins};
use self::output::{Output, Shared};
use self::perfetto::Perfetto;
use crate::progress::Progress;
use crate::report::open_all;
use crate::view::{self, Class, Classes, Format, Run, View, ViewOptions};
use crate::{Error, Outcome};
use cushim_names::Foreign as _;

/// Runs the command.
pub fn run(args: ExportArgs) -> Outcome {
    complain_of_losses(&write(&args)?);
    Ok(0)
}

/// Writes what the arguments say; returns the traces, for messages about what they lack.
pub fn write(args: &ExportArgs) -> Result<Vec<TraceFile>, Error> {
    let mut files = open_all(&args.files)?;
    refuse_traces(&args.output, &files)?;
    if let (Some(_), true) = (&args.run, args.to != To::Parquet) {
        return Err(Error::Usage("--run: only with --to parquet".to_owned()));
    }
    let total = files.iter().map(|file| file.header().used).fold(0, u64::saturating_add);
    let mut progress = Progress::new(total);
    match args.to {
        To::Perfetto => {
            let out = single(&args.output, args.force)?;
            let origins = origins(&files);
            let mut sink = Perfetto::new(out, &files, &origins).map_err(view::output)?;
            merge(&mut files, &mut progress, &mut |s, m, e| sink.event(s, m, e))?;
            sink.finish().map_err(view::output)?.commit()?;
        }
        To::Chrome => ranks::chrome(args, &mut files, &mut progress)?,
        #[cfg(feature = "parquet")]
        To::Parquet => lake::write(args, &mut files, &mut progress)?,
        #[cfg(not(feature = "parquet"))]
        To::Parquet => {
            let why = "--to parquet: this cushim was built without Parquet, as scripts/demo does; `cargo build --release` includes it";
            return Err(Error::Usage(why.to_owned()));
        }
        To::Jsonl => {
            let out = single(&args.output, args.force)?;
            jsonl(&mut files, out, &mut progress)?.commit()?;
        }
    }
    Ok(files)
}

/// The one file that a format takes.
fn single(path: &Path, force: bool) -> Result<Output, Error> {
    match path.as_os_str().as_encoded_bytes() {
        b"-" => Ok(Output::stdout()),
        _ => Output::create(path, force),
    }
}

/// Refuses to write to a trace that is being read, even with `--force`.
fn refuse_traces(output: &Path, files: &[TraceFile]) -> Result<(), Error> {
    let Ok(output) = output.canonicalize() else { return Ok(()) };
    match files.iter().any(|file| file.path().canonicalize().is_ok_and(|path| path == output)) {
        true => Err(Error::Usage(format!("--output: {} is one of the traces", output.shown()))),
        false => Ok(()),
    }
}

/// Writes the lines that `report` would.
fn jsonl(files: &mut [TraceFile], out: Output, progress: &mut Progress) -> Result<Shared, Error> {
    let options = ViewOptions {
        format: Format::Jsonl,
        classes: Classes::of(&[Class::All]),
        classes_chosen: true,
        nested: true,
        ..ViewOptions::default()
    };
    let shared = Shared::new(out);
    let mut view = View::new(options, Run::default(), Box::new(shared.clone()));
    merge(files, progress, &mut |source, meta, event| view.event(source, meta, event))?;
    for (index, file) in files.iter().enumerate() {
        view.ended(index, file);
    }
    view.finish().map_err(view::output)?;
    Ok(shared)
}
