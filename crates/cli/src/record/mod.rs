//! `cushim record`: runs a program with the library preloaded; each process leaves a recording.
//!
//! Owns: the sequence: errors are reported before the program starts, the file's name at its start, and the next
//! command at its end. The exit status is the program's. Must not know: what events are, or what the library does.

mod found;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::launch::{
    self, Backend, Held, LastArgs, Names, Pattern, ProgramArgs, Rank, RecordArgs, Signals,
};
use crate::view::{Class, Classes};
use crate::{Error, Outcome, complain, environ};
use cushim_names::Foreign as _;
use cushim_trace::recorder::NOT_SHARED;

use found::Found;

/// With this output the library records nothing.
const NOWHERE: &str = "/dev/null";
/// The default output.
pub const DEFAULT_OUTPUT: &str = "%e.%p.cushim";

/// Arguments of `cushim record`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER, override_usage = "cushim record [OPTIONS] [--] PROG [ARGS]...")]
pub struct RecordCommand {
    #[command(flatten)]
    program: ProgramArgs,

    /// Record these classes of calls [default: launch,graph,copy,region,map]
    #[arg(
        short = 'e',
        long = "events",
        value_name = "CLASS,...",
        value_delimiter = ',',
        help_heading = "What to record"
    )]
    events: Vec<Class>,

    /// Record the calls that CUDA makes inside a call too
    #[arg(long, help_heading = "What to record")]
    nested: bool,

    #[command(flatten)]
    record: RecordArgs,

    #[command(flatten)]
    last: LastArgs,

    /// Record into FILE [default: %e.%p.cushim, in the current folder]
    ///
    /// In FILE, %e is the program's name, %p its process id, %h the host, %r the rank, %q{VAR} a
    /// variable's value, %% a percent sign; each process that calls CUDA fills in its own name and id, and
    /// puts .1, .2 … before the ending where a name is taken. With several ranks and neither %r nor %p,
    /// the rank is put before the ending. A folder of FILE that is not there is made; /dev/null records nothing.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<OsString>,
}

const AFTER: &str = "\
The program runs as it would without cushim: its output, exit status and fatal signal are its own. What was \
recorded until a crash, _exit or kill -9 is in the file, and a file can be read while it is written.

Examples:
  cushim record ./app && cushim report app.*.cushim
  cushim record -e all --nested -o run.%p.cushim python train.py
  cushim record --last 64MiB ./server           only the latest, for as long as it runs
  cushim record --launch-skip 100 --launch-count 50 ./app
  cushim record --start paused ./app & cushim ctl $(pgrep app) on
  srun cushim record -o /scratch/%q{SLURM_JOB_ID}.%r.cushim ./app

Exit status: the program's own; if a signal ended it, cushim ends by the same signal. 125 if cushim \
itself fails, 126 if the program cannot be run, 127 if it is not found.";

/// Runs the command.
pub fn run(args: RecordCommand) -> Outcome {
    launch::untouched(&args.program.command)?;
    launch::refuse_foreign(&args.program.command[0])?;
    environ::warn_of_unknown();
    let cuda = args.record.backend.resolve(args.record.lib.as_deref(), Backend::Auto)?;
    let rank = Rank::here();
    let output = args.output.clone().unwrap_or_else(|| DEFAULT_OUTPUT.into());
    let pattern = Pattern::new(&output, &rank)?;
    launch::refuse_text(pattern.name())?;
    let classes = match args.events.as_slice() {
        [] => Classes::default(),
        chosen => Classes::of(chosen),
    };
    let run = launch::run_id();
    let into = pattern.for_library(std::env::current_dir, &rank)?;
    let program = args.program.command.first().map(OsString::as_os_str);
    let mut environment = args.record.environment(&cuda, into, &classes, args.nested, program)?;
    args.last.put(&mut environment);
    environment.push((environ::LAUNCHER, run.clone().into()));
    let begun = std::time::SystemTime::now();
    let mut signals = Signals::block();
    let held = Held::fork(&args.program.command, &environment, &signals)?;
    let program = Path::new(&args.program.command[0]).file_name().unwrap_or_default().to_owned();
    let mut names = Names { pid: held.id(), program };
    let expected = pattern.expand(&names, &rank)?;
    if expected == Path::new(NOWHERE) {
        cuda.announce(Some(&args.program.command[0]));
        return Ok(held.release()?.wait(&mut signals, &mut || {}).end());
    }
    launch::make_folder(&expected)?;
    writable(&expected)?;
    let free = free_name(&expected);
    cuda.announce(Some(&args.program.command[0]));
    let child = held.release()?;
    // A script's program is its interpreter, by which the library names the file.
    if let Ok(exe) = std::fs::read_link(format!("/proc/{}/exe", names.pid)) {
        names.program = exe.file_name().unwrap_or_default().to_owned();
    }
    let path = pattern.expand(&names, &rank)?;
    let path = if path == expected { free } else { path };
    if rank.prints() {
        complain(&format!("recording into {}", path.shown()));
    }
    let mut was_there = false;
    let ending = child.wait(&mut signals, &mut || was_there = was_there || path.exists());
    signals.release_keyboard();
    if rank.prints() {
        let found = Found::of_run(&path, &run, begun);
        found.tell();
        if found.is_empty() && was_there && !path.exists() {
            complain(&format!("{} was removed while it was written", path.shown()));
        } else if found.is_empty() {
            let program = Path::new(&args.program.command[0]);
            launch::explain(program, &Default::default(), ending, folder_of(&path));
        }
    }
    Ok(ending.end())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes sure that recordings can be made in the folder of `path`: a failure in the library would show
/// too late.
fn writable(path: &Path) -> Result<(), Error> {
    let folder = folder_of(path);
    let probe = folder.join(format!(".cushim-{}", std::process::id()));
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&probe)
        .map_err(|e| Error::io("write into the folder", folder, e))?;
    let shared = shares(&file);
    let _ = std::fs::remove_file(probe);
    match shared {
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {
            Err(Error::io("record into the folder", folder, io::Error::other(NOT_SHARED)))
        }
        _ => Ok(()),
    }
}

/// Whether programs can share memory by mapping this file.
fn shares(file: &File) -> io::Result<()> {
    memmap2::MmapOptions::new().len(1).map_raw(file).map(|_| ())
}

/// The free name that the library will use.
fn free_name(path: &Path) -> PathBuf {
    let taken = |path: &Path| path.symlink_metadata().is_ok();
    let with = |n: u32| PathBuf::from(launch::insert(path.as_os_str(), &n.to_string()));
    let names = std::iter::once(path.to_owned()).chain((1..10_000).map(with));
    names.into_iter().find(|path| !taken(path)).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn whether_a_file_system_can_share_is_known() {
        let file = |path: &str| File::options().read(true).write(true).open(path).unwrap();
        assert_eq!(
            shares(&file("/proc/self/comm")).unwrap_err().raw_os_error(),
            Some(libc::ENODEV)
        );
        let here = std::env::temp_dir().join(format!("cushim-shares-{}", std::process::id()));
        let made = File::options().read(true).write(true).create_new(true).open(&here).unwrap();
        std::fs::remove_file(here).unwrap();
        shares(&made).unwrap();
    }
}
