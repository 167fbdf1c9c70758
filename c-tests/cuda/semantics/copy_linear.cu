// cudaMemcpy and cudaMemcpyAsync in every direction, with cudaMemcpyDefault, on
// parts of allocations, and of no bytes.
#include "../common.h"

__global__ void increment(int *v) { v[threadIdx.x]++; }

int main()
{
    const int n = 64;
    const size_t bytes = n * sizeof(int);
    int a[n], b[n] = {}, *d = nullptr, *e = nullptr, *pinned = nullptr;
    for (int i = 0; i < n; i++)
        a[i] = i * i;
    NEED(cudaMalloc(&d, bytes));
    NEED(cudaMalloc(&e, bytes));
    NEED(cudaMallocHost(&pinned, bytes));

    CK(cudaMemcpy(b, a, bytes, cudaMemcpyHostToHost));
    printf("host to host %d\n", b[63]);
    CK(cudaMemcpy(d, a, bytes, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(e, d, bytes, cudaMemcpyDeviceToDevice));
    increment<<<1, n>>>(e);
    LAUNCHED("increment");
    CK(cudaMemcpy(b, e, bytes, cudaMemcpyDeviceToHost));
    printf("through two blocks %d %d\n", b[1], b[63]);

    memset(b, 0, sizeof b);
    CK(cudaMemcpy(e, a, bytes, cudaMemcpyDefault));
    CK(cudaMemcpy(d, e, bytes, cudaMemcpyDefault));
    CK(cudaMemcpy(pinned, d, bytes, cudaMemcpyDefault));
    CK(cudaMemcpy(b, pinned, bytes, cudaMemcpyDefault));
    printf("by the pointers %d %d\n", b[1], b[63]);

    CK(cudaMemcpy(d + 10, a, 4 * sizeof(int), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(b, d + 8, 8 * sizeof(int), cudaMemcpyDeviceToHost));
    printf("parts %d %d %d %d\n", b[0], b[2], b[5], b[6]);
    CK(cudaMemcpy((char *)d + 1, "xyz", 3, cudaMemcpyHostToDevice));
    char c[8] = {};
    CK(cudaMemcpy(c, (char *)d + 2, 2, cudaMemcpyDeviceToHost));
    printf("bytes %s\n", c);
    CK(cudaMemcpy(d, a, 0, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));

    cudaStream_t s = nullptr;
    CK(cudaStreamCreate(&s));
    for (int i = 0; i < n; i++)
        pinned[i] = -i;
    CK(cudaMemcpyAsync(d, pinned, bytes, cudaMemcpyHostToDevice, s));
    CK(cudaMemcpyAsync(e, d, bytes, cudaMemcpyDeviceToDevice, s));
    increment<<<1, n, 0, s>>>(e);
    CK(cudaMemcpyAsync(pinned, e, bytes, cudaMemcpyDeviceToHost, s));
    CK(cudaStreamSynchronize(s));
    printf("in a stream %d %d\n", pinned[0], pinned[63]);
    CK(cudaMemcpyAsync(b, e, bytes, cudaMemcpyDefault, s));
    CK(cudaStreamSynchronize(s));
    printf("to pageable memory %d\n", b[63]);
    // A copy from pageable memory is staged before the call returns.
    int value = 5;
    CK(cudaMemcpyAsync(d, &value, sizeof value, cudaMemcpyHostToDevice, s));
    value = 6;
    CK(cudaMemcpyAsync(&b[0], d, sizeof value, cudaMemcpyDeviceToHost, s));
    CK(cudaStreamSynchronize(s));
    printf("staged %d\n", b[0]);
    CK(cudaStreamDestroy(s));
    return finish();
}
