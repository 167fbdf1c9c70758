//! `cushim profile`: runs a program on the CPU and counts what its kernels do.
//!
//! Owns the options and the exit status. Must not know how anything is counted ([`cushim_profile`]), or how a profile
//! looks ([`text`], [`json`], [`html`]).

mod figures;
mod gather;
mod gpus;
mod html;
mod json;
mod rows;
mod text;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

pub use gather::{Profile, gather};
pub use gpus::Gpu;
pub use json::report as json;
pub use text::report as text;

use crate::check::pattern;
use crate::launch::{self, Environment, Pattern, ProgramArgs, Rank, Watched, WatchedArgs};
use crate::view::Classes;
use crate::{Error, Outcome, environ};

/// Arguments of `cushim profile`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER, override_usage = "cushim profile [OPTIONS] [--] PROG [ARGS]...")]
pub struct ProfileArgs {
    #[command(flatten)]
    program: ProgramArgs,

    /// Occupancy and roofline for this GPU: sm_70, sm_75, sm_80, sm_86, sm_89, sm_90, or H200
    #[arg(long = "for", value_name = "GPU", default_value = "sm_90")]
    gpu: String,

    /// Count only in kernels of this name: NAME or kernel_substring=NAME a part of it, kernel_name=NAME all of it
    #[arg(long, value_name = "NAME")]
    kernel_name: Option<String>,

    /// Count the first N launches of those kernels only
    #[arg(long, value_name = "N")]
    launch_count: Option<u64>,

    /// Do not count the first N launches of those kernels
    #[arg(long, value_name = "N", default_value_t = 0)]
    launch_skip: u64,

    /// Write the profile into FILE instead of stderr
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    log_file: Option<PathBuf>,

    /// Also record the program into FILE, with the counters of each launch: for `cushim export` and `report`
    ///
    /// In FILE, %p is the process id, %e the program's name and so on, as for `cushim record`.
    #[arg(short, long, value_name = "FILE", help_heading = "Report")]
    output: Option<OsString>,

    /// Also write all counters as JSON into FILE
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    json: Option<PathBuf>,

    /// Also write a page with a roofline, hot lines and the source into FILE
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    html: Option<PathBuf>,

    /// Print N lines of the source for each kernel
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Report")]
    lines: usize,

    #[command(flatten)]
    running: WatchedArgs,
}

const AFTER: &str = "\
The program runs as with `cushim run --backend cpu`: no GPU, no rebuild. Compile it with -lineinfo for lines of the source. \
Instructions are those of the PTX. Kernels that are counted are interpreted, on one thread: choose some by --kernel-name and --launch-count.

What is counted, and what a GPU does otherwise: docs/profile.md.

Examples:
  cushim profile ./app
  cushim profile --for sm_80 --html app.html --json app.json ./app
  cushim profile --kernel-name gemm --launch-count 1 ./app
  cushim profile -o app.%p.cushim ./app && cushim export --to perfetto -o app.pftrace app.*.cushim

Exit status: the program's own. 125 if cushim itself fails, 126 if the program cannot be run, 127 if it is not found.";

/// Runs the command, and reports.
pub fn run(args: ProfileArgs) -> Outcome {
    let gpu = Gpu::named(&args.gpu).ok_or_else(|| {
        Error::Usage(format!("--for: unknown GPU '{}'; known: {}", args.gpu, Gpu::names()))
    })?;
    let watched = Watched::new(&args.program.command, &args.running)?;
    let outputs =
        [&args.log_file, &args.json, &args.html].map(|path| path.as_deref().map(launch::output));
    let [log, json, html] = outputs.map(Option::transpose);
    let (log, as_json, as_html) = (log?, json?, html?);
    let trace = args.output.as_deref().map(trace).transpose()?;
    let variables = |file: &Path| {
        let mut set = args.variables(file, &gpu);
        set.extend(trace.unwrap_or_default());
        set
    };
    let (ending, told, complete) = watched.run("profile", variables)?;
    let profile = gather(&told);
    // Nothing was counted, if not even a process could say that it began.
    if profile.processes.is_empty() && complete.is_err() {
        return complete.map(|()| ending.end());
    }
    let text = text::report(&profile, &gpu, args.lines);
    match log {
        Some(path) => write(&path, &text)?,
        // A write error on a closed stderr is ignored.
        None => drop(std::io::stderr().lock().write_all(text.as_bytes())),
    }
    if let Some(path) = as_json {
        write(&path, &json::report(&profile, &gpu))?;
    }
    if let Some(path) = as_html {
        write(&path, &html::report(&profile, &gpu))?;
    }
    complete?;
    Ok(ending.end())
}

/// The variables for processes that are also recorded.
fn trace(given: &OsStr) -> Result<Environment, Error> {
    let rank = Rank::here();
    let pattern = Pattern::new(given, &rank)?;
    launch::refuse_text(pattern.name())?;
    Ok(vec![
        ("CUSHIM_OUTPUT", pattern.for_library(std::env::current_dir, &rank)?),
        (environ::EVENTS, Classes::default().words().into()),
        ("CUSHIM_GPU_TIME", "counted".into()),
    ])
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|e| Error::io("write", path, e))
}

impl ProfileArgs {
    /// The variables for the program's processes.
    fn variables(&self, file: &Path, gpu: &Gpu) -> Environment {
        let count = self.launch_count.map(|count| count.to_string()).unwrap_or_default();
        let caches = format!("{},{}", u64::from(gpu.l1_kib) << 10, u64::from(gpu.l2_mib) << 20);
        let mut set: Environment = vec![
            (environ::PROFILE[0], file.as_os_str().to_owned()),
            (environ::PROFILE[2], format!("{},{count}", self.launch_skip).into()),
            (environ::PROFILE[3], caches.into()),
        ];
        if let Some(name) = &self.kernel_name {
            set.push((environ::PROFILE[1], pattern(name).into()));
        }
        set
    }
}
