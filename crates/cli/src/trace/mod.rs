//! `cushim trace`: runs a program with the library preloaded and shows what it records, live.
//!
//! Owns: the order of things: everything that can be wrong with the options shows before the program
//! starts, its files are followed while it runs, and the summary comes after it. The exit status is the
//! program's. Must not know: how events look, or what the library does.

mod child;
mod follow;
mod output;
mod pattern;
mod ranks;
mod signals;
mod size;
mod spool;
mod why;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::view::{Format, Run, Target, View, ViewArgs};
use crate::{Error, Outcome, environ, preload};

pub use pattern::host;
pub use ranks::Rank;

use child::Held;
use follow::Follow;
use output::{Output, WholeLines};
use pattern::Pattern;
use signals::Signals;
use spool::Spool;

/// While the launcher reads along and gives room back, a trace has no size to speak of.
const LIMIT: u64 = 1 << 40;

/// How it is recorded, for `trace` and `env` alike.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "How it is recorded")]
pub struct RecordArgs {
    /// Stop recording a process when its trace has this size, such as 512MiB or 4G [default: 1TiB for
    /// trace, which gives room back while it reads; 1GiB for env]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub limit: Option<u64>,

    /// What cushim says about itself inside the program: off, error, warn, info; to FILE or stderr
    #[arg(long, value_name = "LEVEL[,FILE]", value_parser = log)]
    pub log: Option<String>,

    /// The preloaded library, where it is not beside this program or in ../lib
    #[arg(long, value_name = "FILE")]
    pub lib: Option<PathBuf>,
}

/// Arguments of `cushim trace`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER, override_usage = "cushim trace [OPTIONS] [--] PROG [ARGS]...")]
pub struct TraceArgs {
    /// The program and its arguments
    #[arg(
        required = true,
        help_heading = "Program",
        trailing_var_arg = true,
        value_name = "PROG [ARGS]",
        value_hint = clap::ValueHint::CommandWithArguments
    )]
    command: Vec<OsString>,

    #[command(flatten)]
    view: ViewArgs,

    #[command(flatten)]
    record: RecordArgs,

    /// Write to FILE instead of stderr; .jsonl, .ndjson and .json mean JSON lines, else text
    ///
    /// In FILE, %p is the program's process id, %h the host, %r the rank (Open MPI, PMI, torchrun, SLURM),
    /// %q{VAR} a variable's value, %% a percent sign. With several ranks and neither %r nor %p, the rank
    /// is put before the ending. The file is readable by its owner only; a link is refused; where another
    /// trace is writing FILE, .1, .2 … is put before the ending.
    #[arg(short, long, value_name = "FILE", help_heading = "Where it goes")]
    output: Option<OsString>,
}

const AFTER: &str = "\
The program runs as it would without cushim: its output, exit status and fatal signal are its own. Ctrl-C \
reaches it, and the summary is printed all the same. What is measured is the time inside the call on the \
host, not on the GPU.

Every option can be given in the environment, --events as CUSHIM_EVENTS, --output as CUSHIM_OUTPUT and so \
on; 0 and empty mean off. CUSHIM_DISABLE=1 runs the program untouched.

Examples:
  cushim trace ./app 1024                     launches, graphs and copies, then a summary
  cushim trace -c python train.py             only the summary
  cushim trace -e all --nested ./app          every call, with the driver calls inside runtime calls
  cushim trace -k 'gemm|conv' -k '!bias' ./app
  cushim trace --failed ./app                 only calls that failed
  cushim trace -o run.%p.jsonl ./app          JSON lines
  mpirun -n 4 cushim trace -o r%r.txt ./app   one file for each rank

Exit status: the program's own; if a signal ended it, cushim ends by the same signal. 125 if cushim \
itself fails, 126 if the program cannot be run, 127 if it is not found.";

/// Runs the command.
pub fn run(args: TraceArgs) -> Outcome {
    if environ::disabled() {
        return Err(untouched(&args.command));
    }
    environ::warn_of_unknown();
    let library = preload::reachable(&preload::find_library(args.record.lib.as_deref())?)?;
    let rank = Rank::here();
    let pattern = args.output.as_deref().map(|o| Pattern::new(o, &rank)).transpose()?;
    let target = match &pattern {
        Some(pattern) => Target::file(pattern.name()),
        None => Target::stream(io::stderr()),
    };
    let mut options = args.view.options(&target)?;
    let spool = Spool::create()?;
    let environment = environment(&args, &options.classes.words(), &library, &spool);
    let mut signals = Signals::block();
    let held = Held::fork(&args.command, &environment, &signals)?;
    let pid = held.id();
    let mut output =
        pattern.map(|p| Output::open(&p.expand(&pid.to_string(), &rank)?)).transpose()?;
    let child = held.release()?;
    let out: Box<dyn io::Write> = match &mut output {
        Some(output) => Box::new(WholeLines::new(output.begin()?)),
        None => Box::new(WholeLines::new(io::stderr())),
    };
    options.root = Some(pid);
    options.summary &= output.is_some() || rank.prints();
    let explain = rank.prints() && options.format == Format::Text || output.is_some();
    let run = Run { argv: words(&args.command), host: host(), rank: rank.number };
    let mut follow = Follow::new(spool, View::new(options, run, out));
    let ending = child.wait(&mut signals, &mut follow);
    let seen = follow.finish(&mut signals);
    if let Some(seen) = seen.filter(|seen| seen.launches + seen.nodes == 0 && explain) {
        why::explain(Path::new(&args.command[0]), &seen, args.record.lib.as_deref());
    }
    Ok(ending.end())
}

/// What the program finds in its environment beside what is there.
fn environment(
    args: &TraceArgs,
    classes: &str,
    library: &Path,
    spool: &Spool,
) -> Vec<(&'static str, OsString)> {
    let mut set = vec![
        (preload::LD_PRELOAD, preload::value(library)),
        ("CUSHIM_OUTPUT", spool.pattern()),
        ("CUSHIM_EVENTS", classes.into()),
        ("CUSHIM_LIMIT", args.record.limit.unwrap_or(LIMIT).to_string().into()),
        (environ::LAUNCHER, "1".into()),
    ];
    if args.view.nested {
        set.push(("CUSHIM_NESTED", "1".into()));
    }
    if let Some(log) = &args.record.log {
        set.push(("CUSHIM_LOG", log.into()));
    }
    set
}

/// Becomes the program; comes back only if that fails.
fn untouched(command: &[OsString]) -> Error {
    let source = Command::new(&command[0]).args(&command[1..]).exec();
    Error::start(&command[0], source)
}

fn words(command: &[OsString]) -> Vec<String> {
    command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Checks `--log`.
pub fn log(text: &str) -> Result<String, String> {
    let level = text.split(',').next().unwrap_or_default();
    match ["off", "error", "warn", "info"].contains(&level) {
        true => Ok(text.to_owned()),
        false => Err(format!("{level:?} is no level; there are off, error, warn and info")),
    }
}

/// The name before and after the last `.` of a file name, so that something can be put between.
fn insert(name: &OsStr, middle: &str) -> OsString {
    let path = Path::new(name);
    let Some(ending) = path.extension() else {
        let mut name = name.to_owned();
        name.push(".");
        name.push(middle);
        return name;
    };
    let mut longer = OsString::from(middle);
    longer.push(".");
    longer.push(ending);
    path.with_extension(longer).into_os_string()
}
