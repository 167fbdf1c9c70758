//! Graphs that kernels launch, kernel nodes that kernels change, and batched copies of boxes.

use cushim_abi::types::*;
use vcuda::api;

use crate::{bytes, device, in_child, place, place_mut, start};

/// `cudaStreamGraphTailLaunch`, `cudaStreamGraphFireAndForget`.
const TAIL: u64 = 1 << 56;
const FIRE_AND_FORGET: u64 = 2 << 56;
/// CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH.
const DEVICE_LAUNCH: u64 = 4;

/// `step` increments a count and launches a graph, by default its own, until the count reaches a limit; `change` sets a
/// node's parameter at byte 8, and by another argument enables or disables the node.
const PTX: &[u8] = b".version 8.3\n.target sm_80\n.address_size 64\n\
    .extern .func (.param .b32 r) cudaGraphLaunch(.param .b64 g, .param .b64 s);\n\
    .extern .func (.param .b32 r) cudaGraphKernelNodeSetParam(.param .b64 n, .param .b64 o, .param .b64 v, .param .b64 s);\n\
    .extern .func (.param .b32 r) cudaGraphKernelNodeSetEnabled(.param .b64 n, .param .b32 e);\n\
    .visible .entry step(.param .u64 graph, .param .u64 stream, .param .u64 at, .param .u64 most) {\n\
    .reg .b64 %rd<5>; .reg .b32 %r<4>; .reg .pred %p<3>;\n\
    ld.param.u64 %rd1, [graph]; ld.param.u64 %rd2, [stream]; ld.param.u64 %rd3, [at]; ld.param.u32 %r2, [most];\n\
    ld.global.u32 %r1, [%rd3]; add.u32 %r1, %r1, 1; st.global.u32 [%rd3], %r1;\n\
    setp.ge.u32 %p1, %r1, %r2; @%p1 bra done;\n\
    setp.ne.u64 %p2, %rd1, 0; @%p2 bra given; mov.u64 %rd1, %current_graph_exec;\n\
    given: { .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %rd1; st.param.b64 [b], %rd2;\n\
    call.uni (c), cudaGraphLaunch, (a, b); ld.param.b32 %r3, [c]; } st.global.u32 [%rd3+4], %r3;\n\
    done: ret; }\n\
    .visible .entry change(.param .u64 node, .param .u64 value, .param .u64 enabled, .param .u64 unused) {\n\
    .reg .b64 %rd<5>; .reg .b32 %r<4>; .local .align 8 .b8 room[8];\n\
    ld.param.u64 %rd1, [node]; ld.param.u64 %rd2, [value]; ld.param.u32 %r1, [enabled];\n\
    mov.u64 %rd3, room; cvta.local.u64 %rd3, %rd3; st.u64 [%rd3], %rd2;\n\
    { .param .b64 a; .param .b64 b; .param .b64 c; .param .b64 d; .param .b32 e; st.param.b64 [a], %rd1;\n\
    st.param.b64 [b], 8; st.param.b64 [c], %rd3; st.param.b64 [d], 8;\n\
    call.uni (e), cudaGraphKernelNodeSetParam, (a, b, c, d); }\n\
    { .param .b64 a; .param .b32 b; .param .b32 c; st.param.b64 [a], %rd1; st.param.b32 [b], %r1;\n\
    call.uni (c), cudaGraphKernelNodeSetEnabled, (a, b); } ret; }\n\
    .visible .entry put(.param .u64 at, .param .u64 value, .param .u64 a, .param .u64 b) {\n\
    .reg .b64 %rd<3>; ld.param.u64 %rd1, [at]; ld.param.u64 %rd2, [value]; st.global.u64 [%rd1], %rd2; ret; }\n\0";

/// Runs a test in a child process, on the backend that runs PTX.
fn here(test: &str) -> bool {
    in_child(test) && std::env::var("CUSHIM_BACKEND").unwrap() == "cpu"
}

