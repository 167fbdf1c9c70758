//! The launch that nearly all programs use, in a fast part and a rare part.
//!
//! The fast part is inlined into each export; it only tests whether the launch may be fast. Everything else (rules,
//! tools, direct launches, windows, GPU times, a thread's first call, nested calls) is one function out of line:
//! inlined, it would cost every launch registers.
//!
//! Must not know: how an event is stored.

use cushim_abi::Class;
use cushim_abi::types::*;

use super::shape::{Asked, by_stub, plain};
use crate::direct::{self, LaunchKernel};
use crate::forward::{launched, stack};
use crate::record::{Entry, Observed};
use crate::redirect::launch as redirected;
use crate::site::Site;

/// `cudaLaunchKernel`, `__cudaLaunchKernel` and their `_ptsz` forms.
#[inline(always)]
pub unsafe fn launch_kernel(
    site: &'static Site,
    real: LaunchKernel,
    func: Func,
    grid: Dim3,
    block: Dim3,
    args: Ptr,
    shared: usize,
    stream: Stream,
) -> i32 {
    // SAFETY: forwarded as it came.
    let call = || unsafe { real(func, grid, block, args, shared, stream) };
    let asked = || by_stub(func, grid, block, args, shared, stream);
    let stack = stack!();
    if !redirected::enabled() && !direct::enabled() {
        let launch = || plain(&asked(), 0);
        match Observed::enter_quick(site, Class::launch, stack) {
            Entry::Rare => {}
            Entry::Through => return call(),
            Entry::Unkept(observed, _leave) => {
                let status = call();
                // SAFETY: the arguments that were just forwarded.
                unsafe { observed.finish_unkept(status, launch) };
                return status;
            }
            Entry::Kept(observed, _leave) => {
                // SAFETY: the arguments that are about to be forwarded.
                let stored = unsafe { observed.launch(&launch()) };
                let status = call();
                observed.finish_kept(stored, status);
                return status;
            }
        }
    }
    // SAFETY: as it came.
    unsafe { launch_kernel_rarely(site, stack, real, asked(), 0) }
}

/// The slow path of [`launch_kernel`], with rules and tools; also for launches with `flags`
/// (`LAUNCH_*`), which never go directly to the driver. `stack` lies in the caller's frame, as on
/// the fast path: frames that a longjmp left are at the same address or below.
///
/// # Safety
/// `real` is the function of `site`, and `asked` what the program passed.
#[inline(never)]
pub(super) unsafe fn launch_kernel_rarely(
    site: &'static Site,
    stack: usize,
    real: LaunchKernel,
    asked: Asked,
    flags: u8,
) -> i32 {
    // SAFETY: forwarded as it came, except for what rules changed.
    let call = |l: &Asked| unsafe {
        match flags == 0 && direct::enabled() {
            true => direct::launch_kernel(site, real, l),
            false => real(l.func, l.grid, l.block, l.params, l.shared, Stream(l.stream)),
        }
    };
    if redirected::enabled() {
        return redirected::around(site, asked, stack, &mut |l| {
            launched!(site, stack, plain(&l, flags), call(&l))
        });
    }
    launched!(site, stack, plain(&asked, flags), call(&asked))
}
