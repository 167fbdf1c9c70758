//! Kernels that replace those of NVIDIA's libraries: loads them from PTX, launches them, and gives them memory and
//! stream order.
//!
//! It calls the driver functions that the program would find by name, so a trace shows the calls. A kernel belongs to
//! a driver library, which works in every context.
//!
//! Owns: the kernels of this process, by name. Must not know: what they compute, or which library they replace.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::sync::{Mutex, PoisonError};

/// `CUDA_ERROR_INVALID_VALUE`.
const INVALID_VALUE: i32 = 1;

/// `CUkernel` by name.
static KERNELS: Mutex<Option<HashMap<String, usize>>> = Mutex::new(None);

/// Calls a function of the driver by its name: the result is a `CUresult`, `CUDA_ERROR_NOT_FOUND` if there is no such
/// function.
#[macro_export]
macro_rules! driver {
    ($name:literal: fn($($ty:ty),*), $($argument:expr),*) => {
        match $crate::find($name) {
            Some(address) => {
                type Function = unsafe extern "C" fn($($ty),*) -> i32;
                // SAFETY: what the driver exports under that name, whose signature cuda.h has.
                let function = unsafe { std::mem::transmute::<*mut std::ffi::c_void, Function>(address) };
                // Arguments are plain values: no unsafe code is written there.
                #[allow(clippy::macro_metavars_in_unsafe)]
                // SAFETY: arguments of our own, which live as long as the call.
                unsafe {
                    function($($argument),*)
                }
            }
            None => 500,
        }
    };
}

/// A function of the driver, by its name.
pub fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a C string; the search goes through what is loaded.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// What a `CUresult` says.
fn done(status: i32) -> Result<(), i32> {
    if status == 0 { Ok(()) } else { Err(status) }
}

/// The kernel of this name, loaded from its text at its first use.
///
/// # Errors
/// The driver's `CUresult`.
pub fn kernel(name: String, text: impl FnOnce() -> String) -> Result<usize, i32> {
    let mut kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    let kernels = kernels.get_or_insert_default();
    if let Some(kernel) = kernels.get(&name) {
        return Ok(*kernel);
    }
    let (Ok(text), Ok(entry)) = (CString::new(text()), CString::new(name.as_str())) else {
        return Err(INVALID_VALUE);
    };
    let (mut library, mut kernel) = (0usize, 0usize);
    let null = std::ptr::null_mut::<c_void>();
    done(driver!(
        c"cuLibraryLoadData": fn(*mut usize, *const i8, *mut c_void, *mut c_void, u32, *mut c_void, *mut c_void, u32),
        &mut library, text.as_ptr(), null, null, 0, null, null, 0
    ))?;
    done(driver!(
        c"cuLibraryGetKernel": fn(*mut usize, usize, *const i8),
        &mut kernel, library, entry.as_ptr()
    ))?;
    kernels.insert(name, kernel);
    Ok(kernel)
}

/// Whether there is a device to compute on. A thread that only the runtime was used in may have no context yet: the first device's;
/// and a library may be the first thing of CUDA's that a program uses.
pub fn context() -> bool {
    let mut current = 0usize;
    if driver!(c"cuCtxGetCurrent": fn(*mut usize), &mut current) == 0 && current != 0 {
        return true;
    }
    driver!(c"cuInit": fn(u32), 0) == 0
        && driver!(c"cuDevicePrimaryCtxRetain": fn(*mut usize, i32), &mut current, 0) == 0
        && driver!(c"cuCtxSetCurrent": fn(usize), current) == 0
}

/// Launches a kernel with blocks of `threads` in `stream`.
///
/// # Safety
/// The kernel has one parameter, a `P`.
///
/// # Errors
/// The driver's `CUresult`.
pub unsafe fn launch<P>(
    kernel: usize,
    [x, y]: [u32; 2],
    threads: u32,
    stream: usize,
    parameter: &P,
) -> Result<(), i32> {
    let parameters = [std::ptr::from_ref(parameter).cast::<c_void>()];
    done(driver!(
        c"cuLaunchKernel": fn(usize, u32, u32, u32, u32, u32, u32, u32, usize, *const *const c_void, *mut c_void),
        kernel, x, y, 1, threads, 1, 1, 0, stream, parameters.as_ptr(), std::ptr::null_mut()
    ))
}

/// Device memory of the current context.
#[derive(Debug)]
pub struct Memory {
    at: u64,
}

impl Memory {
    /// Memory of so many bytes.
    ///
    /// # Errors
    /// The driver's `CUresult`.
    pub fn new(size: usize) -> Result<Memory, i32> {
        let mut at = 0;
        done(driver!(c"cuMemAlloc_v2": fn(*mut u64, usize), &mut at, size.max(1)))?;
        Ok(Memory { at })
    }

    /// Memory with these bytes.
    ///
    /// # Errors
    /// The driver's `CUresult`.
    pub fn with(bytes: &[u8]) -> Result<Memory, i32> {
        let memory = Memory::new(bytes.len())?;
        if !bytes.is_empty() {
            done(driver!(
                c"cuMemcpyHtoD_v2": fn(u64, *const u8, usize),
                memory.at, bytes.as_ptr(), bytes.len()
            ))?;
        }
        Ok(memory)
    }

    /// Its address.
    pub fn at(&self) -> u64 {
        self.at
    }
}

impl Drop for Memory {
    /// Waits for the kernels that were launched before.
    fn drop(&mut self) {
        // A destroyed context has freed its memory.
        let _ = context() && driver!(c"cuMemFree_v2": fn(u64), self.at) == 0;
    }
}

/// A moment in a stream, for which others wait.
#[derive(Debug)]
pub struct Moment {
    event: usize,
}

/// `CU_EVENT_DISABLE_TIMING`.
const NO_TIMING: u32 = 2;

impl Moment {
    /// A new event, not recorded yet.
    ///
    /// # Errors
    /// The driver's `CUresult`.
    pub fn new() -> Result<Moment, i32> {
        let mut event = 0;
        done(driver!(c"cuEventCreate": fn(*mut usize, u32), &mut event, NO_TIMING))?;
        Ok(Moment { event })
    }

    /// It is when the stream's work up to now is done.
    ///
    /// # Errors
    /// The driver's `CUresult`.
    pub fn is_now(&self, stream: usize) -> Result<(), i32> {
        done(driver!(c"cuEventRecord": fn(usize, usize), self.event, stream))
    }

    /// Later work of the stream waits for it.
    ///
    /// # Errors
    /// The driver's `CUresult`.
    pub fn comes_before(&self, stream: usize) -> Result<(), i32> {
        done(driver!(c"cuStreamWaitEvent": fn(usize, usize, u32), stream, self.event, 0))
    }
}

impl Drop for Moment {
    fn drop(&mut self) {
        // A destroyed context has freed it.
        let _ = context() && driver!(c"cuEventDestroy_v2": fn(usize), self.event) == 0;
    }
}

/// Whether work that is given to a stream becomes part of a graph.
pub fn is_capturing(stream: usize) -> bool {
    let mut state = 0;
    driver!(c"cuStreamIsCapturing": fn(usize, *mut i32), stream, &mut state) == 0 && state != 0
}
