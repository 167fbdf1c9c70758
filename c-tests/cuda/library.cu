// The runtime's library API (12.8 and later): a cubin loaded at run time, its
// kernels by name and by enumeration, launched like host stubs.
#include <string>
#include <libgen.h>
#include <unistd.h>
#include "common.h"

int main()
{
    char self[4096] = {};
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return 1;
    std::string path = std::string(dirname(self)) + "/kernels.cubin";
    cudaLibrary_t library = nullptr;
    cudaKernel_t square = nullptr;
    int *d = nullptr, h[8] = {}, add = 5;
    if (!CK(cudaMalloc(&d, sizeof h)) ||
        !CK(cudaLibraryLoadFromFile(&library, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0)))
        return finish();
    unsigned count = 0;
    CK(cudaLibraryGetKernelCount(&count, library));
    printf("%u kernels\n", count);
    CK(cudaLibraryGetKernel(&square, library, "square"));
    show("missing kernel", cudaLibraryGetKernel((cudaKernel_t *)&h, library, "missing"));
    cudaGetLastError();
    memset(h, 0, sizeof h);
    void *args[] = {&d, &add};
    CK(cudaLaunchKernel((const void *)square, dim3(1), dim3(8), args, 0, nullptr));
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("%d %d\n", h[0], h[7]);
    cudaKernel_t all[2] = {};
    CK(cudaLibraryEnumerateKernels(all, 2, library));
    for (cudaKernel_t k : all)
        CK(cudaLaunchKernel((const void *)k, dim3(1), dim3(2), args, 0, nullptr));
    CK(cudaDeviceSynchronize());
    CK(cudaLibraryUnload(library));
    return finish();
}