fn function(name: &std::ffi::CStr) -> Func {
    let (mut module, mut function) = (Module(0), Func(0));
    unsafe {
        let image = Ptr(PTX.as_ptr().expose_provenance());
        assert_eq!(api::cuModuleLoadData(Out(&raw mut module), image), 0);
        let name = Str(name.as_ptr().expose_provenance());
        assert_eq!(api::cuModuleGetFunction(Out(&raw mut function), module, name), 0);
    }
    function
}

fn graph() -> Graph {
    let mut graph = Graph(0);
    assert_eq!(unsafe { api::cuGraphCreate(Out(&raw mut graph), Flags(0)) }, 0);
    graph
}

/// Adds a kernel node of one thread after another node.
fn kernel(graph: Graph, function: Func, after: Node, args: [u64; 4]) -> Node {
    let (mut node, mut args) = (Node(0), args);
    let pointers = args.each_mut().map(|arg| place_mut(arg).0);
    let one = 1u64 | 1 << 32;
    let raw = [function.0 as u64, one, one, one, 0, place(&pointers).0 as u64, 0];
    let (made, count) = (Out(&raw mut node), usize::from(after != Node(0)));
    let code = unsafe { api::cuGraphAddKernelNode(made, graph, place(&after), count, place(&raw)) };
    assert_eq!(code, 0);
    node
}

fn instance(graph: Graph, flags: u64) -> (i32, GraphExec) {
    let mut exec = GraphExec(0);
    let to = Out(&raw mut exec);
    (unsafe { api::cuGraphInstantiateWithFlags(to, graph, Flags64(flags)) }, exec)
}

fn launch(exec: GraphExec) {
    unsafe {
        assert_eq!(api::cuGraphLaunch(exec, Stream(0)), 0);
        assert_eq!(api::cuCtxSynchronize(), 0);
    }
}

/// Two numbers in memory.
fn numbers(at: Ptr) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = bytes::<8>(at);
    [[a, b, c, d], [e, f, g, h]].map(u32::from_le_bytes)
}

#[test]
fn kernels_launch_their_own_graph_and_others() {
    if !here("device_graphs::kernels_launch_their_own_graph_and_others") {
        return;
    }
    start();
    let (step, own, other) = (function(c"step"), device(&[0; 8]), device(&[0; 8]));
    let loops = graph();
    kernel(loops, step, Node(0), [0, TAIL, own.0 as u64, 5]);
    let (code, looping) = instance(loops, DEVICE_LAUNCH);
    assert_eq!(code, 0);
    launch(looping);
    assert_eq!(numbers(own), [5, 0], "it launches itself four times");

    let (code, plain) = instance(loops, 0);
    assert_eq!(code, 0);
    let (code, fresh) = instance(loops, DEVICE_LAUNCH);
    assert_eq!(code, 0);
    let launches = |which: GraphExec, how: u64| {
        let host = graph();
        kernel(host, step, Node(0), [which.0 as u64, how, other.0 as u64, 1000]);
        let (code, exec) = instance(host, 0);
        assert_eq!(code, 0);
        launch(exec);
        numbers(other)[1]
    };
    // The count is 5 already: it is incremented once more, and the kernel does not launch its graph again.
    assert_eq!(launches(looping, FIRE_AND_FORGET), 0);
    assert_eq!(numbers(own)[0], 6);
    assert_eq!(launches(looping, TAIL), 0);
    assert_eq!(numbers(own)[0], 7);
    assert_eq!(launches(fresh, TAIL), 1, "it was not uploaded");
    assert_eq!(unsafe { api::cuGraphUpload(fresh, Stream(0)) }, 0);
    assert_eq!(launches(fresh, TAIL), 0);
    assert_eq!(numbers(own)[0], 8);
    assert_eq!(launches(plain, TAIL), 1, "it is not one for kernels");
    assert_eq!(launches(GraphExec(64), TAIL), 1, "there is none");
    assert_eq!(launches(looping, 0), 1, "an ordinary stream");
    assert_eq!(numbers(own)[0], 8);
}

