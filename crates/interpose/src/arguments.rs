//! A launch's arguments, in each form in which programs pass them, and as one block of bytes.
//!
//! Owns: reading all forms. Must not know: what the arguments are used for.

use cushim_abi::structs::launch_param;
use cushim_abi::types::Ptr;

use crate::layouts::Layout;

/// The parameter block that `params` or `extra` describes; `None` if there is none.
///
/// # Safety
/// `params` and `extra` are the arguments of a launch of a kernel with this layout.
pub unsafe fn block(layout: &Layout, params: Ptr, extra: Ptr) -> Option<Vec<u8>> {
    let mut block = vec![0u8; layout.size];
    if layout.params.is_empty() {
        return Some(block);
    }
    // SAFETY: as the caller promises.
    match unsafe { arguments(params.0, extra.0) } {
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
            // SAFETY: the program says that this many bytes are there.
            unsafe { to.as_mut_ptr().copy_from_nonoverlapping(from, to.len()) };
            Some(block)
        }
    }
}

/// How a program passes a kernel's arguments.
#[derive(Clone, Copy)]
pub enum Arguments {
    /// No arguments.
    None,
    /// A pointer to each argument.
    Pointers(*const *const u8),
    /// The whole parameter block, with its size.
    Buffer(*const u8, usize),
}

/// The arguments that `kernelParams` and `extra` describe.
///
/// # Safety
/// `extra` is null or a list that ends with `CU_LAUNCH_PARAM_END`, as CUDA takes it.
pub(crate) unsafe fn arguments(params: usize, extra: usize) -> Arguments {
    // SAFETY: as the caller promises.
    unsafe { ended_by(launch_param::END, params, extra) }
}

/// As [`arguments`], but `end` ends the list: HIP's value differs from CUDA's.
///
/// # Safety
/// `extra` is null or a list that ends with `end`.
pub(crate) unsafe fn ended_by(end: usize, params: usize, extra: usize) -> Arguments {
    if params != 0 {
        return Arguments::Pointers(params as *const *const u8);
    }
    if extra == 0 {
        return Arguments::None;
    }
    let (mut buffer, mut size) = (0usize, None);
    // CUDA has two kinds of entries: more than a few pairs are no list.
    for pair in 0..8usize {
        // SAFETY: as the caller promises; the end was not reached yet.
        let key = unsafe { (extra as *const usize).add(pair * 2).read_unaligned() };
        if key == end {
            break;
        }
        // SAFETY: an entry is a key and a value.
        let value = unsafe { (extra as *const usize).add(pair * 2 + 1).read_unaligned() };
        match key {
            launch_param::BUFFER_POINTER => buffer = value,
            launch_param::BUFFER_SIZE if value != 0 => {
                // SAFETY: the value points to the size.
                size = Some(unsafe { (value as *const usize).read_unaligned() });
            }
            _ => return Arguments::None,
        }
    }
    match size {
        Some(size) if buffer != 0 => Arguments::Buffer(buffer as *const u8, size),
        _ => Arguments::None,
    }
}
