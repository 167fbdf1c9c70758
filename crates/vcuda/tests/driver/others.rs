//! Queries of nodes of any kind, batched prefetches, and callbacks for exhausted memory.

use cushim_abi::types::*;
use vcuda::api;

use crate::{bytes, device, in_child, place, place_mut, start};

const NONE: Ptr = Ptr(0);

extern "C" fn nothing(_: Ptr) {}

/// `CUgraphNodeParams` of a node.
fn params(node: Node) -> [u64; 32] {
    let mut found = [9; 32];
    assert_eq!(unsafe { api::cuGraphNodeGetParams(node, place_mut(&mut found)) }, 0);
    found
}

#[test]
fn nodes_of_any_kind_say_what_they_do() {
    if !in_child("others::nodes_of_any_kind_say_what_they_do") {
        return;
    }
    start();
    let (mut graph, mut node, d) = (Graph(0), Node(0), device(&[0; 64]));
    let to = Out(&raw mut node);
    let set = [d.0 as u64, 0, 7 | 1 << 32, 16, 1];
    let host = [nothing as *const () as u64, 5];
    unsafe {
        assert_eq!(api::cuGraphCreate(Out(&raw mut graph), Flags(0)), 0);
        assert_eq!(api::cuGraphAddMemsetNode(to, graph, NONE, 0, place(&set), Context(0)), 0);
        let found = params(node);
        assert_eq!((found[0], &found[2..7]), (2, &set[..]));
        // Parameters that were read can be set again, and make the same node.
        let mut back = found;
        assert_eq!(api::cuGraphNodeSetParams(node, place_mut(&mut back)), 0);
        assert_eq!(api::cuGraphAddNode(to, graph, NONE, 0, place_mut(&mut back)), 0);
        assert_eq!(params(node), found);
        assert_eq!(api::cuGraphAddHostNode(to, graph, NONE, 0, place(&host)), 0);
        let found = params(node);
        assert_eq!((found[0], &found[2..4], found[31]), (3, &host[..], 0));
        assert_eq!(api::cuGraphAddEmptyNode(to, graph, NONE, 0), 0);
        assert_eq!(params(node)[..3], [5, 0, 0]);
        assert_eq!(api::cuGraphNodeGetParams(node, NONE), 1);
        assert_eq!(api::cuGraphNodeGetParams(Node(3), place_mut(&mut back)), 1);
    }
}

#[test]
fn batches_of_prefetches_are_checked() {
    if !in_child("others::batches_of_prefetches_are_checked") {
        return;
    }
    start();
    let (mut p, mut stream) = (Ptr(0), Stream(0));
    unsafe {
        assert_eq!(api::cuMemAllocManaged(Out(&raw mut p), 1 << 16, Flags(1)), 0);
        assert_eq!(api::cuStreamCreate(Out(&raw mut stream), Flags(0)), 0);
        let (at, sizes, firsts) = ([p.0, p.0 + 4096], [4096usize, 100], [0usize, 1]);
        // CUmemLocation: device 0, the host.
        let places = [1i32, 0, 2, 0];
        let (at, sizes) = (place(&at), place(&sizes));
        let go = |firsts: &[usize; 2], count: usize, of: usize, flags: u64, stream: Stream| {
            let (places, firsts) = (place(&places), place(firsts));
            let flags = Flags64(flags);
            let first =
                api::cuMemPrefetchBatchAsync(at, sizes, count, places, firsts, of, flags, stream);
            let both = api::cuMemDiscardAndPrefetchBatchAsync;
            assert_eq!(both(at, sizes, count, places, firsts, of, flags, stream), first);
            first
        };
        assert_eq!(go(&firsts, 2, 2, 0, stream), 0);
        assert_eq!(go(&firsts, 2, 1, 0, stream), 0);
        for (firsts, count, of, flags) in [
            ([0, 1], 0, 0, 0),
            ([0, 1], 2, 0, 0),
            ([0, 1], 2, 3, 0),
            ([0, 1], 2, 2, 1),
            ([1, 0], 2, 2, 0),
            ([0, 2], 2, 2, 0),
        ] {
            assert_eq!(go(&firsts, count, of, flags, stream), 1, "{firsts:?} {count} {of}");
        }
        assert_eq!(go(&firsts, 2, 2, 0, Stream(0)), 1, "the legacy stream");
        let discard = api::cuMemDiscardBatchAsync;
        assert_eq!(discard(at, sizes, 2, Flags64(0), stream), 0);
        assert_eq!(discard(at, sizes, 0, Flags64(0), stream), 1);
        let own = device(&[0; 8]);
        assert_eq!(discard(place(&own), sizes, 1, Flags64(0), stream), 1, "no managed memory");
    }
}

