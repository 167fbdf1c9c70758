//! Launch rules applied to kernel nodes that a program creates or changes explicitly.
//!
//! Owns: the copy of the node's parameters that CUDA gets if a rule changes them; the program's parameters stay
//! unchanged. Must not know: what a rule does.

use cushim_abi::structs::*;
use cushim_abi::types::*;

use crate::redirect::launch::{self, AskedLaunch};
use crate::redirect::place::Place;
use crate::redirect::substitute;
use crate::site::Site;

/// Bytes of `cudaGraphNodeParams` and `CUgraphNodeParams`, a fixed size (they have reserved words).
const GENERIC_BYTES: usize = 256;
/// The words after a kernel's common part: the handle, then a context (driver); a context, then the kind of handle
/// (generic ones of runtime 13).
const AFTER: usize = size_of::<KernelNodeParams>();
/// `cudaKernelFunctionTypeDeviceEntry`: what `func` names is a host stub.
const BY_STUB: u32 = 1;

/// Space for changed parameters.
#[repr(align(8))]
pub struct Copy([u8; GENERIC_BYTES]);

impl Default for Copy {
    fn default() -> Self {
        Copy([0; GENERIC_BYTES])
    }
}

/// The parameters to pass to CUDA instead of `params`, in which the kernel's parameters start at offset `before`, in
/// bytes.
///
/// # Errors
/// The status that the call must return if the node's kernel cannot be launched.
///
/// # Safety
/// `params` points to the structure that the call of `site` takes; `has_kernel` says whether it holds a
/// kernel handle and a context behind the common part.
pub unsafe fn params(
    site: &'static Site,
    params: Ptr,
    before: usize,
    has_kernel: bool,
    copy: &mut Copy,
) -> Result<Ptr, i32> {
    let at = params.0 + before;
    // SAFETY: as the caller promises.
    let p = unsafe { (at as *const KernelNodeParams).read_unaligned() };
    let after = (at + AFTER) as *const u64;
    // SAFETY: the structure goes on behind the common part.
    let kern = if has_kernel { unsafe { after.read_unaligned() as usize } } else { 0 };
    let by_kern = p.func == 0 && kern != 0;
    // Of the runtime's structures, only the generic one has a context; in older ones these words
    // are 0.
    let second = match (has_kernel, before) {
        (true, _) => Some(1),
        (false, 0) => None,
        (false, _) => Some(0),
    };
    // SAFETY: the structure goes on behind the common part.
    let context = second.map_or(0, |at| unsafe { after.add(at).read_unaligned() as usize });
    let place = match (context, has_kernel) {
        (0, _) => Place::Current,
        // The driver uses a function's own context.
        (_, true) if !by_kern => Place::Current,
        (context, true) => Place::Context(context),
        (_, false) => Place::Execution,
    };
    let KernelNodeParams { grid, block, args, extra, .. } = p;
    let asked = AskedLaunch {
        func: Func(if by_kern { kern } else { p.func }),
        grid,
        block,
        shared: p.shared as usize,
        stream: 0,
        params: Ptr(args),
        extra: Ptr(extra),
    };
    let Some(wanted) = launch::node(site, asked, place)? else { return Ok(params) };
    let bytes = match (before, has_kernel) {
        (0, false) => AFTER,
        (0, true) => AFTER + 2 * size_of::<u64>(),
        _ => GENERIC_BYTES,
    };
    // SAFETY: the program's structure has this many bytes, and the copy has room for the longest.
    unsafe {
        let to = copy.0.as_mut_ptr();
        std::ptr::copy_nonoverlapping(params.0 as *const u8, to, bytes);
        let to = to.add(before);
        let mut new = p;
        (new.grid, new.block, new.shared) = (wanted.grid, wanted.block, wanted.shared as u32);
        let after = to.add(AFTER).cast::<u64>();
        if wanted.func != asked.func {
            let made = substitute::is_made(wanted.func);
            match by_kern && !made {
                true => after.write_unaligned(wanted.func.0 as u64),
                false => new.func = wanted.func.0,
            }
            // The replacement is a stub, whatever kind of handle the program has.
            let kind = after.add(1);
            if made && before != 0 && site.node.is_some() && kind.read_unaligned() as u32 != 0 {
                kind.cast::<u32>().write_unaligned(BY_STUB);
            }
        }
        to.cast::<KernelNodeParams>().write_unaligned(new);
    }
    Ok(Ptr(copy.0.as_ptr().addr()))
}
