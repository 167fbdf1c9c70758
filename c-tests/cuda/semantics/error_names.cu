// Names and texts of errors, through the runtime, and for invalid codes.
#include "../common.h"

__global__ void nothing() {}

int main()
{
    const cudaError_t codes[] = {
        cudaSuccess, cudaErrorInvalidValue, cudaErrorMemoryAllocation, cudaErrorInitializationError,
        cudaErrorInvalidConfiguration, cudaErrorInvalidPitchValue, cudaErrorInvalidSymbol,
        cudaErrorInvalidMemcpyDirection, cudaErrorInsufficientDriver, cudaErrorInvalidDeviceFunction,
        cudaErrorNoDevice, cudaErrorInvalidDevice, cudaErrorInvalidKernelImage, cudaErrorNoKernelImageForDevice,
        cudaErrorInvalidResourceHandle, cudaErrorSymbolNotFound, cudaErrorNotReady, cudaErrorIllegalAddress,
        cudaErrorLaunchOutOfResources, cudaErrorLaunchTimeout, cudaErrorPeerAccessAlreadyEnabled,
        cudaErrorAssert, cudaErrorHostMemoryAlreadyRegistered, cudaErrorHostMemoryNotRegistered,
        cudaErrorMisalignedAddress, cudaErrorLaunchFailure, cudaErrorCooperativeLaunchTooLarge,
        cudaErrorNotPermitted, cudaErrorNotSupported, cudaErrorStreamCaptureUnsupported,
        cudaErrorStreamCaptureInvalidated, cudaErrorStreamCaptureUnjoined, cudaErrorGraphExecUpdateFailure,
        cudaErrorUnknown,
    };
    for (cudaError_t code : codes)
        printf("%d %s: %s\n", (int)code, cudaGetErrorName(code), cudaGetErrorString(code));
    printf("%s: %s\n", cudaGetErrorName((cudaError_t)123456), cudaGetErrorString((cudaError_t)123456));
    NEED(cudaPeekAtLastError());
    nothing<<<1, 1>>>();
    LAUNCHED("nothing");
    CK(cudaDeviceSynchronize());
    return finish();
}
