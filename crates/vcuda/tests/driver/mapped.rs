//! Virtual memory management, and memory, events and pools shared between processes.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use cushim_abi::types::*;
use vcuda::api;

use crate::{bytes, device, in_child, place, place_mut, start};

const UNIT: usize = 2 << 20;

/// `CUmemAllocationProp` for memory of device 0; with 1 it can be exported.
fn prop(exported: i32) -> [i32; 8] {
    [1, exported, 1, 0, 0, 0, 0, 0]
}

/// Whether the accelerator lacks this and returns "not supported".
fn is_missing() -> bool {
    let (mut unit, prop) = (0usize, prop(0));
    let to = Out(&raw mut unit);
    let code = unsafe { api::cuMemGetAllocationGranularity(to, place(&prop), 0) };
    let mock = std::env::var("CUSHIM_BACKEND").unwrap() == "mock";
    assert_eq!((code, unit), if mock { (801, 0) } else { (0, UNIT) });
    mock
}

fn create(bytes: usize, exported: i32) -> Ptr {
    let (mut handle, prop) = (Ptr(0), prop(exported));
    let to = Out(&raw mut handle);
    assert_eq!(unsafe { api::cuMemCreate(to, bytes, place(&prop), Flags64(0)) }, 0);
    handle
}

fn reserve(bytes: usize) -> Ptr {
    let mut at = Ptr(0);
    let to = Out(&raw mut at);
    assert_eq!(unsafe { api::cuMemAddressReserve(to, bytes, 0, Ptr(0), Flags64(0)) }, 0);
    at
}

fn access(at: Ptr, bytes: usize, flags: i32) -> i32 {
    let desc = [1, 0, flags];
    unsafe { api::cuMemSetAccess(at, bytes, place(&desc), 1) }
}

fn free_bytes() -> usize {
    let (mut free, mut total) = (0usize, 0usize);
    let code = unsafe { api::cuMemGetInfo_v2(Out(&raw mut free), Out(&raw mut total)) };
    assert_eq!(code, 0);
    free
}

#[test]
fn memory_is_mapped_where_the_program_says() {
    if !in_child("mapped::memory_is_mapped_where_the_program_says") {
        return;
    }
    start();
    if is_missing() {
        return;
    }
    let before = free_bytes();
    let (at, a, b) = (reserve(4 * UNIT), create(UNIT, 0), create(2 * UNIT, 0));
    assert_eq!(before - free_bytes(), 3 * UNIT);
    let second = Ptr(at.0 + UNIT);
    unsafe {
        assert_eq!(api::cuMemsetD8_v2(at, 1, UNIT), 1, "nothing is there");
        assert_eq!(api::cuMemMap(at, UNIT, 0, a, Flags64(0)), 0);
        assert_eq!(api::cuMemMap(second, 2 * UNIT, 0, b, Flags64(0)), 0);
        assert_eq!(api::cuMemsetD8_v2(at, 1, UNIT), 1, "nobody may touch it");
        assert_eq!(access(at, 3 * UNIT, 3), 0);
        // Over adjacent mappings, as over one.
        assert_eq!(api::cuMemsetD8_v2(at, 7, 3 * UNIT), 0);
        assert_eq!(api::cuMemsetD8_v2(at, 7, 3 * UNIT + 1), 1);
        assert_eq!(bytes::<4>(Ptr(at.0 + 3 * UNIT - 4)), [7; 4]);
        let (mut flags, location) = (9u64, [1, 0]);
        assert_eq!(api::cuMemGetAccess(Out(&raw mut flags), place(&location), second), 0);
        assert_eq!(flags, 3);
        let (mut again, mut props) = (Ptr(0), [9i32; 8]);
        let inner = Ptr(second.0 + 5);
        assert_eq!(api::cuMemRetainAllocationHandle(Out(&raw mut again), inner), 0);
        assert_eq!(again, b);
        assert_eq!(api::cuMemGetAllocationPropertiesFromHandle(place_mut(&mut props), b), 0);
        assert_eq!(props, prop(0));
        // After these releases only the mapping holds the memory; then nothing does.
        assert_eq!(api::cuMemRelease(b), 0);
        assert_eq!(api::cuMemRelease(b), 0);
        assert_eq!(api::cuMemRelease(b), 1);
        assert_eq!(api::cuMemRelease(a), 0);
        assert_eq!(bytes::<4>(second), [7; 4]);
        assert_eq!(before - free_bytes(), 3 * UNIT);
        assert_eq!(access(at, 3 * UNIT, 0), 0);
        assert_eq!(api::cuMemsetD8_v2(at, 1, 1), 1);
        assert_eq!(api::cuMemUnmap(at, 3 * UNIT), 0);
        assert_eq!(api::cuMemUnmap(at, 3 * UNIT), 0, "nothing is there any more");
        assert_eq!(before, free_bytes());
        assert_eq!(api::cuMemAddressFree(at, 4 * UNIT), 0);
    }
}

