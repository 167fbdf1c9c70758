//! The name of one run of the launcher.
//!
//! Must not know: who uses it.

use super::pattern::host;

/// What says that the launcher made the environment, and by which run: no two have the same.
pub fn run_id() -> String {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    format!("{}-{}-{now}", host(), std::process::id())
}
