//! The hooked functions of AMD's HIP runtime (libamdhip64), each declared once. A row is `class how "node" [names]
//! (arguments) -> result;`. `how` is `observe` or `record` as in [`crate::runtime`], or a handler's name in
//! `cushim_interpose::hip`; `node` is the version node of the function in the library, named after the release that
//! introduced it. A function with a mangled C++ name is written `name = mangled`.
//!
//! Not hooked: queries, `__hipPushCallConfiguration` and `__hipPopCallConfiguration` (the launch that follows has the
//! same data), graph nodes other than kernels, and textures.
//!
//! Source: `hip_runtime_api.h` and `hip_ext.h` of ROCm 5.2.3, for later functions of 7.2; `hipamd/src/hip_hcc.map.in`
//! of ROCm 7.2 (nodes).

pub mod errors;

/// Passes the whole table to macro `$then`, with `$extra` tokens in front.
#[macro_export]
macro_rules! hip_functions {
    ($then:ident $($extra:tt)*) => { $crate::hip_functions! { {$then} $($extra)* } };
    // A macro by its path.
    ({$($then:tt)+} $($extra:tt)*) => { $($then)+! { $($extra)*
        // ---- registration
        register (register_fat_binary) "hip_4.2" [__hipRegisterFatBinary] (data: Ptr) -> usize;
        register (unregister_fat_binary) "hip_4.2" [__hipUnregisterFatBinary] (modules: Ptr) -> ();
        register (register_function) "hip_4.2" [__hipRegisterFunction] (modules: Ptr, hostFunction: Func, deviceFunction: Str, deviceName: Str, threadLimit: i32, tid: Ptr, bid: Ptr, blockDim: Ptr, gridDim: Ptr, wSize: Ptr) -> ();
        register record "hip_4.2" [__hipRegisterVar] (modules: Ptr, var: Ptr, hostVar: Str, deviceVar: Str, ext: i32, size: usize, constant: i32, global: i32) -> ();
        register record "hip_4.2" [__hipRegisterManagedVar] (hipModule: Ptr, pointer: Ptr, init_value: Ptr, name: Str, size: usize, align: u32) -> ();
        register record "hip_4.2" [__hipRegisterTexture] (modules: Ptr, var: Ptr, hostVar: Str, deviceVar: Str, kind: i32, norm: i32, ext: i32) -> ();
        register record "hip_4.2" [__hipRegisterSurface] (modules: Ptr, var: Ptr, hostVar: Str, deviceVar: Str, kind: i32, ext: i32) -> ();

        // ---- launches
        launch (launch_kernel) "hip_4.2" [hipLaunchKernel] (function_address: Func, numBlocks: Dim3, dimBlocks: Dim3, args: Ptr, sharedMemBytes: usize, stream: Stream) -> i32;
        launch (launch_kernel) "hip_5.2" [hipLaunchKernel_spt] (function_address: Func, numBlocks: Dim3, dimBlocks: Dim3, args: Ptr, sharedMemBytes: usize, stream: Stream) -> i32;
        launch (ext_launch_kernel) "hip_4.2" [hipExtLaunchKernel] (function_address: Func, numBlocks: Dim3, dimBlocks: Dim3, args: Ptr, sharedMemBytes: usize, stream: Stream, startEvent: Event, stopEvent: Event, flags: i32) -> i32;
        launch (launch_cooperative_kernel) "hip_4.2" [hipLaunchCooperativeKernel] (f: Func, gridDim: Dim3, blockDim: Dim3, kernelParams: Ptr, sharedMemBytes: u32, stream: Stream) -> i32;
        launch (launch_cooperative_kernel) "hip_5.2" [hipLaunchCooperativeKernel_spt] (f: Func, gridDim: Dim3, blockDim: Dim3, kernelParams: Ptr, sharedMemBytes: u32, stream: Stream) -> i32;
        launch (launch_cooperative_multi_device) "hip_4.2" [hipLaunchCooperativeKernelMultiDevice] (launchParamsList: Ptr, numDevices: i32, flags: Flags) -> i32;
        launch (ext_launch_multi_device) "hip_4.2" [hipExtLaunchMultiKernelMultiDevice] (launchParamsList: Ptr, numDevices: i32, flags: Flags) -> i32;
        launch (module_launch_kernel) "hip_4.2" [hipModuleLaunchKernel] (f: Func, gridDimX: u32, gridDimY: u32, gridDimZ: u32, blockDimX: u32, blockDimY: u32, blockDimZ: u32, sharedMemBytes: u32, stream: Stream, kernelParams: Ptr, extra: Ptr) -> i32;
        launch (module_launch_cooperative_kernel) "hip_5.5" [hipModuleLaunchCooperativeKernel] (f: Func, gridDimX: u32, gridDimY: u32, gridDimZ: u32, blockDimX: u32, blockDimY: u32, blockDimZ: u32, sharedMemBytes: u32, stream: Stream, kernelParams: Ptr) -> i32;
        launch (ext_module_launch_kernel) "hip_4.2" [hipExtModuleLaunchKernel = _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j] (f: Func, globalWorkSizeX: u32, globalWorkSizeY: u32, globalWorkSizeZ: u32, localWorkSizeX: u32, localWorkSizeY: u32, localWorkSizeZ: u32, sharedMemBytes: usize, hStream: Stream, kernelParams: Ptr, extra: Ptr, startEvent: Event, stopEvent: Event, flags: Flags) -> i32;
        launch (hcc_module_launch_kernel) "hip_4.2" [hipHccModuleLaunchKernel = _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_] (f: Func, globalWorkSizeX: u32, globalWorkSizeY: u32, globalWorkSizeZ: u32, localWorkSizeX: u32, localWorkSizeY: u32, localWorkSizeZ: u32, sharedMemBytes: usize, hStream: Stream, kernelParams: Ptr, extra: Ptr, startEvent: Event, stopEvent: Event) -> i32;
        launch (module_launch_multi_device) "hip_5.5" [hipModuleLaunchCooperativeKernelMultiDevice] (launchParamsList: Ptr, numDevices: u32, flags: Flags) -> i32;
        launch (launch_kernel_ex_c) "hip_6.5" [hipLaunchKernelExC] (config: Ptr, fPtr: Func, args: Ptr) -> i32;
        launch (drv_launch_kernel_ex) "hip_6.5" [hipDrvLaunchKernelEx] (config: Ptr, f: Func, kernelParams: Ptr, extra: Ptr) -> i32;

        // ---- graphs
        graph observe "hip_4.3" [hipGraphCreate] (pGraph: Out<Graph>, flags: Flags) -> i32;
        graph observe "hip_4.3" [hipGraphDestroy] (graph: Graph) -> i32;
        graph (graph_add_kernel_node) "hip_4.3" [hipGraphAddKernelNode] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, pNodeParams: Ptr) -> i32;
        graph (graph_kernel_node_set_params) "hip_4.4" [hipGraphKernelNodeSetParams] (node: Node, pNodeParams: Ptr) -> i32;
        graph (graph_exec_kernel_node_set_params) "hip_4.4" [hipGraphExecKernelNodeSetParams] (hGraphExec: GraphExec, node: Node, pNodeParams: Ptr) -> i32;
        graph (graph_add_node) "hip_5.5" [hipGraphAddNode] (pGraphNode: Out<Node>, graph: Graph, pDependencies: Ptr, numDependencies: usize, nodeParams: Ptr) -> i32;
        graph (graph_node_set_params) "hip_6.2" [hipGraphNodeSetParams] (node: Node, nodeParams: Ptr) -> i32;
        graph (graph_exec_node_set_params) "hip_6.2" [hipGraphExecNodeSetParams] (graphExec: GraphExec, node: Node, nodeParams: Ptr) -> i32;
        graph observe "hip_4.3" [hipStreamBeginCapture] (stream: Stream, mode: i32) -> i32;
        graph observe "hip_5.3" [hipStreamBeginCapture_spt] (stream: Stream, mode: i32) -> i32;
        graph observe "hip_4.3" [hipStreamEndCapture] (stream: Stream, pGraph: Out<Graph>) -> i32;
        graph observe "hip_5.3" [hipStreamEndCapture_spt] (stream: Stream, pGraph: Out<Graph>) -> i32;
        graph observe "hip_4.3" [hipGraphInstantiate] (pGraphExec: Out<GraphExec>, graph: Graph, pErrorNode: Ptr, pLogBuffer: Ptr, bufferSize: usize) -> i32;
        graph observe "hip_4.5" [hipGraphInstantiateWithFlags] (pGraphExec: Out<GraphExec>, graph: Graph, flags: Flags64) -> i32;
        graph observe "hip_4.3" [hipGraphExecDestroy] (graphExec: GraphExec) -> i32;
        graph observe "hip_4.3" [hipGraphLaunch] (graphExec: GraphExec, stream: Stream) -> i32;
        graph observe "hip_5.3" [hipGraphLaunch_spt] (graphExec: GraphExec, stream: Stream) -> i32;

        // ---- modules
        module (module_load) "hip_4.2" [hipModuleLoad] (module: Out<Module>, fname: Str) -> i32;
        module (module_load_data) "hip_4.2" [hipModuleLoadData] (module: Out<Module>, image: Ptr) -> i32;
        module (module_load_data) "hip_7.1" [hipModuleLoadFatBinary] (module: Out<Module>, fatbin: Ptr) -> i32;
        module (library_load_data) "hip_7.2" [hipLibraryLoadData] (library: Out<Module>, code: Ptr, jitOptions: Ptr, jitOptionsValues: Ptr, numJitOptions: u32, libraryOptions: Ptr, libraryOptionValues: Ptr, numLibraryOptions: u32) -> i32;
        module (library_load_file) "hip_7.2" [hipLibraryLoadFromFile] (library: Out<Module>, fileName: Str, jitOptions: Ptr, jitOptionsValues: Ptr, numJitOptions: u32, libraryOptions: Ptr, libraryOptionValues: Ptr, numLibraryOptions: u32) -> i32;
        module (module_unload) "hip_7.2" [hipLibraryUnload] (library: Module) -> i32;
        module (module_get_function) "hip_7.2" [hipLibraryGetKernel] (pKernel: Out<Func>, library: Module, name: Str) -> i32;
        module (module_load_data_ex) "hip_4.2" [hipModuleLoadDataEx] (module: Out<Module>, image: Ptr, numOptions: u32, options: Ptr, optionValues: Ptr) -> i32;
        module (module_unload) "hip_4.2" [hipModuleUnload] (module: Module) -> i32;
        module (module_get_function) "hip_4.2" [hipModuleGetFunction] (function: Out<Func>, module: Module, kname: Str) -> i32;
        module (get_func_by_symbol) "hip_6.2" [hipGetFuncBySymbol] (functionPtr: Out<Func>, symbolPtr: Func) -> i32;
        module (get_proc_address) "hip_6.1" [hipGetProcAddress] (symbol: Str, pfn: Ptr, hipVersion: i32, flags: Flags64, symbolStatus: Ptr) -> i32;
        module observe "hip_4.2" [hipModuleGetGlobal] (dptr: Out<Ptr>, bytes: Out<usize>, hmod: Module, name: Str) -> i32;

        // ---- memory
        memory observe "hip_4.2" [hipMalloc hipMallocHost hipMemAllocHost] (ptr: Out<Ptr>, size: usize) -> i32;
        memory observe "hip_4.2" [hipExtMallocWithFlags hipHostMalloc hipHostAlloc hipMallocManaged] (ptr: Out<Ptr>, size: usize, flags: Flags) -> i32;
        memory observe "hip_4.2" [hipMallocPitch] (ptr: Out<Ptr>, pitch: Out<usize>, width: usize, height: usize) -> i32;
        memory observe "hip_5.1" [hipMallocAsync] (dev_ptr: Out<Ptr>, size: usize, stream: Stream) -> i32;
        memory observe "hip_5.1" [hipMallocFromPoolAsync] (dev_ptr: Out<Ptr>, size: usize, mem_pool: Ptr, stream: Stream) -> i32;
        memory observe "hip_4.2" [hipFree hipFreeHost hipHostFree hipFreeArray hipHostUnregister] (ptr: Ptr) -> i32;
        memory observe "hip_5.1" [hipFreeAsync] (dev_ptr: Ptr, stream: Stream) -> i32;
        memory observe "hip_4.2" [hipHostRegister] (hostPtr: Ptr, sizeBytes: usize, flags: Flags) -> i32;
        memory observe "hip_4.2" [hipMemset] (dst: Ptr, value: i32, sizeBytes: usize) -> i32;
        memory observe "hip_5.2" [hipMemset_spt] (dst: Ptr, value: i32, sizeBytes: usize) -> i32;
        memory observe "hip_4.2" [hipMemsetAsync] (dst: Ptr, value: i32, sizeBytes: usize, stream: Stream) -> i32;
        memory observe "hip_5.3" [hipMemsetAsync_spt] (dst: Ptr, value: i32, sizeBytes: usize, stream: Stream) -> i32;
        memory observe "hip_4.2" [hipMemsetD8] (dest: Ptr, value: u8, count: usize) -> i32;
        memory observe "hip_4.2" [hipMemsetD16] (dest: Ptr, value: u16, count: usize) -> i32;
        memory observe "hip_4.2" [hipMemsetD32] (dest: Ptr, value: i32, count: usize) -> i32;
        memory observe "hip_4.2" [hipMemsetD8Async] (dest: Ptr, value: u8, count: usize, stream: Stream) -> i32;
        memory observe "hip_4.2" [hipMemsetD16Async] (dest: Ptr, value: u16, count: usize, stream: Stream) -> i32;
        memory observe "hip_4.2" [hipMemsetD32Async] (dst: Ptr, value: i32, count: usize, stream: Stream) -> i32;
        memory observe "hip_4.2" [hipMemset2D] (dst: Ptr, pitch: usize, value: i32, width: usize, height: usize) -> i32;
        memory observe "hip_5.2" [hipMemset2D_spt] (dst: Ptr, pitch: usize, value: i32, width: usize, height: usize) -> i32;
        memory observe "hip_4.2" [hipMemset2DAsync] (dst: Ptr, pitch: usize, value: i32, width: usize, height: usize, stream: Stream) -> i32;
        memory observe "hip_5.3" [hipMemset2DAsync_spt] (dst: Ptr, pitch: usize, value: i32, width: usize, height: usize, stream: Stream) -> i32;
        memory observe "hip_4.2" [hipMemset3D] (pitchedDevPtr: PitchedPtr, value: i32, extent: Extent) -> i32;
        memory observe "hip_4.2" [hipMemset3DAsync] (pitchedDevPtr: PitchedPtr, value: i32, extent: Extent, stream: Stream) -> i32;

        // ---- copies
        copy observe "hip_4.2" [hipMemcpy] (dst: Ptr, src: Ptr, sizeBytes: usize, kind: CopyKind) -> i32;
        copy observe "hip_5.2" [hipMemcpy_spt] (dst: Ptr, src: Ptr, sizeBytes: usize, kind: CopyKind) -> i32;
        copy observe "hip_4.2" [hipMemcpyAsync hipMemcpyWithStream] (dst: Ptr, src: Ptr, sizeBytes: usize, kind: CopyKind, stream: Stream) -> i32;
        copy observe "hip_5.2" [hipMemcpyAsync_spt] (dst: Ptr, src: Ptr, sizeBytes: usize, kind: CopyKind, stream: Stream) -> i32;
        copy observe "hip_4.2" [hipMemcpyHtoD hipMemcpyDtoH hipMemcpyDtoD] (dst: Ptr, src: Ptr, sizeBytes: usize) -> i32;
        copy observe "hip_4.2" [hipMemcpyHtoDAsync hipMemcpyDtoHAsync hipMemcpyDtoDAsync] (dst: Ptr, src: Ptr, sizeBytes: usize, stream: Stream) -> i32;
        copy observe "hip_4.2" [hipMemcpyPeer] (dst: Ptr, dstDeviceId: Device, src: Ptr, srcDeviceId: Device, sizeBytes: usize) -> i32;
        copy observe "hip_4.2" [hipMemcpyPeerAsync] (dst: Ptr, dstDeviceId: Device, src: Ptr, srcDevice: Device, sizeBytes: usize, stream: Stream) -> i32;
        copy observe "hip_4.2" [hipMemcpyToSymbol] (symbol: Ptr, src: Ptr, sizeBytes: usize, offset: usize, kind: CopyKind) -> i32;
        copy observe "hip_5.2" [hipMemcpyToSymbol_spt] (symbol: Ptr, src: Ptr, sizeBytes: usize, offset: usize, kind: CopyKind) -> i32;
        copy observe "hip_4.2" [hipMemcpyToSymbolAsync] (symbol: Ptr, src: Ptr, sizeBytes: usize, offset: usize, kind: CopyKind, stream: Stream) -> i32;
        copy observe "hip_5.3" [hipMemcpyToSymbolAsync_spt] (symbol: Ptr, src: Ptr, sizeBytes: usize, offset: usize, kind: CopyKind, stream: Stream) -> i32;
        copy observe "hip_4.2" [hipMemcpyFromSymbol] (dst: Ptr, symbol: Ptr, sizeBytes: usize, offset: usize, kind: CopyKind) -> i32;
        copy observe "hip_5.2" [hipMemcpyFromSymbol_spt] (dst: Ptr, symbol: Ptr, sizeBytes: usize, offset: usize, kind: CopyKind) -> i32;
        copy observe "hip_4.2" [hipMemcpyFromSymbolAsync] (dst: Ptr, symbol: Ptr, sizeBytes: usize, offset: usize, kind: CopyKind, stream: Stream) -> i32;
        copy observe "hip_5.3" [hipMemcpyFromSymbolAsync_spt] (dst: Ptr, symbol: Ptr, sizeBytes: usize, offset: usize, kind: CopyKind, stream: Stream) -> i32;
        copy observe "hip_4.2" [hipMemcpy2D] (dst: Ptr, dpitch: usize, src: Ptr, spitch: usize, width: usize, height: usize, kind: CopyKind) -> i32;
        copy observe "hip_5.2" [hipMemcpy2D_spt] (dst: Ptr, dpitch: usize, src: Ptr, spitch: usize, width: usize, height: usize, kind: CopyKind) -> i32;
        copy observe "hip_4.2" [hipMemcpy2DAsync] (dst: Ptr, dpitch: usize, src: Ptr, spitch: usize, width: usize, height: usize, kind: CopyKind, stream: Stream) -> i32;
        copy observe "hip_5.3" [hipMemcpy2DAsync_spt] (dst: Ptr, dpitch: usize, src: Ptr, spitch: usize, width: usize, height: usize, kind: CopyKind, stream: Stream) -> i32;
        copy observe "hip_4.2" [hipMemcpy3D hipMemcpyParam2D] (p: Ptr) -> i32;
        copy observe "hip_5.2" [hipMemcpy3D_spt] (p: Ptr) -> i32;
        copy observe "hip_4.2" [hipMemcpy3DAsync hipMemcpyParam2DAsync] (p: Ptr, stream: Stream) -> i32;
        copy observe "hip_5.3" [hipMemcpy3DAsync_spt] (p: Ptr, stream: Stream) -> i32;

        // ---- streams, events, waits
        stream observe "hip_4.2" [hipStreamCreate] (stream: Out<Stream>) -> i32;
        stream observe "hip_4.2" [hipStreamCreateWithFlags] (stream: Out<Stream>, flags: Flags) -> i32;
        stream observe "hip_4.2" [hipStreamCreateWithPriority] (stream: Out<Stream>, flags: Flags, priority: i32) -> i32;
        stream observe "hip_4.2" [hipStreamDestroy hipStreamQuery] (stream: Stream) -> i32;
        stream observe "hip_4.2" [hipStreamWaitEvent] (stream: Stream, event: Event, flags: Flags) -> i32;
        stream observe "hip_5.2" [hipStreamWaitEvent_spt] (stream: Stream, event: Event, flags: Flags) -> i32;
        stream observe "hip_4.2" [hipStreamAddCallback] (stream: Stream, callback: Ptr, userData: Ptr, flags: Flags) -> i32;
        event observe "hip_4.2" [hipEventCreate] (event: Out<Event>) -> i32;
        event observe "hip_4.2" [hipEventCreateWithFlags] (event: Out<Event>, flags: Flags) -> i32;
        event observe "hip_4.2" [hipEventDestroy] (event: Event) -> i32;
        event observe "hip_4.2" [hipEventRecord] (event: Event, stream: Stream) -> i32;
        event observe "hip_5.2" [hipEventRecord_spt] (event: Event, stream: Stream) -> i32;
        sync observe "hip_4.2" [hipDeviceSynchronize] () -> i32;
        sync observe "hip_4.2" [hipStreamSynchronize] (stream: Stream) -> i32;
        sync observe "hip_5.2" [hipStreamSynchronize_spt] (stream: Stream) -> i32;
        sync observe "hip_4.2" [hipEventSynchronize] (event: Event) -> i32;
        sync observe "hip_5.3" [hipLaunchHostFunc] (stream: Stream, fn_: Ptr, userData: Ptr) -> i32;
    } };
}
