//! Graphs, made by hand and captured.

use std::sync::atomic::{AtomicU32, Ordering};

use cushim_abi::types::*;
use vcuda::api;

use crate::{bytes, device, in_child, place, place_mut, start};

const NONE: Ptr = Ptr(0);

static CALLS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_: Ptr) {
    CALLS.fetch_add(1, Ordering::Relaxed);
}

fn stream() -> Stream {
    let mut stream = Stream(0);
    assert_eq!(unsafe { api::cuStreamCreate(Out(&raw mut stream), Flags(0)) }, 0);
    stream
}

fn event() -> Event {
    let mut event = Event(0);
    assert_eq!(unsafe { api::cuEventCreate(Out(&raw mut event), Flags(0)) }, 0);
    event
}

fn graph() -> Graph {
    let mut graph = Graph(0);
    assert_eq!(unsafe { api::cuGraphCreate(Out(&raw mut graph), Flags(0)) }, 0);
    graph
}

fn instance(graph: Graph) -> GraphExec {
    let mut exec = GraphExec(0);
    let code = unsafe { api::cuGraphInstantiateWithFlags(Out(&raw mut exec), graph, Flags64(0)) };
    assert_eq!(code, 0);
    exec
}

fn nodes(graph: Graph) -> Vec<usize> {
    let (mut all, mut count) = ([0usize; 16], 16usize);
    assert_eq!(unsafe { api::cuGraphGetNodes(graph, place_mut(&mut all), Out(&raw mut count)) }, 0);
    all[..count].to_vec()
}

fn capturing(stream: Stream) -> i32 {
    let mut status = 9;
    assert_eq!(unsafe { api::cuStreamIsCapturing(stream, Out(&raw mut status)) }, 0);
    status
}

/// `CUDA_MEMSET_NODE_PARAMS` of bytes.
fn fill(to: Ptr, value: u32, width: usize) -> [u64; 5] {
    [to.0 as u64, 0, u64::from(value) | 1 << 32, width as u64, 1]
}

/// `CUDA_MEMCPY3D` of a row.
fn row(to: Ptr, from: Ptr, width: usize) -> [usize; 25] {
    let mut shape = [0; 25];
    (shape[4], shape[6], shape[9]) = (4, from.0, width);
    (shape[15], shape[17], shape[20]) = (4, to.0, width);
    shape[22..].copy_from_slice(&[width, 1, 1]);
    shape
}

/// Changes the values that nodes of an executable graph set: its own nodes, and one in a child graph.
unsafe fn change(exec: GraphExec, node: &[Node; 7], embedded: Graph, d: Ptr) {
    unsafe {
        let other = fill(d, 4, 16);
        assert_eq!(
            api::cuGraphExecMemsetNodeSetParams(exec, node[0], place(&other), Context(0)),
            0
        );
        assert_eq!(
            api::cuGraphExecMemsetNodeSetParams(exec, node[1], place(&other), Context(0)),
            1
        );
        let inner_node = Node(nodes(embedded)[0]);
        let other = fill(Ptr(d.0 + 4), 8, 4);
        let code = api::cuGraphExecMemsetNodeSetParams(exec, inner_node, place(&other), Context(0));
        assert_eq!(code, 0, "of an inner graph");
    }
}

