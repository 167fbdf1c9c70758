//! The library's imports: no function that a sanitizer, an allocator or another preloaded library replaces
//! before it is ready.

use std::collections::BTreeSet;
use std::process::Command;

use crate::lab::library;

/// The imports that are allowed, and why.
const MAY: [(&str, &[&str]); 6] = [
    (
        "exceptions pass through, and a panic is caught",
        &[
            "_Unwind_Backtrace",
            "_Unwind_DeleteException",
            "_Unwind_GetDataRelBase",
            "_Unwind_GetIP",
            "_Unwind_GetIPInfo",
            "_Unwind_GetLanguageSpecificData",
            "_Unwind_GetRegionStart",
            "_Unwind_GetTextRelBase",
            "_Unwind_RaiseException",
            "_Unwind_Resume",
            "_Unwind_SetGR",
            "_Unwind_SetIP",
        ],
    ),
    (
        "the C library's own, which nobody defines anew, and the loader's data",
        &[
            "_ITM_deregisterTMCloneTable",
            "_ITM_registerTMCloneTable",
            "__cxa_atexit",
            "__cxa_finalize",
            "__cxa_thread_atexit_impl",
            "__errno_location",
            "__gmon_start__",
            "__register_atfork",
            "__tls_get_addr",
            "__xpg_strerror_r",
            "_exit",
            "_r_debug",
            "abort",
            "dlerror",
            "environ",
            "getauxval",
            "sysconf",
        ],
    ),
    (
        "threads: from the first event on, or for --gpu-time",
        &[
            "pause",
            "pthread_attr_destroy",
            "pthread_attr_getguardsize",
            "pthread_attr_getstack",
            "pthread_attr_init",
            "pthread_attr_setstacksize",
            "pthread_create",
            "pthread_detach",
            "pthread_getattr_np",
            "pthread_key_create",
            "pthread_key_delete",
            "pthread_self",
            "pthread_setname_np",
            "pthread_setspecific",
            "pthread_sigmask",
            "sigaltstack",
            "sigfillset",
        ],
    ),
    (
        "files of --dump, --redirect and CUPTI, on cold paths",
        &["closedir", "dirfd", "getcwd", "gethostname", "opendir", "readdir64", "realpath"],
    ),
    (
        "memory of zstd's, given back at once, and of realpath",
        &["calloc", "free", "malloc", "posix_memalign", "realloc"],
    ),
    (
        "weak, and null",
        &[
            "ZSTD_trace_compress_begin",
            "ZSTD_trace_compress_end",
            "ZSTD_trace_decompress_begin",
            "ZSTD_trace_decompress_end",
        ],
    ),
];

#[test]
fn nothing_is_asked_of_whoever_interposes() {
    let done = Command::new("readelf").args(["--dyn-syms", "-W"]).arg(library()).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    let undefined = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.get(6) == Some(&"UND")).then(|| words.get(7)?.split('@').next()).flatten()
    });
    let undefined: BTreeSet<&str> = undefined.filter(|name| !name.is_empty()).collect();
    assert!(undefined.contains("_Unwind_Resume"), "readelf lists them");
    let may: BTreeSet<&str> = MAY.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let more: Vec<_> = undefined.difference(&may).collect();
    assert!(
        more.is_empty(),
        "{more:?}: define them in crates/apart, or say here why they may stay"
    );
}
