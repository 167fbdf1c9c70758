//! The program `cushim`: one module for each subcommand, and the tree that holds them.
//!
//! Owns: the command line, exit codes, how messages look. Every subcommand is a module with a struct of arguments and
//! `run`, which returns the exit code or an [`Error`]; only [`main`] prints errors. Must not know: CUDA functions, or
//! the bytes of any file format.

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub mod check;
pub mod ctl;
pub mod doctor;
mod driver;
pub mod env;
pub mod environ;
mod error;
pub mod export;
pub mod extract;
pub mod generate;
pub mod images;
pub mod launch;
pub mod load;
pub mod ls;
pub mod preload;
pub mod profile;
pub mod progress;
pub mod record;
pub mod redirect;
pub mod replay;
pub mod report;
pub mod run;
mod shape;
mod stack;
mod stand_in;
pub mod trace;
pub mod translate;
pub mod view;
pub mod zst;

pub use error::{Error, NOT_FOUND, NOT_RUNNABLE, OWN_FAILURE, Outcome};

/// What the shell shows for `cushim --help`.
#[derive(Debug, Parser)]
#[command(name = "cushim", version, about = ABOUT, long_about = LONG_ABOUT, after_long_help = AFTER)]
#[command(arg_required_else_help = true, subcommand_required = true)]
#[command(infer_subcommands = false, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program on NVIDIA's CUDA or, without a GPU, on the CPU
    Run(run::RunArgs),
    /// Run a program on the CPU and report what is wrong with its kernels and calls
    Check(Box<check::CheckArgs>),
    /// Run a program on the CPU and count what its kernels do, for a GPU
    Profile(Box<profile::ProfileArgs>),
    /// Run a program and show the kernels it launches
    Trace(Box<trace::TraceArgs>),
    /// Run a program and record the kernels it launches into a file
    Record(Box<record::RecordCommand>),
    /// Switch the recording of a running process on or off, or add a mark to it
    Ctl(ctl::CtlArgs),
    /// Print the environment variables that record a program without this launcher
    Env(env::EnvArgs),
    /// Analyse recordings: by kernel, function, stream, thread, rank
    Report(report::ReportArgs),
    /// Convert recordings for other tools: Perfetto, HTA, DuckDB, Spark
    Export(export::ExportArgs),
    /// Check what cushim can trace of a program, and what prevents it
    Doctor(doctor::DoctorArgs),
    /// List the device images in programs and libraries
    Ls(ls::LsArgs),
    /// Write device images to files
    Extract(extract::ExtractArgs),
    /// Translate PTX kernels for AMD GPUs
    Translate(translate::TranslateArgs),
    /// Write and check manifests that replace kernels and images
    Redirect(redirect::RedirectCommand),
    /// Run a captured launch alone, time it, and compare its outputs
    Replay(replay::ReplayArgs),
    /// Run a program whose main is device code, as LLVM's GPU loaders do
    Load(load::LoadArgs),
    /// Print the completion script for a shell
    Completions(generate::CompletionsArgs),
    /// Print the manual page, or write one for each subcommand
    Man(generate::ManArgs),
}

const ABOUT: &str = "See what any CUDA program does to the GPU, or run it without one";

const LONG_ABOUT: &str = "\
See what any CUDA program does to the GPU, or run it without one.

cushim preloads a small library into an unmodified program, which sees every CUDA call: kernel \
launches with their arguments, copies, memory, graphs, and the device code. cushim can also run \
the program on the CPU. The program is not \
rebuilt; its output, exit status and fatal signal stay its own.";

const AFTER: &str = "\
Examples:
  cushim trace ./app 1024               what it launches, on stderr, with a summary at the end
  cushim trace -c python train.py       only the summary
  cushim trace -o run.jsonl ./app       one JSON object per line
  cushim record ./app                   into a file, for cushim report
  srun env $(cushim env) ./app          the same without the launcher
  cushim run --backend cpu ./app        without a GPU
  cushim check ./app                    what is wrong with its kernels, without a GPU
  cushim profile ./app                  what its kernels do, counted, without a GPU
  cushim doctor ./app                   what can be traced, and what prevents it

Exit status:
  125  cushim itself failed, also for a wrong option
  126  the program was found but cannot be run
  127  the program was not found
  Otherwise `cushim run`, `check`, `profile`, `trace` and `record` end as the program ended, by the same status or signal.
  `cushim doctor` ends with 1 where something blocks tracing.";

/// The whole command line as one definition: help, completions and manual pages come from it.
pub fn command() -> clap::Command {
    environ::attach(Cli::command())
}

/// Runs the program and returns its exit code.
pub fn main() -> ExitCode {
    stack::enough(work)
}

fn work() -> ExitCode {
    if let Some(done) = stand_in::work() {
        return done;
    }
    if cushim_ptx_jit::serve_llvm(std::env::args_os()) {
        return ExitCode::SUCCESS;
    }
    if doctor::is_probe(std::env::args_os()) {
        return ExitCode::SUCCESS;
    }
    launch::outlive_limits();
    environ::forget_switched_off(&command());
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return usage(&error),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    if !matches!(
        cli.command,
        Command::Trace(_) | Command::Record(_) | Command::Check(_) | Command::Profile(_)
    ) {
        die_of_broken_pipes();
    }
    let outcome = match cli.command {
        Command::Run(args) => run::run(args),
        Command::Check(args) => check::run(*args),
        Command::Profile(args) => profile::run(*args),
        Command::Trace(args) => trace::run(*args),
        Command::Record(args) => record::run(*args),
        Command::Ctl(args) => ctl::run(args),
        Command::Env(args) => env::run(args),
        Command::Report(args) => report::run(args),
        Command::Export(args) => export::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Ls(args) => ls::run(args),
        Command::Extract(args) => extract::run(args),
        Command::Translate(args) => translate::run(args),
        Command::Redirect(args) => redirect::run(args),
        Command::Replay(args) => replay::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Completions(args) => generate::completions(args),
        Command::Man(args) => generate::man(args),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            complain(&error.to_string());
            ExitCode::from(error.exit_code())
        }
    }
}

/// Prints `cushim: …` on stderr; a closed stderr is ignored. Escape sequences are replaced.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "cushim: {}", cushim_names::lines(text));
}

/// Writes to stdout.
pub fn print(bytes: &[u8]) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(|e| Error::io("write", std::path::Path::new("stdout"), e))
}

/// Help and version go to stdout and succeed; a wrong command line is cushim's own failure.
fn usage(error: &clap::Error) -> ExitCode {
    let fails = error.use_stderr();
    if !fails {
        die_of_broken_pipes();
    }
    let _ = error.print();
    ExitCode::from(if fails { OWN_FAILURE } else { 0 })
}

/// `cushim ls … | head` ends quietly, as other programs do. Rust ignores SIGPIPE at start; for
/// `trace` it stays ignored, because the launcher must outlive the reader of its output.
fn die_of_broken_pipes() {
    // SAFETY: sets a default disposition; no handler of ours is involved.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_sound() {
        super::command().debug_assert();
    }
}