#[test]
fn graphs_of_every_plain_kind_run() {
    if !in_child("graphs::graphs_of_every_plain_kind_run") {
        return;
    }
    start();
    let (d, s, event) = (device(&[0; 16]), stream(), event());
    let (graph, child) = (graph(), graph());
    let mut node = [Node(0); 7];
    let mut to = [0u8; 16];
    unsafe {
        let after = |node: &Node| (place(node), 1usize);
        let set = fill(d, 3, 16);
        let made = Out(&raw mut node[0]);
        assert_eq!(api::cuGraphAddMemsetNode(made, graph, NONE, 0, place(&set), Context(0)), 0);
        let (before, n) = after(&node[0]);
        assert_eq!(api::cuGraphAddEmptyNode(Out(&raw mut node[1]), graph, before, n), 0);
        let (before, n) = after(&node[1]);
        let made = Out(&raw mut node[2]);
        assert_eq!(api::cuGraphAddEventRecordNode(made, graph, before, n, event), 0);
        let (before, n) = after(&node[2]);
        let made = Out(&raw mut node[3]);
        assert_eq!(api::cuGraphAddEventWaitNode(made, graph, before, n, event), 0);
        let inner = fill(Ptr(d.0 + 4), 9, 4);
        let mut in_child = Node(0);
        let made = Out(&raw mut in_child);
        assert_eq!(api::cuGraphAddMemsetNode(made, child, NONE, 0, place(&inner), Context(0)), 0);
        let (before, n) = after(&node[3]);
        let made = Out(&raw mut node[4]);
        assert_eq!(api::cuGraphAddChildGraphNode(made, graph, before, n, child), 0);
        let host = [count as *const () as usize, 0];
        let (before, n) = after(&node[4]);
        let made = Out(&raw mut node[5]);
        assert_eq!(api::cuGraphAddHostNode(made, graph, before, n, place(&host)), 0);
        let copy = row(place_mut(&mut to), d, 16);
        let (before, n) = after(&node[5]);
        let made = Out(&raw mut node[6]);
        assert_eq!(api::cuGraphAddMemcpyNode(made, graph, before, n, place(&copy), Context(0)), 0);

        let kinds = node.map(|node| {
            let mut kind = -1;
            assert_eq!(api::cuGraphNodeGetType(node, Out(&raw mut kind)), 0);
            kind
        });
        assert_eq!(kinds, [2, 5, 7, 6, 4, 3, 1]);
        let (mut shape, mut host_back, mut set_back) = ([0usize; 25], [0usize; 2], [0u64; 5]);
        assert_eq!(api::cuGraphMemcpyNodeGetParams(node[6], place_mut(&mut shape)), 0);
        assert_eq!(api::cuGraphHostNodeGetParams(node[5], place_mut(&mut host_back)), 0);
        assert_eq!(api::cuGraphMemsetNodeGetParams(node[0], place_mut(&mut set_back)), 0);
        assert_eq!((shape, host_back, set_back), (copy, host, set));
        assert_eq!(api::cuGraphMemsetNodeGetParams(node[1], place_mut(&mut set_back)), 1);

        let exec = instance(graph);
        for n in 1..=3 {
            to = [0; 16];
            assert_eq!(api::cuGraphLaunch(exec, s), 0);
            assert_eq!(api::cuStreamSynchronize(s), 0);
            assert_eq!((to[3], to[4], to[7], to[8]), (3, 9, 9, 3));
            assert_eq!(CALLS.load(Ordering::Relaxed), n);
        }
        assert_eq!(api::cuEventQuery(event), 0);
        // The child graph was copied and may be destroyed. The executable graph has a copy, too.
        assert_eq!(api::cuGraphDestroy(child), 0);
        let mut embedded = Graph(0);
        assert_eq!(api::cuGraphChildGraphNodeGetGraph(node[4], Out(&raw mut embedded)), 0);
        assert_ne!(embedded, child);
        assert_eq!(nodes(embedded).len(), 1);
        assert_eq!(api::cuGraphDestroy(embedded), 1, "the node's own");
        change(exec, &node, embedded, d);
        assert_eq!(api::cuGraphDestroy(graph), 0);
        assert_eq!(api::cuGraphDestroy(graph), 1);
        assert_eq!(api::cuGraphNodeGetType(node[0], Out(std::ptr::null_mut())), 1);
        assert_eq!(api::cuGraphLaunch(exec, s), 0);
        assert_eq!(api::cuGraphExecDestroy(exec), 0);
        assert_eq!(api::cuStreamSynchronize(s), 0);
        assert_eq!((to[3], to[4], to[8]), (4, 8, 4));
        assert_eq!(api::cuGraphLaunch(exec, s), 1);
        assert_eq!(api::cuGraphCreate(Out(std::ptr::null_mut()), Flags(0)), 1);
    }
}

