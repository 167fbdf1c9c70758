//! The API functions on contexts.
//!
//! Owns the behaviour of `cuCtx*` and `cuDevicePrimaryCtx*`. Source: CUDA Driver API, "Context Management", "Primary
//! Context Management". Must not know: the objects of a context.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cushim_abi::types::{self as abi, *};

use super::context::{self, CONTEXTS, Context as Object, current, top, with_stack};
use super::device::device;
use super::entry::entry;
use super::memory;
use super::state::{accelerator, check, give, offer};
use super::status;
use super::stream::capture;
use super::texture;
use crate::argument::{At, In, Place};
use cushim_accel::locks::lock;

/// `CU_CTX_SCHED_*`, `_MAP_HOST`, `_LMEM_RESIZE_TO_MAX`, `_COREDUMP_ENABLE`, `_USER_COREDUMP_ENABLE`,
/// `_SYNC_MEMOPS`.
const FLAGS: u32 = 0xff;

/// `CU_CTX_MAP_HOST`.
const MAP_HOST: u32 = 8;

fn check_flags(flags: u32) -> Result<(), i32> {
    // The schedules 0, 1, 2 and 4 exist; flags name at most one.
    match flags & !FLAGS == 0 && matches!(flags & 7, 0 | 1 | 2 | 4) {
        true => Ok(()),
        false => Err(status::INVALID_VALUE),
    }
}

pub(crate) fn by_handle(handle: abi::Context) -> Result<Arc<Object>, i32> {
    check()?;
    CONTEXTS.get(handle.0).ok_or(status::INVALID_CONTEXT)
}

fn create(to: Place<abi::Context>, flags: u32, dev: Device) -> Result<(), i32> {
    device(dev)?;
    if to.is_null() {
        return Err(status::INVALID_VALUE);
    }
    check_flags(flags)?;
    // CU_CTX_USER_COREDUMP_ENABLE is read back as CU_CTX_COREDUMP_ENABLE (H200).
    let flags = if flags & 0x40 == 0 { flags } else { flags & !0x40 | 0x20 };
    let context = Object::create(dev.0 as usize, flags, false);
    let handle = context.handle();
    with_stack(|stack| stack.push(context));
    give(to, abi::Context(handle))
}

fn push(ctx: abi::Context) -> Result<(), i32> {
    let context = by_handle(ctx)?;
    if context.is_destroyed() {
        return Err(status::CONTEXT_IS_DESTROYED);
    }
    with_stack(|stack| stack.push(context));
    Ok(())
}

fn pop() -> Result<abi::Context, i32> {
    check()?;
    let context = with_stack(Vec::pop).ok_or(status::INVALID_CONTEXT)?;
    Ok(abi::Context(context.handle()))
}

/// Ends a context: waits for its work, prints its output, and frees what the context holds.
fn end(context: &Arc<Object>) {
    context.streams.wait();
    accelerator().flush_output();
    context.deactivate();
    texture::forget_context(context);
    memory::release::forget_context(context);
    capture::forget_context(context.id);
    context.streams.forget();
    super::module::end(context);
    super::library::end(context.id);
}

fn destroy(ctx: abi::Context) -> Result<(), i32> {
    if ctx.0 == 0 {
        check()?;
        return Err(status::INVALID_VALUE);
    }
    let context = by_handle(ctx)?;
    if context.primary {
        return Err(status::INVALID_CONTEXT);
    }
    CONTEXTS.remove(ctx.0);
    end(&context);
    with_stack(|stack| {
        if stack.last().is_some_and(|last| Arc::ptr_eq(last, &context)) {
            stack.pop();
        }
    });
    Ok(())
}

fn release(dev: Device, all: bool) -> Result<(), i32> {
    device(dev)?;
    let primary = context::primary(dev.0)?;
    let mut retained = lock(&primary.retained);
    if *retained == 0 {
        return if all { Ok(()) } else { Err(status::INVALID_CONTEXT) };
    }
    *retained = if all { 0 } else { *retained - 1 };
    if *retained == 0 {
        end(&primary.context);
    }
    Ok(())
}

