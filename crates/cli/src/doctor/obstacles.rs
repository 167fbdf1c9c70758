//! What keeps calls from reaching the preloaded library, and other interposers.
//!
//! Owns: the rules; each says what was found and what it means. Must not know: how files are read.

use std::path::{Path, PathBuf};

use super::closure::Closure;
use super::cuda::{self, Part};
use super::elf::{Elf, Kind};
use super::obstacle::{Interposer, Obstacle};
use crate::{Error, environ, preload};
use cushim_names::Foreign as _;

/// libc and its parts, which define what others interpose.
const LIBC: [&str; 4] = ["libc.so.6", "libdl.so.2", "ld-linux-x86-64.so.2", "libpthread.so.0"];

/// The name of the obstacle that [`of_lost`] finds.
pub const LOST: &str = "stripped runtime";

fn obstacle(name: &'static str, blocks: bool, why: String) -> Obstacle {
    Obstacle { name, blocks, why }
}

/// The preloaded library is not there.
pub fn no_library(error: &Error) -> Obstacle {
    obstacle("library", true, error.to_string())
}

/// Obstacles in this environment.
pub fn environment() -> Vec<Obstacle> {
    let mut found = Vec::new();
    if environ::disabled() {
        let why = format!("{} is set: cushim lets every program run untouched", environ::DISABLE);
        found.push(obstacle("disabled", true, why));
    }
    if std::env::consts::ARCH != "x86_64" {
        let why = format!("this machine is {}; cushim serves x86-64 only", std::env::consts::ARCH);
        found.push(obstacle("architecture", true, why));
    }
    found
}

/// Obstacles in the program's own file.
pub fn of_file(elf: &Elf) -> Vec<Obstacle> {
    let mut found = of_loading(elf);
    if elf.machine == "x86-64" && !elf.sections && elf.kind != Kind::Static {
        let path = elf.path.shown();
        let why = format!("{path} has no section headers: what CUDA it carries cannot be told");
        found.push(obstacle("headers", false, why));
    }
    found
}

/// As [`of_file`], as far as the loader's part of the file shows it.
pub fn of_loading(elf: &Elf) -> Vec<Obstacle> {
    let path = elf.path.shown();
    let mut found = Vec::new();
    if elf.machine != "x86-64" {
        let why = format!("{path} is for {}; cushim serves x86-64 only", elf.machine);
        found.push(obstacle("architecture", true, why));
        return found;
    }
    match elf.kind {
        Kind::Static => found.push(obstacle(
            "static",
            true,
            format!("{path} is fully static: it has no loader that could preload anything"),
        )),
        Kind::Other => found.push(obstacle(
            "kind",
            true,
            format!("{path} is neither a program nor a shared library"),
        )),
        Kind::Dynamic | Kind::Library => {}
    }
    let loader = Path::new(&elf.interpreter).file_name().unwrap_or_default().to_string_lossy();
    if loader.starts_with("ld-musl") {
        let why = format!("{path} is linked with musl; libcushim.so needs glibc");
        found.push(obstacle("libc", true, why));
    } else if elf.kind == Kind::Dynamic && !Path::new(&elf.interpreter).exists() {
        let why = format!("{path} asks for the loader {}, which is not here", elf.interpreter);
        found.push(obstacle("loader", true, why));
    }
    if elf.kind == Kind::Dynamic && !executable(&elf.path) {
        found.push(obstacle("mode", true, format!("{path} is not executable")));
    }
    found
}

fn executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|m| m.permissions().mode() & 0o111 != 0)
}

