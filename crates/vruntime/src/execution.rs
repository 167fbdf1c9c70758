//! Execution contexts of CUDA 13: the primary context of a device, and green contexts, which have part of one.
//!
//! Owns the driver handle of an execution context (the `CUcontext`, also of a green context, as graph nodes use it),
//! and which of them are green. Resources have one layout in both APIs. Without NVIDIA's driver below, the functions
//! return "not supported". Must not know: graphs, the work in streams.

use std::sync::Mutex;

use cushim_abi::types::*;

use super::context;
use super::error::{self, code};
use super::forward::{done, forwards, functions, give, pass};
use cushim_accel::locks::lock;
use cushim_vbase::api;

/// `cudaStreamNonBlocking`: streams of green contexts always have it.
const NON_BLOCKING: u32 = 1;

/// The green contexts: their `CUcontext`, their `CUgreenCtx`.
static GREEN: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

fn green(ctx: Ptr) -> Option<Ptr> {
    lock(&GREEN).iter().find(|(context, _)| *context == ctx.0).map(|(_, green)| Ptr(*green))
}

/// One driver call on a context that the program named, whichever is current.
fn on(ctx: Ptr, call: impl Fn(Context) -> i32) -> Status {
    if ctx.0 == 0 {
        return done(Err(code::INVALID_VALUE));
    }
    done(context::init().and_then(|()| driver(call(Context(ctx.0)))))
}

fn driver(result: i32) -> Result<(), Status> {
    if result == 0 { Ok(()) } else { Err(error::from_driver(result)) }
}

/// Makes a green context and its handle.
///
/// # Safety
/// `to` is null or has room for a handle; `desc` is a descriptor that the driver gave out.
unsafe fn create(to: Out<Ptr>, desc: Ptr, device: Device, flags: Flags) -> Result<(), Status> {
    if to.0.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // The driver's only flag is required there (CU_GREEN_CTX_DEFAULT_STREAM); the runtime has no
    // flags.
    if flags.0 != 0 {
        return Err(code::INVALID_VALUE);
    }
    context::ready()?;
    let (mut made, mut context) = (Ptr(0), Context(0));
    // SAFETY: places for handles, here and below; a descriptor of the driver's.
    driver(unsafe { api::cuGreenCtxCreate(Out(&raw mut made), desc, device, Flags(1)) })?;
    // SAFETY: a place for a handle, and the green context just made.
    let known = driver(unsafe { api::cuCtxFromGreenCtx(Out(&raw mut context), made) });
    if let Err(error) = known {
        // SAFETY: a handle that nobody else has.
        unsafe { api::cuGreenCtxDestroy(made) };
        return Err(error);
    }
    lock(&GREEN).push((context.0, made.0));
    // SAFETY: `to` is null, which `give` refuses, or has room for a handle, by the caller's promise.
    unsafe { give(to, Ptr(context.0)) }
}

fn stream(to: Out<Stream>, ctx: Ptr, flags: Flags, priority: i32) -> Result<(), Status> {
    if ctx.0 == 0 || to.0.is_null() || flags.0 & !NON_BLOCKING != 0 {
        return Err(code::INVALID_VALUE);
    }
    context::init()?;
    if let Some(green) = green(ctx) {
        // SAFETY: the program's place.
        return driver(unsafe {
            api::cuGreenCtxStreamCreate(to, green, Flags(NON_BLOCKING), priority)
        });
    }
    let mut old = Context(0);
    // SAFETY: a context; it is current for this call only.
    driver(unsafe { api::cuCtxPushCurrent_v2(Context(ctx.0)) })?;
    // SAFETY: the program's place.
    let made = driver(unsafe { api::cuStreamCreateWithPriority(to, flags, priority) });
    // SAFETY: a place for the context.
    unsafe { api::cuCtxPopCurrent_v2(Out(&raw mut old)) };
    made
}

