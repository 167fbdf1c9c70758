// The moments at which kernels' output appears: before a callback of their stream, and when the
// context is reset although nothing else waits for it.
#include "../common.h"

__global__ void say(int n) { printf("kernel %d\n", n); }

static void CUDART_CB called(cudaStream_t, cudaError_t status, void *)
{
    printf("callback: %s\n", cudaGetErrorName(status));
}

int main()
{
    cudaStream_t stream = nullptr;
    NEED(cudaStreamCreate(&stream));
    say<<<1, 1, 0, stream>>>(1);
    LAUNCHED("say");
    CK(cudaStreamAddCallback(stream, called, nullptr, 0));
    CK(cudaStreamSynchronize(stream));
    printf("synchronized\n");
    say<<<1, 1, 0, stream>>>(2);
    LAUNCHED("say");
    CK(cudaDeviceReset());
    printf("reset\n");
    say<<<1, 1>>>(3);
    LAUNCHED("say");
    CK(cudaDeviceReset());
    printf("reset again\n");
    return finish();
}
