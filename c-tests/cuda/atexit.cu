// Launches after main: from an atexit handler and from the destructor of a static
// object. CUDA decides whether they still work; tracing must not change it.
#include "common.h"

__global__ void late(int *v, int by) { *v += by; }

static int *value;

static void launch(const char *where, int by)
{
    int h = 0;
    late<<<1, 1>>>(value, by);
    show(where, cudaGetLastError());
    cudaError_t error = cudaMemcpy(&h, value, sizeof h, cudaMemcpyDeviceToHost);
    printf("%s: %s %d\n", where, cudaGetErrorName(error), h);
    fflush(stdout);
}

static void handler() { launch("atexit handler", 10); }

struct Object {
    ~Object() { launch("static destructor", 100); }
};
static Object object;

int main()
{
    atexit(handler);
    CK(cudaMalloc(&value, sizeof(int)));
    CK(cudaMemset(value, 0, sizeof(int)));
    launch("main", 1);
    return finish();
}
