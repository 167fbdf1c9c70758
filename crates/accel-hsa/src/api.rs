//! AMD's HSA runtime as a table of functions, and finding it.
//!
//! Owns opening `libhsa-runtime64.so.1` and converting its statuses. The runtime is not linked: a machine without it
//! has no device, and that is no error. Must not know: agents, memory, queues.

use std::ffi::{CStr, CString, c_void};
use std::path::Path;

use cushim_accel::Failure;

use crate::ffi::*;

/// Names another file of the runtime.
pub const VARIABLE: &str = "CUSHIM_HSA";
/// The library's SONAME.
pub const SONAME: &str = "libhsa-runtime64.so.1";
/// ROCm's folders, which the loader does not search.
const ROCM: [&str; 2] =
    ["/opt/rocm/lib/libhsa-runtime64.so.1", "/opt/rocm/hsa/lib/libhsa-runtime64.so.1"];

macro_rules! functions {
    ($($name:ident ( $($argument:ty),* ) -> $answer:ty;)*) => {
        /// The functions of the runtime that are used, each under its own name.
        #[derive(Clone, Copy)]
        #[allow(missing_docs)]
        pub struct Api { $(pub $name: unsafe extern "C" fn($($argument),*) -> $answer,)* }

        impl Api {
            /// The names, in the order of the table.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// Fills the table.
            ///
            /// # Errors
            /// The name of the first missing function.
            ///
            /// # Safety
            /// `find` returns null or a function with the name's signature that stays valid for
            /// ever.
            pub unsafe fn from(find: impl Fn(&CStr) -> *mut c_void) -> Result<Api, &'static str> {
                Ok(Api { $($name: {
                    let name = concat!(stringify!($name), "\0");
                    let found = CStr::from_bytes_with_nul(name.as_bytes()).map_or(std::ptr::null_mut(), &find);
                    if found.is_null() {
                        return Err(stringify!($name));
                    }
                    // SAFETY: the caller's: a function with this signature.
                    unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> $answer>(found) }
                },)* })
            }
        }
    };
}

functions! {
    hsa_init() -> Status;
    hsa_shut_down() -> Status;
    hsa_status_string(Status, *mut Text) -> Status;
    hsa_system_get_info(u32, *mut c_void) -> Status;
    hsa_iterate_agents(EachAgent, *mut c_void) -> Status;
    hsa_agent_get_info(Agent, u32, *mut c_void) -> Status;
    hsa_agent_iterate_isas(Agent, EachIsa, *mut c_void) -> Status;
    hsa_isa_get_info_alt(Isa, u32, *mut c_void) -> Status;
    hsa_amd_agent_iterate_memory_pools(Agent, EachPool, *mut c_void) -> Status;
    hsa_amd_memory_pool_get_info(Pool, u32, *mut c_void) -> Status;
    hsa_amd_agent_memory_pool_get_info(Agent, Pool, u32, *mut c_void) -> Status;
    hsa_amd_memory_pool_allocate(Pool, usize, u32, *mut *mut c_void) -> Status;
    hsa_amd_memory_pool_free(*mut c_void) -> Status;
    hsa_amd_agents_allow_access(u32, *const Agent, *const u32, *const c_void) -> Status;
    hsa_amd_memory_lock(*mut c_void, usize, *const Agent, i32, *mut *mut c_void) -> Status;
    hsa_amd_memory_unlock(*mut c_void) -> Status;
    hsa_amd_memory_async_copy(*mut c_void, Agent, *const c_void, Agent, usize, u32, *const Sig, Sig) -> Status;
    hsa_amd_memory_async_copy_rect(*const Pitched, *const Dim3, *const Pitched, *const Dim3, *const Dim3, Agent, u32, u32, *const Sig, Sig) -> Status;
    hsa_memory_copy(*mut c_void, *const c_void, usize) -> Status;
    hsa_amd_memory_fill(*mut c_void, u32, usize) -> Status;
    hsa_amd_register_system_event_handler(OnEvent, *mut c_void) -> Status;
    hsa_amd_profiling_set_profiler_enabled(*mut Queue, i32) -> Status;
    hsa_amd_profiling_async_copy_enable(bool) -> Status;
    hsa_amd_profiling_get_dispatch_time(Agent, Sig, *mut Times) -> Status;
    hsa_amd_profiling_get_async_copy_time(Sig, *mut Times) -> Status;
    hsa_signal_create(i64, u32, *const Agent, *mut Sig) -> Status;
    hsa_signal_destroy(Sig) -> Status;
    hsa_signal_load_scacquire(Sig) -> i64;
    hsa_signal_store_relaxed(Sig, i64) -> ();
    hsa_signal_store_screlease(Sig, i64) -> ();
    hsa_signal_wait_scacquire(Sig, u32, i64, u64, u32) -> i64;
    hsa_queue_create(Agent, u32, u32, OnQueueError, *mut c_void, u32, u32, *mut *mut Queue) -> Status;
    hsa_queue_destroy(*mut Queue) -> Status;
    hsa_amd_queue_set_priority(*mut Queue, u32) -> Status;
    hsa_queue_load_read_index_scacquire(*const Queue) -> u64;
    hsa_queue_load_write_index_relaxed(*const Queue) -> u64;
    hsa_queue_store_write_index_screlease(*const Queue, u64) -> ();
    hsa_code_object_reader_create_from_memory(*const c_void, usize, *mut Reader) -> Status;
    hsa_code_object_reader_destroy(Reader) -> Status;
    hsa_executable_create_alt(u32, u32, Text, *mut Executable) -> Status;
    hsa_executable_destroy(Executable) -> Status;
    hsa_executable_load_agent_code_object(Executable, Agent, Reader, Text, *mut u64) -> Status;
    hsa_executable_freeze(Executable, Text) -> Status;
    hsa_executable_iterate_agent_symbols(Executable, Agent, EachSymbol, *mut c_void) -> Status;
    hsa_executable_get_symbol_by_name(Executable, Text, *const Agent, *mut Symbol) -> Status;
    hsa_executable_symbol_get_info(Symbol, u32, *mut c_void) -> Status;
}

