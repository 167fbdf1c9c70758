//! The CUDA driver, as far as `replay` and `load` need it.
//!
//! Owns: loading the library, and turning its status codes into errors. Must not know: what is launched.

use std::ffi::{CString, c_char, c_void};
use std::path::Path;

use libloading::Library;

use crate::Error;
use cushim_names::Foreign as _;

type Status = i32;

/// CUDA_ERROR_NOT_FOUND.
const NOT_FOUND: Status = 500;
/// CUDA_ERROR_NOT_READY.
const NOT_READY: Status = 600;

/// A kernel that can be launched.
#[derive(Clone, Copy, Debug)]
pub struct Function(usize);

/// A loaded image.
#[derive(Clone, Copy, Debug)]
pub struct Module(usize);

/// A stream that waits for no other.
#[derive(Clone, Copy, Debug)]
pub struct Stream(usize);

/// An initialised driver whose primary context is current.
#[derive(Debug)]
pub struct Driver {
    library: Library,
    /// Images that were loaded: the driver may read them later.
    images: Vec<Vec<u8>>,
    context: usize,
    events: [usize; 2],
}

/// Calls a driver function, given its name and its arguments with their types.
macro_rules! call {
    ($library:expr, $name:literal ($($type:ty = $arg:expr),*)) => {
        status!($library, $name ($($type = $arg),*)).and_then(|status| checked($name, status))
    };
}

/// The same, but returns its status.
macro_rules! status {
    ($library:expr, $name:literal ($($type:ty = $arg:expr),*)) => {{
        // SAFETY: the signature is that of the CUDA driver API.
        let found = unsafe {
            $library.get::<unsafe extern "C" fn($($type),*) -> Status>(concat!($name, "\0").as_bytes())
        };
        match found {
            // SAFETY: the signature is cuda.h's; pointers are to places that live for the call.
            Ok(function) => Ok(unsafe { function($($arg),*) }),
            Err(_) => Err(Error::Library(format!("the driver library has no {}", $name))),
        }
    }};
}

