//! Failed work: its context returns the error until it is reset.

use cushim_abi::types::*;
use vcuda::api;

use crate::streams::{Gate, LEGACY, call, event, stream};
use crate::{device, in_child, place, start};

/// CUDA_ERROR_ILLEGAL_ADDRESS.
const ILLEGAL_ADDRESS: i32 = 700;

/// An executable graph that sets memory that was freed.
fn set_of_nothing(context: Context) -> GraphExec {
    let (mut graph, mut node, mut exec) = (Graph(0), Node(0), GraphExec(0));
    // On pages of its own: freed memory on pages in use stays accessible, as on a GPU.
    let gone = device(&vec![0; 3 << 20]);
    // CUDA_MEMSET_NODE_PARAMS: address, pitch, value and size of an element, width, height.
    let params = [gone.0 as u64, 0, 1 << 32, 4096, 1];
    unsafe {
        assert_eq!(api::cuGraphCreate(Out(&raw mut graph), Flags(0)), 0);
        let to = Out(&raw mut node);
        assert_eq!(api::cuGraphAddMemsetNode(to, graph, Ptr(0), 0, place(&params), context), 0);
        assert_eq!(api::cuGraphInstantiateWithFlags(Out(&raw mut exec), graph, Flags64(0)), 0);
        assert_eq!(api::cuMemFree_v2(gone), 0);
    }
    exec
}

#[test]
fn a_failure_stays_until_the_reset() {
    if !in_child("failures::a_failure_stays_until_the_reset") {
        return;
    }
    let mut context = start();
    let (t, never) = (stream(1), device(&[0; 4]));
    let (s, e, exec, gate) = (stream(1), event(0), set_of_nothing(context), Gate::default());
    let (mut p, mut limit) = (Ptr(0), 0usize);
    unsafe {
        assert_eq!(api::cuCtxSetLimit(0, 4096), 0);
        assert_eq!(api::cuStreamWaitValue32_v2(t, never, 1, Flags(0)), 0);
        call(s, Gate::wait, &gate);
        assert_eq!(api::cuGraphLaunch(exec, s), 0);
        assert_eq!(api::cuEventRecord(e, s), 0);
        gate.open_during(|| assert_eq!(api::cuEventSynchronize(e), ILLEGAL_ADDRESS));
        for (code, what) in [
            (api::cuStreamSynchronize(s), "cuStreamSynchronize"),
            (api::cuStreamSynchronize(LEGACY), "another stream"),
            (api::cuStreamSynchronize(t), "one that waits for a value"),
            (api::cuStreamQuery(s), "cuStreamQuery"),
            (api::cuEventQuery(e), "cuEventQuery"),
            (api::cuCtxSynchronize(), "cuCtxSynchronize"),
            (api::cuMemAlloc_v2(Out(&raw mut p), 64), "cuMemAlloc"),
            (api::cuMemsetD8Async(Ptr(0), 0, 0, s), "a set of nothing"),
            (api::cuEventRecord(e, s), "cuEventRecord"),
        ] {
            assert_eq!(code, ILLEGAL_ADDRESS, "{what}");
        }
        assert_eq!(p, Ptr(0));
        assert_eq!(api::cuDevicePrimaryCtxReset_v2(Device(0)), 0);
        assert_eq!(api::cuDevicePrimaryCtxRetain(Out(&raw mut context), Device(0)), 0);
        assert_eq!(api::cuCtxSetCurrent(context), 0);
        assert_eq!(api::cuMemAlloc_v2(Out(&raw mut p), 64), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);
        assert_eq!(api::cuCtxGetLimit(Out(&raw mut limit), 0), 0);
        assert_eq!(limit, 1024, "the limits of the start, too");
        // Another context is not affected, and the first failure is reported.
        let mut other = Context(0);
        assert_eq!(api::cuCtxCreate_v2(Out(&raw mut other), Flags(0), Device(0)), 0);
        let t = stream(1);
        assert_eq!(api::cuGraphLaunch(set_of_nothing(other), t), 0);
        assert_eq!(api::cuStreamSynchronize(t), ILLEGAL_ADDRESS);
        assert_eq!(api::cuCtxSetCurrent(context), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);
    }
}
