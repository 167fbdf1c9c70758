//! The name of one run of the launcher.
//!
//! Must not know: who uses it.

use super::pattern::host;

/// A unique id of this run, which marks the environment as made by the launcher.
pub fn run_id() -> String {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    format!("{}-{}-{now}", host(), std::process::id())
}
