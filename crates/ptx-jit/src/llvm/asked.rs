//! What the environment says of LLVM.
//!
//! Owns the variable, and what of the environment is handed to the process that has the library. It is read once, where the
//! first kernel is compiled, on that thread: a program may change its environment later. Must not know libraries.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The variable that says which library is used: its path, or `auto`, as without it, to search; `off` for none.
pub(super) const VARIABLE: &str = "CUSHIM_LLVM";
/// Where the loader looks for libraries first.
const PATHS: &str = "LD_LIBRARY_PATH";

/// What the environment said.
pub(super) struct Asked {
    /// A library's path; nothing for a search.
    pub(super) path: Option<OsString>,
    /// The environment of the process that has the library, as `NAME=VALUE`. Nothing is preloaded there.
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

/// What the environment asks for; nothing, where it wants no library.
pub(super) fn asked() -> Option<&'static Asked> {
    static ASKED: OnceLock<Option<Asked>> = OnceLock::new();
    ASKED.get_or_init(Asked::read).as_ref()
}

/// The path of the library that is asked for.
pub(super) fn path() -> Option<&'static OsStr> {
    asked()?.path.as_deref()
}

/// Whether a library may be used, where there is one; opens none.
pub(crate) fn is_asked_for() -> bool {
    !LEFT_OUT.load(Ordering::Relaxed) && asked().is_some()
}

static LEFT_OUT: AtomicBool = AtomicBool::new(false);

/// Leaves LLVM out for the kernels that are compiled from now on, or no longer: for benchmarks that compare.
#[doc(hidden)]
pub fn without(yes: bool) {
    LEFT_OUT.store(yes, Ordering::Relaxed);
}
