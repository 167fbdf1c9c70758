//! The variables by which CUDA and NVTX load a tool into a program; each can name one library.
//!
//! Must not know: what the library does.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::Error;
use cushim_names::Foreign as _;

/// What the CUDA driver loads at `cuInit`.
pub const CUDA: &str = "CUDA_INJECTION64_PATH";
/// What NVTX loads at its first call.
pub const NVTX: &str = "NVTX_INJECTION64_PATH";

/// The value that puts `library` into `slot`; an error where another tool has it, which `option`
/// would displace.
pub fn claim(slot: &str, library: &Path, option: &str) -> Result<OsString, Error> {
    is_free(slot, std::env::var_os(slot).as_deref(), option)?;
    Ok(library.into())
}

fn is_free(slot: &str, value: Option<&OsStr>, option: &str) -> Result<(), Error> {
    match value.filter(|value| !value.is_empty()) {
        // Ours, from an outer `cushim`.
        Some(value) if Path::new(value).file_name() != Some(OsStr::new("libcushim.so")) => {
            Err(Error::Usage(format!(
                "{option}: {slot} already names {}; only one tool can be there",
                value.shown()
            )))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_tool_is_not_pushed_out() {
        let with = |value: &str| is_free(CUDA, Some(OsStr::new(value)), "--gpu-time");
        assert!(is_free(CUDA, None, "--gpu-time").is_ok() && with("").is_ok());
        assert!(with("/opt/cushim/lib/libcushim.so").is_ok());
        let error = with("/opt/nsight/libToolsInjection64.so").unwrap_err().to_string();
        assert!(error.contains("--gpu-time") && error.contains("libToolsInjection64"), "{error}");
    }
}
