// A failed assert in a kernel: its message goes to stderr, the next wait returns the
// error, and it stays; asserts that hold do nothing.
#undef NDEBUG
#include <cassert>
#include "../common.h"

__global__ void checked(int *v, int most)
{
    assert(v[threadIdx.x] <= most && "the values are small");
    v[threadIdx.x] += 1;
}

int main()
{
    int *d = nullptr, h[32];
    for (int i = 0; i < 32; i++)
        h[i] = i;
    NEED(cudaMalloc(&d, sizeof h));
    CK(cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice));
    checked<<<1, 32>>>(d, 31);
    LAUNCHED("checked");
    show("holds", cudaDeviceSynchronize());
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("%d %d\n", h[0], h[31]);
    checked<<<1, 32>>>(d, 20);
    show("launch", cudaGetLastError());
    show("fails", cudaDeviceSynchronize());
    show("copy afterwards", cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    show("malloc afterwards", cudaMalloc(&d, 16));
    show("last", cudaGetLastError());
    return finish();
}
