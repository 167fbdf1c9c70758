//! `cushim trace`: runs a program with the library preloaded and shows what it records, live.
//!
//! Owns: the sequence: errors in the options are reported before the program starts, its files are followed while it
//! runs, and the summary comes last. The exit status is the program's. Must not know: how events look, or what the
//! library does.

mod follow;
mod output;
mod spool;

use std::ffi::OsString;
use std::io;
use std::path::Path;

use clap::{Args, ValueEnum};

use crate::launch::{
    self, Backend, Cuda, Environment, Held, Names, Pattern, ProgramArgs, Rank, RecordArgs, Signals,
    host,
};
use crate::view::{Classes, Format, Run, Target, View, ViewArgs};
use crate::{Error, Outcome, environ, zst};
use cushim_names::Foreign as _;

use follow::Follow;
use output::{Output, WholeLines};
use spool::Spool;

/// Less than this would be full at once: a thread's chunk, and the metadata.
const BACKLOG_MIN: u64 = 1 << 20;
/// While the launcher reads along and frees space, a trace stays small.
const LIMIT: u64 = 1 << 40;

/// Arguments of `cushim trace`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER, override_usage = "cushim trace [OPTIONS] [--] PROG [ARGS]...")]
pub struct TraceArgs {
    #[command(flatten)]
    program: ProgramArgs,

    #[command(flatten)]
    view: ViewArgs,

    /// Text for people, or JSON lines for programs [default: by the ending of the output's name, else text]
    #[arg(long, help_heading = "What to show", value_name = "FORMAT")]
    pub format: Option<Format>,

    #[command(flatten)]
    record: RecordArgs,

    /// Size of the buffer between a process and the output [default: a quarter of the free memory, at most 1GiB]
    ///
    /// Events wait in memory (/dev/shm, else $TMPDIR) until they are written. If the output is read
    /// more slowly (a pager, a full pipe), this much of each process may wait; all processes together take half of
    /// what was free, and then a 64th of this each.
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = launch::size,
        help_heading = "Recording"
    )]
    backlog: Option<u64>,

    /// When --backlog is full: drop events and count them, or make the program wait [default: lose]
    #[arg(long, value_name = "HOW", value_enum, help_heading = "Recording")]
    when_behind: Option<WhenBehind>,

    /// Write to FILE instead of stderr; .jsonl, .ndjson and .json mean JSON lines, else text; .zst after it, compressed
    ///
    /// JSON lines take 600 to 700 bytes for a launch, so more than 600 MB for a million, and a thirtieth of that as .jsonl.zst, which
    /// zstdcat, jq behind it and most readers of tables take. A folder of FILE that is not there is made.
    /// In FILE, %e is the program's name, %p its process id, %h the host, %r the rank (Open MPI, PMI, torchrun, SLURM),
    /// %q{VAR} a variable's value, %% a percent sign. With several ranks and neither %r nor %p, the rank
    /// is put before the ending. The file is readable by its owner only; a link is refused; where another
    /// trace is writing FILE, .1, .2 … is put before the ending.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<OsString>,
}

/// What happens where the output is not read fast enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WhenBehind {
    /// Drop events and count them
    Lose,
    /// Make the program wait in its CUDA calls
    Wait,
}

const AFTER: &str = "\
The program runs as it would without cushim: its output, exit status and fatal signal are its own. Ctrl-C \
reaches it, and the summary is printed all the same. Times are those inside the call on the host; --gpu-time adds those \
on the GPU.

Every option can be given in the environment, --events as CUSHIM_EVENTS, --output as CUSHIM_OUTPUT and so \
on; 0 and empty mean off. CUSHIM_DISABLE=1 runs the program untouched.

Examples:
  cushim trace ./app 1024                     launches, graphs and copies, then a summary
  cushim trace -c python train.py             only the summary
  cushim trace -e all --nested ./app          every call, with the driver calls inside runtime calls
  cushim trace -k 'gemm|conv' -k '!bias' ./app
  cushim trace --failed ./app                 only calls that failed
  cushim trace -o run.%p.jsonl ./app          JSON lines, some 600 bytes for a launch
  cushim trace -o run.jsonl.zst ./app         the same, compressed to a thirtieth or so
  mpirun -n 4 cushim trace -o r%r.txt ./app   one file for each rank

Exit status: the program's own; if a signal ended it, cushim ends by the same signal. 125 if cushim \
itself fails, 126 if the program cannot be run, 127 if it is not found.";

