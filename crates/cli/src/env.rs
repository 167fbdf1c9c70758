//! `cushim env`: the environment that traces a program without the launcher, for `srun`, Dockerfiles and
//! service files.
//!
//! Owns: the line of assignments, quoted so that a shell splits it as intended. Must not know: what the library does
//! with it.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use clap::Args;

use crate::launch::{self, Backend, LastArgs, RecordArgs};
use crate::view::{Class, Classes};
use crate::{Error, Outcome, complain, environ, record};
use cushim_names::Foreign as _;

/// Arguments of `cushim env`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER)]
pub struct EnvArgs {
    /// Record these classes of calls: launch, graph, copy, memory, stream, event, sync, module,
    /// register, profiler, all
    #[arg(
        short = 'e',
        long = "events",
        value_name = "CLASS,...",
        value_delimiter = ',',
        help = "Record these classes of calls [default: launch,graph,copy,region,map]"
    )]
    events: Vec<Class>,

    /// Record the calls that CUDA makes inside a call too
    #[arg(long)]
    nested: bool,

    /// Record into FILE [default: %e.%p.cushim, in the folder where the program runs]
    ///
    /// In FILE, %e is the program's name, %p its process id, %h the host, %r the rank, %q{VAR} a
    /// variable's value, %% a percent sign; each process fills them in for itself, and puts .1, .2 … after
    /// a name that is taken.
    #[arg(short, long, value_name = "FILE")]
    output: Option<OsString>,

    #[command(flatten)]
    record: RecordArgs,

    #[command(flatten)]
    last: LastArgs,
}

const AFTER: &str = "\
Each process writes a recording of its own, which `cushim report` shows afterwards. What LD_PRELOAD names \
already stays in front.

Examples:
  env $(cushim env) ./app && cushim report app.*.cushim
  srun env $(cushim env -o /scratch/%q{SLURM_JOB_ID}.%r.cushim) ./app
  export $(cushim env -e all)          for everything that this shell starts
  env $(cushim env --backend cpu) ./app
  docker run $(printf -- '-e %s ' $(cushim env)) image ./app";

/// Runs the command.
pub fn run(args: EnvArgs) -> Outcome {
    environ::warn_of_unknown();
    // The machine that will run it is not known here: only an explicit choice counts.
    let cuda = args.record.backend.resolve(args.record.lib.as_deref(), Backend::Native)?;
    let output = args.output.unwrap_or_else(|| record::DEFAULT_OUTPUT.into());
    launch::refuse_text(Path::new(&output))?;
    let classes = match args.events.as_slice() {
        [] => Classes::default(),
        chosen => Classes::of(chosen),
    };
    let mut line = args.record.environment(&cuda, output.clone(), &classes, args.nested, None)?;
    args.last.put(&mut line);
    let mut text = Vec::new();
    for (name, value) in &line {
        one_word(name, value)?;
        if !text.is_empty() {
            text.push(b' ');
        }
        text.extend(name.as_bytes());
        text.push(b'=');
        text.extend(value.as_bytes());
    }
    text.push(b'\n');
    if let Some(link) = cuda.linked() {
        complain(&format!(
            "LD_PRELOAD cannot express {}; it is reached through {}, which other machines may not have",
            cuda.library.shown(),
            link.shown()
        ));
    }
    cuda.announce(None);
    crate::print(&text)?;
    if std::io::stderr().is_terminal() {
        let name = output.to_string_lossy();
        complain(&format!("each process records into {name}; `cushim report FILE` shows it"));
    }
    Ok(0)
}

/// A shell splits `$(cushim env)` at white space and expands patterns in it.
fn one_word(name: &str, value: &OsStr) -> Result<(), Error> {
    let bad = |b: &&u8| b.is_ascii_whitespace() || b.is_ascii_control() || b"*?[\\'\"".contains(b);
    match value.as_bytes().iter().find(bad) {
        None => Ok(()),
        Some(byte) => Err(Error::Usage(format!(
            "{name} would be {:?}, which a shell does not take as one word because of {:?}",
            value.to_string_lossy(),
            *byte as char
        ))),
    }
}
