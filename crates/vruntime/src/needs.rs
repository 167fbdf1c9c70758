//! The runtime functions that call driver functions that cushim's driver lacks.
//!
//! Owns the table: docs/functions.md is generated from it, and fuzzing and tests compare the driver calls with it.
//! When the driver gets a function, its rows may stay: the driver's own table lists what it has. Must not know: what
//! the functions do.

use cushim_abi::index::{Driver, Runtime};

macro_rules! needs {
    ($($($runtime:ident)+ => $($driver:ident)+;)*) => {
        const NEEDS: &[(&[Runtime], &[Driver])] =
            &[$((&[$(Runtime::$runtime),+], &[$(Driver::$driver),+])),*];
    };
}

needs! {
    cudaArrayGetMemoryRequirements => cuArrayGetMemoryRequirements;
    cudaArrayGetPlane => cuArrayGetPlane;
    cudaArrayGetSparseProperties => cuArrayGetSparseProperties;
    cudaBindSurfaceToArray => cuModuleGetSurfRef cuSurfRefSetArray;
    cudaBindTexture
        => cuModuleGetTexRef cuTexRefSetAddressMode cuTexRefSetAddress_v2 cuTexRefSetFilterMode
           cuTexRefSetFlags cuTexRefSetFormat cuTexRefSetMaxAnisotropy;
    cudaBindTexture2D
        => cuModuleGetTexRef cuTexRefSetAddress2D_v3 cuTexRefSetAddressMode cuTexRefSetFilterMode
           cuTexRefSetFlags cuTexRefSetFormat cuTexRefSetMaxAnisotropy;
    cudaBindTextureToArray cudaBindTextureToMipmappedArray
        => cuMipmappedArrayGetLevel cuModuleGetTexRef cuTexRefSetAddressMode cuTexRefSetArray
           cuTexRefSetFilterMode cuTexRefSetFlags cuTexRefSetMaxAnisotropy
           cuTexRefSetMipmapFilterMode cuTexRefSetMipmapLevelBias cuTexRefSetMipmapLevelClamp
           cuTexRefSetMipmappedArray;
    cudaCreateSurfaceObject => cuSurfObjectCreate;
    cudaCreateTextureObject cudaCreateTextureObject_v2
        => cuMipmappedArrayGetLevel cuTexObjectCreate;
    cudaDestroyExternalMemory => cuDestroyExternalMemory;
    cudaDestroyExternalSemaphore => cuDestroyExternalSemaphore;
    cudaDestroySurfaceObject => cuSurfObjectDestroy;
    cudaDestroyTextureObject => cuTexObjectDestroy;
    cudaDeviceGetDevResource => cuDeviceGetDevResource;
    cudaDeviceGetHostAtomicCapabilities => cuDeviceGetHostAtomicCapabilities;
    cudaDeviceGetNvSciSyncAttributes => cuDeviceGetNvSciSyncAttributes;
    cudaDeviceGetP2PAtomicCapabilities => cuDeviceGetP2PAtomicCapabilities;
    cudaDeviceRegisterAsyncNotification => cuDeviceRegisterAsyncNotification;
    cudaDeviceUnregisterAsyncNotification => cuDeviceUnregisterAsyncNotification;
    cudaDevResourceGenerateDesc => cuDevResourceGenerateDesc;
    cudaDevSmResourceSplit => cuDevSmResourceSplit;
    cudaDevSmResourceSplitByCount => cuDevSmResourceSplitByCount;
    cudaEGLStreamConsumerAcquireFrame => cuEGLStreamConsumerAcquireFrame;
    cudaEGLStreamConsumerConnect => cuEGLStreamConsumerConnect;
    cudaEGLStreamConsumerConnectWithFlags => cuEGLStreamConsumerConnectWithFlags;
    cudaEGLStreamConsumerDisconnect => cuEGLStreamConsumerDisconnect;
    cudaEGLStreamConsumerReleaseFrame => cuEGLStreamConsumerReleaseFrame;
    cudaEGLStreamProducerConnect => cuEGLStreamProducerConnect;
    cudaEGLStreamProducerDisconnect => cuEGLStreamProducerDisconnect;
    cudaEventCreateFromEGLSync => cuEventCreateFromEGLSync;
    cudaExecutionCtxDestroy => cuGreenCtxDestroy;
    cudaExecutionCtxGetDevResource => cuCtxGetDevResource cuGreenCtxGetDevResource;
    cudaExecutionCtxRecordEvent => cuGreenCtxRecordEvent;
    cudaExecutionCtxStreamCreate => cuGreenCtxStreamCreate;
    cudaExecutionCtxWaitEvent => cuGreenCtxWaitEvent;
    cudaExternalMemoryGetMappedBuffer => cuExternalMemoryGetMappedBuffer;
    cudaExternalMemoryGetMappedMipmappedArray => cuExternalMemoryGetMappedMipmappedArray;
    cudaFreeMipmappedArray => cuMipmappedArrayDestroy;
    cudaGetMipmappedArrayLevel => cuMipmappedArrayGetLevel;
    cudaGetSurfaceObjectResourceDesc => cuSurfObjectGetResourceDesc;
    cudaGetTextureObjectResourceDesc => cuTexObjectGetResourceDesc;
    cudaGetTextureObjectResourceViewDesc => cuTexObjectGetResourceViewDesc;
    cudaGetTextureObjectTextureDesc cudaGetTextureObjectTextureDesc_v2
        => cuMipmappedArrayGetLevel cuTexObjectGetResourceDesc cuTexObjectGetTextureDesc;
    cudaGLGetDevices => cuGLGetDevices_v2;
    cudaGLMapBufferObject => cuGLMapBufferObject_v2;
    cudaGLMapBufferObjectAsync => cuGLMapBufferObjectAsync_v2;
    cudaGLRegisterBufferObject => cuGLRegisterBufferObject;
    cudaGLSetBufferObjectMapFlags => cuGLSetBufferObjectMapFlags;
    cudaGLUnmapBufferObject => cuGLUnmapBufferObject;
    cudaGLUnmapBufferObjectAsync => cuGLUnmapBufferObjectAsync;
    cudaGLUnregisterBufferObject => cuGLUnregisterBufferObject;
    cudaGraphAddExternalSemaphoresSignalNode => cuGraphAddExternalSemaphoresSignalNode;
    cudaGraphAddExternalSemaphoresWaitNode => cuGraphAddExternalSemaphoresWaitNode;
    cudaGraphExecExternalSemaphoresSignalNodeSetParams
        => cuGraphExecExternalSemaphoresSignalNodeSetParams;
    cudaGraphExecExternalSemaphoresWaitNodeSetParams
        => cuGraphExecExternalSemaphoresWaitNodeSetParams;
    cudaGraphExternalSemaphoresSignalNodeGetParams => cuGraphExternalSemaphoresSignalNodeGetParams;
    cudaGraphExternalSemaphoresSignalNodeSetParams => cuGraphExternalSemaphoresSignalNodeSetParams;
    cudaGraphExternalSemaphoresWaitNodeGetParams => cuGraphExternalSemaphoresWaitNodeGetParams;
    cudaGraphExternalSemaphoresWaitNodeSetParams => cuGraphExternalSemaphoresWaitNodeSetParams;
    cudaGraphicsEGLRegisterImage => cuGraphicsEGLRegisterImage;
    cudaGraphicsGLRegisterBuffer => cuGraphicsGLRegisterBuffer;
    cudaGraphicsGLRegisterImage => cuGraphicsGLRegisterImage;
    cudaGraphicsMapResources => cuGraphicsMapResources;
    cudaGraphicsResourceGetMappedMipmappedArray => cuGraphicsResourceGetMappedMipmappedArray;
    cudaGraphicsResourceGetMappedPointer => cuGraphicsResourceGetMappedPointer_v2;
    cudaGraphicsResourceSetMapFlags => cuGraphicsResourceSetMapFlags_v2;
    cudaGraphicsSubResourceGetMappedArray => cuGraphicsSubResourceGetMappedArray;
    cudaGraphicsUnmapResources => cuGraphicsUnmapResources;
    cudaGraphicsUnregisterResource => cuGraphicsUnregisterResource;
    cudaGraphicsVDPAURegisterOutputSurface => cuGraphicsVDPAURegisterOutputSurface;
    cudaGraphicsVDPAURegisterVideoSurface => cuGraphicsVDPAURegisterVideoSurface;
    cudaGraphNodeGetParams => cuGraphNodeGetParams;
    cudaGreenCtxCreate => cuCtxFromGreenCtx cuGreenCtxCreate cuGreenCtxDestroy;
    cudaImportExternalMemory => cuImportExternalMemory;
    cudaImportExternalSemaphore => cuImportExternalSemaphore;
    cudaIpcCloseMemHandle => cuIpcCloseMemHandle;
    cudaIpcGetEventHandle => cuIpcGetEventHandle;
    cudaIpcGetMemHandle => cuIpcGetMemHandle;
    cudaIpcOpenEventHandle => cuIpcOpenEventHandle;
    cudaIpcOpenMemHandle => cuIpcOpenMemHandle_v2;
    cudaLaunchCooperativeKernelMultiDevice => cuLaunchCooperativeKernelMultiDevice;
    cudaLogsCurrent => cuLogsCurrent;
    cudaLogsDumpToFile => cuLogsDumpToFile;
    cudaLogsDumpToMemory => cuLogsDumpToMemory;
    cudaLogsRegisterCallback => cuLogsRegisterCallback;
    cudaLogsUnregisterCallback => cuLogsUnregisterCallback;
    cudaMallocMipmappedArray => cuMipmappedArrayCreate;
    cudaMemcpy3DBatchAsync_12 cudaMemcpy3DBatchAsync_ptsz_12 => cuMemcpy3DBatchAsync;
    cudaMemcpy3DBatchAsync_13 cudaMemcpy3DBatchAsync_ptsz_13 => cuMemcpy3DBatchAsync_v2;
    cudaMemcpy3DWithAttributesAsync cudaMemcpy3DWithAttributesAsync_ptsz
        => cuMemcpy3DWithAttributesAsync;
    cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz
        => cuMemDiscardAndPrefetchBatchAsync;
    cudaMemDiscardBatchAsync cudaMemDiscardBatchAsync_ptsz => cuMemDiscardBatchAsync;
    cudaMemGetLocationInfo => cuMemGetLocationInfo;
    cudaMemPoolExportPointer => cuMemPoolExportPointer;
    cudaMemPoolImportFromShareableHandle => cuMemPoolImportFromShareableHandle;
    cudaMemPoolImportPointer => cuMemPoolImportPointer;
    cudaMemPrefetchBatchAsync cudaMemPrefetchBatchAsync_ptsz => cuMemPrefetchBatchAsync;
    cudaMipmappedArrayGetMemoryRequirements => cuMipmappedArrayGetMemoryRequirements;
    cudaMipmappedArrayGetSparseProperties => cuMipmappedArrayGetSparseProperties;
    cudaProfilerInitialize => cuProfilerInitialize;
    cudaSignalExternalSemaphoresAsync cudaSignalExternalSemaphoresAsync_12
    cudaSignalExternalSemaphoresAsync_ptsz cudaSignalExternalSemaphoresAsync_ptsz_12
    cudaSignalExternalSemaphoresAsync_v2 cudaSignalExternalSemaphoresAsync_v2_ptsz
        => cuSignalExternalSemaphoresAsync;
    cudaStreamBeginRecaptureToGraph cudaStreamBeginRecaptureToGraph_ptsz
        => cuStreamBeginRecaptureToGraph;
    cudaStreamGetDevResource cudaStreamGetDevResource_ptsz => cuStreamGetDevResource;
    cudaUnbindTexture => cuModuleGetTexRef cuTexRefSetAddress_v2;
    cudaVDPAUGetDevice => cuVDPAUGetDevice;
    cudaWaitExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync_12
    cudaWaitExternalSemaphoresAsync_ptsz cudaWaitExternalSemaphoresAsync_ptsz_12
    cudaWaitExternalSemaphoresAsync_v2 cudaWaitExternalSemaphoresAsync_v2_ptsz
        => cuWaitExternalSemaphoresAsync;
}

/// The driver functions that the runtime function with this number calls and that cushim's driver
/// may lack.
pub fn needs(index: usize) -> &'static [Driver] {
    let row = NEEDS.iter().find(|(names, _)| names.iter().any(|name| *name as usize == index));
    row.map_or(&[], |(_, needs)| needs)
}