fn symbol(name: &str) -> Result<CString, Error> {
    CString::new(name).map_err(|_| Error::Usage("the kernel's name contains a NUL byte".to_owned()))
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
        Ok(Driver { library, images: Vec::new(), context, events })
    }

    /// Loads an image.
    ///
    /// # Errors
    /// Where the driver refuses it.
    pub fn load(&mut self, mut image: Vec<u8>) -> Result<Module, Error> {
        // PTX is text that ends with a NUL.
        image.push(0);
        let mut module = 0usize;
        let data: *const c_void = image.as_ptr().cast();
        call!(self.library, "cuModuleLoadData"(*mut usize = &mut module, *const c_void = data))?;
        self.images.push(image);
        Ok(Module(module))
    }

    /// A kernel of an image, if it has one of this name.
    ///
    /// # Errors
    /// The driver's.
    pub fn find(&self, Module(module): Module, name: &str) -> Result<Option<Function>, Error> {
        let (name, mut function) = (symbol(name)?, 0usize);
        let status = status!(
            self.library,
            "cuModuleGetFunction"(*mut usize = &mut function, usize = module, *const c_char = name.as_ptr())
        )?;
        match status {
            NOT_FOUND => Ok(None),
            status => checked("cuModuleGetFunction", status).map(|()| Some(Function(function))),
        }
    }

    /// Address and size of a variable of an image, if it has one of this name.
    ///
    /// # Errors
    /// The driver's.
    pub fn variable(
        &self,
        Module(module): Module,
        name: &str,
    ) -> Result<Option<(u64, usize)>, Error> {
        let (name, mut at, mut bytes) = (symbol(name)?, 0u64, 0usize);
        let status = status!(
            self.library,
            "cuModuleGetGlobal_v2"(
                *mut u64 = &mut at, *mut usize = &mut bytes, usize = module, *const c_char = name.as_ptr()
            )
        )?;
        match status {
            NOT_FOUND => Ok(None),
            status => checked("cuModuleGetGlobal", status).map(|()| Some((at, bytes))),
        }
    }

    /// A kernel of an image.
    ///
    /// # Errors
    /// Where the driver refuses the image, or finds no such kernel in it.
    pub fn kernel(&mut self, image: Vec<u8>, name: &str, shared: u32) -> Result<Function, Error> {
        let module = self.load(image)?;
        let found = self.find(module, name)?;
        let Function(function) = found
            .ok_or_else(|| Error::Library(format!("the image has no kernel {}", name.shown())))?;
        /// More must be enabled for the kernel.
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

    /// Zeroed host memory that the device sees at the same address. It is never freed.
    ///
    /// # Errors
    /// The driver's.
    pub fn host_memory(&self, bytes: usize) -> Result<*mut u8, Error> {
        let mut at: *mut c_void = std::ptr::null_mut();
        let bytes = bytes.max(1);
        call!(self.library, "cuMemAllocHost_v2"(*mut *mut c_void = &mut at, usize = bytes))?;
        // SAFETY: the driver returned this many bytes.
        unsafe { at.cast::<u8>().write_bytes(0, bytes) };
        Ok(at.cast())
    }

    /// A stream that does not wait for the default one.
    ///
    /// # Errors
    /// The driver's.
    pub fn stream(&self) -> Result<Stream, Error> {
        /// CU_STREAM_NON_BLOCKING.
        const NON_BLOCKING: u32 = 1;
        let mut stream = 0usize;
        call!(self.library, "cuStreamCreate"(*mut usize = &mut stream, u32 = NON_BLOCKING))?;
        Ok(Stream(stream))
    }

    /// Makes the context current in this thread, another than that of [`Driver::open`].
    ///
    /// # Errors
    /// The driver's.
    pub fn enter(&self) -> Result<(), Error> {
        call!(self.library, "cuCtxSetCurrent"(usize = self.context))
    }

    /// Bytes of stack for each thread of a kernel.
    ///
    /// # Errors
    /// The driver's.
    pub fn set_stack(&self, bytes: usize) -> Result<(), Error> {
        /// CU_LIMIT_STACK_SIZE.
        const STACK_SIZE: i32 = 0;
        call!(self.library, "cuCtxSetLimit"(i32 = STACK_SIZE, usize = bytes))
    }

    /// Starts a kernel. `params` are the addresses of its parameters' values, one for each that it has.
    ///
    /// # Errors
    /// The driver's.
    pub fn start(
        &self,
        Function(function): Function,
        [gx, gy, gz]: [u32; 3],
        [bx, by, bz]: [u32; 3],
        params: &mut [*mut u8],
        Stream(stream): Stream,
    ) -> Result<(), Error> {
        call!(
            self.library,
            "cuLaunchKernel"(
                usize = function, u32 = gx, u32 = gy, u32 = gz, u32 = bx, u32 = by, u32 = bz, u32 = 0,
                usize = stream, *mut *mut u8 = params.as_mut_ptr(), usize = 0
            )
        )
    }

    /// Waits for a stream.
    ///
    /// # Errors
    /// The driver's, also a kernel's fault.
    pub fn wait(&self, Stream(stream): Stream) -> Result<(), Error> {
        call!(self.library, "cuStreamSynchronize"(usize = stream))
    }

    /// Device memory while a kernel runs, for whose end [`Driver::allocate`] may wait. None where
    /// there is no more.
    ///
    /// # Errors
    /// The driver's, except out of memory.
    pub fn allocate_meanwhile(
        &self,
        bytes: u64,
        Stream(stream): Stream,
    ) -> Result<Option<u64>, Error> {
        /// CUDA_ERROR_INVALID_VALUE: also returned for more than any device has.
        const INVALID: Status = 1;
        /// CUDA_ERROR_OUT_OF_MEMORY.
        const NO_MEMORY: Status = 2;
        let mut at = 0u64;
        let size = usize::try_from(bytes.max(1)).unwrap_or(usize::MAX);
        let status = status!(
            self.library,
            "cuMemAllocAsync"(*mut u64 = &mut at, usize = size, usize = stream)
        )?;
        if matches!(status, INVALID | NO_MEMORY) {
            return Ok(None);
        }
        checked("cuMemAllocAsync", status)?;
        // The memory is ready when the stream has reached the allocation.
        loop {
            match status!(self.library, "cuStreamQuery"(usize = stream))? {
                NOT_READY => std::thread::yield_now(),
                status => return checked("cuStreamQuery", status).map(|()| Some(at)),
            }
        }
    }

    /// Frees memory of [`Driver::allocate_meanwhile`].
    ///
    /// # Errors
    /// The driver's.
    pub fn free_meanwhile(&self, at: u64, Stream(stream): Stream) -> Result<(), Error> {
        call!(self.library, "cuMemFreeAsync"(u64 = at, usize = stream))
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

    /// Launches, waits, and returns how long the kernel took, in milliseconds.
    ///
    /// # Errors
    /// The driver's, also the kernel's fault.
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
