//! `cushim run`: runs a program with the chosen CUDA, without a trace.
//!
//! Owns: replacing this process by the program (`exec`). Must not know: what is preloaded, or recording.

use std::path::PathBuf;

use clap::Args;

use crate::launch::{self, Backend, BackendArgs, Environment, ProgramArgs, RedirectArgs};
use crate::{Error, Outcome, environ};

/// Arguments of `cushim run`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER, override_usage = "cushim run [OPTIONS] [--] PROG [ARGS]...")]
pub struct RunArgs {
    #[command(flatten)]
    program: ProgramArgs,

    #[command(flatten)]
    backend: BackendArgs,

    /// Log level of the preloaded library: off, error, warn or info; to FILE or stderr
    #[arg(long, value_name = "LEVEL[,FILE]", value_parser = launch::log, help_heading = "Running")]
    log: Option<String>,

    /// Path of libcushim.so, if it is not beside this program or in ../lib
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    lib: Option<PathBuf>,

    #[command(flatten)]
    redirect: RedirectArgs,
}

const AFTER: &str = "\
The backends:
  native   NVIDIA's own runtime and driver, as without cushim
  driver   cushim's runtime over NVIDIA's driver: NVIDIA's libcudart is not used
  cpu      cushim's runtime and driver; kernels run on the CPU
  hsa      cushim's runtime and driver; kernels run on an AMD GPU, by AMD's runtime (experimental). Its device code is
           translated from PTX, or a code object, HIP fat binary or OffloadBinary that --redirect or --replace names
  auto     native where a libcuda is installed, even a broken one; cpu where there is none

A program that links the CUDA runtime statically (nvcc's default) is redirected to cushim's runtime as it is loaded, \
and so are libraries that it opens later. That needs their symbols. For a stripped program, --symbols names the file that \
has them: the unstripped program or its debug file. Files in /usr/lib/debug and those of .gnu_debuglink are found.

Variables of the backend cpu:
  CUSHIM_CPU_DEVICES=N     number of devices, 1 to 16, for programs that want several [default: 1]
  CUSHIM_CPU_MEMORY=BYTES  memory of a device, as 512M or 24G [default: half of the machine's]
  CUSHIM_CPU_THREADS=N     number of threads that run kernels [default: one per processor]
  CUSHIM_CPU=report        print which kernels are interpreted instead of compiled, and why
  CUSHIM_CPU_CAPABILITY=N  compute capability: 8.0 (default), 8.6, 8.9, 9.0, 10.0, 12.0
  CUSHIM_CPU_LEVEL=LEVEL   use no newer instructions than x86-64, x86-64-v2, -v3 or -v4
  CUSHIM_CACHE_DIR=DIR     keep compiled kernels in DIR, at most 256 MiB; a folder that others may
                           write to is not used [default: cushim in XDG_CACHE_HOME or ~/.cache]
  CUSHIM_CACHE=off         neither keep compiled kernels nor use kept ones
  CUSHIM_FMAD=off          as --fmad=off
  CUSHIM_LLVM=FILE         the libLLVM (17 to 22) that compiles kernels that run for long, in the
                           background; off: none [default: auto, one that is installed]

Variables of the backend hsa:
  CUSHIM_HSA=FILE          AMD's runtime [default: libhsa-runtime64.so.1 where the loader finds it,
                           else in /opt/rocm/lib]
  CUSHIM_CLANG=FILE        the clang, with AMD's targets, that makes code of PTX [default: one in PATH,
                           else ROCm's]

`cushim trace`, `record` and `env` have the same options.

--emulate gfx90a is for machines without an AMD GPU: with --backend hsa, and, without --backend, for programs that were \
built for AMD GPUs (HIP, HSA, OpenMP offloading). AMD's runtime must be installed (libhsa-runtime64.so.1, version 5.2), \
but not the kernel driver. Every kernel is interpreted on the CPU.

Examples:
  cushim run --backend cpu ./app
  cushim run --backend driver python train.py
  cushim run --backend cpu --symbols app.debug ./app
  cushim run --emulate gfx90a ./hip-app        a HIP program without an AMD GPU
  cushim run --backend hsa --emulate gfx90a --replace vecadd=vecadd.hipfb ./app
  cushim run --replace vecadd=new.ptx ./app    with another kernel, nothing recorded
  env $(cushim env --backend cpu) ./app        recorded, without the launcher

Exit status: the program's own, since this becomes the program. 125 if cushim itself fails, 126 if the \
program cannot be run, 127 if it is not found.";

impl RunArgs {
    /// Refuses options for CUDA with a program of HIP or HSA.
    fn refuse_cuda(&self) -> Result<(), Error> {
        let given = [
            ("--symbols", !self.backend.symbols.is_empty()),
            ("--fmad", self.backend.fmad.is_some()),
            ("--log", self.log.is_some()),
            ("--replace, --redirect, --dump-images, --tool, --direct", self.redirect.is_any()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((options, _)) => Err(Error::Usage(format!(
                "{options} cannot be used with --emulate alone, which is for a program of AMD's HIP or HSA; \
                 for one of CUDA add --backend hsa"
            ))),
        }
    }
}

/// Runs the command; returns only if that fails.
pub fn run(args: RunArgs) -> Outcome {
    launch::untouched(&args.program.command)?;
    launch::refuse_foreign(&args.program.command[0])?;
    environ::warn_of_unknown();
    if !args.backend.emulate.is_empty() && args.backend.backend.is_none() {
        args.refuse_cuda()?;
        let variables = launch::emulation(args.lib.as_deref(), &args.backend.emulate)?;
        return Err(launch::become_program(&args.program.command, &variables));
    }
    let cuda = args.backend.resolve(args.lib.as_deref(), Backend::Auto)?;
    let mut redirect = Environment::new();
    args.redirect.put(&cuda, &mut redirect)?;
    let mut environment = cuda.environment(Some(&args.program.command[0]));
    environment.extend(redirect);
    // The hooks stay in front and record nothing.
    environment.push(("CUSHIM_EVENTS", "none".into()));
    environment.push((environ::LAUNCHER, launch::run_id().into()));
    environment.extend(args.log.as_ref().map(|log| ("CUSHIM_LOG", log.into())));
    cuda.announce(Some(&args.program.command[0]));
    Err(launch::become_program(&args.program.command, &environment))
}
