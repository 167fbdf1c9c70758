//! A launch's arguments as one block of bytes.
//!
//! Owns: reading them in the ways in which programs hand them over. Must not know: why somebody reads them.

use cushim_abi::types::Ptr;

use crate::graph;
use crate::layouts::Layout;
use crate::record::Arguments;

/// The parameter block that `params` or `extra` stand for; `None` where there is none.
///
/// # Safety
/// They are what a program launches a kernel of this layout with.
pub unsafe fn block(layout: &Layout, params: Ptr, extra: Ptr) -> Option<Vec<u8>> {
    let mut block = vec![0u8; layout.size];
    if layout.params.is_empty() {
        return Some(block);
    }
    // SAFETY: as the caller promises.
    match unsafe { graph::arguments(params.0, extra.0) } {
        Arguments::None => None,
        Arguments::Pointers(pointers) => {
            for (i, param) in layout.params.iter().enumerate() {
                let at = param.offset as usize;
                // SAFETY: as many pointers as the kernel has parameters.
                let from = unsafe { *pointers.add(i) };
                let to = block.get_mut(at..at + param.size as usize)?;
                if !from.is_null() {
                    // SAFETY: what CUDA is about to read from there.
                    unsafe { to.as_mut_ptr().copy_from_nonoverlapping(from, to.len()) };
                }
            }
            Some(block)
        }
        Arguments::Buffer(from, size) => {
            let to = block.get_mut(..size.min(layout.size))?;
            // SAFETY: so many bytes are there, as the program says.
            unsafe { to.as_mut_ptr().copy_from_nonoverlapping(from, to.len()) };
            Some(block)
        }
    }
}
