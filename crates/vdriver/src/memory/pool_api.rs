//! The API functions on pools, and the pool handles of programs.
//!
//! Source: CUDA Driver API, "Stream Ordered Memory Allocator". Must not know: how a pool keeps its memory, and who has
//! access to it ([`super::pool_access`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cushim_abi::types::*;

use super::pool::{POOLS, Pool, by_handle, own};
use super::pool_file::Backing;
use super::{Range, Source};
use crate::argument::{Given, In, Place};
use crate::device::device;
use crate::entry::{entry, on_stream};
use crate::graph::memory::Allocation;
use crate::graph::{self, Payload, params};
use crate::state::{accelerator, at, check, give, take};
use crate::status;
use crate::stream::{Stream as Object, capture, resolve};
use cushim_accel::locks::lock;
use cushim_accel::{MemoryKind, Work};

/// For functions on the current pool, an invalid device is an invalid value (measured).
fn wrong_value(error: i32) -> i32 {
    if error == status::INVALID_DEVICE { status::INVALID_VALUE } else { error }
}

fn allocate(to: Place<Ptr>, bytes: usize, pool: Option<Ptr>, stream: Stream) -> Result<(), i32> {
    let stream = resolve(stream)?;
    let context = stream.context()?;
    if to.is_null() {
        return Err(status::INVALID_VALUE);
    }
    if bytes == 0 {
        return give(to, Ptr(0));
    }
    let pool = match pool {
        Some(handle) => by_handle(handle)?,
        None => lock(&own(Device(context.device as i32))?.current).clone(),
    };
    let mut inside = None;
    let captured = capture::take(&stream, || {
        let allocation = Allocation::new(&context, pool.device, bytes)?;
        inside = Some(allocation.address);
        Ok(Payload::Alloc(allocation))
    })?;
    if captured {
        return give(to, Ptr(inside.unwrap_or(0) as usize));
    }
    let address = pool.allocate(bytes, stream.id)?;
    let on_host = pool.kind != MemoryKind::Device;
    super::insert(Arc::new(Range {
        base: address,
        bytes,
        source: if pool.kind == MemoryKind::Managed { Source::ManagedPool } else { Source::Pool },
        device: pool.device,
        context: context.id,
        context_handle: context.handle(),
        flags: 0,
        host: if on_host { address } else { 0 },
        device_address: address,
        id: super::NEXT.fetch_add(1, Ordering::Relaxed),
        pool: crate::handle::handle(&pool),
        sync: AtomicU32::new(0),
    }));
    give(to, Ptr(address as usize))
}

fn free(address: u64, stream: &Arc<Object>) -> Result<(), i32> {
    stream.context()?;
    if capture::take(stream, || params::free(address))? {
        return Ok(());
    }
    if let Some(allocation) = graph::memory::give_back(address) {
        let done = stream.enter(|slot| slot.push(Work::Barrier, Vec::new()))?;
        done.then(move || drop(allocation));
        return Ok(());
    }
    let range = super::find(address).filter(|range| range.base == address);
    let range = range.ok_or(status::INVALID_VALUE)?;
    match range.source {
        Source::Pool | Source::ManagedPool => {}
        // Memory of cuMemAlloc may be freed in a stream too.
        Source::Device | Source::Managed => {}
        _ => return Err(status::INVALID_VALUE),
    }
    let done = stream.enter(|slot| slot.push(Work::Barrier, Vec::new()))?;
    super::remove(address).ok_or(status::INVALID_VALUE)?;
    match POOLS.get(range.pool) {
        Some(pool) => pool.free(&range, done, stream.id),
        None => done.then(move || accelerator().free(address)),
    }
    Ok(())
}

on_stream! { hStream;
    fn cuMemAllocAsync cuMemAllocAsync_ptsz (dptr: Out<Ptr>, bytesize: usize, hStream: Stream) {
        allocate(dptr, bytesize, None, hStream)
    }

    fn cuMemAllocFromPoolAsync cuMemAllocFromPoolAsync_ptsz (dptr: Out<Ptr>, bytesize: usize, pool: Ptr, hStream: Stream) {
        allocate(dptr, bytesize, Some(pool), hStream)
    }

    fn cuMemFreeAsync cuMemFreeAsync_ptsz (dptr: Ptr, hStream: Stream) {
        let stream = resolve(hStream)?;
        if dptr.0 == 0 { stream.context().map(drop) } else { free(dptr.0 as u64, &stream) }
    }
}

/// `CUmemLocation` of a device, of the host, or of its one node of memory.
fn location(kind: i32, id: i32) -> Result<(usize, MemoryKind), i32> {
    match (kind, id) {
        (1, _) => match device(Device(id)) {
            Ok(_) => Ok((id as usize, MemoryKind::Device)),
            // An invalid device is an invalid value here (measured).
            Err(status::INVALID_DEVICE) => Err(status::INVALID_VALUE),
            Err(other) => Err(other),
        },
        (2, _) | (3, 0) => Ok((0, MemoryKind::Host)),
        _ => Err(status::INVALID_VALUE),
    }
}

/// The device of a `CUmemLocation` whose pool is requested; the host has no default pool.
fn place(from: Given<[i32; 2]>, kind: i32) -> Result<Device, i32> {
    check()?;
    let [place, id] = from.read()?;
    // Allocation type: 1 pinned, 2 managed.
    match (location(place, id)?, kind) {
        ((_, MemoryKind::Device), 1) => Ok(Device(id)),
        (_, 1 | 2) => Err(status::NOT_SUPPORTED),
        _ => Err(status::INVALID_VALUE),
    }
}

