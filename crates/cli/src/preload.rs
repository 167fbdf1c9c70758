//! The preloaded libraries: where they are, and how LD_PRELOAD must name them.
//!
//! Owns: the search for libcushim.so and the files beside it, the loader's syntax for LD_PRELOAD and
//! LD_AUDIT, links for paths that this syntax cannot express. Must not know: options of subcommands.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::doctor::elf::{self, Kind};
use cushim_names::Foreign as _;

/// The library's file name.
pub const LIBRARY: &str = "libcushim.so";
/// The loader's variable for preloaded libraries.
pub const LD_PRELOAD: &str = "LD_PRELOAD";
/// The loader's variable for audit libraries.
pub const LD_AUDIT: &str = "LD_AUDIT";

/// A thin library that stands for one of NVIDIA's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Front {
    /// Its file, beside libcushim.so.
    pub file: &'static str,
    /// Its SONAME, that of the library it replaces.
    pub soname: &'static str,
}

/// The libraries for the backends other than native, in the order of preloading.
pub const FRONTS: [Front; 4] = [
    Front { file: "libcushim_cudart11.so", soname: "libcudart.so.11.0" },
    Front { file: "libcushim_cudart12.so", soname: "libcudart.so.12" },
    Front { file: "libcushim_cudart13.so", soname: "libcudart.so.13" },
    Front { file: DRIVER, soname: "libcuda.so.1" },
];
/// The library that AMD's runtime uses instead of the kernel driver's library.
pub const EMULATION: &str = "libcushim_hsakmt.so";
/// The one of them that stands for the driver.
pub const DRIVER: &str = "libcushim_cuda.so";
/// Makes NVIDIA's compilers inside a program return PTX: for the backend cpu.
pub const COMPILERS: &str = "libcushim_compilers.so";
/// Replaces libnvidia-ml.so.1, which lists devices: for the backend cpu.
pub const NVML: &str = "libcushim_nvml.so";
/// The library that the thin ones jump into.
pub const CORE: &str = "libvcuda.so";
/// The library that redirects statically linked runtimes to them.
pub const AUDIT: &str = "libcushim_audit.so";

/// Finds the library: `given`, else beside this program, else in `../lib` or `../lib64` of it. The
/// answer is absolute.
pub fn find_library(given: Option<&Path>) -> Result<PathBuf, Error> {
    if let Some(given) = given {
        let folder = given.is_dir().then(|| given.join(LIBRARY));
        return usable(folder.as_deref().unwrap_or(given));
    }
    let own = std::env::current_exe().map_err(|e| Error::io("find", Path::new("cushim"), e))?;
    let folder = own.parent().unwrap_or(Path::new("/"));
    let mut places = vec![folder.join(LIBRARY)];
    if let Some(above) = folder.parent() {
        places.extend(["lib", "lib64"].map(|lib| above.join(lib).join(LIBRARY)));
    }
    match places.iter().find(|place| place.exists()) {
        Some(place) => ours(place),
        None => Err(Error::Library(format!(
            "{LIBRARY} is missing: it is neither in {} nor in ../lib of it. `cargo install` installs the program alone: \
             build the libraries (`cargo build --release` in cushim's source) and copy target/release/lib*.so there, or \
             name the file with --lib or CUSHIM_LIB",
            folder.shown()
        ))),
    }
}

/// As [`usable`], for a file with one of cushim's names. Each start of a program calls this seven
/// times: a good file shows in the first bytes, and only a bad one is read further, for the
/// message.
fn ours(path: &Path) -> Result<PathBuf, Error> {
    match elf::is_library_by_header(path) {
        true => std::path::absolute(path).map_err(|e| Error::io("find", path, e)),
        false => usable(path),
    }
}

fn usable(path: &Path) -> Result<PathBuf, Error> {
    let library = elf::read(path).map_err(|e| Error::Library(format!("{LIBRARY}: {e}")))?;
    if library.kind != Kind::Library || library.machine != "x86-64" {
        let found = format!("a file for {} that is not a shared library", library.machine);
        return Err(Error::Foreign {
            path: path.into(),
            found,
            expected: "an x86-64 shared library",
        });
    }
    std::path::absolute(path).map_err(|e| Error::io("find", path, e))
}

/// The file `name` beside `library`; links are followed where it is not beside the link.
pub fn beside(library: &Path, name: &str) -> Result<PathBuf, Error> {
    let place = library.with_file_name(name);
    let found = Some(place.clone()).filter(|place| place.exists()).or_else(|| {
        Some(library.canonicalize().ok()?.with_file_name(name)).filter(|place| place.exists())
    });
    match found {
        Some(found) => ours(&found),
        None => Err(Error::Library(format!(
            "{} is missing: the backends cpu and driver need {CORE} and libcushim_*.so beside {LIBRARY}; copy them from \
             target/release",
            place.shown()
        ))),
    }
}

