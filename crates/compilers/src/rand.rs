//! cuRAND of CUDA 13: it takes its kernels as PTX.
//!
//! libcurand has its kernels once for each capability, as machine code of that capability alone, and once as PTX. It
//! chooses by what `cudaDeviceGetAttribute` says, before any of them is loaded: PTX is for GPUs that are newer than the
//! library (seen in 10.4.5.25: a capability that it has no machine code for gets PTX, which is for 7.5). So the library
//! is told of such a GPU, and the driver is given PTX. Everything else in the process is told the device's capability.
//!
//! Owns: what libcurand is told. Must not know: how its imports are led here.

/// `cudaDevAttrComputeCapabilityMajor` and `…Minor` of driver_types.h.
const MAJOR: i32 = 75;
const MINOR: i32 = 76;
/// A capability that no GPU has, later than all that have been: libraries of today have no machine code for it.
const LATER: (i32, i32) = (99, 0);
/// `cudaErrorSymbolNotFound`.
const NOT_FOUND: i32 = 500;

type Attribute = unsafe extern "C" fn(*mut i32, i32, i32) -> i32;

/// The function of the runtime of CUDA 13, whose cuRAND is the first that imports it.
fn runtimes() -> Option<Attribute> {
    // SAFETY: two C strings; the search goes through what is loaded.
    let found = unsafe {
        libc::dlvsym(
            libc::RTLD_DEFAULT,
            c"cudaDeviceGetAttribute".as_ptr(),
            c"libcudart.so.13".as_ptr(),
        )
    };
    // SAFETY: the function of that name and version has this signature (cuda_runtime_api.h).
    (!found.is_null())
        .then(|| unsafe { std::mem::transmute::<*mut libc::c_void, Attribute>(found) })
}

/// `cudaDeviceGetAttribute`, as libcurand imports it.
pub unsafe extern "C" fn attribute<const K: usize>(
    value: *mut i32,
    which: i32,
    device: i32,
) -> i32 {
    let Some(function) = runtimes() else { return NOT_FOUND };
    // SAFETY: the caller's arguments.
    let status = unsafe { function(value, which, device) };
    let told = match which {
        MAJOR => LATER.0,
        MINOR => LATER.1,
        _ => return status,
    };
    if status == 0 {
        // SAFETY: the call has succeeded, hence it has written there.
        unsafe { value.write(told) };
    }
    status
}
