//! What the environment says of LLVM.
//!
//! Owns the variable, and which variables the process with the library receives. The environment is read once, when the
//! first kernel is compiled, on that thread: a program may change it later. Must not know libraries.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The variable that selects the library: a path names one, `auto` or no value searches for one; `off`: none.
pub(super) const VARIABLE: &str = "CUSHIM_LLVM";
/// The loader's first search path.
const PATHS: &str = "LD_LIBRARY_PATH";

/// The environment's settings.
pub(super) struct Asked {
    /// The library's path; `None`: search for one.
    pub(super) path: Option<OsString>,
    /// The environment of the process with the library, as `NAME=VALUE`, without preloads.
    pub(super) environment: Vec<CString>,
}

impl Asked {
    pub(super) fn read() -> Option<Asked> {
        let value = std::env::var_os(VARIABLE);
        let path = match value.as_deref() {
            None => None,
            Some(v) if v == "auto" => None,
            Some(v) if v.is_empty() || v == "off" => return None,
            Some(v) => Some(v.to_owned()),
        };
        let entry = |name: &str, value: OsString| {
            let mut entry = OsString::from(name);
            entry.push("=");
            entry.push(value);
            CString::new(entry.into_vec()).ok()
        };
        let kept = [(VARIABLE, value), (PATHS, std::env::var_os(PATHS))];
        let kept = kept.into_iter().filter_map(|(name, value)| entry(name, value?));
        Some(Asked { path, environment: kept.collect() })
    }
}

/// The environment's settings; `None` if it wants no library.
pub(super) fn asked() -> Option<&'static Asked> {
    static ASKED: OnceLock<Option<Asked>> = OnceLock::new();
    ASKED.get_or_init(Asked::read).as_ref()
}

/// The library's path, if the environment gives one.
pub(super) fn path() -> Option<&'static OsStr> {
    asked()?.path.as_deref()
}

/// Whether LLVM may be used, if there is a library; opens none.
pub(crate) fn is_asked_for() -> bool {
    !LEFT_OUT.load(Ordering::Relaxed) && asked().is_some()
}

static LEFT_OUT: AtomicBool = AtomicBool::new(false);

/// Switches LLVM off (`true`) or on again for kernels that are compiled from now on: for benchmarks.
#[doc(hidden)]
pub fn without(yes: bool) {
    LEFT_OUT.store(yes, Ordering::Relaxed);
}