/// Obstacles in the program and its libraries together.
pub fn of_closure(closure: &Closure) -> Vec<Obstacle> {
    let mut found = Vec::new();
    let program = closure.objects.first();
    let is_library = program.is_some_and(|p| p.kind == Kind::Library);
    for (name, by) in &closure.missing {
        let by = by.shown();
        // A library may be completed by the program that loads it (its RPATH, what it loaded before).
        let why = match is_library {
            true => format!("{name}, which {by} needs, was not found"),
            false => format!("{name}, which {by} needs, was not found: the program cannot start"),
        };
        found.push(obstacle("missing library", !is_library, why));
    }
    for what in &closure.unreadable {
        found.push(obstacle("unreadable library", false, what.clone()));
    }
    let others = || closure.objects.iter().filter(|o| !is_libc(o));
    for object in others() {
        let path = object.path.shown();
        if let Some(driver) = &object.driver_path {
            let why = format!(
                "{path} opens the driver by an absolute path ({driver}): calls are seen through dlsym, but \
                 not if it is loaded into another namespace"
            );
            found.push(obstacle("absolute path", false, why));
        }
        // NVIDIA's runtime imports it too, for its own tools; that does not count.
        if object.imports.contains("dlmopen") && !cuda::has_runtime(object) {
            let why = format!(
                "{path} may load libraries into another namespace (dlmopen), where nothing is preloaded"
            );
            found.push(obstacle("namespace", false, why));
        }
    }
    if others().any(|o| o.imports.contains("dlopen")) {
        let why = "CUDA calls of libraries that are opened with RTLD_DEEPBIND are not seen; \
                   whether the program opens any cannot be told from its files";
        found.push(obstacle("deepbind", false, why.to_owned()));
    }
    found
}

/// A runtime inside a file without any symbols: it can be seen at the driver, but not replaced.
/// `named`: files with symbols were given.
pub fn of_lost(part: &Part, named: bool) -> Obstacle {
    let file = part.file.shown();
    let what = if named {
        "no file given with --symbols belongs to it".to_owned()
    } else {
        "the backends driver and cpu need them (--symbols FILE)".to_owned()
    };
    let why = format!("{file} links the CUDA runtime statically and has no symbols: {what}");
    obstacle(LOST, false, why)
}

fn is_libc(object: &Elf) -> bool {
    LIBC.contains(&object.name().as_str())
}

/// Other libraries that interpose functions of the system.
pub fn interposers(closure: &Closure, preloaded: &[PathBuf]) -> Vec<Interposer> {
    let mut found = Vec::new();
    let mut add = |file: String, why: &str| found.push(Interposer { file, why: why.to_owned() });
    for object in closure.objects.iter().filter(|o| !is_libc(o)) {
        let file = object.path.shown().to_string();
        let sanitizer = ["asan", "tsan", "msan"]
            .into_iter()
            .find(|s| object.defines.contains(format!("__{s}_init").as_str()));
        let hooks: Vec<&str> = ["dlsym", "dlvsym", "dlopen"]
            .into_iter()
            .filter(|n| object.exports.contains(n))
            .collect();
        if let Some(sanitizer) = sanitizer {
            let name = sanitizer[..1].to_uppercase();
            let which = match name.as_str() {
                "A" => "AddressSanitizer: cushim lets it load after another library (ASAN_OPTIONS)",
                "T" => "ThreadSanitizer: it does not see what cushim does",
                _ => "MemorySanitizer: it does not see what cushim does",
            };
            add(file, which);
        } else if !hooks.is_empty() {
            let hooks = hooks.join(", ");
            add(
                file,
                &format!("defines {hooks}: driver functions that it returns may bypass cushim"),
            );
        } else if preloaded.contains(&object.path) {
            add(file, "also preloaded, before cushim");
        }
        for audit in &object.audit {
            add(audit.clone(), "audit library (DT_AUDIT): it can redirect any symbol");
        }
    }
    let audit = std::env::var("LD_AUDIT").unwrap_or_default();
    let foreign = |file: &&str| !file.is_empty() && !preload::is_ours(Path::new(file));
    for file in audit.split(':').filter(foreign) {
        add(file.to_owned(), "audit library (LD_AUDIT): it can redirect any symbol");
    }
    found
}
