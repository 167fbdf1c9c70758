//! The environment variables `CUSHIM_*`: one for each option of `cushim trace`, by one rule.
//!
//! Owns: the rule (`--some-option` is `CUSHIM_SOME_OPTION`), that `0` and empty mean off, the list of known names.
//! Must not know: what an option means.

use std::ffi::{OsStr, OsString};
use std::sync::Mutex;

use clap::ArgAction;
use clap::builder::FalseyValueParser;

/// The prefix of all of cushim's variables.
pub const PREFIX: &str = "CUSHIM_";
/// Set to anything but 0, empty, `no`, `off` or `false`: the program runs untouched.
pub const DISABLE: &str = "CUSHIM_DISABLE";
/// Set by the launcher for the program: then the other `CUSHIM_*` are the launcher's, not the
/// user's.
pub const LAUNCHER: &str = "CUSHIM_LAUNCHER";

/// How much of the spool's file system all processes together leave free, as the launcher hands it to the library.
pub const SPARE: &str = "CUSHIM_BACKLOG_SPARE";

/// The rules of `--redirect`'s manifest, as the launcher hands them to the library ([`cushim_rules::compiled`]).
pub const RULES: &str = "CUSHIM_RULES";

/// Which classes of calls the library records.
pub const EVENTS: &str = "CUSHIM_EVENTS";

/// `monotonic`: the library does not use the time-stamp counter.
pub const CLOCK: &str = "CUSHIM_CLOCK";

/// NVIDIA's driver library for the backend `driver`, where it is not in the usual places.
pub const LIBCUDA: &str = "CUSHIM_LIBCUDA";

/// NVIDIA's `libcudart_static.a`, which helps to find the functions of stripped static runtimes,
/// where it is not in the usual places.
pub const CUDART_STATIC: &str = "CUSHIM_CUDART_STATIC";

/// The stand-in for ptxas, for an nvcc that the program starts (`crates/audit`, `assembler.rs`). The
/// launcher sets it; the stand-in is started without it.
pub const PTXAS: &str = "CUSHIM_PTXAS";

/// The clang that translates PTX for AMD's GPUs, where it is not in the usual places.
pub const CLANG: &str = "CUSHIM_CLANG";

/// For the backend `cpu`: the number of devices (1 to 16), bytes of memory of each, the threads that run kernels,
/// `interpreter` (nothing is compiled), the processor level that kernels may use, the compute
/// capability.
pub const CPU: [&str; 6] = [
    "CUSHIM_CPU_DEVICES",
    "CUSHIM_CPU_MEMORY",
    "CUSHIM_CPU_THREADS",
    "CUSHIM_CPU",
    "CUSHIM_CPU_LEVEL",
    "CUSHIM_CPU_CAPABILITY",
];

/// For the backend `cpu`: whether compiled kernels are kept between runs, and where. Their `off` is
/// a value for the library, so it is passed on.
pub const CACHE: [&str; 2] = ["CUSHIM_CACHE", "CUSHIM_CACHE_DIR"];

/// For the backend `cpu`: the library of LLVM that compiles kernels, too, and whether launches wait for it. Its `off` is a
/// value for the library, too.
pub const LLVM: [&str; 2] = ["CUSHIM_LLVM", "CUSHIM_LLVM_WAIT"];

/// For the backend `cpu`: whether products and sums are fused. Its `off` is a value for the
/// library, too.
pub const FMAD: &str = "CUSHIM_FMAD";

/// What `cushim check` passes to the program's processes: what to look for, the file for findings,
/// which kernels and launches are reported on.
pub const CHECK: [&str; 6] = [
    "CUSHIM_CHECK",
    "CUSHIM_CHECK_FILE",
    "CUSHIM_CHECK_KERNEL",
    "CUSHIM_CHECK_LAUNCHES",
    "CUSHIM_CHECK_STACKS",
    "CUSHIM_CHECK_ENDS",
];

/// What `cushim profile` passes to the program's processes: the file for counts, which kernels and
/// launches are counted, and the sizes of the model's caches.
pub const PROFILE: [&str; 4] =
    ["CUSHIM_PROFILE", "CUSHIM_PROFILE_KERNEL", "CUSHIM_PROFILE_LAUNCHES", "CUSHIM_PROFILE_CACHES"];

/// For the backend `hsa`: AMD's runtime, and the compiler for translated kernels.
pub const HSA: [&str; 2] = ["CUSHIM_HSA", "CUSHIM_CLANG"];

/// The AMD GPUs in software. The launcher sets it from `--emulate`.
pub const GPUS: &str = "CUSHIM_GPUS";

/// Subcommands whose options can be given in the environment.
const SUBCOMMANDS: [&str; 4] = ["run", "trace", "record", "env"];

/// The variable of the option `long`.
pub fn name(long: &str) -> String {
    format!("{PREFIX}{}", long.to_uppercase().replace('-', "_"))
}

/// Gives every option of `run`, `trace`, `record` and `env` its variable.
pub fn attach(mut command: clap::Command) -> clap::Command {
    for sub in SUBCOMMANDS {
        if command.find_subcommand(sub).is_some() {
            command = command.mut_subcommand(sub, |sub| sub.mut_args(attach_one));
        }
    }
    command
}

