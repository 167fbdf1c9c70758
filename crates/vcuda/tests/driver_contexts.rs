//! Contexts and devices of cushim's driver, called as programs call it, with the mock accelerator.
//!
//! There is a single test, because the driver's state belongs to the process.

#![allow(clippy::unwrap_used, clippy::undocumented_unsafe_blocks)]

use cushim_abi::types::*;
use vcuda::api;

const NONE: Context = Context(0);

fn current() -> Context {
    let mut context = Context(7);
    assert_eq!(unsafe { api::cuCtxGetCurrent(Out(&raw mut context)) }, 0);
    context
}

/// The primary context: one handle, which is valid while the context is retained.
fn primary() {
    let mut context = NONE;
    unsafe {
        let (mut flags, mut active) = (9, 9);
        assert_eq!(api::cuDevicePrimaryCtxRetain(Out(&raw mut context), Device(2)), 101);
        assert_eq!(context, NONE, "outputs stay on error");
        assert_eq!(api::cuDevicePrimaryCtxRelease_v2(Device(0)), 201);
        assert_eq!(api::cuDevicePrimaryCtxRetain(Out(&raw mut context), Device(0)), 0);
        let mut again = NONE;
        assert_eq!(api::cuDevicePrimaryCtxRetain(Out(&raw mut again), Device(0)), 0);
        assert_eq!(again, context);
        assert_eq!(api::cuCtxDestroy_v2(context), 201, "a primary context is released");
        assert_eq!(api::cuCtxSetCurrent(context), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);
        assert_eq!(api::cuDevicePrimaryCtxRelease_v2(Device(0)), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);
        assert_eq!(api::cuDevicePrimaryCtxRelease_v2(Device(0)), 0);
        assert_eq!(api::cuCtxSynchronize(), 709);
        let state = (Out(&raw mut flags), Out(&raw mut active));
        assert_eq!(api::cuDevicePrimaryCtxGetState(Device(0), state.0, state.1), 0);
        assert_eq!((flags, active), (0, 0));
        assert_eq!(api::cuCtxSetCurrent(NONE), 0);
    }
}

/// Some calls need only their stream and event, not a current context: LLVM's libomptarget waits in threads of its own.
fn in_other_threads() {
    unsafe {
        let mut held = NONE;
        let (mut stream, mut event) = (Stream(0), Event(0));
        assert_eq!(api::cuDevicePrimaryCtxRetain(Out(&raw mut held), Device(0)), 0);
        assert_eq!(api::cuCtxSetCurrent(held), 0);
        assert_eq!(api::cuStreamCreate(Out(&raw mut stream), Flags(1)), 0);
        assert_eq!(api::cuEventCreate(Out(&raw mut event), Flags(0)), 0);
        let other = std::thread::spawn(move || {
            assert_eq!(current(), NONE);
            assert_eq!(api::cuEventRecord(event, stream), 0);
            assert_eq!(api::cuStreamWaitEvent(stream, event, Flags(0)), 0);
            assert_eq!(api::cuStreamSynchronize(stream), 0);
            assert_eq!(api::cuStreamQuery(stream), 0);
            let mut priority = 7;
            assert_eq!(api::cuStreamGetPriority(stream, Out(&raw mut priority)), 0);
            assert_eq!(priority, 0);
            // An invalid stream, or a default stream, needs a current context.
            for none in [0, 1, 2, 0x1234] {
                assert_eq!(api::cuStreamWaitEvent(Stream(none), event, Flags(0)), 201, "{none}");
            }
            // Memory operations need one, too.
            assert_eq!(api::cuMemsetD8Async(Ptr(0), 0, 1, stream), 201);
        });
        other.join().unwrap();
        assert_eq!(api::cuStreamDestroy_v2(stream), 0);
        assert_eq!(api::cuEventDestroy_v2(event), 0);
        assert_eq!(api::cuCtxSetCurrent(NONE), 0);
        assert_eq!(api::cuDevicePrimaryCtxRelease_v2(Device(0)), 0);
    }
}

/// Each thread has its own stack of contexts.
fn stacks() {
    unsafe {
        let (mut first, mut second) = (NONE, NONE);
        assert_eq!(api::cuCtxCreate_v2(Out(&raw mut first), Flags(3), Device(0)), 1);
        assert_eq!(api::cuCtxCreate_v2(Out(&raw mut first), Flags(0), Device(0)), 0);
        assert_eq!(api::cuCtxCreate_v2(Out(&raw mut second), Flags(0), Device(1)), 0);
        assert_eq!(current(), second);
        assert_eq!(std::thread::spawn(current).join().unwrap(), NONE);
        assert_eq!(api::cuCtxEnablePeerAccess(first, Flags(0)), 0);
        assert_eq!(api::cuCtxEnablePeerAccess(first, Flags(0)), 704);
        assert_eq!(api::cuCtxDisablePeerAccess(first), 0);
        assert_eq!(api::cuCtxDisablePeerAccess(first), 705);
        let other = std::thread::spawn(move || {
            let set = api::cuCtxSetCurrent(second);
            (set, api::cuCtxDestroy_v2(second), current())
        });
        assert_eq!(other.join().unwrap(), (0, 0, NONE));
        assert_eq!(api::cuCtxSynchronize(), 709, "destroyed by another thread");
        assert_eq!(api::cuCtxSetCurrent(second), 201, "no handle any more");
        let mut popped = NONE;
        assert_eq!(api::cuCtxPopCurrent_v2(Out(&raw mut popped)), 0);
        assert_eq!((popped, current()), (second, first));
        assert_eq!(api::cuCtxDestroy_v2(Context(first.0 + 8)), 201, "no handle");
        assert_eq!(api::cuCtxDestroy_v2(first), 0);
        assert_eq!(api::cuCtxPopCurrent_v2(Out(&raw mut popped)), 201, "an empty stack");
    }
}

#[test]
fn contexts_are_created_used_and_destroyed() {
    vcuda::choose::offer("mock", || Box::new(cushim_accel_mock::new()));
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("CUSHIM_BACKEND", "mock") };
    let mut count = 0;
    unsafe {
        assert_eq!(api::cuDeviceGetCount(Out(&raw mut count)), 3, "before cuInit");
        assert_eq!(api::cuInit(Flags(1)), 1);
        assert_eq!(api::cuInit(Flags(0)), 0);
        assert_eq!(api::cuDeviceGetCount(Out(&raw mut count)), 0);
        assert_eq!(api::cuDeviceGetCount(Out(std::ptr::null_mut())), 1);
        assert_eq!(api::cuCtxSynchronize(), 201, "no context");
    }
    assert_eq!((count, current()), (2, NONE));

    primary();
    in_other_threads();
    stacks();

    // A forked child does not hang: its calls return "not initialised".
    let child = unsafe { libc::fork() };
    if child == 0 {
        let (again, count) = unsafe { (api::cuInit(Flags(0)), api::cuCtxSynchronize()) };
        unsafe { libc::_exit(if (again, count) == (3, 3) { 42 } else { 1 }) };
    }
    let mut how = 0;
    assert_eq!(unsafe { libc::waitpid(child, &raw mut how, 0) }, child);
    assert_eq!(libc::WEXITSTATUS(how), 42);
}
