//! Runs a program on the CPU for a tool that observes its kernels, and returns what its processes reported.
//!
//! Owns everything from the options to the program's end, and output files that must be writable before it starts.
//! Must not know what is reported, or what is written.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use clap::Args;
use cushim_names::Foreign as _;

use super::{
    Backend, BackendArgs, Cuda, Ending, Environment, Fmad, Held, Signals, Told, id::run_id,
};
use crate::{Error, environ};

/// How it is run.
#[derive(Debug, Clone, Args)]
pub struct WatchedArgs {
    /// Symbol file of a stripped program with a static CUDA runtime
    #[arg(long, value_name = "FILE", value_delimiter = ':', help_heading = "Running")]
    pub symbols: Vec<PathBuf>,

    /// Fuse products and sums as NVIDIA's compiler does [default: on]
    #[arg(long, value_name = "WHETHER", help_heading = "Running")]
    pub fmad: Option<Fmad>,

    /// Path of libcushim.so, if it is not beside this program or in ../lib
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pub lib: Option<PathBuf>,
}

/// The program's end, what its processes told, and the error that some of it could not be written.
pub type Watching = (Ending, Vec<u8>, Result<(), Error>);

/// A program to run on the CPU, with its libraries found.
pub struct Watched<'a> {
    command: &'a [OsString],
    cuda: Cuda,
}

impl<'a> Watched<'a> {
    /// The program and its arguments, by `cushim run --backend cpu` with these options.
    ///
    /// # Errors
    /// A file of cushim is missing, or nothing can be preloaded into the program.
    pub fn new(command: &'a [OsString], args: &WatchedArgs) -> Result<Watched<'a>, Error> {
        super::command::untouched(command)?;
        environ::warn_of_unknown();
        let backend = BackendArgs {
            backend: Some(Backend::Cpu),
            symbols: args.symbols.clone(),
            fmad: args.fmad,
            ..BackendArgs::default()
        };
        Ok(Watched { command, cuda: backend.resolve(args.lib.as_deref(), Backend::Cpu)? })
    }

    /// Runs it to its end. `variables` returns further variables for its processes, which write
    /// into the file that it gets; `tool` is in that file's name.
    ///
    /// # Errors
    /// The program cannot be run, or the file cannot be written or read.
    pub fn run(
        self,
        tool: &str,
        variables: impl FnOnce(&Path) -> Environment,
    ) -> Result<Watching, Error> {
        let place = Told::new(tool)?;
        let mut environment = self.cuda.environment(Some(&self.command[0]));
        environment.extend(variables(&place.file));
        // Recorded only where the tool says so.
        if environment.iter().all(|(name, _)| *name != environ::EVENTS) {
            environment.push((environ::EVENTS, "none".into()));
        }
        environment.push((environ::LAUNCHER, run_id().into()));
        let mut signals = Signals::block();
        let held = Held::fork(self.command, &environment, &signals)?;
        let ending = held.release()?.wait(&mut signals, &mut || {});
        signals.release_keyboard();
        let missing = Error::Usage(format!(
            "the report is incomplete: not all could be written into {}; TMPDIR chooses another folder",
            place.file.shown()
        ));
        let complete = if place.is_incomplete() { Err(missing) } else { Ok(()) };
        Ok((ending, place.read()?, complete))
    }
}

/// Makes the file now, so that a failure is known before the program runs.
///
/// # Errors
/// It, or its folder, cannot be made.
pub fn output(path: &Path) -> Result<PathBuf, Error> {
    let path = std::path::absolute(path).map_err(|e| Error::io("find", path, e))?;
    super::make_folder(&path)?;
    File::create(&path).map_err(|e| Error::io("write", &path, e))?;
    Ok(path)
}
