//! `cushim check`: runs a program on the CPU and reports errors in its kernels and calls.
//!
//! Owns the options and the exit status. Must not know how errors are found ([`cushim_ptx::exec::Watch`]), or how a
//! report looks ([`text`], [`sarif`]).

mod gather;
mod glob;
mod sarif;
mod suppress;
mod text;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

pub use gather::{Found, Report, Suppressed, gather};
pub use sarif::report as sarif;
pub use suppress::{Suppressions, saved};
pub use text::report as text;

use cushim_names::Foreign as _;

use crate::launch::{self, Ending, Environment, ProgramArgs, Watched, WatchedArgs};
use crate::{Error, Outcome, environ};

/// Arguments of `cushim check`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER, override_usage = "cushim check [OPTIONS] [--] PROG [ARGS]...")]
pub struct CheckArgs {
    #[command(flatten)]
    program: ProgramArgs,

    /// What to look for, with commas between
    #[arg(long, value_name = "TOOLS", value_enum, value_delimiter = ',', default_value = "memory")]
    tool: Vec<Tool>,

    /// Report only on kernels of this name: NAME or kernel_substring=NAME a part of it, kernel_name=NAME all of it
    #[arg(long, value_name = "NAME")]
    kernel_name: Option<String>,

    /// Report on the first N launches of those kernels only
    #[arg(long, value_name = "N")]
    launch_count: Option<u64>,

    /// Do not report on the first N launches of those kernels
    #[arg(long, value_name = "N", default_value_t = 0)]
    launch_skip: u64,

    /// What ends when a kernel accesses memory wrongly
    #[arg(long, value_name = "WHAT", value_enum, default_value = "context")]
    destroy_on_device_error: Ends,

    /// End with this status if something is found and the program ends with 0
    #[arg(long, value_name = "STATUS", default_value_t = 0, help_heading = "Report")]
    error_exitcode: u8,

    /// Write the report into FILE instead of stderr
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    log_file: Option<PathBuf>,

    /// Also write the findings as JSON into FILE
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    json: Option<PathBuf>,

    /// Also write the findings as SARIF 2.1.0, which tools for code review read, into FILE
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    sarif: Option<PathBuf>,

    /// Print at most N findings; all are counted
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Report")]
    print_limit: usize,

    /// Do not report the known findings that FILE lists; several files may be given
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    suppressions: Vec<PathBuf>,

    /// Also list the findings in FILE, for --suppressions
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    save_suppressions: Option<PathBuf>,

    #[command(flatten)]
    running: WatchedArgs,
}

/// What ends when a kernel accesses memory wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Ends {
    /// Its context, as on a GPU: later calls fail
    Context,
    /// Only its launch: the program goes on as if nothing had happened
    Kernel,
}

/// What can be looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Tool {
    /// Accesses outside of allocations, wrong frees, copies and sets beyond ends
    #[value(alias = "memcheck")]
    Memory,
    /// Reads of global, shared and local memory that was never written
    #[value(alias = "initcheck")]
    Init,
    /// Accesses of two threads to the same memory that nothing orders
    #[value(alias = "racecheck")]
    Race,
    /// Barriers that part of a block does not reach, wrong counts and masks
    #[value(alias = "synccheck")]
    Sync,
    /// Allocations that are never freed
    Leak,
    /// Calls that fail, and whose error the program does not ask for
    Api,
    /// All of these
    All,
}

impl Tool {
    fn word(self) -> &'static str {
        match self {
            Tool::Memory => "memory",
            Tool::Init => "init",
            Tool::Race => "race",
            Tool::Sync => "sync",
            Tool::Leak => "leak",
            Tool::Api => "api",
            Tool::All => "memory,init,race,sync,leak,api",
        }
    }
}

const AFTER: &str = "\
The program runs as with `cushim run --backend cpu`: no GPU, no rebuild. Compile it with -lineinfo, and its host code with -g, \
for lines of the source in the report.

Options are those of NVIDIA's compute-sanitizer where they mean the same; memcheck, initcheck, racecheck \
and synccheck are other names of memory, init, race and sync. An access outside of memory ends its launch with an error, as there.

What each tool finds and what it does not: docs/check.md.

Examples:
  cushim check ./app
  cushim check --tool all --error-exitcode 1 ./app
  cushim check --tool memory,leak --sarif app.sarif -- ctest
  cushim check --tool race --save-suppressions known.toml ./app; cushim check --tool race --suppressions known.toml ./app

