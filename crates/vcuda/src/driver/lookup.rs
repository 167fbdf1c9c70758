//! Functions of the driver by name, and errors by number.
//!
//! Owns cuGetProcAddress: which of the forms of a name a program of a given CUDA means. Must not know: what
//! the functions do.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::OnceLock;

use cushim_abi::errors::driver_error_name;
use cushim_abi::index::DRIVER_NAMES;
use cushim_abi::types::*;

use super::entry::entry;
use super::state::{at, give, offer, text};
use super::status;
use crate::error_text;

/// The forms that came with CUDA 11 or later, and with which (cudaTypedefs.h of 13.5); all others are older
/// than any program that asks.
#[rustfmt::skip]
const SINCE: [(&str, i32); 41] = [
    ("cuCtxCreate_v3", 11040),
    ("cuCtxCreate_v4", 12050),
    ("cuCtxGetDevice_v2", 13000),
    ("cuCtxSynchronize_v2", 13000),
    ("cuDeviceGetUuid_v2", 11040),
    ("cuDevicePrimaryCtxRelease_v2", 11000),
    ("cuDevicePrimaryCtxReset_v2", 11000),
    ("cuDevicePrimaryCtxSetFlags_v2", 11000),
    ("cuEventElapsedTime_v2", 12080),
    ("cuGetProcAddress_v2", 12000),
    ("cuGraphAddDependencies_v2", 12030),
    ("cuGraphAddKernelNode_v2", 12000),
    ("cuGraphAddNode_v2", 12030),
    ("cuGraphAddNode_v3", 13040),
    ("cuGraphExecKernelNodeSetParams_v2", 12000),
    ("cuGraphExecUpdate_v2", 12000),
    ("cuGraphGetEdges_v2", 12030),
    ("cuGraphInstantiate_v2", 11000),
    ("cuGraphKernelNodeGetParams_v2", 12000),
    ("cuGraphKernelNodeSetParams_v2", 12000),
    ("cuGraphNodeGetDependencies_v2", 12030),
    ("cuGraphNodeGetDependentNodes_v2", 12030),
    ("cuGraphNodeSetParams_v2", 13040),
    ("cuGraphRemoveDependencies_v2", 12030),
    ("cuIpcOpenMemHandle_v2", 11000),
    ("cuLaunchHostFunc_v2", 13010),
    ("cuMemAdvise_v2", 12020),
    ("cuMemPrefetchAsync_v2", 12020),
    ("cuMemcpy3DBatchAsync_v2", 13000),
    ("cuMemcpyBatchAsync_v2", 13000),
    ("cuMulticastBindAddr_v2", 13010),
    ("cuMulticastBindMem_v2", 13010),
    ("cuStreamBatchMemOp_v2", 11070),
    ("cuStreamGetCaptureInfo_v2", 11030),
    ("cuStreamGetCaptureInfo_v3", 12030),
    ("cuStreamGetCtx_v2", 12050),
    ("cuStreamUpdateCaptureDependencies_v2", 12030),
    ("cuStreamWaitValue32_v2", 11070),
    ("cuStreamWaitValue64_v2", 11070),
    ("cuStreamWriteValue32_v2", 11070),
    ("cuStreamWriteValue64_v2", 11070),
];

/// `CU_GET_PROC_ADDRESS_*`.
const LEGACY: u64 = 1;
const PER_THREAD: u64 = 2;

/// `CUdriverProcAddressQueryResult`.
const FOUND: i32 = 0;
const NO_SUCH_NAME: i32 = 1;
const TOO_OLD: i32 = 2;

fn numbers() -> &'static HashMap<&'static str, usize> {
    static NUMBERS: OnceLock<HashMap<&'static str, usize>> = OnceLock::new();
    NUMBERS.get_or_init(|| DRIVER_NAMES.iter().enumerate().map(|(at, name)| (*name, at)).collect())
}

fn since(form: &str) -> i32 {
    SINCE.iter().find(|(name, _)| *name == form).map_or(0, |(_, version)| *version)
}

/// The number of the function that a program of CUDA `version` means by a name, and how it was found.
fn lookup(name: &str, version: i32, per_thread: bool) -> (Option<usize>, i32) {
    let numbered = (2..=5).rev().map(|form| format!("{name}_v{form}"));
    let mut seen = false;
    for form in numbered.chain([name.to_owned()]) {
        let plain = numbers().get(form.as_str());
        let own = || {
            let endings = ["_ptsz", "_ptds"].iter();
            endings.filter_map(|ending| numbers().get(format!("{form}{ending}").as_str())).next()
        };
        let found = if per_thread { own().or(plain) } else { plain };
        let Some(found) = found else { continue };
        seen = true;
        if since(&form) <= version {
            return (Some(*found), FOUND);
        }
    }
    (None, if seen { TOO_OLD } else { NO_SUCH_NAME })
}

