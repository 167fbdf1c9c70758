// Launches with shapes at the limits, and beyond them; the device still works after
// each.
#include "../common.h"

__global__ void count(unsigned *v)
{
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0)
        atomicAdd(v, 1u);
}
__global__ void __launch_bounds__(96) bounded(unsigned *v) { atomicAdd(v, 1u); }

static unsigned *d;

static void launch(const char *what, dim3 grid, dim3 block, size_t shared = 0)
{
    unsigned h = 0;
    CK(cudaMemset(d, 0, sizeof h));
    count<<<grid, block, shared>>>(d);
    cudaError_t error = cudaGetLastError();
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("%s: %s, %u blocks\n", what, cudaGetErrorName(error), h);
}

int main()
{
    NEED(cudaMalloc(&d, sizeof *d));
    launch("1024 in x", dim3(1), dim3(1024));
    launch("1024 in y", dim3(1), dim3(1, 1024));
    launch("64 in z", dim3(1), dim3(1, 1, 64));
    launch("16 by 8 by 8", dim3(2, 3, 4), dim3(16, 8, 8));
    launch("65535 in y", dim3(1, 65535), dim3(1));
    launch("65535 in z", dim3(1, 1, 65535), dim3(1));
    launch("70000 in x", dim3(70000), dim3(1));
    launch("48 KiB", dim3(1), dim3(32), 49152);
    launch("1025 in x", dim3(1), dim3(1025));
    launch("65 in z", dim3(1), dim3(1, 1, 65));
    launch("1024 in x by 2", dim3(1), dim3(1024, 2));
    launch("65536 in y", dim3(1, 65536), dim3(1));
    launch("65536 in z", dim3(1, 1, 65536), dim3(1));
    launch("no grid in y", dim3(1, 0), dim3(1));
    launch("no block in z", dim3(1), dim3(1, 1, 0));
    launch("2^31 in x", dim3(1u << 31), dim3(1));
    launch("48 KiB and a byte", dim3(1), dim3(32), 49153);
    bounded<<<1, 96>>>(d);
    show("within the bounds", cudaGetLastError());
    bounded<<<1, 97>>>(d);
    show("beyond the bounds", cudaGetLastError());
    bounded<<<1, 128>>>(d);
    show("a warp beyond the bounds", cudaGetLastError());
    CK(cudaDeviceSynchronize());
    return finish();
}
