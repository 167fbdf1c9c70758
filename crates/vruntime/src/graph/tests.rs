//! Converts the parameters of runtime nodes to the driver's and back, over a test driver.

use std::cell::Cell;

use cushim_abi::index::Driver;
use cushim_abi::types::*;

use super::kernel::*;
use super::nodes::*;
use crate::error::take_last;
use crate::forward::{address, address_mut};
use crate::layout::*;
use crate::testing::{PRIMARY, with_driver};

thread_local! {
    /// The latest node's parameters, as the driver got them.
    static NODE: Cell<NodeParams> = const {
        Cell::new(NodeParams { kind: 0, reserved: [0; 3], node: [0; 29], tail: 0 })
    };
    static COPY: Cell<Option<DriverMemcpy3D>> = const { Cell::new(None) };
    static CONTEXT: Cell<usize> = const { Cell::new(0) };
}

unsafe extern "C" fn add_node(
    _: Out<Node>,
    _: Graph,
    _: Ptr,
    _: Ptr,
    _: usize,
    params: Ptr,
) -> i32 {
    let params = std::ptr::with_exposed_provenance_mut::<NodeParams>(params.0);
    // SAFETY: the runtime's own structure.
    unsafe {
        if (*params).kind == 10 {
            (*params).node[14] = 0xabc;
        }
        NODE.set(*params);
    }
    0
}

unsafe extern "C" fn get_node(_: Node, params: Ptr) -> i32 {
    // SAFETY: the runtime's own structure.
    unsafe { std::ptr::with_exposed_provenance_mut::<NodeParams>(params.0).write(NODE.get()) };
    0
}

unsafe extern "C" fn add_copy(
    _: Out<Node>,
    _: Graph,
    _: Ptr,
    _: usize,
    copy: Ptr,
    context: Context,
) -> i32 {
    // SAFETY: the runtime's own structure.
    COPY.set(Some(unsafe { std::ptr::with_exposed_provenance::<DriverMemcpy3D>(copy.0).read() }));
    CONTEXT.set(context.0);
    0
}

unsafe extern "C" fn get_copy(_: Node, copy: Ptr) -> i32 {
    // SAFETY: the runtime's own structure.
    unsafe {
        std::ptr::with_exposed_provenance_mut::<DriverMemcpy3D>(copy.0)
            .write(COPY.get().unwrap_or_default())
    };
    0
}

fn general(kind: i32) -> NodeParams {
    NodeParams { kind, reserved: [0; 3], node: [0; 29], tail: 0 }
}

#[test]
fn a_copy_keeps_its_direction_and_runs_in_the_current_context() {
    let _driver = with_driver(&[
        (Driver::cuGraphAddMemcpyNode, add_copy as *const ()),
        (Driver::cuGraphMemcpyNodeGetParams, get_copy as *const ()),
    ]);
    let (mut node, graph) = (Node(0), Graph(1));
    let mut parms = Memcpy3DParms::default();
    // SAFETY: places of the test; the copy's addresses are not followed.
    unsafe {
        let to = Out(&raw mut node);
        let status =
            cudaGraphAddMemcpyNode1D::<12>(to, graph, Ptr(0), 0, Ptr(5), Ptr(6), 64, CopyKind(1));
        assert_eq!(status, 0);
        assert_eq!(CONTEXT.get(), PRIMARY);
        let copy = COPY.get().unwrap_or_default();
        assert_eq!(
            (copy.src.memory, copy.src.host, copy.dst.memory, copy.dst.device),
            (1, 6, 2, 5)
        );
        assert_eq!((copy.width, copy.height, copy.depth), (64, 1, 1));
        assert_eq!(cudaGraphMemcpyNodeGetParams::<12>(node, address_mut(&mut parms)), 0);
        assert_eq!((parms.kind, parms.src_ptr.ptr, parms.dst_ptr.ptr), (1, 6, 5));
        assert_eq!((parms.extent.width, parms.extent.height, parms.extent.depth), (64, 1, 1));
        assert_eq!(cudaGraphAddMemcpyNode::<12>(to, graph, Ptr(0), 0, Ptr(0)), 1);
        assert_eq!(cudaGraphMemcpyNodeGetParams::<12>(node, Ptr(0)), 1);
    }
    take_last();
}

#[test]
fn general_nodes_are_the_drivers_and_back() {
    let _driver = with_driver(&[
        (Driver::cuGraphAddNode_v2, add_node as *const ()),
        (Driver::cuGraphNodeGetParams, get_node as *const ()),
    ]);
    let mut node = Node(0);
    let to = Out(&raw mut node);
    // SAFETY: places and structures of the test.
    let add = |params: &mut NodeParams| unsafe {
        cudaGraphAddNode::<13>(to, Graph(1), Ptr(0), Ptr(0), 0, address_mut(params))
    };

    let mut copy = general(1);
    let parms = Memcpy3DParms {
        src_ptr: PitchedPtr { ptr: 4096, pitch: 64, xsize: 64, ysize: 4 },
        dst_ptr: PitchedPtr { ptr: 8192, pitch: 64, xsize: 64, ysize: 4 },
        extent: Extent { width: 8, height: 2, depth: 1 },
        kind: 2,
        ..Memcpy3DParms::default()
    };
    let given = MemcpyNode { flags: 0, reserved: 0, context: 0, copy: parms };
    // SAFETY: the union is larger.
    unsafe { copy.node.as_mut_ptr().cast::<MemcpyNode>().write(given) };
    assert_eq!(add(&mut copy), 0);
    // SAFETY: what the runtime wrote there.
    let seen = unsafe { NODE.get().node.as_ptr().cast::<DriverMemcpyNode>().read() };
    assert_eq!((seen.context, seen.copy.src.device, seen.copy.dst.host), (PRIMARY, 4096, 8192));
    let mut back = general(0);
    // SAFETY: a place of the test.
    assert_eq!(unsafe { cudaGraphNodeGetParams::<13>(node, address_mut(&mut back)) }, 0);
    // SAFETY: what the runtime wrote there.
    let back = unsafe { back.node.as_ptr().cast::<MemcpyNode>().read() };
    assert_eq!(back.copy, parms);

    let mut fill = general(2);
    assert_eq!((add(&mut fill), NODE.get().node[5], fill.node[5]), (0, PRIMARY as u64, 0));

    let mut allocation = general(10);
    assert_eq!((add(&mut allocation), allocation.node[14]), (0, 0xabc));

    // A kernel that no one registered.
    let mut kernel = general(0);
    kernel.node[0] = address(&node).0 as u64;
    assert_ne!(add(&mut kernel), 0);
    take_last();
}
