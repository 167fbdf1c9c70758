//! Streams and events: created, ordered, queried, captured; host functions.
//!
//! Owns the forms by major. Flags, attributes, callbacks and capture modes have the same numbers and
//! layouts in both APIs (CUDA Driver API and Runtime API references; a callback's status too). Must not
//! know: what the work in streams is.

use cushim_abi::types::*;

use super::error::code;
use super::forward::{done, forwards, functions, pass};

forwards! {
    cudaStreamCreate (pStream: Out<Stream>) = cuStreamCreate(pStream, Flags(0));
    cudaStreamCreateWithFlags (pStream: Out<Stream>, flags: Flags) = cuStreamCreate(pStream, flags);
    cudaStreamCreateWithPriority (pStream: Out<Stream>, flags: Flags, priority: i32) = cuStreamCreateWithPriority(pStream, flags, priority);
    cudaStreamDestroy (stream: Stream) = cuStreamDestroy_v2(stream);
    cudaStreamWaitEvent / cudaStreamWaitEvent_ptsz (stream: Stream, event: Event, flags: Flags) = cuStreamWaitEvent(stream, event, flags);
    cudaStreamAddCallback / cudaStreamAddCallback_ptsz (stream: Stream, callback: Ptr, userData: Ptr, flags: Flags) = cuStreamAddCallback(stream, callback, userData, flags);
    cudaStreamQuery / cudaStreamQuery_ptsz (stream: Stream) = cuStreamQuery(stream);
    cudaStreamSynchronize / cudaStreamSynchronize_ptsz (stream: Stream) = cuStreamSynchronize(stream);
    cudaStreamGetFlags / cudaStreamGetFlags_ptsz (hStream: Stream, flags: Out<u32>) = cuStreamGetFlags(hStream, flags);
    cudaStreamGetId / cudaStreamGetId_ptsz (hStream: Stream, streamId: Out<u64>) = cuStreamGetId(hStream, streamId);
    cudaStreamGetPriority / cudaStreamGetPriority_ptsz (hStream: Stream, priority: Out<i32>) = cuStreamGetPriority(hStream, priority);
    cudaStreamGetDevice / cudaStreamGetDevice_ptsz (hStream: Stream, device: Out<i32>) = cuStreamGetDevice(hStream, Out(device.0.cast()));
    cudaStreamGetDevResource / cudaStreamGetDevResource_ptsz (hStream: Stream, resource: Ptr, type_: i32) = cuStreamGetDevResource(hStream, resource, type_);
    cudaStreamCopyAttributes / cudaStreamCopyAttributes_ptsz (dst: Stream, src: Stream) = cuStreamCopyAttributes(dst, src);
    cudaStreamGetAttribute / cudaStreamGetAttribute_ptsz (stream: Stream, attr: i32, value: Ptr) = cuStreamGetAttribute(stream, attr, value);
    cudaStreamSetAttribute / cudaStreamSetAttribute_ptsz (stream: Stream, attr: i32, value: Ptr) = cuStreamSetAttribute(stream, attr, value);

    cudaLaunchHostFunc / cudaLaunchHostFunc_ptsz (stream: Stream, fn_: Ptr, userData: Ptr) = cuLaunchHostFunc(stream, fn_, userData);
    cudaLaunchHostFunc_v2 / cudaLaunchHostFunc_v2_ptsz (stream: Stream, fn_: Ptr, userData: Ptr, syncMode: u32) = cuLaunchHostFunc_v2(stream, fn_, userData, syncMode);

    cudaEventCreate (event: Out<Event>) = cuEventCreate(event, Flags(0));
    cudaEventCreateWithFlags (event: Out<Event>, flags: Flags) = cuEventCreate(event, flags);
    cudaEventCreateFromEGLSync (phEvent: Out<Event>, eglSync: Ptr, flags: Flags) = cuEventCreateFromEGLSync(phEvent, eglSync, flags);
    cudaEventDestroy (event: Event) = cuEventDestroy_v2(event);
    cudaEventRecord / cudaEventRecord_ptsz (event: Event, stream: Stream) = cuEventRecord(event, stream);
    cudaEventRecordWithFlags / cudaEventRecordWithFlags_ptsz (event: Event, stream: Stream, flags: Flags) = cuEventRecordWithFlags(event, stream, flags);
    cudaEventQuery (event: Event) = cuEventQuery(event);
    cudaEventSynchronize (event: Event) = cuEventSynchronize(event);

    cudaStreamIsCapturing / cudaStreamIsCapturing_ptsz (stream: Stream, pCaptureStatus: Out<i32>) = cuStreamIsCapturing(stream, pCaptureStatus);
    cudaStreamBeginCapture / cudaStreamBeginCapture_ptsz (stream: Stream, mode: i32) = cuStreamBeginCapture_v2(stream, mode);
    cudaStreamBeginCaptureToGraph / cudaStreamBeginCaptureToGraph_ptsz (stream: Stream, graph: Graph, dependencies: Ptr, dependencyData: Ptr, numDependencies: usize, mode: i32) = cuStreamBeginCaptureToGraph(stream, graph, dependencies, dependencyData, numDependencies, mode);
    cudaStreamEndCapture / cudaStreamEndCapture_ptsz (stream: Stream, pGraph: Out<Graph>) = cuStreamEndCapture(stream, pGraph);
    cudaThreadExchangeStreamCaptureMode (mode: Out<i32>) = cuThreadExchangeStreamCaptureMode(mode);
    cudaStreamGetCaptureInfo_12 / cudaStreamGetCaptureInfo_ptsz_12 (stream: Stream, captureStatus_out: Out<i32>, id_out: Out<u64>) = cuStreamGetCaptureInfo(stream, captureStatus_out, id_out);
    cudaStreamGetCaptureInfo / cudaStreamGetCaptureInfo_ptsz (stream: Stream, captureStatus_out: Out<i32>, id_out: Out<u64>, graph_out: Out<Graph>, dependencies_out: Ptr, edgeData_out: Ptr, numDependencies_out: Out<usize>) = cuStreamGetCaptureInfo_v3(stream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out);
    cudaStreamGetCaptureInfo_v2 / cudaStreamGetCaptureInfo_v2_ptsz (stream: Stream, captureStatus_out: Out<i32>, id_out: Out<u64>, graph_out: Out<Graph>, dependencies_out: Ptr, numDependencies_out: Out<usize>) = cuStreamGetCaptureInfo_v2(stream, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out);
    cudaStreamGetCaptureInfo_v3 / cudaStreamGetCaptureInfo_v3_ptsz (stream: Stream, captureStatus_out: Out<i32>, id_out: Out<u64>, graph_out: Out<Graph>, dependencies_out: Ptr, edgeData_out: Ptr, numDependencies_out: Out<usize>) = cuStreamGetCaptureInfo_v3(stream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out);
    cudaStreamUpdateCaptureDependencies_12 / cudaStreamUpdateCaptureDependencies_ptsz_12 (stream: Stream, dependencies: Ptr, numDependencies: usize, flags: Flags) = cuStreamUpdateCaptureDependencies(stream, dependencies, numDependencies, flags);
    cudaStreamUpdateCaptureDependencies / cudaStreamUpdateCaptureDependencies_ptsz (stream: Stream, dependencies: Ptr, dependencyData: Ptr, numDependencies: usize, flags: Flags) = cuStreamUpdateCaptureDependencies_v2(stream, dependencies, dependencyData, numDependencies, flags);
    cudaStreamUpdateCaptureDependencies_v2 / cudaStreamUpdateCaptureDependencies_v2_ptsz (stream: Stream, dependencies: Ptr, dependencyData: Ptr, numDependencies: usize, flags: Flags) = cuStreamUpdateCaptureDependencies_v2(stream, dependencies, dependencyData, numDependencies, flags);
}

functions! {
    // The callback gets nodes in the runtime's structures, which differ from the driver's.
    cudaStreamBeginRecaptureToGraph / cudaStreamBeginRecaptureToGraph_ptsz (stream: Stream, mode: i32, graph: Graph, callbackData: Ptr) {
        if callbackData.0 != 0 {
            cushim_vbase::unsupported::note("cudaStreamBeginRecaptureToGraph with a callback");
            return done(Err(code::NOT_SUPPORTED));
        }
        pass!(cuStreamBeginRecaptureToGraph(stream, mode, graph, Ptr(0), Ptr(0)))
    }

    cudaEventElapsedTime (ms: Ptr, start: Event, end: Event) {
        // The runtime checks the place before the driver checks the events (measured).
        if ms.0 == 0 {
            return done(Err(code::INVALID_VALUE));
        }
        pass!(cuEventElapsedTime(ms, start, end))
    }

    cudaEventElapsedTime_v2 (ms: Ptr, start: Event, end: Event) {
        if ms.0 == 0 {
            return done(Err(code::INVALID_VALUE));
        }
        pass!(cuEventElapsedTime_v2(ms, start, end))
    }
}
