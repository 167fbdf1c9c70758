//! Captures and graphs together with other work: what invalidates a capture, which dependencies a join keeps, when
//! branches begin, which updates are refused.

use std::sync::atomic::{AtomicU32, Ordering};

use cushim_abi::types::*;
use vcuda::api;

use crate::streams::{Gate, LEGACY, call, event, stream};
use crate::{bytes, device, in_child, place, place_mut, start};

fn begin(stream: Stream) {
    // CU_STREAM_CAPTURE_MODE_RELAXED.
    assert_eq!(unsafe { api::cuStreamBeginCapture_v2(stream, 2) }, 0);
}

fn end(stream: Stream) -> (i32, Graph) {
    let mut graph = Graph(0);
    (unsafe { api::cuStreamEndCapture(stream, Out(&raw mut graph)) }, graph)
}

fn instance(graph: Graph) -> GraphExec {
    let mut exec = GraphExec(0);
    let to = Out(&raw mut exec);
    assert_eq!(unsafe { api::cuGraphInstantiateWithFlags(to, graph, Flags64(0)) }, 0);
    exec
}

fn graph() -> Graph {
    let mut graph = Graph(0);
    assert_eq!(unsafe { api::cuGraphCreate(Out(&raw mut graph), Flags(0)) }, 0);
    graph
}

/// Adds a node that sets one byte, after other nodes.
fn fill(graph: Graph, to: Ptr, value: u64, after: &[Node]) -> Node {
    let (mut node, mut context) = (Node(0), Context(0));
    let params = [to.0 as u64, 0, value | 1 << 32, 1, 1];
    let (first, count) = (Ptr(after.as_ptr().expose_provenance()), after.len());
    unsafe {
        assert_eq!(api::cuCtxGetCurrent(Out(&raw mut context)), 0);
        let to = Out(&raw mut node);
        assert_eq!(api::cuGraphAddMemsetNode(to, graph, first, count, place(&params), context), 0);
    }
    node
}

fn edges(graph: Graph) -> usize {
    let mut count = 77;
    assert_eq!(unsafe { api::cuGraphGetEdges(graph, Ptr(0), Ptr(0), Out(&raw mut count)) }, 0);
    count
}

#[test]
fn captures_are_broken_by_what_would_wait_for_them() {
    if !in_child("captures::captures_are_broken_by_what_would_wait_for_them") {
        return;
    }
    start();
    let (d, apart, s, t, e) = (device(&[0; 8]), stream(1), stream(0), stream(1), event(2));
    unsafe {
        begin(apart);
        assert_eq!(api::cuMemsetD8Async(d, 1, 1, apart), 0);
        assert_eq!(api::cuMemsetD8Async(Ptr(d.0 + 1), 1, 1, LEGACY), 0, "does not wait for it");
        assert_eq!(end(apart).0, 0);
        begin(s);
        assert_eq!(api::cuMemsetD8Async(Ptr(d.0 + 1), 1, 1, LEGACY), 906, "would wait for it");
        assert_eq!(api::cuMemsetD8Async(d, 1, 1, s), 901, "broken");
        assert_eq!(end(s), (901, Graph(0)));
        // Two captures cannot be joined.
        begin(s);
        begin(t);
        assert_eq!(api::cuMemsetD8Async(d, 1, 1, s), 0);
        assert_eq!(api::cuEventRecord(e, s), 0);
        assert_eq!(api::cuStreamWaitEvent(t, e, Flags(0)), 902);
        assert_eq!((end(s).0, end(t).0), (901, 901));
    }
}

#[test]
fn a_join_waits_for_both() {
    if !in_child("captures::a_join_waits_for_both") {
        return;
    }
    start();
    let (d, s, t, fork, join) = (device(&[0; 8]), stream(1), stream(1), event(2), event(2));
    let set = |stream| unsafe { api::cuMemsetD8Async(d, 1, 1, stream) };
    unsafe {
        begin(s);
        assert_eq!((set(s), api::cuEventRecord(fork, s)), (0, 0));
        assert_eq!((api::cuStreamWaitEvent(t, fork, Flags(0)), set(t), set(s)), (0, 0, 0));
        assert_eq!(api::cuEventRecord(join, t), 0);
        assert_eq!((api::cuStreamWaitEvent(s, join, Flags(0)), set(s)), (0, 0));
        let (code, graph) = end(s);
        assert_eq!((code, edges(graph)), (0, 4), "a diamond");
    }
}

