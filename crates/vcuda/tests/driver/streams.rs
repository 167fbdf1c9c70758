//! Streams and their order, events, host functions.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

use cushim_abi::types::*;
use vcuda::api;

use crate::{bytes, device, in_child, place, place_mut, start};

pub const LEGACY: Stream = Stream(0);

pub fn stream(flags: u32) -> Stream {
    let mut stream = Stream(0);
    assert_eq!(unsafe { api::cuStreamCreate(Out(&raw mut stream), Flags(flags)) }, 0);
    stream
}

pub fn event(flags: u32) -> Event {
    let mut event = Event(0);
    assert_eq!(unsafe { api::cuEventCreate(Out(&raw mut event), Flags(flags)) }, 0);
    event
}

pub fn call<T>(stream: Stream, function: extern "C" fn(&T), data: &T) {
    let function = Ptr(function as *const () as usize);
    assert_eq!(unsafe { api::cuLaunchHostFunc(stream, function, place(data)) }, 0);
}

/// Blocks a stream until it is opened; gives up after a while, so that a wrong order gives a wrong
/// result and no hang.
#[derive(Default)]
pub struct Gate(AtomicBool);

impl Gate {
    pub extern "C" fn wait(gate: &Gate) {
        let end = Instant::now() + Duration::from_secs(5);
        while !gate.0.load(Ordering::Acquire) && Instant::now() < end {
            std::thread::yield_now();
        }
    }
    pub fn open(&self) {
        self.0.store(true, Ordering::Release);
    }
    /// Opens the gate while `calls` runs, so that a blocking call returns.
    pub fn open_during<R>(&self, calls: impl FnOnce() -> R) -> R {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(30));
                self.open();
            });
            calls()
        })
    }
}

#[test]
fn functions_in_two_streams_meet() {
    if !in_child("streams::functions_in_two_streams_meet") {
        return;
    }
    start();
    // Each waits for the other: the streams finish only if they run concurrently.
    extern "C" fn meet(barrier: &Barrier) {
        barrier.wait();
    }
    let (barrier, all) = (Barrier::new(3), [stream(0), stream(0), stream(1)]);
    all.iter().for_each(|stream| call(*stream, meet, &barrier));
    for stream in all {
        assert_eq!(unsafe { api::cuStreamSynchronize(stream) }, 0);
        assert_eq!(unsafe { api::cuStreamDestroy_v2(stream) }, 0);
        assert_eq!(unsafe { api::cuStreamSynchronize(stream) }, 400);
    }
}

#[test]
fn the_legacy_stream_keeps_order_with_blocking_ones() {
    if !in_child("streams::the_legacy_stream_keeps_order_with_blocking_ones") {
        return;
    }
    start();
    let (d, blocking, apart) = (device(&[0; 8]), stream(0), stream(1));
    let at = |n: usize| Ptr(d.0 + n);
    let gate = Gate::default();
    call(blocking, Gate::wait, &gate);
    unsafe {
        assert_eq!(api::cuMemsetD8Async(at(0), 1, 1, blocking), 0);
        assert_eq!(api::cuMemcpyDtoD_v2(at(1), at(0), 1), 0, "does not wait on the host");
        assert_eq!(api::cuMemsetD8Async(at(2), 5, 1, apart), 0);
        assert_eq!(api::cuStreamSynchronize(apart), 0);
        assert_eq!(api::cuStreamQuery(apart), 0);
        assert_eq!(api::cuStreamQuery(blocking), 600);
        assert_eq!(api::cuStreamQuery(LEGACY), 600);
        gate.open();
        assert_eq!(bytes::<3>(d), [1, 1, 5]);

        let second = Gate::default();
        call(Stream(1), Gate::wait, &second);
        assert_eq!(api::cuMemsetD8Async(at(0), 10, 1, LEGACY), 0);
        assert_eq!(api::cuMemcpyDtoDAsync_v2(at(1), at(0), 1, blocking), 0);
        assert_eq!(api::cuMemsetD8Async(at(3), 6, 1, apart), 0);
        assert_eq!(api::cuStreamSynchronize(apart), 0);
        assert_eq!(api::cuStreamQuery(blocking), 600);
        // The per-thread stream is a blocking one, too.
        assert_eq!(api::cuMemcpyDtoDAsync_v2_ptsz(at(4), at(0), 1, Stream(0)), 0);
        assert_eq!(api::cuStreamQuery_ptsz(Stream(0)), 600);
        assert_eq!(api::cuStreamQuery(Stream(2)), 600);
        assert_eq!(
            std::thread::spawn(move || {
                let mut context = Context(0);
                api::cuDevicePrimaryCtxRetain(Out(&raw mut context), Device(0));
                api::cuCtxSetCurrent(context);
                api::cuStreamQuery(Stream(2))
            })
            .join()
            .unwrap(),
            0,
            "another thread's"
        );
        second.open();
        assert_eq!(api::cuStreamSynchronize(blocking), 0);
        assert_eq!(api::cuStreamSynchronize(Stream(2)), 0);
        assert_eq!(bytes::<5>(d), [10, 10, 5, 6, 10]);
    }
}

