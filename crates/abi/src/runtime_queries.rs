//! The functions of the CUDA runtime that are exported but not hooked, each declared once.
//!
//! Together with [`crate::runtime`] this is every name of libcudart 11.8, 12.4, 12.9, 13.0 and 13.5
//! (`tests/names.txt`). A row is `[majors] [names] (arguments) -> result;`, with names as in that module; or
//! `[majors] [names] ? -> i32;` if no header declares the function: its arguments are unknown, and its result is
//! treated as a status. If a name has several forms, the identifier without a suffix is the newest.
//!
//! Source: cuda_runtime_api.h and cuda_{gl,egl,vdpau}_interop.h of those releases, with `__CUDA_API_VERSION_INTERNAL`
//! defined, which declares older and per-thread forms, too.

/// Passes the whole table to macro `$then`, with `$extra` tokens in front.
#[macro_export]
macro_rules! runtime_queries {
    ($then:ident $($extra:tt)*) => { $then! { $($extra)*
        // ---- registration, launch, entry points
        [13] [__cudaGetProcAddress] ? -> i32;
        [11 12 13] [__cudaRegisterHostVar] ? -> i32;
        [12 13] [__cudaRegisterUnifiedTable] ? -> i32;
        [11 12 13] [cudaGetLastError cudaPeekAtLastError] () -> i32;
        [11 12 13] [cudaDriverGetVersion] (driverVersion: Out<i32>) -> i32;
        [11 12 13] [cudaGetErrorName cudaGetErrorString] (error: i32) -> Str;
        [11 12 13] [cudaGetExportTable] (ppExportTable: Out<Ptr>, pExportTableId: Ptr) -> i32;
        [13] [cudaLogsCurrent] (iterator_out: Out<u32>, flags: Flags) -> i32;
        [13] [cudaLogsDumpToFile] (iterator: Out<u32>, pathToFile: Str, flags: Flags) -> i32;
        [13] [cudaLogsDumpToMemory] (iterator: Out<u32>, buffer: Ptr, size: Out<usize>, flags: Flags) -> i32;
        [13] [cudaLogsRegisterCallback] (callbackFunc: Ptr, userData: Ptr, callback_out: Out<Ptr>) -> i32;
        [13] [cudaLogsUnregisterCallback] (callback: Ptr) -> i32;
        [11 12 13] [cudaRuntimeGetVersion] (runtimeVersion: Out<i32>) -> i32;

        // ---- textures, surfaces and arrays
        [11 12 13] [cudaArrayGetInfo] (desc: Ptr, extent: Ptr, flags: Out<u32>, array: Ptr) -> i32;
        [11 12 13] [cudaArrayGetMemoryRequirements] (memoryRequirements: Ptr, array: Ptr, device: Device) -> i32;
        [11 12 13] [cudaArrayGetPlane] (pPlaneArray: Out<Ptr>, hArray: Ptr, planeIdx: u32) -> i32;
        [11 12 13] [cudaArrayGetSparseProperties] (sparseProperties: Ptr, array: Ptr) -> i32;
        [11] [cudaBindSurfaceToArray] (surfref: Ptr, array: Ptr, desc: Ptr) -> i32;
        [11] [cudaBindTexture] (offset: Out<usize>, texref: Ptr, devPtr: Ptr, desc: Ptr, size: usize) -> i32;
        [11] [cudaBindTexture2D] (offset: Out<usize>, texref: Ptr, devPtr: Ptr, desc: Ptr, width: usize, height: usize, pitch: usize) -> i32;
        [11] [cudaBindTextureToArray] (texref: Ptr, array: Ptr, desc: Ptr) -> i32;
        [11] [cudaBindTextureToMipmappedArray] (texref: Ptr, mipmappedArray: Ptr, desc: Ptr) -> i32;
        [11 12 13] [cudaCreateChannelDesc] (x: i32, y: i32, z: i32, w: i32, f: i32) -> ChannelDesc;
        [11 12 13] [cudaCreateSurfaceObject] (pSurfObject: Out<u64>, pResDesc: Ptr) -> i32;
        [11 12 13] [cudaCreateTextureObject] (pTexObject: Out<u64>, pResDesc: Ptr, pTexDesc: Ptr, pResViewDesc: Ptr) -> i32;
        [11] [cudaCreateTextureObject_v2] (pTexObject: Out<u64>, pResDesc: Ptr, pTexDesc: Ptr, pResViewDesc: Ptr) -> i32;
        [11 12 13] [cudaDestroySurfaceObject] (surfObject: u64) -> i32;
        [11 12 13] [cudaDestroyTextureObject] (texObject: u64) -> i32;
        [11 12 13] [cudaDeviceGetTexture1DLinearMaxWidth] (maxWidthInElements: Out<usize>, fmtDesc: Ptr, device: Device) -> i32;
        [11 12 13] [cudaExternalMemoryGetMappedMipmappedArray] (mipmap: Out<Ptr>, extMem: Ptr, mipmapDesc: Ptr) -> i32;
        [11 12 13] [cudaGetChannelDesc] (desc: Ptr, array: Ptr) -> i32;
        [11 12 13] [cudaGetMipmappedArrayLevel] (levelArray: Out<Ptr>, mipmappedArray: Ptr, level: u32) -> i32;
        [11 12 13] [cudaGetSurfaceObjectResourceDesc] (pResDesc: Ptr, surfObject: u64) -> i32;
        [11] [cudaGetSurfaceReference] (surfref: Out<Ptr>, symbol: Ptr) -> i32;
        [11] [cudaGetTextureAlignmentOffset] (offset: Out<usize>, texref: Ptr) -> i32;
        [11 12 13] [cudaGetTextureObjectResourceDesc] (pResDesc: Ptr, texObject: u64) -> i32;
        [11 12 13] [cudaGetTextureObjectResourceViewDesc] (pResViewDesc: Ptr, texObject: u64) -> i32;
        [11 12 13] [cudaGetTextureObjectTextureDesc] (pTexDesc: Ptr, texObject: u64) -> i32;
        [11] [cudaGetTextureObjectTextureDesc_v2] (pTexDesc: Ptr, texObject: u64) -> i32;
        [11] [cudaGetTextureReference] (texref: Out<Ptr>, symbol: Ptr) -> i32;
        [11 12 13] [cudaGraphicsResourceGetMappedMipmappedArray] (mipmappedArray: Out<Ptr>, resource: Ptr) -> i32;
        [11 12 13] [cudaGraphicsSubResourceGetMappedArray] (array: Out<Ptr>, resource: Ptr, arrayIndex: u32, mipLevel: u32) -> i32;
        [11 12 13] [cudaGraphicsVDPAURegisterOutputSurface cudaGraphicsVDPAURegisterVideoSurface] (resource: Out<Ptr>, vdpSurface: u32, flags: Flags) -> i32;
        [11 12 13] [cudaMipmappedArrayGetMemoryRequirements] (memoryRequirements: Ptr, mipmap: Ptr, device: Device) -> i32;
        [11 12 13] [cudaMipmappedArrayGetSparseProperties] (sparseProperties: Ptr, mipmap: Ptr) -> i32;
        [11] [cudaUnbindTexture] (texref: Ptr) -> i32;

        // ---- graphics interop
        [11 12 13] [cudaGLSetGLDevice] (device: Device) -> i32;
        [11 12 13] [cudaEGLStreamConsumerAcquireFrame] (conn: Ptr, pCudaResource: Out<Ptr>, pStream: Out<Stream>, timeout: u32) -> i32;
        [11 12 13] [cudaEGLStreamConsumerConnect] (conn: Ptr, eglStream: Ptr) -> i32;
        [11 12 13] [cudaEGLStreamConsumerConnectWithFlags] (conn: Ptr, eglStream: Ptr, flags: Flags) -> i32;
        [11 12 13] [cudaEGLStreamConsumerDisconnect cudaEGLStreamProducerDisconnect] (conn: Ptr) -> i32;
        [11 12 13] [cudaEGLStreamConsumerReleaseFrame] (conn: Ptr, pCudaResource: Ptr, pStream: Ptr) -> i32;
        [11 12 13] [cudaEGLStreamProducerConnect] (conn: Ptr, eglStream: Ptr, width: i32, height: i32) -> i32;
        [11 12 13] [cudaEGLStreamProducerPresentFrame] (conn: Ptr, eglframe: EglFrame, pStream: Ptr) -> i32;
        [11 12 13] [cudaEGLStreamProducerReturnFrame] (conn: Ptr, eglframe: Ptr, pStream: Ptr) -> i32;
        [11 12 13] [cudaEventCreateFromEGLSync] (phEvent: Out<Event>, eglSync: Ptr, flags: Flags) -> i32;
        [11 12 13] [cudaGLGetDevices] (pCudaDeviceCount: Out<u32>, pCudaDevices: Ptr, cudaDeviceCount: u32, deviceList: i32) -> i32;
        [11 12 13] [cudaGLMapBufferObject] (devPtr: Out<Ptr>, bufObj: u32) -> i32;
        [11 12 13] [cudaGLMapBufferObjectAsync] (devPtr: Out<Ptr>, bufObj: u32, stream: Stream) -> i32;
        [11 12 13] [cudaGLRegisterBufferObject cudaGLUnmapBufferObject cudaGLUnregisterBufferObject] (bufObj: u32) -> i32;
        [11 12 13] [cudaGLSetBufferObjectMapFlags] (bufObj: u32, flags: Flags) -> i32;
        [11 12 13] [cudaGLUnmapBufferObjectAsync] (bufObj: u32, stream: Stream) -> i32;
        [11 12 13] [cudaGraphicsEGLRegisterImage] (pCudaResource: Out<Ptr>, image: Ptr, flags: Flags) -> i32;
        [11 12 13] [cudaGraphicsGLRegisterBuffer] (resource: Out<Ptr>, buffer: u32, flags: Flags) -> i32;
        [11 12 13] [cudaGraphicsGLRegisterImage] (resource: Out<Ptr>, image: u32, target: u32, flags: Flags) -> i32;
        [11 12 13] [cudaGraphicsMapResources cudaGraphicsUnmapResources] (count: i32, resources: Ptr, stream: Stream) -> i32;
        [11 12 13] [cudaGraphicsResourceGetMappedEglFrame] (eglFrame: Ptr, resource: Ptr, index: u32, mipLevel: u32) -> i32;
        [11 12 13] [cudaGraphicsResourceGetMappedPointer] (devPtr: Out<Ptr>, size: Out<usize>, resource: Ptr) -> i32;
        [11 12 13] [cudaGraphicsResourceSetMapFlags] (resource: Ptr, flags: Flags) -> i32;
        [11 12 13] [cudaGraphicsUnregisterResource] (resource: Ptr) -> i32;
        [11 12 13] [cudaVDPAUGetDevice] (device: Out<i32>, vdpDevice: u32, vdpGetProcAddress: Ptr) -> i32;
        [11 12 13] [cudaVDPAUSetVDPAUDevice] (device: Device, vdpDevice: u32, vdpGetProcAddress: Ptr) -> i32;

        // ---- graphs and capture
        [11 12 13] [cudaDeviceGetGraphMemAttribute cudaDeviceSetGraphMemAttribute] (device: Device, attr: i32, value: Ptr) -> i32;
        [11 12 13] [cudaDeviceGraphMemTrim] (device: Device) -> i32;
        [11 12] [cudaGraphAddDependencies_12 = cudaGraphAddDependencies cudaGraphRemoveDependencies_12 = cudaGraphRemoveDependencies] (graph: Graph, from: Ptr, to: Ptr, numDependencies: usize) -> i32;
        [13] [cudaGraphAddDependencies cudaGraphRemoveDependencies] (graph: Graph, from: Ptr, to: Ptr, edgeData: Ptr, numDependencies: usize) -> i32;
        [12] [cudaGraphAddDependencies_v2 cudaGraphRemoveDependencies_v2] (graph: Graph, from: Ptr, to: Ptr, edgeData: Ptr, numDependencies: usize) -> i32;
        [11 12 13] [cudaGraphChildGraphNodeGetGraph] (node: Node, pGraph: Out<Graph>) -> i32;
        [12 13] [cudaGraphConditionalHandleCreate] (pHandle_out: Out<u64>, graph: Graph, defaultLaunchValue: u32, flags: Flags) -> i32;
        [13] [cudaGraphConditionalHandleCreate_v2] (pHandle_out: Out<u64>, graph: Graph, ctx: Ptr, defaultLaunchValue: u32, flags: Flags) -> i32;
        [11 12 13] [cudaGraphDebugDotPrint] (graph: Graph, path: Str, flags: Flags) -> i32;
        [11 12 13] [cudaGraphDestroyNode] (node: Node) -> i32;
        [11 12 13] [cudaGraphEventRecordNodeGetEvent cudaGraphEventWaitNodeGetEvent] (node: Node, event_out: Out<Event>) -> i32;
        [11 12 13] [cudaGraphEventRecordNodeSetEvent cudaGraphEventWaitNodeSetEvent] (node: Node, event: Event) -> i32;
        [11 12 13] [cudaGraphExecEventRecordNodeSetEvent cudaGraphExecEventWaitNodeSetEvent] (hGraphExec: GraphExec, hNode: Node, event: Event) -> i32;
        [11 12 13] [cudaGraphExecExternalSemaphoresSignalNodeSetParams cudaGraphExecExternalSemaphoresWaitNodeSetParams] (hGraphExec: GraphExec, hNode: Node, nodeParams: Ptr) -> i32;
        [12 13] [cudaGraphExecGetFlags] (graphExec: GraphExec, flags: Out<u64>) -> i32;
        [13] [cudaGraphExecGetId] (hGraphExec: GraphExec, graphID: Out<u32>) -> i32;
        [11 12 13] [cudaGraphExternalSemaphoresSignalNodeGetParams cudaGraphExternalSemaphoresWaitNodeGetParams] (hNode: Node, params_out: Ptr) -> i32;
        [11 12 13] [cudaGraphExternalSemaphoresSignalNodeSetParams cudaGraphExternalSemaphoresWaitNodeSetParams] (hNode: Node, nodeParams: Ptr) -> i32;
        [11 12] [cudaGraphGetEdges_12 = cudaGraphGetEdges] (graph: Graph, from: Ptr, to: Ptr, numEdges: Out<usize>) -> i32;
        [13] [cudaGraphGetEdges] (graph: Graph, from: Ptr, to: Ptr, edgeData: Ptr, numEdges: Out<usize>) -> i32;
        [12] [cudaGraphGetEdges_v2] (graph: Graph, from: Ptr, to: Ptr, edgeData: Ptr, numEdges: Out<usize>) -> i32;
        [13] [cudaGraphGetId] (hGraph: Graph, graphID: Out<u32>) -> i32;
        [11 12 13] [cudaGraphGetNodes] (graph: Graph, nodes: Ptr, numNodes: Out<usize>) -> i32;
        [11 12 13] [cudaGraphGetRootNodes] (graph: Graph, pRootNodes: Ptr, pNumRootNodes: Out<usize>) -> i32;
        [11 12 13] [cudaGraphHostNodeGetParams cudaGraphKernelNodeGetParams cudaGraphMemcpyNodeGetParams cudaGraphMemsetNodeGetParams] (node: Node, pNodeParams: Ptr) -> i32;
        [11 12 13] [cudaGraphKernelNodeCopyAttributes] (hDst: Node, hSrc: Node) -> i32;
        [11 12 13] [cudaGraphKernelNodeGetAttribute] (hNode: Node, attr: i32, value_out: Ptr) -> i32;
        [11 12 13] [cudaGraphKernelNodeSetAttribute] (hNode: Node, attr: i32, value: Ptr) -> i32;
        [11 12 13] [cudaGraphMemAllocNodeGetParams] (node: Node, params_out: Ptr) -> i32;
        [11 12 13] [cudaGraphMemFreeNodeGetParams] (node: Node, dptr_out: Ptr) -> i32;
        [11 12 13] [cudaGraphNodeFindInClone] (pNode: Out<Node>, originalNode: Node, clonedGraph: Graph) -> i32;
        [13] [cudaGraphNodeGetContainingGraph] (hNode: Node, phGraph: Out<Graph>) -> i32;
        [11 12] [cudaGraphNodeGetDependencies_12 = cudaGraphNodeGetDependencies] (node: Node, pDependencies: Ptr, pNumDependencies: Out<usize>) -> i32;
        [13] [cudaGraphNodeGetDependencies] (node: Node, pDependencies: Ptr, edgeData: Ptr, pNumDependencies: Out<usize>) -> i32;
        [12] [cudaGraphNodeGetDependencies_v2] (node: Node, pDependencies: Ptr, edgeData: Ptr, pNumDependencies: Out<usize>) -> i32;
        [11 12] [cudaGraphNodeGetDependentNodes_12 = cudaGraphNodeGetDependentNodes] (node: Node, pDependentNodes: Ptr, pNumDependentNodes: Out<usize>) -> i32;
        [13] [cudaGraphNodeGetDependentNodes] (node: Node, pDependentNodes: Ptr, edgeData: Ptr, pNumDependentNodes: Out<usize>) -> i32;
        [12] [cudaGraphNodeGetDependentNodes_v2] (node: Node, pDependentNodes: Ptr, edgeData: Ptr, pNumDependentNodes: Out<usize>) -> i32;
        [11 12 13] [cudaGraphNodeGetEnabled] (hGraphExec: GraphExec, hNode: Node, isEnabled: Out<u32>) -> i32;
        [13] [cudaGraphNodeGetLocalId] (hNode: Node, nodeId: Out<u32>) -> i32;
        [13] [cudaGraphNodeGetParams] (node: Node, nodeParams: Ptr) -> i32;
        [13] [cudaGraphNodeGetToolsId] (hNode: Node, toolsNodeId: Out<u64>) -> i32;
        [11 12 13] [cudaGraphNodeGetType] (node: Node, pType: Out<i32>) -> i32;
        [11 12 13] [cudaGraphReleaseUserObject] (graph: Graph, object: Ptr, count: u32) -> i32;
        [11 12 13] [cudaGraphRetainUserObject] (graph: Graph, object: Ptr, count: u32, flags: Flags) -> i32;
        [11 12] [cudaStreamGetCaptureInfo_12 = cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_ptsz_12 = cudaStreamGetCaptureInfo_ptsz] (stream: Stream, captureStatus_out: Out<i32>, id_out: Out<u64>) -> i32;
        [13] [cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_ptsz] (stream: Stream, captureStatus_out: Out<i32>, id_out: Out<u64>, graph_out: Out<Graph>, dependencies_out: Ptr, edgeData_out: Ptr, numDependencies_out: Out<usize>) -> i32;
        [11 12] [cudaStreamGetCaptureInfo_v2 cudaStreamGetCaptureInfo_v2_ptsz] (stream: Stream, captureStatus_out: Out<i32>, id_out: Out<u64>, graph_out: Out<Graph>, dependencies_out: Ptr, numDependencies_out: Out<usize>) -> i32;
        [12] [cudaStreamGetCaptureInfo_v3 cudaStreamGetCaptureInfo_v3_ptsz] (stream: Stream, captureStatus_out: Out<i32>, id_out: Out<u64>, graph_out: Out<Graph>, dependencies_out: Ptr, edgeData_out: Ptr, numDependencies_out: Out<usize>) -> i32;
        [11 12] [cudaStreamUpdateCaptureDependencies_12 = cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_ptsz_12 = cudaStreamUpdateCaptureDependencies_ptsz] (stream: Stream, dependencies: Ptr, numDependencies: usize, flags: Flags) -> i32;
        [13] [cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_ptsz] (stream: Stream, dependencies: Ptr, dependencyData: Ptr, numDependencies: usize, flags: Flags) -> i32;
        [12] [cudaStreamUpdateCaptureDependencies_v2 cudaStreamUpdateCaptureDependencies_v2_ptsz] (stream: Stream, dependencies: Ptr, dependencyData: Ptr, numDependencies: usize, flags: Flags) -> i32;
        [11 12 13] [cudaThreadExchangeStreamCaptureMode] (mode: Out<i32>) -> i32;

        // ---- devices
        [11 12 13] [cudaChooseDevice] (device: Out<i32>, prop: Ptr) -> i32;
        [13] [cudaDevResourceGenerateDesc] (phDesc: Out<Ptr>, resources: Ptr, nbResources: u32) -> i32;
        [13] [cudaDevSmResourceSplit] (result: Ptr, nbGroups: u32, input: Ptr, remainder: Ptr, flags: Flags, groupParams: Ptr) -> i32;
        [13] [cudaDevSmResourceSplitByCount] (result: Ptr, nbGroups: Out<u32>, input: Ptr, remaining: Ptr, flags: Flags, minCount: u32) -> i32;
        [11 12 13] [cudaDeviceCanAccessPeer] (canAccessPeer: Out<i32>, device: Device, peerDevice: Device) -> i32;
        [11 12 13] [cudaDeviceDisablePeerAccess] (peerDevice: Device) -> i32;
        [11 12 13] [cudaDeviceEnablePeerAccess] (peerDevice: Device, flags: Flags) -> i32;
        [11 12 13] [cudaDeviceFlushGPUDirectRDMAWrites] (target: i32, scope: i32) -> i32;
        [11 12 13] [cudaDeviceGetAttribute] (value: Out<i32>, attr: i32, device: Device) -> i32;
        [11 12 13] [cudaDeviceGetByPCIBusId] (device: Out<i32>, pciBusId: Str) -> i32;
        [11 12 13] [cudaDeviceGetCacheConfig] (pCacheConfig: Out<i32>) -> i32;
        [11 12 13] [cudaDeviceGetDefaultMemPool cudaDeviceGetMemPool] (memPool: Out<Ptr>, device: Device) -> i32;
        [13] [cudaDeviceGetDevResource] (device: Device, resource: Ptr, type_: i32) -> i32;
        [13] [cudaDeviceGetExecutionCtx] (ctx: Out<Ptr>, device: Device) -> i32;
        [13] [cudaDeviceGetHostAtomicCapabilities] (capabilities: Ptr, operations: Ptr, count: u32, device: Device) -> i32;
        [11 12 13] [cudaDeviceGetLimit] (pValue: Out<usize>, limit: i32) -> i32;
        [11 12 13] [cudaDeviceGetNvSciSyncAttributes] (nvSciSyncAttrList: Ptr, device: Device, flags: i32) -> i32;
        [13] [cudaDeviceGetP2PAtomicCapabilities] (capabilities: Ptr, operations: Ptr, count: u32, srcDevice: Device, dstDevice: Device) -> i32;
        [11 12 13] [cudaDeviceGetP2PAttribute] (value: Out<i32>, attr: i32, srcDevice: Device, dstDevice: Device) -> i32;
        [11 12 13] [cudaDeviceGetPCIBusId] (pciBusId: Ptr, len: i32, device: Device) -> i32;
        [11 12 13] [cudaDeviceGetSharedMemConfig] (pConfig: Out<i32>) -> i32;
        [11 12 13] [cudaDeviceGetStreamPriorityRange] (leastPriority: Out<i32>, greatestPriority: Out<i32>) -> i32;
        [11 12 13] [cudaSetDevice] (device: Device) -> i32;
        [12 13] [cudaDeviceRegisterAsyncNotification] (device: Device, callbackFunc: Ptr, userData: Ptr, callback: Out<Ptr>) -> i32;
        [11 12 13] [cudaDeviceSetCacheConfig] (cacheConfig: i32) -> i32;
        [11 12 13] [cudaDeviceSetLimit] (limit: i32, value: usize) -> i32;
        [11 12 13] [cudaDeviceSetMemPool] (device: Device, memPool: Ptr) -> i32;
        [11 12 13] [cudaDeviceSetSharedMemConfig] (config: i32) -> i32;
        [12 13] [cudaDeviceUnregisterAsyncNotification] (device: Device, callback: Ptr) -> i32;
        [13] [cudaExecutionCtxGetDevResource] (ctx: Ptr, resource: Ptr, type_: i32) -> i32;
        [13] [cudaExecutionCtxGetDevice] (device: Out<i32>, ctx: Ptr) -> i32;
        [11 12 13] [cudaGetDevice] (device: Out<i32>) -> i32;
        [11 12 13] [cudaGetDeviceCount] (count: Out<i32>) -> i32;
        [11 12 13] [cudaGetDeviceFlags] (flags: Out<u32>) -> i32;
        [11 12 13] [cudaGetDeviceProperties] (prop: Ptr, device: Device) -> i32;
        [12] [cudaGetDeviceProperties_v2] (prop: Ptr, device: Device) -> i32;
        [12 13] [cudaInitDevice] (device: Device, deviceFlags: u32, flags: Flags) -> i32;
        [12 13] [cudaKernelSetAttributeForDevice] (kernel: Func, attr: i32, value: i32, device: Device) -> i32;
        [11 12 13] [cudaSetDeviceFlags] (flags: Flags) -> i32;
        [11 12] [cudaSetDoubleForDevice] (d: Ptr) -> i32;
        [11 12 13] [cudaSetValidDevices] (device_arr: Ptr, len: i32) -> i32;
        [13] [cudaStreamGetDevResource cudaStreamGetDevResource_ptsz] (hStream: Stream, resource: Ptr, type_: i32) -> i32;
        [12 13] [cudaStreamGetDevice cudaStreamGetDevice_ptsz] (hStream: Stream, device: Out<i32>) -> i32;

        // ---- contexts, threads and limits
        [11 12 13] [cudaCtxResetPersistingL2Cache] () -> i32;
        [13] [cudaExecutionCtxDestroy cudaExecutionCtxSynchronize] (ctx: Ptr) -> i32;
        [13] [cudaExecutionCtxGetId] (ctx: Ptr, ctxId: Out<u64>) -> i32;
        [13] [cudaExecutionCtxRecordEvent cudaExecutionCtxWaitEvent] (ctx: Ptr, event: Event) -> i32;
        [13] [cudaExecutionCtxStreamCreate] (phStream: Out<Stream>, ctx: Ptr, flags: Flags, priority: i32) -> i32;
        [13] [cudaGreenCtxCreate] (phCtx: Out<Ptr>, desc: Ptr, device: Device, flags: Flags) -> i32;
        [11 12] [cudaThreadExit] () -> i32;
        [11 12] [cudaThreadGetCacheConfig] (pCacheConfig: Out<i32>) -> i32;
        [11 12] [cudaThreadGetLimit] (pValue: Out<usize>, limit: i32) -> i32;
        [11 12] [cudaThreadSetCacheConfig] (cacheConfig: i32) -> i32;
        [11 12] [cudaThreadSetLimit] (limit: i32, value: usize) -> i32;

        // ---- functions, kernels, libraries, modules, linking
        [11 12 13] [cudaFuncGetAttributes] (attr: Ptr, func: Func) -> i32;
        [12 13] [cudaFuncGetName] (name: Out<Str>, func: Func) -> i32;
        [13] [cudaFuncGetParamCount] (func: Func, paramCount: Out<usize>) -> i32;
        [12 13] [cudaFuncGetParamInfo] (func: Func, paramIndex: usize, paramOffset: Out<usize>, paramSize: Out<usize>) -> i32;
        [11 12 13] [cudaFuncSetCacheConfig] (func: Func, cacheConfig: i32) -> i32;
        [11 12 13] [cudaFuncSetSharedMemConfig] (func: Func, config: i32) -> i32;
        [11 12 13] [cudaGetSymbolAddress] (devPtr: Out<Ptr>, symbol: Ptr) -> i32;
        [11 12 13] [cudaGetSymbolSize] (size: Out<usize>, symbol: Ptr) -> i32;
        [12 13] [cudaLibraryGetKernelCount] (count: Out<u32>, lib: Module) -> i32;
        [12 13] [cudaLibraryGetManaged] (dptr: Out<Ptr>, bytes: Out<usize>, library: Module, name: Str) -> i32;
        [12 13] [cudaLibraryGetUnifiedFunction] (fptr: Out<Ptr>, library: Module, symbol: Str) -> i32;
        [11 12 13] [cudaOccupancyAvailableDynamicSMemPerBlock] (dynamicSmemSize: Out<usize>, func: Func, numBlocks: i32, blockSize: i32) -> i32;
        [11 12 13] [cudaOccupancyMaxActiveBlocksPerMultiprocessor] (numBlocks: Out<i32>, func: Func, blockSize: i32, dynamicSMemSize: usize) -> i32;
        [11 12 13] [cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags] (numBlocks: Out<i32>, func: Func, blockSize: i32, dynamicSMemSize: usize, flags: Flags) -> i32;
        [11 12 13] [cudaOccupancyMaxActiveClusters] (numClusters: Out<i32>, func: Func, launchConfig: Ptr) -> i32;
        [11 12 13] [cudaOccupancyMaxPotentialClusterSize] (clusterSize: Out<i32>, func: Func, launchConfig: Ptr) -> i32;

        // ---- memory
        [11 12 13] [cudaDestroyExternalMemory] (extMem: Ptr) -> i32;
        [11 12 13] [cudaDestroyExternalSemaphore] (extSem: Ptr) -> i32;
        [11 12 13] [cudaExternalMemoryGetMappedBuffer] (devPtr: Out<Ptr>, extMem: Ptr, bufferDesc: Ptr) -> i32;
        [11 12 13] [cudaHostGetFlags] (pFlags: Out<u32>, pHost: Ptr) -> i32;
        [11 12 13] [cudaImportExternalMemory] (extMem_out: Out<Ptr>, memHandleDesc: Ptr) -> i32;
        [11 12 13] [cudaImportExternalSemaphore] (extSem_out: Out<Ptr>, semHandleDesc: Ptr) -> i32;
        [11 12 13] [cudaIpcCloseMemHandle] (devPtr: Ptr) -> i32;
        [11 12 13] [cudaIpcGetEventHandle] (handle: Ptr, event: Event) -> i32;
        [11 12 13] [cudaIpcGetMemHandle] (handle: Ptr, devPtr: Ptr) -> i32;
        [11 12 13] [cudaIpcOpenEventHandle] (event: Out<Event>, handle: IpcHandle) -> i32;
        [11 12 13] [cudaIpcOpenMemHandle] (devPtr: Out<Ptr>, handle: IpcHandle, flags: Flags) -> i32;
        [13] [cudaMemGetDefaultMemPool cudaMemGetMemPool] (memPool: Out<Ptr>, location: Ptr, type_: i32) -> i32;
        [11 12 13] [cudaMemGetInfo] (free: Out<usize>, total: Out<usize>) -> i32;
        [13] [cudaMemGetLocationInfo] (devPtr: Ptr, size: usize, summaryGranularity: usize, samplingGranularity: usize, location_out: Ptr) -> i32;
        [11 12 13] [cudaMemPoolExportPointer] (exportData: Ptr, ptr: Ptr) -> i32;
        [11 12 13] [cudaMemPoolExportToShareableHandle] (shareableHandle: Ptr, memPool: Ptr, handleType: i32, flags: Flags) -> i32;
        [11 12 13] [cudaMemPoolGetAccess] (flags: Out<i32>, memPool: Ptr, location: Ptr) -> i32;
        [11 12 13] [cudaMemPoolGetAttribute cudaMemPoolSetAttribute] (memPool: Ptr, attr: i32, value: Ptr) -> i32;
        [11 12 13] [cudaMemPoolImportFromShareableHandle] (memPool: Out<Ptr>, shareableHandle: Ptr, handleType: i32, flags: Flags) -> i32;
        [11 12 13] [cudaMemPoolImportPointer] (ptr: Out<Ptr>, memPool: Ptr, exportData: Ptr) -> i32;
        [11 12 13] [cudaMemPoolSetAccess] (memPool: Ptr, descList: Ptr, count: usize) -> i32;
        [11 12 13] [cudaMemRangeGetAttribute] (data: Ptr, dataSize: usize, attribute: i32, devPtr: Ptr, count: usize) -> i32;
        [11 12 13] [cudaMemRangeGetAttributes] (data: Ptr, dataSizes: Ptr, attributes: Ptr, numAttributes: usize, devPtr: Ptr, count: usize) -> i32;
        [13] [cudaMemSetMemPool] (location: Ptr, type_: i32, memPool: Ptr) -> i32;
        [11 12 13] [cudaPointerGetAttributes] (attributes: Ptr, ptr: Ptr) -> i32;
        [11 12] [cudaSetDoubleForHost] (d: Ptr) -> i32;
        [11 12] [cudaSignalExternalSemaphoresAsync_12 = cudaSignalExternalSemaphoresAsync cudaSignalExternalSemaphoresAsync_ptsz_12 = cudaSignalExternalSemaphoresAsync_ptsz] (extSemArray: Ptr, paramsArray: Ptr, numExtSems: u32, stream: Stream) -> i32;
        [11 12] [cudaSignalExternalSemaphoresAsync_v2 cudaSignalExternalSemaphoresAsync_v2_ptsz cudaWaitExternalSemaphoresAsync_12 = cudaWaitExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync_ptsz_12 = cudaWaitExternalSemaphoresAsync_ptsz] (extSemArray: Ptr, paramsArray: Ptr, numExtSems: u32, stream: Stream) -> i32;
        [11 12] [cudaWaitExternalSemaphoresAsync_v2 cudaWaitExternalSemaphoresAsync_v2_ptsz] (extSemArray: Ptr, paramsArray: Ptr, numExtSems: u32, stream: Stream) -> i32;
        [13] [cudaSignalExternalSemaphoresAsync cudaSignalExternalSemaphoresAsync_ptsz cudaWaitExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync_ptsz] (extSemArray: Ptr, paramsArray: Ptr, numExtSems: u32, stream: Stream) -> i32;

        // ---- streams and events
        [12] [cudaEventElapsedTime_v2] (ms: Ptr, start: Event, end: Event) -> i32;
        [11 12 13] [cudaStreamCopyAttributes] (dstStream: Stream, srcStream: Stream) -> i32;
        [11 12 13] [cudaStreamCopyAttributes_ptsz] (dst: Stream, src: Stream) -> i32;
        [11 12 13] [cudaStreamGetAttribute] (stream: Stream, attr: i32, value: Ptr) -> i32;
        [11 12 13] [cudaStreamGetAttribute_ptsz] (hStream: Stream, attr: i32, value_out: Ptr) -> i32;
        [11 12 13] [cudaStreamGetFlags cudaStreamGetFlags_ptsz] (hStream: Stream, flags: Out<u32>) -> i32;
        [12 13] [cudaStreamGetId cudaStreamGetId_ptsz] (hStream: Stream, streamId: Out<u64>) -> i32;
        [11 12 13] [cudaStreamGetPriority cudaStreamGetPriority_ptsz] (hStream: Stream, priority: Out<i32>) -> i32;
        [11 12 13] [cudaStreamIsCapturing cudaStreamIsCapturing_ptsz] (stream: Stream, pCaptureStatus: Out<i32>) -> i32;
        [11 12 13] [cudaStreamSetAttribute] (stream: Stream, attr: i32, param: Ptr) -> i32;
        [11 12 13] [cudaStreamSetAttribute_ptsz] (hStream: Stream, attr: i32, value: Ptr) -> i32;
        [11 12 13] [cudaUserObjectCreate] (object_out: Out<Ptr>, ptr: Ptr, destroy: Ptr, initialRefcount: u32, flags: Flags) -> i32;
        [11 12 13] [cudaUserObjectRelease cudaUserObjectRetain] (object: Ptr, count: u32) -> i32;

        // ---- debugger and profiler
        [11] [cudaProfilerInitialize] (configFile: Str, outputFile: Str, outputMode: i32) -> i32;

        // ---- the rest
        [13] [cudaSubgridCreate cudaSubgridWorkerGridCreate cudaSubgridWorksetCreate] ? -> i32;
    } };
}

/// Every function of the runtime: the rows of [`runtime_functions!`] without class and handler,
/// then those of [`runtime_queries!`], passed to macro `$then` behind `$extra`.
///
/// A consumer matches
/// `$([$($major:literal)*] [$($name:ident $(= $exported:ident)?)+] $args:tt -> $ret:tt;)*`,
/// where `$args` is a list in parentheses, or `?`.
#[macro_export]
macro_rules! all_runtime_functions {
    ($then:ident $($extra:tt)*) => {
        $crate::runtime_functions! { {$crate::__join_runtime_functions} {$then} {$($extra)*} }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __join_runtime_functions {
    ({$then:ident} {$($extra:tt)*} $($class:ident $how:tt $majors:tt $names:tt $args:tt -> $ret:tt;)*) => {
        $crate::runtime_queries! { $then $($extra)* $($majors $names $args -> $ret;)* }
    };
}
