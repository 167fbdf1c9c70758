//! Order of work: the legacy stream, destroyed streams, reset contexts, blocking calls.

use cushim_abi::types::*;
use vcuda::api;

use crate::streams::{Gate, LEGACY, call, event, stream};
use crate::{bytes, device, in_child, place_mut, start};

#[test]
fn the_legacy_stream_does_not_wait_for_non_blocking_ones() {
    if !in_child("order::the_legacy_stream_does_not_wait_for_non_blocking_ones") {
        return;
    }
    start();
    let (d, apart, gate) = (device(&[0; 4]), stream(1), Gate::default());
    call(apart, Gate::wait, &gate);
    unsafe {
        assert_eq!(api::cuMemsetD8Async(d, 3, 1, LEGACY), 0);
        assert_eq!(api::cuStreamSynchronize(LEGACY), 0);
        assert_eq!(bytes::<1>(d), [3]);
        assert_eq!(api::cuStreamQuery(apart), 600, "held back all the time");
        gate.open();
        assert_eq!(api::cuStreamSynchronize(apart), 0);
    }
}

#[test]
fn a_destroyed_stream_is_waited_for() {
    if !in_child("order::a_destroyed_stream_is_waited_for") {
        return;
    }
    start();
    let d = device(&[0; 4]);
    // Between the stream's end and the wait: nothing, work in the legacy stream, another stream.
    for between in [
        || (),
        || assert_eq!(unsafe { api::cuMemsetD8Async(Ptr(0), 0, 0, LEGACY) }, 0),
        || {
            stream(1);
        },
    ] {
        let (gone, gate) = (stream(1), Gate::default());
        call(gone, Gate::wait, &gate);
        unsafe {
            assert_eq!(api::cuMemsetD8_v2(d, 0, 2), 0);
            assert_eq!(api::cuMemsetD8Async(d, 7, 1, gone), 0);
            assert_eq!(api::cuStreamDestroy_v2(gone), 0);
            let other = stream(0);
            assert_eq!(api::cuMemsetD8Async(Ptr(d.0 + 1), 8, 1, LEGACY), 0);
            between();
            gate.open_during(|| assert_eq!(api::cuCtxSynchronize(), 0));
            assert_eq!(bytes::<2>(d), [7, 8]);
            assert_eq!(api::cuStreamDestroy_v2(other), 0);
        }
    }
}

#[test]
fn a_threads_default_stream_keeps_its_order_in_a_contexts_next_life() {
    if !in_child("order::a_threads_default_stream_keeps_its_order_in_a_contexts_next_life") {
        return;
    }
    let mut context = start();
    let own = Stream(2);
    unsafe {
        let old = stream(0);
        assert_eq!(api::cuMemsetD8Async(device(&[0; 4]), 1, 1, own), 0);
        assert_eq!(api::cuDevicePrimaryCtxReset_v2(Device(0)), 0);
        assert_eq!(api::cuDevicePrimaryCtxRetain(Out(&raw mut context), Device(0)), 0);
        assert_eq!(api::cuCtxSetCurrent(context), 0);
        assert_eq!(api::cuStreamQuery(old), 400, "gone with the context");
        let (d, gate, second) = (device(&[0; 4]), Gate::default(), Gate::default());
        call(own, Gate::wait, &gate);
        assert_eq!(api::cuMemsetD8Async(d, 5, 1, own), 0);
        gate.open_during(|| assert_eq!(api::cuCtxSynchronize(), 0));
        assert_eq!(api::cuStreamQuery(own), 0, "was waited for");
        call(own, Gate::wait, &second);
        assert_eq!(api::cuMemsetD8Async(d, 6, 1, own), 0);
        assert_eq!(api::cuMemcpyDtoDAsync_v2(Ptr(d.0 + 1), d, 1, LEGACY), 0);
        assert_eq!(api::cuStreamQuery(LEGACY), 600, "behind the thread's");
        second.open();
        assert_eq!(bytes::<2>(d), [6, 6]);
    }
}

#[test]
fn freeing_waits_for_all_work() {
    if !in_child("order::freeing_waits_for_all_work") {
        return;
    }
    start();
    let (d, s, gate) = (device(&[0; 4096]), stream(1), Gate::default());
    call(s, Gate::wait, &gate);
    unsafe {
        assert_eq!(api::cuMemsetD8Async(d, 7, 4096, s), 0);
        gate.open_during(|| assert_eq!(api::cuMemFree_v2(d), 0));
        assert_eq!(api::cuStreamQuery(s), 0);
    }
}

#[test]
fn memory_of_the_program_is_read_and_written_during_the_call() {
    if !in_child("order::memory_of_the_program_is_read_and_written_during_the_call") {
        return;
    }
    start();
    let (d, s) = (device(&[0; 8]), stream(1));
    unsafe {
        // Device to pageable host memory: the call returns after the copy.
        let (mut to, gate) = ([0u8; 4], Gate::default());
        call(s, Gate::wait, &gate);
        assert_eq!(api::cuMemsetD8Async(d, 7, 4, s), 0);
        let copied = gate.open_during(|| api::cuMemcpyDtoHAsync_v2(place_mut(&mut to), d, 4, s));
        assert_eq!((copied, to), (0, [7; 4]));
        // Pageable host memory to device: a small copy returns at once, and copies the bytes of that moment.
        let (mut from, gate) = ([1u8; 4], Gate::default());
        call(s, Gate::wait, &gate);
        assert_eq!(api::cuMemcpyHtoDAsync_v2(d, place_mut(&mut from), 4, s), 0);
        assert_eq!(api::cuStreamQuery(s), 600, "staged");
        from = [2; 4];
        gate.open();
        assert_eq!(api::cuStreamSynchronize(s), 0);
        assert_eq!((bytes::<4>(d), from), ([1; 4], [2; 4]));
    }
}

#[test]
fn events_of_a_context_hold_for_all_its_streams() {
    if !in_child("order::events_of_a_context_hold_for_all_its_streams") {
        return;
    }
    let context = start();
    let (d, apart, all, gate) = (device(&[0; 8]), stream(1), event(2), Gate::default());
    let (mut other, mut theirs) = (Context(0), Event(0));
    unsafe {
        call(apart, Gate::wait, &gate);
        assert_eq!(api::cuMemsetD8Async(d, 4, 1, apart), 0);
        assert_eq!(api::cuCtxRecordEvent(context, all), 0);
        assert_eq!(api::cuEventQuery(all), 600, "behind every stream");
        assert_eq!(api::cuCtxWaitEvent(context, all), 0);
        assert_eq!(api::cuMemcpyDtoDAsync_v2(Ptr(d.0 + 1), d, 1, LEGACY), 0);
        assert_eq!(api::cuStreamQuery(LEGACY), 600, "every stream waits");
        gate.open_during(|| assert_eq!(api::cuEventSynchronize(all), 0));
        assert_eq!(api::cuStreamSynchronize(apart), 0);
        assert_eq!(bytes::<2>(d), [4, 4]);
        // An event belongs to its context.
        assert_eq!(api::cuCtxCreate_v2(Out(&raw mut other), Flags(0), Device(0)), 0);
        assert_eq!(api::cuEventCreate(Out(&raw mut theirs), Flags(0)), 0);
        assert_eq!(api::cuCtxSetCurrent(context), 0);
        assert_eq!(api::cuEventRecord(theirs, apart), 400);
        assert_eq!(api::cuStreamWaitEvent(apart, theirs, Flags(0)), 0, "waited for from anywhere");
        assert_eq!(api::cuCtxDestroy_v2(other), 0);
    }
}