#[test]
fn events_are_recorded_waited_for_and_timed() {
    if !in_child("streams::events_are_recorded_waited_for_and_timed") {
        return;
    }
    start();
    let (s, t) = (stream(1), stream(1));
    let (begun, ended, untimed, fresh) = (event(0), event(0), event(2), event(0));
    let (gate, d) = (Gate::default(), device(&[0; 4]));
    let mut ms = -1f32;
    unsafe {
        assert_eq!(api::cuEventQuery(fresh), 0);
        assert_eq!(api::cuEventSynchronize(fresh), 0);
        assert_eq!(api::cuEventRecord(begun, s), 0);
        call(s, Gate::wait, &gate);
        assert_eq!(api::cuMemsetD8Async(d, 7, 1, s), 0);
        assert_eq!(api::cuEventRecord(ended, s), 0);
        assert_eq!(api::cuEventRecord(untimed, s), 0);
        assert_eq!(api::cuStreamWaitEvent(t, untimed, Flags(0)), 0);
        assert_eq!(api::cuMemcpyDtoDAsync_v2(Ptr(d.0 + 1), d, 1, t), 0);
        // Recorded again: a waiter waits for the record that was the last when it asked.
        assert_eq!(api::cuEventRecord(untimed, t), 0);
        assert_eq!(api::cuEventQuery(ended), 600);
        assert_eq!(api::cuEventElapsedTime(place_mut(&mut ms), begun, ended), 600);
        assert_eq!(ms, -1.0);
        std::thread::sleep(Duration::from_millis(5));
        gate.open();
        assert_eq!(api::cuEventSynchronize(ended), 0);
        assert_eq!(api::cuStreamSynchronize(t), 0);
        assert_eq!(bytes::<2>(d), [7, 7]);
        assert_eq!(api::cuEventElapsedTime(place_mut(&mut ms), begun, ended), 0);
        assert!((4.9..5_000.0).contains(&ms), "{ms}");
        let mut back = 0f32;
        assert_eq!(api::cuEventElapsedTime(place_mut(&mut back), ended, begun), 0);
        assert_eq!(back, -ms);
        assert_eq!(api::cuEventElapsedTime(place_mut(&mut ms), begun, untimed), 400);
        assert_eq!(api::cuEventElapsedTime(place_mut(&mut ms), begun, fresh), 400);
        assert_eq!(api::cuEventElapsedTime(Ptr(0), begun, ended), 1);
        assert_eq!(api::cuEventRecord(Event(0), s), 400);
        assert_eq!(api::cuEventCreate(Out(std::ptr::null_mut()), Flags(0)), 1);
        let mut kept = Event(5);
        assert_eq!(api::cuEventCreate(Out(&raw mut kept), Flags(0x100)), 1);
        assert_eq!(kept, Event(5));
        // An event may be destroyed while something waits for it; its stream, too.
        let last = Gate::default();
        call(s, Gate::wait, &last);
        assert_eq!(api::cuMemsetD8Async(d, 9, 1, s), 0);
        assert_eq!(api::cuEventRecord(ended, s), 0);
        assert_eq!(api::cuStreamWaitEvent(t, ended, Flags(0)), 0);
        assert_eq!(api::cuEventDestroy_v2(ended), 0);
        assert_eq!(api::cuEventDestroy_v2(ended), 400);
        assert_eq!(api::cuStreamDestroy_v2(s), 0);
        assert_eq!(api::cuMemcpyDtoDAsync_v2(Ptr(d.0 + 2), d, 1, t), 0);
        last.open();
        assert_eq!(api::cuCtxSynchronize(), 0);
        assert_eq!(bytes::<3>(d), [9, 7, 9]);
    }
}

