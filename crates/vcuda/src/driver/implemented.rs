//! Which driver functions are ours: each is named here once and hides the one that says "not supported".
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
    cuDriverGetVersion, cuFlushGPUDirectRDMAWrites, cuInit,
};
pub(super) use super::unsupported::*;
