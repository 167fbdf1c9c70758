//! One loaded object: whether it contains a runtime, and where that is redirected to.
//!
//! Owns: the order of the tests, the cheap ones first: most objects of most processes do not matter. Must not know:
//! how memory is written.

use std::borrow::Cow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use cushim_patch::{Error, Exports, Facts, File, Plan, Runtime, debug, node};

use crate::archives::archives;
use crate::map::{Mapping, Object};
use crate::{compilers, say, write};

/// The preloaded library of hooks, by its SONAME.
const SHIM: &[u8] = b"libcushim.so";
/// How the names of this project's files begin; nothing in them is redirected.
const OURS: [&[u8]; 2] = [b"libcushim", b"libvcuda"];

/// Redirects functions of `object`, if it is a compiler or cuBLAS. When all of the program's
/// libraries are mapped, their symbols are bound already: so this happens as soon as the library is
/// mapped.
pub fn opened(object: &Object) {
    let name = object.path().file_name().unwrap_or_default().as_bytes();
    if !compilers::concerned(name) {
        return;
    }
    let Some((_, mapping)) = file_of(object) else { return };
    if let Ok(file) = File::parse(mapping.bytes()) {
        compilers::lead(object, &file);
    }
}

/// Redirects the runtime inside `object`, if there is one.
pub fn redirect(object: &Object) {
    let name = object.path().file_name().unwrap_or_default().as_bytes();
    if OURS.iter().any(|own| name.starts_with(own)) {
        return;
    }
    let Some((path, mapping)) = file_of(object) else { return };
    let Ok(file) = File::parse(mapping.bytes()) else { return };
    if compilers::is_compiler(name) {
        return;
    }
    let facts = file.facts();
    if !facts.may_have_runtime() {
        return;
    }
    // A runtime that cannot be redirected must only reach NVIDIA's driver. There it works as
    // always, with the same contexts, streams and memory as cushim's runtime beside it, as do
    // cuBLAS and others, whose runtimes are stripped.
    let extent = file.extent().unwrap_or_default();
    let refuse = |why: &dyn std::fmt::Display, symbols: bool| {
        if say::over_nvidias_driver() {
            return say::left(&path, object.is_program(), why, symbols);
        }
        say::refused(&path, object.is_program(), why, symbols);
        write::refuse(object, extent);
    };
    let done = match Runtime::find(&file, &facts, &file) {
        Ok(None) => return,
        Ok(Some(runtime)) => lead(object, &path, &file, &runtime),
        Err(Error::NoSymbols) => match elsewhere(&path, &file) {
            Some(other) => with_symbols(object, &path, &file, &facts, &other),
            None => by_archive(object, &path, &file),
        },
        Err(error) => Err(Failure::Plan(error)),
    };
    match done {
        Ok(()) => {}
        Err(failure) => refuse(
            &failure,
            matches!(failure, Failure::Plan(Error::NoSymbols | Error::Unknown { .. })),
        ),
    }
}

/// Why it was not done.
enum Failure {
    /// A reason in the files.
    Plan(Error),
    /// A reason in what memory holds or allows.
    Write(write::Error),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Plan(error) => error.fmt(f),
            Failure::Write(error) => error.fmt(f),
        }
    }
}

/// The object's file and its path; none where it does not match what is loaded (replaced
/// meanwhile).
fn file_of(object: &Object) -> Option<(PathBuf, Mapping)> {
    let is_it = |mapping: &Mapping| {
        let dynamic = File::parse(mapping.bytes()).ok().and_then(|f| f.dynamic_address());
        dynamic.is_some_and(|d| d.wrapping_add(object.base()) == object.dynamic())
    };
    let open = |path: &Path| Mapping::open(path).filter(is_it);
    if !object.path().as_os_str().is_empty() {
        let path = object.path().to_owned();
        return open(&path).map(|mapping| (path, mapping));
    }
    let own = Path::new("/proc/self/exe");
    match open(own) {
        Some(mapping) => Some((std::fs::read_link(own).unwrap_or(own.into()), mapping)),
        None => {
            let path = object.file_by_address()?;
            open(&path).map(|mapping| (path, mapping))
        }
    }
}

