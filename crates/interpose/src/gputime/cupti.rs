//! Finds CUPTI, and enables its activity records.
//!
//! Owns: the choice of the library, and CUPTI's functions that are used (cupti_activity.h; they are the same in CUDA
//! 11.8, 12.4 and 13.5). cushim does not link CUPTI: if there is none, or it does not fit the driver, a note reports
//! this and the program runs on. Must not know: what a record contains.

use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use super::source::{Source, note};
use super::{buffers, callback, flush, records};
use crate::config::{self, GpuTime};
use crate::life::{self, Global};
use crate::log::Level;
use crate::real::{Real, real};
use cushim_process::elf::{self, Version};

/// The `CUPTI_ACTIVITY_KIND_*` that are requested: copies, sets, kernels, copies between devices.
const KINDS: [u32; 4] = [1, 2, 10, 22];

/// `cuptiActivityFlushAll`.
static FLUSH: AtomicUsize = AtomicUsize::new(0);
/// `CUPTI_ACTIVITY_FLAG_FLUSH_FORCED`.
const FORCED: u32 = 1;

/// `InitializeInjection`: the driver calls it once, in `cuInit`, where `CUDA_INJECTION64_PATH` names this
/// library.
pub fn attach() {
    static DONE: AtomicBool = AtomicBool::new(false);
    let Some(global) = life::global().filter(|g| g.recorder.is_some()) else {
        return;
    };
    if !matches!(global.gpu_time_by, GpuTime::Auto | GpuTime::Cupti)
        || DONE.swap(true, Ordering::AcqRel)
    {
        return;
    }
    let done = std::panic::catch_unwind(AssertUnwindSafe(|| load(global)));
    match done.unwrap_or_else(|_| Err("loading CUPTI failed".to_owned())) {
        Ok(path) => {
            Source::Cupti.choose();
            crate::log::line(Level::Info, format_args!("GPU times from {path}"));
        }
        Err(why) if global.gpu_time_by == GpuTime::Auto => {
            let text = format!("--gpu-time: {why}; launches are timed by event pairs instead");
            note(Level::Warn, &text);
            Source::Events.choose();
        }
        Err(why) => {
            note(Level::Error, &format!("--gpu-time: {why}; no GPU times are recorded"));
            Source::Nothing.choose();
        }
    }
}

/// Takes the first library that works; returns its name.
fn load(global: &Global) -> Result<String, String> {
    if let Some(asked) = config::variable(c"CUSHIM_CUPTI").filter(|v| !v.is_empty()) {
        let name = String::from_utf8_lossy(&asked).into_owned();
        return take(global, &name).map(|()| name);
    }
    let mut why = None;
    for name in candidates() {
        match take(global, &name) {
            Ok(()) => return Ok(name),
            // The error of a library that refuses says more than that of a missing one.
            Err(error) => why = why.or(Some(error).filter(|e| !e.starts_with("cannot open"))),
        }
    }
    Err(why.unwrap_or_else(|| {
        "no libcupti was found (it is part of the CUDA toolkit, in extras/CUPTI/lib64, and of the \
         package nvidia-cuda-cupti; LD_LIBRARY_PATH or CUSHIM_CUPTI=FILE may name it)"
            .to_owned()
    }))
}

/// Where a libcupti may be, the likeliest first: what the program has loaded already, beside its
/// runtime, where the loader looks, where toolkits are installed.
fn candidates() -> Vec<String> {
    let mut found = Vec::new();
    let mut runtimes = Vec::new();
    elf::find_object::<()>(|object| {
        let path = PathBuf::from(object.file_name().to_string_lossy().into_owned());
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("libcupti.so") {
            found.push(path.to_string_lossy().into_owned());
        } else if name.starts_with("libcudart.so") {
            runtimes.extend(path.parent().map(Path::to_owned));
        }
        None
    });
    // A wheel of CUDA 11 or 12, one of CUDA 13, a toolkit.
    let beside =
        ["../../cuda_cupti/lib", ".", "../extras/CUPTI/lib64", "../../../extras/CUPTI/lib64"];
    for folder in runtimes.iter().flat_map(|lib| beside.map(|place| lib.join(place))) {
        found.extend(in_folder(&folder));
    }
    // A CUPTI newer than the driver refuses to work.
    found.extend((11..=driver_major()).rev().map(|major| match major {
        11 => "libcupti.so.11.8".to_owned(),
        major => format!("libcupti.so.{major}"),
    }));
    found.push("libcupti.so".to_owned());
    let homes = [c"CUDA_HOME", c"CUDA_PATH"].into_iter().filter_map(config::variable);
    let homes = homes.map(|home| PathBuf::from(String::from_utf8_lossy(&home).into_owned()));
    for home in homes.chain([PathBuf::from("/usr/local/cuda")]) {
        found.extend(in_folder(&home.join("extras/CUPTI/lib64")));
    }
    found
}

/// The libcupti in `folder`: the one with the longest name is the file itself.
fn in_folder(folder: &Path) -> Option<String> {
    let names = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let name = names.filter(|name| name.starts_with("libcupti.so")).max_by_key(String::len)?;
    Some(folder.join(name).to_string_lossy().into_owned())
}

/// The major CUDA version that the driver supports.
fn driver_major() -> u32 {
    let mut version = 0i32;
    if let Some(get) = elf::next(c"cuDriverGetVersion", Version::Any, |_| true) {
        // SAFETY: the signature of cuDriverGetVersion; the place is valid.
        unsafe {
            let get: unsafe extern "C-unwind" fn(*mut i32) -> i32 =
                std::mem::transmute::<usize, _>(get);
            get(&mut version);
        }
    }
    if version >= 11_000 { version as u32 / 1000 } else { 13 }
}

