/* Two devices through the driver: a module and a library each, contexts that are created and
   destroyed, handles that are reused; images from files. */
#define NO_STUBS
#include "cuda.h"

int cuInit(unsigned);
int cuModuleLoad(void **, const char *);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuModuleUnload(void *);
int cuLibraryLoadData(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
int cuLibraryLoadFromFile(void **, const char *, void *, void *, unsigned, void *, void *, unsigned);
int cuLibraryGetKernel(void **, void *, const char *);
int cuKernelGetFunction(void **, void *);
int cuLibraryUnload(void *);
int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxCreate_v2(void **, unsigned, int);
int cuCtxDestroy_v2(void *);
int cuCtxSetCurrent(void *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

static const char ptx[] = PTX;
static int launch(void *f, int n) {
    float *p = (float *)0x7f0000004000;
    float x = 4;
    return cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&p, &n, &x}, NULL);
}

int main(int argc, char **argv) {
    void *contexts[2], *modules[2], *f[2], *library, *kernel;
    cuInit(0);
    for (int i = 0; i < 2; i++) {
        printf("device %d: %d", i, cuDevicePrimaryCtxRetain(&contexts[i], i));
        printf(" %d", cuCtxSetCurrent(contexts[i]));
        printf(" %d", cuModuleLoadData(&modules[i], ptx));
        /* As some programs do: they ask for the function before each launch. */
        for (int n = 0; n < 3; n++) {
            printf(" %d", cuModuleGetFunction(&f[i], modules[i], KERNEL_ALPHA));
            printf(" %d", launch(f[i], 10 * i + n));
        }
        printf("\n");
    }
    printf("another device's %d\n", launch(f[0], 99));
    cuCtxSetCurrent(contexts[0]);
    printf("unload %d\n", cuModuleUnload(modules[0]));
    printf("gone %d\n", launch(f[0], 98));
    cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0);
    cuLibraryGetKernel(&kernel, library, KERNEL_ALPHA);
    for (int i = 0; i < 2; i++) {
        cuCtxSetCurrent(contexts[i]);
        printf("library, device %d: %d", i, launch(kernel, 20 + i));
        printf(" %d", cuKernelGetFunction(&f[i], kernel));
        printf(" %d\n", launch(f[i], 30 + i));
    }
    printf("unload %d\n", cuLibraryUnload(library));
    for (int i = 0; i < 2; i++) {
        void *context, *module;
        printf("created %d", cuCtxCreate_v2(&context, 0, i));
        printf(" %d", cuModuleLoadData(&module, ptx));
        printf(" %d", cuModuleGetFunction(&f[0], module, KERNEL_ALPHA));
        printf(" %d", launch(f[0], 40 + i));
        printf(" %d\n", cuCtxDestroy_v2(context));
    }
    cuCtxSetCurrent(contexts[0]);
    if (argc > 1) {
        printf("no file %d\n", cuModuleLoad(&modules[0], "/no/such/file"));
        printf("file %d", cuModuleLoad(&modules[0], argv[1]));
        printf(" %d", cuModuleGetFunction(&f[0], modules[0], KERNEL_ALPHA));
        printf(" %d\n", launch(f[0], 50));
        printf("file %d", cuLibraryLoadFromFile(&library, argv[1], NULL, NULL, 0, NULL, NULL, 0));
        printf(" %d", cuLibraryGetKernel(&kernel, library, KERNEL_ALPHA));
        printf(" %d\n", launch(kernel, 51));
    }
    return 0;
}
