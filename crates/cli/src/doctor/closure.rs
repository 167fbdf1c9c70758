//! The libraries that the loader maps for a program before `main`, found without running it.
//!
//! Owns: the search order of ld.so(8): DT_RPATH of the requesting file and of those that requested it,
//! LD_LIBRARY_PATH, DT_RUNPATH, the cache, the system's folders. Must not know: CUDA.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::cache::Cache;
use super::elf::{self, Elf, Kind};
use crate::Error;

/// The most libraries that are read.
const LIBRARIES_MAX: usize = 4096;
const SYSTEM: [&str; 4] =
    ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"];
const SYSTEM_LAST: [&str; 2] = ["/lib", "/usr/lib"];

/// A program and everything that is loaded with it, the program first, breadth first.
#[derive(Clone, Debug, Default)]
pub struct Closure {
    /// The files.
    pub objects: Vec<Elf>,
    /// Names that were not found, each with the file that needs it.
    pub missing: Vec<(String, PathBuf)>,
    /// Files that were found and could not be read.
    pub unreadable: Vec<String>,
}

/// Where libraries are looked for.
#[derive(Clone, Debug)]
pub struct Search {
    cache: Cache,
    library_path: Vec<String>,
    read: fn(&Path) -> Result<Elf, Error>,
}

impl Search {
    /// The search of a program started from here.
    pub fn here() -> Self {
        Search::new(Cache::system(), std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default())
    }

    /// The same, but reads only what the loader needs of each file.
    pub fn for_loading() -> Self {
        Search { read: elf::read_for_loading, ..Search::here() }
    }

    /// With this cache and this LD_LIBRARY_PATH.
    pub fn new(cache: Cache, library_path: OsString) -> Self {
        let text = library_path.to_string_lossy().into_owned();
        let parts = if text.is_empty() { Vec::new() } else { text.split([':', ';']).collect() };
        // An empty part is the current folder.
        let folder = |part: &&str| if part.is_empty() { "." } else { *part }.to_owned();
        Search { cache, library_path: parts.iter().map(folder).collect(), read: elf::read }
    }

    /// The program's closure, with `preloaded` files as if LD_PRELOAD named them.
    pub fn closure(&self, program: Elf, preloaded: &[PathBuf]) -> Closure {
        let mut closure = Closure::default();
        // For each file, the DT_RPATHs that apply to what it needs.
        let mut paths: Vec<Vec<String>> = vec![rpath(&program, &[])];
        let mut seen: HashSet<String> = HashSet::new();
        seen.insert(program.name());
        closure.objects.push(program);
        for path in preloaded {
            match (self.read)(path) {
                Ok(object) => push(&mut closure, &mut paths, &mut seen, object, &[]),
                Err(error) => closure.unreadable.push(error.to_string()),
            }
        }
        let mut at = 0;
        while at < closure.objects.len() && closure.objects.len() < LIBRARIES_MAX {
            let (object, inherited) = (closure.objects[at].clone(), paths[at].clone());
            at += 1;
            for name in &object.needed {
                if !seen.insert(name.clone()) {
                    continue;
                }
                match self.find(name, &object, &inherited) {
                    Ok(Some(found)) => push(&mut closure, &mut paths, &mut seen, found, &inherited),
                    Ok(None) => closure.missing.push((name.clone(), object.path.clone())),
                    Err(error) => closure.unreadable.push(error.to_string()),
                }
            }
        }
        closure
    }

    /// The library that `dlopen(name)` in `object` would find.
    pub fn dlopen(&self, name: &str, object: &Elf) -> Option<Elf> {
        self.find(name, object, &rpath(object, &[])).ok().flatten()
    }

    fn find(&self, name: &str, object: &Elf, rpath: &[String]) -> Result<Option<Elf>, Error> {
        if name.contains('/') {
            let path = PathBuf::from(expand(name, &object.path));
            return if path.exists() { (self.read)(&path).map(Some) } else { Ok(None) };
        }
        let rpath = if object.runpath.is_some() { &[] } else { rpath };
        let runpath = object.runpath.as_deref().unwrap_or_default();
        let runpath = runpath.iter().map(|p| expand(p, &object.path));
        let first = rpath.iter().cloned().chain(self.library_path.iter().cloned()).chain(runpath);
        let cached = self.cache.find(name).cloned();
        let last = SYSTEM.iter().chain(&SYSTEM_LAST).map(|f| Path::new(f).join(name));
        let candidates = first.map(|f| Path::new(&f).join(name)).chain(cached).chain(last);
        let mut failure = None;
        for path in candidates.filter(|p| p.exists()) {
            match (self.read)(&path) {
                // The loader skips libraries for other machines, as we do.
                Ok(found) if found.machine == "x86-64" && found.kind != Kind::Other => {
                    return Ok(Some(found));
                }
                Ok(_) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(None), Err)
    }
}

fn push(
    closure: &mut Closure,
    paths: &mut Vec<Vec<String>>,
    seen: &mut HashSet<String>,
    object: Elf,
    inherited: &[String],
) {
    let loaded = closure.objects.iter().any(|o| same_file(&o.path, &object.path));
    seen.insert(object.name());
    if !loaded {
        paths.push(rpath(&object, inherited));
        closure.objects.push(object);
    }
}

fn same_file(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b)
}

/// DT_RPATH of `object`, then those of the files that led to it.
fn rpath(object: &Elf, inherited: &[String]) -> Vec<String> {
    let own = object.rpath.iter().map(|p| expand(p, &object.path));
    own.chain(inherited.iter().cloned()).collect()
}

/// Fills in `$ORIGIN`, `$LIB` and `$PLATFORM`.
fn expand(text: &str, file: &Path) -> String {
    if !text.contains('$') {
        return text.to_owned();
    }
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let origin = file.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
    let mut text = text.to_owned();
    for (name, value) in
        [("ORIGIN", origin.as_str()), ("LIB", "lib/x86_64-linux-gnu"), ("PLATFORM", "x86_64")]
    {
        text = text.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_filled_in() {
        let file = Path::new("/nowhere/bin/app");
        assert_eq!(expand("$ORIGIN/../lib", file), "/nowhere/bin/../lib");
        assert_eq!(expand("${ORIGIN}", file), "/nowhere/bin");
        assert_eq!(expand("/plain", file), "/plain");
    }

    #[test]
    fn our_own_program_has_libc() {
        let own = elf::read(&std::env::current_exe().unwrap()).unwrap();
        let closure = Search::here().closure(own, &[]);
        assert!(closure.objects.iter().any(|o| o.name() == "libc.so.6"), "{closure:?}");
        assert_eq!(closure.missing, []);
    }
}
