//! First use, fork and exit.
//!
//! No initialisation has to run first: each entry point loads one pointer, and the first that finds it null creates
//! the state (`start`), from any thread, even before cushim's own constructor. Starting takes no lock that a caller
//! could hold: it opens and maps a file. A thread that calls while another starts waits for a bounded time; a nested
//! call passes through.
//!
//! Must not know: CUDA functions.

use std::arch::global_asm;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use cushim_trace::clock;
use cushim_trace::control::DONE;
use cushim_trace::layout::{Calibration, Lost};
use cushim_trace::meta::{self, Process};
use cushim_trace::recorder::{Recorder, Settings};

use crate::config::{self, Config, GpuTime};
use crate::lock;
use crate::log::{self, Level};
use crate::state;
pub use crate::state::{Global, current};
use crate::window::Window;

static GENERATION: AtomicU32 = AtomicU32::new(0);
static FIRST: OnceLock<Calibration> = OnceLock::new();

/// Keeps the moment of loading, the first of the two points that give the clock's rate.
pub fn loaded() {
    stay_quiet();
    FIRST.get_or_init(|| clock::calibrate(config::tsc()));
}

/// The state, made on first use. `None` where this call is to pass through.
#[inline(always)]
pub fn global() -> Option<&'static Global> {
    match current() {
        Some(global) => Some(global),
        None => start(),
    }
}

#[cold]
fn start() -> Option<&'static Global> {
    let page = lock::page()?;
    // SAFETY: it is looked at, and let go of.
    if unsafe { crate::thread::current_if_any() }.is_some_and(|t| t.busy) {
        return None;
    }
    if !lock::acquire(&page.starting) {
        return current();
    }
    if current().is_none() {
        // SAFETY: errno is this thread's; the program may be about to read it.
        let errno = unsafe { *libc::__errno_location() };
        stay_quiet();
        let global = std::panic::catch_unwind(make).unwrap_or_else(|_| off());
        state::publish(page, global);
        // SAFETY: errno is this thread's.
        unsafe { *libc::__errno_location() = errno };
    }
    page.starting.store(0, Ordering::Release);
    current()
}

global_asm!(
    ".pushsection .bss.cushim_off,\"aw\",@nobits",
    ".globl cushim_off",
    ".hidden cushim_off",
    ".type cushim_off,@object",
    ".size cushim_off,1",
    "cushim_off: .zero 1",
    ".popsection",
);

/// This process, and its children by fork, are to be left alone (`CUSHIM_DISABLE`): exported functions
/// go straight to the real ones, see `src/runtime.rs`.
fn set_off() {
    unsafe extern "C" {
        static cushim_off: AtomicU8;
    }
    // SAFETY: the byte above.
    unsafe { cushim_off.store(1, Ordering::Release) };
}

fn off() -> Global {
    let window = Window::default();
    Global {
        recorder: None,
        classes: 0,
        nested: false,
        gpu_time: false,
        gpu_time_by: GpuTime::Off,
        window,
        generation: 0,
    }
}

/// Internal errors of this library are only reported on request: stderr belongs to the program.
#[cfg(not(test))]
fn stay_quiet() {
    std::panic::set_hook(Box::new(|panic| {
        log::line(Level::Warn, format_args!("internal error in cushim: {panic}"));
    }));
}

#[cfg(test)]
fn stay_quiet() {}

fn make() -> Global {
    let config = Config::from_environment();
    if config.disable {
        if !config::anything_else() {
            set_off();
        }
        return off();
    }
    let recorder = match create(&config) {
        Ok(recorder) => recorder,
        Err(error) => {
            let level = if is_left_behind(&config, &error) { Level::Info } else { Level::Error };
            log::line(level, format_args!("not tracing this process: {error}"));
            return off();
        }
    };
    log::line(Level::Info, format_args!("tracing into {}", recorder.path().display()));
    if let Some(run) = &config.run {
        recorder.write_meta(&meta::encode_run(run));
    }
    let begin =
        FIRST.get().map_or_else(|| clock::clock_ns(libc::CLOCK_MONOTONIC), |c| c.monotonic_ns);
    Global {
        recorder: Some(recorder),
        window: Window::new(config.window, begin),
        classes: config.classes,
        nested: config.nested,
        gpu_time: config.gpu_time != GpuTime::Off,
        gpu_time_by: config.gpu_time,
        generation: GENERATION.fetch_add(1, Ordering::Relaxed) + 1,
    }
}

/// Whether the launcher that would read the trace is gone, with its folder: this process has outlived its run. If the
/// launcher exists, only the folder is hidden from this process, and a message says so.
fn is_left_behind(config: &Config, error: &cushim_trace::Error) -> bool {
    let cushim_trace::Error::Io { source, .. } = error else { return false };
    config.backlog.is_some()
        && source.kind() == std::io::ErrorKind::NotFound
        && !config.run.as_deref().is_some_and(runs)
}

/// Whether the launcher of this run is a process that still takes in traces. The run is named HOST-PID-TIME
/// (`crates/cli/src/launch/id.rs`).
fn runs(run: &str) -> bool {
    let process = run.rsplit('-').nth(1).unwrap_or_default();
    // Opened, as the trace's file is: a sandbox may end a process that makes other calls.
    let name = std::fs::read(format!("/proc/{process}/comm"));
    !process.is_empty() && name.is_ok_and(|name| name.trim_ascii_end() != DONE.as_bytes())
}

/// Creates the trace file. Two processes never share one: a name that is taken gets `.1`, `.2` … before
/// its extension.
fn create(config: &Config) -> Result<Recorder, cushim_trace::Error> {
    let process = process();
    let path = config::expand(&config.output);
    let settings = Settings {
        limit: config.limit,
        keep: config.last,
        tsc: config::tsc(),
        first: FIRST.get().copied(),
        control: config.window.control(),
        backlog: config.backlog,
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // Where a launcher reads along, its folder goes when it does: nobody would read, or remove, a new one.
    if let Some(folder) = folder.filter(|_| config.backlog.is_none()) {
        // Where the folder cannot be made, creating the file fails.
        let _ = std::fs::create_dir_all(folder);
    }
    let mut tries = 0;
    loop {
        let candidate = numbered(&path, tries);
        match Recorder::open(&candidate, &settings, &process) {
            Err(cushim_trace::Error::Io { source, .. })
                if source.kind() == std::io::ErrorKind::AlreadyExists && tries < 10_000 =>
            {
                tries += 1;
            }
            other => return other,
        }
    }
}

fn numbered(path: &std::path::Path, number: u32) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map(|e| format!(".{}", e.to_string_lossy()));
    path.with_file_name(format!("{stem}.{number}{}", extension.unwrap_or_default()))
}

fn process() -> Process {
    let argv = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let argv = argv.strip_suffix(b"\0").unwrap_or(&argv);
    Process {
        pid: std::process::id(),
        ppid: std::os::unix::process::parent_id(),
        exe: config::executable().to_string_lossy().into_owned(),
        argv: argv.split(|&c| c == 0).map(|a| String::from_utf8_lossy(a).into_owned()).collect(),
        host: config::host(),
        rank: config::rank(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Counts an event that could not be recorded at all.
#[cold]
pub fn lose(why: Lost) {
    if let Some(recorder) = current().and_then(|g| g.recorder.as_ref()) {
        recorder.lose(why);
    }
}

/// The process ends through `exit`: says so in the file. Entry points go on working.
pub fn unloaded() {
    if let Some(recorder) = current().and_then(|g| g.recorder.as_ref()) {
        recorder.close();
    }
}
