//! `CUresult` by name, as far as this driver returns it, and the code of each accelerator failure.
//!
//! Source: cuda.h 13.0. Must not know: which call returns which code.

#![allow(missing_docs)]

use cushim_accel::Failure;

pub const INVALID_VALUE: i32 = 1;
pub const OUT_OF_MEMORY: i32 = 2;
pub const NOT_INITIALIZED: i32 = 3;
pub const DEINITIALIZED: i32 = 4;
pub const NO_DEVICE: i32 = 100;
pub const INVALID_DEVICE: i32 = 101;
pub const INVALID_IMAGE: i32 = 200;
pub const INVALID_CONTEXT: i32 = 201;
pub const ALREADY_MAPPED: i32 = 208;
pub const NO_BINARY_FOR_GPU: i32 = 209;
pub const PEER_ACCESS_UNSUPPORTED: i32 = 217;
pub const INVALID_PTX: i32 = 218;
pub const UNSUPPORTED_LIMIT: i32 = 215;
pub const UNSUPPORTED_EXEC_AFFINITY: i32 = 224;
pub const FILE_NOT_FOUND: i32 = 301;
pub const NOT_FOUND: i32 = 500;
pub const INVALID_HANDLE: i32 = 400;
pub const OPERATING_SYSTEM: i32 = 304;
pub const ILLEGAL_STATE: i32 = 401;
pub const NOT_READY: i32 = 600;
pub const ILLEGAL_ADDRESS: i32 = 700;
pub const LAUNCH_OUT_OF_RESOURCES: i32 = 701;
pub const PEER_ACCESS_ALREADY_ENABLED: i32 = 704;
pub const PEER_ACCESS_NOT_ENABLED: i32 = 705;
pub const PRIMARY_CONTEXT_ACTIVE: i32 = 708;
pub const CONTEXT_IS_DESTROYED: i32 = 709;
pub const ASSERT: i32 = 710;
pub const HOST_MEMORY_ALREADY_REGISTERED: i32 = 712;
pub const HOST_MEMORY_NOT_REGISTERED: i32 = 713;
pub const ILLEGAL_INSTRUCTION: i32 = 715;
pub const MISALIGNED_ADDRESS: i32 = 716;
pub const LAUNCH_FAILED: i32 = 719;
pub const COOPERATIVE_LAUNCH_TOO_LARGE: i32 = 720;
pub const NOT_PERMITTED: i32 = 800;
pub const NOT_SUPPORTED: i32 = 801;
pub const STREAM_CAPTURE_UNSUPPORTED: i32 = 900;
pub const STREAM_CAPTURE_INVALIDATED: i32 = 901;
pub const STREAM_CAPTURE_MERGE: i32 = 902;
pub const STREAM_CAPTURE_UNMATCHED: i32 = 903;
pub const STREAM_CAPTURE_UNJOINED: i32 = 904;
pub const STREAM_CAPTURE_ISOLATION: i32 = 905;
pub const STREAM_CAPTURE_IMPLICIT: i32 = 906;
pub const CAPTURED_EVENT: i32 = 907;
pub const STREAM_CAPTURE_WRONG_THREAD: i32 = 908;
pub const GRAPH_EXEC_UPDATE_FAILURE: i32 = 910;
pub const INVALID_CLUSTER_SIZE: i32 = 912;
pub const INVALID_RESOURCE_TYPE: i32 = 914;
pub const UNKNOWN: i32 = 999;

/// The result of a call that failed at once.
pub fn of(failure: &Failure) -> i32 {
    match failure {
        Failure::OutOfMemory => OUT_OF_MEMORY,
        Failure::InvalidAddress(_) => INVALID_VALUE,
        Failure::NoImage(_) => NO_BINARY_FOR_GPU,
        Failure::InvalidImage(_) => INVALID_IMAGE,
        Failure::NotSupported(_) => NOT_SUPPORTED,
        Failure::IllegalAddress(_) => ILLEGAL_ADDRESS,
        Failure::Misaligned(_) => MISALIGNED_ADDRESS,
        Failure::Assert(_) => ASSERT,
        Failure::IllegalInstruction(_) => ILLEGAL_INSTRUCTION,
        Failure::Launch(_) => LAUNCH_FAILED,
        Failure::Device(_) => UNKNOWN,
    }
}

/// The result of every later call in a context in which work has failed.
pub fn sticky(failure: &Failure) -> i32 {
    match failure {
        Failure::InvalidAddress(_) => ILLEGAL_ADDRESS,
        other => of(other),
    }
}
