//! The folder that caches compiled device code between runs, as environment variables set it.
//!
//! Owns the variables' meaning. Must not know: what is in the folder.

use std::ffi::OsString;
use std::path::PathBuf;

/// The folder, if the cache is on and the environment is the user's own.
pub fn folder() -> Option<PathBuf> {
    // SAFETY: reads a number. If it is not 0, the environment comes from a user with fewer rights.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return None;
    }
    meant(&|name| std::env::var_os(name))
}

/// `CUSHIM_CACHE_DIR`, else `cushim` in `XDG_CACHE_HOME`, else `.cache/cushim` in the home folder; none with
/// `CUSHIM_CACHE=off` (or 0, no, false).
fn meant(get: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let get = |name| get(name).filter(|value| !value.is_empty());
    let off = get("CUSHIM_CACHE").is_some_and(|how| {
        ["0", "no", "off", "false"].contains(&how.to_string_lossy().to_lowercase().as_str())
    });
    if off {
        return None;
    }
    // XDG Base Directory Specification: relative paths are ignored.
    let absolute = |name| get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let asked = get("CUSHIM_CACHE_DIR").map(PathBuf::from);
    asked
        .or_else(|| Some(absolute("XDG_CACHE_HOME")?.join("cushim")))
        .or_else(|| Some(absolute("HOME")?.join(".cache/cushim")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(set: &[(&str, &str)]) -> Option<String> {
        let get = |name: &str| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        meant(&get).map(|path| path.display().to_string())
    }

    #[test]
    fn the_folder_is_as_the_environment_says() {
        let (own, xdg, home) =
            (("CUSHIM_CACHE_DIR", "/own"), ("XDG_CACHE_HOME", "/xdg"), ("HOME", "/home/u"));
        assert_eq!(with(&[own, xdg, home]).as_deref(), Some("/own"));
        assert_eq!(with(&[("CUSHIM_CACHE_DIR", ""), xdg, home]).as_deref(), Some("/xdg/cushim"));
        let relative = ("XDG_CACHE_HOME", "relative");
        assert_eq!(with(&[relative, home]).as_deref(), Some("/home/u/.cache/cushim"));
        assert_eq!(with(&[]), None);
        for off in ["off", "0", "No"] {
            assert_eq!(with(&[own, xdg, home, ("CUSHIM_CACHE", off)]), None);
        }
        assert_eq!(with(&[home, ("CUSHIM_CACHE", "on")]).as_deref(), Some("/home/u/.cache/cushim"));
    }
}