/// The file that has the symbols of the stripped `file` at `path`.
fn elsewhere(path: &Path, file: &File<'_>) -> Option<Mapping> {
    let by_convention = debug::places(path.as_os_str().as_bytes(), file).into_iter();
    let by_convention = by_convention.map(|p| PathBuf::from(std::ffi::OsString::from_vec(p)));
    let belongs =
        |mapping: &Mapping| File::parse(mapping.bytes()).is_ok_and(|other| file.belongs(&other));
    say::symbols()
        .into_iter()
        .chain(by_convention)
        .find_map(|place| Mapping::open(&place).filter(belongs))
}

/// Redirects the stripped runtime inside `file` by the first archive that locates all its functions. Over NVIDIA's
/// driver it stays unchanged.
fn by_archive(object: &Object, path: &Path, file: &File<'_>) -> Result<(), Failure> {
    let mut failure = Failure::Plan(Error::NoSymbols);
    if say::over_nvidias_driver() {
        return Err(failure);
    }
    for archive in archives(path) {
        let Some(runtime) = Runtime::of_archive(file, archive.bytes()) else { continue };
        match lead(object, path, file, &runtime) {
            Err(Failure::Plan(why)) => failure = Failure::Plan(why),
            done => return done,
        }
    }
    Err(failure)
}

fn with_symbols(
    object: &Object,
    path: &Path,
    file: &File<'_>,
    facts: &Facts<'_>,
    other: &Mapping,
) -> Result<(), Failure> {
    let other = File::parse(other.bytes()).map_err(Failure::Plan)?;
    match Runtime::find(file, facts, &other).map_err(Failure::Plan)? {
        Some(runtime) => lead(object, path, file, &runtime),
        None => Err(Failure::Plan(Error::NoSymbols)),
    }
}

/// A preloaded library that offers a runtime's functions.
struct Library {
    base: u64,
    mapping: Mapping,
}

/// The libraries that offer functions under `node`: libcushim.so, then the first one of that SONAME, which is
/// the preloaded one.
fn libraries(object: &Object, node: &str) -> Vec<Library> {
    let mut found = Vec::new();
    for loaded in object.all() {
        let Some(mapping) = Mapping::open(loaded.path()) else { continue };
        let soname =
            File::parse(mapping.bytes()).ok().and_then(|f| f.facts().soname.map(Cow::from));
        let soname = soname.map(Cow::into_owned).unwrap_or_default();
        let last = soname == node.as_bytes();
        if last || soname == SHIM {
            found.push(Library { base: loaded.base(), mapping });
        }
        if last {
            return found;
        }
    }
    // Without that one, the hooks have nothing to forward to.
    Vec::new()
}

fn lead(
    object: &Object,
    path: &Path,
    file: &File<'_>,
    runtime: &Runtime<'_>,
) -> Result<(), Failure> {
    let node = node(runtime.major).ok_or(Failure::Plan(Error::Major))?;
    let libraries = libraries(object, node);
    let offers: Vec<(u64, Exports<'_>)> = libraries
        .iter()
        .filter_map(|library| {
            let file = File::parse(library.mapping.bytes()).ok()?;
            Some((library.base, Exports::of(&file, node)?))
        })
        .collect();
    let target = |name: &[u8]| {
        offers.iter().find_map(|(base, exports)| Some(base.wrapping_add(exports.function(name)?)))
    };
    let plan = Plan::new(file, runtime, node, target).map_err(Failure::Plan)?;
    write::apply(object.base(), &plan).map_err(Failure::Write)?;
    // The functions that were not redirected (newer than cushim's) must find no driver either. They lie within what
    // was written; the runtime's span begins earlier, with code that the compiler puts into the program
    // (`__cudaUnregisterBinaryUtil`), which may open a driver.
    write::refuse(object, plan.span);
    say::done(path, plan.patches.len(), runtime.major, node);
    Ok(())
}