fn attach_one(arg: clap::Arg) -> clap::Arg {
    let Some(long) = arg.get_long().map(str::to_owned) else { return arg };
    let is_switch = matches!(arg.get_action(), ArgAction::SetTrue);
    if !is_switch && !matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) {
        return arg;
    }
    let arg = arg.env(name(&long)).hide_env(true);
    if is_switch { arg.value_parser(FalseyValueParser::new()) } else { arg }
}

/// The variables that cushim reads: those of the options, and a few others.
pub fn known(command: &clap::Command) -> Vec<String> {
    let mut names: Vec<String> = SUBCOMMANDS
        .iter()
        .filter_map(|sub| command.find_subcommand(sub))
        .flat_map(clap::Command::get_arguments)
        .filter_map(|arg| arg.get_env()?.to_str().map(str::to_owned))
        .collect();
    names.extend(
        [DISABLE, LAUNCHER, CLOCK, CLANG, LIBCUDA, CUDART_STATIC, PTXAS, RULES, SPARE]
            .map(str::to_owned),
    );
    names.extend(CPU.map(str::to_owned));
    names.extend(CACHE.map(str::to_owned));
    names.extend(LLVM.map(str::to_owned));
    names.extend(CHECK.map(str::to_owned));
    names.extend(PROFILE.map(str::to_owned));
    names.extend(HSA.map(str::to_owned));
    names.push(GPUS.to_owned());
    names.sort();
    names.dedup();
    names
}

/// Removes `CUSHIM_*` variables that are switched off (`0` or empty), so that no option is taken
/// from them; and all of them where an outer launcher set them for the library.
pub fn forget_switched_off(command: &clap::Command) {
    let nested = std::env::var_os(LAUNCHER).is_some();
    for name in known(command) {
        let Some(value) = std::env::var_os(&name) else { continue };
        if [CACHE, LLVM].concat().contains(&name.as_str()) || name == FMAD {
            continue;
        }
        if nested && ![DISABLE, LIBCUDA, CUDART_STATIC].contains(&name.as_str()) || is_off(&value) {
            // SAFETY: called at the start of the program, which has one thread then.
            unsafe { std::env::remove_var(&name) };
            FORGOTTEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((name, value));
        }
    }
}

/// What was removed.
static FORGOTTEN: Mutex<Vec<(String, OsString)>> = Mutex::new(Vec::new());

/// Restores what [`forget_switched_off`] removed: this process is about to call CUDA itself, and
/// its libraries read these variables.
///
/// # Safety
/// The process has one thread.
pub unsafe fn remember() {
    let forgotten =
        std::mem::take(&mut *FORGOTTEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
    for (name, value) in forgotten {
        // SAFETY: as the caller promises.
        unsafe { std::env::set_var(name, value) };
    }
}

/// Whether a value switches its option off.
pub fn is_off(value: &OsStr) -> bool {
    let value = value.to_string_lossy().to_lowercase();
    ["", "0", "no", "off", "false"].contains(&value.as_str())
}

/// Whether [`DISABLE`] is on.
pub fn disabled() -> bool {
    std::env::var_os(DISABLE).is_some_and(|value| !is_off(&value))
}

/// Unknown variables with cushim's prefix, each with the nearest known name.
pub fn unknown(command: &clap::Command) -> Vec<(String, Option<String>)> {
    let known = known(command);
    let mut found: Vec<_> = std::env::vars_os()
        .filter_map(|(name, _): (OsString, _)| name.into_string().ok())
        .filter(|name| name.starts_with(PREFIX) && !known.contains(name))
        .map(|name| (name.clone(), nearest(&name, &known)))
        .collect();
    found.sort();
    found
}

/// Says so on stderr, once for each.
pub fn warn_of_unknown() {
    for (name, near) in unknown(&crate::command()) {
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        crate::complain(&format!("unknown variable {name}{hint}"));
    }
}

/// The candidate that `name` probably means: at most two letters away, and mostly the same letters.
fn nearest(name: &str, candidates: &[String]) -> Option<String> {
    let (distance, best) = candidates.iter().map(|c| (distance(name, c), c)).min()?;
    let own = name.len().saturating_sub(PREFIX.len());
    (distance <= 2 && 3 * distance <= own).then(|| best.clone())
}

/// Levenshtein distance in bytes.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let next = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], next);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_variables() {
        assert_eq!(name("kernel-names"), "CUSHIM_KERNEL_NAMES");
    }

    #[test]
    fn near_names_are_found() {
        let known = ["CUSHIM_OUTPUT".to_owned(), "CUSHIM_EVENTS".to_owned()];
        assert_eq!(nearest("CUSHIM_OUPUT", &known).as_deref(), Some("CUSHIM_OUTPUT"));
        assert_eq!(nearest("CUSHIM_EVENT", &known).as_deref(), Some("CUSHIM_EVENTS"));
        assert_eq!(nearest("CUSHIM_FROBNICATE", &known), None);
        assert_eq!(nearest("CUSHIM_FOO", &known), None);
    }

    #[test]
    fn off_is_off() {
        for off in ["", "0", "No", "off", "FALSE"] {
            assert!(is_off(OsStr::new(off)));
        }
        assert!(!is_off(OsStr::new("1")));
    }
}
