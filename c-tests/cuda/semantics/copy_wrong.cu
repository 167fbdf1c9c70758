// Copies and memsets with invalid pointers, sizes and directions: each returns its error
// and changes nothing.
#include "../common.h"

__global__ void fill(int *v, int with) { v[threadIdx.x] = with; }

int main()
{
    int *d = nullptr, h[64] = {}, *gone = nullptr;
    NEED(cudaMalloc(&d, sizeof h));
    fill<<<1, 64>>>(d, 3);
    LAUNCHED("fill");
    CK(cudaDeviceSynchronize());
    CK(cudaMalloc(&gone, 64 << 20));
    CK(cudaFree(gone));

    show("from nowhere", cudaMemcpy(d, nullptr, 16, cudaMemcpyHostToDevice));
    show("to nowhere", cudaMemcpy(nullptr, d, 16, cudaMemcpyDeviceToHost));
    show("no such kind", cudaMemcpy(h, d, 16, (cudaMemcpyKind)5));
    show("host pointer as device", cudaMemcpy(h + 8, h, 16, cudaMemcpyDeviceToDevice));
    show("freed memory", cudaMemcpy(h, gone, 16, cudaMemcpyDeviceToHost));
    show("into freed memory", cudaMemcpy(gone, h, 16, cudaMemcpyHostToDevice));
    show("longer than everything", cudaMemcpy(h, d, (size_t)1 << 45, cudaMemcpyDeviceToHost));
    show("set nowhere", cudaMemset(nullptr, 0, 16));
    show("set the stack", cudaMemset(h, 0, 16));
    show("set freed memory", cudaMemset(gone, 0, 16));
    show("set beyond the end", cudaMemset(d, 9, (size_t)1 << 45));
    show("async, no such kind", cudaMemcpyAsync(h, d, 16, (cudaMemcpyKind)-1, nullptr));
    show("async from nowhere", cudaMemcpyAsync(d, nullptr, 16, cudaMemcpyHostToDevice, nullptr));
    cudaGetLastError();
    printf("untouched %d %d\n", h[0], h[8]);
    // With unified addressing the pointers decide, whatever the direction.
    CK(cudaMemcpy(h, d, 16, cudaMemcpyDefault));
    printf("copied %d\n", h[3]);
    CK(cudaFree(d));
    return finish();
}