#[test]
fn what_cannot_be_mapped_is_refused() {
    if !in_child("mapped::what_cannot_be_mapped_is_refused") {
        return;
    }
    start();
    if is_missing() {
        return;
    }
    let (at, a, b) = (reserve(4 * UNIT), create(2 * UNIT, 0), create(UNIT, 0));
    let (mut made, none) = (Ptr(0), Flags64(0));
    let to = Out(&raw mut made);
    unsafe {
        for (bytes, align) in [(0, 0), (UNIT + 1, 0), (UNIT, 3)] {
            assert_eq!(api::cuMemAddressReserve(to, bytes, align, Ptr(0), none), 1);
        }
        assert_eq!(api::cuMemAddressReserve(to, UNIT, 0, Ptr(0), Flags64(1)), 1);
        assert_eq!(api::cuMemAddressReserve(to, 1 << 50, 0, Ptr(0), none), 2);
        for bytes in [0, UNIT / 2, UNIT + 4096] {
            assert_eq!(api::cuMemCreate(to, bytes, place(&prop(0)), none), 1);
        }
        for (place_of, value, code) in
            [(0, 0, 1), (0, 2, 801), (1, 2, 1), (1, 8, 801), (2, 0, 1), (2, 4, 1), (3, 99, 101)]
        {
            let mut wrong = prop(0);
            wrong[place_of] = value;
            assert_eq!(api::cuMemCreate(to, UNIT, place(&wrong), none), code, "{place_of}");
        }
        assert_eq!(api::cuMemCreate(to, UNIT << 30, place(&prop(0)), none), 2);
        for (ptr, size, offset, handle) in [
            (at, UNIT / 2, 0, a),
            (Ptr(at.0 + 4096), UNIT, 0, a),
            (at, UNIT, UNIT, a),
            (at, 3 * UNIT, 0, a),
            (Ptr(at.0 + 3 * UNIT), 2 * UNIT, 0, a),
            (at, UNIT, 0, Ptr(a.0 + 8)),
            (Ptr(4 * UNIT), UNIT, 0, a),
            (Ptr(usize::MAX - UNIT + 1), UNIT, 0, a),
        ] {
            assert_eq!(api::cuMemMap(ptr, size, offset, handle, none), 1);
        }
        assert_eq!(api::cuMemMap(at, 2 * UNIT, 0, a, none), 0);
        assert_eq!(api::cuMemMap(Ptr(at.0 + UNIT), UNIT, 0, b, none), 1, "something is there");
        assert_eq!(access(at, UNIT, 3), 1, "a part of it");
        assert_eq!(access(at, 3 * UNIT, 3), 1, "more than there is");
        assert_eq!(access(at, 2 * UNIT, 2), 1);
        assert_eq!(api::cuMemUnmap(at, UNIT), 1, "a part of it");
        assert_eq!(api::cuMemUnmap(Ptr(at.0 + UNIT), UNIT), 1);
        assert_eq!(api::cuMemAddressFree(at, 4 * UNIT), 1, "something is there");
        assert_eq!(access(at, 2 * UNIT, 3), 0);
        assert_eq!(api::cuMemFree_v2(at), 1);
        assert_eq!(api::cuMemUnmap(at, 4 * UNIT), 0);
        assert_eq!(api::cuMemAddressFree(at, 2 * UNIT), 1);
        assert_eq!(api::cuMemAddressFree(at, 4 * UNIT), 0);
        assert_eq!(api::cuMemAddressFree(at, 4 * UNIT), 1);
        // Descriptors of memory that is not exportable, and descriptors that are invalid.
        let mut fd = -1;
        let export = api::cuMemExportToShareableHandle;
        assert_eq!(export(place_mut(&mut fd), a, 1, none), 1);
        let c = create(UNIT, 1);
        assert_eq!(export(place_mut(&mut fd), c, 2, none), 1);
        assert_eq!(fd, -1);
        let import = api::cuMemImportFromShareableHandle;
        for wrong in [0, 1 << 20, usize::MAX, usize::MAX - 1] {
            assert_eq!(import(to, Ptr(wrong), 1), 1, "{wrong}");
        }
        assert_eq!(made, Ptr(0));
    }
}

