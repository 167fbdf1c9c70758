//! The text of each error, as programs print it.
//!
//! Owns the results of cudaGetErrorString and cuGetErrorString: the texts of the runtimes of 11.8, 12.4 and 13.5 and
//! of driver 550 (measured; identical in all of them except for 27), so that a program prints the same on virtual
//! CUDA. Must not know: names ([`cushim_abi::errors`]), which API asks.

use std::ffi::CStr;

/// The text of a `cudaError_t` or `CUresult`, which share their numbers.
pub fn text(error: i32) -> Option<&'static CStr> {
    let at = TEXTS.binary_search_by_key(&error, |row| row.0).ok()?;
    TEXTS.get(at).map(|row| row.1)
}

#[rustfmt::skip]
const TEXTS: [(i32, &CStr); 140] = [
    (0, c"no error"),
    (1, c"invalid argument"),
    (2, c"out of memory"),
    (3, c"initialization error"),
    (4, c"driver shutting down"),
    (5, c"profiler disabled while using external profiling tool"),
    (6, c"profiler not initialized: call cudaProfilerInitialize()"),
    (7, c"profiler already started"),
    (8, c"profiler already stopped"),
    (9, c"invalid configuration argument"),
    (10, c"Driver is newer than runtime and returned parameters the runtime cannot process"),
    (12, c"invalid pitch argument"),
    (13, c"invalid device symbol"),
    (16, c"invalid host pointer"),
    (17, c"invalid device pointer"),
    (18, c"invalid texture reference"),
    (19, c"texture is not bound to a pointer"),
    (20, c"invalid channel descriptor"),
    (21, c"invalid copy direction for memcpy"),
    (22, c"invalid address of constant"),
    (23, c"fetch from texture failed"),
    (24, c"cannot fetch from a texture that is not bound"),
    (25, c"incorrect use of __syncthreads()"),
    (26, c"linear filtering not supported for non-float type"),
    (27, c"read as normalized float not supported for data type"),
    (28, c"device emulation mode and device execution mode cannot be mixed"),
    (31, c"feature not yet implemented"),
    (32, c"memory size or pointer value too large to fit in 32 bit"),
    (34, c"CUDA driver is a stub library"),
    (35, c"CUDA driver version is insufficient for CUDA runtime version"),
    (36, c"API call is not supported in the installed CUDA driver"),
    (37, c"invalid surface reference"),
    (43, c"duplicate global variable looked up by string name"),
    (44, c"duplicate texture looked up by string name"),
    (45, c"duplicate surface looked up by string name"),
    (46, c"CUDA-capable device(s) is/are busy or unavailable"),
    (49, c"incompatible driver context"),
    (52, c"__global__ function call is not configured"),
    (53, c"unspecified launch failure in prior launch"),
    (65, c"launch would exceed maximum depth of nested launches"),
    (66, c"launch failed because kernel uses unsupported, file-scoped textures (texture objects are supported)"),
    (67, c"launch failed because kernel uses unsupported, file-scoped surfaces (surface objects are supported)"),
    (68, c"cudaDeviceSynchronize failed because caller's grid depth exceeds cudaLimitDevRuntimeSyncDepth"),
    (69, c"launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"),
    (98, c"invalid device function"),
    (100, c"no CUDA-capable device is detected"),
    (101, c"invalid device ordinal"),
    (102, c"device doesn't have valid Grid license"),
    (103, c"integrity checks failed"),
    (127, c"startup failure in cuda runtime"),
    (200, c"device kernel image is invalid"),
    (201, c"invalid device context"),
    (202, c"context already current"),
    (205, c"mapping of buffer object failed"),
    (206, c"unmapping of buffer object failed"),
    (207, c"array is mapped"),
    (208, c"resource already mapped"),
    (209, c"no kernel image is available for execution on the device"),
    (210, c"resource already acquired"),
    (211, c"resource not mapped"),
    (212, c"resource not mapped as array"),
    (213, c"resource not mapped as pointer"),
    (214, c"uncorrectable ECC error encountered"),
    (215, c"limit is not supported on this architecture"),
    (216, c"exclusive-thread device already in use by a different thread"),
    (217, c"peer access is not supported between these two devices"),
    (218, c"a PTX JIT compilation failed"),
    (219, c"invalid OpenGL or DirectX context"),
    (220, c"uncorrectable NVLink error detected during the execution"),
    (221, c"PTX JIT compiler library not found"),
    (222, c"the provided PTX was compiled with an unsupported toolchain."),
    (223, c"PTX JIT compilation was disabled"),
    (224, c"the provided execution affinity is not supported"),
    (225, c"the provided PTX contains unsupported call to cudaDeviceSynchronize"),
    (226, c"Invalid access of peer GPU memory over nvlink or a hardware error"),
    (227, c"Loader version is insufficient for fatbin"),
    (300, c"device kernel image is invalid"),
    (301, c"file not found"),
    (302, c"shared object symbol not found"),
    (303, c"shared object initialization failed"),
    (304, c"OS call failed or operation not supported on this OS"),
    (400, c"invalid resource handle"),
    (401, c"the operation cannot be performed in the present state"),
    (402, c"attempted introspection would be semantically lossy"),
    (500, c"named symbol not found"),
    (600, c"device not ready"),
    (700, c"an illegal memory access was encountered"),
    (701, c"too many resources requested for launch"),
    (702, c"the launch timed out and was terminated"),
    (703, c"launch uses incompatible texturing mode"),
    (704, c"peer access is already enabled"),
    (705, c"peer access has not been enabled"),
    (708, c"cannot set while device is active in this process"),
    (709, c"context is destroyed"),
    (710, c"device-side assert triggered"),
    (711, c"peer mapping resources exhausted"),
    (712, c"part or all of the requested memory range is already mapped"),
    (713, c"pointer does not correspond to a registered memory region"),
    (714, c"hardware stack error"),
    (715, c"an illegal instruction was encountered"),
    (716, c"misaligned address"),
    (717, c"operation not supported on global/shared address space"),
    (718, c"invalid program counter"),
    (719, c"unspecified launch failure"),
    (720, c"too many blocks in cooperative launch"),
    (721, c"tensor memory not completely freed"),
    (800, c"operation not permitted"),
    (801, c"operation not supported"),
    (802, c"system not yet initialized"),
    (803, c"system has unsupported display driver / cuda driver combination"),
    (804, c"forward compatibility was attempted on non supported HW"),
    (805, c"MPS client failed to connect to the MPS control daemon or the MPS server"),
    (806, c"the remote procedural call between the MPS server and the MPS client failed"),
    (807, c"MPS server is not ready to accept new MPS client requests"),
    (808, c"the hardware resources required to create MPS client have been exhausted"),
    (809, c"the hardware resources required to support device connections have been exhausted"),
    (810, c"the MPS client has been terminated by the server"),
    (811, c"is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not support it"),
    (812, c"unsupported interaction between different versions of CUDA Dynamic Parallelism"),
    (900, c"operation not permitted when stream is capturing"),
    (901, c"operation failed due to a previous error during capture"),
    (902, c"operation would result in a merge of separate capture sequences"),
    (903, c"capture was not ended in the same stream as it began"),
    (904, c"capturing stream has unjoined work"),
    (905, c"dependency created on uncaptured work in another stream"),
    (906, c"operation would make the legacy stream depend on a capturing blocking stream"),
    (907, c"operation not permitted on an event last recorded in a capturing stream"),
    (908, c"attempt to terminate a thread-local capture sequence from another thread"),
    (909, c"wait operation timed out"),
    (910, c"the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"),
    (911, c"an async error has occured in external entity outside of CUDA"),
    (912, c"a kernel launch error has occurred due to cluster misconfiguration"),
    (913, c"the function handle is not loaded when calling an API that requires a loaded function"),
    (914, c"one or more resources passed in are not valid resource types for the operation"),
    (915, c"one or more resources are insufficient or non-applicable for the operation"),
    (916, c"an error happened during the key rotation sequence"),
    (917, c"API call not permitted since the green context associated with the stream has been destroyed"),
    (918, c"recapturing to the source graph failed and had to be terminated"),
    (919, c"GPU fabric is not ready within the probe wait budget; application may retry (see CUDA_FABRIC_INIT_TIMEOUT_MS)"),
    (999, c"unknown error"),
];

#[cfg(test)]
mod tests {
    use cushim_abi::errors::{driver_error_name, runtime_error_name};

    use super::*;

    #[test]
    fn every_named_error_has_a_text() {
        assert!(TEXTS.is_sorted_by_key(|row| row.0));
        // 47 came with 13, whose driver was not measured.
        for code in (-1..2000).filter(|code| *code != 47) {
            let named = runtime_error_name(code).is_some() || driver_error_name(code).is_some();
            assert_eq!(named, text(code).is_some(), "{code}");
        }
        assert_eq!(text(2), Some(c"out of memory"));
    }
}
