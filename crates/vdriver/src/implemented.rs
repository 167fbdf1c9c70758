//! The list of implemented driver functions: each name here hides the one that returns "not supported".
//!
//! Must not know: what they do.

pub(super) use super::context_api::{
    cuCtxAttach, cuCtxCreate_v2, cuCtxCreate_v3, cuCtxCreate_v4, cuCtxDestroy, cuCtxDestroy_v2,
    cuCtxDetach, cuCtxDisablePeerAccess, cuCtxEnablePeerAccess, cuCtxGetApiVersion,
    cuCtxGetCacheConfig, cuCtxGetCurrent, cuCtxGetDevice, cuCtxGetDevice_v2, cuCtxGetExecAffinity,
    cuCtxGetFlags, cuCtxGetId, cuCtxGetLimit, cuCtxGetSharedMemConfig, cuCtxGetStreamPriorityRange,
    cuCtxPopCurrent, cuCtxPopCurrent_v2, cuCtxPushCurrent, cuCtxPushCurrent_v2,
    cuCtxResetPersistingL2Cache, cuCtxSetCacheConfig, cuCtxSetCurrent, cuCtxSetFlags,
    cuCtxSetLimit, cuCtxSetSharedMemConfig, cuCtxSynchronize, cuCtxSynchronize_v2,
    cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2,
    cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxRetain,
    cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2,
};
pub(super) use super::device::{
    cuDeviceCanAccessPeer, cuDeviceComputeCapability, cuDeviceGet, cuDeviceGetAttribute,
    cuDeviceGetByPCIBusId, cuDeviceGetCount, cuDeviceGetExecAffinitySupport, cuDeviceGetLuid,
    cuDeviceGetName, cuDeviceGetP2PAttribute, cuDeviceGetPCIBusId, cuDeviceGetProperties,
    cuDeviceGetTexture1DLinearMaxWidth, cuDeviceGetUuid, cuDeviceGetUuid_v2, cuDeviceTotalMem_v2,
    cuDriverGetVersion, cuFlushGPUDirectRDMAWrites,
};
pub(super) use super::event_api::{
    cuCtxRecordEvent, cuCtxWaitEvent, cuEventCreate, cuEventDestroy, cuEventDestroy_v2,
    cuEventElapsedTime, cuEventElapsedTime_v2, cuEventQuery, cuEventRecord, cuEventRecord_ptsz,
    cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz, cuEventSynchronize, cuIpcGetEventHandle,
    cuIpcOpenEventHandle, cuStreamWaitEvent, cuStreamWaitEvent_ptsz,
};
pub(super) use super::function_api::{
    cuFuncGetAttribute, cuFuncGetModule, cuFuncGetName, cuFuncGetParamCount, cuFuncGetParamInfo,
    cuFuncIsLoaded, cuFuncLoad, cuFuncSetAttribute, cuFuncSetCacheConfig, cuFuncSetSharedMemConfig,
};
pub(super) use super::graph::batch::{
    cuGraphAddBatchMemOpNode, cuGraphBatchMemOpNodeGetParams, cuGraphBatchMemOpNodeSetParams,
    cuGraphExecBatchMemOpNodeSetParams,
};
pub(super) use super::graph::build::{
    cuGraphAddChildGraphNode, cuGraphAddEmptyNode, cuGraphAddEventRecordNode,
    cuGraphAddEventWaitNode, cuGraphAddHostNode, cuGraphAddMemAllocNode, cuGraphAddMemFreeNode,
    cuGraphAddMemcpyNode, cuGraphAddMemsetNode, cuGraphAddNode, cuGraphAddNode_v2,
    cuGraphAddNode_v3, cuGraphChildGraphNodeGetGraph, cuGraphCreate, cuGraphDestroy,
    cuGraphDestroyNode, cuGraphEventRecordNodeGetEvent, cuGraphEventRecordNodeSetEvent,
    cuGraphEventWaitNodeGetEvent, cuGraphEventWaitNodeSetEvent, cuGraphHostNodeGetParams,
    cuGraphHostNodeSetParams, cuGraphMemAllocNodeGetParams, cuGraphMemFreeNodeGetParams,
    cuGraphMemcpyNodeGetParams, cuGraphMemcpyNodeSetParams, cuGraphMemsetNodeGetParams,
    cuGraphMemsetNodeSetParams, cuGraphNodeGetContainingGraph, cuGraphNodeGetType,
    cuGraphNodeSetParams, cuGraphNodeSetParams_v2,
};
pub(super) use super::graph::condition::cuGraphConditionalHandleCreate;
pub(super) use super::graph::exec::{
    cuGraphExecChildGraphNodeSetParams, cuGraphExecDestroy, cuGraphExecEventRecordNodeSetEvent,
    cuGraphExecEventWaitNodeSetEvent, cuGraphExecGetFlags, cuGraphExecGetId,
    cuGraphExecHostNodeSetParams, cuGraphExecMemcpyNodeSetParams, cuGraphExecMemsetNodeSetParams,
    cuGraphExecNodeSetParams, cuGraphExecUpdate, cuGraphExecUpdate_v2, cuGraphInstantiate,
    cuGraphInstantiate_v2, cuGraphInstantiateWithFlags, cuGraphInstantiateWithParams,
    cuGraphInstantiateWithParams_ptsz, cuGraphNodeGetEnabled, cuGraphNodeSetEnabled,
};
pub(super) use super::graph::get::cuGraphNodeGetParams;
pub(super) use super::graph::kernel::{
    cuGraphAddKernelNode, cuGraphAddKernelNode_v2, cuGraphExecKernelNodeSetParams,
    cuGraphExecKernelNodeSetParams_v2, cuGraphKernelNodeCopyAttributes,
    cuGraphKernelNodeGetAttribute, cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v2,
    cuGraphKernelNodeSetAttribute, cuGraphKernelNodeSetParams, cuGraphKernelNodeSetParams_v2,
};
pub(super) use super::graph::launch::{
    cuGraphLaunch, cuGraphLaunch_ptsz, cuGraphUpload, cuGraphUpload_ptsz,
};
pub(super) use super::graph::memory::{
    cuDeviceGetGraphMemAttribute, cuDeviceGraphMemTrim, cuDeviceSetGraphMemAttribute,
};
pub(super) use super::graph::object_api::{
    cuGraphReleaseUserObject, cuGraphRetainUserObject, cuUserObjectCreate, cuUserObjectRelease,
    cuUserObjectRetain,
};
pub(super) use super::graph::shape::{
    cuGraphAddDependencies, cuGraphAddDependencies_v2, cuGraphClone, cuGraphDebugDotPrint,
    cuGraphGetEdges, cuGraphGetEdges_v2, cuGraphGetId, cuGraphGetNodes, cuGraphGetRootNodes,
    cuGraphNodeFindInClone, cuGraphNodeGetDependencies, cuGraphNodeGetDependencies_v2,
    cuGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes_v2, cuGraphNodeGetLocalId,
    cuGraphNodeGetToolsId, cuGraphRemoveDependencies, cuGraphRemoveDependencies_v2,
};
pub(super) use super::init::cuInit;
pub(super) use super::kernel::{
    cuKernelGetAttribute, cuKernelGetFunction, cuKernelGetLibrary, cuKernelGetName,
    cuKernelGetParamCount, cuKernelGetParamInfo, cuKernelSetAttribute, cuKernelSetCacheConfig,
};
pub(super) use super::launch::api::{
    cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz, cuLaunchKernel, cuLaunchKernel_ptsz,
    cuLaunchKernelEx, cuLaunchKernelEx_ptsz,
};
pub(super) use super::launch::legacy::{
    cuFuncSetBlockShape, cuFuncSetSharedSize, cuLaunch, cuLaunchGrid, cuLaunchGridAsync,
    cuParamSetSize, cuParamSetf, cuParamSeti, cuParamSetv,
};
pub(super) use super::library::{
    cuLibraryEnumerateKernels, cuLibraryGetGlobal, cuLibraryGetKernel, cuLibraryGetKernelCount,
    cuLibraryGetManaged, cuLibraryGetModule, cuLibraryGetUnifiedFunction, cuLibraryLoadData,
    cuLibraryLoadFromFile, cuLibraryUnload,
};
pub(super) use super::link::{
    cuLinkAddData, cuLinkAddData_v2, cuLinkAddFile, cuLinkAddFile_v2, cuLinkComplete, cuLinkCreate,
    cuLinkCreate_v2, cuLinkDestroy,
};
pub(super) use super::lookup::{
    cuGetErrorName, cuGetErrorString, cuGetExportTable, cuGetProcAddress, cuGetProcAddress_v2,
    cuProfilerStart, cuProfilerStop,
};
pub(super) use super::memory::alloc::{
    cuMemAdvise, cuMemAdvise_v2, cuMemAlloc_v2, cuMemAllocManaged, cuMemAllocPitch_v2,
    cuMemFree_v2, cuMemGetAddressRange_v2, cuMemGetInfo_v2, cuMemPrefetchAsync,
    cuMemPrefetchAsync_ptsz, cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2_ptsz,
    cuMemRangeGetAttribute, cuMemRangeGetAttributes, cuStreamAttachMemAsync,
    cuStreamAttachMemAsync_ptsz,
};
pub(super) use super::memory::array::{
    cuArray3DCreate_v2, cuArray3DGetDescriptor_v2, cuArrayCreate_v2, cuArrayDestroy,
    cuArrayGetDescriptor_v2, cuArrayGetMemoryRequirements, cuArrayGetPlane,
    cuArrayGetSparseProperties,
};
pub(super) use super::memory::array_copy::{
    cuMemcpyAtoA_v2, cuMemcpyAtoA_v2_ptds, cuMemcpyAtoD_v2, cuMemcpyAtoD_v2_ptds, cuMemcpyAtoH_v2,
    cuMemcpyAtoH_v2_ptds, cuMemcpyAtoHAsync_v2, cuMemcpyAtoHAsync_v2_ptsz, cuMemcpyDtoA_v2,
    cuMemcpyDtoA_v2_ptds, cuMemcpyHtoA_v2, cuMemcpyHtoA_v2_ptds, cuMemcpyHtoAAsync_v2,
    cuMemcpyHtoAAsync_v2_ptsz,
};
pub(super) use super::memory::batch::{
    cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync_ptsz,
    cuMemDiscardBatchAsync, cuMemDiscardBatchAsync_ptsz, cuMemPrefetchBatchAsync,
    cuMemPrefetchBatchAsync_ptsz,
};
pub(super) use super::memory::batch_planes::{
    cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_ptsz, cuMemcpy3DBatchAsync_v2,
    cuMemcpy3DBatchAsync_v2_ptsz, cuMemcpy3DWithAttributesAsync,
    cuMemcpy3DWithAttributesAsync_ptsz,
};
pub(super) use super::memory::copy::{
    cuMemcpy, cuMemcpy_ptds, cuMemcpyAsync, cuMemcpyAsync_ptsz, cuMemcpyBatchAsync,
    cuMemcpyBatchAsync_ptsz, cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync_v2_ptsz, cuMemcpyDtoD_v2,
    cuMemcpyDtoD_v2_ptds, cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoH_v2,
    cuMemcpyDtoH_v2_ptds, cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyHtoD_v2,
    cuMemcpyHtoD_v2_ptds, cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyPeer,
    cuMemcpyPeer_ptds, cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz, cuMemcpyWithAttributesAsync,
    cuMemcpyWithAttributesAsync_ptsz,
};
pub(super) use super::memory::host::{
    cuMemAllocHost_v2, cuMemFreeHost, cuMemHostAlloc, cuMemHostGetDevicePointer_v2,
    cuMemHostGetFlags, cuMemHostRegister_v2, cuMemHostUnregister,
};
pub(super) use super::memory::ipc::{
    cuIpcCloseMemHandle, cuIpcGetMemHandle, cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2,
};
pub(super) use super::memory::mapped::{
    cuMemAddressFree, cuMemAddressReserve, cuMemGetAccess, cuMemMap, cuMemRetainAllocationHandle,
    cuMemSetAccess, cuMemUnmap,
};
pub(super) use super::memory::mipmap::{
    cuMipmappedArrayCreate, cuMipmappedArrayDestroy, cuMipmappedArrayGetLevel,
    cuMipmappedArrayGetMemoryRequirements, cuMipmappedArrayGetSparseProperties,
};
pub(super) use super::memory::physical::{
    cuMemCreate, cuMemExportToShareableHandle, cuMemGetAllocationGranularity,
    cuMemGetAllocationPropertiesFromHandle, cuMemImportFromShareableHandle, cuMemRelease,
};
pub(super) use super::memory::pointer::{
    cuPointerGetAttribute, cuPointerGetAttributes, cuPointerSetAttribute,
};
pub(super) use super::memory::pool_access::{cuMemPoolGetAccess, cuMemPoolSetAccess};
pub(super) use super::memory::pool_api::{
    cuDeviceGetDefaultMemPool, cuDeviceGetMemPool, cuDeviceSetMemPool, cuMemAllocAsync,
    cuMemAllocAsync_ptsz, cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz, cuMemFreeAsync,
    cuMemFreeAsync_ptsz, cuMemGetDefaultMemPool, cuMemGetMemPool, cuMemPoolCreate,
    cuMemPoolDestroy, cuMemPoolGetAttribute, cuMemPoolSetAttribute, cuMemPoolTrimTo,
    cuMemSetMemPool,
};
pub(super) use super::memory::pool_share::{
    cuMemPoolExportPointer, cuMemPoolExportToShareableHandle, cuMemPoolImportFromShareableHandle,
    cuMemPoolImportPointer,
};
pub(super) use super::memory::set::{
    cuMemsetD2D8_v2, cuMemsetD2D8_v2_ptds, cuMemsetD2D8Async, cuMemsetD2D8Async_ptsz,
    cuMemsetD2D16_v2, cuMemsetD2D16_v2_ptds, cuMemsetD2D16Async, cuMemsetD2D16Async_ptsz,
    cuMemsetD2D32_v2, cuMemsetD2D32_v2_ptds, cuMemsetD2D32Async, cuMemsetD2D32Async_ptsz,
    cuMemsetD8_v2, cuMemsetD8_v2_ptds, cuMemsetD8Async, cuMemsetD8Async_ptsz, cuMemsetD16_v2,
    cuMemsetD16_v2_ptds, cuMemsetD16Async, cuMemsetD16Async_ptsz, cuMemsetD32_v2,
    cuMemsetD32_v2_ptds, cuMemsetD32Async, cuMemsetD32Async_ptsz,
};
pub(super) use super::memory::shape::{
    cuMemcpy2D_v2, cuMemcpy2D_v2_ptds, cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz,
    cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds, cuMemcpy3D_v2, cuMemcpy3D_v2_ptds,
    cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DPeer, cuMemcpy3DPeer_ptds,
    cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz,
};
pub(super) use super::module::{
    cuModuleEnumerateFunctions, cuModuleGetFunction, cuModuleGetFunctionCount,
    cuModuleGetGlobal_v2, cuModuleGetLoadingMode, cuModuleLoad, cuModuleLoadData,
    cuModuleLoadDataEx, cuModuleLoadFatBinary, cuModuleUnload,
};
pub(super) use super::notify::{
    cuDeviceRegisterAsyncNotification, cuDeviceUnregisterAsyncNotification,
};
pub(super) use super::occupancy::{
    cuOccupancyAvailableDynamicSMemPerBlock, cuOccupancyMaxActiveBlocksPerMultiprocessor,
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, cuOccupancyMaxActiveClusters,
    cuOccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSizeWithFlags,
    cuOccupancyMaxPotentialClusterSize,
};
pub(super) use super::resource::{
    cuCtxGetDevResource, cuDeviceGetDevResource, cuStreamGetDevResource,
    cuStreamGetDevResource_ptsz,
};
pub(super) use super::stream::api::{
    cuStreamCopyAttributes, cuStreamCopyAttributes_ptsz, cuStreamCreate,
    cuStreamCreateWithPriority, cuStreamDestroy, cuStreamDestroy_v2, cuStreamGetAttribute,
    cuStreamGetAttribute_ptsz, cuStreamGetCtx, cuStreamGetCtx_ptsz, cuStreamGetCtx_v2,
    cuStreamGetCtx_v2_ptsz, cuStreamGetDevice, cuStreamGetDevice_ptsz, cuStreamGetFlags,
    cuStreamGetFlags_ptsz, cuStreamGetGreenCtx, cuStreamGetId, cuStreamGetId_ptsz,
    cuStreamGetPriority, cuStreamGetPriority_ptsz, cuStreamQuery, cuStreamQuery_ptsz,
    cuStreamSetAttribute, cuStreamSetAttribute_ptsz, cuStreamSynchronize, cuStreamSynchronize_ptsz,
};
pub(super) use super::stream::callback::{
    cuLaunchHostFunc, cuLaunchHostFunc_ptsz, cuLaunchHostFunc_v2, cuLaunchHostFunc_v2_ptsz,
    cuStreamAddCallback, cuStreamAddCallback_ptsz,
};
pub(super) use super::stream::capture_api::{
    cuStreamBeginCapture, cuStreamBeginCapture_ptsz, cuStreamBeginCapture_v2,
    cuStreamBeginCapture_v2_ptsz, cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz,
    cuStreamEndCapture, cuStreamEndCapture_ptsz, cuStreamGetCaptureInfo,
    cuStreamGetCaptureInfo_ptsz, cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2_ptsz,
    cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3_ptsz, cuStreamIsCapturing,
    cuStreamIsCapturing_ptsz, cuStreamUpdateCaptureDependencies,
    cuStreamUpdateCaptureDependencies_ptsz, cuStreamUpdateCaptureDependencies_v2,
    cuStreamUpdateCaptureDependencies_v2_ptsz, cuThreadExchangeStreamCaptureMode,
};
pub(super) use super::stream::value::{
    cuStreamBatchMemOp, cuStreamBatchMemOp_ptsz, cuStreamBatchMemOp_v2, cuStreamBatchMemOp_v2_ptsz,
    cuStreamWaitValue32, cuStreamWaitValue32_ptsz, cuStreamWaitValue32_v2,
    cuStreamWaitValue32_v2_ptsz, cuStreamWaitValue64, cuStreamWaitValue64_ptsz,
    cuStreamWaitValue64_v2, cuStreamWaitValue64_v2_ptsz, cuStreamWriteValue32,
    cuStreamWriteValue32_ptsz, cuStreamWriteValue32_v2, cuStreamWriteValue32_v2_ptsz,
    cuStreamWriteValue64, cuStreamWriteValue64_ptsz, cuStreamWriteValue64_v2,
    cuStreamWriteValue64_v2_ptsz,
};
pub(super) use super::tensor::{
    cuTensorMapEncodeIm2col, cuTensorMapEncodeTiled, cuTensorMapReplaceAddress,
};
pub(super) use super::texture::reference::{
    cuModuleGetSurfRef, cuModuleGetTexRef, cuParamSetTexRef, cuSurfRefGetArray, cuSurfRefSetArray,
    cuTexRefCreate, cuTexRefDestroy, cuTexRefGetAddress_v2, cuTexRefGetAddressMode,
    cuTexRefGetArray, cuTexRefGetBorderColor, cuTexRefGetFilterMode, cuTexRefGetFlags,
    cuTexRefGetFormat, cuTexRefGetMaxAnisotropy, cuTexRefGetMipmapFilterMode,
    cuTexRefGetMipmapLevelBias, cuTexRefGetMipmapLevelClamp, cuTexRefGetMipmappedArray,
    cuTexRefSetAddress_v2, cuTexRefSetAddress2D_v2, cuTexRefSetAddress2D_v3,
    cuTexRefSetAddressMode, cuTexRefSetArray, cuTexRefSetBorderColor, cuTexRefSetFilterMode,
    cuTexRefSetFlags, cuTexRefSetFormat, cuTexRefSetMaxAnisotropy, cuTexRefSetMipmapFilterMode,
    cuTexRefSetMipmapLevelBias, cuTexRefSetMipmapLevelClamp, cuTexRefSetMipmappedArray,
};
pub(super) use super::texture::{
    cuSurfObjectCreate, cuSurfObjectDestroy, cuSurfObjectGetResourceDesc, cuTexObjectCreate,
    cuTexObjectDestroy, cuTexObjectGetResourceDesc, cuTexObjectGetResourceViewDesc,
    cuTexObjectGetTextureDesc,
};
pub(super) use super::unsupported::*;
