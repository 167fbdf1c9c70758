//! The few driver functions that describe a device.
//!
//! Owns: their signatures, and calling them through libvcuda.so's table, not through the hooks: NVML's queries are
//! not calls of the program. Must not know: NVML.

use std::ffi::{c_char, c_void};

use cushim_front::cushim_abi::index::Driver;

unsafe extern "C" {
    /// The slots of libvcuda.so, by [`Driver`].
    static vcuda_driver: [usize; 0];
}

/// The function in a slot.
fn slot(function: Driver) -> *const () {
    // SAFETY: the table has a slot for each function; slots are replaced as a whole when a driver is chosen.
    let address =
        unsafe { (&raw const vcuda_driver).cast::<usize>().add(function as usize).read_volatile() };
    std::ptr::with_exposed_provenance(address)
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $function:ident ($($argument:ident: $ty:ty),*);)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Pointers are valid for the driver's results.
        pub unsafe fn $name($($argument: $ty),*) -> i32 {
            type Function = unsafe extern "C" fn($($ty),*) -> i32;
            let address = slot(Driver::$function);
            // SAFETY: the signature is cuda.h's.
            let function = unsafe { std::mem::transmute::<*const (), Function>(address) };
            // SAFETY: the caller's pointers are valid for what the driver writes there.
            unsafe { function($($argument),*) }
        }
    )*};
}

functions! {
    /// Starts the driver.
    init = cuInit (flags: u32);
    /// 13050 for 13.5.
    version = cuDriverGetVersion (version: *mut i32);
    /// How many devices there are.
    count = cuDeviceGetCount (count: *mut i32);
    /// The name with its NUL, in at most `size` bytes.
    name = cuDeviceGetName (name: *mut c_char, size: i32, device: i32);
    /// 16 bytes.
    uuid = cuDeviceGetUuid_v2 (uuid: *mut [u8; 16], device: i32);
    /// In bytes.
    memory = cuDeviceTotalMem_v2 (bytes: *mut usize, device: i32);
    /// A `CUdevice_attribute`.
    attribute = cuDeviceGetAttribute (value: *mut i32, which: i32, device: i32);
    /// `0000:01:00.0`.
    bus = cuDeviceGetPCIBusId (text: *mut c_char, size: i32, device: i32);
    /// The calling thread's context, or null.
    context = cuCtxGetCurrent (context: *mut *mut c_void);
    /// Its device.
    device = cuCtxGetDevice (device: *mut i32);
    /// Memory of its device, in bytes.
    free = cuMemGetInfo_v2 (free: *mut usize, total: *mut usize);
}
