//! Compares the parameter layouts of two kernels.
//!
//! Must not know: which kernels they are.

use crate::layouts::Layout;

/// Whether kernels with these layouts can be called alike.
pub fn same(a: &Layout, b: &Layout) -> bool {
    a.size == b.size && a.params == b.params
}

/// A layout in words: `4 parameters in 28 bytes (8 8 8 4)`.
pub fn shown(layout: &Layout) -> String {
    let sizes: Vec<String> = layout.params.iter().map(|p| p.size.to_string()).collect();
    format!("{} parameters in {} bytes ({})", sizes.len(), layout.size, sizes.join(" "))
}
