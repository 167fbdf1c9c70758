//! The settings of the preloaded library, from environment variables. Read once per process, on first use.
//!
//! The program `cushim` sets these from its options; `0` and the empty string mean off.
//! Must not know: how events are shown.

use std::ffi::{CStr, CString, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use cushim_abi::{CLASSES, Class};
use cushim_trace::clock;
use cushim_trace::recorder::Backlog;

use crate::window::Wanted;

/// The settings of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// `CUSHIM_DISABLE`, or `CUSHIM_EVENTS` is `none`.
    pub disable: bool,
    /// `CUSHIM_OUTPUT`: the trace file's pattern.
    pub output: Vec<u8>,
    /// `CUSHIM_EVENTS`: classes to record, as bits.
    pub classes: u32,
    /// `CUSHIM_NESTED`: also calls inside recorded calls.
    pub nested: bool,
    /// `CUSHIM_GPU_TIME`: also when the GPU worked.
    pub gpu_time: GpuTime,
    /// `CUSHIM_LIMIT`: bytes that events may take.
    pub limit: u64,
    /// `CUSHIM_LAST`: keep only the latest events, in about this many bytes.
    pub last: Option<u64>,
    /// `CUSHIM_CAPTURE_RANGE`, `_DELAY`, `_DURATION`, `_LAUNCH_SKIP`, `_LAUNCH_COUNT`, `_START`.
    pub window: Wanted,
    /// `CUSHIM_BACKLOG`, `CUSHIM_BACKLOG_SPARE`, `CUSHIM_WHEN_BEHIND`: set where a reader follows the trace as it grows.
    pub backlog: Option<Backlog>,
    /// `CUSHIM_LAUNCHER`: the launcher's run.
    pub run: Option<String>,
}

/// Where times on the GPU come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuTime {
    /// They are not recorded.
    Off,
    /// CUPTI where it can be had, else event pairs.
    Auto,
    /// CUPTI or nothing.
    Cupti,
    /// Event pairs.
    Events,
    /// From the backend that runs the kernels, with its counters.
    Counted,
}

impl GpuTime {
    fn of(value: Option<&[u8]>) -> Self {
        match value.unwrap_or_default() {
            b"cupti" => GpuTime::Cupti,
            b"events" => GpuTime::Events,
            b"counted" => GpuTime::Counted,
            other if is_on(other) => GpuTime::Auto,
            _ => GpuTime::Off,
        }
    }
}

/// The pattern where none is given: into the current folder, named after program and process.
pub const DEFAULT_OUTPUT: &[u8] = b"%e.%p.cushim";
/// The limit where none is given.
pub const DEFAULT_LIMIT: u64 = 1 << 30;

/// The value of an environment variable, as a copy.
pub fn variable(name: &CStr) -> Option<Vec<u8>> {
    // SAFETY: a valid name; the value is copied at once. Like every getenv, it assumes that no
    // other thread changes the environment at this moment.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes().to_vec())
    }
}

/// The value of a variable that is not switched off.
pub fn switched_on(name: &CStr) -> Option<Vec<u8>> {
    variable(name).filter(|value| is_on(value))
}

fn flag(name: &CStr) -> bool {
    variable(name).is_some_and(|v| is_on(&v))
}

fn is_on(value: &[u8]) -> bool {
    !matches!(value, b"" | b"0" | b"off" | b"no" | b"false")
}

/// Whether launches may go straight to the driver (`CUSHIM_DIRECT`).
pub fn direct() -> bool {
    let is = |name, off: &[&[u8]]| variable(name).is_some_and(|v| !off.contains(&&*v));
    is(c"CUSHIM_DIRECT", &[b"", b"0", b"off", b"no", b"false"])
        && !is(c"CUSHIM_BACKEND", &[b"", b"native"])
}

/// Whether anything besides recording is requested: rules, tools, images, launches straight to the driver.
pub fn anything_else() -> bool {
    let names = [c"CUSHIM_REDIRECT", c"CUSHIM_REPLACE", c"CUSHIM_TOOL", c"CUSHIM_DUMP_IMAGES"];
    direct() || names.into_iter().any(|name| variable(name).is_some_and(|v| !v.is_empty()))
}

