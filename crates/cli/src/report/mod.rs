//! `cushim report FILE|DIR...`: sums up recordings, or shows them as `trace` would have.
//!
//! Owns: its command line, and how a report is printed ([`show`]). Must not know: how events look, how a report is
//! computed (`cushim-analysis`).

use std::io::Write;
use std::path::{Path, PathBuf};

use cushim_analysis::{find, in_order, open};
use cushim_trace::event::Event;
use cushim_trace::reader::TraceFile;

use crate::export::output::{self, Shared};
use crate::progress::Progress;
use crate::view::{self, Format, Run, Target, View, ViewArgs};
use crate::{Error, Outcome, complain, zst};
use cushim_names::Foreign as _;

mod changes;
mod csv;
mod html;
pub mod options;
pub mod show;
pub mod tables;
mod text;

use options::Options;
use show::Output;
use tables::{By, Sort};

/// Arguments of `cushim report`.
#[derive(clap::Args, Debug)]
#[command(
    after_long_help = "Examples:\n  cushim report app.1234.cushim            kernels, functions, copies, streams, pauses\n  \
                       cushim report --by shape -k gemm runs/  one table, of some kernels\n  \
                       cushim report -o report.html runs/      one page for a browser\n  \
                       cushim report old.cushim --vs new.cushim\n  \
                       cushim report -e all app.1234.cushim    the events, as trace shows them\n  \
                       cushim report -o gemm.jsonl runs/       the events as JSON lines"
)]
pub struct ReportArgs {
    /// Trace files, or folders with them (*.cushim)
    ///
    /// Files that are still being written are taken as far as they are. Several files make one report.
    #[arg(required = true, value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,

    /// Show what changed from FILE|DIR... (A) to this file or folder (B); HTML shows all of B, too
    #[arg(long, value_name = "FILE|DIR")]
    pub vs: Option<PathBuf>,

    /// Write to FILE instead of standard output; the ending chooses the format
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// How it is written [default: by the ending of the output's name, else text]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<ReportFormat>,

    /// Only this table
    #[arg(long, value_name = "ROWS")]
    pub by: Option<By>,

    /// What tables are sorted by, the largest first
    #[arg(long, value_name = "COLUMN", default_value = "total")]
    pub sort: Sort,

    /// At most N rows of each table [default: 20 of the first and 10 of the others as text, else all]
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,

    /// Options of the list of events; -e, -c, --failed, --nested and --all ask for it.
    #[command(flatten)]
    view: ViewArgs,
}

/// What `--format` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ReportFormat {
    /// Tables for people
    Text,
    /// One object, see docs/report-json.md
    Json,
    /// One table: the kernels, or what --by says
    Csv,
    /// One self-contained page for a browser
    Html,
    /// The events, one JSON object a line, see docs/trace-jsonl.md
    Jsonl,
}

impl ReportFormat {
    fn of(path: &Path) -> Option<Self> {
        Some(match zst::plain(path).extension()?.to_str()? {
            "json" => ReportFormat::Json,
            "csv" => ReportFormat::Csv,
            "html" | "htm" => ReportFormat::Html,
            "jsonl" | "ndjson" => ReportFormat::Jsonl,
            _ => return None,
        })
    }
}

/// Refuses the output of `trace`, which is no recording.
fn refuse_text(path: &Path) -> Result<(), Error> {
    let plain = zst::plain(path);
    let ending = plain.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if !["jsonl", "ndjson", "json", "txt", "html"].contains(&ending) || path.is_dir() {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "{}: report reads recordings, which `cushim record -o run.cushim PROG` makes; what `cushim trace -o` and \
         `cushim report -o` write is not read again",
        path.shown()
    )))
}

