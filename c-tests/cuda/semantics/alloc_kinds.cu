// cudaMalloc, cudaMallocPitch, cudaMalloc3D and cudaFree: their results, and
// their errors for invalid sizes and pointers.
#include <cstdint>
#include "../common.h"

__global__ void fill(char *base, size_t pitch, int width, int height)
{
    int x = threadIdx.x, y = blockIdx.x;
    if (x < width && y < height)
        base[y * pitch + x] = x + y;
}

int main()
{
    void *a = nullptr, *b = nullptr, *kept = (void *)0x1234;
    NEED(cudaMalloc(&a, 1));
    CK(cudaMalloc(&b, 3));
    expect(a != b && (uintptr_t)a % 256 == 0 && (uintptr_t)b % 256 == 0, "two blocks, aligned");
    CK(cudaFree(a));
    CK(cudaFree(b));

    void *none = (void *)0x1234;
    CK(cudaMalloc(&none, 0));
    expect(none == nullptr, "nothing for no bytes");
    CK(cudaFree(nullptr));
    show("too much", cudaMalloc(&kept, (size_t)1 << 60));
    expect(kept == (void *)0x1234 || kept == nullptr, "no pointer for too much");
    show("to nowhere", cudaMalloc((void **)nullptr, 16));
    cudaGetLastError();

    CK(cudaMalloc(&a, 4096));
    show("free inside", cudaFree((char *)a + 256));
    CK(cudaFree(a));
    show("free twice", cudaFree(a));
    int local = 0;
    show("free the stack", cudaFree(&local));
    show("free nonsense", cudaFree((void *)0x10));
    cudaGetLastError();
    CK(cudaMemset(nullptr, 0, 0));

    char *p = nullptr, h[50 * 20] = {};
    size_t pitch = 0;
    CK(cudaMallocPitch(&p, &pitch, 50, 20));
    expect(pitch >= 50 && pitch % 32 == 0, "pitch");
    fill<<<20, 64>>>(p, pitch, 50, 20);
    LAUNCHED("fill");
    CK(cudaMemcpy2D(h, 50, p, pitch, 50, 20, cudaMemcpyDeviceToHost));
    printf("%d %d %d\n", h[0], h[49], h[50 * 20 - 1]);
    CK(cudaFree(p));

    cudaPitchedPtr volume = {};
    CK(cudaMalloc3D(&volume, make_cudaExtent(100, 7, 5)));
    expect(volume.ptr && volume.pitch >= 100 && volume.xsize == 100 && volume.ysize == 7, "volume");
    CK(cudaFree(volume.ptr));
    CK(cudaMallocPitch(&p, &pitch, 0, 20));
    expect(p == nullptr, "nothing for no width");
    show("pitch to nowhere", cudaMallocPitch(&p, nullptr, 10, 10));
    show("volume to nowhere", cudaMalloc3D(nullptr, make_cudaExtent(1, 1, 1)));
    cudaGetLastError();

    size_t free_bytes = 0, total = 0, less = ~(size_t)0;
    CK(cudaMemGetInfo(&free_bytes, &total));
    expect(free_bytes > 0 && free_bytes <= total, "free and total");
    // Other processes allocate and free memory meanwhile.
    for (int i = 0; i < 20 && less >= free_bytes; i++) {
        CK(cudaMemGetInfo(&free_bytes, &total));
        CK(cudaMalloc(&a, 256 << 20));
        CK(cudaMemGetInfo(&less, &total));
        CK(cudaFree(a));
    }
    expect(less < free_bytes, "less is free");
    show("info to nowhere", cudaMemGetInfo(nullptr, nullptr));
    return finish();
}
