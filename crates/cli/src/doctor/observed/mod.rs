//! `cushim doctor -- PROG`: runs a program, and reports for each library that it loaded what works on which backend.
//!
//! Owns: the run, and its findings. Must not know: how they are shown.

mod library;
pub mod told;

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

use rayon::prelude::*;
use serde::Serialize;

use super::verdict::Verdict;
use crate::launch::{Backend, BackendArgs, Cuda, Ending, Held, Signals, Told};
use crate::{Error, environ, launch, preload, progress};

pub use library::Library;

/// The audit library writes what is loaded to the file of this name.
const OBSERVE: &str = "CUSHIM_OBSERVE";
/// How names of CUDA's libraries begin: other missing names are not listed.
const CUDA_NAMES: [&str; 12] = [
    "libcublas",
    "libcuda",
    "libcudnn",
    "libcufft",
    "libcupti",
    "libcurand",
    "libcusolver",
    "libcusparse",
    "libcutensor",
    "libnccl",
    "libnpp",
    "libnv",
];

/// An observed run.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The backend that it ran with.
    pub backend: &'static str,
    /// Its exit status; null where a signal ended it.
    pub status: Option<u8>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Processes that were seen.
    pub processes: usize,
    /// Files that the loader mapped in them.
    pub files: usize,
    /// Those that have to do with CUDA.
    pub libraries: Vec<Library>,
    /// Libraries of CUDA that were requested and not found.
    pub missing: Vec<String>,
    /// Why not all that the program loaded is known; null where all is.
    pub incomplete: Option<String>,
}

impl Run {
    /// The verdict on a library for the backend of the run.
    pub fn here(&self, library: &Library) -> Verdict {
        match self.backend {
            "driver" => library.driver,
            "cpu" => library.cpu,
            "hsa" => library.hsa,
            _ => library.native,
        }
    }

    /// The error, where not all that the program loaded is known.
    pub fn complete(&self) -> Result<(), Error> {
        match &self.incomplete {
            None => Ok(()),
            Some(why) => Err(Error::Usage(format!("the report is incomplete: {why}"))),
        }
    }

    /// Every library works on the backend of the run.
    pub fn all_well(&self) -> bool {
        self.libraries.iter().all(|library| self.here(library) == Verdict::Yes)
    }
}

/// Runs `command` and looks at what it loads. Its standard output goes to cushim's standard error, so that standard
/// output has only the report.
pub fn run(
    command: &[OsString],
    backend: BackendArgs,
    library: Option<&std::path::Path>,
) -> Result<Run, Error> {
    if environ::disabled() {
        let why = format!("{} is set: nothing can be observed", environ::DISABLE);
        return Err(Error::Usage(why));
    }
    launch::refuse_foreign(&command[0])?;
    let symbols = backend.symbols.clone();
    let cuda = backend.resolve(library, Backend::Auto)?.observed()?;
    let told = Told::new("doctor")?;
    told.write(&told::BEGIN)?;
    let ending = started(command, &cuda, &told)?;
    let loaded = told::read(&told.read()?);
    let files: Vec<&PathBuf> =
        loaded.files.iter().filter(|file| !preload::is_any_of_ours(file)).collect();
    progress::note(&format!("looking at {} files", files.len()));
    let looked = files.par_iter().filter_map(|file| library::look(file, &symbols));
    let incomplete = loaded.missed.map(|error| {
        let error = Error::io("write all into", &told.file, io::Error::from_raw_os_error(error));
        format!("{error}; TMPDIR chooses another folder")
    });
    let mut run = Run {
        incomplete,
        command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        backend: cuda.backend.word(),
        status: None,
        signal: None,
        processes: loaded.processes.len(),
        files: files.len(),
        libraries: looked.collect(),
        missing: loaded.missing.into_iter().filter(|name| is_cuda(name)).collect(),
    };
    match ending {
        Ending::Status(status) => run.status = Some(status),
        Ending::Signal(signal) => run.signal = Some(signal),
    }
    let order = |library: &Library| match run.here(library) {
        Verdict::No => 0,
        Verdict::Partly => 1,
        Verdict::Yes => 2,
    };
    let mut libraries = run.libraries.clone();
    libraries.sort_by_key(|library| (order(library), library.file.file_name().map(OsString::from)));
    run.libraries = libraries;
    Ok(run)
}

fn is_cuda(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    CUDA_NAMES.iter().any(|begin| file.starts_with(begin))
}

fn started(command: &[OsString], cuda: &Cuda, told: &Told) -> Result<Ending, Error> {
    let mut environment = cuda.environment(Some(&command[0]));
    environment.push((OBSERVE, told.file.as_os_str().to_owned()));
    environment.push(("CUSHIM_EVENTS", "none".into()));
    environment.push((environ::LAUNCHER, launch::run_id().into()));
    cuda.announce(Some(&command[0]));
    let mut signals = Signals::block();
    let held = with_stdout_at_stderr(|| Held::fork(command, &environment, &signals))?;
    let ending = held.release()?.wait(&mut signals, &mut || {});
    signals.release_keyboard();
    Ok(ending)
}

/// Runs `act` while standard output is standard error, for what a child inherits.
fn with_stdout_at_stderr<T>(act: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let (out, err) = (std::io::stdout().as_raw_fd(), std::io::stderr().as_raw_fd());
    // SAFETY: copies a descriptor; nothing else uses the copy.
    let saved = unsafe {
        let copy = libc::fcntl(out, libc::F_DUPFD_CLOEXEC, 3);
        (copy >= 0).then(|| OwnedFd::from_raw_fd(copy))
    };
    // It was closed when we started, and stays closed for the program.
    let Some(saved) = saved else { return act() };
    // SAFETY: descriptors of this process, which has one thread here and writes nothing meanwhile.
    unsafe { libc::dup2(err, out) };
    let done = act();
    // SAFETY: descriptors of this process, which has one thread here; standard output is restored.
    unsafe { libc::dup2(saved.as_raw_fd(), out) };
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cuda() {
        for name in ["libcudnn.so.9", "/x/libcublas.so.12", "libnvrtc.so.13", "libcuda.so.1"] {
            assert!(is_cuda(name), "{name}");
        }
        for name in ["libc.so.6", "libcurl.so.4", "libm.so.6", "/libcuda/libx.so"] {
            assert!(!is_cuda(name), "{name}");
        }
    }
}
