//! Conditional nodes of graphs.

use cushim_abi::types::*;
use vcuda::api;

use crate::{bytes, device, in_child, place, place_mut, start};

const NONE: Ptr = Ptr(0);

const PTX: &[u8] = b".version 8.3\n.target sm_80\n.address_size 64\n\
    .extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n\
    .visible .entry countdown(.param .u64 handle, .param .u64 at) {\n\
    .reg .b64 %rd<3>; .reg .b32 %r<3>;\n\
    ld.param.u64 %rd1, [handle]; ld.param.u64 %rd2, [at];\n\
    ld.global.u32 %r1, [%rd2]; sub.u32 %r1, %r1, 1; st.global.u32 [%rd2], %r1;\n\
    { .param .b64 a; .param .b32 b; st.param.b64 [a], %rd1; st.param.b32 [b], %r1;\n\
    call.uni cudaGraphSetConditional, (a, b); } ret; }\n\0";

/// A kernel that decrements a number and makes the rest a condition's value.
fn countdown() -> Func {
    let mock = std::env::var("CUSHIM_BACKEND").unwrap() == "mock";
    cushim_accel_mock::code::define("countdown", |launch| {
        let (handle, at) = (launch.u64(0)?, launch.u64(1)?);
        let left = u32::from_le_bytes(launch.read(at)?).wrapping_sub(1).to_le_bytes();
        launch.write(at, &left)?;
        launch.write(handle, &left)
    });
    let text = if mock { &b"cushim mock\nkernel countdown params=8,8\n\0"[..] } else { PTX };
    let (mut module, mut function) = (Module(0), Func(0));
    unsafe {
        let image = Ptr(text.as_ptr().expose_provenance());
        assert_eq!(api::cuModuleLoadData(Out(&raw mut module), image), 0);
        let name = Str(c"countdown".as_ptr().expose_provenance());
        assert_eq!(api::cuModuleGetFunction(Out(&raw mut function), module, name), 0);
    }
    function
}

fn graph() -> Graph {
    let mut graph = Graph(0);
    assert_eq!(unsafe { api::cuGraphCreate(Out(&raw mut graph), Flags(0)) }, 0);
    graph
}

fn value(graph: Graph, default: u32, flags: u32) -> u64 {
    let mut handle = 0;
    let to = Out(&raw mut handle);
    let code = unsafe {
        api::cuGraphConditionalHandleCreate(to, graph, Context(0), default, Flags(flags))
    };
    assert_eq!(code, 0);
    handle
}

/// `CUgraphNodeParams` of a conditional node.
fn params(handle: u64, kind: u32, bodies: u32) -> [u64; 32] {
    let mut raw = [0; 32];
    (raw[0], raw[2], raw[3]) = (13, handle, u64::from(kind) | u64::from(bodies) << 32);
    raw
}

/// Adds a conditional node after another node; returns the status, the node and its body graphs.
fn condition(graph: Graph, after: Node, mut raw: [u64; 32]) -> (i32, Node, Vec<Graph>) {
    let (mut node, count) = (Node(0), usize::from(after != Node(0)));
    let to = Out(&raw mut node);
    let code = unsafe { api::cuGraphAddNode(to, graph, place(&after), count, place_mut(&mut raw)) };
    let shown = std::ptr::with_exposed_provenance::<usize>(raw[4] as usize);
    let count = if code == 0 { raw[3] >> 32 } else { 0 };
    let bodies = (0..count as usize).map(|n| Graph(unsafe { *shown.add(n) })).collect();
    (code, node, bodies)
}

/// Adds a node that sets one byte.
fn set(graph: Graph, at: usize, to: u32) -> Node {
    let (mut node, raw) = (Node(0), [at as u64, 0, u64::from(to) | 1 << 32, 1, 1]);
    let made = Out(&raw mut node);
    let code = unsafe { api::cuGraphAddMemsetNode(made, graph, NONE, 0, place(&raw), Context(0)) };
    assert_eq!(code, 0);
    node
}

fn kernel(graph: Graph, function: Func, handle: u64, at: Ptr) -> Node {
    let (mut node, mut args) = (Node(0), [handle, at.0 as u64]);
    let pointers = [place_mut(&mut args[0]).0, place_mut(&mut args[1]).0];
    let shape = [1u64 | 1 << 32, 1 | 1 << 32, 1 | 1 << 32, 0];
    let [a, b, c, d] = shape;
    let raw = [function.0 as u64, a, b, c, d, place(&pointers).0 as u64, 0];
    let made = Out(&raw mut node);
    assert_eq!(unsafe { api::cuGraphAddKernelNode(made, graph, NONE, 0, place(&raw)) }, 0);
    node
}

