//! cuRAND of CUDA 13: makes it use its PTX, and refuses one of its generators.
//!
//! libcurand has its kernels once for each capability, as machine code of that capability alone, and once as PTX. It
//! chooses by the result of `cudaDeviceGetAttribute`, before any of them is loaded: PTX is for GPUs that are newer
//! than the library (seen in 10.4.5.25: a capability for which it has no machine code gets PTX, which is for 7.5). So
//! this module tells the library of such a GPU, and the driver gets PTX. Everything else in the process gets the
//! device's real capability.
//!
//! MT19937 is refused: with a seed of 0 its numbers were not those of the library's generator on the host, and the
//! process ended by a double free (10.4.5.25; the cause is not known). A wrong number is worse than none.
//!
//! Owns: what libcurand is told, and which generator is refused. Must not know: how its imports are redirected.

use cushim_vbase::code::say_once;

use crate::real::call;

/// `cudaDevAttrComputeCapabilityMajor` and `…Minor` of driver_types.h.
const MAJOR: i32 = 75;
const MINOR: i32 = 76;
/// A capability that no GPU has, above all existing ones: today's libraries have no machine code for it.
const LATER: (i32, i32) = (99, 0);
/// `CURAND_RNG_PSEUDO_MT19937`, `CURAND_STATUS_NOT_INITIALIZED` and `CURAND_STATUS_TYPE_ERROR` of curand.h.
const MT19937: i32 = 142;
const NOT_INITIALIZED: i32 = 101;
const TYPE_ERROR: i32 = 103;
/// `cudaErrorSymbolNotFound`.
const NOT_FOUND: i32 = 500;

/// `curandCreateGenerator`.
pub unsafe extern "C" fn create<const K: usize>(generator: *mut usize, kind: i32) -> i32 {
    if kind == MT19937 {
        say_once(
            "cuRAND's MT19937 does not run on the CPU, as its numbers were seen to be wrong there: curandCreateGenerator answers 103; XORWOW, MRG32k3a, MTGP32, Philox and Sobol run",
        );
        return TYPE_ERROR;
    }
    call!(K, RAND_CREATE: fn(*mut usize, i32), NOT_INITIALIZED, generator, kind)
}

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