entry! {
    fn cuMemPoolCreate (pool: Out<Ptr>, poolProps: Ptr) {
        check()?;
        // CUmemPoolProps: allocation type (1 pinned, 2 managed), handle types, location (type, id), security
        // attributes, most bytes, usage, reserved.
        // SAFETY: a CUmemPoolProps, or null.
        let [kind, handles, place, id]: [i32; 4] = unsafe { take(poolProps)? };
        // SAFETY: the rest of it.
        let [_, most, rest @ ..]: [u64; 9] = unsafe { take(Ptr(poolProps.0 + 16))? };
        let reserved = [rest[0] >> 16].iter().chain(rest.get(1..).unwrap_or_default()).any(|word| *word != 0);
        if pool.is_null() || !matches!(kind, 1 | 2) || !matches!(handles, 0 | 1 | 8 | 9) || reserved {
            return Err(status::INVALID_VALUE);
        }
        // Managed memory needs no location (measured).
        let (device, place) = if [kind, place] == [2, 0] { (0, MemoryKind::Managed) } else { location(place, id)? };
        let memory = if kind == 2 { MemoryKind::Managed } else { place };
        // Only descriptors for device memory can be exported.
        if handles > 1 || (handles == 1 && memory != MemoryKind::Device) {
            return Err(status::NOT_SUPPORTED);
        }
        if most > accelerator().devices().get(device).map_or(0, |device| device.memory) {
            return Err(status::OUT_OF_MEMORY);
        }
        let made = match handles {
            0 => Pool::new(device, memory, false, most),
            _ => Pool::shared(device, Backing::new(device)?, most),
        };
        give(pool, Ptr(crate::handle::handle(&made)))
    }

    fn cuMemPoolDestroy (pool: Ptr) {
        let object = by_handle(pool)?;
        if object.default {
            return Err(status::INVALID_VALUE);
        }
        let own = own(Device(object.device as i32))?;
        {
            let mut current = lock(&own.current);
            if Arc::ptr_eq(&current, &object) {
                *current = own.default.clone();
            }
        }
        POOLS.remove(pool.0);
        object.destroy();
        Ok(())
    }

    fn cuMemPoolTrimTo (pool: Ptr, minBytesToKeep: usize) {
        by_handle(pool)?.trim(minBytesToKeep as u64);
        Ok(())
    }

    fn cuMemPoolGetAttribute (pool: Ptr, attr: i32, value: Ptr) {
        let pool = by_handle(pool)?;
        let state = lock(&pool.state);
        let word = match attr {
            // SAFETY: room for an int, or null.
            1..=3 => return give(unsafe { at(value) }, state.reuse.get(attr as usize - 1).copied().unwrap_or(1)),
            4 => state.threshold,
            5 => state.heap.reserved(),
            6 => state.reserved_high,
            7 => state.used,
            8 => state.used_high,
            _ => return Err(status::INVALID_VALUE),
        };
        // SAFETY: room for a cuuint64_t, or null.
        give(unsafe { at::<u64>(value) }, word)
    }

    fn cuMemPoolSetAttribute (pool: Ptr, attr: i32, value: Ptr) {
        let pool = by_handle(pool)?;
        let mut state = lock(&pool.state);
        // SAFETY: a cuuint64_t, or null.
        let word = || unsafe { take::<u64>(value) };
        match attr {
            1..=3 => {
                // SAFETY: an int, or null.
                let flag: i32 = unsafe { take(value)? };
                if let Some(place) = state.reuse.get_mut(attr as usize - 1) {
                    *place = i32::from(flag != 0);
                }
            }
            4 => state.threshold = word()?,
            // High-water marks can be reset to the present use.
            6 if word()? == 0 => state.reserved_high = state.heap.reserved(),
            8 if word()? == 0 => state.used_high = state.used,
            _ => return Err(status::INVALID_VALUE),
        }
        Ok(())
    }

    fn cuDeviceGetDefaultMemPool (pool_out: Out<Ptr>, dev: Device) {
        let own = own(dev)?;
        give(pool_out, Ptr(crate::handle::handle(&own.default)))
    }

    fn cuDeviceGetMemPool (pool: Out<Ptr>, dev: Device) {
        let own = own(dev).map_err(wrong_value)?;
        let current = lock(&own.current).clone();
        give(pool, Ptr(crate::handle::handle(&current)))
    }

    fn cuDeviceSetMemPool (dev: Device, pool: Ptr) {
        let own = own(dev).map_err(wrong_value)?;
        let object = by_handle(pool)?;
        if object.device != dev.0 as usize {
            return Err(status::INVALID_DEVICE);
        }
        if object.is_imported() {
            return Err(status::INVALID_VALUE);
        }
        *lock(&own.current) = object;
        Ok(())
    }

    fn cuMemGetDefaultMemPool (pool_out: Out<Ptr>, location: In<[i32; 2]>, type_: i32) {
        let own = own(place(location, type_)?)?;
        give(pool_out, Ptr(crate::handle::handle(&own.default)))
    }

    fn cuMemGetMemPool (pool: Out<Ptr>, location: In<[i32; 2]>, type_: i32) {
        let own = own(place(location, type_)?)?;
        let current = lock(&own.current).clone();
        give(pool, Ptr(crate::handle::handle(&current)))
    }

    fn cuMemSetMemPool (location: In<[i32; 2]>, type_: i32, pool: Ptr) {
        let own = own(place(location, type_)?)?;
        let object = by_handle(pool)?;
        if object.is_imported() {
            return Err(status::INVALID_VALUE);
        }
        *lock(&own.current) = object;
        Ok(())
    }
}