#[test]
fn streams_are_captured_and_instances_updated() {
    if !in_child("graphs::streams_are_captured_and_instances_updated") {
        return;
    }
    start();
    let (d, a, b) = (device(&[0; 16]), stream(), stream());
    let (fork, join) = (event(), event());
    let at = |n: usize| Ptr(d.0 + n);
    let captured = |value: u8, more: bool| unsafe {
        assert_eq!(api::cuStreamBeginCapture_v2(a, 0), 0);
        assert_eq!(api::cuStreamBeginCapture_v2(a, 0), 401);
        assert_eq!(api::cuMemsetD8Async(at(0), value, 4, a), 0);
        assert_eq!((capturing(a), capturing(b)), (1, 0));
        assert_eq!(api::cuEventRecord(fork, a), 0);
        assert_eq!(api::cuStreamWaitEvent(b, fork, Flags(0)), 0);
        assert_eq!(capturing(b), 1);
        assert_eq!(api::cuMemcpyDtoDAsync_v2(at(4), at(0), 4, b), 0);
        assert_eq!(api::cuEventRecord(join, b), 0);
        if more {
            assert_eq!(api::cuMemsetD8Async(at(8), value, 4, a), 0);
        }
        assert_eq!(api::cuStreamWaitEvent(a, join, Flags(0)), 0);
        assert_eq!(api::cuMemsetD8Async(at(12), value + 1, 4, a), 0);
        let mut graph = Graph(0);
        assert_eq!(api::cuStreamEndCapture(a, Out(&raw mut graph)), 0);
        assert_eq!((capturing(a), capturing(b)), (0, 0));
        graph
    };
    unsafe {
        let (one, two, three) = (captured(1, false), captured(5, false), captured(7, true));
        assert_eq!(bytes::<16>(d), [0; 16], "nothing ran");
        assert_eq!((nodes(one).len(), nodes(three).len()), (3, 4));
        let exec = instance(one);
        assert_eq!(api::cuGraphLaunch(exec, b), 0);
        assert_eq!(bytes::<16>(d), [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 2, 2]);
        let mut info = [9u64; 3];
        assert_eq!(api::cuGraphExecUpdate_v2(exec, two, place_mut(&mut info)), 0);
        assert_eq!(info[0] as u32, 0);
        assert_eq!(api::cuGraphLaunch(exec, b), 0);
        assert_eq!(bytes::<16>(d)[..8], [5; 8]);
        assert_eq!(api::cuGraphExecUpdate_v2(exec, three, place_mut(&mut info)), 910);
        assert_eq!(info[0] as u32, 2);
        assert_eq!(api::cuMemsetD8_v2(d, 0, 16), 0);
        let first = Node(nodes(one)[0]);
        assert_eq!(api::cuGraphNodeSetEnabled(exec, first, 0), 0);
        assert_eq!(api::cuGraphLaunch(exec, b), 0);
        assert_eq!(bytes::<16>(d), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 6, 6, 6]);
        // A captured launch of a graph becomes a child graph.
        assert_eq!(api::cuStreamBeginCapture_v2(b, 2), 0);
        assert_eq!(api::cuGraphLaunch(exec, b), 0);
        let mut outer = Graph(0);
        assert_eq!(api::cuStreamEndCapture(b, Out(&raw mut outer)), 0);
        let mut kind = 0;
        assert_eq!(api::cuGraphNodeGetType(Node(nodes(outer)[0]), Out(&raw mut kind)), 0);
        assert_eq!(kind, 4);
    }
}

/// Ends a capture on another thread.
fn end_elsewhere(s: Stream) -> i32 {
    let end = move || unsafe {
        let (mut context, mut graph) = (Context(0), Graph(0));
        api::cuDevicePrimaryCtxRetain(Out(&raw mut context), Device(0));
        api::cuCtxSetCurrent(context);
        api::cuStreamEndCapture(s, Out(&raw mut graph))
    };
    std::thread::spawn(end).join().unwrap()
}

