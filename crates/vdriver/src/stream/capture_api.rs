//! The API functions on capture.
//!
//! Source: CUDA Driver API, "Stream Management". Must not know: how the state of captures is stored.

use std::sync::Arc;

use cushim_abi::types::{self as abi, *};

use super::{Stream as Object, capture, resolve};
use crate::argument::{At, Place};
use crate::entry::{entry, on_stream};
use crate::graph::build::{ids, plain};
use crate::graph::graph;
use crate::handle::handle;
use crate::state::{check, give, offer};
use crate::status;

/// The places for the results about a captured stream.
struct Answer {
    status: Place<i32>,
    id: Place<u64>,
    graph: Place<Graph>,
    nodes: Place<usize>,
    edges: Place<usize>,
    count: Place<usize>,
}

fn info(stream: abi::Stream, to: Answer) -> Result<(), i32> {
    let stream = resolve(stream)?;
    if to.status.is_null() {
        return Err(status::INVALID_VALUE);
    }
    let found = capture::info(&stream)?;
    let Some(found) = found else { return give(to.status, 0) };
    if found.status == 1 {
        offer(to.id, found.id);
        offer(to.graph, abi::Graph(handle(&found.graph)));
        offer(to.count, found.after.len());
        if !to.nodes.is_null() || !to.edges.is_null() {
            let (nodes, edges) = stream.lists(&found);
            offer(to.nodes, nodes);
            offer(to.edges, edges);
        }
    }
    give(to.status, found.status)
}

impl Object {
    /// The addresses of the list of nodes that the next one waits for, and of the list of those edges' data, valid until the next such
    /// call. The data is zero, as captures only make plain edges; programs read as many as there are nodes (cuda.bindings does).
    fn lists(self: &Arc<Self>, info: &capture::Info) -> (usize, usize) {
        let of = |id: &u32| info.graph.node(*id).map_or(0, |node| handle(&node));
        let nodes = info.after.iter().map(of);
        // A CUgraphEdgeData has the eight bytes of a handle.
        let both: Box<[usize]> = nodes.chain(info.after.iter().map(|_| 0)).collect();
        let at = both.as_ptr().expose_provenance();
        *cushim_accel::locks::lock(&self.shown) = both;
        (at, at + info.after.len() * size_of::<usize>())
    }
}

unsafe fn begin(
    stream: abi::Stream,
    into: abi::Graph,
    dependencies: Ptr,
    data: Ptr,
    count: usize,
    mode: i32,
) -> Result<(), i32> {
    let stream = resolve(stream)?;
    let graph = graph(into)?;
    // SAFETY: an entry point's arguments: lists of `count` edges and nodes.
    let after = unsafe {
        plain(data, count)?;
        ids(&graph, dependencies, count)?
    };
    capture::begin(&stream, mode, Some((graph, after)))
}

unsafe fn update(
    stream: abi::Stream,
    dependencies: Ptr,
    count: usize,
    flags: u32,
) -> Result<(), i32> {
    let stream = resolve(stream)?;
    // CU_STREAM_ADD_CAPTURE_DEPENDENCIES, CU_STREAM_SET_CAPTURE_DEPENDENCIES.
    if flags > 1 {
        return Err(status::INVALID_VALUE);
    }
    let info = capture::info(&stream)?.ok_or(status::ILLEGAL_STATE)?;
    // SAFETY: an entry point's arguments: a list of `count` nodes.
    let after = unsafe { ids(&info.graph, dependencies, count)? };
    capture::update(&stream, after, flags == 1)
}

entry! {
    fn cuThreadExchangeStreamCaptureMode (mode: Out<i32>) {
        check()?;
        if mode.is_null() {
            return Err(status::INVALID_VALUE);
        }
        let old = capture::exchange(mode.read()?);
        give(mode, old)
    }
}

on_stream! { hStream;
    fn cuStreamBeginCapture cuStreamBeginCapture_ptsz (hStream: Stream) {
        let stream = resolve(hStream)?;
        capture::begin(&stream, 0, None)
    }

    fn cuStreamBeginCapture_v2 cuStreamBeginCapture_v2_ptsz (hStream: Stream, mode: i32) {
        let stream = resolve(hStream)?;
        capture::begin(&stream, mode, None)
    }

    fn cuStreamBeginCaptureToGraph cuStreamBeginCaptureToGraph_ptsz (hStream: Stream, hGraph: Graph, dependencies: Ptr, dependencyData: Ptr, numDependencies: usize, mode: i32) {
        // SAFETY: as many handles as the call says.
        unsafe { begin(hStream, hGraph, dependencies, dependencyData, numDependencies, mode) }
    }

    fn cuStreamEndCapture cuStreamEndCapture_ptsz (hStream: Stream, phGraph: Out<Graph>) {
        let stream = resolve(hStream)?;
        // An error of the stream is reported before an error of the output.
        let made = capture::end(&stream)?;
        // The place for the graph may be null (measured on an H200), since the program may have
        // passed the graph.
        offer(phGraph, abi::Graph(handle(&made)));
        Ok(())
    }

    fn cuStreamIsCapturing cuStreamIsCapturing_ptsz (hStream: Stream, captureStatus: Out<i32>) {
        let stream = resolve(hStream)?;
        if captureStatus.is_null() {
            return Err(status::INVALID_VALUE);
        }
        give(captureStatus, capture::info(&stream)?.map_or(0, |info| info.status))
    }

    fn cuStreamGetCaptureInfo cuStreamGetCaptureInfo_ptsz (hStream: Stream, captureStatus_out: Out<i32>, id_out: Out<u64>) {
        info(hStream, Answer { status: captureStatus_out, id: id_out, graph: Place::NOWHERE, nodes: Place::NOWHERE, edges: Place::NOWHERE, count: Place::NOWHERE })
    }

    fn cuStreamGetCaptureInfo_v2 cuStreamGetCaptureInfo_v2_ptsz (hStream: Stream, captureStatus_out: Out<i32>, id_out: Out<u64>, graph_out: Out<Graph>, dependencies_out: At<usize>, numDependencies_out: Out<usize>) {
        info(hStream, Answer { status: captureStatus_out, id: id_out, graph: graph_out, nodes: dependencies_out, edges: Place::NOWHERE, count: numDependencies_out })
    }

    fn cuStreamGetCaptureInfo_v3 cuStreamGetCaptureInfo_v3_ptsz (hStream: Stream, captureStatus_out: Out<i32>, id_out: Out<u64>, graph_out: Out<Graph>, dependencies_out: At<usize>, edgeData_out: At<usize>, numDependencies_out: Out<usize>) {
        info(hStream, Answer { status: captureStatus_out, id: id_out, graph: graph_out, nodes: dependencies_out, edges: edgeData_out, count: numDependencies_out })
    }

    fn cuStreamUpdateCaptureDependencies cuStreamUpdateCaptureDependencies_ptsz (hStream: Stream, dependencies: Ptr, numDependencies: usize, flags: Flags) {
        // SAFETY: as many handles as the call says.
        unsafe { update(hStream, dependencies, numDependencies, flags.0) }
    }

    fn cuStreamUpdateCaptureDependencies_v2 cuStreamUpdateCaptureDependencies_v2_ptsz (hStream: Stream, dependencies: Ptr, dependencyData: Ptr, numDependencies: usize, flags: Flags) {
        // SAFETY: null, or as many as the call says.
        unsafe { plain(dependencyData, numDependencies)? };
        // SAFETY: as many handles as the call says.
        unsafe { update(hStream, dependencies, numDependencies, flags.0) }
    }
}
