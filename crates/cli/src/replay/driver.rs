//! The CUDA driver, as far as one launch needs it.
//!
//! Owns: loading the library, and turning its answers into errors. Must not know: what is launched.

use std::ffi::{CString, c_char, c_void};
use std::path::Path;

use libloading::Library;

use crate::Error;
use cushim_names::Foreign as _;

type Status = i32;

/// A kernel that can be launched.
#[derive(Clone, Copy, Debug)]
pub struct Function(usize);

/// An initialised driver whose primary context is current.
pub struct Driver {
    library: Library,
    /// Images that were loaded: the driver may read them later.
    images: Vec<Vec<u8>>,
    events: [usize; 2],
}

/// Calls a function of the driver: its name, the types of its arguments, and these.
macro_rules! call {
    ($library:expr, $name:literal ($($type:ty = $arg:expr),*)) => {{
        // SAFETY: the signature is that of the CUDA driver API.
        let found = unsafe {
            $library.get::<unsafe extern "C" fn($($type),*) -> Status>(concat!($name, "\0").as_bytes())
        };
        match found {
            // SAFETY: as above; pointers are to places that live for the call.
            Ok(function) => checked($name, unsafe { function($($arg),*) }),
            Err(_) => Err(Error::Library(format!("the driver library has no {}", $name))),
        }
    }};
}

fn checked(name: &str, status: Status) -> Result<(), Error> {
    match status {
        0 => Ok(()),
        error => {
            let known = cushim_abi::errors::driver_error_name(error);
            let known = known.map_or_else(|| error.to_string(), |name| format!("{error}, {name}"));
            Err(Error::Library(format!("{name} failed: {known}")))
        }
    }
}

impl Driver {
    /// Loads `file`, and makes the primary context of `device` current.
    ///
    /// # Errors
    /// Where there is no driver or no such device.
    pub fn open(file: &Path, device: i32) -> Result<Self, Error> {
        // SAFETY: a driver library's constructors do what CUDA programs rely on.
        let library = unsafe { Library::new(file) }
            .map_err(|e| Error::Library(format!("{} cannot be loaded: {e}", file.shown())))?;
        let (mut handle, mut context) = (0i32, 0usize);
        call!(library, "cuInit"(u32 = 0))?;
        call!(library, "cuDeviceGet"(*mut i32 = &mut handle, i32 = device))?;
        call!(library, "cuDevicePrimaryCtxRetain"(*mut usize = &mut context, i32 = handle))?;
        call!(library, "cuCtxSetCurrent"(usize = context))?;
        let mut events = [0; 2];
        for event in &mut events {
            call!(library, "cuEventCreate"(*mut usize = event, u32 = 0))?;
        }
        Ok(Driver { library, images: Vec::new(), events })
    }

    /// A kernel of an image.
    ///
    /// # Errors
    /// Where the driver does not take the image, or has no such kernel in it.
    pub fn kernel(
        &mut self,
        mut image: Vec<u8>,
        name: &str,
        shared: u32,
    ) -> Result<Function, Error> {
        // PTX is text that ends with a NUL.
        image.push(0);
        let name = CString::new(name)
            .map_err(|_| Error::Usage("the kernel's name contains a NUL byte".to_owned()))?;
        let (mut module, mut function) = (0usize, 0usize);
        let data: *const c_void = image.as_ptr().cast();
        call!(self.library, "cuModuleLoadData"(*mut usize = &mut module, *const c_void = data))?;
        self.images.push(image);
        call!(
            self.library,
            "cuModuleGetFunction"(*mut usize = &mut function, usize = module, *const c_char = name.as_ptr())
        )?;
        /// More needs the kernel's permission.
        const USUAL: u32 = 48 << 10;
        /// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES.
        const MOST_SHARED: i32 = 8;
        if shared > USUAL {
            call!(
                self.library,
                "cuFuncSetAttribute"(usize = function, i32 = MOST_SHARED, i32 = shared as i32)
            )?;
        }
        Ok(Function(function))
    }

    /// Device memory; at least one byte, so that there is an address.
    ///
    /// # Errors
    /// The driver's.
    pub fn allocate(&self, bytes: usize) -> Result<u64, Error> {
        let mut at = 0;
        call!(self.library, "cuMemAlloc_v2"(*mut u64 = &mut at, usize = bytes.max(1)))?;
        Ok(at)
    }

    /// Copies to the device.
    ///
    /// # Errors
    /// The driver's.
    pub fn write(&self, to: u64, from: &[u8]) -> Result<(), Error> {
        if from.is_empty() {
            return Ok(());
        }
        let (data, bytes) = (from.as_ptr().cast(), from.len());
        call!(self.library, "cuMemcpyHtoD_v2"(u64 = to, *const c_void = data, usize = bytes))
    }

    /// Copies from the device.
    ///
    /// # Errors
    /// The driver's.
    pub fn read(&self, from: u64, bytes: usize) -> Result<Vec<u8>, Error> {
        let mut to = vec![0u8; bytes];
        if bytes > 0 {
            let data = to.as_mut_ptr().cast();
            call!(self.library, "cuMemcpyDtoH_v2"(*mut c_void = data, u64 = from, usize = bytes))?;
        }
        Ok(to)
    }

    /// Launches, waits, and answers how long the kernel took, in milliseconds.
    ///
    /// # Errors
    /// The driver's, also what the kernel did wrong.
    pub fn launch(
        &self,
        Function(function): Function,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        arguments: &mut [u8],
        offsets: &[usize],
    ) -> Result<f32, Error> {
        let base: *mut u8 = arguments.as_mut_ptr();
        let mut pointers: Vec<*mut u8> = offsets.iter().map(|at| base.wrapping_add(*at)).collect();
        let params = pointers.as_mut_ptr();
        let ([gx, gy, gz], [bx, by, bz], [begin, end]) = (grid, block, self.events);
        let library = &self.library;
        call!(library, "cuEventRecord"(usize = begin, usize = 0))?;
        call!(
            library,
            "cuLaunchKernel"(
                usize = function, u32 = gx, u32 = gy, u32 = gz, u32 = bx, u32 = by, u32 = bz, u32 = shared,
                usize = 0, *mut *mut u8 = params, usize = 0
            )
        )?;
        call!(library, "cuEventRecord"(usize = end, usize = 0))?;
        call!(library, "cuCtxSynchronize"())?;
        let mut time = 0f32;
        call!(library, "cuEventElapsedTime"(*mut f32 = &mut time, usize = begin, usize = end))?;
        Ok(time)
    }
}
