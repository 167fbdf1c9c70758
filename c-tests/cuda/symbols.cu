// __constant__ and __device__ variables, which the host accesses by name.
#include "common.h"

__constant__ float coefficients[4] = {1, 2, 3, 4};
__device__ int counter = 40;
__device__ double table[100];
#ifdef __CLANG_RDC__
// clang's separate compilation loses static device variables at link time.
__device__ int hidden_counter;
#else
static __device__ int hidden_counter;
#endif

__global__ void use(float *out)
{
    atomicAdd(&counter, 2);
    hidden_counter = 7;
    out[threadIdx.x] = coefficients[threadIdx.x] * float(table[threadIdx.x]);
}

int main()
{
    float *d = nullptr, h[4] = {}, twice[4] = {2, 4, 6, 8};
    double values[100];
    for (int i = 0; i < 100; i++)
        values[i] = i + 1;
    CK(cudaMalloc(&d, sizeof h));
    CK(cudaMemcpyToSymbol(table, values, sizeof values));
    use<<<1, 4>>>(d);
    LAUNCHED("use");
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("%g %g %g %g\n", h[0], h[1], h[2], h[3]);
    CK(cudaMemcpyToSymbol(coefficients, twice, sizeof twice));
    use<<<1, 4>>>(d);
    LAUNCHED("use again");
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("%g %g %g %g\n", h[0], h[1], h[2], h[3]);

    int count = 0, seven = 0;
    CK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    CK(cudaMemcpyFromSymbol(&seven, hidden_counter, sizeof seven));
    printf("counter %d hidden %d\n", count, seven);
    size_t size = 0;
    void *address = nullptr;
    CK(cudaGetSymbolSize(&size, table));
    CK(cudaGetSymbolAddress(&address, table));
    printf("table %zu bytes, address %s\n", size, address ? "there" : "none");
    return finish();
}
