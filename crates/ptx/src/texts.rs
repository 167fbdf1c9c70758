//! Parses, checks and links PTX texts into one module.
//!
//! Owns the steps from text to module, and whether products and sums are fused. Must not know: what runs the module.

use std::sync::OnceLock;

use crate::ir::Module;
use crate::{Error, check, contract, cooperative, link, parse};

/// Whether products and sums are fused as on a GPU: not with `CUSHIM_FMAD=off` (or 0, no, false).
pub fn fuses() -> bool {
    static FUSES: OnceLock<bool> = OnceLock::new();
    *FUSES.get_or_init(|| {
        let how = std::env::var_os("CUSHIM_FMAD").unwrap_or_default();
        !["0", "no", "off", "false"].contains(&how.to_string_lossy().to_lowercase().as_str())
    })
}

/// Texts as one module; each ends at its first NUL, if it has one. NVIDIA's device runtime library is left out beside
/// other texts, because the host handles its calls. With `fused`, products and sums are fused, except in texts that
/// are compiled for a debugger, which stay unchanged.
///
/// # Errors
/// A text is not PTX, or two texts define one name.
pub fn module(parts: &[&[u8]], fused: bool) -> Result<Module, Error> {
    let mut modules = Vec::with_capacity(parts.len());
    for part in parts {
        let end = part.iter().position(|byte| *byte == 0).unwrap_or(part.len());
        let text = String::from_utf8_lossy(part.get(..end).unwrap_or_default());
        let tree = parse(&text)?;
        let mut module = check(&tree)?;
        if parts.len() > 1 && module.is_device_runtime() {
            continue;
        }
        if fused && !tree.targets.contains(&"debug") {
            contract(&mut module);
        }
        modules.push(module);
    }
    cooperative::complete(&mut modules)?;
    match modules.len() {
        1 => Ok(modules.remove(0)),
        _ => link(modules),
    }
}