#[test]
fn listeners_come_and_go() {
    if !in_child("others::listeners_come_and_go") {
        return;
    }
    start();
    let (mut made, call) = (Ptr(0), Ptr(nothing as *const () as usize));
    unsafe {
        let register = api::cuDeviceRegisterAsyncNotification;
        assert_eq!(register(Device(9), call, NONE, Out(&raw mut made)), 101);
        assert_eq!(register(Device(0), NONE, NONE, Out(&raw mut made)), 1);
        assert_eq!(register(Device(0), call, NONE, Out(&raw mut made)), 0);
        let unregister = api::cuDeviceUnregisterAsyncNotification;
        assert_eq!(unregister(Device(0), Ptr(8)), 1);
        assert_eq!(unregister(Device(0), made), 0);
        assert_eq!(unregister(Device(0), made), 1);
    }
}

#[test]
fn batches_of_operations_are_nodes() {
    if !in_child("others::batches_of_operations_are_nodes") {
        return;
    }
    start();
    let (mut graph, mut node, mut exec, d) = (Graph(0), Node(0), GraphExec(0), device(&[0; 16]));
    // Writes 7, waits for it, and writes 8 bytes further.
    let at = d.0 as u64;
    let operations = [[2, at, 7, 0, 0, 0], [1, at, 7, 1, 0, 0], [5, at + 8, 1 << 40, 0, 0, 0u64]];
    let mut raw = [0, 3, place(&operations).0 as u64, 0];
    let to = Out(&raw mut node);
    unsafe {
        assert_eq!(api::cuGraphCreate(Out(&raw mut graph), Flags(0)), 0);
        let wrong = [[9, at, 7, 0, 0, 0u64]];
        let mut other = [0, 1, place(&wrong).0 as u64, 0];
        let add = api::cuGraphAddBatchMemOpNode;
        assert_eq!(add(to, graph, NONE, 0, place_mut(&mut other)), 1);
        other[1] = 300;
        assert_eq!(add(to, graph, NONE, 0, place_mut(&mut other)), 1);
        assert_eq!(add(to, graph, NONE, 0, place_mut(&mut raw)), 0);
        let mut back = [9u64; 4];
        assert_eq!(api::cuGraphBatchMemOpNodeGetParams(node, place_mut(&mut back)), 0);
        assert_eq!((back[1], back[3]), (3, 0));
        assert_eq!(params(node)[..2], [12, 0]);
        let instantiate = api::cuGraphInstantiateWithFlags;
        assert_eq!(instantiate(Out(&raw mut exec), graph, Flags64(0)), 0);
        let run = || {
            assert_eq!(api::cuGraphLaunch(exec, Stream(0)), 0);
            assert_eq!(api::cuCtxSynchronize(), 0);
        };
        run();
        assert_eq!(bytes::<16>(d), [7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
        let less = [[2, at, 3, 0, 0, 0u64]];
        let mut raw = [0, 1, place(&less).0 as u64, 0];
        let set = api::cuGraphExecBatchMemOpNodeSetParams;
        assert_eq!(set(exec, node, place_mut(&mut raw)), 0);
        run();
        assert_eq!(bytes::<1>(d), [3]);
    }
}