/// Runs the command.
pub fn run(args: ReportArgs) -> Outcome {
    args.files.iter().try_for_each(|path| refuse_text(path))?;
    let format = args.format.or_else(|| args.output.as_deref().and_then(ReportFormat::of));
    let output = match format {
        Some(ReportFormat::Jsonl) => return events(args, Format::Jsonl),
        None | Some(ReportFormat::Text) if args.view.asks_for_events() => {
            return events(args, Format::Text);
        }
        None | Some(ReportFormat::Text) => Output::Text,
        Some(ReportFormat::Json) => Output::Json,
        Some(ReportFormat::Csv) => Output::Csv,
        Some(ReportFormat::Html) => Output::Html,
    };
    let target = target(&args);
    let view = args.view.options(Some(Format::Text), &target)?;
    if args.vs.is_some() && args.by.is_some_and(|by| by != By::Kernel) {
        return Err(Error::Usage(
            "--vs compares kernels only; --by chooses another table".to_owned(),
        ));
    }
    let about = cushim_analysis::Options {
        kernels: view.kernels,
        children: view.children,
        names: view.names,
    };
    let options = Options {
        by: args.by,
        sort: args.sort,
        top: args.top,
        width: view.width,
        color: view.color,
        utf8: view.utf8,
    };
    let files = find(&args.files)?;
    let others = args.vs.as_ref().map(|path| find(std::slice::from_ref(path))).transpose()?;
    let all: Vec<PathBuf> = files.iter().chain(others.iter().flatten()).cloned().collect();
    refuse_overwriting(&args, all.iter().map(PathBuf::as_path))?;
    let report = analyse(&files, &about)?;
    let other = others.map(|files| analyse(&files, &about)).transpose()?;
    // The output is created only after everything was read.
    let (mut out, whole) = open_output(&args)?;
    match &other {
        Some(other) => show::write_changes(&mut out, (&report, other), output, &options),
        None => show::write(&mut out, &report, output, &options),
    }
    .map_err(view::output)?;
    drop(out);
    whole.commit()?;
    if report.launches + report.graph_nodes == 0 {
        complain(&format!(
            "no kernel launch in {} with {} events",
            plural(files.len()),
            report.events
        ));
    }
    Ok(0)
}

/// The report of these files, with a bar on the terminal where that takes long.
fn analyse(
    files: &[PathBuf],
    about: &cushim_analysis::Options,
) -> Result<cushim_analysis::Report, Error> {
    let begin = |bytes| {
        let mut progress = Progress::new(bytes);
        move |event: &Event<'_>| progress.event(event)
    };
    Ok(cushim_analysis::analyse_watched(files, about, begin)?)
}

fn target(args: &ReportArgs) -> Target {
    match &args.output {
        Some(path) => Target::file(path),
        None => Target::stream(std::io::stdout()),
    }
}

/// The writer, and the output to commit once the writer is dropped: a file appears complete or not
/// at all, and replaces an older one.
fn open_output(args: &ReportArgs) -> Result<(Box<dyn Write>, Shared), Error> {
    let Some(path) = &args.output else {
        let shared = Shared::new(output::Output::stdout());
        return Ok((Box::new(shared.clone()), shared));
    };
    let shared = Shared::new(output::Output::create(path, true)?);
    let out: Box<dyn Write> = match zst::is_named(path) {
        true => Box::new(zst::Compressed::new(shared.clone())?),
        false => Box::new(shared.clone()),
    };
    Ok((out, shared))
}

/// The list of events.
fn events(args: ReportArgs, format: Format) -> Outcome {
    let chosen =
        [("--vs", args.vs.is_some()), ("--by", args.by.is_some()), ("--top", args.top.is_some())];
    if let Some((option, _)) = chosen.iter().find(|(_, is_given)| *is_given) {
        return Err(Error::Usage(format!(
            "{option} is for the report; it cannot be combined with a list of events (-e, -c, --failed, \
             --nested, --all, jsonl)"
        )));
    }
    let mut files = open_all(&args.files)?;
    let options = args.view.options(Some(format), &target(&args))?;
    refuse_overwriting(&args, files.iter().map(TraceFile::path))?;
    let (out, whole) = open_output(&args)?;
    let mut view = View::new(options, Run::default(), out);
    merge(&mut files, &mut view)?;
    for (index, file) in files.iter().enumerate() {
        view.ended(index, file);
    }
    let totals = view.finish().map_err(view::output)?;
    whole.commit()?;
    if totals.launches + totals.nodes == 0 {
        complain(&format!(
            "no kernel launch in {} with {} events",
            plural(files.len()),
            totals.events
        ));
    }
    Ok(0)
}

fn plural(files: usize) -> String {
    format!("{files} {}", if files == 1 { "file" } else { "files" })
}

/// Hands the events of all files to the view, by time.
pub fn merge(files: &mut [TraceFile], view: &mut View) -> Result<(), Error> {
    Ok(in_order(files, &mut |source, meta, event| view.event(source, meta, event))?)
}

/// Refuses to write to a trace that was just opened.
fn refuse_overwriting<'a>(
    args: &ReportArgs,
    mut files: impl Iterator<Item = &'a Path>,
) -> Result<(), Error> {
    let Some(output) = args.output.as_ref().and_then(|path| path.canonicalize().ok()) else {
        return Ok(());
    };
    match files.any(|file| file.canonicalize().is_ok_and(|path| path == output)) {
        true => Err(Error::Usage(format!("--output: {} is one of the traces", output.shown()))),
        false => Ok(()),
    }
}

/// Opens the files, and those in the folders.
pub fn open_all(paths: &[PathBuf]) -> Result<Vec<TraceFile>, Error> {
    Ok(find(paths)?.iter().map(|path| open(path)).collect::<Result<_, _>>()?)
}
