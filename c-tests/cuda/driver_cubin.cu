// The driver API with machine code: modules from the file NAME.cubin next to
// the program, by file name and from memory, and a library. dlopen and dlsym find
// every driver function, as in Python's bindings.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
#include <cuda.h>
#include <dlfcn.h>
#include <libgen.h>
#include <unistd.h>

static int errors;
static void *driver;
template <typename F> static F *find(const char *name)
{
    F *f = reinterpret_cast<F *>(dlsym(driver, name));
    if (!f) {
        printf("%s is missing\n", name);
        exit(3);
    }
    return f;
}
#define STR2(x) #x
#define STR(x) STR2(x)
// The header renames some functions (cuMemAlloc is cuMemAlloc_v2): STR expands to the real name.
#define FIND(f) auto *my_##f = find<decltype(f)>(STR(f))
static bool check(CUresult r, const char *what)
{
    if (r == CUDA_SUCCESS)
        return true;
    printf("%s: error %d\n", what, (int)r);
    errors++;
    return false;
}
#define CK(call) check((call), #call)

int main()
{
    char self[4096] = {};
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return 1;
    std::string path = std::string(dirname(self)) + "/kernels.cubin";
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        printf("no libcuda.so.1\n");
        return 3;
    }
    FIND(cuInit);
    FIND(cuDeviceGet);
    FIND(cuDevicePrimaryCtxRetain);
    FIND(cuCtxSetCurrent);
    FIND(cuModuleLoad);
    FIND(cuModuleLoadDataEx);
    FIND(cuModuleGetFunction);
    FIND(cuMemAlloc);
    FIND(cuMemcpyDtoH);
    FIND(cuLaunchKernel);
    FIND(cuModuleUnload);

    CUdevice device;
    CUcontext context = nullptr;
    if (!CK(my_cuInit(0)) || !CK(my_cuDeviceGet(&device, 0)) || !CK(my_cuDevicePrimaryCtxRetain(&context, device)) ||
        !CK(my_cuCtxSetCurrent(context)))
        return 3;

    std::vector<char> image;
    FILE *f = fopen(path.c_str(), "rb");
    if (!f) {
        printf("no kernels.cubin\n");
        return 1;
    }
    for (int c; (c = fgetc(f)) != EOF;)
        image.push_back(char(c));
    fclose(f);

    CUmodule file = nullptr, memory = nullptr;
    CK(my_cuModuleLoad(&file, path.c_str()));
    CK(my_cuModuleLoadDataEx(&memory, image.data(), 0, nullptr, nullptr));
    CUfunction square = nullptr, cube = nullptr;
    CK(my_cuModuleGetFunction(&square, file, "square"));
    CK(my_cuModuleGetFunction(&cube, memory, "cube"));
    CUdeviceptr d = 0;
    int h[8] = {}, add = 100;
    CK(my_cuMemAlloc(&d, sizeof h));
    void *params[] = {&d, &add};
    CK(my_cuLaunchKernel(square, 1, 1, 1, 8, 1, 1, 0, nullptr, params, nullptr));
    CK(my_cuMemcpyDtoH(h, d, sizeof h));
    printf("square %d %d\n", h[2], h[7]);
    CK(my_cuLaunchKernel(cube, 1, 1, 1, 4, 2, 1, 16, nullptr, params, nullptr));
    CK(my_cuMemcpyDtoH(h, d, sizeof h));
    printf("cube %d %d\n", h[2], h[7]);
    CK(my_cuModuleUnload(file));
    CK(my_cuModuleUnload(memory));
    return errors ? 3 : 0;
}