#[test]
fn what_must_not_be_breaks_a_capture() {
    if !in_child("graphs::what_must_not_be_breaks_a_capture") {
        return;
    }
    start();
    let (d, s, mut other) = (device(&[0; 16]), stream(), Stream(0));
    let event = event();
    let mut at = Ptr(0);
    unsafe {
        assert_eq!(api::cuStreamCreate(Out(&raw mut other), Flags(1)), 0);
        // Capture mode, call, expected status, and whether the capture continues.
        let one = |mode: i32, call: &mut dyn FnMut() -> i32, answer: i32, end: i32| {
            assert_eq!(api::cuStreamBeginCapture_v2(s, mode), 0);
            assert_eq!(api::cuMemsetD8Async(d, 1, 4, s), 0);
            assert_eq!(call(), answer);
            let mut graph = Graph(0x40);
            assert_eq!(api::cuStreamEndCapture(s, Out(&raw mut graph)), end);
            assert_eq!(graph == Graph(0x40), end != 0, "outputs stay on error");
            assert_eq!(capturing(s), 0);
        };
        one(0, &mut || api::cuStreamSynchronize(s), 900, 901);
        one(0, &mut || api::cuStreamQuery(s), 900, 901);
        one(2, &mut || api::cuCtxSynchronize(), 900, 901);
        one(0, &mut || api::cuMemAlloc_v2(Out(&raw mut at), 64), 900, 901);
        one(2, &mut || api::cuMemAlloc_v2(Out(&raw mut at), 64), 0, 0);
        let mut h = [0u8; 4];
        let to = place_mut(&mut h);
        one(0, &mut || api::cuMemcpyDtoH_v2(to, d, 4), 906, 901);
        one(2, &mut || api::cuMemsetD8Async(d, 1, 4, Stream(0)), 906, 901);
        one(0, &mut || api::cuMemsetD8Async(d, 2, 4, other), 0, 0);
        one(0, &mut || api::cuStreamSynchronize(other), 900, 901);
        one(2, &mut || api::cuStreamSynchronize(other), 0, 0);
        let query = || {
            assert_eq!(api::cuEventRecord(event, s), 0);
            api::cuEventQuery(event)
        };
        one(2, &mut { query }, 907, 901);
        let unjoined = || {
            assert_eq!(api::cuEventRecord(event, s), 0);
            assert_eq!(api::cuStreamWaitEvent(other, event, Flags(0)), 0);
            api::cuMemsetD8Async(d, 3, 4, other)
        };
        let elsewhere = || {
            assert_eq!(api::cuEventRecord(event, s), 0);
            assert_eq!(api::cuStreamWaitEvent(other, event, Flags(0)), 0);
            api::cuStreamEndCapture(other, Out(std::ptr::null_mut()))
        };
        one(0, &mut { elsewhere }, 903, 901);
        one(0, &mut { unjoined }, 0, 904);
        assert_eq!(capturing(other), 0);
        let isolated = || {
            assert_eq!(api::cuEventRecord(event, other), 0);
            api::cuStreamWaitEvent(s, event, Flags(0))
        };
        one(0, &mut { isolated }, 905, 901);
        let mut mode = 2;
        assert_eq!(api::cuThreadExchangeStreamCaptureMode(Out(&raw mut mode)), 0);
        assert_eq!(mode, 0);
        one(0, &mut || api::cuMemAlloc_v2(Out(&raw mut at), 64), 0, 0);
        assert_eq!(api::cuStreamBeginCapture_v2(Stream(0), 0), 900);
        assert_eq!(api::cuStreamBeginCapture_v2(s, 7), 1);
        let mut graph = Graph(0);
        assert_eq!(api::cuStreamEndCapture(s, Out(&raw mut graph)), 401);
        // Another thread may not end a capture, unless its mode is relaxed.
        assert_eq!(api::cuStreamBeginCapture_v2(s, 1), 0);
        assert_eq!(end_elsewhere(s), 908);
        assert_eq!(api::cuStreamDestroy_v2(s), 0, "the capture is over");
        assert_eq!(api::cuStreamBeginCapture_v2(other, 2), 0);
        assert_eq!(end_elsewhere(other), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);
        assert_eq!(bytes::<1>(d), [2]);
    }
}

