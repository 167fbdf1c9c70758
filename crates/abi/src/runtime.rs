//! The hooked functions of the CUDA runtime, each declared once.
//!
//! A row is `class how [majors] [names] (arguments) -> result;`
//! - `how` is `observe` (record the arguments, forward, record the status), `record` (the same, but the function
//!   returns no status) or the name of a handler in `cushim_interpose::runtime` in parentheses.
//! - `majors` are the runtime majors (11, 12, 13) whose library exports the names with these arguments.
//! - a name is `identifier`, or `identifier = exported` where one exported name has several forms.
//!
//! Source: CUDA Runtime API reference 11.8, 12.9, 13.0 and their headers; `__cuda*`: crt/host_runtime.h, and
//! measurements (docs/design/interposing.md, "The way of a launch").

/// Passes the whole table to macro `$then`, with `$extra` tokens in front.
#[macro_export]
macro_rules! runtime_functions {
    ($then:ident $($extra:tt)*) => { $crate::runtime_functions! { {$then} $($extra)* } };
    // A macro by its path.
    ({$($then:tt)+} $($extra:tt)*) => { $($then)+! { $($extra)*
        // ---- registration
        register (register_fat_binary) [11 12 13] [__cudaRegisterFatBinary] (fatCubin: Ptr) -> usize;
        register (register_fat_binary_end) [11 12 13] [__cudaRegisterFatBinaryEnd] (fatCubinHandle: Ptr) -> ();
        register (unregister_fat_binary) [11 12 13] [__cudaUnregisterFatBinary] (fatCubinHandle: Ptr) -> ();
        register (register_function) [11 12 13] [__cudaRegisterFunction] (fatCubinHandle: Ptr, hostFun: Func, deviceFun: Str, deviceName: Str, thread_limit: i32, tid: Ptr, bid: Ptr, bDim: Ptr, gDim: Ptr, wSize: Ptr) -> i32;
        register (register_var) [11 12 13] [__cudaRegisterVar] (fatCubinHandle: Ptr, hostVar: Ptr, deviceAddress: Str, deviceName: Str, ext: i32, size: usize, constant: i32, global: i32) -> ();
        register (register_var) [11 12 13] [__cudaRegisterManagedVar] (fatCubinHandle: Ptr, hostVarPtrAddress: Ptr, deviceAddress: Str, deviceName: Str, ext: i32, size: usize, constant: i32, global: i32) -> ();
        register record [11] [__cudaRegisterTexture] (fatCubinHandle: Ptr, hostVar: Ptr, deviceAddress: Ptr, deviceName: Str, dim: i32, norm: i32, ext: i32) -> ();
        register record [11] [__cudaRegisterSurface] (fatCubinHandle: Ptr, hostVar: Ptr, deviceAddress: Ptr, deviceName: Str, dim: i32, ext: i32) -> ();
        register record [11 12 13] [__cudaInitModule] (fatCubinHandle: Ptr) -> i32;

        // ---- launch
        launch (push_call_configuration) [11 12 13] [__cudaPushCallConfiguration] (gridDim: Dim3, blockDim: Dim3, sharedMem: usize, stream: Stream) -> u32;
        launch (pop_call_configuration) [11 12 13] [__cudaPopCallConfiguration] (gridDim: Ptr, blockDim: Ptr, sharedMem: Ptr, stream: Ptr) -> i32;
        register (get_kernel) [12 13] [__cudaGetKernel] (kernel: Out<Func>, hostFun: Func) -> i32;
        launch (launch_kernel) [12 13] [__cudaLaunchKernel __cudaLaunchKernel_ptsz] (kernel: Func, gridDim: Dim3, blockDim: Dim3, args: Ptr, sharedMem: usize, stream: Stream) -> i32;
        launch (launch_kernel) [11 12 13] [cudaLaunchKernel cudaLaunchKernel_ptsz] (func: Func, gridDim: Dim3, blockDim: Dim3, args: Ptr, sharedMem: usize, stream: Stream) -> i32;
        launch (launch_cooperative_kernel) [11 12 13] [cudaLaunchCooperativeKernel cudaLaunchCooperativeKernel_ptsz] (func: Func, gridDim: Dim3, blockDim: Dim3, args: Ptr, sharedMem: usize, stream: Stream) -> i32;
        launch (launch_kernel_ex) [11 12 13] [cudaLaunchKernelExC cudaLaunchKernelExC_ptsz] (config: Ptr, func: Func, args: Ptr) -> i32;
        launch (launch_cooperative_multi_device) [11 12] [cudaLaunchCooperativeKernelMultiDevice] (launchParamsList: Ptr, numDevices: u32, flags: Flags) -> i32;
        sync observe [11 12 13] [cudaLaunchHostFunc cudaLaunchHostFunc_ptsz] (stream: Stream, fn_: Ptr, userData: Ptr) -> i32;

        sync observe [13] [cudaLaunchHostFunc_v2 cudaLaunchHostFunc_v2_ptsz] (stream: Stream, fn_: Ptr, userData: Ptr, syncMode: u32) -> i32;

        // ---- kernels by handle
        register (get_func_by_symbol) [11 12 13] [cudaGetFuncBySymbol] (functionPtr: Out<Func>, symbolPtr: Func) -> i32;
        register (get_kernel) [12 13] [cudaGetKernel] (kernelPtr: Out<Func>, entryFuncAddr: Func) -> i32;
        module (library_load_data) [12 13] [cudaLibraryLoadData] (library: Out<Module>, code: Ptr, jitOptions: Ptr, jitOptionsValues: Ptr, numJitOptions: u32, libraryOptions: Ptr, libraryOptionValues: Ptr, numLibraryOptions: u32) -> i32;
        module (library_load_file) [12 13] [cudaLibraryLoadFromFile] (library: Out<Module>, fileName: Str, jitOptions: Ptr, jitOptionsValues: Ptr, numJitOptions: u32, libraryOptions: Ptr, libraryOptionValues: Ptr, numLibraryOptions: u32) -> i32;
        module (library_unload) [12 13] [cudaLibraryUnload] (library: Module) -> i32;
        module (library_get_kernel) [12 13] [cudaLibraryGetKernel] (pKernel: Out<Func>, library: Module, name: Str) -> i32;
        module (library_enumerate_kernels) [12 13] [cudaLibraryEnumerateKernels] (kernels: Ptr, numKernels: u32, lib: Module) -> i32;
        module observe [12 13] [cudaLibraryGetGlobal] (dptr: Out<Ptr>, bytes: Out<usize>, library: Module, name: Str) -> i32;
        module observe [11 12 13] [cudaFuncSetAttribute] (func: Func, attr: i32, value: i32) -> i32;

        // ---- ways to the driver
        module (get_driver_entry_point_11) [11] [cudaGetDriverEntryPoint_11 = cudaGetDriverEntryPoint cudaGetDriverEntryPoint_ptsz_11 = cudaGetDriverEntryPoint_ptsz] (symbol: Str, funcPtr: Ptr, flags: Flags64) -> i32;
        module (get_driver_entry_point) [12 13] [cudaGetDriverEntryPoint cudaGetDriverEntryPoint_ptsz] (symbol: Str, funcPtr: Ptr, flags: Flags64, driverStatus: Ptr) -> i32;
        module (get_driver_entry_point_by_version) [12 13] [cudaGetDriverEntryPointByVersion cudaGetDriverEntryPointByVersion_ptsz] (symbol: Str, funcPtr: Ptr, cudaVersion: u32, flags: Flags64, driverStatus: Ptr) -> i32;

        // ---- graphs
        graph observe [11 12 13] [cudaGraphCreate] (pGraph: Out<Graph>, flags: Flags) -> i32;
        graph observe [11 12 13] [cudaGraphDestroy] (graph: Graph) -> i32;
        graph observe [11 12 13] [cudaGraphClone] (pGraphClone: Out<Graph>, originalGraph: Graph) -> i32;
        graph (graph_add_kernel_node) [11 12 13] [cudaGraphAddKernelNode] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, pNodeParams: Ptr) -> i32;
        graph (graph_kernel_node_set_params) [11 12 13] [cudaGraphKernelNodeSetParams] (node: Node, pNodeParams: Ptr) -> i32;
        graph (graph_exec_kernel_node_set_params) [11 12 13] [cudaGraphExecKernelNodeSetParams] (hGraphExec: GraphExec, node: Node, pNodeParams: Ptr) -> i32;
        graph (graph_add_node_5) [12] [cudaGraphAddNode_12 = cudaGraphAddNode] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, nodeParams: Ptr) -> i32;
        graph (graph_add_node) [13] [cudaGraphAddNode] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, dependencyData: Ptr, numDependencies: usize, nodeParams: Ptr) -> i32;
        graph (graph_add_node) [12] [cudaGraphAddNode_v2] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, dependencyData: Ptr, numDependencies: usize, nodeParams: Ptr) -> i32;
        graph observe [11 12 13] [cudaGraphAddMemcpyNode] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, pCopyParams: Ptr) -> i32;
        graph observe [11 12 13] [cudaGraphAddMemcpyNode1D] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, dst: Ptr, src: Ptr, count: usize, kind: CopyKind) -> i32;
        graph observe [11 12 13] [cudaGraphAddMemsetNode] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, pMemsetParams: Ptr) -> i32;
        graph observe [11 12 13] [cudaGraphAddHostNode] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, pNodeParams: Ptr) -> i32;
        graph observe [11 12 13] [cudaGraphAddChildGraphNode] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, childGraph: Graph) -> i32;
        graph observe [11 12 13] [cudaGraphAddEmptyNode] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize) -> i32;
        graph observe [11 12 13] [cudaGraphAddMemcpyNodeToSymbol] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: CopyKind) -> i32;
        graph observe [11 12 13] [cudaGraphAddMemcpyNodeFromSymbol] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: CopyKind) -> i32;
        graph observe [11 12 13] [cudaGraphAddEventRecordNode cudaGraphAddEventWaitNode] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, event: Event) -> i32;
        graph observe [11 12 13] [cudaGraphAddMemAllocNode cudaGraphAddExternalSemaphoresSignalNode cudaGraphAddExternalSemaphoresWaitNode] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, nodeParams: Ptr) -> i32;
        graph observe [11 12 13] [cudaGraphAddMemFreeNode] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, dptr: Ptr) -> i32;
        graph (graph_node_set_params) [12 13] [cudaGraphNodeSetParams] (node: Node, nodeParams: Ptr) -> i32;
        graph (graph_exec_node_set_params) [12 13] [cudaGraphExecNodeSetParams] (graphExec: GraphExec, node: Node, nodeParams: Ptr) -> i32;
        graph observe [11 12 13] [cudaGraphMemcpyNodeSetParams cudaGraphMemsetNodeSetParams cudaGraphHostNodeSetParams] (node: Node, pNodeParams: Ptr) -> i32;
        graph observe [11 12 13] [cudaGraphMemcpyNodeSetParams1D] (node: Node, dst: Ptr, src: Ptr, count: usize, kind: CopyKind) -> i32;
        graph observe [11 12 13] [cudaGraphMemcpyNodeSetParamsToSymbol] (node: Node, symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: CopyKind) -> i32;
        graph observe [11 12 13] [cudaGraphMemcpyNodeSetParamsFromSymbol] (node: Node, dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: CopyKind) -> i32;
        graph observe [11 12 13] [cudaGraphExecMemcpyNodeSetParams cudaGraphExecMemsetNodeSetParams cudaGraphExecHostNodeSetParams] (hGraphExec: GraphExec, node: Node, pNodeParams: Ptr) -> i32;
        graph observe [11 12 13] [cudaGraphExecMemcpyNodeSetParams1D] (hGraphExec: GraphExec, node: Node, dst: Ptr, src: Ptr, count: usize, kind: CopyKind) -> i32;
        graph observe [11 12 13] [cudaGraphExecMemcpyNodeSetParamsToSymbol] (hGraphExec: GraphExec, node: Node, symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: CopyKind) -> i32;
        graph observe [11 12 13] [cudaGraphExecMemcpyNodeSetParamsFromSymbol] (hGraphExec: GraphExec, node: Node, dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: CopyKind) -> i32;
        graph observe [11 12 13] [cudaGraphExecChildGraphNodeSetParams] (hGraphExec: GraphExec, node: Node, childGraph: Graph) -> i32;
        graph observe [11 12 13] [cudaGraphNodeSetEnabled] (hGraphExec: GraphExec, hNode: Node, isEnabled: u32) -> i32;
        graph observe [13] [cudaStreamBeginRecaptureToGraph cudaStreamBeginRecaptureToGraph_ptsz] (stream: Stream, mode: i32, graph: Graph, callbackData: Ptr) -> i32;
        graph observe [12 13] [cudaGraphInstantiate_12 = cudaGraphInstantiate] (pGraphExec: Out<GraphExec>, graph: Graph, flags: Flags64) -> i32;
        graph observe [11] [cudaGraphInstantiate] (pGraphExec: Out<GraphExec>, graph: Graph, pErrorNode: Ptr, pLogBuffer: Ptr, bufferSize: usize) -> i32;
        graph observe [11 12 13] [cudaGraphInstantiateWithFlags] (pGraphExec: Out<GraphExec>, graph: Graph, flags: Flags64) -> i32;
        graph observe [12 13] [cudaGraphInstantiateWithParams cudaGraphInstantiateWithParams_ptsz] (pGraphExec: Out<GraphExec>, graph: Graph, instantiateParams: Ptr) -> i32;
        graph observe [12 13] [cudaGraphExecUpdate_12 = cudaGraphExecUpdate] (hGraphExec: GraphExec, hGraph: Graph, resultInfo: Ptr) -> i32;
        graph observe [11] [cudaGraphExecUpdate] (hGraphExec: GraphExec, hGraph: Graph, hErrorNode_out: Ptr, updateResult_out: Ptr) -> i32;
        graph observe [11 12 13] [cudaGraphExecDestroy] (graphExec: GraphExec) -> i32;
        graph observe [11 12 13] [cudaGraphUpload cudaGraphUpload_ptsz] (graphExec: GraphExec, stream: Stream) -> i32;
        graph observe [11 12 13] [cudaGraphLaunch cudaGraphLaunch_ptsz] (graphExec: GraphExec, stream: Stream) -> i32;
        graph (stream_begin_capture) [11 12 13] [cudaStreamBeginCapture cudaStreamBeginCapture_ptsz] (stream: Stream, mode: i32) -> i32;
        graph (stream_begin_capture_to_graph) [12 13] [cudaStreamBeginCaptureToGraph cudaStreamBeginCaptureToGraph_ptsz] (stream: Stream, graph: Graph, dependencies: Ptr, dependencyData: Ptr, numDependencies: usize, mode: i32) -> i32;
        graph (stream_end_capture) [11 12 13] [cudaStreamEndCapture cudaStreamEndCapture_ptsz] (stream: Stream, pGraph: Out<Graph>) -> i32;

        // ---- memory
        memory observe [11 12 13] [cudaMalloc] (devPtr: Out<Ptr>, size: usize) -> i32;
        memory observe [11 12 13] [cudaMallocHost] (ptr: Out<Ptr>, size: usize) -> i32;
        memory observe [11 12 13] [cudaMallocManaged] (devPtr: Out<Ptr>, size: usize, flags: Flags) -> i32;
        memory observe [11 12 13] [cudaMallocPitch] (devPtr: Out<Ptr>, pitch: Out<usize>, width: usize, height: usize) -> i32;
        memory observe [11 12 13] [cudaMalloc3D] (pitchedDevPtr: Out<Ptr>, extent: Extent) -> i32;
        memory observe [11 12 13] [cudaMallocArray] (array: Out<Ptr>, desc: Ptr, width: usize, height: usize, flags: Flags) -> i32;
        memory observe [11 12 13] [cudaMalloc3DArray] (array: Out<Ptr>, desc: Ptr, extent: Extent, flags: Flags) -> i32;
        memory observe [11 12 13] [cudaMallocMipmappedArray] (mipmappedArray: Out<Ptr>, desc: Ptr, extent: Extent, numLevels: u32, flags: Flags) -> i32;
        memory observe [11 12 13] [cudaMallocAsync cudaMallocAsync_ptsz] (devPtr: Out<Ptr>, size: usize, hStream: Stream) -> i32;
        memory observe [11 12 13] [cudaMallocFromPoolAsync cudaMallocFromPoolAsync_ptsz] (ptr: Out<Ptr>, size: usize, memPool: Ptr, stream: Stream) -> i32;
        memory observe [11 12 13] [cudaFree] (devPtr: Ptr) -> i32;
        memory observe [11 12 13] [cudaFreeHost] (ptr: Ptr) -> i32;
        memory observe [11 12 13] [cudaFreeArray] (array: Ptr) -> i32;
        memory observe [11 12 13] [cudaFreeMipmappedArray] (mipmappedArray: Ptr) -> i32;
        memory observe [11 12 13] [cudaFreeAsync cudaFreeAsync_ptsz] (devPtr: Ptr, hStream: Stream) -> i32;
        memory observe [11 12 13] [cudaHostAlloc] (pHost: Out<Ptr>, size: usize, flags: Flags) -> i32;
        memory observe [11 12 13] [cudaHostRegister] (ptr: Ptr, size: usize, flags: Flags) -> i32;
        memory observe [11 12 13] [cudaHostUnregister] (ptr: Ptr) -> i32;
        memory observe [11 12 13] [cudaHostGetDevicePointer] (pDevice: Out<Ptr>, pHost: Ptr, flags: Flags) -> i32;
        memory observe [11 12] [cudaMemAdvise_12 = cudaMemAdvise] (devPtr: Ptr, count: usize, advice: i32, device: Device) -> i32;
        memory observe [13] [cudaMemAdvise] (devPtr: Ptr, count: usize, advice: i32, location: Location) -> i32;
        memory observe [12] [cudaMemAdvise_v2] (devPtr: Ptr, count: usize, advice: i32, location: Location) -> i32;
        memory observe [11 12] [cudaMemPrefetchAsync_12 = cudaMemPrefetchAsync cudaMemPrefetchAsync_ptsz_12 = cudaMemPrefetchAsync_ptsz] (devPtr: Ptr, count: usize, dstDevice: Device, stream: Stream) -> i32;
        memory observe [13] [cudaMemPrefetchAsync cudaMemPrefetchAsync_ptsz] (devPtr: Ptr, count: usize, location: Location, flags: Flags, stream: Stream) -> i32;
        memory observe [12] [cudaMemPrefetchAsync_v2 cudaMemPrefetchAsync_v2_ptsz] (devPtr: Ptr, count: usize, location: Location, flags: Flags, stream: Stream) -> i32;
        memory observe [11 12 13] [cudaMemPoolCreate] (memPool: Out<Ptr>, poolProps: Ptr) -> i32;
        memory observe [11 12 13] [cudaMemPoolDestroy] (memPool: Ptr) -> i32;
        memory observe [11 12 13] [cudaMemPoolTrimTo] (memPool: Ptr, minBytesToKeep: usize) -> i32;
        memory observe [11 12 13] [cudaStreamAttachMemAsync cudaStreamAttachMemAsync_ptsz] (stream: Stream, devPtr: Ptr, length: usize, flags: Flags) -> i32;
        memory observe [11 12 13] [cudaMemset cudaMemset_ptds] (devPtr: Ptr, value: i32, count: usize) -> i32;
        memory observe [11 12 13] [cudaMemsetAsync cudaMemsetAsync_ptsz] (devPtr: Ptr, value: i32, count: usize, stream: Stream) -> i32;
        memory observe [11 12 13] [cudaMemset2D cudaMemset2D_ptds] (devPtr: Ptr, pitch: usize, value: i32, width: usize, height: usize) -> i32;
        memory observe [11 12 13] [cudaMemset2DAsync cudaMemset2DAsync_ptsz] (devPtr: Ptr, pitch: usize, value: i32, width: usize, height: usize, stream: Stream) -> i32;
        memory observe [11 12 13] [cudaMemset3D cudaMemset3D_ptds] (pitchedDevPtr: PitchedPtr, value: i32, extent: Extent) -> i32;
        memory observe [11 12 13] [cudaMemset3DAsync cudaMemset3DAsync_ptsz] (pitchedDevPtr: PitchedPtr, value: i32, extent: Extent, stream: Stream) -> i32;

        memory observe [13] [cudaMemPrefetchBatchAsync cudaMemPrefetchBatchAsync_ptsz cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz] (dptrs: Ptr, sizes: Ptr, count: usize, prefetchLocs: Ptr, prefetchLocIdxs: Ptr, numPrefetchLocs: usize, flags: Flags64, stream: Stream) -> i32;
        memory observe [13] [cudaMemDiscardBatchAsync cudaMemDiscardBatchAsync_ptsz] (dptrs: Ptr, sizes: Ptr, count: usize, flags: Flags64, stream: Stream) -> i32;

        // ---- copies
        copy observe [11 12 13] [cudaMemcpy cudaMemcpy_ptds] (dst: Ptr, src: Ptr, count: usize, kind: CopyKind) -> i32;
        copy observe [11 12 13] [cudaMemcpyAsync cudaMemcpyAsync_ptsz] (dst: Ptr, src: Ptr, count: usize, kind: CopyKind, stream: Stream) -> i32;
        copy observe [11 12 13] [cudaMemcpyPeer] (dst: Ptr, dstDevice: Device, src: Ptr, srcDevice: Device, count: usize) -> i32;
        copy observe [11 12 13] [cudaMemcpyPeerAsync] (dst: Ptr, dstDevice: Device, src: Ptr, srcDevice: Device, count: usize, stream: Stream) -> i32;
        copy observe [11 12 13] [cudaMemcpy2D cudaMemcpy2D_ptds] (dst: Ptr, dpitch: usize, src: Ptr, spitch: usize, width: usize, height: usize, kind: CopyKind) -> i32;
        copy observe [11 12 13] [cudaMemcpy2DAsync cudaMemcpy2DAsync_ptsz] (dst: Ptr, dpitch: usize, src: Ptr, spitch: usize, width: usize, height: usize, kind: CopyKind, stream: Stream) -> i32;
        copy observe [11 12 13] [cudaMemcpy2DToArray cudaMemcpy2DToArray_ptds] (dst: Ptr, wOffset: usize, hOffset: usize, src: Ptr, spitch: usize, width: usize, height: usize, kind: CopyKind) -> i32;
        copy observe [11 12 13] [cudaMemcpy2DToArrayAsync cudaMemcpy2DToArrayAsync_ptsz] (dst: Ptr, wOffset: usize, hOffset: usize, src: Ptr, spitch: usize, width: usize, height: usize, kind: CopyKind, stream: Stream) -> i32;
        copy observe [11 12 13] [cudaMemcpy2DFromArray cudaMemcpy2DFromArray_ptds] (dst: Ptr, dpitch: usize, src: Ptr, wOffset: usize, hOffset: usize, width: usize, height: usize, kind: CopyKind) -> i32;
        copy observe [11 12 13] [cudaMemcpy2DFromArrayAsync cudaMemcpy2DFromArrayAsync_ptsz] (dst: Ptr, dpitch: usize, src: Ptr, wOffset: usize, hOffset: usize, width: usize, height: usize, kind: CopyKind, stream: Stream) -> i32;
        copy observe [11 12 13] [cudaMemcpy2DArrayToArray cudaMemcpy2DArrayToArray_ptds] (dst: Ptr, wOffsetDst: usize, hOffsetDst: usize, src: Ptr, wOffsetSrc: usize, hOffsetSrc: usize, width: usize, height: usize, kind: CopyKind) -> i32;
        copy observe [11 12 13] [cudaMemcpyToArray cudaMemcpyToArray_ptds] (dst: Ptr, wOffset: usize, hOffset: usize, src: Ptr, count: usize, kind: CopyKind) -> i32;
        copy observe [11 12 13] [cudaMemcpyToArrayAsync cudaMemcpyToArrayAsync_ptsz] (dst: Ptr, wOffset: usize, hOffset: usize, src: Ptr, count: usize, kind: CopyKind, stream: Stream) -> i32;
        copy observe [11 12 13] [cudaMemcpyFromArray cudaMemcpyFromArray_ptds] (dst: Ptr, src: Ptr, wOffset: usize, hOffset: usize, count: usize, kind: CopyKind) -> i32;
        copy observe [11 12 13] [cudaMemcpyFromArrayAsync cudaMemcpyFromArrayAsync_ptsz] (dst: Ptr, src: Ptr, wOffset: usize, hOffset: usize, count: usize, kind: CopyKind, stream: Stream) -> i32;
        copy observe [11 12 13] [cudaMemcpyArrayToArray cudaMemcpyArrayToArray_ptds] (dst: Ptr, wOffsetDst: usize, hOffsetDst: usize, src: Ptr, wOffsetSrc: usize, hOffsetSrc: usize, count: usize, kind: CopyKind) -> i32;
        copy observe [11 12 13] [cudaMemcpyToSymbol cudaMemcpyToSymbol_ptds] (symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: CopyKind) -> i32;
        copy observe [11 12 13] [cudaMemcpyToSymbolAsync cudaMemcpyToSymbolAsync_ptsz] (symbol: Ptr, src: Ptr, count: usize, offset: usize, kind: CopyKind, stream: Stream) -> i32;
        copy observe [11 12 13] [cudaMemcpyFromSymbol cudaMemcpyFromSymbol_ptds] (dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: CopyKind) -> i32;
        copy observe [11 12 13] [cudaMemcpyFromSymbolAsync cudaMemcpyFromSymbolAsync_ptsz] (dst: Ptr, symbol: Ptr, count: usize, offset: usize, kind: CopyKind, stream: Stream) -> i32;
        copy observe [11 12 13] [cudaMemcpy3D cudaMemcpy3D_ptds] (p: Ptr) -> i32;
        copy observe [11 12 13] [cudaMemcpy3DAsync cudaMemcpy3DAsync_ptsz] (p: Ptr, stream: Stream) -> i32;
        copy observe [11 12 13] [cudaMemcpy3DPeer cudaMemcpy3DPeer_ptds] (p: Ptr) -> i32;
        copy observe [11 12 13] [cudaMemcpy3DPeerAsync cudaMemcpy3DPeerAsync_ptsz] (p: Ptr, stream: Stream) -> i32;
        copy observe [12] [cudaMemcpyBatchAsync_12 = cudaMemcpyBatchAsync cudaMemcpyBatchAsync_ptsz_12 = cudaMemcpyBatchAsync_ptsz] (dsts: Ptr, srcs: Ptr, sizes: Ptr, count: usize, attrs: Ptr, attrsIdxs: Ptr, numAttrs: usize, failIdx: Ptr, stream: Stream) -> i32;
        copy observe [13] [cudaMemcpyBatchAsync_13 = cudaMemcpyBatchAsync cudaMemcpyBatchAsync_ptsz_13 = cudaMemcpyBatchAsync_ptsz] (dsts: Ptr, srcs: Ptr, sizes: Ptr, count: usize, attrs: Ptr, attrsIdxs: Ptr, numAttrs: usize, stream: Stream) -> i32;

        copy observe [12] [cudaMemcpy3DBatchAsync_12 = cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_ptsz_12 = cudaMemcpy3DBatchAsync_ptsz] (numOps: usize, opList: Ptr, failIdx: Ptr, flags: Flags64, stream: Stream) -> i32;
        copy observe [13] [cudaMemcpy3DBatchAsync_13 = cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_ptsz_13 = cudaMemcpy3DBatchAsync_ptsz] (numOps: usize, opList: Ptr, flags: Flags64, stream: Stream) -> i32;
        copy observe [13] [cudaMemcpyWithAttributesAsync cudaMemcpyWithAttributesAsync_ptsz] (dst: Ptr, src: Ptr, size: usize, attr: Ptr, stream: Stream) -> i32;
        copy observe [13] [cudaMemcpy3DWithAttributesAsync cudaMemcpy3DWithAttributesAsync_ptsz] (op: Ptr, flags: Flags64, stream: Stream) -> i32;

        // ---- streams, events, synchronisation
        stream observe [11 12 13] [cudaStreamCreate] (pStream: Out<Stream>) -> i32;
        stream observe [11 12 13] [cudaStreamCreateWithFlags] (pStream: Out<Stream>, flags: Flags) -> i32;
        stream observe [11 12 13] [cudaStreamCreateWithPriority] (pStream: Out<Stream>, flags: Flags, priority: i32) -> i32;
        stream observe [11 12 13] [cudaStreamDestroy] (stream: Stream) -> i32;
        stream observe [11 12 13] [cudaStreamWaitEvent cudaStreamWaitEvent_ptsz] (stream: Stream, event: Event, flags: Flags) -> i32;
        stream observe [11 12 13] [cudaStreamAddCallback cudaStreamAddCallback_ptsz] (stream: Stream, callback: Ptr, userData: Ptr, flags: Flags) -> i32;
        stream observe [11 12 13] [cudaStreamQuery cudaStreamQuery_ptsz] (stream: Stream) -> i32;
        event observe [11 12 13] [cudaEventCreate] (event: Out<Event>) -> i32;
        event observe [11 12 13] [cudaEventCreateWithFlags] (event: Out<Event>, flags: Flags) -> i32;
        event observe [11 12 13] [cudaEventDestroy] (event: Event) -> i32;
        event observe [11 12 13] [cudaEventRecord cudaEventRecord_ptsz] (event: Event, stream: Stream) -> i32;
        event observe [11 12 13] [cudaEventRecordWithFlags cudaEventRecordWithFlags_ptsz] (event: Event, stream: Stream, flags: Flags) -> i32;
        event observe [11 12 13] [cudaEventQuery] (event: Event) -> i32;
        event observe [11 12 13] [cudaEventElapsedTime] (ms: Ptr, start: Event, end: Event) -> i32;
        sync observe [11 12 13] [cudaEventSynchronize] (event: Event) -> i32;
        sync observe [11 12 13] [cudaStreamSynchronize cudaStreamSynchronize_ptsz] (stream: Stream) -> i32;
        sync observe [11 12 13] [cudaDeviceSynchronize] () -> i32;
        sync observe [11 12] [cudaThreadSynchronize] () -> i32;
        sync (device_reset) [11 12 13] [cudaDeviceReset] () -> i32;

        // ---- the program's own profiler range
        profiler (profiler_start) [11 12 13] [cudaProfilerStart] () -> i32;
        profiler (profiler_stop) [11 12 13] [cudaProfilerStop] () -> i32;
    } };
}
