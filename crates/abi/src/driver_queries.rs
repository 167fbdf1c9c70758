//! The functions of the CUDA driver that are exported but not hooked, each declared once, by the name that libcuda
//! exports.
//!
//! Together with [`crate::driver`] this is every function of libcuda 550 and every one that the headers up to 13.5
//! declare (`tests/names.txt`). A row is `[names] (arguments) -> result;`, or `[names] ? -> i32;` if no header
//! declares the function: its arguments are unknown, and its result is treated as a status. Forms from before CUDA
//! 3.2 take device addresses and sizes of 32 bits.
//!
//! Source: cuda.h, cudaGL.h, cudaEGL.h, cudaVDPAU.h of 11.8 to 13.5 with `__CUDA_API_VERSION_INTERNAL`
//! defined; a function has one signature in all of them.

/// Passes the whole table to macro `$then`, with `$extra` tokens in front.
#[macro_export]
macro_rules! driver_queries {
    ($then:ident $($extra:tt)*) => { $then! { $($extra)*
        // ---- registration, launch, entry points
        [cuLogsUnregisterCallback] (callback: Ptr) -> i32;
        [cuDriverGetVersion] (driverVersion: Out<i32>) -> i32;
        [cudbgReportDriverApiError cudbgReportDriverInternalError] ? -> i32;
        [cuGetErrorName cuGetErrorString] (error: i32, pStr: Out<Str>) -> i32;
        [cuGetExportTable] (ppExportTable: Out<Ptr>, pExportTableId: Ptr) -> i32;
        [cuInit] (flags: Flags) -> i32;
        [cuLaunchHostFunc_v2 cuLaunchHostFunc_v2_ptsz] (hStream: Stream, fn_: Ptr, userData: Ptr, syncMode: u32) -> i32;
        [cuLogsCurrent] (iterator_out: Out<u32>, flags: Flags) -> i32;
        [cuLogsDumpToFile] (iterator: Out<u32>, pathToFile: Str, flags: Flags) -> i32;
        [cuLogsDumpToMemory] (iterator: Out<u32>, buffer: Ptr, size: Out<usize>, flags: Flags) -> i32;
        [cuLogsRegisterCallback] (callbackFunc: Ptr, userData: Ptr, callback_out: Out<Ptr>) -> i32;

        // ---- textures, surfaces and arrays
        [cuArray3DCreate cuArrayCreate] (pHandle: Out<Ptr>, pAllocateArray: Ptr) -> i32;
        [cuArray3DGetDescriptor cuArray3DGetDescriptor_v2 cuArrayGetDescriptor cuArrayGetDescriptor_v2] (pArrayDescriptor: Ptr, hArray: Ptr) -> i32;
        [cuArrayGetMemoryRequirements] (memoryRequirements: Ptr, array: Ptr, device: Device) -> i32;
        [cuArrayGetPlane] (pPlaneArray: Out<Ptr>, hArray: Ptr, planeIdx: u32) -> i32;
        [cuArrayGetSparseProperties] (sparseProperties: Ptr, array: Ptr) -> i32;
        [cuDeviceGetTexture1DLinearMaxWidth] (maxWidthInElements: Out<usize>, format: i32, numChannels: u32, dev: Device) -> i32;
        [cuExternalMemoryGetMappedMipmappedArray] (mipmap: Out<Ptr>, extMem: Ptr, mipmapDesc: Ptr) -> i32;
        [cuGraphicsResourceGetMappedMipmappedArray] (pMipmappedArray: Out<Ptr>, resource: Ptr) -> i32;
        [cuGraphicsSubResourceGetMappedArray] (pArray: Out<Ptr>, resource: Ptr, arrayIndex: u32, mipLevel: u32) -> i32;
        [cuGraphicsVDPAURegisterOutputSurface cuGraphicsVDPAURegisterVideoSurface] (pCudaResource: Out<Ptr>, vdpSurface: u32, flags: Flags) -> i32;
        [cuMemMapArrayAsync cuMemMapArrayAsync_ptsz] (mapInfoList: Ptr, count: u32, hStream: Stream) -> i32;
        [cuMipmappedArrayCreate] (pHandle: Out<Ptr>, pMipmappedArrayDesc: Ptr, numMipmapLevels: u32) -> i32;
        [cuMipmappedArrayDestroy] (hMipmappedArray: Ptr) -> i32;
        [cuMipmappedArrayGetLevel] (pLevelArray: Out<Ptr>, hMipmappedArray: Ptr, level: u32) -> i32;
        [cuMipmappedArrayGetMemoryRequirements] (memoryRequirements: Ptr, mipmap: Ptr, device: Device) -> i32;
        [cuMipmappedArrayGetSparseProperties] (sparseProperties: Ptr, mipmap: Ptr) -> i32;
        [cuModuleGetSurfRef] (pSurfRef: Out<Ptr>, hmod: Module, name: Str) -> i32;
        [cuModuleGetTexRef] (pTexRef: Out<Ptr>, hmod: Module, name: Str) -> i32;
        [cuParamSetTexRef] (hfunc: Func, texunit: i32, hTexRef: Ptr) -> i32;
        [cuSurfObjectCreate] (pSurfObject: Out<u64>, pResDesc: Ptr) -> i32;
        [cuSurfObjectDestroy] (surfObject: u64) -> i32;
        [cuSurfObjectGetResourceDesc] (pResDesc: Ptr, surfObject: u64) -> i32;
        [cuSurfRefGetArray] (phArray: Out<Ptr>, hSurfRef: Ptr) -> i32;
        [cuSurfRefSetArray] (hSurfRef: Ptr, hArray: Ptr, flags: Flags) -> i32;
        [cuTensorMapEncodeIm2col] (tensorMap: Ptr, tensorDataType: i32, tensorRank: u32, globalAddress: Ptr, globalDim: Ptr, globalStrides: Ptr, pixelBoxLowerCorner: Ptr, pixelBoxUpperCorner: Ptr, channelsPerPixel: u32, pixelsPerColumn: u32, elementStrides: Ptr, interleave: i32, swizzle: i32, l2Promotion: i32, oobFill: i32) -> i32;
        [cuTensorMapEncodeIm2colWide] (tensorMap: Ptr, tensorDataType: i32, tensorRank: u32, globalAddress: Ptr, globalDim: Ptr, globalStrides: Ptr, pixelBoxLowerCornerWidth: i32, pixelBoxUpperCornerWidth: i32, channelsPerPixel: u32, pixelsPerColumn: u32, elementStrides: Ptr, interleave: i32, mode: i32, swizzle: i32, l2Promotion: i32, oobFill: i32) -> i32;
        [cuTensorMapEncodeTiled] (tensorMap: Ptr, tensorDataType: i32, tensorRank: u32, globalAddress: Ptr, globalDim: Ptr, globalStrides: Ptr, boxDim: Ptr, elementStrides: Ptr, interleave: i32, swizzle: i32, l2Promotion: i32, oobFill: i32) -> i32;
        [cuTensorMapReplaceAddress] (tensorMap: Ptr, globalAddress: Ptr) -> i32;
        [cuTensorMapSetAllocationClass] (tensorMap: Ptr, allocClass: i32, outAllocClass: Out<i32>) -> i32;
        [cuTexObjectCreate] (pTexObject: Out<u64>, pResDesc: Ptr, pTexDesc: Ptr, pResViewDesc: Ptr) -> i32;
        [cuTexObjectDestroy] (texObject: u64) -> i32;
        [cuTexObjectGetResourceDesc] (pResDesc: Ptr, texObject: u64) -> i32;
        [cuTexObjectGetResourceViewDesc] (pResViewDesc: Ptr, texObject: u64) -> i32;
        [cuTexObjectGetTextureDesc] (pTexDesc: Ptr, texObject: u64) -> i32;
        [cuTexRefCreate] (pTexRef: Out<Ptr>) -> i32;
        [cuTexRefDestroy] (hTexRef: Ptr) -> i32;
        [cuTexRefGetAddress] (pdptr: Out<u32>, hTexRef: Ptr) -> i32;
        [cuTexRefGetAddressMode] (pam: Out<i32>, hTexRef: Ptr, dim: i32) -> i32;
        [cuTexRefGetAddress_v2] (pdptr: Out<Ptr>, hTexRef: Ptr) -> i32;
        [cuTexRefGetArray] (phArray: Out<Ptr>, hTexRef: Ptr) -> i32;
        [cuTexRefGetBorderColor] (pBorderColor: Ptr, hTexRef: Ptr) -> i32;
        [cuTexRefGetFilterMode cuTexRefGetMipmapFilterMode] (pfm: Out<i32>, hTexRef: Ptr) -> i32;
        [cuTexRefGetFlags] (pFlags: Out<u32>, hTexRef: Ptr) -> i32;
        [cuTexRefGetFormat] (pFormat: Out<i32>, pNumChannels: Out<i32>, hTexRef: Ptr) -> i32;
        [cuTexRefGetMaxAnisotropy] (pmaxAniso: Out<i32>, hTexRef: Ptr) -> i32;
        [cuTexRefGetMipmapLevelBias] (pbias: Ptr, hTexRef: Ptr) -> i32;
        [cuTexRefGetMipmapLevelClamp] (pminMipmapLevelClamp: Ptr, pmaxMipmapLevelClamp: Ptr, hTexRef: Ptr) -> i32;
        [cuTexRefGetMipmappedArray] (phMipmappedArray: Out<Ptr>, hTexRef: Ptr) -> i32;
        [cuTexRefSetAddress] (ByteOffset: Out<u32>, hTexRef: Ptr, dptr: u32, bytes: u32) -> i32;
        [cuTexRefSetAddress2D] (hTexRef: Ptr, desc: Ptr, dptr: u32, Pitch: u32) -> i32;
        [cuTexRefSetAddress2D_v2 cuTexRefSetAddress2D_v3] (hTexRef: Ptr, desc: Ptr, dptr: Ptr, Pitch: usize) -> i32;
        [cuTexRefSetAddressMode] (hTexRef: Ptr, dim: i32, am: i32) -> i32;
        [cuTexRefSetAddress_v2] (ByteOffset: Out<usize>, hTexRef: Ptr, dptr: Ptr, bytes: usize) -> i32;
        [cuTexRefSetArray] (hTexRef: Ptr, hArray: Ptr, flags: Flags) -> i32;
        [cuTexRefSetBorderColor] (hTexRef: Ptr, pBorderColor: Ptr) -> i32;
        [cuTexRefSetFilterMode cuTexRefSetMipmapFilterMode] (hTexRef: Ptr, fm: i32) -> i32;
        [cuTexRefSetFlags] (hTexRef: Ptr, flags: Flags) -> i32;
        [cuTexRefSetFormat] (hTexRef: Ptr, fmt: i32, NumPackedComponents: i32) -> i32;
        [cuTexRefSetMaxAnisotropy] (hTexRef: Ptr, maxAniso: u32) -> i32;
        [cuTexRefSetMipmapLevelBias] (hTexRef: Ptr, bias: f32) -> i32;
        [cuTexRefSetMipmapLevelClamp] (hTexRef: Ptr, minMipmapLevelClamp: f32, maxMipmapLevelClamp: f32) -> i32;
        [cuTexRefSetMipmappedArray] (hTexRef: Ptr, hMipmappedArray: Ptr, flags: Flags) -> i32;

        // ---- graphics interop
        [cuGLInit] () -> i32;
        [cuEGLApiInit] ? -> i32;
        [cuEGLStreamConsumerAcquireFrame] (conn: Ptr, pCudaResource: Out<Ptr>, pStream: Out<Stream>, timeout: u32) -> i32;
        [cuEGLStreamConsumerConnect] (conn: Ptr, stream: Ptr) -> i32;
        [cuEGLStreamConsumerConnectWithFlags] (conn: Ptr, stream: Ptr, flags: Flags) -> i32;
        [cuEGLStreamConsumerDisconnect cuEGLStreamProducerDisconnect] (conn: Ptr) -> i32;
        [cuEGLStreamConsumerReleaseFrame] (conn: Ptr, pCudaResource: Ptr, pStream: Ptr) -> i32;
        [cuEGLStreamProducerConnect] (conn: Ptr, stream: Ptr, width: i32, height: i32) -> i32;
        [cuEGLStreamProducerPresentFrame] (conn: Ptr, eglframe: DriverEglFrame, pStream: Ptr) -> i32;
        [cuEGLStreamProducerReturnFrame] (conn: Ptr, eglframe: Ptr, pStream: Ptr) -> i32;
        [cuEventCreateFromEGLSync] (phEvent: Out<Event>, eglSync: Ptr, flags: Flags) -> i32;
        [cuGLCtxCreate cuGLCtxCreate_v2] (pCtx: Out<Context>, flags: Flags, device: Device) -> i32;
        [cuGLGetDevices cuGLGetDevices_v2] (pCudaDeviceCount: Out<u32>, pCudaDevices: Ptr, cudaDeviceCount: u32, deviceList: i32) -> i32;
        [cuGLMapBufferObject] (dptr: Out<u32>, size: Out<u32>, buffer: u32) -> i32;
        [cuGLMapBufferObjectAsync] (dptr: Out<u32>, size: Out<u32>, buffer: u32, hStream: Stream) -> i32;
        [cuGLMapBufferObjectAsync_v2 cuGLMapBufferObjectAsync_v2_ptsz] (dptr: Out<Ptr>, size: Out<usize>, buffer: u32, hStream: Stream) -> i32;
        [cuGLMapBufferObject_v2 cuGLMapBufferObject_v2_ptds] (dptr: Out<Ptr>, size: Out<usize>, buffer: u32) -> i32;
        [cuGLRegisterBufferObject cuGLUnmapBufferObject cuGLUnregisterBufferObject] (buffer: u32) -> i32;
        [cuGLSetBufferObjectMapFlags] (buffer: u32, flags: Flags) -> i32;
        [cuGLUnmapBufferObjectAsync] (buffer: u32, hStream: Stream) -> i32;
        [cuGraphicsEGLRegisterImage] (pCudaResource: Out<Ptr>, image: Ptr, flags: Flags) -> i32;
        [cuGraphicsGLRegisterBuffer] (pCudaResource: Out<Ptr>, buffer: u32, flags: Flags) -> i32;
        [cuGraphicsGLRegisterImage] (pCudaResource: Out<Ptr>, image: u32, target: u32, flags: Flags) -> i32;
        [cuGraphicsMapResources cuGraphicsMapResources_ptsz cuGraphicsUnmapResources cuGraphicsUnmapResources_ptsz] (count: u32, resources: Ptr, hStream: Stream) -> i32;
        [cuGraphicsResourceGetMappedEglFrame] (eglFrame: Ptr, resource: Ptr, index: u32, mipLevel: u32) -> i32;
        [cuGraphicsResourceGetMappedPointer] (pDevPtr: Out<u32>, pSize: Out<u32>, resource: Ptr) -> i32;
        [cuGraphicsResourceGetMappedPointer_v2] (pDevPtr: Out<Ptr>, pSize: Out<usize>, resource: Ptr) -> i32;
        [cuGraphicsResourceSetMapFlags cuGraphicsResourceSetMapFlags_v2] (resource: Ptr, flags: Flags) -> i32;
        [cuGraphicsUnregisterResource] (resource: Ptr) -> i32;
        [cuVDPAUCtxCreate cuVDPAUCtxCreate_v2] (pCtx: Out<Context>, flags: Flags, device: Device, vdpDevice: u32, vdpGetProcAddress: Ptr) -> i32;
        [cuVDPAUGetDevice] (pDevice: Out<Device>, vdpDevice: u32, vdpGetProcAddress: Ptr) -> i32;

        // ---- graphs and capture
        [cuDeviceGetGraphMemAttribute cuDeviceSetGraphMemAttribute] (device: Device, attr: i32, value: Ptr) -> i32;
        [cuDeviceGraphMemTrim] (device: Device) -> i32;
        [cuGraphAddDependencies cuGraphRemoveDependencies] (hGraph: Graph, from: Ptr, to: Ptr, numDependencies: usize) -> i32;
        [cuGraphAddDependencies_v2 cuGraphRemoveDependencies_v2] (hGraph: Graph, from: Ptr, to: Ptr, edgeData: Ptr, numDependencies: usize) -> i32;
        [cuGraphAddNode_v3] (phGraphNode: Out<Node>, hGraph: Graph, dependencies: Ptr, dependencyData: Ptr, numDependencies: usize, nodeParams: Ptr) -> i32;
        [cuGraphBatchMemOpNodeGetParams] (hNode: Node, nodeParams_out: Ptr) -> i32;
        [cuGraphBatchMemOpNodeSetParams cuGraphExternalSemaphoresSignalNodeSetParams cuGraphExternalSemaphoresWaitNodeSetParams cuGraphHostNodeGetParams cuGraphKernelNodeGetParams] (hNode: Node, nodeParams: Ptr) -> i32;
        [cuGraphKernelNodeGetParams_v2 cuGraphMemcpyNodeGetParams cuGraphMemsetNodeGetParams cuGraphNodeGetParams cuGraphNodeSetParams_v2] (hNode: Node, nodeParams: Ptr) -> i32;
        [cuGraphChildGraphNodeGetGraph cuGraphNodeGetContainingGraph] (hNode: Node, phGraph: Out<Graph>) -> i32;
        [cuGraphConditionalHandleCreate] (pHandle_out: Out<u64>, hGraph: Graph, ctx: Context, defaultLaunchValue: u32, flags: Flags) -> i32;
        [cuGraphDebugDotPrint] (hGraph: Graph, path: Str, flags: Flags) -> i32;
        [cuGraphDestroyNode] (hNode: Node) -> i32;
        [cuGraphEventRecordNodeGetEvent cuGraphEventWaitNodeGetEvent] (hNode: Node, event_out: Out<Event>) -> i32;
        [cuGraphEventRecordNodeSetEvent cuGraphEventWaitNodeSetEvent] (hNode: Node, event: Event) -> i32;
        [cuGraphExecBatchMemOpNodeSetParams cuGraphExecExternalSemaphoresSignalNodeSetParams cuGraphExecExternalSemaphoresWaitNodeSetParams] (hGraphExec: GraphExec, hNode: Node, nodeParams: Ptr) -> i32;
        [cuGraphExecEventRecordNodeSetEvent cuGraphExecEventWaitNodeSetEvent] (hGraphExec: GraphExec, hNode: Node, event: Event) -> i32;
        [cuGraphExecGetFlags] (hGraphExec: GraphExec, flags: Out<u64>) -> i32;
        [cuGraphExecGetId] (hGraphExec: GraphExec, graphId: Out<u32>) -> i32;
        [cuGraphExternalSemaphoresSignalNodeGetParams cuGraphExternalSemaphoresWaitNodeGetParams cuGraphMemAllocNodeGetParams] (hNode: Node, params_out: Ptr) -> i32;
        [cuGraphGetEdges] (hGraph: Graph, from: Ptr, to: Ptr, numEdges: Out<usize>) -> i32;
        [cuGraphGetEdges_v2] (hGraph: Graph, from: Ptr, to: Ptr, edgeData: Ptr, numEdges: Out<usize>) -> i32;
        [cuGraphGetId] (hGraph: Graph, graphId: Out<u32>) -> i32;
        [cuGraphGetNodes] (hGraph: Graph, nodes: Ptr, numNodes: Out<usize>) -> i32;
        [cuGraphGetRootNodes] (hGraph: Graph, rootNodes: Ptr, numRootNodes: Out<usize>) -> i32;
        [cuGraphInstantiate] (phGraphExec: Out<GraphExec>, hGraph: Graph, phErrorNode: Ptr, logBuffer: Ptr, bufferSize: usize) -> i32;
        [cuGraphKernelNodeCopyAttributes] (dst: Node, src: Node) -> i32;
        [cuGraphKernelNodeGetAttribute] (hNode: Node, attr: i32, value_out: Ptr) -> i32;
        [cuGraphKernelNodeSetAttribute] (hNode: Node, attr: i32, value: Ptr) -> i32;
        [cuGraphMemFreeNodeGetParams] (hNode: Node, dptr_out: Out<Ptr>) -> i32;
        [cuGraphNodeFindInClone] (phNode: Out<Node>, hOriginalNode: Node, hClonedGraph: Graph) -> i32;
        [cuGraphNodeGetDependencies] (hNode: Node, dependencies: Ptr, numDependencies: Out<usize>) -> i32;
        [cuGraphNodeGetDependencies_v2] (hNode: Node, dependencies: Ptr, edgeData: Ptr, numDependencies: Out<usize>) -> i32;
        [cuGraphNodeGetDependentNodes] (hNode: Node, dependentNodes: Ptr, numDependentNodes: Out<usize>) -> i32;
        [cuGraphNodeGetDependentNodes_v2] (hNode: Node, dependentNodes: Ptr, edgeData: Ptr, numDependentNodes: Out<usize>) -> i32;
        [cuGraphNodeGetEnabled] (hGraphExec: GraphExec, hNode: Node, isEnabled: Out<u32>) -> i32;
        [cuGraphNodeGetLocalId] (hNode: Node, nodeId: Out<u32>) -> i32;
        [cuGraphNodeGetToolsId] (hNode: Node, toolsNodeId: Out<u64>) -> i32;
        [cuGraphNodeGetType] (hNode: Node, type_: Out<i32>) -> i32;
        [cuGraphReleaseUserObject] (graph: Graph, object: Ptr, count: u32) -> i32;
        [cuGraphRetainUserObject] (graph: Graph, object: Ptr, count: u32, flags: Flags) -> i32;
        [cuThreadExchangeStreamCaptureMode] (mode: Out<i32>) -> i32;
        [cuStreamBeginCapture cuStreamBeginCapture_ptsz cuStreamEndCaptureToCig cuStreamEndCaptureToCig_ptsz] (hStream: Stream) -> i32;
        [cuStreamBeginCaptureToCig cuStreamBeginCaptureToCig_ptsz] (hStream: Stream, streamCigCaptureParams: Ptr) -> i32;
        [cuStreamBeginRecaptureToGraph cuStreamBeginRecaptureToGraph_ptsz] (hStream: Stream, mode: i32, hGraph: Graph, callbackFunc: Ptr, userData: Ptr) -> i32;
        [cuStreamGetCaptureInfo cuStreamGetCaptureInfo_ptsz] (hStream: Stream, captureStatus_out: Out<i32>, id_out: Out<u64>) -> i32;
        [cuStreamGetCaptureInfo_v2 cuStreamGetCaptureInfo_v2_ptsz] (hStream: Stream, captureStatus_out: Out<i32>, id_out: Out<u64>, graph_out: Out<Graph>, dependencies_out: Ptr, numDependencies_out: Out<usize>) -> i32;
        [cuStreamGetCaptureInfo_v3 cuStreamGetCaptureInfo_v3_ptsz] (hStream: Stream, captureStatus_out: Out<i32>, id_out: Out<u64>, graph_out: Out<Graph>, dependencies_out: Ptr, edgeData_out: Ptr, numDependencies_out: Out<usize>) -> i32;
        [cuStreamUpdateCaptureDependencies cuStreamUpdateCaptureDependencies_ptsz] (hStream: Stream, dependencies: Ptr, numDependencies: usize, flags: Flags) -> i32;
        [cuStreamUpdateCaptureDependencies_v2 cuStreamUpdateCaptureDependencies_v2_ptsz] (hStream: Stream, dependencies: Ptr, dependencyData: Ptr, numDependencies: usize, flags: Flags) -> i32;

        // ---- devices
        [cuCtxGetDevResource] (hCtx: Context, resource: Ptr, type_: i32) -> i32;
        [cuCtxGetDevice] (device: Out<Device>) -> i32;
        [cuCtxGetDevice_v2] (device: Out<Device>, ctx: Context) -> i32;
        [cuDevResourceGenerateDesc] (phDesc: Out<Ptr>, resources: Ptr, nbResources: u32) -> i32;
        [cuDevSmResourceSplit] (result: Ptr, nbGroups: u32, input: Ptr, remainder: Ptr, flags: Flags, groupParams: Ptr) -> i32;
        [cuDevSmResourceSplitByCount] (result: Ptr, nbGroups: Out<u32>, input: Ptr, remainder: Ptr, flags: Flags, minCount: u32) -> i32;
        [cuDeviceCanAccessPeer] (canAccessPeer: Out<i32>, dev: Device, peerDev: Device) -> i32;
        [cuDeviceComputeCapability] (major: Out<i32>, minor: Out<i32>, dev: Device) -> i32;
        [cuDeviceGet] (device: Out<Device>, ordinal: i32) -> i32;
        [cuDeviceGetAttribute] (pi: Out<i32>, attrib: i32, dev: Device) -> i32;
        [cuDeviceGetByPCIBusId] (dev: Out<Device>, pciBusId: Str) -> i32;
        [cuDeviceGetCliqueCount] (count: Out<usize>, dev: Device) -> i32;
        [cuDeviceGetCliqueInfo] (cliqueInfo: Ptr, count: Out<usize>, dev: Device) -> i32;
        [cuDeviceGetCount] (count: Out<i32>) -> i32;
        [cuDeviceGetDefaultMemPool] (pool_out: Out<Ptr>, dev: Device) -> i32;
        [cuDeviceGetDevResource] (device: Device, resource: Ptr, type_: i32) -> i32;
        [cuDeviceGetExecAffinitySupport] (pi: Out<i32>, type_: i32, dev: Device) -> i32;
        [cuDeviceGetFabricClusterUuid cuDeviceGetUuid cuDeviceGetUuid_v2] (uuid: Ptr, dev: Device) -> i32;
        [cuDeviceGetHostAtomicCapabilities] (capabilities: Ptr, operations: Ptr, count: u32, dev: Device) -> i32;
        [cuDeviceGetLuid] (luid: Ptr, deviceNodeMask: Out<u32>, dev: Device) -> i32;
        [cuDeviceGetMemPool] (pool: Out<Ptr>, dev: Device) -> i32;
        [cuDeviceGetName] (name: Ptr, len: i32, dev: Device) -> i32;
        [cuDeviceGetNvSciSyncAttributes] (nvSciSyncAttrList: Ptr, dev: Device, flags: i32) -> i32;
        [cuDeviceGetP2PAtomicCapabilities] (capabilities: Ptr, operations: Ptr, count: u32, srcDevice: Device, dstDevice: Device) -> i32;
        [cuDeviceGetP2PAttribute] (value: Out<i32>, attrib: i32, srcDevice: Device, dstDevice: Device) -> i32;
        [cuDeviceGetPCIBusId] (pciBusId: Ptr, len: i32, dev: Device) -> i32;
        [cuDeviceGetProperties] (prop: Ptr, dev: Device) -> i32;
        [cuDevicePrimaryCtxGetState] (dev: Device, flags: Out<u32>, active: Out<i32>) -> i32;
        [cuDevicePrimaryCtxSetFlags cuDevicePrimaryCtxSetFlags_v2] (dev: Device, flags: Flags) -> i32;
        [cuDeviceRegisterAsyncNotification] (device: Device, callbackFunc: Ptr, userData: Ptr, callback: Out<Ptr>) -> i32;
        [cuDeviceSetMemPool] (dev: Device, pool: Ptr) -> i32;
        [cuDeviceTotalMem] (bytes: Out<u32>, dev: Device) -> i32;
        [cuDeviceTotalMem_v2] (bytes: Out<usize>, dev: Device) -> i32;
        [cuDeviceUnregisterAsyncNotification] (device: Device, callback: Ptr) -> i32;
        [cuGreenCtxGetDevResource] (hCtx: Ptr, resource: Ptr, type_: i32) -> i32;
        [cuLogicalEndpointAddDevice] (leId: u32, dev: Device) -> i32;
        [cuMemHostGetDevicePointer] (pdptr: Out<u32>, p: Ptr, flags: Flags) -> i32;
        [cuMemHostGetDevicePointer_v2] (pdptr: Out<Ptr>, p: Ptr, flags: Flags) -> i32;
        [cuMulticastAddDevice] (mcHandle: Ptr, dev: Device) -> i32;
        [cuStreamGetDevResource cuStreamGetDevResource_ptsz] (hStream: Stream, resource: Ptr, type_: i32) -> i32;
        [cuStreamGetDevice cuStreamGetDevice_ptsz] (hStream: Stream, device: Out<Device>) -> i32;

        // ---- contexts, threads and limits
        [cuCheckpointProcessGetRestoreThreadId] (pid: i32, tid: Out<i32>) -> i32;
        [cuCtxAttach] (pctx: Out<Context>, flags: Flags) -> i32;
        [cuCtxCreate] (pctx: Out<Context>, flags: Flags, dev: Device) -> i32;
        [cuCtxDestroy cuCtxDetach cuCtxPushCurrent cuCtxSynchronize_v2] (ctx: Context) -> i32;
        [cuCtxDisablePeerAccess] (peerContext: Context) -> i32;
        [cuCtxEnablePeerAccess] (peerContext: Context, flags: Flags) -> i32;
        [cuCtxFromGreenCtx] (pContext: Out<Context>, hCtx: Ptr) -> i32;
        [cuCtxGetApiVersion] (ctx: Context, version: Out<u32>) -> i32;
        [cuCtxGetCacheConfig] (pconfig: Out<i32>) -> i32;
        [cuCtxGetCurrent cuCtxPopCurrent] (pctx: Out<Context>) -> i32;
        [cuCtxGetExecAffinity] (pExecAffinity: Ptr, type_: i32) -> i32;
        [cuCtxGetFlags] (flags: Out<u32>) -> i32;
        [cuCtxGetId] (ctx: Context, ctxId: Out<u64>) -> i32;
        [cuCtxGetLimit] (pvalue: Out<usize>, limit: i32) -> i32;
        [cuCtxGetSharedMemConfig] (pConfig: Out<i32>) -> i32;
        [cuCtxGetStreamPriorityRange] (leastPriority: Out<i32>, greatestPriority: Out<i32>) -> i32;
        [cuCtxRecordEvent cuCtxWaitEvent] (hCtx: Context, hEvent: Event) -> i32;
        [cuCtxResetPersistingL2Cache] () -> i32;
        [cuCtxSetCacheConfig cuCtxSetSharedMemConfig] (config: i32) -> i32;
        [cuCtxSetFlags] (flags: Flags) -> i32;
        [cuCtxSetLimit] (limit: i32, value: usize) -> i32;
        [cuFlushGPUDirectRDMAWrites] (target: i32, scope: i32) -> i32;
        [cuGreenCtxCreate] (phCtx: Out<Ptr>, desc: Ptr, dev: Device, flags: Flags) -> i32;
        [cuGreenCtxDestroy] (hCtx: Ptr) -> i32;
        [cuGreenCtxGetId] (greenCtx: Ptr, greenCtxId: Out<u64>) -> i32;
        [cuGreenCtxRecordEvent cuGreenCtxWaitEvent] (hCtx: Ptr, hEvent: Event) -> i32;
        [cuGreenCtxStreamCreate] (phStream: Out<Stream>, greenCtx: Ptr, flags: Flags, priority: i32) -> i32;
        [cuStreamGetCtx cuStreamGetCtx_ptsz] (hStream: Stream, pctx: Out<Context>) -> i32;
        [cuStreamGetCtx_v2 cuStreamGetCtx_v2_ptsz] (hStream: Stream, pCtx: Out<Context>, pGreenCtx: Out<Ptr>) -> i32;
        [cuStreamGetGreenCtx] (hStream: Stream, phCtx: Out<Ptr>) -> i32;

        // ---- functions, kernels, libraries, modules, linking
        [cuFuncGetAttribute] (pi: Out<i32>, attrib: i32, hfunc: Func) -> i32;
        [cuFuncGetModule] (hmod: Out<Module>, hfunc: Func) -> i32;
        [cuFuncGetName cuKernelGetName] (name: Out<Str>, hfunc: Func) -> i32;
        [cuFuncGetParamCount] (func: Func, paramCount: Out<usize>) -> i32;
        [cuFuncGetParamInfo] (func: Func, paramIndex: usize, paramOffset: Out<usize>, paramSize: Out<usize>) -> i32;
        [cuFuncIsLoaded] (state: Out<i32>, function: Func) -> i32;
        [cuFuncLoad] (function: Func) -> i32;
        [cuFuncSetBlockShape] (hfunc: Func, x: i32, y: i32, z: i32) -> i32;
        [cuFuncSetCacheConfig cuFuncSetSharedMemConfig] (hfunc: Func, config: i32) -> i32;
        [cuFuncSetSharedSize] (hfunc: Func, bytes: u32) -> i32;
        [cuKernelGetAttribute] (pi: Out<i32>, attrib: i32, kernel: Func, dev: Device) -> i32;
        [cuKernelGetLibrary] (pLib: Out<Module>, kernel: Func) -> i32;
        [cuKernelGetParamCount] (kernel: Func, paramCount: Out<usize>) -> i32;
        [cuKernelGetParamInfo] (kernel: Func, paramIndex: usize, paramOffset: Out<usize>, paramSize: Out<usize>) -> i32;
        [cuKernelSetCacheConfig] (kernel: Func, config: i32, dev: Device) -> i32;
        [cuLibraryGetGlobal cuLibraryGetManaged] (dptr: Out<Ptr>, bytes: Out<usize>, library: Module, name: Str) -> i32;
        [cuLibraryGetKernelCount] (count: Out<u32>, lib: Module) -> i32;
        [cuLibraryGetUnifiedFunction] (fptr: Out<Ptr>, library: Module, symbol: Str) -> i32;
        [cuLinkAddData] (state: Ptr, type_: i32, data: Ptr, size: usize, name: Str, numOptions: u32, options: Ptr, optionValues: Ptr) -> i32;
        [cuLinkAddFile] (state: Ptr, type_: i32, path: Str, numOptions: u32, options: Ptr, optionValues: Ptr) -> i32;
        [cuLinkCreate] (numOptions: u32, options: Ptr, optionValues: Ptr, stateOut: Out<Ptr>) -> i32;
        [cuModuleGetFunctionCount] (count: Out<u32>, mod_: Module) -> i32;
        [cuModuleGetGlobal] (dptr: Out<u32>, bytes: Out<u32>, hmod: Module, name: Str) -> i32;
        [cuModuleGetGlobal_v2] (dptr: Out<Ptr>, bytes: Out<usize>, hmod: Module, name: Str) -> i32;
        [cuModuleGetLoadingMode] (mode: Out<i32>) -> i32;
        [cuOccupancyAvailableDynamicSMemPerBlock] (dynamicSmemSize: Out<usize>, func: Func, numBlocks: i32, blockSize: i32) -> i32;
        [cuOccupancyMaxActiveBlocksPerMultiprocessor] (numBlocks: Out<i32>, func: Func, blockSize: i32, dynamicSMemSize: usize) -> i32;
        [cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags] (numBlocks: Out<i32>, func: Func, blockSize: i32, dynamicSMemSize: usize, flags: Flags) -> i32;
        [cuOccupancyMaxActiveClusters] (numClusters: Out<i32>, func: Func, config: Ptr) -> i32;
        [cuOccupancyMaxPotentialBlockSize] (minGridSize: Out<i32>, blockSize: Out<i32>, func: Func, blockSizeToDynamicSMemSize: Ptr, dynamicSMemSize: usize, blockSizeLimit: i32) -> i32;
        [cuOccupancyMaxPotentialBlockSizeWithFlags] (minGridSize: Out<i32>, blockSize: Out<i32>, func: Func, blockSizeToDynamicSMemSize: Ptr, dynamicSMemSize: usize, blockSizeLimit: i32, flags: Flags) -> i32;
        [cuOccupancyMaxPotentialClusterSize] (clusterSize: Out<i32>, func: Func, config: Ptr) -> i32;
        [cuParamSetSize] (hfunc: Func, numbytes: u32) -> i32;
        [cuParamSetf] (hfunc: Func, offset: i32, value: f32) -> i32;
        [cuParamSeti] (hfunc: Func, offset: i32, value: u32) -> i32;
        [cuParamSetv] (hfunc: Func, offset: i32, ptr: Ptr, numbytes: u32) -> i32;

        // ---- memory
        [cuDestroyExternalMemory] (extMem: Ptr) -> i32;
        [cuDestroyExternalSemaphore] (extSem: Ptr) -> i32;
        [cuMemGetAttribute cuMemGetAttribute_v2] ? -> i32;
        [cuExternalMemoryGetMappedBuffer] (devPtr: Out<Ptr>, extMem: Ptr, bufferDesc: Ptr) -> i32;
        [cuFabricCpyBatchAsync cuFabricCpyBatchAsync_ptsz cuMemcpy3DBatchAsync_v2 cuMemcpy3DBatchAsync_v2_ptsz] (numOps: usize, opList: Ptr, flags: Flags64, hStream: Stream) -> i32;
        [cuImportExternalMemory] (extMem_out: Out<Ptr>, memHandleDesc: Ptr) -> i32;
        [cuImportExternalSemaphore] (extSem_out: Out<Ptr>, semHandleDesc: Ptr) -> i32;
        [cuIpcCloseMemHandle] (dptr: Ptr) -> i32;
        [cuIpcGetEventHandle] (pHandle: Ptr, event: Event) -> i32;
        [cuIpcGetMemHandle] (pHandle: Ptr, dptr: Ptr) -> i32;
        [cuIpcOpenEventHandle] (phEvent: Out<Event>, handle: IpcHandle) -> i32;
        [cuIpcOpenMemHandle cuIpcOpenMemHandle_v2] (pdptr: Out<Ptr>, handle: IpcHandle, flags: Flags) -> i32;
        [cuLogicalEndpointBindAddr] (leId: u32, dev: Device, offset: u64, ptr: Ptr, size: u64, flags: Flags64) -> i32;
        [cuLogicalEndpointBindMem] (leId: u32, dev: Device, offset: u64, memHandle: Ptr, memOffset: u64, size: u64, flags: Flags64) -> i32;
        [cuLogicalEndpointCreate] (leId: u32, prop: Ptr) -> i32;
        [cuLogicalEndpointDestroy] (leId: u32) -> i32;
        [cuLogicalEndpointExport] (handle: Ptr, leId: u32, handleType: i32) -> i32;
        [cuLogicalEndpointGetLimits] (bindAlignment: Out<u64>, maxSize: Out<u64>, prop: Ptr) -> i32;
        [cuLogicalEndpointIdRelease] (baseLeId: u32, count: u32) -> i32;
        [cuLogicalEndpointIdReserve] (baseLeId: Out<u32>, count: u32) -> i32;
        [cuLogicalEndpointImport] (leId: u32, handle: Ptr, handleType: i32) -> i32;
        [cuLogicalEndpointQuery] (leId: u32, count: u32, queryStatus: Ptr) -> i32;
        [cuLogicalEndpointUnbind] (leId: u32, dev: Device, offset: u64, size: u64) -> i32;
        [cuMemAlloc] (dptr: Out<u32>, bytesize: u32) -> i32;
        [cuMemAllocHost] (pp: Out<Ptr>, bytesize: u32) -> i32;
        [cuMemAllocPitch] (dptr: Out<u32>, pPitch: Out<u32>, WidthInBytes: u32, Height: u32, ElementSizeBytes: u32) -> i32;
        [cuMemBatchDecompressAsync cuMemBatchDecompressAsync_ptsz] (paramsArray: Ptr, count: usize, flags: Flags, errorIndex: Out<usize>, stream: Stream) -> i32;
        [cuMemDiscardAndPrefetchBatchAsync cuMemDiscardAndPrefetchBatchAsync_ptsz cuMemPrefetchBatchAsync cuMemPrefetchBatchAsync_ptsz] (dptrs: Ptr, sizes: Ptr, count: usize, prefetchLocs: Ptr, prefetchLocIdxs: Ptr, numPrefetchLocs: usize, flags: Flags64, hStream: Stream) -> i32;
        [cuMemDiscardBatchAsync cuMemDiscardBatchAsync_ptsz] (dptrs: Ptr, sizes: Ptr, count: usize, flags: Flags64, hStream: Stream) -> i32;
        [cuMemExportToShareableHandle] (shareableHandle: Ptr, handle: Ptr, handleType: i32, flags: Flags64) -> i32;
        [cuMemFree] (dptr: u32) -> i32;
        [cuMemGetAccess] (flags: Out<u64>, location: Ptr, ptr: Ptr) -> i32;
        [cuMemGetAddressRange] (pbase: Out<u32>, psize: Out<u32>, dptr: u32) -> i32;
        [cuMemGetAddressRange_v2] (pbase: Out<Ptr>, psize: Out<usize>, dptr: Ptr) -> i32;
        [cuMemGetAllocationGranularity cuMulticastGetGranularity] (granularity: Out<usize>, prop: Ptr, option: i32) -> i32;
        [cuMemGetAllocationPropertiesFromHandle] (prop: Ptr, handle: Ptr) -> i32;
        [cuMemGetDefaultMemPool] (pool_out: Out<Ptr>, location: Ptr, type_: i32) -> i32;
        [cuMemGetHandleForAddressRange] (handle: Ptr, dptr: Ptr, size: usize, handleType: i32, flags: Flags64) -> i32;
        [cuMemGetInfo] (free: Out<u32>, total: Out<u32>) -> i32;
        [cuMemGetInfo_v2] (free: Out<usize>, total: Out<usize>) -> i32;
        [cuMemGetLocationInfo] (ptr: Ptr, size: usize, summaryGranularity: usize, samplingGranularity: usize, location_out: Ptr) -> i32;
        [cuMemGetMemPool] (pool: Out<Ptr>, location: Ptr, type_: i32) -> i32;
        [cuMemHostGetFlags] (pFlags: Out<u32>, p: Ptr) -> i32;
        [cuMemHostRegister] (p: Ptr, bytesize: usize, flags: Flags) -> i32;
        [cuMemImportFromShareableHandle] (handle: Out<Ptr>, osHandle: Ptr, shHandleType: i32) -> i32;
        [cuMemPoolExportPointer] (shareData_out: Ptr, ptr: Ptr) -> i32;
        [cuMemPoolExportToShareableHandle] (handle_out: Ptr, pool: Ptr, handleType: i32, flags: Flags64) -> i32;
        [cuMemPoolGetAccess] (flags: Out<i32>, memPool: Ptr, location: Ptr) -> i32;
        [cuMemPoolGetAttribute cuMemPoolSetAttribute] (pool: Ptr, attr: i32, value: Ptr) -> i32;
        [cuMemPoolImportFromShareableHandle] (pool_out: Out<Ptr>, handle: Ptr, handleType: i32, flags: Flags64) -> i32;
        [cuMemPoolImportPointer] (ptr_out: Out<Ptr>, pool: Ptr, shareData: Ptr) -> i32;
        [cuMemPoolSetAccess] (pool: Ptr, map: Ptr, count: usize) -> i32;
        [cuMemRangeGetAttribute] (data: Ptr, dataSize: usize, attribute: i32, devPtr: Ptr, count: usize) -> i32;
        [cuMemRangeGetAttributes] (data: Ptr, dataSizes: Ptr, attributes: Ptr, numAttributes: usize, devPtr: Ptr, count: usize) -> i32;
        [cuMemRetainAllocationHandle] (handle: Out<Ptr>, addr: Ptr) -> i32;
        [cuMemSetAccess] (ptr: Ptr, size: usize, desc: Ptr, count: usize) -> i32;
        [cuMemSetMemPool] (location: Ptr, type_: i32, pool: Ptr) -> i32;
        [cuMemcpy2D cuMemcpy2DUnaligned cuMemcpy3D] (pCopy: Ptr) -> i32;
        [cuMemcpy2DAsync cuMemcpy3DAsync] (pCopy: Ptr, hStream: Stream) -> i32;
        [cuMemcpy3DBatchAsync cuMemcpy3DBatchAsync_ptsz] (numOps: usize, opList: Ptr, failIdx: Ptr, flags: Flags64, hStream: Stream) -> i32;
        [cuMemcpy3DWithAttributesAsync cuMemcpy3DWithAttributesAsync_ptsz] (op: Ptr, flags: Flags64, hStream: Stream) -> i32;
        [cuMemcpyAtoA] (dstArray: Ptr, dstOffset: u32, srcArray: Ptr, srcOffset: u32, ByteCount: u32) -> i32;
        [cuMemcpyAtoD] (dstDevice: u32, srcArray: Ptr, srcOffset: u32, ByteCount: u32) -> i32;
        [cuMemcpyAtoH] (dstHost: Ptr, srcArray: Ptr, srcOffset: u32, ByteCount: u32) -> i32;
        [cuMemcpyAtoHAsync] (dstHost: Ptr, srcArray: Ptr, srcOffset: u32, ByteCount: u32, hStream: Stream) -> i32;
        [cuMemcpyDtoA] (dstArray: Ptr, dstOffset: u32, srcDevice: u32, ByteCount: u32) -> i32;
        [cuMemcpyDtoD] (dstDevice: u32, srcDevice: u32, ByteCount: u32) -> i32;
        [cuMemcpyDtoDAsync] (dstDevice: u32, srcDevice: u32, ByteCount: u32, hStream: Stream) -> i32;
        [cuMemcpyDtoH] (dstHost: Ptr, srcDevice: u32, ByteCount: u32) -> i32;
        [cuMemcpyDtoHAsync] (dstHost: Ptr, srcDevice: u32, ByteCount: u32, hStream: Stream) -> i32;
        [cuMemcpyHtoA] (dstArray: Ptr, dstOffset: u32, srcHost: Ptr, ByteCount: u32) -> i32;
        [cuMemcpyHtoAAsync] (dstArray: Ptr, dstOffset: u32, srcHost: Ptr, ByteCount: u32, hStream: Stream) -> i32;
        [cuMemcpyHtoD] (dstDevice: u32, srcHost: Ptr, ByteCount: u32) -> i32;
        [cuMemcpyHtoDAsync] (dstDevice: u32, srcHost: Ptr, ByteCount: u32, hStream: Stream) -> i32;
        [cuMemcpyWithAttributesAsync cuMemcpyWithAttributesAsync_ptsz] (dst: Ptr, src: Ptr, size: usize, attr: Ptr, hStream: Stream) -> i32;
        [cuMemsetD16] (dstDevice: u32, us: u16, N: u32) -> i32;
        [cuMemsetD2D16] (dstDevice: u32, dstPitch: u32, us: u16, Width: u32, Height: u32) -> i32;
        [cuMemsetD2D32] (dstDevice: u32, dstPitch: u32, ui: u32, Width: u32, Height: u32) -> i32;
        [cuMemsetD2D8] (dstDevice: u32, dstPitch: u32, uc: u8, Width: u32, Height: u32) -> i32;
        [cuMemsetD32] (dstDevice: u32, ui: u32, N: u32) -> i32;
        [cuMemsetD8] (dstDevice: u32, uc: u8, N: u32) -> i32;
        [cuMulticastBindAddr] (mcHandle: Ptr, mcOffset: usize, memptr: Ptr, size: usize, flags: Flags64) -> i32;
        [cuMulticastBindAddr_v2] (mcHandle: Ptr, dev: Device, mcOffset: usize, memptr: Ptr, size: usize, flags: Flags64) -> i32;
        [cuMulticastBindMem] (mcHandle: Ptr, mcOffset: usize, memHandle: Ptr, memOffset: usize, size: usize, flags: Flags64) -> i32;
        [cuMulticastBindMem_v2] (mcHandle: Ptr, dev: Device, mcOffset: usize, memHandle: Ptr, memOffset: usize, size: usize, flags: Flags64) -> i32;
        [cuMulticastCreate] (mcHandle: Out<Ptr>, prop: Ptr) -> i32;
        [cuMulticastUnbind] (mcHandle: Ptr, dev: Device, mcOffset: usize, size: usize) -> i32;
        [cuPointerGetAttribute] (data: Ptr, attribute: i32, ptr: Ptr) -> i32;
        [cuPointerGetAttributes] (numAttributes: u32, attributes: Ptr, data: Ptr, ptr: Ptr) -> i32;
        [cuPointerSetAttribute] (value: Ptr, attribute: i32, ptr: Ptr) -> i32;
        [cuSignalExternalSemaphoresAsync cuSignalExternalSemaphoresAsync_ptsz cuWaitExternalSemaphoresAsync cuWaitExternalSemaphoresAsync_ptsz] (extSemArray: Ptr, paramsArray: Ptr, numExtSems: u32, stream: Stream) -> i32;
        [cuStreamBatchMemOp cuStreamBatchMemOp_ptsz cuStreamBatchMemOp_v2 cuStreamBatchMemOp_v2_ptsz] (stream: Stream, count: u32, paramArray: Ptr, flags: Flags) -> i32;

        // ---- streams and events
        [cuEventDestroy] (hEvent: Event) -> i32;
        [cuStreamDestroy] (hStream: Stream) -> i32;
        [cuStreamCopyAttributes] (dstStream: Stream, srcStream: Stream) -> i32;
        [cuStreamCopyAttributes_ptsz] (dst: Stream, src: Stream) -> i32;
        [cuStreamGetAttribute cuStreamSetAttribute_ptsz] (hStream: Stream, attr: i32, value: Ptr) -> i32;
        [cuStreamGetAttribute_ptsz] (hStream: Stream, attr: i32, value_out: Ptr) -> i32;
        [cuStreamGetFlags cuStreamGetFlags_ptsz] (hStream: Stream, flags: Out<u32>) -> i32;
        [cuStreamGetId cuStreamGetId_ptsz] (hStream: Stream, streamId: Out<u64>) -> i32;
        [cuStreamGetPriority cuStreamGetPriority_ptsz] (hStream: Stream, priority: Out<i32>) -> i32;
        [cuStreamIsCapturing cuStreamIsCapturing_ptsz] (hStream: Stream, captureStatus: Out<i32>) -> i32;
        [cuStreamSetAttribute] (hStream: Stream, attr: i32, param: Ptr) -> i32;
        [cuStreamWaitValue32 cuStreamWaitValue32_ptsz cuStreamWaitValue32_v2 cuStreamWaitValue32_v2_ptsz cuStreamWriteValue32 cuStreamWriteValue32_ptsz cuStreamWriteValue32_v2] (stream: Stream, addr: Ptr, value: u32, flags: Flags) -> i32;
        [cuStreamWriteValue32_v2_ptsz] (stream: Stream, addr: Ptr, value: u32, flags: Flags) -> i32;
        [cuStreamWaitValue64 cuStreamWaitValue64_ptsz cuStreamWaitValue64_v2 cuStreamWaitValue64_v2_ptsz cuStreamWriteValue64 cuStreamWriteValue64_ptsz cuStreamWriteValue64_v2] (stream: Stream, addr: Ptr, value: u64, flags: Flags) -> i32;
        [cuStreamWriteValue64_v2_ptsz] (stream: Stream, addr: Ptr, value: u64, flags: Flags) -> i32;
        [cuUserObjectCreate] (object_out: Out<Ptr>, ptr: Ptr, destroy: Ptr, initialRefcount: u32, flags: Flags) -> i32;
        [cuUserObjectRelease cuUserObjectRetain] (object: Ptr, count: u32) -> i32;

        // ---- debugger and profiler
        [cuCheckpointOperationComplete] (handle: Ptr) -> i32;
        [cuCheckpointProcessCheckpoint cuCheckpointProcessLock cuCheckpointProcessRestore cuCheckpointProcessUnlock] (pid: i32, args: Ptr) -> i32;
        [cuCheckpointProcessGetState] (pid: i32, state: Out<i32>) -> i32;
        [cuCoredumpDeregisterCompleteCallback cuCoredumpDeregisterStartCallback] (callback: Ptr) -> i32;
        [cuCoredumpGetAttribute cuCoredumpGetAttributeGlobal cuCoredumpSetAttribute cuCoredumpSetAttributeGlobal] (attrib: i32, value: Ptr, size: Out<usize>) -> i32;
        [cuCoredumpRegisterCompleteCallback cuCoredumpRegisterStartCallback] (callback: Ptr, userData: Ptr, callbackOut: Out<Ptr>) -> i32;
        [cudbgApiAttach cudbgApiDetach cudbgApiInit cudbgGetAPI cudbgGetAPIVersion cudbgMain] ? -> i32;
        [cuProfilerInitialize] (configFile: Str, outputFile: Str, outputMode: i32) -> i32;
    } };
}

/// Every function of the driver: the rows of [`driver_functions!`] without class and handler, then
/// those of [`driver_queries!`], passed to macro `$then` behind `$extra`.
///
/// A consumer matches `$([$($name:ident)+] $args:tt -> $ret:tt;)*`, where `$args` is a list in
/// parentheses, or `?`.
#[macro_export]
macro_rules! all_driver_functions {
    ($then:ident $($extra:tt)*) => {
        $crate::driver_functions! { {$crate::__join_driver_functions} {$then} {$($extra)*} }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __join_driver_functions {
    ({$then:ident} {$($extra:tt)*} $($class:ident $how:tt $names:tt $args:tt -> $ret:tt;)*) => {
        $crate::driver_queries! { $then $($extra)* $($names $args -> $ret;)* }
    };
}
