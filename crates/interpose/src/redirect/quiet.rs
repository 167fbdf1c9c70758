//! Copies on a stream of cushim's own, independent of the program's streams.
//!
//! Must not know: what is copied.

use crate::device;

/// cushim's own stream, which waits for no other: it may copy while others are captured.
pub struct Quiet(usize);

impl Quiet {
    /// A new one in the current context.
    ///
    /// # Errors
    /// The driver's, in words.
    pub fn new() -> Result<Quiet, String> {
        type Create = unsafe extern "C-unwind" fn(*mut usize, u32) -> i32;
        /// CU_STREAM_NON_BLOCKING.
        const NON_BLOCKING: u32 = 1;
        let create =
            device::function(c"cuStreamCreate").ok_or("the driver has no cuStreamCreate")?;
        let mut stream = 0;
        // SAFETY: the function's signature; the place is valid.
        let status =
            unsafe { std::mem::transmute::<usize, Create>(create)(&mut stream, NON_BLOCKING) };
        if status == 0 {
            Ok(Quiet(stream))
        } else {
            Err(format!("cuStreamCreate failed with error {status}"))
        }
    }

    /// Copies device memory to `to`, and waits.
    ///
    /// # Errors
    /// The driver's, in words.
    pub fn read(&self, to: &mut [u8], from: u64) -> Result<(), String> {
        type Copy = unsafe extern "C-unwind" fn(*mut u8, u64, usize, usize) -> i32;
        let copy = device::function(c"cuMemcpyDtoHAsync_v2")
            .ok_or("the driver has no cuMemcpyDtoHAsync")?;
        // SAFETY: the function's signature; `to` has room, and stays until the stream was waited for.
        self.wait(unsafe {
            std::mem::transmute::<usize, Copy>(copy)(to.as_mut_ptr(), from, to.len(), self.0)
        })
    }

    /// Copies `from` to device memory, and waits.
    ///
    /// # Errors
    /// The driver's, in words.
    pub fn write(&self, to: u64, from: &[u8]) -> Result<(), String> {
        type Copy = unsafe extern "C-unwind" fn(u64, *const u8, usize, usize) -> i32;
        let copy = device::function(c"cuMemcpyHtoDAsync_v2")
            .ok_or("the driver has no cuMemcpyHtoDAsync")?;
        // SAFETY: the function's signature; `from` stays until the stream was waited for.
        self.wait(unsafe {
            std::mem::transmute::<usize, Copy>(copy)(to, from.as_ptr(), from.len(), self.0)
        })
    }

    fn wait(&self, status: i32) -> Result<(), String> {
        let status = match (status, device::synchronize(self.0)) {
            (0, Ok(())) => return Ok(()),
            (0, Err(error)) => error,
            (error, _) => error,
        };
        Err(format!("copying an address failed with error {status}"))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        type Destroy = unsafe extern "C-unwind" fn(usize) -> i32;
        if let Some(destroy) = device::function(c"cuStreamDestroy_v2") {
            // SAFETY: the function's signature; a stream that was made here, ended once.
            unsafe { std::mem::transmute::<usize, Destroy>(destroy)(self.0) };
        }
    }
}