/// The entries of this environment's LD_PRELOAD; the loader splits at spaces and colons.
pub fn entries() -> Vec<String> {
    let value = std::env::var_os(LD_PRELOAD).unwrap_or_default();
    let value = value.to_string_lossy();
    value.split([' ', ':']).filter(|e| !e.is_empty()).map(str::to_owned).collect()
}

/// Whether an entry of LD_PRELOAD or LD_AUDIT is one of cushim's files.
pub fn is_ours(entry: &Path) -> bool {
    let is = |name: &str| entry.file_name().is_some_and(|file| file == name);
    is(LIBRARY)
        || is(AUDIT)
        || is(COMPILERS)
        || is(NVML)
        || FRONTS.iter().any(|front| is(front.file))
}

/// As [`is_ours`], also for the libraries that cushim's libraries open.
pub fn is_any_of_ours(file: &Path) -> bool {
    is_ours(file)
        || [CORE, EMULATION].iter().any(|name| file.file_name().is_some_and(|f| f == *name))
}

/// The value for LD_PRELOAD: what is there already, then `libraries`. cushim's come last, so that
/// sanitizers stay first, as they must, and others' hooks find cushim's after them.
pub fn value(libraries: &[PathBuf]) -> OsString {
    let twice =
        |entry: &Path| libraries.iter().any(|library| library.file_name() == entry.file_name());
    let others = entries().into_iter();
    let others = others.filter(|entry| !is_ours(Path::new(entry)) && !twice(Path::new(entry)));
    join(others.map(OsString::from).chain(libraries.iter().map(OsString::from)))
}

/// The value for LD_AUDIT: what is there already, then `library`; the loader splits at colons alone.
pub fn audit_value(library: Option<&Path>) -> OsString {
    let now = std::env::var_os(LD_AUDIT).unwrap_or_default();
    let others = std::env::split_paths(&now).filter(|entry| !entry.as_os_str().is_empty());
    let others: Vec<PathBuf> = others.filter(|entry| !is_ours(entry)).collect();
    join(others.into_iter().chain(library.map(Path::to_owned)).map(PathBuf::into_os_string))
}

fn join(words: impl Iterator<Item = OsString>) -> OsString {
    let mut value = OsString::new();
    for word in words {
        if !value.is_empty() {
            value.push(":");
        }
        value.push(word);
    }
    value
}

/// Whether LD_PRELOAD can name `path`: the loader splits at spaces and colons, and fills in `$`; a shell
/// that takes the path from `$(cushim env)` splits at white space and expands `*`, `?` and `[`.
pub fn expressible(path: &Path) -> bool {
    let bad = |b: &u8| b" :$*?[\\'\"".contains(b) || b.is_ascii_control();
    !path.as_os_str().as_bytes().iter().any(bad)
}

