//! Facts about this machine: the driver library, the GPUs, the loader's own settings.
//!
//! Owns: reading files, and asking libcuda in a separate process (loading it starts threads and opens devices, which
//! the asking program should not do). Must not know: any traced program.

use std::ffi::{CStr, CString, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::cache::Cache;
use crate::environ;

/// First argument of the process that loads libcuda for cushim.
pub const PROBE: &str = "__probe-driver";

/// How long libcuda may take to answer; a first `cuInit` of eight GPUs takes some seconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// Folders where libcuda may be without an entry in the loader's cache (WSL, containers).
const FOLDERS: [&str; 6] = [
    "/usr/lib/wsl/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/local/nvidia/lib64",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/cuda/compat",
];

/// The machine.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Machine {
    /// The machine's architecture, as uname has it.
    pub architecture: String,
    /// libcuda.so.1 as the loader would find it.
    pub driver: Option<Driver>,
    /// Names of the GPUs, from the kernel module or the driver library.
    pub gpus: Vec<String>,
    /// Device files that are there.
    pub devices: Vec<String>,
    /// The kernel module's version text, empty where it is not loaded.
    pub kernel_module: String,
    /// CUDA_VISIBLE_DEVICES, where it is set.
    pub visible_devices: Option<String>,
}

/// The driver library.
#[derive(Clone, Debug, Serialize)]
pub struct Driver {
    /// Its path.
    pub path: PathBuf,
    /// Its version by file name, such as 580.159.
    pub version: Option<String>,
    /// The newest CUDA version that it reports, such as 13.0.
    pub cuda: Option<String>,
    /// What `cuInit` returned.
    pub init: Option<i32>,
    /// How many devices it has.
    pub count: Option<i32>,
    /// Why it could not be asked.
    pub failure: Option<String>,
}

/// The driver library that a program started from here would find, if any, whether it works or not;
/// a dangling link counts too.
pub fn libcuda() -> Option<PathBuf> {
    let given = std::env::var_os(environ::LIBCUDA).filter(|given| !given.is_empty());
    let library_path = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let listed = library_path.split([':', ';']).filter(|f| !f.is_empty());
    let listed = listed.map(|folder| Path::new(folder).join("libcuda.so.1"));
    let mut files = given.map(PathBuf::from).into_iter().collect::<Vec<_>>();
    files.extend(listed);
    files.extend(Cache::system().find("libcuda.so.1").cloned());
    files.extend(FOLDERS.iter().map(|folder| Path::new(folder).join("libcuda.so.1")));
    let whole = files.iter().find(|path| path.exists());
    whole.or_else(|| files.iter().find(|path| path.is_symlink())).cloned()
}

/// Examines this machine.
pub fn look() -> Machine {
    let driver = libcuda().map(ask);
    let mut gpus = gpus();
    if let (true, Some(count)) = (gpus.is_empty(), driver.as_ref().and_then(|d| d.count)) {
        gpus = (0..count).map(|n| format!("GPU {n}")).collect();
    }
    Machine {
        architecture: std::env::consts::ARCH.replace('_', "-"),
        driver,
        gpus,
        devices: devices(),
        kernel_module: module(),
        visible_devices: std::env::var("CUDA_VISIBLE_DEVICES").ok(),
    }
}

fn gpus() -> Vec<String> {
    let folders = fs::read_dir("/proc/driver/nvidia/gpus").into_iter().flatten().flatten();
    let model = |text: String| {
        let line = text.lines().find_map(|l| l.strip_prefix("Model:"))?;
        Some(line.trim().to_owned())
    };
    folders
        .filter_map(|f| fs::read_to_string(f.path().join("information")).ok().and_then(model))
        .collect()
}

fn devices() -> Vec<String> {
    let listed = fs::read_dir("/dev").into_iter().flatten().flatten();
    let mut names: Vec<String> = listed
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with("nvidia") || name == "dxg")
        .map(|name| format!("/dev/{name}"))
        .collect();
    names.sort();
    names
}

fn module() -> String {
    let text = fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    text.lines().next().and_then(|l| l.split_once(':')).map_or("", |l| l.1).trim().to_owned()
}

