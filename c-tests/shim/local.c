/* A runtime opened with RTLD_LOCAL and used through dlsym only, as in Python;
   with `deep` as second argument also with RTLD_DEEPBIND. */
#include <dlfcn.h>

#define NO_STUBS
#include "cuda.h"

IMAGE(mine, PTX);
static char stub[1];

int main(int argc, char **argv) {
    void *runtime = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | (argc > 2 ? RTLD_DEEPBIND : 0));
    if (!runtime) { printf("%s\n", dlerror()); return 1; }
    void **(*fat)(void *) = (void **(*)(void *))dlsym(runtime, "__cudaRegisterFatBinary");
    void (*function)(void **, const char *, char *, const char *, int, void *, void *, void *, void *, void *) =
        (void (*)(void **, const char *, char *, const char *, int, void *, void *, void *, void *, void *))dlsym(runtime, "__cudaRegisterFunction");
    cudaError_t (*launch)(const void *, dim3, dim3, void **, size_t, void *) =
        (cudaError_t (*)(const void *, dim3, dim3, void **, size_t, void *))dlsym(runtime, "cudaLaunchKernel");
    cudaError_t (*version)(int *) = (cudaError_t (*)(int *))dlsym(runtime, "cudaRuntimeGetVersion");
    int n = 0;
    printf("version %d", version(&n));
    printf(" %d\n", n);
    void **h = fat((void *)&mine_wrapper);
    function(h, stub, (char *)KERNEL_BETA, KERNEL_BETA, -1, 0, 0, 0, 0, 0);
    for (unsigned i = 1; i <= 3; i++) printf("launch %d\n", launch(stub, d3(i, 1, 1), d3(1, 1, 1), NULL, 0, NULL));
    printf("in the global scope: %s\n", dlsym(RTLD_DEFAULT, "cudaRuntimeGetVersion") ? "yes" : "no");
    return 0;
}