#[test]
fn memory_that_may_be_read_only_takes_no_copies() {
    if !in_child("mapped::memory_that_may_be_read_only_takes_no_copies") {
        return;
    }
    start();
    if is_missing() {
        return;
    }
    let (at, a, b) = (reserve(2 * UNIT), create(UNIT, 0), create(UNIT, 0));
    let second = Ptr(at.0 + UNIT);
    let (host, mut flags, location) = ([1u8; 8], 9u64, [1, 0]);
    let from = Ptr(host.as_ptr() as usize);
    unsafe {
        assert_eq!(api::cuMemMap(at, UNIT, 0, a, Flags64(0)), 0);
        assert_eq!(api::cuMemMap(second, UNIT, 0, b, Flags64(0)), 0);
        assert_eq!(access(at, 2 * UNIT, 3), 0);
        assert_eq!(api::cuMemsetD8_v2(at, 7, 2 * UNIT), 0);
        assert_eq!(access(at, UNIT, 1), 0);
        assert_eq!(api::cuMemGetAccess(Out(&raw mut flags), place(&location), at), 0);
        assert_eq!(flags, 1);
        assert_eq!(api::cuMemGetAccess(Out(&raw mut flags), place(&location), second), 0);
        assert_eq!(flags, 3);
        assert_eq!(bytes::<4>(at), [7; 4]);
        assert_eq!(api::cuMemcpyHtoD_v2(at, from, 8), 1);
        assert_eq!(api::cuMemcpyDtoD_v2(at, second, 8), 1);
        assert_eq!(api::cuMemsetD8_v2(at, 1, 8), 1);
        assert_eq!(api::cuMemsetD8_v2(Ptr(second.0 - 4), 1, 8), 1, "a part of it");
        assert_eq!(api::cuMemcpyDtoD_v2(second, at, 8), 0);
        assert_eq!(api::cuMemcpyHtoD_v2(second, from, 8), 0);
        assert_eq!(access(at, UNIT, 3), 0);
        assert_eq!(api::cuMemcpyHtoD_v2(at, from, 8), 0);
        assert_eq!(bytes::<4>(at), [1; 4]);
        assert_eq!(access(at, UNIT, 1), 0);
        assert_eq!(access(at, UNIT, 0), 0);
        assert_eq!(api::cuMemGetAccess(Out(&raw mut flags), place(&location), at), 0);
        assert_eq!((flags, api::cuMemsetD8_v2(at, 1, 8)), (0, 1));
        assert_eq!(api::cuMemUnmap(at, 2 * UNIT), 0);
        assert_eq!(api::cuMemAddressFree(at, 2 * UNIT), 0);
    }
}

/// The parent's message to its child: memory, an event, memory of a pool, and two descriptors.
#[repr(C)]
#[derive(Clone, Copy)]
struct Sent {
    memory: [u8; 64],
    event: [u8; 64],
    pool: [u8; 64],
    descriptors: [i32; 2],
}