impl Api {
    /// Opens the runtime: the file that `CUSHIM_HSA` names and no other, else what the loader finds, else ROCm's.
    ///
    /// # Errors
    /// What was tried, and why it failed.
    pub fn open() -> Result<Api, String> {
        let named = std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
        let (handle, file) = match named {
            Some(path) => {
                let shown = path.to_string_lossy().into_owned();
                (
                    library(Path::new(&path))
                        .map_err(|why| format!("{VARIABLE}={shown}: {why}"))?,
                    shown,
                )
            }
            None => find()?,
        };
        // SAFETY: a library that is never closed, by its own name of a function that has this signature in every
        // version of HSA.
        let api = unsafe { Api::from(|name| libc::dlsym(handle, name.as_ptr())) };
        api.map_err(|name| {
            format!("{file} has no {name}: expected AMD's HSA runtime, 5.2 or later")
        })
    }

    /// The runtime's text for a status.
    pub fn text(&self, status: Status) -> String {
        let mut text: Text = std::ptr::null();
        // SAFETY: a place for a pointer; the result is a constant text.
        let said = unsafe {
            match (self.hsa_status_string)(status, &raw mut text) {
                SUCCESS if !text.is_null() => CStr::from_ptr(text).to_string_lossy().into_owned(),
                _ => String::from("unknown status"),
            }
        };
        // `HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate ...`
        format!("{} ({status:#x})", said.trim_end_matches('.'))
    }

    /// A call's status as a result.
    ///
    /// # Errors
    /// [`Failure::OutOfMemory`] for such a status, else [`Failure::Device`] with the call's name
    /// and the runtime's text.
    pub fn check(&self, call: &str, status: Status) -> Result<(), Failure> {
        match status {
            SUCCESS | INFO_BREAK => Ok(()),
            OUT_OF_RESOURCES | INVALID_ALLOCATION => Err(Failure::OutOfMemory),
            status => Err(Failure::Device(format!("{call}: {}", self.text(status)))),
        }
    }
}

/// Finds the runtime if none is named.
fn find() -> Result<(*mut c_void, String), String> {
    let first = match library(Path::new(SONAME)) {
        Ok(handle) => return Ok((handle, SONAME.into())),
        Err(why) => why,
    };
    for path in ROCM {
        if Path::new(path).exists() {
            return library(Path::new(path)).map(|handle| (handle, path.into()));
        }
    }
    Err(format!("{first}; nor is it in /opt/rocm/lib. {VARIABLE}=FILE names one elsewhere"))
}

fn library(path: &Path) -> Result<*mut c_void, String> {
    use std::os::unix::ffi::OsStrExt;
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
    // SAFETY: a path; only the runtime's own constructors run.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if !handle.is_null() {
        return Ok(handle);
    }
    // SAFETY: the text of this thread's last error, or null.
    let why = unsafe {
        let text = libc::dlerror();
        if text.is_null() { "dlopen failed".into() } else { CStr::from_ptr(text).to_string_lossy() }
    };
    Err(why.into_owned())
}