Exit status: the program's own; STATUS of --error-exitcode if that is 0 and something was found. 125 if cushim itself fails, \
126 if the program cannot be run, 127 if it is not found.";

/// Runs the command, and reports.
pub fn run(args: CheckArgs) -> Outcome {
    let watched = Watched::new(&args.program.command, &args.running)?;
    let mut known = Suppressions::default();
    for file in &args.suppressions {
        let read = Suppressions::read(file);
        known.extend(read.map_err(|e| Error::Usage(e.to_string().shown().to_string()))?);
    }
    let outputs = args.outputs().into_iter().flatten().map(|path| launch::output(path));
    let outputs: Vec<PathBuf> = outputs.collect::<Result<_, _>>()?;
    let stacks = known.need_stacks();
    let (ending, told, complete) = watched.run("check", |file| args.variables(file, stacks))?;
    let mut report = gather(&told);
    known.apply(&mut report);
    // Nothing found, if not even a process could say that it began.
    if complete.is_ok() || !report.processes.is_empty() {
        args.write(&report, &outputs)?;
    }
    complete?;
    Ok(match ending {
        Ending::Status(0) if !report.found.is_empty() => args.error_exitcode,
        other => other.end(),
    })
}

impl CheckArgs {
    /// The variables for the program's processes.
    fn variables(&self, file: &Path, stacks: bool) -> Environment {
        let tools: Vec<&str> = self.tool.iter().map(|tool| tool.word()).collect();
        let count = self.launch_count.map(|count| count.to_string()).unwrap_or_default();
        let mut set: Environment = vec![
            (environ::CHECK[0], tools.join(",").into()),
            (environ::CHECK[1], file.as_os_str().to_owned()),
            (environ::CHECK[3], format!("{},{count}", self.launch_skip).into()),
        ];
        if let Some(name) = &self.kernel_name {
            set.push((environ::CHECK[2], pattern(name).into()));
        }
        if stacks {
            set.push((environ::CHECK[4], "1".into()));
        }
        if self.destroy_on_device_error == Ends::Kernel {
            set.push((environ::CHECK[5], "kernel".into()));
        }
        set
    }

    /// Files that are written besides stderr, in the order in which [`Self::write`] does.
    fn outputs(&self) -> [&Option<PathBuf>; 4] {
        [&self.log_file, &self.json, &self.sarif, &self.save_suppressions]
    }

    fn write(&self, report: &Report, outputs: &[PathBuf]) -> Result<(), Error> {
        let mut outputs = outputs.iter();
        let mut put = |wanted: bool, text: &dyn Fn() -> String| match outputs.next() {
            Some(path) if wanted => {
                fs::write(path, text()).map_err(|e| Error::io("write", path, e))
            }
            _ => Ok(()),
        };
        let text = text::report(report, self.print_limit);
        match self.log_file {
            Some(_) => put(true, &|| text.clone())?,
            // A write error on a closed stderr is ignored.
            None => drop(std::io::stderr().lock().write_all(text.as_bytes())),
        }
        if self.json.is_some() {
            put(true, &|| report.json())?;
        }
        if self.sarif.is_some() {
            put(true, &|| sarif::report(report))?;
        }
        if self.save_suppressions.is_some() {
            put(true, &|| saved(report))?;
        }
        Ok(())
    }
}

/// The option's kernel name in the form that the library takes.
pub(crate) fn pattern(name: &str) -> String {
    for (word, mark) in
        [("kernel_name=", "="), ("kne=", "="), ("kernel_substring=", ""), ("kns=", "")]
    {
        if let Some(rest) = name.strip_prefix(word) {
            return format!("{mark}{rest}");
        }
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kernels_are_written_as_for_compute_sanitizer() {
        let cases = [
            ("mul", "mul"),
            ("kernel_substring=mul", "mul"),
            ("kns=mul", "mul"),
            ("kernel_name=mul", "=mul"),
            ("kne=mul", "=mul"),
        ];
        for (given, expected) in cases {
            assert_eq!(pattern(given), expected);
        }
    }

    #[test]
    fn tools_have_the_names_that_the_library_knows() {
        let all: Vec<&str> = Tool::value_variants().iter().map(|tool| tool.word()).collect();
        let (each, together) = all.split_at(all.len() - 1);
        assert_eq!(together, [each.join(",")]);
    }
}
