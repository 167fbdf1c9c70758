//! Functions of the driver by name, and errors by number.
//!
//! Owns cuGetProcAddress: which form of a function a program of a given CUDA version gets. Must not know: what the
//! functions do.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::OnceLock;

use cushim_abi::errors::driver_error_name;
use cushim_abi::index::DRIVER_NAMES;
use cushim_abi::types::*;

use super::entry::entry;
use super::state::{give, not_over, offer};
use super::status;
use crate::argument::{At, Place, Text};
use cushim_vbase::error_text;

/// `CU_GET_PROC_ADDRESS_*`.
const LEGACY: u64 = 1;
const PER_THREAD: u64 = 2;

/// `CUdriverProcAddressQueryResult`.
const FOUND: i32 = 0;
const NO_SUCH_NAME: i32 = 1;
const TOO_OLD: i32 = 2;

/// The first CUDA version with functions for per-thread default streams.
const OWN_STREAMS_SINCE: i32 = 7000;

/// A form of a function: the CUDA that it came with, its number, and that of its twin for per-thread default streams.
struct Form {
    since: i32,
    number: usize,
    own: Option<usize>,
}

/// A name without the number of its form.
fn base(form: &str) -> &str {
    match form.rsplit_once("_v") {
        Some((base, number)) if number.bytes().all(|digit| digit.is_ascii_digit()) => base,
        _ => form,
    }
}

/// The forms by the name that programs ask for, the newest last.
fn forms() -> &'static HashMap<&'static str, Vec<Form>> {
    static FORMS: OnceLock<HashMap<&'static str, Vec<Form>>> = OnceLock::new();
    FORMS.get_or_init(|| {
        let numbers: HashMap<&str, usize> =
            DRIVER_NAMES.iter().enumerate().map(|(at, name)| (*name, at)).collect();
        let own = |form: &str| {
            let twin = |ending| numbers.get(format!("{form}{ending}").as_str()).copied();
            twin("_ptsz").or_else(|| twin("_ptds"))
        };
        let mut forms: HashMap<&str, Vec<Form>> = HashMap::new();
        for line in include_str!("since.txt").lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split(' ');
            let since = words.next().and_then(|word| word.parse().ok()).unwrap_or(i32::MAX);
            for name in words {
                if let Some(&number) = numbers.get(name) {
                    forms.entry(base(name)).or_default().push(Form {
                        since,
                        number,
                        own: own(name),
                    });
                }
            }
        }
        forms.values_mut().for_each(|forms| forms.sort_by_key(|form| form.since));
        forms
    })
}

/// The number of the function that a program of CUDA `version` means by a name, and how it was
/// found. Suffixed names of forms are not found (measured).
fn lookup(name: &str, version: i32, per_thread: bool) -> (Option<usize>, i32) {
    let Some(forms) = forms().get(name) else { return (None, NO_SUCH_NAME) };
    // A negative version counts as the latest (H200).
    let version = if version < 0 { i32::MAX } else { version };
    if per_thread && version < OWN_STREAMS_SINCE && forms.iter().any(|form| form.own.is_some()) {
        return (None, TOO_OLD);
    }
    match forms.iter().rfind(|form| form.since <= version) {
        Some(form) => (form.own.filter(|_| per_thread).or(Some(form.number)), FOUND),
        None => (None, TOO_OLD),
    }
}

/// The result of both forms of cuGetProcAddress.
fn find(
    symbol: Text,
    to: Place<Ptr>,
    version: i32,
    flags: u64,
    outcome: Place<i32>,
) -> Result<(), i32> {
    not_over()?;
    let name = symbol.read()?.to_str().unwrap_or_default();
    if to.is_null() || flags & !(LEGACY | PER_THREAD) != 0 {
        return Err(status::INVALID_VALUE);
    }
    let (number, how) = lookup(name, version, flags & PER_THREAD != 0);
    let ours = |number| super::function(number).map(|found| found.expose_provenance());
    let exported = |number| cushim_vbase::front::address(number).or_else(|| ours(number));
    let address = number.and_then(exported).unwrap_or(0);
    give(to, Ptr(address))?;
    offer(outcome, how);
    if number.is_none() && outcome.is_null() { Err(status::NOT_FOUND) } else { Ok(()) }
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

/// Returns a string; for an unknown error number, CUDA_ERROR_INVALID_VALUE and null (measured).
fn tell(to: Place<Str>, found: Option<Str>) -> Result<(), i32> {
    give(to, found.unwrap_or(Str(0)))?;
    found.map(drop).ok_or(status::INVALID_VALUE)
}

entry! {
    fn cuGetProcAddress (symbol: Str, pfn: At<Ptr>, cudaVersion: i32, flags: Flags64) {
        find(symbol, pfn, cudaVersion, flags.0, Place::NOWHERE)
    }

    fn cuGetProcAddress_v2 (symbol: Str, pfn: At<Ptr>, cudaVersion: i32, flags: Flags64, symbolStatus: At<i32>) {
        find(symbol, pfn, cudaVersion, flags.0, symbolStatus)
    }

    fn cuGetErrorName (error: i32, pStr: Out<Str>) {
        not_over()?;
        tell(pStr, name(error))
    }

    fn cuGetErrorString (error: i32, pStr: Out<Str>) {
        not_over()?;
        let known = driver_error_name(error).and_then(|_| error_text::text(error));
        tell(pStr, known.map(|text| Str(text.as_ptr().expose_provenance())))
    }

    // No profiler is attached here: nothing to do.
    fn cuProfilerStart cuProfilerStop () {
        super::state::check()
    }

    // Undocumented tables, which NVIDIA's libraries ask for by number.
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
    fn old_programs_get_the_functions_of_their_time() {
        assert_eq!(named("cuMemAlloc", 3010, false), Ok("cuMemAlloc"));
        assert_eq!(named("cuCtxGetDevice", 12_090, false), Ok("cuCtxGetDevice"));
        assert_eq!(named("cuCtxGetDevice", 13_000, false), Ok("cuCtxGetDevice_v2"));
        assert_eq!(named("cuMemPrefetchAsync", 12_010, true), Ok("cuMemPrefetchAsync_ptsz"));
        assert_eq!(named("cuMemPrefetchAsync", 7050, false), Err(TOO_OLD));
        assert_eq!(named("cuStreamQuery", 6050, true), Err(TOO_OLD));
        assert_eq!(named("cuMemAlloc_v2", 12_000, false), Err(NO_SUCH_NAME));
        assert_eq!(named("cuStreamQuery_ptsz", 12_000, false), Err(NO_SUCH_NAME));
        assert_eq!(named("cuInit", 1000, false), Err(TOO_OLD));
    }

    #[test]
    fn every_dated_form_exists() {
        let listed = include_str!("since.txt").lines().filter(|line| !line.starts_with('#'));
        let count = listed.map(|line| line.split(' ').count() - 1).sum::<usize>();
        assert_eq!(forms().values().map(Vec::len).sum::<usize>(), count);
        for (name, forms) in forms() {
            for pair in forms.windows(2) {
                assert!(matches!(pair, [a, b] if a.since < b.since), "{name}");
            }
        }
    }
}