functions! {
    cudaDeviceGetExecutionCtx (ctx: Out<Ptr>, device: Device) {
        done(context::devices().and_then(|devices| {
            if !(0..devices).contains(&device.0) {
                return Err(code::INVALID_DEVICE);
            }
            let primary = context::primary(device.0)?;
            // SAFETY: the program's place for a handle, or null.
            unsafe { give(ctx, Ptr(primary.0)) }
        }))
    }

    cudaGreenCtxCreate (phCtx: Out<Ptr>, desc: Ptr, device: Device, flags: Flags) {
        // SAFETY: the program's place for a handle, or null.
        done(unsafe { create(phCtx, desc, device, flags) })
    }

    cudaExecutionCtxDestroy (ctx: Ptr) {
        let mut all = lock(&GREEN);
        let Some(at) = all.iter().position(|(context, _)| *context == ctx.0) else {
            return done(Err(code::INVALID_VALUE));
        };
        let (_, green) = all.swap_remove(at);
        drop(all);
        // SAFETY: a green context of the program's.
        done(driver(unsafe { api::cuGreenCtxDestroy(Ptr(green)) }))
    }

    cudaExecutionCtxGetDevResource (ctx: Ptr, resource: Ptr, type_: i32) {
        on(ctx, |context| match green(ctx) {
            // SAFETY: the program's place, here and below.
            Some(green) => unsafe { api::cuGreenCtxGetDevResource(green, resource, type_) },
            // SAFETY: the program's place for a resource.
            None => unsafe { api::cuCtxGetDevResource(context, resource, type_) },
        })
    }

    cudaExecutionCtxGetDevice (device: Out<i32>, ctx: Ptr) {
        // SAFETY: the program's place; a device is an int.
        on(ctx, |context| unsafe { api::cuCtxGetDevice_v2(Out(device.0.cast()), context) })
    }

    cudaExecutionCtxGetId (ctx: Ptr, ctxId: Out<u64>) {
        // SAFETY: the program's place.
        on(ctx, |context| unsafe { api::cuCtxGetId(context, ctxId) })
    }

    cudaExecutionCtxSynchronize (ctx: Ptr) {
        // SAFETY: no pointers.
        on(ctx, |context| unsafe { api::cuCtxSynchronize_v2(context) })
    }

    cudaExecutionCtxRecordEvent (ctx: Ptr, event: Event) {
        on(ctx, |context| match green(ctx) {
            // SAFETY: no pointers, here and below.
            Some(green) => unsafe { api::cuGreenCtxRecordEvent(green, event) },
            // SAFETY: handles only, which the driver looks up.
            None => unsafe { api::cuCtxRecordEvent(context, event) },
        })
    }

    cudaExecutionCtxWaitEvent (ctx: Ptr, event: Event) {
        on(ctx, |context| match green(ctx) {
            // SAFETY: no pointers, here and below.
            Some(green) => unsafe { api::cuGreenCtxWaitEvent(green, event) },
            // SAFETY: handles only, which the driver looks up.
            None => unsafe { api::cuCtxWaitEvent(context, event) },
        })
    }

    cudaExecutionCtxStreamCreate (phStream: Out<Stream>, ctx: Ptr, flags: Flags, priority: i32) {
        done(stream(phStream, ctx, flags, priority))
    }
}

forwards! {
    cudaDeviceGetDevResource (device: Device, resource: Ptr, type_: i32) = cuDeviceGetDevResource(device, resource, type_);
    cudaDevResourceGenerateDesc (phDesc: Out<Ptr>, resources: Ptr, nbResources: u32) = cuDevResourceGenerateDesc(phDesc, resources, nbResources);
    cudaDevSmResourceSplit (result: Ptr, nbGroups: u32, input: Ptr, remainder: Ptr, flags: Flags, groupParams: Ptr) = cuDevSmResourceSplit(result, nbGroups, input, remainder, flags, groupParams);
    cudaDevSmResourceSplitByCount (result: Ptr, nbGroups: Out<u32>, input: Ptr, remaining: Ptr, flags: Flags, minCount: u32) = cuDevSmResourceSplitByCount(result, nbGroups, input, remaining, flags, minCount);
}
