/* A library that keeps the driver's functions in variables of their names, as loaders of the driver do, and exports
   them. SHADOW builds it, USER another library that uses its variables; without either, the program, which is linked
   with the other library, or opens the one that its argument names. */
#include <dlfcn.h>

#define NO_STUBS
#include "cuda.h"

int use(int round);

#ifdef SHADOW
#define VARIABLE
#else
#define VARIABLE extern
#endif
VARIABLE int (*cuInit)(unsigned);
VARIABLE int (*cuDevicePrimaryCtxRetain)(void **, int);
VARIABLE int (*cuCtxSetCurrent)(void *);
VARIABLE int (*cuModuleLoadData)(void **, const void *);
VARIABLE int (*cuModuleGetFunction)(void **, void *, const char *);
VARIABLE int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                               void **, void **);
VARIABLE int (*cuDeviceGetCount)(int *);
VARIABLE int (*nvmlInit_v2)(void);
int load(void);

#ifdef SHADOW
/* A pointer to a variable, in data. */
static void *to_context = &cuDevicePrimaryCtxRetain;

int load(void) {
    printf("before %d %d %d\n", !!cuInit, !!cuLaunchKernel, !!nvmlInit_v2);
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!driver) return printf("no driver\n"), 0;
    cuDeviceGetCount = dlsym(driver, "cuDeviceGetCount");
    cuInit = dlsym(driver, "cuInit");
    *(void **)to_context = dlsym(driver, "cuDevicePrimaryCtxRetain");
    cuCtxSetCurrent = dlsym(driver, "cuCtxSetCurrent");
    cuModuleLoadData = dlsym(driver, "cuModuleLoadData");
    cuModuleGetFunction = dlsym(driver, "cuModuleGetFunction");
    cuLaunchKernel = dlsym(driver, "cuLaunchKernel");
    nvmlInit_v2 = NULL;
    return 1;
}
#elif defined USER
int use(int round) {
    if (!load()) return 1;
    static const char ptx[] = PTX;
    void *context, *module, *alpha, *p = NULL;
    int n = 0, count = -1;
    float x = 0;
    void *args[] = {&p, &n, &x};
    printf("init %d\n", cuInit(0));
    if (cuDeviceGetCount) printf("devices %d\n", (cuDeviceGetCount(&count), count > 0));
    printf("context %d", cuDevicePrimaryCtxRetain(&context, 0));
    printf(" %d\n", cuCtxSetCurrent(context));
    printf("load %d\n", cuModuleLoadData(&module, ptx));
    printf("function %d\n", cuModuleGetFunction(&alpha, module, KERNEL_ALPHA));
    for (int i = 0; i < round; i++) printf("launch %d\n", cuLaunchKernel(alpha, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    return 0;
}
#else
int main(int argc, char **argv) {
#ifdef LINKED
    (void)argc, (void)argv;
    return use(3);
#else
    void *library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
    if (!library) return printf("%s\n", dlerror()), 1;
    return ((int (*)(int))dlsym(library, "use"))(3);
#endif
}
#endif