#[test]
fn kernels_change_nodes() {
    if !here("device_graphs::kernels_change_nodes") {
        return;
    }
    start();
    let at = device(&[0; 8]);
    let (put, change, graph) = (function(c"put"), function(c"change"), graph());
    let changed = kernel(graph, put, Node(0), [at.0 as u64, 1, 0, 0]);
    // CUlaunchAttributeValue: yes, then the handle.
    let mut value = [1u64; 8];
    let set = |to: &mut [u64; 8]| unsafe {
        api::cuGraphKernelNodeSetAttribute(changed, 13, place_mut(to))
    };
    assert_eq!(set(&mut value), 0);
    let changing = kernel(graph, change, Node(0), [value[1], 77, 1, 0]);
    unsafe {
        let edge = (place(&changing), place(&changed));
        assert_eq!(api::cuGraphAddDependencies(graph, edge.0, edge.1, 1), 0);
        assert_eq!(api::cuGraphDestroyNode(changed), 1);
    }
    assert_eq!(set(&mut [0; 8]), 1, "not taken back");
    let (code, exec) = instance(graph, 0);
    assert_eq!((code, instance(graph, 0).0), (0, 801), "one instance at a time");
    launch(exec);
    assert_eq!(numbers(at), [77, 0]);
    // A disabled node leaves the memory unchanged.
    let args = [value[1], 78, 0, 0];
    let pointers = args.each_ref().map(|arg| place(arg).0);
    let one = 1u64 | 1 << 32;
    let raw = [change.0 as u64, one, one, one, 0, place(&pointers).0 as u64, 0];
    let code = unsafe { api::cuGraphExecKernelNodeSetParams(exec, changing, place(&raw)) };
    assert_eq!(code, 0);
    launch(exec);
    assert_eq!(numbers(at), [77, 0]);
}

#[test]
fn boxes_are_copied_in_batches() {
    if !in_child("device_graphs::boxes_are_copied_in_batches") {
        return;
    }
    start();
    let (from, to) = (device(&[1, 2, 3, 4, 5, 6, 7, 8]), device(&[0; 8]));
    // Two rows of two bytes from rows of four, packed; then one byte.
    let pointer = |at: Ptr, row: u64| [1, at.0 as u64, row, 0, 0];
    let operation = |from: [u64; 5], to: [u64; 5], extent: [u64; 3], order: u64| {
        let mut all = [0u64; 14];
        let words = from.into_iter().chain(to).chain(extent).chain([order]);
        all.iter_mut().zip(words).for_each(|(to, from)| *to = from);
        all
    };
    let good = [
        operation(pointer(Ptr(from.0 + 1), 4), pointer(to, 0), [2, 2, 1], 1),
        operation(pointer(from, 0), pointer(Ptr(to.0 + 7), 0), [1, 1, 1], 3),
    ];
    let mut stream = Stream(0);
    let batch = |all: &[[u64; 14]], stream| unsafe {
        let at = Ptr(all.as_ptr().expose_provenance());
        api::cuMemcpy3DBatchAsync_v2(all.len(), at, Flags64(0), stream)
    };
    unsafe {
        assert_eq!(api::cuStreamCreate(Out(&raw mut stream), Flags(1)), 0);
        assert_eq!(batch(&good, Stream(0)), 1, "not in the default stream");
        let bad = [good[0], operation(pointer(from, 0), pointer(to, 0), [1, 1, 1], 0)];
        assert_eq!(batch(&bad, stream), 1, "no order of access");
        assert_eq!(bytes(to), [0; 8], "nothing is done where one cannot be");
        assert_eq!(batch(&good, stream), 0);
        assert_eq!(api::cuStreamSynchronize(stream), 0);
        assert_eq!(bytes(to), [2, 3, 6, 7, 0, 0, 0, 1]);
        let one = operation(pointer(Ptr(from.0 + 4), 0), pointer(to, 0), [3, 1, 1], 1);
        assert_eq!(api::cuMemcpy3DWithAttributesAsync(place(&one), Flags64(0), stream), 0);
        assert_eq!(api::cuStreamSynchronize(stream), 0);
        assert_eq!(bytes(to), [5, 6, 7, 7, 0, 0, 0, 1]);
    }
}
