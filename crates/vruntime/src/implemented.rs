//! The list of implemented runtime functions: each name here hides the one that returns "not supported".
//!
//! Must not know: what they do.

pub(super) use super::array::{
    cudaArrayGetInfo, cudaArrayGetMemoryRequirements, cudaArrayGetPlane,
    cudaArrayGetSparseProperties, cudaCreateChannelDesc, cudaExternalMemoryGetMappedMipmappedArray,
    cudaFreeArray, cudaFreeMipmappedArray, cudaGetChannelDesc, cudaGetMipmappedArrayLevel,
    cudaMalloc3DArray, cudaMallocArray, cudaMallocMipmappedArray,
    cudaMipmappedArrayGetMemoryRequirements, cudaMipmappedArrayGetSparseProperties,
};
pub(super) use super::copy::array::{
    cudaMemcpy2DArrayToArray, cudaMemcpy2DArrayToArray_ptds, cudaMemcpy2DFromArray,
    cudaMemcpy2DFromArray_ptds, cudaMemcpy2DFromArrayAsync, cudaMemcpy2DFromArrayAsync_ptsz,
    cudaMemcpy2DToArray, cudaMemcpy2DToArray_ptds, cudaMemcpy2DToArrayAsync,
    cudaMemcpy2DToArrayAsync_ptsz, cudaMemcpyArrayToArray, cudaMemcpyArrayToArray_ptds,
    cudaMemcpyFromArray, cudaMemcpyFromArray_ptds, cudaMemcpyFromArrayAsync,
    cudaMemcpyFromArrayAsync_ptsz, cudaMemcpyToArray, cudaMemcpyToArray_ptds,
    cudaMemcpyToArrayAsync, cudaMemcpyToArrayAsync_ptsz,
};
pub(super) use super::copy::fill::{
    cudaMemset, cudaMemset_ptds, cudaMemset2D, cudaMemset2D_ptds, cudaMemset2DAsync,
    cudaMemset2DAsync_ptsz, cudaMemset3D, cudaMemset3D_ptds, cudaMemset3DAsync,
    cudaMemset3DAsync_ptsz, cudaMemsetAsync, cudaMemsetAsync_ptsz,
};
pub(super) use super::copy::linear::{
    cudaMemcpy, cudaMemcpy_ptds, cudaMemcpyAsync, cudaMemcpyAsync_ptsz, cudaMemcpyBatchAsync_12,
    cudaMemcpyBatchAsync_13, cudaMemcpyBatchAsync_ptsz_12, cudaMemcpyBatchAsync_ptsz_13,
    cudaMemcpyPeer, cudaMemcpyPeerAsync, cudaMemcpyWithAttributesAsync,
    cudaMemcpyWithAttributesAsync_ptsz,
};
pub(super) use super::copy::planes::{
    cudaMemcpy2D, cudaMemcpy2D_ptds, cudaMemcpy2DAsync, cudaMemcpy2DAsync_ptsz, cudaMemcpy3D,
    cudaMemcpy3D_ptds, cudaMemcpy3DAsync, cudaMemcpy3DAsync_ptsz, cudaMemcpy3DBatchAsync_12,
    cudaMemcpy3DBatchAsync_13, cudaMemcpy3DBatchAsync_ptsz_12, cudaMemcpy3DBatchAsync_ptsz_13,
    cudaMemcpy3DPeer, cudaMemcpy3DPeer_ptds, cudaMemcpy3DPeerAsync, cudaMemcpy3DPeerAsync_ptsz,
    cudaMemcpy3DWithAttributesAsync, cudaMemcpy3DWithAttributesAsync_ptsz,
};
pub(super) use super::copy::symbol::{
    cudaGetSymbolAddress, cudaGetSymbolSize, cudaMemcpyFromSymbol, cudaMemcpyFromSymbol_ptds,
    cudaMemcpyFromSymbolAsync, cudaMemcpyFromSymbolAsync_ptsz, cudaMemcpyToSymbol,
    cudaMemcpyToSymbol_ptds, cudaMemcpyToSymbolAsync, cudaMemcpyToSymbolAsync_ptsz,
};
pub(super) use super::device::{
    cudaChooseDevice, cudaCtxResetPersistingL2Cache, cudaDeviceFlushGPUDirectRDMAWrites,
    cudaDeviceGetAttribute, cudaDeviceGetByPCIBusId, cudaDeviceGetCacheConfig,
    cudaDeviceGetHostAtomicCapabilities, cudaDeviceGetLimit, cudaDeviceGetNvSciSyncAttributes,
    cudaDeviceGetP2PAtomicCapabilities, cudaDeviceGetP2PAttribute, cudaDeviceGetPCIBusId,
    cudaDeviceGetSharedMemConfig, cudaDeviceGetStreamPriorityRange,
    cudaDeviceRegisterAsyncNotification, cudaDeviceReset, cudaDeviceSetCacheConfig,
    cudaDeviceSetLimit, cudaDeviceSetSharedMemConfig, cudaDeviceSynchronize,
    cudaDeviceUnregisterAsyncNotification, cudaGetDevice, cudaGetDeviceCount, cudaGetDeviceFlags,
    cudaGetDeviceProperties, cudaGetDeviceProperties_v2, cudaInitDevice, cudaSetDevice,
    cudaSetDeviceFlags, cudaSetDoubleForDevice, cudaSetDoubleForHost, cudaSetValidDevices,
    cudaThreadExit, cudaThreadGetCacheConfig, cudaThreadGetLimit, cudaThreadSetCacheConfig,
    cudaThreadSetLimit, cudaThreadSynchronize,
};
pub(super) use super::entry_point::{
    cudaGetDriverEntryPoint, cudaGetDriverEntryPoint_11, cudaGetDriverEntryPoint_ptsz,
    cudaGetDriverEntryPoint_ptsz_11, cudaGetDriverEntryPointByVersion,
    cudaGetDriverEntryPointByVersion_ptsz, cudaGetExportTable, cudaProfilerInitialize,
    cudaProfilerStart, cudaProfilerStop,
};
pub(super) use super::execution::{
    cudaDevResourceGenerateDesc, cudaDevSmResourceSplit, cudaDevSmResourceSplitByCount,
    cudaDeviceGetDevResource, cudaDeviceGetExecutionCtx, cudaExecutionCtxDestroy,
    cudaExecutionCtxGetDevResource, cudaExecutionCtxGetDevice, cudaExecutionCtxGetId,
    cudaExecutionCtxRecordEvent, cudaExecutionCtxStreamCreate, cudaExecutionCtxSynchronize,
    cudaExecutionCtxWaitEvent, cudaGreenCtxCreate,
};
pub(super) use super::external::{
    cudaDestroyExternalMemory, cudaDestroyExternalSemaphore, cudaEGLStreamConsumerAcquireFrame,
    cudaEGLStreamConsumerConnect, cudaEGLStreamConsumerConnectWithFlags,
    cudaEGLStreamConsumerDisconnect, cudaEGLStreamConsumerReleaseFrame,
    cudaEGLStreamProducerConnect, cudaEGLStreamProducerDisconnect,
    cudaExternalMemoryGetMappedBuffer, cudaGLGetDevices, cudaGLMapBufferObject,
    cudaGLMapBufferObjectAsync, cudaGLRegisterBufferObject, cudaGLSetBufferObjectMapFlags,
    cudaGLSetGLDevice, cudaGLUnmapBufferObject, cudaGLUnmapBufferObjectAsync,
    cudaGLUnregisterBufferObject, cudaGraphicsEGLRegisterImage, cudaGraphicsGLRegisterBuffer,
    cudaGraphicsGLRegisterImage, cudaGraphicsMapResources,
    cudaGraphicsResourceGetMappedMipmappedArray, cudaGraphicsResourceGetMappedPointer,
    cudaGraphicsResourceSetMapFlags, cudaGraphicsSubResourceGetMappedArray,
    cudaGraphicsUnmapResources, cudaGraphicsUnregisterResource,
    cudaGraphicsVDPAURegisterOutputSurface, cudaGraphicsVDPAURegisterVideoSurface,
    cudaImportExternalMemory, cudaImportExternalSemaphore, cudaSignalExternalSemaphoresAsync,
    cudaSignalExternalSemaphoresAsync_12, cudaSignalExternalSemaphoresAsync_ptsz,
    cudaSignalExternalSemaphoresAsync_ptsz_12, cudaSignalExternalSemaphoresAsync_v2,
    cudaSignalExternalSemaphoresAsync_v2_ptsz, cudaVDPAUGetDevice, cudaWaitExternalSemaphoresAsync,
    cudaWaitExternalSemaphoresAsync_12, cudaWaitExternalSemaphoresAsync_ptsz,
    cudaWaitExternalSemaphoresAsync_ptsz_12, cudaWaitExternalSemaphoresAsync_v2,
    cudaWaitExternalSemaphoresAsync_v2_ptsz,
};
pub(super) use super::function::{
    __cudaGetKernel, cudaFuncGetAttributes, cudaFuncGetName, cudaFuncGetParamCount,
    cudaFuncGetParamInfo, cudaFuncSetAttribute, cudaFuncSetCacheConfig, cudaFuncSetSharedMemConfig,
    cudaGetFuncBySymbol, cudaGetKernel, cudaKernelSetAttributeForDevice,
    cudaOccupancyAvailableDynamicSMemPerBlock, cudaOccupancyMaxActiveBlocksPerMultiprocessor,
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, cudaOccupancyMaxActiveClusters,
    cudaOccupancyMaxPotentialClusterSize,
};
pub(super) use super::graph::kernel::{
    cudaGraphAddKernelNode, cudaGraphAddNode, cudaGraphAddNode_12, cudaGraphAddNode_v2,
    cudaGraphExecKernelNodeSetParams, cudaGraphExecNodeSetParams, cudaGraphKernelNodeGetParams,
    cudaGraphKernelNodeSetParams, cudaGraphNodeGetParams, cudaGraphNodeSetParams,
};
pub(super) use super::graph::nodes::{
    cudaGraphAddChildGraphNode, cudaGraphAddEmptyNode, cudaGraphAddEventRecordNode,
    cudaGraphAddEventWaitNode, cudaGraphAddExternalSemaphoresSignalNode,
    cudaGraphAddExternalSemaphoresWaitNode, cudaGraphAddHostNode, cudaGraphAddMemAllocNode,
    cudaGraphAddMemFreeNode, cudaGraphAddMemcpyNode, cudaGraphAddMemcpyNode1D,
    cudaGraphAddMemsetNode, cudaGraphChildGraphNodeGetGraph, cudaGraphEventRecordNodeGetEvent,
    cudaGraphEventRecordNodeSetEvent, cudaGraphEventWaitNodeGetEvent,
    cudaGraphEventWaitNodeSetEvent, cudaGraphExecChildGraphNodeSetParams,
    cudaGraphExecEventRecordNodeSetEvent, cudaGraphExecEventWaitNodeSetEvent,
    cudaGraphExecExternalSemaphoresSignalNodeSetParams,
    cudaGraphExecExternalSemaphoresWaitNodeSetParams, cudaGraphExecHostNodeSetParams,
    cudaGraphExecMemcpyNodeSetParams, cudaGraphExecMemcpyNodeSetParams1D,
    cudaGraphExecMemsetNodeSetParams, cudaGraphExternalSemaphoresSignalNodeGetParams,
    cudaGraphExternalSemaphoresSignalNodeSetParams, cudaGraphExternalSemaphoresWaitNodeGetParams,
    cudaGraphExternalSemaphoresWaitNodeSetParams, cudaGraphHostNodeGetParams,
    cudaGraphHostNodeSetParams, cudaGraphKernelNodeCopyAttributes, cudaGraphKernelNodeGetAttribute,
    cudaGraphKernelNodeSetAttribute, cudaGraphMemAllocNodeGetParams, cudaGraphMemFreeNodeGetParams,
    cudaGraphMemcpyNodeGetParams, cudaGraphMemcpyNodeSetParams, cudaGraphMemcpyNodeSetParams1D,
    cudaGraphMemsetNodeGetParams, cudaGraphMemsetNodeSetParams,
};
pub(super) use super::graph::symbol::{
    cudaGraphAddMemcpyNodeFromSymbol, cudaGraphAddMemcpyNodeToSymbol,
    cudaGraphExecMemcpyNodeSetParamsFromSymbol, cudaGraphExecMemcpyNodeSetParamsToSymbol,
    cudaGraphMemcpyNodeSetParamsFromSymbol, cudaGraphMemcpyNodeSetParamsToSymbol,
};
pub(super) use super::graph::{
    cudaDeviceGetGraphMemAttribute, cudaDeviceGraphMemTrim, cudaDeviceSetGraphMemAttribute,
    cudaGraphAddDependencies, cudaGraphAddDependencies_12, cudaGraphAddDependencies_v2,
    cudaGraphClone, cudaGraphConditionalHandleCreate, cudaGraphConditionalHandleCreate_v2,
    cudaGraphCreate, cudaGraphDebugDotPrint, cudaGraphDestroy, cudaGraphDestroyNode,
    cudaGraphExecDestroy, cudaGraphExecGetFlags, cudaGraphExecGetId, cudaGraphExecUpdate,
    cudaGraphExecUpdate_12, cudaGraphGetEdges, cudaGraphGetEdges_12, cudaGraphGetEdges_v2,
    cudaGraphGetId, cudaGraphGetNodes, cudaGraphGetRootNodes, cudaGraphInstantiate,
    cudaGraphInstantiate_12, cudaGraphInstantiateWithFlags, cudaGraphInstantiateWithParams,
    cudaGraphInstantiateWithParams_ptsz, cudaGraphLaunch, cudaGraphLaunch_ptsz,
    cudaGraphNodeFindInClone, cudaGraphNodeGetContainingGraph, cudaGraphNodeGetDependencies,
    cudaGraphNodeGetDependencies_12, cudaGraphNodeGetDependencies_v2,
    cudaGraphNodeGetDependentNodes, cudaGraphNodeGetDependentNodes_12,
    cudaGraphNodeGetDependentNodes_v2, cudaGraphNodeGetEnabled, cudaGraphNodeGetLocalId,
    cudaGraphNodeGetToolsId, cudaGraphNodeGetType, cudaGraphNodeSetEnabled,
    cudaGraphReleaseUserObject, cudaGraphRemoveDependencies, cudaGraphRemoveDependencies_12,
    cudaGraphRemoveDependencies_v2, cudaGraphRetainUserObject, cudaGraphUpload,
    cudaGraphUpload_ptsz, cudaUserObjectCreate, cudaUserObjectRelease, cudaUserObjectRetain,
};
pub(super) use super::launch::{
    __cudaLaunchKernel, __cudaLaunchKernel_ptsz, __cudaPopCallConfiguration,
    __cudaPushCallConfiguration, cudaLaunchCooperativeKernel, cudaLaunchCooperativeKernel_ptsz,
    cudaLaunchCooperativeKernelMultiDevice, cudaLaunchKernel, cudaLaunchKernel_ptsz,
    cudaLaunchKernelExC, cudaLaunchKernelExC_ptsz,
};
pub(super) use super::library::{
    cudaLibraryEnumerateKernels, cudaLibraryGetGlobal, cudaLibraryGetKernel,
    cudaLibraryGetKernelCount, cudaLibraryGetManaged, cudaLibraryGetUnifiedFunction,
    cudaLibraryLoadData, cudaLibraryLoadFromFile, cudaLibraryUnload,
};
pub(super) use super::logs::{
    cudaLogsCurrent, cudaLogsDumpToFile, cudaLogsDumpToMemory, cudaLogsRegisterCallback,
    cudaLogsUnregisterCallback,
};
pub(super) use super::memory::device::{
    cudaFree, cudaFreeAsync, cudaFreeAsync_ptsz, cudaMalloc, cudaMalloc3D, cudaMallocAsync,
    cudaMallocAsync_ptsz, cudaMallocPitch, cudaMemGetInfo, cudaPointerGetAttributes,
};
pub(super) use super::memory::host::{
    cudaFreeHost, cudaHostAlloc, cudaHostGetDevicePointer, cudaHostGetFlags, cudaHostRegister,
    cudaHostUnregister, cudaMallocHost,
};
pub(super) use super::memory::managed::{
    cudaMallocManaged, cudaMemAdvise, cudaMemAdvise_12, cudaMemAdvise_v2,
    cudaMemDiscardAndPrefetchBatchAsync, cudaMemDiscardAndPrefetchBatchAsync_ptsz,
    cudaMemDiscardBatchAsync, cudaMemDiscardBatchAsync_ptsz, cudaMemGetLocationInfo,
    cudaMemPrefetchAsync, cudaMemPrefetchAsync_12, cudaMemPrefetchAsync_ptsz,
    cudaMemPrefetchAsync_ptsz_12, cudaMemPrefetchAsync_v2, cudaMemPrefetchAsync_v2_ptsz,
    cudaMemPrefetchBatchAsync, cudaMemPrefetchBatchAsync_ptsz, cudaMemRangeGetAttribute,
    cudaMemRangeGetAttributes, cudaStreamAttachMemAsync, cudaStreamAttachMemAsync_ptsz,
};
pub(super) use super::memory::peer::{
    cudaDeviceCanAccessPeer, cudaDeviceDisablePeerAccess, cudaDeviceEnablePeerAccess,
    cudaIpcCloseMemHandle, cudaIpcGetEventHandle, cudaIpcGetMemHandle, cudaIpcOpenEventHandle,
    cudaIpcOpenMemHandle,
};
pub(super) use super::memory::pool::{
    cudaDeviceGetDefaultMemPool, cudaDeviceGetMemPool, cudaDeviceSetMemPool,
    cudaMallocFromPoolAsync, cudaMallocFromPoolAsync_ptsz, cudaMemGetDefaultMemPool,
    cudaMemGetMemPool, cudaMemPoolCreate, cudaMemPoolDestroy, cudaMemPoolExportPointer,
    cudaMemPoolExportToShareableHandle, cudaMemPoolGetAccess, cudaMemPoolGetAttribute,
    cudaMemPoolImportFromShareableHandle, cudaMemPoolImportPointer, cudaMemPoolSetAccess,
    cudaMemPoolSetAttribute, cudaMemPoolTrimTo, cudaMemSetMemPool,
};
pub(super) use super::registry::{
    __cudaInitModule, __cudaRegisterFatBinary, __cudaRegisterFatBinaryEnd, __cudaRegisterFunction,
    __cudaRegisterManagedVar, __cudaRegisterSurface, __cudaRegisterTexture, __cudaRegisterVar,
    __cudaUnregisterFatBinary,
};
pub(super) use super::report::{
    cudaDriverGetVersion, cudaGetErrorName, cudaGetErrorString, cudaGetLastError,
    cudaPeekAtLastError, cudaRuntimeGetVersion,
};
pub(super) use super::stream::{
    cudaEventCreate, cudaEventCreateFromEGLSync, cudaEventCreateWithFlags, cudaEventDestroy,
    cudaEventElapsedTime, cudaEventElapsedTime_v2, cudaEventQuery, cudaEventRecord,
    cudaEventRecord_ptsz, cudaEventRecordWithFlags, cudaEventRecordWithFlags_ptsz,
    cudaEventSynchronize, cudaLaunchHostFunc, cudaLaunchHostFunc_ptsz, cudaLaunchHostFunc_v2,
    cudaLaunchHostFunc_v2_ptsz, cudaStreamAddCallback, cudaStreamAddCallback_ptsz,
    cudaStreamBeginCapture, cudaStreamBeginCapture_ptsz, cudaStreamBeginCaptureToGraph,
    cudaStreamBeginCaptureToGraph_ptsz, cudaStreamBeginRecaptureToGraph,
    cudaStreamBeginRecaptureToGraph_ptsz, cudaStreamCopyAttributes, cudaStreamCopyAttributes_ptsz,
    cudaStreamCreate, cudaStreamCreateWithFlags, cudaStreamCreateWithPriority, cudaStreamDestroy,
    cudaStreamEndCapture, cudaStreamEndCapture_ptsz, cudaStreamGetAttribute,
    cudaStreamGetAttribute_ptsz, cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo_12,
    cudaStreamGetCaptureInfo_ptsz, cudaStreamGetCaptureInfo_ptsz_12, cudaStreamGetCaptureInfo_v2,
    cudaStreamGetCaptureInfo_v2_ptsz, cudaStreamGetCaptureInfo_v3,
    cudaStreamGetCaptureInfo_v3_ptsz, cudaStreamGetDevResource, cudaStreamGetDevResource_ptsz,
    cudaStreamGetDevice, cudaStreamGetDevice_ptsz, cudaStreamGetFlags, cudaStreamGetFlags_ptsz,
    cudaStreamGetId, cudaStreamGetId_ptsz, cudaStreamGetPriority, cudaStreamGetPriority_ptsz,
    cudaStreamIsCapturing, cudaStreamIsCapturing_ptsz, cudaStreamQuery, cudaStreamQuery_ptsz,
    cudaStreamSetAttribute, cudaStreamSetAttribute_ptsz, cudaStreamSynchronize,
    cudaStreamSynchronize_ptsz, cudaStreamUpdateCaptureDependencies,
    cudaStreamUpdateCaptureDependencies_12, cudaStreamUpdateCaptureDependencies_ptsz,
    cudaStreamUpdateCaptureDependencies_ptsz_12, cudaStreamUpdateCaptureDependencies_v2,
    cudaStreamUpdateCaptureDependencies_v2_ptsz, cudaStreamWaitEvent, cudaStreamWaitEvent_ptsz,
    cudaThreadExchangeStreamCaptureMode,
};
pub(super) use super::texture::reference::{
    cudaBindSurfaceToArray, cudaBindTexture, cudaBindTexture2D, cudaBindTextureToArray,
    cudaBindTextureToMipmappedArray, cudaGetSurfaceReference, cudaGetTextureAlignmentOffset,
    cudaGetTextureReference, cudaUnbindTexture,
};
pub(super) use super::texture::{
    cudaCreateSurfaceObject, cudaCreateTextureObject, cudaCreateTextureObject_v2,
    cudaDestroySurfaceObject, cudaDestroyTextureObject, cudaDeviceGetTexture1DLinearMaxWidth,
    cudaGetSurfaceObjectResourceDesc, cudaGetTextureObjectResourceDesc,
    cudaGetTextureObjectResourceViewDesc, cudaGetTextureObjectTextureDesc,
    cudaGetTextureObjectTextureDesc_v2,
};
pub(super) use super::unsupported::*;