const SENT: usize = size_of::<Sent>();

/// The other process: adds one to the first byte of each.
fn other_process() {
    start();
    let mut raw = [0u8; SENT];
    std::io::stdin().read_exact(&mut raw).unwrap();
    let sent = unsafe { raw.as_ptr().cast::<Sent>().read_unaligned() };
    // The child inherited the descriptors.
    let [physical, pool] = sent.descriptors.map(|fd| Ptr(fd as usize));
    let (mut memory, mut again, mut event) = (Ptr(0), Ptr(0), Event(0));
    let (mut handle, mut shared, mut pointer) = (Ptr(0), Ptr(0), Ptr(0));
    unsafe {
        let open = api::cuIpcOpenMemHandle_v2;
        assert_eq!(open(Out(&raw mut memory), IpcHandle(sent.memory), Flags(0)), 1);
        assert_eq!(open(Out(&raw mut memory), IpcHandle(sent.memory), Flags(1)), 0);
        assert_eq!(open(Out(&raw mut again), IpcHandle(sent.memory), Flags(1)), 0);
        assert_eq!(memory, again);
        assert_eq!(open(Out(&raw mut again), IpcHandle(sent.event), Flags(1)), 1);
        // Forged handles, each byte changed: an error, never a fault.
        for n in 0..64 {
            let mut forged = sent.memory;
            forged[n] ^= 0x41;
            let mut at = Ptr(0);
            if open(Out(&raw mut at), IpcHandle(forged), Flags(1)) == 0 {
                assert_eq!(api::cuMemsetD8_v2(at, 0, 0), 0);
                assert_eq!(api::cuIpcCloseMemHandle(at), 0);
            }
        }
        let opened = api::cuIpcOpenEventHandle(Out(&raw mut event), IpcHandle(sent.event));
        assert_eq!(opened, 0);
        assert_eq!(api::cuEventSynchronize(event), 0);
        assert_eq!(api::cuEventQuery(event), 0);
        let import = api::cuMemImportFromShareableHandle;
        assert_eq!(import(Out(&raw mut handle), physical, 1), 0);
        assert_eq!(import(Out(&raw mut again), pool, 1), 1, "another kind");
        let import = api::cuMemPoolImportFromShareableHandle;
        assert_eq!(import(Out(&raw mut shared), pool, 1, Flags64(0)), 0);
        assert_eq!(import(Out(&raw mut again), physical, 1, Flags64(0)), 1);
        let import = api::cuMemPoolImportPointer;
        assert_eq!(import(Out(&raw mut pointer), shared, place(&sent.memory)), 1);
        assert_eq!(import(Out(&raw mut pointer), shared, place(&sent.pool)), 0);
        let allocate = api::cuMemAllocFromPoolAsync;
        assert_eq!(allocate(Out(&raw mut again), 64, shared, Stream(0)), 1);
        let mapped = reserve(UNIT);
        assert_eq!(api::cuMemMap(mapped, UNIT, 0, handle, Flags64(0)), 0);
        assert_eq!(access(mapped, UNIT, 3), 0);
        for at in [memory, mapped, pointer] {
            let [first] = bytes::<1>(at);
            assert_eq!(api::cuMemsetD8_v2(at, first + 1, 1), 0);
        }
        assert_eq!(api::cuMemFreeAsync(pointer, Stream(0)), 0);
        assert_eq!(api::cuMemPoolDestroy(shared), 0);
        assert_eq!(api::cuEventRecord(event, Stream(0)), 0);
        assert_eq!(api::cuMemFree_v2(memory), 1);
        assert_eq!(api::cuIpcCloseMemHandle(memory), 0);
        assert_eq!(bytes::<1>(memory).len(), 1, "opened twice");
        assert_eq!(api::cuIpcCloseMemHandle(memory), 0);
        assert_eq!(api::cuIpcCloseMemHandle(memory), 1);
        assert_eq!(api::cuCtxSynchronize(), 0);
    }
    std::io::stdout().write_all(b"\nshared\n").unwrap();
}