static LOG: Mutex<Vec<(u32, i32)>> = Mutex::new(Vec::new());
static INSIDE: AtomicU32 = AtomicU32::new(0);

extern "C" fn called_back(_: Stream, status: i32, data: Ptr) {
    LOG.lock().unwrap().push((data.0 as u32, status));
}

extern "C" fn forbidden(_: &u8) {
    let mut at = Ptr(0);
    let code = unsafe { api::cuMemAlloc_v2(Out(&raw mut at), 16) };
    INSIDE.store(code as u32, Ordering::Relaxed);
}

#[test]
fn functions_of_the_program_run_in_order() {
    if !in_child("streams::functions_of_the_program_run_in_order") {
        return;
    }
    start();
    let s = stream(0);
    let function = Ptr(called_back as *const () as usize);
    unsafe {
        for n in 0..200 {
            assert_eq!(api::cuStreamAddCallback(s, function, Ptr(n), Flags(0)), 0);
        }
        assert_eq!(api::cuStreamAddCallback(s, function, Ptr(0), Flags(1)), 1);
        assert_eq!(api::cuStreamAddCallback(s, Ptr(0), Ptr(0), Flags(0)), 1);
        assert_eq!(api::cuLaunchHostFunc(s, Ptr(0), Ptr(0)), 1);
        call(s, forbidden, &0u8);
        assert_eq!(api::cuCtxSynchronize(), 0);
    }
    let expected: Vec<_> = (0..200).map(|n| (n, 0)).collect();
    assert_eq!(*LOG.lock().unwrap(), expected);
    assert_eq!(INSIDE.load(Ordering::Relaxed), 800);
}

#[test]
fn streams_say_what_they_are() {
    if !in_child("streams::streams_say_what_they_are") {
        return;
    }
    let context = start();
    let (mut high, mut flags, mut priority, mut of) = (Stream(0), 9u32, 9i32, Context(0));
    let (mut one, mut two) = (0u64, 0u64);
    unsafe {
        let create = api::cuStreamCreateWithPriority;
        assert_eq!(create(Out(&raw mut high), Flags(1), -100), 0);
        assert_eq!(api::cuStreamGetPriority(high, Out(&raw mut priority)), 0);
        assert_eq!(api::cuStreamGetFlags(high, Out(&raw mut flags)), 0);
        assert_eq!(api::cuStreamGetCtx(high, Out(&raw mut of)), 0);
        assert_eq!((priority, flags, of), (-5, 1, context));
        assert_eq!(api::cuStreamGetFlags(Stream(2), Out(&raw mut flags)), 0);
        assert_eq!(flags, 0);
        assert_eq!(api::cuStreamGetId(high, Out(&raw mut one)), 0);
        assert_eq!(api::cuStreamGetId(LEGACY, Out(&raw mut two)), 0);
        assert_ne!(one, two);
        let mut kept = Stream(0x40);
        assert_eq!(api::cuStreamCreate(Out(&raw mut kept), Flags(0x20)), 1);
        assert_eq!(kept, Stream(0x40));
        assert_eq!(api::cuStreamGetFlags(high, Out(std::ptr::null_mut())), 1);
        for handle in [0, 1, 2, 0x40] {
            assert_eq!(api::cuStreamDestroy_v2(Stream(handle)), 400, "{handle}");
        }
        let mut policy = [0u32; 16];
        assert_eq!(api::cuStreamGetAttribute(high, 3, place_mut(&mut policy)), 0);
        assert_eq!(policy[0], u32::MAX);
        policy[0] = 3;
        assert_eq!(api::cuStreamSetAttribute(high, 3, place(&policy)), 0);
        let other = stream(0);
        assert_eq!(api::cuStreamCopyAttributes(other, high), 0);
        policy[0] = 0;
        assert_eq!(api::cuStreamGetAttribute(other, 3, place_mut(&mut policy)), 0);
        assert_eq!(policy[0], 3);
        policy[0] = 99;
        assert_eq!(api::cuStreamSetAttribute(high, 3, place(&policy)), 1);
        assert_eq!(api::cuStreamGetAttribute(high, 77, place_mut(&mut policy)), 1);
    }
}

