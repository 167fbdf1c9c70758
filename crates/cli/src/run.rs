//! `cushim run`: a program with the chosen CUDA, without a trace.
//!
//! Owns: becoming the program. Must not know: what is preloaded, or recording.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;

use crate::launch::{self, Backend, BackendArgs, Environment, RedirectArgs};
use crate::{Error, Outcome, environ};

/// Arguments of `cushim run`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER, override_usage = "cushim run [OPTIONS] [--] PROG [ARGS]...")]
pub struct RunArgs {
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
    backend: BackendArgs,

    /// What cushim says about itself inside the program: off, error, warn, info; to FILE or stderr
    #[arg(long, value_name = "LEVEL[,FILE]", value_parser = launch::log, help_heading = "How it is run")]
    log: Option<String>,

    /// The preloaded library, where it is not beside this program or in ../lib
    #[arg(long, value_name = "FILE", help_heading = "How it is run")]
    lib: Option<PathBuf>,

    #[command(flatten)]
    redirect: RedirectArgs,
}

const AFTER: &str = "\
The backends:
  native   NVIDIA's own runtime and driver, as without cushim
  driver   cushim's runtime over NVIDIA's driver: no libcudart of NVIDIA's takes part
  cpu      cushim's runtime and driver; kernels run on the CPU
  auto     native wherever a libcuda is installed, also a broken one; where there is none, cpu

A program with the CUDA runtime inside (nvcc's default) is led to cushim's as it is loaded, and so are libraries \
that it opens later. That needs their symbols: where they are stripped, --symbols names the file that has \
them (the unstripped program, or its debug file); what /usr/lib/debug or .gnu_debuglink say is found.

The backend cpu has one device; CUSHIM_CPU_DEVICES=N gives it more, up to 16, all of them this processor, for \
programs that want several GPUs. CUSHIM_CPU_THREADS=N: so many threads run kernels. CUSHIM_CPU=report: says \
which kernels are interpreted instead of compiled, and why. CUSHIM_CPU_LEVEL=x86-64, x86-64-v2, x86-64-v3 or \
x86-64-v4: kernels, compiled or interpreted, use of this processor what that level has. Compiled kernels are \
kept for the next run, 256 MiB at most, in CUSHIM_CACHE_DIR, else in cushim of XDG_CACHE_HOME or of ~/.cache; a folder that others may write to is \
not used. CUSHIM_CACHE=off: none are kept or taken. \
A product and a sum in PTX without .rn become one fused multiply-add where NVIDIA's compiler fuses them, so numbers are a \
GPU's; --fmad=off (CUSHIM_FMAD=off): each is rounded.

`cushim trace`, `record` and `env` have the same options.

Examples:
  cushim run --backend cpu ./app
  cushim run --backend driver python train.py
  cushim run --backend cpu --symbols app.debug ./app
  cushim run --replace vecadd=new.ptx ./app    with another kernel, nothing recorded
  env $(cushim env --backend cpu) ./app        recorded, without the launcher

Exit status: the program's own, since this becomes the program. 125 if cushim itself fails, 126 if the \
program cannot be run, 127 if it is not found.";

/// Runs the command; comes back only if that fails.
pub fn run(args: RunArgs) -> Outcome {
    launch::untouched(&args.command)?;
    environ::warn_of_unknown();
    let cuda = args.backend.resolve(args.lib.as_deref(), Backend::Auto)?;
    let mut redirect = Environment::new();
    args.redirect.put(&cuda, &mut redirect)?;
    let mut command = Command::new(&args.command[0]);
    command.args(&args.command[1..]).envs(cuda.environment(Some(&args.command[0]))).envs(redirect);
    // The hooks stay in front and record nothing.
    command.env("CUSHIM_EVENTS", "none").env(environ::LAUNCHER, launch::run_id());
    if let Some(log) = &args.log {
        command.env("CUSHIM_LOG", log);
    }
    let source = command.exec();
    Err(Error::start(&args.command[0], source))
}