entry! {
    fn cuDevicePrimaryCtxRetain (pctx: Out<Context>, dev: Device) {
        device(dev)?;
        if pctx.is_null() {
            return Err(status::INVALID_VALUE);
        }
        let primary = context::primary(dev.0)?;
        let mut retained = lock(&primary.retained);
        if *retained == 0 {
            primary.context.activate();
        }
        *retained += 1;
        give(pctx, abi::Context(primary.context.handle()))
    }

    fn cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2 (dev: Device) {
        release(dev, false)
    }

    fn cuDevicePrimaryCtxReset cuDevicePrimaryCtxReset_v2 (dev: Device) {
        release(dev, true)
    }

    fn cuDevicePrimaryCtxSetFlags cuDevicePrimaryCtxSetFlags_v2 (dev: Device, flags: Flags) {
        device(dev)?;
        check_flags(flags.0)?;
        // A primary context does not take CU_CTX_MAP_HOST (measured).
        if flags.0 & MAP_HOST != 0 {
            return Err(status::INVALID_VALUE);
        }
        context::primary(dev.0)?.context.flags.store(flags.0, Ordering::Relaxed);
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState (dev: Device, flags: Out<u32>, active: Out<i32>) {
        device(dev)?;
        let primary = context::primary(dev.0)?;
        offer(flags, primary.context.flags.load(Ordering::Relaxed));
        offer(active, i32::from(!primary.context.is_destroyed()));
        Ok(())
    }

    fn cuCtxCreate_v2 (pctx: Out<Context>, flags: Flags, dev: Device) {
        create(pctx, flags.0, dev)
    }

    fn cuCtxCreate_v3 (pctx: Out<Context>, paramsArray: Ptr, numParams: i32, flags: Flags, dev: Device) {
        // Execution affinity: a share of the multiprocessors, which no accelerator here has.
        let _ = paramsArray;
        if numParams != 0 {
            device(dev)?;
            return Err(status::NOT_SUPPORTED);
        }
        create(pctx, flags.0, dev)
    }

    fn cuCtxCreate_v4 (pctx: Out<Context>, ctxCreateParams: In<[u64; 3]>, flags: Flags, dev: Device) {
        // CUctxCreateParams: affinity parameters, their number, CIG parameters.
        if !ctxCreateParams.is_null() {
            let [_, count, cig] = ctxCreateParams.read()?;
            if count as u32 != 0 || cig != 0 {
                device(dev)?;
                return Err(status::NOT_SUPPORTED);
            }
        }
        create(pctx, flags.0, dev)
    }

    fn cuCtxDestroy cuCtxDestroy_v2 (ctx: Context) {
        destroy(ctx)
    }

    fn cuCtxAttach (pctx: Out<Context>, flags: Flags) {
        // The old way to count uses of the current context; flags must be 0.
        if flags.0 != 0 {
            return Err(status::INVALID_VALUE);
        }
        let context = current()?;
        context.attached.fetch_add(1, Ordering::Relaxed);
        give(pctx, abi::Context(context.handle()))
    }

    fn cuCtxDetach (ctx: Context) {
        let context = current()?;
        if context.handle() != ctx.0 {
            return Err(status::INVALID_CONTEXT);
        }
        match context.attached.fetch_sub(1, Ordering::Relaxed) {
            0 | 1 => destroy(ctx),
            _ => Ok(()),
        }
    }

    fn cuCtxPushCurrent cuCtxPushCurrent_v2 (ctx: Context) {
        push(ctx)
    }

    fn cuCtxPopCurrent cuCtxPopCurrent_v2 (pctx: Out<Context>) {
        let context = pop()?;
        offer(pctx, context);
        Ok(())
    }

    fn cuCtxSetCurrent (ctx: Context) {
        check()?;
        if ctx.0 == 0 {
            with_stack(|stack| drop(stack.pop()));
            return Ok(());
        }
        let context = by_handle(ctx)?;
        if context.is_destroyed() {
            return Err(status::CONTEXT_IS_DESTROYED);
        }
        with_stack(|stack| {
            stack.pop();
            stack.push(context);
        });
        Ok(())
    }

    fn cuCtxGetCurrent (pctx: Out<Context>) {
        check()?;
        give(pctx, abi::Context(top().map_or(0, |context| context.handle())))
    }

    fn cuCtxGetDevice (device: Out<Device>) {
        check()?;
        let context = top().ok_or(status::INVALID_CONTEXT)?;
        give(device, Device(context.device as i32))
    }

    fn cuCtxGetDevice_v2 (device: Out<Device>, ctx: Context) {
        let context = if ctx.0 == 0 { current()? } else { by_handle(ctx)? };
        give(device, Device(context.device as i32))
    }

    fn cuCtxGetFlags (flags: Out<u32>) {
        give(flags, current()?.flags.load(Ordering::Relaxed))
    }

    fn cuCtxSetFlags (flags: Flags) {
        check_flags(flags.0)?;
        // Without the flags for core dumps (0x20, 0x40); the flag for mapped memory is always set
        // (H200).
        current()?.flags.store(flags.0 & !0x60 | 8, Ordering::Relaxed);
        Ok(())
    }

    fn cuCtxGetId (ctx: Context, ctxId: Out<u64>) {
        let context = if ctx.0 == 0 { current()? } else { by_handle(ctx)? };
        give(ctxId, context.id)
    }

    fn cuCtxGetApiVersion (ctx: Context, version: Out<u32>) {
        if ctx.0 == 0 { current()? } else { by_handle(ctx)? };
        give(version, 3020)
    }

    fn cuCtxSynchronize () {
        synchronize(&current()?)
    }

    fn cuCtxSynchronize_v2 (ctx: Context) {
        synchronize(&if ctx.0 == 0 { current()? } else { by_handle(ctx)? })
    }

    fn cuCtxGetLimit (pvalue: Out<usize>, limit: i32) {
        let context = current()?;
        give(pvalue, super::limits::get(&context, limit)?)
    }

    fn cuCtxSetLimit (limit: i32, value: usize) {
        let context = current()?;
        super::limits::set(&context, limit, value)
    }

    fn cuCtxGetCacheConfig (pconfig: Out<i32>) {
        give(pconfig, lock(&current()?.settings).cache)
    }

    fn cuCtxSetCacheConfig (config: i32) {
        let context = current()?;
        if !(0..=3).contains(&config) {
            return Err(status::INVALID_VALUE);
        }
        lock(&context.settings).cache = config;
        Ok(())
    }

    fn cuCtxGetSharedMemConfig (pConfig: Out<i32>) {
        // Four bytes, as on every device since compute capability 5.0.
        current()?;
        give(pConfig, 1)
    }

    fn cuCtxSetSharedMemConfig (config: i32) {
        current()?;
        match config {
            0..=2 => Ok(()),
            _ => Err(status::INVALID_VALUE),
        }
    }

    fn cuCtxGetStreamPriorityRange (leastPriority: Out<i32>, greatestPriority: Out<i32>) {
        current()?;
        offer(leastPriority, super::stream::LEAST);
        offer(greatestPriority, super::stream::GREATEST);
        Ok(())
    }

    fn cuCtxResetPersistingL2Cache () {
        current().map(drop)
    }

    fn cuCtxGetExecAffinity (pExecAffinity: At<[u32; 2]>, type_: i32) {
        let context = current()?;
        // CU_EXEC_AFFINITY_TYPE_SM_COUNT, the only type: all multiprocessors.
        if type_ != 0 {
            return Err(status::UNSUPPORTED_EXEC_AFFINITY);
        }
        let all = accelerator().devices().get(context.device).map_or(0, |device| device.processors);
        give(pExecAffinity, [0, all])
    }

    fn cuCtxEnablePeerAccess (peerContext: Context, flags: Flags) {
        let context = current()?;
        let peer = by_handle(peerContext)?;
        if flags.0 != 0 {
            return Err(status::INVALID_VALUE);
        }
        if peer.device == context.device {
            return Err(status::PEER_ACCESS_UNSUPPORTED);
        }
        let mut settings = lock(&context.settings);
        if settings.peers.contains(&peer.device) {
            return Err(status::PEER_ACCESS_ALREADY_ENABLED);
        }
        settings.peers.push(peer.device);
        Ok(())
    }

    fn cuCtxDisablePeerAccess (peerContext: Context) {
        let context = current()?;
        let peer = by_handle(peerContext)?;
        let mut settings = lock(&context.settings);
        let place = settings.peers.iter().position(|device| *device == peer.device);
        settings.peers.remove(place.ok_or(status::PEER_ACCESS_NOT_ENABLED)?);
        Ok(())
    }
}

fn synchronize(context: &Arc<Object>) -> Result<(), i32> {
    context.healthy()?;
    capture::refuse_context(context)?;
    context.streams.wait();
    accelerator().flush_output();
    memory::pool::reclaim();
    context.healthy()
}
