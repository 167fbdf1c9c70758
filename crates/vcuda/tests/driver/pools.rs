//! Memory pools: which stream may reuse which memory when, what pools reserve, and what they refuse.

use cushim_abi::types::*;
use vcuda::api;

use crate::streams::{Gate, LEGACY, call, stream};
use crate::{bytes, in_child, place, place_mut, start};

/// The unit in which a pool reserves memory.
const BLOCK: u64 = 32 << 20;

/// A pool of device memory with this maximum size in bytes.
fn pool(most: u64) -> Ptr {
    let mut props: [u64; 11] = [0; 11];
    (props[0], props[1], props[3]) = (1, 1, most);
    let mut pool = Ptr(0);
    assert_eq!(unsafe { api::cuMemPoolCreate(Out(&raw mut pool), place(&props)) }, 0);
    pool
}

fn take(pool: Ptr, bytes: usize, stream: Stream) -> (i32, Ptr) {
    let mut at = Ptr(0);
    let to = Out(&raw mut at);
    (unsafe { api::cuMemAllocFromPoolAsync(to, bytes, pool, stream) }, at)
}

fn get(pool: Ptr, attribute: i32) -> u64 {
    let mut value = u64::MAX;
    assert_eq!(unsafe { api::cuMemPoolGetAttribute(pool, attribute, place_mut(&mut value)) }, 0);
    value
}

fn set(pool: Ptr, attribute: i32, mut value: u64) {
    assert_eq!(unsafe { api::cuMemPoolSetAttribute(pool, attribute, place_mut(&mut value)) }, 0);
}

#[test]
fn memory_is_another_streams_only_when_its_work_is_done() {
    if !in_child("pools::memory_is_another_streams_only_when_its_work_is_done") {
        return;
    }
    start();
    let (pool, s, t, gate) = (pool(0), stream(1), stream(1), Gate::default());
    set(pool, 4, u64::MAX);
    let (_, first) = take(pool, 4096, s);
    call(s, Gate::wait, &gate);
    unsafe {
        assert_eq!(api::cuMemsetD8Async(first, 1, 4096, s), 0);
        assert_eq!(api::cuMemFreeAsync(first, s), 0);
        let (code, other) = take(pool, 4096, t);
        assert!(code == 0 && other != first, "the first stream still writes there");
        assert_eq!(api::cuMemsetD8Async(other, 2, 4096, t), 0);
        assert_eq!(api::cuStreamSynchronize(t), 0);
        gate.open();
        assert_eq!(api::cuStreamSynchronize(s), 0);
        let mut to = [0u8; 2];
        assert_eq!(api::cuMemcpyDtoHAsync_v2(place_mut(&mut to), other, 2, t), 0);
        assert_eq!(to, [2, 2]);
        assert_eq!(take(pool, 4096, t), (0, first), "over now");
        // A free block that is too small is not used.
        assert_eq!(api::cuMemFreeAsync(first, t), 0);
        let (code, larger) = take(pool, 8192, t);
        assert_eq!(code, 0);
        assert_eq!(api::cuMemsetD8Async(larger, 3, 8192, t), 0);
        assert_eq!(api::cuStreamSynchronize(t), 0);
    }
}

#[test]
fn what_is_freed_stays_until_the_stream_got_there() {
    if !in_child("pools::what_is_freed_stays_until_the_stream_got_there") {
        return;
    }
    start();
    let s = stream(1);
    unsafe {
        // Memory from cuMemAlloc, freed in a stream.
        let (mut plain, gate) = (Ptr(0), Gate::default());
        assert_eq!(api::cuMemAlloc_v2(Out(&raw mut plain), 1 << 20), 0);
        call(s, Gate::wait, &gate);
        assert_eq!(api::cuMemsetD8Async(plain, 1, 1 << 20, s), 0);
        assert_eq!(api::cuMemFreeAsync(plain, s), 0);
        gate.open();
        assert_eq!(api::cuStreamSynchronize(s), 0);
        // A pool that is destroyed while its memory is in use.
        let (pool, gate) = (pool(0), Gate::default());
        let (_, kept) = take(pool, 1 << 20, s);
        call(s, Gate::wait, &gate);
        assert_eq!(api::cuMemsetD8Async(kept, 1, 1 << 20, s), 0);
        assert_eq!(api::cuMemFreeAsync(kept, s), 0);
        assert_eq!(api::cuMemPoolDestroy(pool), 0);
        gate.open();
        assert_eq!(api::cuStreamSynchronize(s), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);
    }
}

