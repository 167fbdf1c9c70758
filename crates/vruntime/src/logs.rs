//! The driver's log of errors (13).
//!
//! Owns nothing: the log, its iterators and callbacks are the driver's, with one layout in both APIs. Must
//! not know: what is logged.

use cushim_abi::types::*;

use super::forward::{forwards, functions, pass};

forwards! {
    cudaLogsRegisterCallback (callbackFunc: Ptr, userData: Ptr, callback_out: Out<Ptr>) = cuLogsRegisterCallback(callbackFunc, userData, callback_out);
    cudaLogsUnregisterCallback (callback: Ptr) = cuLogsUnregisterCallback(callback);
    cudaLogsCurrent (iterator_out: Out<u32>, flags: Flags) = cuLogsCurrent(iterator_out, flags);
    cudaLogsDumpToFile (iterator: Out<u32>, pathToFile: Str, flags: Flags) = cuLogsDumpToFile(iterator, pathToFile, flags);
    cudaLogsDumpToMemory (iterator: Out<u32>, buffer: Ptr, size: Out<usize>, flags: Flags) = cuLogsDumpToMemory(iterator, buffer, size, flags);
}