/// Paths to `libraries` (all in one folder) that LD_PRELOAD can express: their own, or links in a
/// folder that only this user can write. The links stay, for programs that are started later; the
/// same libraries get the same links, all in one folder, since they look for each other beside
/// themselves.
pub fn reachable(libraries: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    if libraries.iter().all(|library| expressible(library)) {
        return Ok(libraries.to_vec());
    }
    let mut failure = None;
    for folder in link_folders().into_iter().filter(|folder| expressible(folder)) {
        let here = |library: &PathBuf| {
            let name = library.file_name().unwrap_or(LIBRARY.as_ref());
            link(&own_folder(&folder, "", library.parent())?, name, library)
        };
        match libraries.iter().map(here).collect() {
            Ok(paths) => return Ok(paths),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    let first = libraries.first().map(|l| l.shown().to_string()).unwrap_or_default();
    Err(failure
        .unwrap_or_else(|| Error::Library(format!("LD_PRELOAD cannot express the path {first}"))))
}

/// A folder whose name begins with `kind`, with these links, each a name and its target, and nothing else.
///
/// # Errors
/// Neither the user's cache nor /tmp takes a folder that only this user can write.
pub fn links(kind: &str, links: &[(&str, &Path)]) -> Result<PathBuf, Error> {
    let make = |folder: &Path| {
        let folder = own_folder(folder, kind, links)?;
        links
            .iter()
            .try_for_each(|(name, target)| link(&folder, name.as_ref(), target).map(drop))?;
        Ok(folder)
    };
    let mut failure = Error::Library("there is no folder for links".to_owned());
    for folder in link_folders().into_iter().filter(|folder| expressible(folder)) {
        match make(&folder) {
            Ok(folder) => return Ok(folder),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// The user's cache folder comes first: it is often shared by the machines of a cluster.
fn link_folders() -> Vec<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let cache = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|h| h.join(".cache")));
    // SAFETY: cannot fail and touches no memory.
    let user = unsafe { libc::geteuid() };
    let mut folders: Vec<PathBuf> = cache.into_iter().map(|c| c.join("cushim")).collect();
    folders.push(PathBuf::from(format!("/tmp/cushim-{user}")));
    folders
}

/// The folder in `folder` for these links: the same for the same ones.
fn own_folder(folder: &Path, kind: &str, links: impl Hash) -> Result<PathBuf, Error> {
    let mut hasher = DefaultHasher::new();
    links.hash(&mut hasher);
    let dash = if kind.is_empty() { "" } else { "-" };
    private_folder(&private_folder(folder)?.join(format!("{kind}{dash}{:016x}", hasher.finish())))
}

/// Makes the link `name` in `folder`, which is private.
fn link(folder: &Path, name: &OsStr, target: &Path) -> Result<PathBuf, Error> {
    let path = folder.join(name);
    if fs::read_link(&path).is_ok_and(|there| there == target) {
        return Ok(path);
    }
    // Another process may be making the same link: make it under another name and move it into
    // place.
    let aside = folder.join(format!("{}.tmp", std::process::id()));
    let _ = fs::remove_file(&aside);
    std::os::unix::fs::symlink(target, &aside)
        .map_err(|e| Error::io("make the link", &aside, e))?;
    fs::rename(&aside, &path).map_err(|e| Error::io("make the link", &path, e))?;
    Ok(path)
}

/// Makes `path`, or accepts it if it is a folder of this user that no other user can write.
fn private_folder(path: &Path) -> Result<PathBuf, Error> {
    if let Err(error) = DirBuilder::new().mode(0o700).recursive(true).create(path)
        && error.kind() != std::io::ErrorKind::AlreadyExists
    {
        return Err(Error::io("make the folder", path, error));
    }
    let found = fs::symlink_metadata(path).map_err(|e| Error::io("look at", path, e))?;
    // SAFETY: cannot fail and touches no memory.
    let user = unsafe { libc::geteuid() };
    if !found.is_dir() || found.uid() != user || found.mode() & 0o022 != 0 {
        let found = format!("{:o}, owner {}", found.mode(), found.uid());
        let expected = "a folder of this user that nobody else can write";
        return Err(Error::Foreign { path: path.into(), found, expected });
    }
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ld_preload_can_express() {
        assert!(expressible(Path::new("/usr/lib/libcushim.so")));
        for bad in ["/a b/l.so", "/a:b/l.so", "/$ORIGIN/l.so", "/a\tb/l.so", "/a*/l.so"] {
            assert!(!expressible(Path::new(bad)), "{bad}");
        }
    }

    #[test]
    fn a_file_of_ours_is_known_by_its_header_and_told_of_where_it_is_not_well() {
        let dir = tempfile::tempdir().unwrap();
        let (whole, cut, text) = ["a", "b", "c"].map(|name| dir.path().join(name)).into();
        // A position-independent program begins as libraries do.
        let bytes = fs::read(std::env::current_exe().unwrap()).unwrap();
        fs::write(&whole, &bytes).unwrap();
        fs::write(&cut, &bytes[..bytes.len() - 100]).unwrap();
        fs::write(&text, "INPUT(libcushim.so)").unwrap();
        assert_eq!(ours(&whole).unwrap(), whole);
        for bad in [&cut, &text, &dir.path().join("none"), &dir.path().to_owned()] {
            assert!(!elf::is_library_by_header(bad) && ours(bad).is_err(), "{}", bad.shown());
        }
    }

    #[test]
    fn a_link_is_made_once_and_never_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("links");
        let link = |folder: &Path, target: &str| {
            let target = Path::new(target);
            super::link(&own_folder(folder, "", target)?, LIBRARY.as_ref(), target)
        };
        let first = link(&folder, "/a b/libcushim.so").unwrap();
        assert_eq!(fs::read_link(&first).unwrap(), Path::new("/a b/libcushim.so"));
        assert_eq!(link(&folder, "/a b/libcushim.so").unwrap(), first);
        assert_ne!(link(&folder, "/c d/libcushim.so").unwrap(), first);
        let other = dir.path().join("other");
        std::os::unix::fs::symlink(&folder, &other).unwrap();
        assert!(link(&other, "/a b/libcushim.so").is_err());
    }
}