#[test]
fn pools_hold_what_they_are_told_to() {
    if !in_child("pools::pools_hold_what_they_are_told_to") {
        return;
    }
    start();
    let pool = pool(0);
    let take_and_free = |bytes| {
        let (code, at) = take(pool, bytes, LEGACY);
        assert_eq!((code, unsafe { api::cuMemFreeAsync(at, LEGACY) }), (0, 0));
    };
    let wait = || assert_eq!(unsafe { api::cuCtxSynchronize() }, 0);
    take_and_free(4096);
    assert_eq!((get(pool, 5), get(pool, 6)), (BLOCK, BLOCK), "until somebody waits");
    wait();
    assert_eq!((get(pool, 5), get(pool, 6)), (0, BLOCK));
    set(pool, 4, 2 * BLOCK);
    take_and_free(3 * BLOCK as usize);
    wait();
    assert_eq!((get(pool, 5), get(pool, 6)), (2 * BLOCK, 3 * BLOCK), "the threshold");
    unsafe {
        assert_eq!(api::cuMemPoolTrimTo(pool, BLOCK as usize), 0);
        assert_eq!(get(pool, 5), BLOCK);
        assert_eq!(api::cuMemPoolTrimTo(pool, 0), 0);
    }
    assert_eq!(get(pool, 5), 0);
    set(pool, 6, 0);
    assert_eq!(get(pool, 6), 0, "back to now");
}

#[test]
fn pools_refuse_what_they_cannot_give() {
    if !in_child("pools::pools_refuse_what_they_cannot_give") {
        return;
    }
    start();
    let (small, mut count, mut own) = (pool(BLOCK), 0, Ptr(0));
    assert_eq!(take(small, BLOCK as usize + 1, LEGACY), (2, Ptr(0)), "more than its most");
    let (code, all) = take(small, BLOCK as usize, LEGACY);
    assert_eq!(code, 0, "its most");
    assert_eq!(take(small, 1, LEGACY), (2, Ptr(0)));
    assert_eq!(take(small, 0, LEGACY), (0, Ptr(0)), "nothing is at null");
    unsafe {
        assert_eq!(api::cuMemFreeAsync(all, LEGACY), 0);
        assert_eq!(take(small, 1, LEGACY).0, 0);
        assert_eq!(api::cuDeviceGetCount(Out(&raw mut count)), 0);
        if count > 1 {
            assert_eq!(api::cuDeviceSetMemPool(Device(1), small), 101, "another device's");
        }
        // Memory that pools have reserved is not available to others.
        let (mut free, mut at) = (0usize, Ptr(0));
        assert_eq!(api::cuMemGetInfo_v2(Out(&raw mut free), Out(std::ptr::null_mut())), 0);
        assert_eq!(api::cuMemAlloc_v2(Out(&raw mut at), free + 4096), 2);
        // A destroyed pool is no longer the current pool.
        assert_eq!(api::cuDeviceSetMemPool(Device(0), small), 0);
        assert_eq!(api::cuMemPoolDestroy(small), 0);
        let mut current = Ptr(0);
        assert_eq!(api::cuDeviceGetMemPool(Out(&raw mut current), Device(0)), 0);
        assert_eq!(api::cuDeviceGetDefaultMemPool(Out(&raw mut own), Device(0)), 0);
        assert_eq!(current, own);
        assert_eq!(api::cuMemAllocAsync(Out(&raw mut at), 64, LEGACY), 0);
        assert_eq!(api::cuMemsetD8Async(at, 9, 64, LEGACY), 0);
        assert_eq!(bytes::<2>(at), [9, 9]);
    }
}

