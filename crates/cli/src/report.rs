//! `cushim report FILE|DIR...`: what was recorded, as `trace` would have shown it.
//!
//! Owns: which files are meant, and merging them by time. Must not know: how events look.

use std::path::PathBuf;

use cushim_trace::reader::TraceFile;

use crate::view::{self, Run, Target, View, ViewArgs};

/// Show what was recorded
#[derive(clap::Args, Debug)]
pub struct ReportArgs {
    /// Trace files, or folders of them; files that are still being written are read as far as they are
    #[arg(required = true, value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    view: ViewArgs,
}

/// Runs the command.
pub fn run(args: ReportArgs) -> crate::Outcome {
    let options = args.view.options(&Target::stream(std::io::stdout()))?;
    let mut view = View::new(options, Run::default(), Box::new(std::io::stdout()));
    for (index, path) in args.files.iter().enumerate() {
        let mut file = TraceFile::open(path)?;
        view.pump(index, &mut file, true)?;
        view.ended(index, &file);
    }
    view.finish().map_err(view::output)?;
    Ok(0)
}
