//! Contexts: which one is current on a thread, and which device it is on.
//!
//! Owns: the handlers of the driver's calls that create, change and destroy contexts. Must not know: what happens in
//! a context.

use std::sync::atomic::{AtomicUsize, Ordering};

use cushim_abi::types::*;
use cushim_process::elf::{self, Version};
use cushim_trace::meta;

use crate::forward::observed;
use crate::given::answered;
use crate::site::Site;
use crate::{device, gputime, life, redirect, thread};

/// Primary contexts of more devices are not followed.
const MOST_DEVICES: usize = 64;

fn context_of_device(context: usize, device: i32) {
    if let Some(recorder) = life::current().and_then(|g| g.recorder.as_ref()) {
        recorder.write_meta(&meta::encode_context(context as u64, device, recorder.ticks()));
    }
}

fn set_current(context: usize) {
    redirect::binding::switched();
    // SAFETY: the reference is written through and dropped at once.
    if let Some(thread) = life::global().and_then(|global| unsafe { thread::current(global) }) {
        thread.context = context;
    }
}

/// `cuDevicePrimaryCtxRetain`.
pub unsafe fn primary_ctx_retain(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Out<Context>, Device) -> i32,
    out: Out<Context>,
    device: Device,
) -> i32 {
    let status = observed!(site, [out, device], real(out, device));
    // SAFETY: the call's own place and answer.
    if let Some(context) = unsafe { answered(status, out) } {
        context_of_device(context.0, device.0);
        if let Some(known) = primary(device) {
            known.store(context.0, Ordering::Release);
        }
    }
    status
}

/// The device's primary context as the program was given it, 0 before.
fn primary(device: Device) -> Option<&'static AtomicUsize> {
    static PRIMARY: [AtomicUsize; MOST_DEVICES] = [const { AtomicUsize::new(0) }; MOST_DEVICES];
    PRIMARY.get(usize::try_from(device.0).ok()?)
}

/// Whether a device's primary context exists, as far as the driver says.
fn exists(device: Device) -> bool {
    type State = unsafe extern "C-unwind" fn(Device, *mut u32, *mut i32) -> i32;
    let Some(state) = device::function(c"cuDevicePrimaryCtxGetState") else { return true };
    let (mut flags, mut active) = (0, 0);
    // SAFETY: the function's signature; both places are valid.
    let status =
        unsafe { std::mem::transmute::<usize, State>(state)(device, &mut flags, &mut active) };
    status != 0 || active != 0
}

/// `cuDevicePrimaryCtxRelease`, `cuDevicePrimaryCtxReset`: the context may end. A reset takes what is in it, a release
/// only if it is the last.
pub unsafe fn primary_ctx_end(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Device) -> i32,
    device: Device,
) -> i32 {
    let status = gputime::ending(None, || observed!(site, [device], real(device)));
    // Variables of a context that still exists are found to be filled.
    redirect::binding::gone();
    let context = primary(device).map_or(0, |known| known.load(Ordering::Acquire));
    if status == 0 && context != 0 && redirect::plan().is_some() {
        let is_reset = site.name.to_bytes().starts_with(b"cuDevicePrimaryCtxReset");
        if is_reset || !exists(device) {
            redirect::driver::context_gone(context);
        }
    }
    status
}

/// `cuCtxSetCurrent`, `cuCtxPushCurrent`.
pub unsafe fn ctx_set_current(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Context) -> i32,
    context: Context,
) -> i32 {
    let status = observed!(site, [context], real(context));
    if status == 0 {
        set_current(context.0);
    }
    status
}

/// `cuCtxPopCurrent`: asks the driver for the context that is current now.
pub unsafe fn ctx_pop_current(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Out<Context>) -> i32,
    out: Out<Context>,
) -> i32 {
    let status = observed!(site, [out], real(out));
    if status == 0 {
        let mut below = 0usize;
        let known = elf::next(c"cuCtxGetCurrent", Version::Any, |_| true).is_some_and(|get| {
            // SAFETY: the signature of cuCtxGetCurrent; the place is valid.
            unsafe {
                let get: unsafe extern "C-unwind" fn(*mut usize) -> i32 =
                    std::mem::transmute::<usize, _>(get);
                get(&mut below) == 0
            }
        });
        set_current(if known { below } else { 0 });
    }
    status
}

/// A context that a call created: it is current now.
unsafe fn created(status: i32, out: Out<Context>, device: Device) -> i32 {
    // SAFETY: the call's own place and answer.
    if let Some(context) = unsafe { answered(status, out) } {
        context_of_device(context.0, device.0);
        set_current(context.0);
    }
    status
}

/// `cuCtxCreate_v2`.
pub unsafe fn ctx_create(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Out<Context>, Flags, Device) -> i32,
    out: Out<Context>,
    flags: Flags,
    device: Device,
) -> i32 {
    let status = observed!(site, [out, flags, device], real(out, flags, device));
    // SAFETY: its own out value.
    unsafe { created(status, out, device) }
}

/// `cuCtxCreate_v3`.
pub unsafe fn ctx_create_v3(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Out<Context>, Ptr, i32, Flags, Device) -> i32,
    out: Out<Context>,
    params: Ptr,
    count: i32,
    flags: Flags,
    device: Device,
) -> i32 {
    let status = observed!(
        site,
        [out, params, count, flags, device],
        real(out, params, count, flags, device)
    );
    // SAFETY: its own out value.
    unsafe { created(status, out, device) }
}

/// `cuCtxCreate_v4`.
pub unsafe fn ctx_create_v4(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Out<Context>, Ptr, Flags, Device) -> i32,
    out: Out<Context>,
    params: Ptr,
    flags: Flags,
    device: Device,
) -> i32 {
    let status = observed!(site, [out, params, flags, device], real(out, params, flags, device));
    // SAFETY: its own out value.
    unsafe { created(status, out, device) }
}

/// `cuCtxDestroy`: a destroyed context is not current any more.
pub unsafe fn ctx_destroy(
    site: &'static Site,
    real: unsafe extern "C-unwind" fn(Context) -> i32,
    context: Context,
) -> i32 {
    let status = gputime::ending(Some(context.0), || observed!(site, [context], real(context)));
    if status == 0 {
        // SAFETY: the reference is read and dropped at once.
        if unsafe { thread::current_if_any() }.is_some_and(|t| t.context == context.0) {
            set_current(0);
        }
        redirect::driver::context_gone(context.0);
    }
    status
}