/// A function of a library that was opened.
struct Library(*mut c_void);

impl Library {
    fn open(name: &str) -> Result<Self, String> {
        let text = CString::new(name).map_err(|_| format!("{name:?} is not a file name"))?;
        let open = real(Real::Dlopen);
        if open.is_null() {
            return Err("cannot open libraries: this process has no dlopen".to_owned());
        }
        // SAFETY: the real dlopen, a C string. We are inside `cuInit`, where the driver itself
        // opens libraries.
        let handle = unsafe {
            let open: unsafe extern "C" fn(*const c_char, i32) -> *mut c_void =
                std::mem::transmute(open);
            open(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL)
        };
        if !handle.is_null() {
            return Ok(Library(handle));
        }
        // SAFETY: dlerror answers null or a string that stays until its next call on this thread.
        let why = unsafe {
            let why = libc::dlerror();
            if why.is_null() { c"the loader gives no reason" } else { CStr::from_ptr(why) }
                .to_string_lossy()
        };
        Err(format!("cannot open {name}: {why}"))
    }

    fn find(&self, name: &CStr) -> usize {
        let sym = real(Real::Dlsym);
        if sym.is_null() {
            return 0;
        }
        // SAFETY: the real dlsym, an open handle, a C string.
        unsafe {
            let sym: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void =
                std::mem::transmute(sym);
            sym(self.0, name.as_ptr()).addr()
        }
    }

    fn need(&self, name: &CStr) -> Result<usize, String> {
        match self.find(name) {
            0 => Err(format!("that libcupti has no {}", name.to_string_lossy())),
            found => Ok(found),
        }
    }

    /// An error where `function` of CUPTI returned another `status` than success.
    fn check(&self, status: i32, function: &str) -> Result<(), String> {
        if status == 0 {
            return Ok(());
        }
        let mut text: *const c_char = std::ptr::null();
        let tell = self.find(c"cuptiGetResultString");
        if tell != 0 {
            // SAFETY: the signature of cuptiGetResultString; the place is valid.
            unsafe {
                let tell: unsafe extern "C" fn(i32, *mut *const c_char) -> i32 =
                    std::mem::transmute::<usize, _>(tell);
                tell(status, &mut text);
            }
        }
        let name = if text.is_null() {
            "an unknown error".into()
        } else {
            // SAFETY: CUPTI's own string.
            unsafe { CStr::from_ptr(text) }.to_string_lossy()
        };
        Err(format!(
            "{function} answers {status} ({name}): another profiler, or the driver, forbids it"
        ))
    }
}

/// Opens `name` and has it deliver records. A library that refuses stays loaded: CUPTI cannot be closed.
fn take(global: &Global, name: &str) -> Result<(), String> {
    let library = Library::open(name)?;
    let stamp = library.find(c"cuptiActivityRegisterTimestampCallback");
    let register = library.need(c"cuptiActivityRegisterCallbacks")?;
    let enable = library.need(c"cuptiActivityEnable")?;
    let next = library.need(c"cuptiActivityGetNextRecord")?;
    let dropped = library.need(c"cuptiActivityGetNumDroppedRecords")?;
    let flush = library.need(c"cuptiActivityFlushAll")?;
    let subscribe = library.need(c"cuptiSubscribe")?;
    let callback = library.need(c"cuptiEnableCallback")?;
    let tell = library.need(c"cuptiGetCallbackName")?;
    type Stamp = unsafe extern "C" fn(extern "C" fn() -> u64) -> i32;
    type Register = unsafe extern "C" fn(buffers::Request, buffers::Complete) -> i32;
    type Number = unsafe extern "C" fn(u32) -> i32;
    // SAFETY: CUPTI's functions with the signatures of cupti_activity.h and cupti_callbacks.h.
    unsafe {
        // First, as there is one subscriber only.
        callback::ask(
            std::mem::transmute::<usize, callback::Subscribe>(subscribe),
            std::mem::transmute::<usize, callback::Enable>(callback),
            std::mem::transmute::<usize, callback::Name>(tell),
        )
        .or_else(|(status, function)| library.check(status, function))?;
        // Without it (before CUDA 11.6) CUPTI's clock is CLOCK_REALTIME.
        let own = stamp != 0 && std::mem::transmute::<usize, Stamp>(stamp)(records::now) == 0;
        records::prepare(next, dropped, own);
        let register: Register = std::mem::transmute::<usize, _>(register);
        let status = register(buffers::request, buffers::complete);
        library.check(status, "cuptiActivityRegisterCallbacks")?;
        let enable: Number = std::mem::transmute::<usize, _>(enable);
        for kind in KINDS {
            library.check(enable(kind), &format!("cuptiActivityEnable({kind})"))?;
        }
    }
    FLUSH.store(flush, Ordering::Release);
    flush::start(global, flush_all, records::finish);
    Ok(())
}

/// Has CUPTI hand over complete buffers; at the end, all that it has.
fn flush_all(is_last: bool) -> Duration {
    let flush = FLUSH.load(Ordering::Acquire);
    if flush != 0 {
        // SAFETY: the signature of cuptiActivityFlushAll; its library stays loaded.
        unsafe {
            let flush: unsafe extern "C" fn(u32) -> i32 = std::mem::transmute::<usize, _>(flush);
            flush(if is_last { FORCED } else { 0 });
        }
    }
    flush::PERIOD
}