#[test]
fn a_pool_of_managed_memory_is_seen_by_both_sides() {
    if !in_child("pools::a_pool_of_managed_memory_is_seen_by_both_sides") {
        return;
    }
    start();
    let s = stream(1);
    // Allocation type 2; location: a device, the host, its NUMA node, none.
    for location in [1, 2, 3, 0] {
        let mut props: [i32; 22] = [0; 22];
        (props[0], props[2]) = (2, location);
        let (mut pool, mut kind, mut managed) = (Ptr(0), 9u32, 9u32);
        assert_eq!(unsafe { api::cuMemPoolCreate(Out(&raw mut pool), place(&props)) }, 0);
        let (code, at) = take(pool, 4096, s);
        assert_eq!(code, 0);
        unsafe {
            // CU_POINTER_ATTRIBUTE_MEMORY_TYPE, _IS_MANAGED.
            assert_eq!(api::cuPointerGetAttribute(place_mut(&mut kind), 2, at), 0);
            assert_eq!(api::cuPointerGetAttribute(place_mut(&mut managed), 8, at), 0);
            assert_eq!((kind, managed), (2, 1));
            assert_eq!(api::cuMemsetD8Async(at, 5, 4096, s), 0);
            assert_eq!(api::cuStreamSynchronize(s), 0);
            let here = at.0 as *mut u8;
            assert_eq!(here.add(4095).read_volatile(), 5);
            here.write_volatile(7);
            assert_eq!(bytes::<2>(at), [7, 5]);
            assert_eq!(api::cuMemFreeAsync(at, s), 0);
            assert_eq!(api::cuMemPoolDestroy(pool), 0);
        }
        props[1] = 1;
        let code = unsafe { api::cuMemPoolCreate(Out(&raw mut pool), place(&props)) };
        assert_eq!(code, 801, "handed on to other processes");
    }
}

#[test]
fn a_device_has_access_to_a_pool_only_as_the_program_says() {
    if !in_child("pools::a_device_has_access_to_a_pool_only_as_the_program_says") {
        return;
    }
    // SAFETY: a child process with one thread.
    unsafe { std::env::set_var("CUSHIM_CPU_DEVICES", "2") };
    start();
    let second = {
        let mut made = Context(0);
        unsafe {
            assert_eq!(api::cuDevicePrimaryCtxRetain(Out(&raw mut made), Device(1)), 0);
        }
        made
    };
    let s = stream(1);
    let set = |pool, access: &[[i32; 3]]| unsafe {
        api::cuMemPoolSetAccess(pool, Ptr(access.as_ptr().expose_provenance()), access.len())
    };
    let has = |pool, device: i32| {
        let mut flags = -1;
        let of = [1, device];
        let location = place(&of);
        assert_eq!(unsafe { api::cuMemPoolGetAccess(Out(&raw mut flags), pool, location) }, 0);
        flags
    };
    let own = pool(0);
    let (code, at) = take(own, 4096, s);
    assert_eq!((code, has(own, 0), has(own, 1)), (0, 3, 0));
    let mut to = [0u8; 4];
    let mut from_second = |what: &str, expected: i32| unsafe {
        assert_eq!(api::cuCtxPushCurrent_v2(second), 0);
        assert_eq!(api::cuMemsetD8_v2(at, 5, 4096), expected, "set {what}");
        assert_eq!(api::cuMemcpyDtoH_v2(place_mut(&mut to), at, 4), expected, "copied {what}");
        assert_eq!(api::cuMemcpy(place_mut(&mut to), at, 4), expected, "copied anyhow {what}");
        let mut popped = Context(0);
        assert_eq!(api::cuCtxPopCurrent_v2(Out(&raw mut popped)), 0);
    };
    from_second("without access", 1);
    assert_eq!(set(own, &[[1, 1, 3], [1, 9, 3]]), 101, "one of them is no device");
    assert_eq!(has(own, 1), 0, "nothing of a wrong list is done");
    assert_eq!(set(own, &[[1, 1, 3]]), 0);
    assert_eq!(has(own, 1), 3);
    from_second("with access", 0);
    assert_eq!(set(own, &[[1, 1, 0]]), 0);
    from_second("with access revoked", 1);
    // A copy between contexts names the other context.
    let (code, there) = {
        let mut there = Ptr(0);
        unsafe {
            assert_eq!(api::cuCtxPushCurrent_v2(second), 0);
            (api::cuMemAlloc_v2(Out(&raw mut there), 4096), there)
        }
    };
    assert_eq!(code, 0);
    let mut first = Context(0);
    unsafe {
        assert_eq!(api::cuDevicePrimaryCtxRetain(Out(&raw mut first), Device(0)), 0);
        assert_eq!(api::cuMemcpyPeer(there, second, at, first, 4096), 0);
    }
}
