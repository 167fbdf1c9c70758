//! Runs a program with the library preloaded: the common part of `trace`, `record` and `env`.
//!
//! Owns: the recording options and the variables that pass them to the library, starting the program and exiting as
//! it did. Must not know: what is done with the recording.

mod backend;
mod child;
mod command;
mod emulate;
mod id;
mod loading;
mod names;
mod pattern;
mod ranks;
mod redirect;
mod signals;
mod size;
mod slots;
mod told;
mod watched;
mod why;
mod window;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::view::Classes;
use crate::{Error, complain, zst};
use cushim_names::Foreign as _;

pub use backend::{Backend, BackendArgs, Cuda, Fmad, automatic, missing, symbols};
pub use child::{Child, Ending, Held, become_program};
pub use command::{ProgramArgs, refuse_foreign, untouched};
pub use emulate::{Emulated, emulate_here, environment as emulation};
pub use id::run_id;
pub use names::{Environment, insert};
pub use pattern::{Names, Pattern, escape, host};
pub use ranks::Rank;
pub use redirect::RedirectArgs;
pub use signals::{Signals, outlive_limits, pass_on};
pub use size::parse as size;
pub use told::Told;
pub use watched::{Watched, WatchedArgs, output};
pub use why::explain;
pub use window::WindowArgs;

/// How it is recorded, for `trace`, `record` and `env` alike.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Recording")]
pub struct RecordArgs {
    /// Stop recording a process when its trace has this size, such as 512MiB or 4G [default: 1TiB for
    /// trace, which gives room back while it reads; else 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub limit: Option<u64>,

    /// Also record when the GPU worked on what: kernels, copies, sets, also of graphs
    ///
    /// By CUPTI, NVIDIA's library for profilers, which the driver loads with the program. A launch takes
    /// about a microsecond longer, and no other profiler can run beside it. Without CUPTI, or where another
    /// tool has its place, by a pair of events around each launch (`events`): a launch takes some
    /// microseconds longer, kernels of one stream cannot overlap, and copies, sets, graphs and captured
    /// launches have no GPU times. The summary tells the measured cost.
    #[arg(
        long,
        value_name = "HOW",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto"
    )]
    pub gpu_time: Option<GpuTime>,

    /// When it is recorded.
    #[command(flatten)]
    pub window: WindowArgs,

    /// Which CUDA the program gets.
    #[command(flatten)]
    pub backend: BackendArgs,

    /// Log level of the preloaded library: off, error, warn or info; to FILE or stderr
    #[arg(long, value_name = "LEVEL[,FILE]", value_parser = log)]
    pub log: Option<String>,

    /// Path of libcushim.so, if it is not beside this program or in ../lib
    #[arg(long, value_name = "FILE")]
    pub lib: Option<PathBuf>,

    /// Other device code.
    #[command(flatten)]
    pub redirect: RedirectArgs,
}

/// Where times on the GPU come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum GpuTime {
    /// CUPTI, else event pairs
    Auto,
    /// CUPTI or nothing
    Cupti,
    /// Event pairs around launches
    Events,
}

impl GpuTime {
    fn put(self, set: &mut Environment, shim: &Path) -> Result<(), Error> {
        let events = || ("CUSHIM_GPU_TIME", "events".into());
        let (slot, claim) = (slots::CUDA, slots::claim(slots::CUDA, shim, "--gpu-time"));
        match (self, claim) {
            (GpuTime::Events, _) => set.push(events()),
            (how, Ok(library)) => {
                let word = if how == GpuTime::Auto { "auto" } else { "cupti" };
                set.extend([("CUSHIM_GPU_TIME", word.into()), (slot, library)]);
            }
            (GpuTime::Auto, Err(why)) => {
                complain(&format!("{why}: launches are timed by event pairs"));
                set.push(events());
            }
            (_, Err(why)) => return Err(why),
        }
        Ok(())
    }
}

/// Keeping only the latest events, for `record` and `env`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Recording")]
pub struct LastArgs {
    /// Keep only the latest events of each process, in about this size, such as 64MiB
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub last: Option<u64>,
}

impl RecordArgs {
    /// The variables that preload the libraries of `cuda` and tell them what to record, and into which files.
    pub fn environment(
        &self,
        cuda: &Cuda,
        output: OsString,
        classes: &Classes,
        nested: bool,
        program: Option<&OsStr>,
    ) -> Result<Environment, Error> {
        let mut set = cuda.environment(program);
        set.push(("CUSHIM_OUTPUT", output));
        set.push(("CUSHIM_EVENTS", classes.words().into()));
        if nested {
            set.push(("CUSHIM_NESTED", "1".into()));
        }
        if let Some(limit) = self.limit {
            set.push(("CUSHIM_LIMIT", limit.to_string().into()));
        }
        if let Some(how) = self.gpu_time {
            how.put(&mut set, cuda.shim())?;
        }
        if classes.contains("nvtx") {
            match slots::claim(slots::NVTX, cuda.shim(), "--events nvtx") {
                Ok(value) => set.push((slots::NVTX, value)),
                // `all` takes the classes that are available.
                Err(error) if classes.is_all() => complain(&error.to_string()),
                Err(error) => return Err(error),
            }
        }
        self.window.put(&mut set);
        if let Some(log) = &self.log {
            set.push(("CUSHIM_LOG", log.into()));
        }
        self.redirect.put(cuda, &mut set)?;
        Ok(set)
    }
}

impl LastArgs {
    /// Adds its variable.
    pub fn put(&self, set: &mut Environment) {
        if let Some(last) = self.last {
            set.push(("CUSHIM_LAST", last.to_string().into()));
        }
    }
}

/// Checks `--log`.
pub fn log(text: &str) -> Result<String, String> {
    let level = text.split(',').next().unwrap_or_default();
    match ["off", "error", "warn", "info"].contains(&level) {
        true => Ok(text.to_owned()),
        false => Err(format!("{level:?} is not a level; expected off, error, warn or info")),
    }
}

/// Makes the folder of `path`, where it is missing.
pub fn make_folder(path: &Path) -> Result<(), Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or(Ok(()), |folder| {
        std::fs::create_dir_all(folder).map_err(|e| Error::io("make the folder", folder, e))
    })
}

/// Refuses a name with a text format's ending: a recording is neither text nor JSON lines.
pub fn refuse_text(path: &Path) -> Result<(), Error> {
    let plain = zst::plain(path);
    let ending = plain.extension().and_then(OsStr::to_str).unwrap_or_default();
    let text = ["txt", "text", "log", "out", "jsonl", "ndjson", "json", "csv"];
    if path.as_os_str().is_empty() || text.contains(&ending) {
        return Err(Error::Usage(format!(
            "--output {}: this writes a recording (such as run.%p.cushim); make text or JSON lines of it \
             with `cushim report FILE`, or use `cushim trace -o {}`",
            path.shown(),
            path.shown()
        )));
    }
    Ok(())
}