impl Config {
    /// From the environment.
    pub fn from_environment() -> Self {
        if let Some(log) = variable(c"CUSHIM_LOG") {
            crate::log::configure(&log);
        }
        let output = variable(c"CUSHIM_OUTPUT").filter(|v| is_on(v));
        let nowhere = output.as_deref() == Some(b"/dev/null");
        Config {
            // Nothing is recorded if no event is selected or the output is empty.
            disable: flag(c"CUSHIM_DISABLE")
                || nowhere
                || variable(c"CUSHIM_EVENTS").is_some_and(|v| v == b"none"),
            output: output.unwrap_or_else(|| DEFAULT_OUTPUT.to_vec()),
            classes: classes(variable(c"CUSHIM_EVENTS").as_deref()),
            nested: flag(c"CUSHIM_NESTED"),
            gpu_time: GpuTime::of(variable(c"CUSHIM_GPU_TIME").as_deref()),
            limit: variable(c"CUSHIM_LIMIT").as_deref().and_then(bytes).unwrap_or(DEFAULT_LIMIT),
            last: variable(c"CUSHIM_LAST").as_deref().and_then(bytes).filter(|&last| last > 0),
            window: Wanted {
                profiler_range: flag(c"CUSHIM_CAPTURE_RANGE"),
                delay_ns: variable(c"CUSHIM_DELAY").as_deref().and_then(nanoseconds).unwrap_or(0),
                duration_ns: variable(c"CUSHIM_DURATION").as_deref().and_then(nanoseconds),
                skip: variable(c"CUSHIM_LAUNCH_SKIP").as_deref().and_then(number).unwrap_or(0),
                count: variable(c"CUSHIM_LAUNCH_COUNT").as_deref().and_then(number),
                paused: variable(c"CUSHIM_START").is_some_and(|v| v == b"paused"),
            },
            backlog: variable(c"CUSHIM_BACKLOG").as_deref().and_then(bytes).map(|most| Backlog {
                most,
                wait: variable(c"CUSHIM_WHEN_BEHIND").is_some_and(|v| v == b"wait"),
                spare: variable(c"CUSHIM_BACKLOG_SPARE").as_deref().and_then(bytes).unwrap_or(0),
            }),
            run: variable(c"CUSHIM_LAUNCHER").and_then(|run| String::from_utf8(run).ok()),
        }
    }
}

/// A set of classes from `launch,copy`, `all`, or nothing (the default: launch, graph, copy,
/// region, map). Unknown words are ignored; the launcher has refused them already.
fn classes(value: Option<&[u8]>) -> u32 {
    let default = [Class::launch, Class::graph, Class::copy, Class::region, Class::map];
    let default = default.iter().fold(0, |set, class| set | class.bit());
    let Some(text) = value.and_then(|v| std::str::from_utf8(v).ok()).filter(|v| !v.is_empty())
    else {
        return default;
    };
    text.split(',').map(str::trim).fold(0, |set, word| match word {
        "all" => CLASSES.iter().fold(set, |set, (class, _)| set | class.bit()),
        _ => set | CLASSES.iter().find(|(_, name)| *name == word).map_or(0, |(c, _)| c.bit()),
    })
}

/// Whether the time-stamp counter is used: where it is invariant, and `CUSHIM_CLOCK=monotonic` does not
/// forbid it (a machine whose counters differ between cores although it says otherwise).
pub fn tsc() -> bool {
    clock::has_invariant_tsc() && variable(c"CUSHIM_CLOCK").is_none_or(|v| v != b"monotonic")
}

fn number(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.trim().parse().ok()
}

/// Nanoseconds of a number of seconds such as `2` or `0.5`.
fn nanoseconds(value: &[u8]) -> Option<u64> {
    let seconds: f64 = std::str::from_utf8(value).ok()?.trim().parse().ok()?;
    (0.0..1e9).contains(&seconds).then_some((seconds * 1e9) as u64)
}

