//! The settings of counting, from environment variables that the launcher sets.
//!
//! Owns the variables' names and meaning. Must not know who counts.

use std::ffi::OsString;
use std::path::PathBuf;

/// The existing file to which launches are reported (`CUSHIM_PROFILE`); nothing is counted without it.
pub const FILE: &str = "CUSHIM_PROFILE";
/// Counts only kernels whose names contain this, or equal the text after `=`; unset for all.
pub const KERNEL: &str = "CUSHIM_PROFILE_KERNEL";
/// How many launches of those are not counted, and then how many are: `SKIP,COUNT`.
pub const LAUNCHES: &str = "CUSHIM_PROFILE_LAUNCHES";
/// Bytes of the model's caches: `L1,L2`.
pub const CACHES: &str = "CUSHIM_PROFILE_CACHES";

/// `counted`: the process is traced, and launches' counters go into the trace (`CUSHIM_GPU_TIME`).
pub const TRACE: &str = "CUSHIM_GPU_TIME";

/// What to count, and where to report it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Where to report it.
    pub file: PathBuf,
    /// A part of a kernel's name, mangled or as in the source; after `=` all of it.
    pub kernel: Option<String>,
    /// The number of first launches to skip.
    pub skip: u64,
    /// Launches after those, if not all.
    pub count: Option<u64>,
    /// Launches' counters go into the process's trace, too.
    pub traced: bool,
    /// Bytes of the model's L1, of one block.
    pub l1: u64,
    /// Bytes of its L2, of the device.
    pub l2: u64,
}

impl Options {
    /// As the environment says; `None` where nothing is to be counted.
    pub fn from(get: impl Fn(&str) -> Option<OsString>) -> Option<Options> {
        let text = |name| get(name).map(|value| value.to_string_lossy().into_owned());
        let pair = |name| {
            let text = text(name).unwrap_or_default();
            let (first, second) = text.split_once(',').unwrap_or((&text, ""));
            (first.parse().ok(), second.parse().ok())
        };
        let file = PathBuf::from(get(FILE)?);
        if !file.is_absolute() {
            return None;
        }
        let ((skip, count), (l1, l2)) = (pair(LAUNCHES), pair(CACHES));
        Some(Options {
            file,
            kernel: text(KERNEL).filter(|name| !name.is_empty()),
            skip: skip.unwrap_or(0),
            count,
            traced: text(TRACE).is_some_and(|what| what == "counted"),
            l1: l1.unwrap_or(128 << 10),
            l2: l2.unwrap_or(50 << 20),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read() {
        let with = |set: &[(&str, &str)]| {
            Options::from(|name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        assert_eq!(with(&[(KERNEL, "x")]), None);
        assert_eq!(with(&[(FILE, "relative")]), None);
        let plain = with(&[(FILE, "/tmp/x")]).map(|o| (o.kernel, o.skip, o.count, o.l1));
        assert_eq!(plain, Some((None, 0, None, 128 << 10)));
        let all = [(FILE, "/tmp/x"), (KERNEL, "=f"), (LAUNCHES, "2,7"), (CACHES, "64,128")];
        let all = with(&all).map(|o| (o.kernel, o.skip, o.count, o.l1, o.l2));
        assert_eq!(all, Some((Some("=f".into()), 2, Some(7), 64, 128)));
    }
}
