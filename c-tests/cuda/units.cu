// Two translation units, each with a kernel of the same static name and a kernel
// in an anonymous namespace: each unit registers its own image.
#include "common.h"

static __global__ void fill(int *out) { out[threadIdx.x] = 1; }
namespace {
__global__ void hidden(int *out) { out[threadIdx.x] += 10; }
}

void other_unit(int *out, int threads);

int main()
{
    int *d = nullptr, h[8] = {};
    CK(cudaMalloc(&d, sizeof h));
    fill<<<1, 8>>>(d);
    LAUNCHED("fill here");
    hidden<<<1, 8>>>(d);
    LAUNCHED("hidden here");
    other_unit(d, 4);
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    for (int v : h)
        printf("%d ", v);
    printf("\n");
    return finish();
}