fn instance(graph: Graph) -> (i32, GraphExec) {
    let mut exec = GraphExec(0);
    let to = Out(&raw mut exec);
    (unsafe { api::cuGraphInstantiateWithFlags(to, graph, Flags64(0)) }, exec)
}

fn launch(exec: GraphExec) {
    unsafe {
        assert_eq!(api::cuGraphLaunch(exec, Stream(0)), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);
    }
}

fn write(at: Ptr, from: &[u8]) {
    let host = Ptr(from.as_ptr().expose_provenance());
    assert_eq!(unsafe { api::cuMemcpyHtoD_v2(at, host, from.len()) }, 0);
}

#[test]
fn bodies_run_as_values_say() {
    if !in_child("conditions::bodies_run_as_values_say") {
        return;
    }
    start();
    let (function, d, graph) = (countdown(), device(&[0; 16]), graph());
    // A while node, three rounds. Its body holds a switch on the same number, which the kernel before it sets.
    let (outer, inner) = (value(graph, 1, 1), value(graph, 0, 0));
    let (code, first, body) = condition(graph, Node(0), params(outer, 1, 1));
    assert_eq!((code, body.len()), (0, 1));
    let kernels = kernel(body[0], function, outer, d);
    let second = kernel(body[0], function, inner, Ptr(d.0 + 4));
    let (code, _, bodies) = condition(body[0], second, params(inner, 2, 3));
    assert_eq!((code, bodies.len()), (0, 3));
    for (n, body) in (0..).zip(&bodies) {
        set(*body, d.0 + 8 + n, 7);
    }
    // After it an if node with else, on a value that no kernel sets.
    let chosen = value(graph, 0, 1);
    let (code, _, bodies) = condition(graph, first, params(chosen, 0, 2));
    assert_eq!(code, 0);
    set(bodies[0], d.0 + 12, 1);
    set(bodies[1], d.0 + 13, 1);
    let mut kind = 0;
    assert_eq!(unsafe { api::cuGraphNodeGetType(first, Out(&raw mut kind)) }, 0);
    assert_eq!(kind, 13);

    let (code, exec) = instance(graph);
    assert_eq!(code, 0);
    // The switch sees 4, 3, 2: its last body, of three, runs once.
    for _ in 0..2 {
        write(d, &[3, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        launch(exec);
        assert_eq!(bytes(d), [0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 7, 0, 0, 1, 0, 0]);
    }
    assert_eq!(instance(graph).0, 801, "one instance at a time");
    let node = kernels;
    let mut enabled = 0u32;
    unsafe {
        assert_eq!(api::cuGraphNodeGetEnabled(exec, node, Out(&raw mut enabled)), 0);
        assert_eq!((enabled, api::cuGraphExecDestroy(exec)), (1, 0));
    }
    let (code, exec) = instance(graph);
    assert_eq!(code, 0);
    write(d, &[1]);
    launch(exec);
    assert_eq!(bytes::<1>(d), [0]);
}

#[test]
fn updates_take_values_and_bodies_of_the_other_graph() {
    if !in_child("conditions::updates_take_values_and_bodies_of_the_other_graph") {
        return;
    }
    start();
    let d = device(&[0; 4]);
    let make = |default, kind, bodies, to| {
        let graph = graph();
        let (code, _, made) =
            condition(graph, Node(0), params(value(graph, default, 1), kind, bodies));
        assert_eq!(code, 0);
        set(made[0], d.0, to);
        graph
    };
    let (never, always) = (make(0, 0, 1, 1), make(9, 0, 1, 2));
    let (code, exec) = instance(never);
    assert_eq!(code, 0);
    launch(exec);
    assert_eq!(bytes::<1>(d), [0]);
    let mut info = [0u64; 3];
    unsafe {
        assert_eq!(api::cuGraphExecUpdate_v2(exec, always, place_mut(&mut info)), 0);
        launch(exec);
        assert_eq!(bytes::<1>(d), [2]);
        // An update may change nothing in a conditional node itself.
        let other = make(0, 2, 3, 1);
        assert_eq!(api::cuGraphExecUpdate_v2(exec, other, place_mut(&mut info)), 910);
        assert_eq!(info[0] as i32, 4);
    }
}

#[test]
fn what_conditions_cannot_be_is_refused() {
    if !in_child("conditions::what_conditions_cannot_be_is_refused") {
        return;
    }
    start();
    let (graph, other, d) = (graph(), graph(), device(&[0; 4]));
    let handle = value(graph, 1, 0);
    let wrong = [
        (other, params(handle, 0, 1)),
        (graph, params(handle + 4, 0, 1)),
        (graph, params(0, 0, 1)),
        (graph, params(handle, 0, 3)),
        (graph, params(handle, 0, 0)),
        (graph, params(handle, 1, 2)),
        (graph, params(handle, 2, 0)),
        (graph, params(handle, 3, 1)),
    ];
    for (graph, raw) in wrong {
        assert_eq!(condition(graph, Node(0), raw).0, 1);
    }
    assert_eq!(condition(graph, Node(0), params(handle, 2, u32::MAX)).0, 2);
    let mut made = 0;
    let mut instantiated = [0u64, 0, 9, 9];
    let mut exec = GraphExec(0);
    unsafe {
        let to = Out(&raw mut made);
        let create = api::cuGraphConditionalHandleCreate;
        assert_eq!(create(to, graph, Context(0), 0, Flags(2)), 1);
        assert_eq!(create(Out(std::ptr::null_mut()), graph, Context(0), 0, Flags(0)), 1);
        assert_eq!(create(to, Graph(7), Context(0), 0, Flags(0)), 1);
        // A handle that belongs to no node.
        let result = place_mut(&mut instantiated);
        let code = api::cuGraphInstantiateWithParams(Out(&raw mut exec), graph, result);
        assert_eq!((code, instantiated), (1, [0, 0, 0, 5]));
    }
    let (code, node, bodies) = condition(graph, Node(0), params(handle, 0, 1));
    assert_eq!(code, 0);
    assert_eq!(condition(graph, Node(0), params(handle, 0, 1)).0, 1, "taken by the first");
    unsafe {
        let mut clone = Graph(0);
        assert_eq!(api::cuGraphClone(Out(&raw mut clone), graph), 801);
        let (mut child, to) = (Node(0), other);
        let made = Out(&raw mut child);
        assert_eq!(api::cuGraphAddChildGraphNode(made, to, NONE, 0, graph), 801);
        assert_eq!(api::cuGraphDestroy(bodies[0]), 1, "the node's own");
        let mut raw = params(handle, 0, 1);
        assert_eq!(api::cuGraphNodeSetParams(node, place_mut(&mut raw)), 1);
        // Nodes that bodies may not contain.
        let mut event = Event(0);
        assert_eq!(api::cuEventCreate(Out(&raw mut event), Flags(0)), 0);
        let made = Out(&raw mut child);
        assert_eq!(api::cuGraphAddEventRecordNode(made, bodies[0], NONE, 0, event), 0);
        assert_eq!(instance(graph).0, 801);
        assert_eq!(api::cuGraphDestroyNode(child), 0);
        set(bodies[0], d.0, 1);
        assert_eq!(instance(graph).0, 0);
        assert_eq!(api::cuGraphDestroy(graph), 0);
        assert_eq!(api::cuGraphDestroyNode(child), 1, "gone");
        assert_eq!(api::cuGraphDestroyNode(node), 1, "gone with its graph");
    }
}

#[test]
fn streams_are_captured_into_bodies() {
    if !in_child("conditions::streams_are_captured_into_bodies") {
        return;
    }
    start();
    let (graph, d) = (graph(), device(&[0; 4]));
    let (code, _, bodies) = condition(graph, Node(0), params(value(graph, 1, 1), 0, 1));
    assert_eq!(code, 0);
    let (mut stream, mut made) = (Stream(0), Graph(0));
    unsafe {
        assert_eq!(api::cuStreamCreate(Out(&raw mut stream), Flags(1)), 0);
        let begin = api::cuStreamBeginCaptureToGraph;
        assert_eq!(begin(stream, bodies[0], NONE, NONE, 0, 0), 0);
        assert_eq!(api::cuMemsetD8Async(d, 5, 3, stream), 0);
        assert_eq!(api::cuStreamEndCapture(stream, Out(&raw mut made)), 0);
    }
    assert_eq!(made, bodies[0]);
    let (code, exec) = instance(graph);
    assert_eq!(code, 0);
    launch(exec);
    assert_eq!(bytes(d), [5, 5, 5, 0]);
}