/// What both forms of cuGetProcAddress answer.
unsafe fn find(
    symbol: Str,
    to: Ptr,
    version: i32,
    flags: u64,
    outcome: Out<i32>,
) -> Result<(), i32> {
    // SAFETY: the program's string.
    let name = unsafe { text(symbol) }?.to_str().unwrap_or_default();
    if to.0 == 0 || flags & !(LEGACY | PER_THREAD) != 0 || flags == LEGACY | PER_THREAD {
        return Err(status::INVALID_VALUE);
    }
    let (number, how) = lookup(name, version, flags == PER_THREAD);
    let ours = |number| super::function(number).map(|found| found.expose_provenance());
    let exported = |number| crate::front::address(number).or_else(|| ours(number));
    let address = number.and_then(exported).unwrap_or(0);
    // SAFETY: the program's places.
    unsafe {
        give(at(to), Ptr(address))?;
        offer(outcome, how);
    }
    if number.is_none() && outcome.0.is_null() { Err(status::NOT_FOUND) } else { Ok(()) }
}

/// The names of errors, each with its NUL.
fn name(error: i32) -> Option<Str> {
    static NAMES: OnceLock<HashMap<i32, CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let named = (0..1000).filter_map(|code| Some((code, driver_error_name(code)?)));
        named.filter_map(|(code, name)| Some((code, CString::new(name).ok()?))).collect()
    });
    names.get(&error).map(|name| Str(name.as_ptr().expose_provenance()))
}

/// Gives a text; nothing of the kind, and null, for a number that is no error (measured).
unsafe fn tell(to: Out<Str>, found: Option<Str>) -> Result<(), i32> {
    // SAFETY: the caller's place.
    unsafe { give(to, found.unwrap_or(Str(0))) }?;
    found.map(drop).ok_or(status::INVALID_VALUE)
}

entry! {
    fn cuGetProcAddress (symbol: Str, pfn: Ptr, cudaVersion: i32, flags: Flags64) {
        find(symbol, pfn, cudaVersion, flags.0, Out(std::ptr::null_mut()))
    }

    fn cuGetProcAddress_v2 (symbol: Str, pfn: Ptr, cudaVersion: i32, flags: Flags64, symbolStatus: Ptr) {
        find(symbol, pfn, cudaVersion, flags.0, at(symbolStatus))
    }

    fn cuGetErrorName (error: i32, pStr: Out<Str>) {
        tell(pStr, name(error))
    }

    fn cuGetErrorString (error: i32, pStr: Out<Str>) {
        let known = driver_error_name(error).and_then(|_| error_text::text(error));
        tell(pStr, known.map(|text| Str(text.as_ptr().expose_provenance())))
    }

    // No profiler listens here: a range begins and ends.
    fn cuProfilerStart cuProfilerStop () {
        super::state::check()
    }

    // What NVIDIA's libraries ask for by number and nobody has written down.
    fn cuGetExportTable (ppExportTable: Out<Ptr>, pExportTableId: Ptr) {
        let _ = (ppExportTable, pExportTableId);
        Err(status::NOT_FOUND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, version: i32, per_thread: bool) -> Result<&'static str, i32> {
        let (number, how) = lookup(name, version, per_thread);
        number.and_then(|number| DRIVER_NAMES.get(number).copied()).ok_or(how)
    }

    #[test]
    fn the_version_chooses_the_form() {
        assert_eq!(named("cuMemAlloc", 11_000, false), Ok("cuMemAlloc_v2"));
        assert_eq!(named("cuCtxCreate", 11_000, false), Ok("cuCtxCreate_v2"));
        assert_eq!(named("cuCtxCreate", 12_040, false), Ok("cuCtxCreate_v3"));
        assert_eq!(named("cuCtxCreate", 13_000, false), Ok("cuCtxCreate_v4"));
        assert_eq!(named("cuGetProcAddress", 11_030, false), Ok("cuGetProcAddress"));
        assert_eq!(named("cuGetProcAddress", 12_000, false), Ok("cuGetProcAddress_v2"));
        assert_eq!(named("cuMemcpyHtoD", 12_000, true), Ok("cuMemcpyHtoD_v2_ptds"));
        assert_eq!(named("cuStreamSynchronize", 12_000, true), Ok("cuStreamSynchronize_ptsz"));
        assert_eq!(named("cuInit", 12_000, true), Ok("cuInit"));
        assert_eq!(named("cuNoSuchThing", 12_000, false), Err(NO_SUCH_NAME));
    }

    #[test]
    fn every_dated_form_exists() {
        for (form, version) in SINCE {
            assert!(numbers().contains_key(form), "{form}");
            assert!((11_000..14_000).contains(&version), "{form}");
        }
    }
}
