//! The cache of compiled kernels between runs.
//!
//! Owns opening the folder once. Must not know: where it is, what is in it.

use std::sync::{Arc, OnceLock};

use cushim_ptx_jit::Cache;

/// The folder, if there shall be one and it may be used.
pub fn cache() -> Option<Arc<Cache>> {
    static CACHE: OnceLock<Option<Arc<Cache>>> = OnceLock::new();
    let open = || {
        let opened = Cache::open(&cushim_accel::cache::folder()?, Cache::LIMIT);
        if let Err(why) = &opened
            && std::env::var_os("CUSHIM_CPU").is_some_and(|how| how == "report")
        {
            cushim_accel::say(&format!("compiled kernels are not cached: {why}"));
        }
        opened.ok().map(Arc::new)
    };
    CACHE.get_or_init(open).clone()
}
