//! `cushim load`: a program whose `main` is device code, as LLVM's GPU loaders run it.
//!
//! Owns: the command's options, and the order of loading, starting, running and ending a program. Must not know: the
//! protocol between device and host (`cushim_rpc`), or the image's format ([`image`]).

mod begin;
mod host;
pub mod image;
mod kernels;
mod user;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use cushim_rpc::{Allow, Shape};

use crate::driver::Driver;
use crate::launch::{Backend, Emulated, Fmad, automatic, emulate_here};
use crate::{Error, Outcome, complain, environ, preload, shape};
use cushim_names::Foreign as _;
use image::{Form, Image};

/// Arguments of `cushim load`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER, override_usage = "cushim load [OPTIONS] [--] IMAGE [ARGS]...")]
pub struct LoadArgs {
    /// The program (PTX, cubin, or code object for an AMD GPU) and its arguments
    #[arg(
        required = true,
        help_heading = "Program",
        trailing_var_arg = true,
        value_name = "IMAGE [ARGS]",
        value_hint = clap::ValueHint::FilePath
    )]
    command: Vec<OsString>,

    /// Threads of a block that run main
    #[arg(long, value_name = "X,Y,Z", value_parser = shape::parse, default_value = "1")]
    threads: [u32; 3],

    /// Blocks that run main
    #[arg(long, value_name = "X,Y,Z", value_parser = shape::parse, default_value = "1")]
    blocks: [u32; 3],

    /// What the program may do beyond its standard streams and memory
    ///
    /// files: open, remove and rename files; system: run commands. A program that does what is not allowed is ended.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    allow: Vec<Allowed>,

    /// A library with host functions and opcodes of your own (docs/load.md)
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    rpc: Vec<PathBuf>,

    /// What the program runs on: native, driver (the same here), cpu or hsa [default: auto]
    #[arg(long, value_name = "BACKEND", default_value = "auto", hide_default_value = true)]
    backend: Backend,

    /// An AMD GPU in software (backend hsa)
    #[arg(long, value_name = "GPU")]
    emulate: Option<Emulated>,

    /// Whether a product and a sum are fused, as NVIDIA's compiler does (backend cpu) [default: on]
    #[arg(long, value_name = "WHETHER")]
    fmad: Option<Fmad>,

    /// The number of the device
    #[arg(long, value_name = "N", default_value_t = 0)]
    device: i32,

    /// Bytes of stack of each thread
    #[arg(long, value_name = "BYTES", default_value_t = 3072)]
    stack: usize,

    /// Path of libcushim.so, if it is not beside this program or in ../lib (backends cpu and hsa)
    #[arg(long, value_name = "FILE")]
    lib: Option<PathBuf>,
}

/// What `--allow` allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Allowed {
    /// Open, remove and rename files
    Files,
    /// Run commands
    System,
}

const AFTER: &str = "\
The program is an image with a kernel _start, which calls main: as LLVM's C library for GPUs makes it, or any other start \
code. _begin and _end, which run constructors and destructors, are run with one thread; where there are none, \
nvptx$device$init and nvptx$device$fini are, or amdgcn.device.init and amdgcn.device.fini. What the program asks of its host comes through __llvm_rpc_client.

Examples:
  cushim load --backend cpu hello.ptx          without a GPU
  cushim load --threads 256 --blocks 8 a.cubin main runs in 2048 threads
  cushim load --allow files copy.ptx from to   it may open files
  cushim load --backend hsa --emulate gfx90a a.co  an AMD GPU in software

Exit status: the program's own. 134 if it aborts, traps, or asks its host for what it must not; 125 if cushim itself \
fails, 127 if the image is not found.";

/// The exit status of a shell for a program that calls abort.
const DIED: u8 = 134;

/// Runs the command.
pub fn run(args: &LoadArgs) -> Outcome {
    let file = Path::new(&args.command[0]);
    let bytes = std::fs::read(file).map_err(|e| Error::start(&args.command[0], e))?;
    let image = Image::read(&bytes).map_err(|found| Error::Foreign {
        path: file.to_owned(),
        found,
        expected: image::EXPECTED,
    })?;
    let environment = begin::environment();
    let library = driver(args, &image)?;
    let shared = Shape::new(cushim_rpc::layout::MOST_PORTS, image.lanes)
        .ok_or_else(|| Error::Usage("a shape of no ports".to_owned()))?;
    let mut driver = Driver::open(&library, args.device)?;
    driver.set_stack(args.stack)?;
    let module = driver.load(bytes)?;
    let driver = driver;
    let client = host::Client::make(&driver, module, shared)?;
    begin::tables(&driver, module, &image)?;
    let users = user::Users::load(&args.rpc, &driver, module)?;
    let allow = Allow {
        files: args.allow.contains(&Allowed::Files),
        system: args.allow.contains(&Allowed::System),
    };
    let server = host::server(&driver, users, allow)?;
    let values = begin::Values::make(&driver, &args.command, &environment)?;
    kernels::Program { driver: &driver, module, image: &image, client }.run(
        server,
        &values,
        args.blocks,
        args.threads,
    )
}

/// The driver library of the backend; sets the variable with the backend's name for it.
fn driver(args: &LoadArgs, image: &Image) -> Result<PathBuf, Error> {
    // SAFETY: nothing has started a thread that reads the environment.
    unsafe { environ::remember() };
    let ours = || preload::find_library(args.lib.as_deref());
    let backend = match args.backend {
        // Nothing else runs it.
        Backend::Auto if image.form == Form::CodeObject => Backend::Hsa,
        Backend::Auto => match ours() {
            Ok(library) => automatic(&library).0,
            Err(_) => Backend::Native,
        },
        named => named,
    };
    if args.emulate.is_some() && backend != Backend::Hsa {
        return Err(Error::Usage("--emulate is for --backend hsa".to_owned()));
    }
    let fit = match (backend, image.form) {
        (Backend::Cpu, Form::Cubin | Form::CodeObject) => {
            Err(", which only a GPU runs: --backend cpu wants PTX")
        }
        (Backend::Hsa, Form::Cubin) => {
            Err(" of an NVIDIA GPU: --backend hsa wants PTX or a code object")
        }
        (Backend::Native | Backend::Driver, Form::CodeObject) => {
            Err(" of an AMD GPU, which --backend hsa runs")
        }
        _ => Ok(()),
    };
    fit.map_err(|why| Error::Usage(format!("{} is machine code{why}", args.command[0].shown())))?;
    if !matches!(backend, Backend::Cpu | Backend::Hsa) {
        return Ok(PathBuf::from("libcuda.so.1"));
    }
    if args.backend == Backend::Auto && backend == Backend::Cpu {
        complain("no libcuda is installed: the program runs on the CPU (--backend cpu)");
    }
    let library = ours()?;
    let front = preload::beside(&library, OWN_DRIVER)?;
    let fmad = args.fmad.map(|fmad| (environ::FMAD, if fmad == Fmad::On { "on" } else { "off" }));
    for (name, value) in [Some(("CUSHIM_BACKEND", backend.word())), fmad].into_iter().flatten() {
        // SAFETY: nothing has started a thread that reads the environment.
        unsafe { std::env::set_var(name, value) };
    }
    if let Some(gpu) = args.emulate {
        emulate_here(&library, gpu)?;
    }
    Ok(front)
}

/// cushim's own libcuda.
const OWN_DRIVER: &str = "libcushim_cuda.so";
