//! The hooked functions of the CUDA driver, each declared once, by the name that libcuda exports. A row is `class how
//! [names] (arguments) -> result;` with `how` as in [`crate::runtime`]; the handlers are in
//! `cushim_interpose::driver`.
//!
//! Forms that take 32-bit device pointers (`cuMemAlloc` without `_v2` and similar, CUDA 3.1 and older) are not
//! hooked: no header has named them since 2010.
//!
//! Source: CUDA Driver API reference 11.8, 12.9, 13.0 and cuda.h.

/// Passes the whole table to macro `$then`, with `$extra` tokens in front.
#[macro_export]
macro_rules! driver_functions {
    ($then:ident $($extra:tt)*) => { $crate::driver_functions! { {$then} $($extra)* } };
    // A macro by its path.
    ({$($then:tt)+} $($extra:tt)*) => { $($then)+! { $($extra)*
        // ---- ways to a function
        module (get_proc_address) [cuGetProcAddress] (symbol: Str, pfn: Ptr, cudaVersion: i32, flags: Flags64) -> i32;
        module (get_proc_address_v2) [cuGetProcAddress_v2] (symbol: Str, pfn: Ptr, cudaVersion: i32, flags: Flags64, symbolStatus: Ptr) -> i32;

        // ---- contexts
        module (primary_ctx_retain) [cuDevicePrimaryCtxRetain] (pctx: Out<Context>, dev: Device) -> i32;
        module (primary_ctx_end) [cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxReset cuDevicePrimaryCtxReset_v2] (dev: Device) -> i32;
        module (ctx_set_current) [cuCtxSetCurrent] (ctx: Context) -> i32;
        module (ctx_set_current) [cuCtxPushCurrent_v2] (ctx: Context) -> i32;
        module (ctx_pop_current) [cuCtxPopCurrent_v2] (pctx: Out<Context>) -> i32;
        module (ctx_create) [cuCtxCreate_v2] (pctx: Out<Context>, flags: Flags, dev: Device) -> i32;
        module (ctx_create_v3) [cuCtxCreate_v3] (pctx: Out<Context>, paramsArray: Ptr, numParams: i32, flags: Flags, dev: Device) -> i32;
        module (ctx_create_v4) [cuCtxCreate_v4] (pctx: Out<Context>, ctxCreateParams: Ptr, flags: Flags, dev: Device) -> i32;
        module (ctx_destroy) [cuCtxDestroy_v2] (ctx: Context) -> i32;

        // ---- modules, libraries, functions
        module (module_load) [cuModuleLoad] (module: Out<Module>, fname: Str) -> i32;
        module (module_load_data) [cuModuleLoadData] (module: Out<Module>, image: Ptr) -> i32;
        module (module_load_data_ex) [cuModuleLoadDataEx] (module: Out<Module>, image: Ptr, numOptions: u32, options: Ptr, optionValues: Ptr) -> i32;
        module (module_load_data) [cuModuleLoadFatBinary] (module: Out<Module>, fatCubin: Ptr) -> i32;
        module (module_unload) [cuModuleUnload] (hmod: Module) -> i32;
        module (module_get_function) [cuModuleGetFunction] (hfunc: Out<Func>, hmod: Module, name: Str) -> i32;
        module (library_load_data) [cuLibraryLoadData] (library: Out<Module>, code: Ptr, jitOptions: Ptr, jitOptionsValues: Ptr, numJitOptions: u32, libraryOptions: Ptr, libraryOptionValues: Ptr, numLibraryOptions: u32) -> i32;
        module (library_load_file) [cuLibraryLoadFromFile] (library: Out<Module>, fileName: Str, jitOptions: Ptr, jitOptionsValues: Ptr, numJitOptions: u32, libraryOptions: Ptr, libraryOptionValues: Ptr, numLibraryOptions: u32) -> i32;
        module (module_unload) [cuLibraryUnload] (library: Module) -> i32;
        module (module_get_function) [cuLibraryGetKernel] (pKernel: Out<Func>, library: Module, name: Str) -> i32;
        module (library_enumerate_kernels) [cuLibraryEnumerateKernels] (kernels: Ptr, numKernels: u32, lib: Module) -> i32;
        module (module_enumerate_functions) [cuModuleEnumerateFunctions] (functions: Ptr, numFunctions: u32, mod_: Module) -> i32;
        module (library_get_module) [cuLibraryGetModule] (pMod: Out<Module>, library: Module) -> i32;
        module (kernel_get_function) [cuKernelGetFunction] (pFunc: Out<Func>, kernel: Func) -> i32;
        module observe [cuLinkCreate_v2] (numOptions: u32, options: Ptr, optionValues: Ptr, stateOut: Out<Ptr>) -> i32;
        module (link_add_data) [cuLinkAddData_v2] (state: Ptr, type_: i32, data: Ptr, size: usize, name: Str, numOptions: u32, options: Ptr, optionValues: Ptr) -> i32;
        module observe [cuLinkAddFile_v2] (state: Ptr, type_: i32, path: Str, numOptions: u32, options: Ptr, optionValues: Ptr) -> i32;
        module (link_complete) [cuLinkComplete] (state: Ptr, cubinOut: Out<Ptr>, sizeOut: Out<usize>) -> i32;
        module observe [cuLinkDestroy] (state: Ptr) -> i32;
        module observe [cuFuncSetAttribute] (hfunc: Func, attrib: i32, value: i32) -> i32;
        module observe [cuKernelSetAttribute] (attrib: i32, val: i32, kernel: Func, dev: Device) -> i32;

        // ---- launch
        launch (launch_kernel) [cuLaunchKernel cuLaunchKernel_ptsz] (f: Func, gridDimX: u32, gridDimY: u32, gridDimZ: u32, blockDimX: u32, blockDimY: u32, blockDimZ: u32, sharedMemBytes: u32, hStream: Stream, kernelParams: Ptr, extra: Ptr) -> i32;
        launch (launch_kernel_ex) [cuLaunchKernelEx cuLaunchKernelEx_ptsz] (config: Ptr, f: Func, kernelParams: Ptr, extra: Ptr) -> i32;
        launch (launch_cooperative_kernel) [cuLaunchCooperativeKernel cuLaunchCooperativeKernel_ptsz] (f: Func, gridDimX: u32, gridDimY: u32, gridDimZ: u32, blockDimX: u32, blockDimY: u32, blockDimZ: u32, sharedMemBytes: u32, hStream: Stream, kernelParams: Ptr) -> i32;
        launch (launch_cooperative_multi_device) [cuLaunchCooperativeKernelMultiDevice] (launchParamsList: Ptr, numDevices: u32, flags: Flags) -> i32;
        launch (launch_grid) [cuLaunch] (f: Func) -> i32;
        launch (launch_grid_2d) [cuLaunchGrid] (f: Func, grid_width: i32, grid_height: i32) -> i32;
        launch (launch_grid_async) [cuLaunchGridAsync] (f: Func, grid_width: i32, grid_height: i32, hStream: Stream) -> i32;
        sync observe [cuLaunchHostFunc cuLaunchHostFunc_ptsz] (hStream: Stream, fn_: Ptr, userData: Ptr) -> i32;

        // ---- graphs
        graph observe [cuGraphCreate] (phGraph: Out<Graph>, flags: Flags) -> i32;
        graph observe [cuGraphDestroy] (hGraph: Graph) -> i32;
        graph observe [cuGraphClone] (phGraphClone: Out<Graph>, originalGraph: Graph) -> i32;
        graph (graph_add_kernel_node) [cuGraphAddKernelNode cuGraphAddKernelNode_v2] (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, nodeParams: Ptr) -> i32;
        graph (graph_kernel_node_set_params) [cuGraphKernelNodeSetParams cuGraphKernelNodeSetParams_v2] (hNode: Node, nodeParams: Ptr) -> i32;
        graph (graph_exec_kernel_node_set_params) [cuGraphExecKernelNodeSetParams cuGraphExecKernelNodeSetParams_v2] (hGraphExec: GraphExec, hNode: Node, nodeParams: Ptr) -> i32;
        graph (graph_add_node_5) [cuGraphAddNode] (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, nodeParams: Ptr) -> i32;
        graph (graph_add_node) [cuGraphAddNode_v2] (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, dependencyData: Ptr, numDependencies: usize, nodeParams: Ptr) -> i32;
        graph observe [cuGraphAddMemcpyNode] (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, copyParams: Ptr, ctx: Context) -> i32;
        graph observe [cuGraphAddMemsetNode] (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, memsetParams: Ptr, ctx: Context) -> i32;
        graph observe [cuGraphAddHostNode] (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, nodeParams: Ptr) -> i32;
        graph observe [cuGraphAddChildGraphNode] (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, childGraph: Graph) -> i32;
        graph observe [cuGraphAddEmptyNode] (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize) -> i32;
        graph observe [cuGraphAddEventRecordNode cuGraphAddEventWaitNode] (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, event: Event) -> i32;
        graph observe [cuGraphAddMemAllocNode cuGraphAddExternalSemaphoresSignalNode cuGraphAddExternalSemaphoresWaitNode cuGraphAddBatchMemOpNode] (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, nodeParams: Ptr) -> i32;
        graph observe [cuGraphAddMemFreeNode] (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, numDependencies: usize, dptr: Ptr) -> i32;
        graph (graph_node_set_params) [cuGraphNodeSetParams] (hNode: Node, nodeParams: Ptr) -> i32;
        graph (graph_exec_node_set_params) [cuGraphExecNodeSetParams] (hGraphExec: GraphExec, hNode: Node, nodeParams: Ptr) -> i32;
        graph observe [cuGraphMemcpyNodeSetParams cuGraphMemsetNodeSetParams cuGraphHostNodeSetParams] (hNode: Node, nodeParams: Ptr) -> i32;
        graph observe [cuGraphExecMemcpyNodeSetParams cuGraphExecMemsetNodeSetParams] (hGraphExec: GraphExec, hNode: Node, params: Ptr, ctx: Context) -> i32;
        graph observe [cuGraphExecHostNodeSetParams] (hGraphExec: GraphExec, hNode: Node, nodeParams: Ptr) -> i32;
        graph observe [cuGraphExecChildGraphNodeSetParams] (hGraphExec: GraphExec, hNode: Node, childGraph: Graph) -> i32;
        graph observe [cuGraphNodeSetEnabled] (hGraphExec: GraphExec, hNode: Node, isEnabled: u32) -> i32;
        graph observe [cuGraphInstantiate_v2] (phGraphExec: Out<GraphExec>, hGraph: Graph, phErrorNode: Ptr, logBuffer: Ptr, bufferSize: usize) -> i32;
        graph observe [cuGraphInstantiateWithFlags] (phGraphExec: Out<GraphExec>, hGraph: Graph, flags: Flags64) -> i32;
        graph observe [cuGraphInstantiateWithParams cuGraphInstantiateWithParams_ptsz] (phGraphExec: Out<GraphExec>, hGraph: Graph, instantiateParams: Ptr) -> i32;
        graph observe [cuGraphExecUpdate] (hGraphExec: GraphExec, hGraph: Graph, hErrorNode_out: Ptr, updateResult_out: Ptr) -> i32;
        graph observe [cuGraphExecUpdate_v2] (hGraphExec: GraphExec, hGraph: Graph, resultInfo: Ptr) -> i32;
        graph observe [cuGraphExecDestroy] (hGraphExec: GraphExec) -> i32;
        graph observe [cuGraphUpload cuGraphUpload_ptsz] (hGraphExec: GraphExec, hStream: Stream) -> i32;
        graph observe [cuGraphLaunch cuGraphLaunch_ptsz] (hGraphExec: GraphExec, hStream: Stream) -> i32;
        graph (stream_begin_capture) [cuStreamBeginCapture_v2 cuStreamBeginCapture_v2_ptsz] (hStream: Stream, mode: i32) -> i32;
        graph (stream_begin_capture_to_graph) [cuStreamBeginCaptureToGraph cuStreamBeginCaptureToGraph_ptsz] (hStream: Stream, hGraph: Graph, dependencies: Ptr, dependencyData: Ptr, numDependencies: usize, mode: i32) -> i32;
        graph (stream_end_capture) [cuStreamEndCapture cuStreamEndCapture_ptsz] (hStream: Stream, phGraph: Out<Graph>) -> i32;

        // ---- memory
        memory observe [cuMemAlloc_v2] (dptr: Out<Ptr>, bytesize: usize) -> i32;
        memory observe [cuMemAllocPitch_v2] (dptr: Out<Ptr>, pPitch: Out<usize>, WidthInBytes: usize, Height: usize, ElementSizeBytes: u32) -> i32;
        memory observe [cuMemAllocHost_v2] (pp: Out<Ptr>, bytesize: usize) -> i32;
        memory observe [cuMemAllocManaged] (dptr: Out<Ptr>, bytesize: usize, flags: Flags) -> i32;
        memory observe [cuMemAllocAsync cuMemAllocAsync_ptsz] (dptr: Out<Ptr>, bytesize: usize, hStream: Stream) -> i32;
        memory observe [cuMemAllocFromPoolAsync cuMemAllocFromPoolAsync_ptsz] (dptr: Out<Ptr>, bytesize: usize, pool: Ptr, hStream: Stream) -> i32;
        memory observe [cuMemFree_v2] (dptr: Ptr) -> i32;
        memory observe [cuMemFreeHost] (p: Ptr) -> i32;
        memory observe [cuMemFreeAsync cuMemFreeAsync_ptsz] (dptr: Ptr, hStream: Stream) -> i32;
        memory observe [cuMemHostAlloc] (pp: Out<Ptr>, bytesize: usize, flags: Flags) -> i32;
        memory observe [cuMemHostRegister_v2] (p: Ptr, bytesize: usize, flags: Flags) -> i32;
        memory observe [cuMemHostUnregister] (p: Ptr) -> i32;
        memory observe [cuMemAdvise] (devPtr: Ptr, count: usize, advice: i32, device: Device) -> i32;
        memory observe [cuMemAdvise_v2] (devPtr: Ptr, count: usize, advice: i32, location: Location) -> i32;
        memory observe [cuMemPrefetchAsync cuMemPrefetchAsync_ptsz] (devPtr: Ptr, count: usize, dstDevice: Device, hStream: Stream) -> i32;
        memory observe [cuMemPrefetchAsync_v2 cuMemPrefetchAsync_v2_ptsz] (devPtr: Ptr, count: usize, location: Location, flags: Flags, hStream: Stream) -> i32;
        memory observe [cuMemAddressReserve] (ptr: Out<Ptr>, size: usize, alignment: usize, addr: Ptr, flags: Flags64) -> i32;
        memory observe [cuMemAddressFree] (ptr: Ptr, size: usize) -> i32;
        memory observe [cuMemCreate] (handle: Out<Ptr>, size: usize, prop: Ptr, flags: Flags64) -> i32;
        memory observe [cuMemRelease] (handle: Ptr) -> i32;
        memory observe [cuMemMap] (ptr: Ptr, size: usize, offset: usize, handle: Ptr, flags: Flags64) -> i32;
        memory observe [cuMemUnmap] (ptr: Ptr, size: usize) -> i32;
        memory observe [cuMemPoolCreate] (pool: Out<Ptr>, poolProps: Ptr) -> i32;
        memory observe [cuMemPoolDestroy] (pool: Ptr) -> i32;
        memory observe [cuMemPoolTrimTo] (pool: Ptr, minBytesToKeep: usize) -> i32;
        memory observe [cuArrayCreate_v2] (pHandle: Out<Ptr>, pAllocateArray: Ptr) -> i32;
        memory observe [cuArray3DCreate_v2] (pHandle: Out<Ptr>, pAllocateArray: Ptr) -> i32;
        memory observe [cuArrayDestroy] (hArray: Ptr) -> i32;
        memory observe [cuStreamAttachMemAsync cuStreamAttachMemAsync_ptsz] (hStream: Stream, dptr: Ptr, length: usize, flags: Flags) -> i32;
        memory observe [cuMemsetD8_v2 cuMemsetD8_v2_ptds] (dstDevice: Ptr, uc: u8, N: usize) -> i32;
        memory observe [cuMemsetD16_v2 cuMemsetD16_v2_ptds] (dstDevice: Ptr, us: u16, N: usize) -> i32;
        memory observe [cuMemsetD32_v2 cuMemsetD32_v2_ptds] (dstDevice: Ptr, ui: u32, N: usize) -> i32;
        memory observe [cuMemsetD2D8_v2 cuMemsetD2D8_v2_ptds] (dstDevice: Ptr, dstPitch: usize, uc: u8, Width: usize, Height: usize) -> i32;
        memory observe [cuMemsetD2D16_v2 cuMemsetD2D16_v2_ptds] (dstDevice: Ptr, dstPitch: usize, us: u16, Width: usize, Height: usize) -> i32;
        memory observe [cuMemsetD2D32_v2 cuMemsetD2D32_v2_ptds] (dstDevice: Ptr, dstPitch: usize, ui: u32, Width: usize, Height: usize) -> i32;
        memory observe [cuMemsetD8Async cuMemsetD8Async_ptsz] (dstDevice: Ptr, uc: u8, N: usize, hStream: Stream) -> i32;
        memory observe [cuMemsetD16Async cuMemsetD16Async_ptsz] (dstDevice: Ptr, us: u16, N: usize, hStream: Stream) -> i32;
        memory observe [cuMemsetD32Async cuMemsetD32Async_ptsz] (dstDevice: Ptr, ui: u32, N: usize, hStream: Stream) -> i32;
        memory observe [cuMemsetD2D8Async cuMemsetD2D8Async_ptsz] (dstDevice: Ptr, dstPitch: usize, uc: u8, Width: usize, Height: usize, hStream: Stream) -> i32;
        memory observe [cuMemsetD2D16Async cuMemsetD2D16Async_ptsz] (dstDevice: Ptr, dstPitch: usize, us: u16, Width: usize, Height: usize, hStream: Stream) -> i32;
        memory observe [cuMemsetD2D32Async cuMemsetD2D32Async_ptsz] (dstDevice: Ptr, dstPitch: usize, ui: u32, Width: usize, Height: usize, hStream: Stream) -> i32;

        // ---- copies
        copy observe [cuMemcpy cuMemcpy_ptds] (dst: Ptr, src: Ptr, ByteCount: usize) -> i32;
        copy observe [cuMemcpyAsync cuMemcpyAsync_ptsz] (dst: Ptr, src: Ptr, ByteCount: usize, hStream: Stream) -> i32;
        copy observe [cuMemcpyHtoD_v2 cuMemcpyHtoD_v2_ptds] (dstDevice: Ptr, srcHost: Ptr, ByteCount: usize) -> i32;
        copy observe [cuMemcpyDtoH_v2 cuMemcpyDtoH_v2_ptds] (dstHost: Ptr, srcDevice: Ptr, ByteCount: usize) -> i32;
        copy observe [cuMemcpyDtoD_v2 cuMemcpyDtoD_v2_ptds] (dstDevice: Ptr, srcDevice: Ptr, ByteCount: usize) -> i32;
        copy observe [cuMemcpyHtoDAsync_v2 cuMemcpyHtoDAsync_v2_ptsz] (dstDevice: Ptr, srcHost: Ptr, ByteCount: usize, hStream: Stream) -> i32;
        copy observe [cuMemcpyDtoHAsync_v2 cuMemcpyDtoHAsync_v2_ptsz] (dstHost: Ptr, srcDevice: Ptr, ByteCount: usize, hStream: Stream) -> i32;
        copy observe [cuMemcpyDtoDAsync_v2 cuMemcpyDtoDAsync_v2_ptsz] (dstDevice: Ptr, srcDevice: Ptr, ByteCount: usize, hStream: Stream) -> i32;
        copy observe [cuMemcpyPeer cuMemcpyPeer_ptds] (dstDevice: Ptr, dstContext: Context, srcDevice: Ptr, srcContext: Context, ByteCount: usize) -> i32;
        copy observe [cuMemcpyPeerAsync cuMemcpyPeerAsync_ptsz] (dstDevice: Ptr, dstContext: Context, srcDevice: Ptr, srcContext: Context, ByteCount: usize, hStream: Stream) -> i32;
        copy observe [cuMemcpyDtoA_v2 cuMemcpyDtoA_v2_ptds] (dstArray: Ptr, dstOffset: usize, srcDevice: Ptr, ByteCount: usize) -> i32;
        copy observe [cuMemcpyAtoD_v2 cuMemcpyAtoD_v2_ptds] (dstDevice: Ptr, srcArray: Ptr, srcOffset: usize, ByteCount: usize) -> i32;
        copy observe [cuMemcpyHtoA_v2 cuMemcpyHtoA_v2_ptds] (dstArray: Ptr, dstOffset: usize, srcHost: Ptr, ByteCount: usize) -> i32;
        copy observe [cuMemcpyAtoH_v2 cuMemcpyAtoH_v2_ptds] (dstHost: Ptr, srcArray: Ptr, srcOffset: usize, ByteCount: usize) -> i32;
        copy observe [cuMemcpyAtoA_v2 cuMemcpyAtoA_v2_ptds] (dstArray: Ptr, dstOffset: usize, srcArray: Ptr, srcOffset: usize, ByteCount: usize) -> i32;
        copy observe [cuMemcpyHtoAAsync_v2 cuMemcpyHtoAAsync_v2_ptsz] (dstArray: Ptr, dstOffset: usize, srcHost: Ptr, ByteCount: usize, hStream: Stream) -> i32;
        copy observe [cuMemcpyAtoHAsync_v2 cuMemcpyAtoHAsync_v2_ptsz] (dstHost: Ptr, srcArray: Ptr, srcOffset: usize, ByteCount: usize, hStream: Stream) -> i32;
        copy observe [cuMemcpy2D_v2 cuMemcpy2D_v2_ptds cuMemcpy2DUnaligned_v2 cuMemcpy2DUnaligned_v2_ptds cuMemcpy3D_v2 cuMemcpy3D_v2_ptds cuMemcpy3DPeer cuMemcpy3DPeer_ptds] (pCopy: Ptr) -> i32;
        copy observe [cuMemcpy2DAsync_v2 cuMemcpy2DAsync_v2_ptsz cuMemcpy3DAsync_v2 cuMemcpy3DAsync_v2_ptsz cuMemcpy3DPeerAsync cuMemcpy3DPeerAsync_ptsz] (pCopy: Ptr, hStream: Stream) -> i32;
        copy observe [cuMemcpyBatchAsync cuMemcpyBatchAsync_ptsz] (dsts: Ptr, srcs: Ptr, sizes: Ptr, count: usize, attrs: Ptr, attrsIdxs: Ptr, numAttrs: usize, failIdx: Ptr, hStream: Stream) -> i32;
        copy observe [cuMemcpyBatchAsync_v2 cuMemcpyBatchAsync_v2_ptsz] (dsts: Ptr, srcs: Ptr, sizes: Ptr, count: usize, attrs: Ptr, attrsIdxs: Ptr, numAttrs: usize, hStream: Stream) -> i32;

        // ---- streams, events, synchronisation
        stream observe [cuStreamCreate] (phStream: Out<Stream>, flags: Flags) -> i32;
        stream observe [cuStreamCreateWithPriority] (phStream: Out<Stream>, flags: Flags, priority: i32) -> i32;
        stream observe [cuStreamDestroy_v2] (hStream: Stream) -> i32;
        stream observe [cuStreamWaitEvent cuStreamWaitEvent_ptsz] (hStream: Stream, hEvent: Event, flags: Flags) -> i32;
        stream observe [cuStreamAddCallback cuStreamAddCallback_ptsz] (hStream: Stream, callback: Ptr, userData: Ptr, flags: Flags) -> i32;
        stream observe [cuStreamQuery cuStreamQuery_ptsz] (hStream: Stream) -> i32;
        event observe [cuEventCreate] (phEvent: Out<Event>, flags: Flags) -> i32;
        event observe [cuEventDestroy_v2] (hEvent: Event) -> i32;
        event observe [cuEventRecord cuEventRecord_ptsz] (hEvent: Event, hStream: Stream) -> i32;
        event observe [cuEventRecordWithFlags cuEventRecordWithFlags_ptsz] (hEvent: Event, hStream: Stream, flags: Flags) -> i32;
        event observe [cuEventQuery] (hEvent: Event) -> i32;
        event observe [cuEventElapsedTime cuEventElapsedTime_v2] (pMilliseconds: Ptr, hStart: Event, hEnd: Event) -> i32;
        sync observe [cuEventSynchronize] (hEvent: Event) -> i32;
        sync observe [cuStreamSynchronize cuStreamSynchronize_ptsz] (hStream: Stream) -> i32;
        sync observe [cuCtxSynchronize] () -> i32;

        // ---- the program's own profiler range
        profiler (profiler_start) [cuProfilerStart] () -> i32;
        profiler (profiler_stop) [cuProfilerStop] () -> i32;
    } };
}
