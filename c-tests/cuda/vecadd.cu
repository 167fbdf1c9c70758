// The first CUDA program: add two vectors.
#include "common.h"

__global__ void vecadd(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

int main()
{
    const int n = 1000;
    const size_t bytes = n * sizeof(float);
    float a[n], b[n], c[n] = {};
    for (int i = 0; i < n; i++) {
        a[i] = i;
        b[i] = 2 * i;
    }
    float *da = nullptr, *db = nullptr, *dc = nullptr;
    CK(cudaMalloc(&da, bytes));
    CK(cudaMalloc(&db, bytes));
    CK(cudaMalloc(&dc, bytes));
    CK(cudaMemcpy(da, a, bytes, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(db, b, bytes, cudaMemcpyHostToDevice));
    vecadd<<<4, 256>>>(da, db, dc, n);
    LAUNCHED("vecadd");
    CK(cudaMemcpy(c, dc, bytes, cudaMemcpyDeviceToHost));
    bool right = true;
    for (int i = 0; i < n; i++)
        right = right && c[i] == 3.0f * i;
    expect(right, "sum");
    CK(cudaFree(da));
    CK(cudaFree(db));
    CK(cudaFree(dc));
    return finish();
}