#[test]
fn a_capture_tells_which_nodes_the_next_one_waits_for() {
    if !in_child("captures::a_capture_tells_which_nodes_the_next_one_waits_for") {
        return;
    }
    start();
    let (d, s, own) = (device(&[0; 8]), stream(1), graph());
    let before = [fill(own, d, 1, &[]), fill(own, d, 2, &[])];
    let (mut status, mut id, mut into) = (7, 0, Graph(0));
    let (mut nodes, mut data, mut count) = (0usize, 0usize, 7);
    unsafe {
        let mut info = || {
            let (to_status, to_id, to_graph) =
                (Out(&raw mut status), Out(&raw mut id), Out(&raw mut into));
            let (to_nodes, to_data) = (place_mut(&mut nodes), place_mut(&mut data));
            let to_count = Out(&raw mut count);
            let code = api::cuStreamGetCaptureInfo_v3(
                s, to_status, to_id, to_graph, to_nodes, to_data, to_count,
            );
            (code, status, into, nodes, data, count)
        };
        let idle = info();
        assert_eq!((idle.0, idle.1), (0, 0), "not captured");
        let first = Ptr(before.as_ptr().expose_provenance());
        assert_eq!(api::cuStreamBeginCaptureToGraph(s, own, first, Ptr(0), 2, 2), 0);
        let (code, status, into, nodes, data, count) = info();
        assert_eq!((code, status, into, count), (0, 1, own, 2));
        // Each node has its data, all zero: plain edges.
        let nodes = std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<Node>(nodes), 2);
        let data = std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u64>(data), 2);
        assert_eq!((nodes, data), (&before[..], &[0, 0][..]));
        assert_eq!(end(s), (0, own));
    }
}

#[test]
fn branches_begin_behind_what_is_in_the_stream() {
    if !in_child("captures::branches_begin_behind_what_is_in_the_stream") {
        return;
    }
    start();
    let (d, s, t, own) = (device(&[0; 8]), stream(1), stream(1), graph());
    fill(own, d, 1, &[]);
    fill(own, Ptr(d.0 + 1), 2, &[]);
    let (exec, gate) = (instance(own), Gate::default());
    call(s, Gate::wait, &gate);
    unsafe {
        assert_eq!(api::cuGraphLaunch(exec, s), 0);
        let mut seen = [9u8; 2];
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(api::cuMemcpyDtoHAsync_v2(place_mut(&mut seen), d, 2, t), 0);
        assert_eq!(seen, [0, 0], "held back");
        gate.open();
        assert_eq!(api::cuStreamSynchronize(s), 0);
        assert_eq!(bytes::<2>(d), [1, 2]);
    }
}

#[test]
fn memory_of_a_graph_is_taken_once() {
    if !in_child("captures::memory_of_a_graph_is_taken_once") {
        return;
    }
    start();
    let (s, mut at) = (stream(1), Ptr(0));
    unsafe {
        begin(s);
        assert_eq!(api::cuMemAllocAsync(Out(&raw mut at), 64, s), 0);
        let (code, graph) = end(s);
        assert_eq!(code, 0);
        let exec = instance(graph);
        assert_eq!(api::cuGraphLaunch(exec, s), 0);
        assert_eq!(api::cuGraphLaunch(exec, s), 1, "nobody gave it back");
        assert_eq!(api::cuMemFreeAsync(at, s), 0);
        assert_eq!(api::cuGraphLaunch(exec, s), 0);
    }
}

static CALLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn called(_: Ptr) {
    CALLED.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn functions_are_not_called_behind_a_failure() {
    if !in_child("captures::functions_are_not_called_behind_a_failure") {
        return;
    }
    start();
    let (s, gone, own, mut host) = (stream(1), device(&[0; 4096]), graph(), Node(0));
    let set = fill(own, gone, 1, &[]);
    let params = [called as *const () as usize, 0];
    unsafe {
        let to = Out(&raw mut host);
        assert_eq!(api::cuGraphAddHostNode(to, own, place(&set), 1, place(&params)), 0);
        let exec = instance(own);
        assert_eq!(api::cuGraphLaunch(exec, s), 0);
        assert_eq!(api::cuStreamSynchronize(s), 0);
        assert_eq!(CALLED.load(Ordering::Relaxed), 1);
        assert_eq!(api::cuMemFree_v2(gone), 0);
        assert_eq!(api::cuGraphLaunch(exec, s), 0);
        assert_eq!(api::cuStreamSynchronize(s), 700);
        assert_eq!(CALLED.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn an_update_is_of_the_same_shape() {
    if !in_child("captures::an_update_is_of_the_same_shape") {
        return;
    }
    start();
    let (d, s) = (device(&[0; 8]), stream(1));
    let at = |n: usize| Ptr(d.0 + n);
    let [first, same, side, kind] = [(); 4].map(|()| graph());
    let node = fill(first, at(0), 1, &[]);
    fill(first, at(1), 1, &[node]);
    let node = fill(same, at(0), 2, &[]);
    fill(same, at(1), 3, &[node]);
    fill(side, at(0), 4, &[]);
    fill(side, at(1), 4, &[]);
    let node = fill(kind, at(0), 5, &[]);
    // The same number of edges, in the other direction.
    let turned = graph();
    let (to, from) = (fill(turned, at(0), 6, &[]), fill(turned, at(1), 6, &[]));
    let mut empty = Node(0);
    let exec = instance(first);
    let update = |graph| {
        let mut why = [77u64; 8];
        unsafe { api::cuGraphExecUpdate_v2(exec, graph, place_mut(&mut why)) }
    };
    unsafe {
        assert_eq!(api::cuGraphAddEmptyNode(Out(&raw mut empty), kind, place(&node), 1), 0);
        assert_eq!(api::cuGraphAddDependencies(turned, place(&from), place(&to), 1), 0);
        assert_eq!((update(same), update(side), update(kind)), (0, 910, 910));
        assert_eq!(update(turned), 910);
        assert_eq!(api::cuGraphLaunch(exec, s), 0);
        assert_eq!(api::cuStreamSynchronize(s), 0);
    }
    assert_eq!(bytes::<2>(d), [2, 3], "the update that was one");
    // Independent nodes against a chain: the update in the other direction fails, too.
    let (apart, chain) = (instance(side), place_mut(&mut [77u64; 8]));
    assert_eq!(unsafe { api::cuGraphExecUpdate_v2(apart, same, chain) }, 910);
}

/// As XLA does it: the nodes of the child keep their handles, by which the instance's are changed.
#[test]
fn a_child_graph_may_be_moved() {
    if !in_child("captures::a_child_graph_may_be_moved") {
        return;
    }
    start();
    let data = device(&[0; 4]);
    let (mut graph, mut child, mut other) = (Graph(0), Graph(0), Graph(0));
    let (mut made, mut exec) = (Node(0), GraphExec(0));
    unsafe {
        for to in [&mut graph, &mut child, &mut other] {
            assert_eq!(api::cuGraphCreate(Out(to), Flags(0)), 0);
        }
        let node = fill(child, data, 5, &[]);
        // CUgraphNodeParams: type, reserved, graph and ownership of CUDA_CHILD_GRAPH_NODE_PARAMS.
        let add = |to: Graph, child: Graph, how: u64, made: &mut Node| {
            let mut raw = [0_u64; 32];
            (raw[0], raw[2], raw[3]) = (4, child.0 as u64, how);
            let (none, at) = (Ptr(0), place(&raw));
            api::cuGraphAddNode_v2(Out(made), to, none, none, 0, at)
        };
        assert_eq!(add(graph, graph, 1, &mut made), 1, "into itself");
        assert_eq!(add(graph, child, 7, &mut made), 1, "no such ownership");
        assert_eq!(add(graph, child, 1, &mut made), 0);
        assert_eq!(add(other, child, 1, &mut made), 1, "it is the first graph's");
        assert_eq!(add(child, graph, 1, &mut made), 1, "which is around it");
        assert_eq!(api::cuGraphDestroy(child), 1);
        assert_eq!(api::cuGraphInstantiateWithFlags(Out(&raw mut exec), graph, Flags64(0)), 0);
        let params = [data.0 as u64 + 1, 0, 9 | 1 << 32, 1, 1];
        let code = api::cuGraphExecMemsetNodeSetParams(exec, node, place(&params), Context(0));
        assert_eq!(code, 0);
        assert_eq!(api::cuGraphLaunch(exec, Stream(0)), 0);
        assert_eq!(api::cuStreamSynchronize(Stream(0)), 0);
        assert_eq!(bytes::<4>(data), [0, 9, 0, 0]);
        assert_eq!(api::cuGraphDestroy(graph), 0);
        let mut kind = 0i32;
        assert_eq!(api::cuGraphNodeGetType(node, Out(&raw mut kind)), 1, "gone with its graph");
    }
}
