//! `--emulate`: makes AMD's runtime find GPUs in software, for backend hsa or a program that uses HIP or HSA itself.
//!
//! Owns: the list of GPUs, and the library that takes the kernel driver's place below AMD's own runtime. Must not
//! know: what the library does. The library is preloaded: when AMD's runtime asks for libhsakmt.so.1, the loader
//! finds the preloaded library by that SONAME.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::names::Environment;
use crate::Error;
use crate::environ;
use crate::preload::{self, EMULATION, LD_PRELOAD};

/// A GPU in software.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Emulated {
    /// AMD Instinct MI200 (CDNA 2)
    Gfx90a,
    /// AMD Radeon RX 6800 (RDNA 2)
    Gfx1030,
}

/// The variable with the list of GPUs for the library.
pub fn gpus(wanted: &[Emulated]) -> (&'static str, OsString) {
    let named = |gpu: &Emulated| match gpu {
        Emulated::Gfx90a => "gfx90a",
        Emulated::Gfx1030 => "gfx1030",
    };
    (environ::GPUS, wanted.iter().map(named).collect::<Vec<_>>().join(",").into())
}

/// The library, found beside libcushim.so, which is `library` or in its usual places.
pub fn found(library: &Path) -> Result<PathBuf, Error> {
    preload::beside(library, EMULATION)
        .map_err(|error| Error::Library(format!("--emulate: {error}")))
}

/// The variables that preload the library, with what is there already, and name its GPUs. Errors:
/// it is not beside libcushim.so, which is `library` or in its usual places.
pub fn environment(library: Option<&Path>, wanted: &[Emulated]) -> Result<Environment, Error> {
    let library = preload::find_library(library)?;
    let paths = preload::reachable(&[found(&library)?])?;
    let mut value = OsString::new();
    let others = preload::entries().into_iter().map(PathBuf::from);
    let others = others.filter(|entry| entry.file_name().is_none_or(|file| file != EMULATION));
    for path in others.chain(paths) {
        if !value.is_empty() {
            value.push(":");
        }
        value.push(path);
    }
    Ok(vec![(LD_PRELOAD, value), gpus(wanted)])
}

/// Loads the library with this GPU into this process, before AMD's runtime: for the commands that
/// launch kernels themselves. No other thread may run yet.
///
/// # Errors
/// It is not beside libcushim.so, `library`, or cannot be loaded.
pub fn emulate_here(library: &Path, gpu: Emulated) -> Result<(), Error> {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    let file = found(library)?;
    let (name, value) = gpus(&[gpu]);
    // SAFETY: the commands that launch kernels call this before they start a thread.
    unsafe { std::env::set_var(name, value) };
    // SAFETY: a library of this project, whose constructors have no side effects on others.
    let loaded = unsafe { Library::open(Some(&file), RTLD_NOW | RTLD_GLOBAL) };
    let loaded = loaded.map_err(|error| Error::Library(format!("--emulate: {error}")))?;
    // AMD's runtime uses it to the end of the process.
    std::mem::forget(loaded);
    Ok(())
}