/// Makes a descriptor inheritable.
fn inherit(fd: i32) {
    assert_eq!(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) }, 0);
}

#[test]
fn another_process_has_the_same_memory() {
    if std::env::var_os("VCUDA_OTHER_PROCESS").is_some() {
        return other_process();
    }
    let name = "mapped::another_process_has_the_same_memory";
    if !in_child(name) {
        return;
    }
    start();
    if is_missing() {
        return;
    }
    let memory = device(&[1; 100]);
    let (mut event, mut wrong) = (Event(0), Event(0));
    let mut sent = Sent { memory: [0; 64], event: [0; 64], pool: [0; 64], descriptors: [-1; 2] };
    let (mut pool, mut pooled, none) = (Ptr(0), Ptr(0), Flags64(0));
    let physical = create(UNIT, 1);
    let mapped = reserve(UNIT);
    // CUmemPoolProps: pinned, exportable as a descriptor, on device 0.
    let mut props = [0i32; 22];
    props[..4].copy_from_slice(&[1, 1, 1, 0]);
    unsafe {
        assert_eq!(api::cuEventCreate(Out(&raw mut event), Flags(6)), 0);
        assert_eq!(api::cuEventCreate(Out(&raw mut wrong), Flags(2)), 0);
        assert_eq!(api::cuIpcGetEventHandle(place_mut(&mut sent.event), wrong), 400);
        assert_eq!(api::cuIpcGetEventHandle(place_mut(&mut sent.event), event), 0);
        assert_eq!(api::cuIpcGetMemHandle(place_mut(&mut sent.memory), memory), 0);
        assert_eq!(bytes::<100>(memory), [1; 100], "what was there stays");
        let mut own = Ptr(0);
        let open = api::cuIpcOpenMemHandle_v2;
        assert_eq!(open(Out(&raw mut own), IpcHandle(sent.memory), Flags(1)), 201);
        assert_eq!(api::cuMemMap(mapped, UNIT, 0, physical, none), 0);
        assert_eq!(access(mapped, UNIT, 3), 0);
        assert_eq!(api::cuMemPoolCreate(Out(&raw mut pool), place(&props)), 0);
        let allocate = api::cuMemAllocFromPoolAsync;
        assert_eq!(allocate(Out(&raw mut pooled), 1000, pool, Stream(0)), 0);
        assert_eq!(api::cuMemPoolExportPointer(place_mut(&mut sent.pool), memory), 1);
        assert_eq!(api::cuMemPoolExportPointer(place_mut(&mut sent.pool), pooled), 0);
        let [first, second] = &mut sent.descriptors;
        let export = api::cuMemExportToShareableHandle;
        assert_eq!(export(place_mut(first), physical, 1, none), 0);
        assert_eq!(api::cuMemPoolExportToShareableHandle(place_mut(second), pool, 1, none), 0);
        sent.descriptors.into_iter().for_each(inherit);
        for at in [memory, mapped, pooled] {
            assert_eq!(api::cuMemsetD8_v2(at, 5, 10), 0);
        }
        assert_eq!(api::cuEventRecord(event, Stream(0)), 0);
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("VCUDA_OTHER_PROCESS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let raw = unsafe { std::slice::from_raw_parts((&raw const sent).cast::<u8>(), SENT) };
    child.stdin.take().unwrap().write_all(raw).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("\nshared\n"), "{text}");
    for at in [memory, mapped, pooled] {
        assert_eq!(bytes::<10>(at), [6, 5, 5, 5, 5, 5, 5, 5, 5, 5]);
    }
    unsafe {
        // The other process recorded the event last, and has ended.
        assert_eq!(api::cuEventSynchronize(event), 0);
        assert_eq!(api::cuStreamWaitEvent(Stream(0), event, Flags(0)), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);
        assert_eq!(api::cuMemFree_v2(memory), 0);
        assert_eq!(api::cuMemFreeAsync(pooled, Stream(0)), 0);
        assert_eq!(api::cuMemPoolDestroy(pool), 0);
    }
}