#[test]
fn values_are_written_and_waited_for() {
    if !in_child("streams::values_are_written_and_waited_for") {
        return;
    }
    start();
    let (d, s, t) = (device(&[0; 32]), stream(1), stream(1));
    let at = |n: usize| Ptr(d.0 + n);
    unsafe {
        // One stream waits for the other's write, and replies.
        assert_eq!(api::cuStreamWaitValue32_v2(s, at(0), 5, Flags(0)), 0);
        assert_eq!(api::cuMemsetD8Async(at(16), 1, 1, s), 0);
        assert_eq!(api::cuStreamWriteValue64_v2(s, at(8), 1 << 40, Flags(0)), 0);
        assert_eq!(api::cuStreamWaitValue64_v2(t, at(8), 1 << 40, Flags(1)), 0);
        assert_eq!(api::cuStreamQuery(s), 600);
        assert_eq!(api::cuStreamQuery(t), 600);
        let other = stream(1);
        assert_eq!(api::cuStreamWriteValue32_v2(other, at(0), 7, Flags(0)), 0);
        assert_eq!(api::cuStreamSynchronize(t), 0);
        assert_eq!(api::cuStreamSynchronize(s), 0);
        assert_eq!(bytes::<17>(d)[16], 1);
        assert_eq!(api::cuStreamWriteValue32_v2(s, at(2), 7, Flags(0)), 1, "misaligned");
        assert_eq!(api::cuStreamWaitValue32_v2(s, at(0), 7, Flags(1 << 9)), 1);
        assert_eq!(api::cuStreamWriteValue64_v2(s, at(32), 7, Flags(0)), 1, "behind the end");
        let both = [[2u64, at(24).0 as u64, 9, 0, 0, 0], [1, at(24).0 as u64, 8, 2, 0, 0]];
        assert_eq!(api::cuStreamBatchMemOp_v2(s, 2, place(&both), Flags(0)), 0);
        assert_eq!(api::cuStreamSynchronize(s), 0);
        assert_eq!(bytes::<25>(d)[24], 9);
        // An equal value satisfies >=, and one common bit satisfies AND.
        assert_eq!(api::cuStreamWaitValue32_v2(s, at(24), 9, Flags(0)), 0);
        assert_eq!(api::cuStreamWaitValue32_v2(s, at(24), 9 | 32, Flags(2)), 0);
        assert_eq!(api::cuStreamSynchronize(s), 0);
    }
}

#[test]
fn resources_are_all_multiprocessors() {
    if !in_child("streams::resources_are_all_multiprocessors") {
        return;
    }
    let context = start();
    let (mut count, mut all) = (0i32, [[9u32; 36]; 3]);
    let [of_device, of_context, of_stream] =
        all.each_mut().map(|to| Ptr(to.as_mut_ptr().expose_provenance()));
    unsafe {
        assert_eq!(api::cuDeviceGetAttribute(Out(&raw mut count), 16, Device(0)), 0);
        assert_eq!(api::cuDeviceGetDevResource(Device(0), of_device, 1), 0);
        assert_eq!(api::cuCtxGetDevResource(context, of_context, 1), 0);
        assert_eq!(api::cuStreamGetDevResource(LEGACY, of_stream, 1), 0);
        // Another type, an unknown device, a null pointer.
        assert_eq!(api::cuStreamGetDevResource(LEGACY, of_stream, 0), 914);
        assert_eq!(api::cuDeviceGetDevResource(Device(77), of_device, 1), 101);
        assert_eq!(api::cuDeviceGetDevResource(Device(0), Ptr(0), 1), 1);
    }
    // The type, the count, and zeros after the multiprocessors' part.
    assert_eq!((all[0][0], all[0][24]), (1, count as u32));
    assert!(all[0][26] > 0 && all[0][27..].iter().all(|word| *word == 0));
    assert_eq!((all[1], all[2]), (all[0], all[0]));
}