/// Asks the library at `path` in a separate process.
fn ask(path: PathBuf) -> Driver {
    let file = path.canonicalize().unwrap_or_else(|_| path.clone());
    let file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let version = file.strip_prefix("libcuda.so.").filter(|v| v.contains('.')).map(str::to_owned);
    let mut driver = Driver { path, version, cuda: None, init: None, count: None, failure: None };
    match probe_elsewhere(&driver.path, &[]) {
        Ok((text, _)) => {
            for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
                match (name, value.parse::<i32>()) {
                    ("version", Ok(v)) => {
                        driver.cuda = Some(format!("{}.{}", v / 1000, v % 1000 / 10))
                    }
                    ("init", Ok(v)) => driver.init = Some(v),
                    ("count", Ok(v)) => driver.count = Some(v),
                    ("failure", _) => driver.failure = Some(value.to_owned()),
                    _ => {}
                }
            }
        }
        Err(failure) => driver.failure = Some(failure),
    }
    driver
}

/// What a driver library at `path` reports, and its output on standard error; `environment` is
/// added to this process's.
pub fn probe_elsewhere(
    path: &Path,
    environment: &[(&str, OsString)],
) -> Result<(String, String), String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut child = Command::new(own)
        .arg(PROBE)
        .arg(path)
        .env_remove("LD_PRELOAD")
        .env_remove("LD_AUDIT")
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    let end = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it gave no answer in {} s", PATIENCE.as_secs()));
            }
        }
    };
    let (mut text, mut complained) = (String::new(), String::new());
    if let (Some(out), Some(err)) = (&mut child.stdout, &mut child.stderr) {
        let _ = out.take(65536).read_to_string(&mut text);
        let _ = err.take(65536).read_to_string(&mut complained);
    }
    match text.is_empty() {
        true => Err(format!("asking it ended with {status}")),
        false => Ok((text, complained)),
    }
}

/// The work of that process: loads `path` and prints what it reports, a line for each fact.
pub fn probe(path: &Path) {
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return };
    // SAFETY: a NUL-terminated path; running the library's constructors is intended.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        // SAFETY: dlopen just failed, so there is a message, and no other thread.
        let why = unsafe { CStr::from_ptr(libc::dlerror()) };
        return println!("failure {}", why.to_string_lossy().replace('\n', " "));
    }
    let number = |function: &CStr| -> Option<i32> {
        // SAFETY: an open library and a NUL-terminated name.
        let address = unsafe { libc::dlsym(library, function.as_ptr()) };
        // SAFETY: CUresult cuDriverGetVersion(int *) and cuDeviceGetCount(int *), CUDA Driver API.
        let call: extern "C" fn(*mut i32) -> i32 = unsafe {
            if address.is_null() {
                return None;
            }
            std::mem::transmute(address)
        };
        let mut value = 0;
        (call(&mut value) == 0).then_some(value)
    };
    if let Some(version) = number(c"cuDriverGetVersion") {
        println!("version {version}");
    }
    // SAFETY: the library is open, and the name ends with a NUL.
    let init = unsafe { libc::dlsym(library, c"cuInit".as_ptr()) };
    if init.is_null() {
        return println!("failure it has no cuInit");
    }
    // SAFETY: CUresult cuInit(unsigned), CUDA Driver API.
    let init: extern "C" fn(u32) -> i32 = unsafe { std::mem::transmute(init) };
    let answer = init(0);
    println!("init {answer}");
    if let (0, Some(count)) = (answer, number(c"cuDeviceGetCount")) {
        println!("count {count}");
        names(library, count);
    }
    // The libraries that backend hsa needs.
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut files = maps.lines().filter_map(|line| line.split_once('/'));
    if let Some((_, file)) = files.find(|(_, file)| file.contains("libhsa-runtime64.so")) {
        println!("runtime /{file}");
    }
}

/// A line for each device of a library that was initialised.
fn names(library: *mut libc::c_void, count: i32) {
    // SAFETY: an open library and a NUL-terminated name.
    let address = unsafe { libc::dlsym(library, c"cuDeviceGetName".as_ptr()) };
    if address.is_null() {
        return;
    }
    // SAFETY: CUresult cuDeviceGetName(char *, int, CUdevice), CUDA Driver API; a device's handle is its number.
    let call: extern "C" fn(*mut u8, i32, i32) -> i32 = unsafe { std::mem::transmute(address) };
    for device in 0..count {
        let mut name = [0_u8; 256];
        if call(name.as_mut_ptr(), 255, device) == 0
            && let Ok(name) = CStr::from_bytes_until_nul(&name)
        {
            println!("device {}", name.to_string_lossy());
        }
    }
}