/// Runs the command.
pub fn run(args: TraceArgs) -> Outcome {
    launch::untouched(&args.program.command)?;
    launch::refuse_foreign(&args.program.command[0])?;
    environ::warn_of_unknown();
    let cuda = args.record.backend.resolve(args.record.lib.as_deref(), Backend::Auto)?;
    let rank = Rank::here();
    let pattern = args.output.as_deref().map(|o| Pattern::new(o, &rank)).transpose()?;
    pattern.as_ref().map(|p| refuse_recording(p.name())).transpose()?;
    let target = match &pattern {
        Some(pattern) => Target::file(pattern.name()),
        None => Target::stream(io::stderr()),
    };
    let mut options = args.view.options(args.format, &target)?;
    let spool = Spool::create()?;
    let environment = environment(&args, &options.classes, &cuda, &spool)?;
    let mut signals = Signals::block();
    let held = Held::fork(&args.program.command, &environment, &signals)?;
    let pid = held.id();
    let program = Path::new(&args.program.command[0]).file_name().unwrap_or_default().to_owned();
    let names = Names { pid, program };
    let compressed = pattern.as_ref().is_some_and(|p| zst::is_named(p.name()));
    let mut output = pattern.map(|p| Output::open(&p.expand(&names, &rank)?)).transpose()?;
    cuda.announce(Some(&args.program.command[0]));
    let child = held.release()?;
    let out: Box<dyn io::Write> = match &mut output {
        Some(output) if compressed => Box::new(zst::Compressed::new(output.begin()?)?),
        Some(output) => Box::new(WholeLines::new(output.begin()?)),
        None => Box::new(WholeLines::new(io::stderr())),
    };
    options.root = Some(pid);
    // Says why there are no launches, if the user asked for them.
    options.may_time_gpu =
        args.record.gpu_time.is_none() && matches!(cuda.backend, Backend::Native | Backend::Driver);
    options.summary &= output.is_some() || rank.prints();
    let explain = rank.prints() && options.format == Format::Text || output.is_some();
    // Without launches in the chosen classes, none are missed.
    let explain = explain && options.classes.contains("launch");
    let run = Run { argv: words(&args.program.command), host: host(), rank: rank.number };
    let folder = spool.path().to_owned();
    let mut follow = Follow::new(spool, View::new(options, run, out));
    let ending = child.wait(&mut signals, &mut || follow.look());
    let seen = follow.finish(&mut signals);
    if let Some(seen) = seen.filter(|seen| seen.launches + seen.nodes == 0 && explain) {
        // The folder itself is gone by now.
        let folder = folder.parent().unwrap_or(&folder);
        launch::explain(Path::new(&args.program.command[0]), &seen, ending, folder);
    }
    Ok(ending.end())
}

/// The variables added to the program's environment.
fn environment(
    args: &TraceArgs,
    classes: &Classes,
    cuda: &Cuda,
    spool: &Spool,
) -> Result<Environment, Error> {
    let mut record = args.record.clone();
    record.limit.get_or_insert(LIMIT);
    let program = args.program.command.first().map(OsString::as_os_str);
    let mut set = record.environment(cuda, spool.pattern(), classes, args.view.nested, program)?;
    let backlog = args.backlog.unwrap_or_else(|| spool.backlog());
    let backlog = backlog.max(BACKLOG_MIN);
    set.push(("CUSHIM_BACKLOG", backlog.to_string().into()));
    set.push((environ::SPARE, spool.spare(backlog).to_string().into()));
    let wait = args.when_behind == Some(WhenBehind::Wait);
    set.push(("CUSHIM_WHEN_BEHIND", if wait { "wait" } else { "lose" }.into()));
    set.push((environ::LAUNCHER, launch::run_id().into()));
    Ok(set)
}

/// Refuses names of recordings and reports: trace writes neither.
fn refuse_recording(path: &Path) -> Result<(), Error> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let path = path.shown();
    let instead = match ending {
        "cushim" => format!("for the recording itself use `cushim record -o {path}`"),
        "html" | "htm" | "csv" => format!(
            "for a report record with `cushim record -o run.cushim`, then `cushim report -o {path} run.cushim`"
        ),
        _ => return Ok(()),
    };
    Err(Error::Usage(format!(
        "--output {path}: trace writes text (.txt) or JSON lines (.jsonl); {instead}"
    )))
}

fn words(command: &[OsString]) -> Vec<String> {
    command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}