#[test]
fn graphs_take_memory_and_hold_objects() {
    if !in_child("graphs::graphs_take_memory_and_hold_objects") {
        return;
    }
    start();
    let (d, s) = (device(&[0; 16]), stream());
    let mut inside = Ptr(0);
    let used = |which: i32| {
        let mut used = 77u64;
        let code =
            unsafe { api::cuDeviceGetGraphMemAttribute(Device(0), which, place_mut(&mut used)) };
        assert_eq!(code, 0);
        used
    };
    unsafe {
        assert_eq!(api::cuStreamBeginCapture_v2(s, 0), 0);
        assert_eq!(api::cuMemAllocAsync(Out(&raw mut inside), 64, s), 0);
        assert_eq!(api::cuMemsetD8Async(inside, 6, 64, s), 0);
        assert_eq!(api::cuMemcpyDtoDAsync_v2(d, inside, 16, s), 0);
        assert_eq!(api::cuMemFreeAsync(inside, s), 0);
        let mut graph = Graph(0);
        assert_eq!(api::cuStreamEndCapture(s, Out(&raw mut graph)), 0);
        assert_eq!(nodes(graph).len(), 4);
        let mut copy = Graph(0);
        assert_eq!(api::cuGraphClone(Out(&raw mut copy), graph), 801);
        let exec = instance(graph);
        for _ in 0..3 {
            assert_eq!(api::cuGraphLaunch(exec, s), 0);
        }
        assert_eq!(bytes::<16>(d), [6; 16]);
        assert_eq!((used(0), used(2)), (0, 64));

        let (mut object, mut held) = (Ptr(0), Out(std::ptr::null_mut()));
        let destroy = Ptr(count as *const () as usize);
        held.0 = &raw mut object;
        assert_eq!(api::cuUserObjectCreate(held, Ptr(1), destroy, 2, Flags(0)), 1);
        assert_eq!(api::cuUserObjectCreate(held, Ptr(1), destroy, 2, Flags(1)), 0);
        assert_eq!(api::cuGraphRetainUserObject(graph, object, 1, Flags(1)), 0);
        let second = instance(graph);
        assert_eq!(api::cuUserObjectRelease(object, 1), 0);
        assert_eq!(api::cuGraphReleaseUserObject(graph, object, 2), 1);
        assert_eq!(api::cuGraphDestroy(graph), 0);
        assert_eq!(api::cuGraphExecDestroy(exec), 0);
        assert_eq!(CALLS.load(Ordering::Relaxed), 0);
        assert_eq!(api::cuGraphExecDestroy(second), 0);
        for _ in 0..2000 {
            if CALLS.load(Ordering::Relaxed) == 0 {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);
        assert_eq!(used(2), 0, "gone with the last that had it");
        assert_eq!(api::cuMemsetD8_v2(inside, 0, 1), 1);
    }
}

static ARRIVED: AtomicU32 = AtomicU32::new(0);
static MET: AtomicU32 = AtomicU32::new(0);

/// Waits for the other branch, long enough that a slow machine does not look like serial execution.
extern "C" fn meet(_: Ptr) {
    let first = ARRIVED.fetch_add(1, Ordering::SeqCst) / 2;
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while ARRIVED.load(Ordering::SeqCst) < (first + 1) * 2 {
        if std::time::Instant::now() > until {
            return;
        }
        std::thread::yield_now();
    }
    MET.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn branches_run_at_the_same_time_and_are_joined() {
    if !in_child("graphs::branches_run_at_the_same_time_and_are_joined") {
        return;
    }
    start();
    let (d, to, s, other) = (device(&[0; 16]), device(&[0; 16]), stream(), stream());
    let (graph, child) = (graph(), graph());
    let host = [meet as *const () as usize, 0];
    let at = |n: usize| Ptr(d.0 + n);
    unsafe {
        let fill = |graph: Graph, to: Ptr, value: u32, width: usize, after: &[Node]| {
            let (mut node, set) = (Node(0), fill(to, value, width));
            let before = Ptr(after.as_ptr().expose_provenance());
            let made = Out(&raw mut node);
            let code = api::cuGraphAddMemsetNode(
                made,
                graph,
                before,
                after.len(),
                place(&set),
                Context(0),
            );
            assert_eq!(code, 0);
            node
        };
        let root = fill(graph, d, 1, 16, &[]);
        let mut hosts = [Node(0); 2];
        // One host node in the graph, one in its child graph.
        let made = Out(&raw mut hosts[0]);
        assert_eq!(api::cuGraphAddHostNode(made, graph, place(&root), 1, place(&host)), 0);
        let mut inner = Node(0);
        let made = Out(&raw mut inner);
        assert_eq!(api::cuGraphAddHostNode(made, child, NONE, 0, place(&host)), 0);
        fill(child, at(8), 3, 4, &[inner]);
        let made = Out(&raw mut hosts[1]);
        assert_eq!(api::cuGraphAddChildGraphNode(made, graph, place(&root), 1, child), 0);
        fill(graph, at(4), 2, 4, &[hosts[0]]);
        let exec = instance(graph);
        for n in 1..=3 {
            assert_eq!(api::cuMemsetD8Async(d, 9, 16, s), 0);
            assert_eq!(api::cuGraphLaunch(exec, s), 0);
            assert_eq!(api::cuMemcpyDtoDAsync_v2(to, d, 16, s), 0);
            assert_eq!(api::cuMemsetD8Async(d, 7, 16, s), 0);
            assert_eq!(api::cuStreamSynchronize(s), 0);
            assert_eq!(MET.load(Ordering::SeqCst), n * 2, "the branches met");
            assert_eq!(bytes::<16>(to), [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 1, 1, 1, 1]);
            assert_eq!(bytes::<16>(d), [7; 16]);
        }
        // In several streams: the launches of one executable graph run one after another.
        for stream in [s, other, s] {
            assert_eq!(api::cuGraphLaunch(exec, stream), 0);
        }
        // Destroyed while it runs.
        assert_eq!(api::cuGraphExecDestroy(exec), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);
        assert_eq!(MET.load(Ordering::SeqCst), 12);
        assert_eq!(bytes::<16>(d), [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 1, 1, 1, 1]);
    }
}