/// A number of bytes: `4096`, `64KiB`, `64M`, `1GiB`.
fn bytes(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b')
    {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_shl(shift)
}

/// This process's rank among those of its job, from the variable of its launcher: the innermost one
/// counts, since `srun` may start `mpirun` or `torchrun`, whose processes inherit its variables;
/// other programs may use the name `RANK` too. The program `cushim` has the same rule.
pub fn rank() -> Option<u32> {
    let value = |name: &CStr| std::str::from_utf8(&variable(name)?).ok()?.trim().parse().ok();
    let torchrun = || value(c"WORLD_SIZE").and_then(|_| value(c"RANK"));
    [c"OMPI_COMM_WORLD_RANK", c"PMIX_RANK", c"PMI_RANK"]
        .into_iter()
        .find_map(value)
        .or_else(torchrun)
        .or_else(|| value(c"SLURM_PROCID"))
}

/// Host name.
pub fn host() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is as long as said.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let name = CStr::from_bytes_until_nul(&name).unwrap_or(c"");
    name.to_string_lossy().into_owned()
}

/// The running program's file.
pub fn executable() -> PathBuf {
    std::fs::read_link("/proc/self/exe").unwrap_or_default()
}

/// The path that `pattern` means in this process: `%p` process id, `%h` host, `%r` rank (0 where there
/// is none), `%e` the program's name, `%q{VAR}` a variable's value, `%%` a percent sign. Anything else
/// stays as it is. A slash in a value becomes an underscore: values name files, not folders.
pub fn expand(pattern: &[u8]) -> PathBuf {
    let mut path = Vec::new();
    let mut rest = pattern;
    let put = |value: &[u8], path: &mut Vec<u8>| {
        path.extend(value.iter().map(|&c| if c == b'/' { b'_' } else { c }));
    };
    while let Some((&c, after)) = rest.split_first() {
        rest = after;
        if c != b'%' {
            path.push(c);
            continue;
        }
        let Some((&letter, after)) = rest.split_first() else {
            path.push(b'%');
            break;
        };
        rest = after;
        match letter {
            b'p' => put(std::process::id().to_string().as_bytes(), &mut path),
            b'h' => put(host().as_bytes(), &mut path),
            b'r' => put(rank().unwrap_or(0).to_string().as_bytes(), &mut path),
            b'e' => {
                let exe = executable();
                put(exe.file_name().map_or(b"program", |n| n.as_bytes()), &mut path);
            }
            b'q' if rest.first() == Some(&b'{') => {
                let end = rest.iter().position(|&c| c == b'}').unwrap_or(rest.len());
                let name = rest.get(1..end).and_then(|n| CString::new(n).ok());
                put(&name.and_then(|n| variable(&n)).unwrap_or_default(), &mut path);
                rest = rest.get(end + 1..).unwrap_or(&[]);
            }
            b'%' => path.push(b'%'),
            other => path.extend([b'%', other]),
        }
    }
    PathBuf::from(OsString::from_vec(path))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn patterns_expand() {
        let pid = std::process::id();
        assert_eq!(expand(b"/t/%p.cushim"), PathBuf::from(format!("/t/{pid}.cushim")));
        assert_eq!(expand(b"a%%b%z%"), PathBuf::from("a%b%z%"));
        assert_eq!(expand(b"x%q{CUSHIM_SURELY_UNSET}y%q{"), PathBuf::from("xy"));
        assert!(expand(b"%e-%h-%r").to_string_lossy().ends_with("-0"));
    }

    #[test]
    fn classes_and_sizes() {
        assert_eq!(classes(None), classes(Some(b"launch,graph,copy,region,map")));
        assert_eq!(classes(Some(b"all")), (1 << CLASSES.len()) - 1);
        assert_eq!(classes(Some(b"sync, bogus")), Class::sync.bit());
        let gpu =
            [None, Some(&b"0"[..]), Some(b"1"), Some(b"cupti"), Some(b"events")].map(GpuTime::of);
        let (off, on) = (GpuTime::Off, GpuTime::Auto);
        assert_eq!(gpu, [off, off, on, GpuTime::Cupti, GpuTime::Events]);
        assert_eq!((nanoseconds(b"0.5"), nanoseconds(b"-1")), (Some(500_000_000), None));
        assert_eq!((number(b"7"), number(b"x")), (Some(7), None));
        assert_eq!(bytes(b"64MiB"), Some(64 << 20));
        assert_eq!(bytes(b"1g"), Some(1 << 30));
        assert_eq!((bytes(b"12"), bytes(b"x"), bytes(b"3 parsecs")), (Some(12), None, None));
    }
}
