// Several streams with copies, events and waits between them, dynamic shared
// memory, and the special stream handles.
#include "common.h"

__global__ void scale(int *data, int n, int factor)
{
    extern __shared__ int tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? data[i] : 0;
    __syncthreads();
    if (i < n)
        data[i] = tile[threadIdx.x] * factor;
}

int main()
{
    const int streams = 4, n = 256;
    cudaStream_t s[streams] = {};
    cudaEvent_t done[streams] = {};
    int *d[streams] = {}, h[streams][n];
    for (int k = 0; k < streams; k++) {
        for (int i = 0; i < n; i++)
            h[k][i] = i;
        CK(cudaStreamCreateWithFlags(&s[k], k % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
        CK(cudaEventCreateWithFlags(&done[k], cudaEventDisableTiming));
        CK(cudaMalloc(&d[k], sizeof h[k]));
        CK(cudaMemcpyAsync(d[k], h[k], sizeof h[k], cudaMemcpyHostToDevice, s[k]));
        if (k)
            CK(cudaStreamWaitEvent(s[k], done[k - 1], 0));
        scale<<<4, 64, 64 * sizeof(int), s[k]>>>(d[k], n, k + 2);
        LAUNCHED("scale");
        CK(cudaEventRecord(done[k], s[k]));
        CK(cudaMemcpyAsync(h[k], d[k], sizeof h[k], cudaMemcpyDeviceToHost, s[k]));
    }
    for (int k = 0; k < streams; k++) {
        CK(cudaStreamSynchronize(s[k]));
        printf("stream %d: %d %d\n", k, h[k][1], h[k][255]);
    }
    scale<<<4, 64, 256, cudaStreamLegacy>>>(d[0], n, 10);
    LAUNCHED("legacy stream");
    scale<<<4, 64, 256, cudaStreamPerThread>>>(d[1], n, 20);
    LAUNCHED("per-thread stream");
    scale<<<4, 64, 256>>>(d[2], n, 30);
    LAUNCHED("default stream");
    CK(cudaDeviceSynchronize());
    for (int k = 0; k < 3; k++) {
        CK(cudaMemcpy(h[k], d[k], sizeof h[k], cudaMemcpyDeviceToHost));
        printf("special %d: %d\n", k, h[k][1]);
    }
    for (int k = 0; k < streams; k++) {
        CK(cudaEventDestroy(done[k]));
        CK(cudaStreamDestroy(s[k]));
    }
    return finish();
}
