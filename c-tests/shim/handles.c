/* Objects of the driver that programs get in other ways than by name: `contexts` that are created and destroyed, a
   `primary` one that is reset and released, kernels that are enumerated (`kernels`), images that are linked (`linked`). */
#define NO_STUBS
#include "cuda.h"

int cuInit(unsigned);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuModuleEnumerateFunctions(void **, unsigned, void *);
int cuLibraryLoadData(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
int cuLibraryEnumerateKernels(void **, unsigned, void *);
int cuDevicePrimaryCtxRetain(void **, int);
int cuDevicePrimaryCtxReset_v2(int);
int cuDevicePrimaryCtxRelease_v2(int);
int cuCtxCreate_v2(void **, unsigned, int);
int cuCtxDestroy_v2(void *);
int cuCtxSetCurrent(void *);
int cuLinkCreate_v2(unsigned, void *, void *, void **);
int cuLinkAddData_v2(void *, int, const void *, size_t, const char *, unsigned, void *, void *);
int cuLinkComplete(void *, void **, size_t *);
int cuLinkDestroy(void *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

enum { MOST = 8 };
static const char ptx[] = PTX;

static int launch(void *f, int grid) {
    float *p = (float *)0x7f0000004000;
    int n = grid;
    float x = 4;
    return cuLaunchKernel(f, grid, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&p, &n, &x}, NULL);
}

/* The launches are on device 1, 2, none, 1, 1. */
static void contexts(void) {
    void *primary, *created, *module, *f, *g;
    printf("primary %d", cuDevicePrimaryCtxRetain(&primary, 1));
    printf(" %d %d", cuCtxSetCurrent(primary), cuModuleLoadData(&module, ptx));
    printf(" %d", cuModuleGetFunction(&f, module, KERNEL_ALPHA));
    printf(" %d\n", launch(f, 1));
    printf("created %d", cuCtxCreate_v2(&created, 0, 2));
    printf(" %d", cuModuleLoadData(&module, ptx));
    printf(" %d", cuModuleGetFunction(&g, module, KERNEL_ALPHA));
    printf(" %d\n", launch(g, 2));
    printf("destroyed %d", cuCtxDestroy_v2(created));
    printf(" %d\n", launch(f, 3));
    printf("current %d", cuCtxSetCurrent(primary));
    printf(" %d\n", launch(f, 4));
    printf("another %d", cuCtxCreate_v2(&created, 0, 3));
    printf(" %d", cuCtxSetCurrent(primary));
    printf(" %d", cuCtxDestroy_v2(created));
    printf(" %d\n", launch(f, 5));
}

static void loaded(const char *when) {
    void *module, *f;
    printf("%s %d", when, cuModuleLoadData(&module, ptx));
    printf(" %d", cuModuleGetFunction(&f, module, KERNEL_ALPHA));
    printf(" %d\n", launch(f, 1));
}

/* Each release unloads what was loaded, except the first: the context was retained twice. */
static void primary(void) {
    void *context;
    printf("primary %d", cuDevicePrimaryCtxRetain(&context, 1));
    printf(" %d\n", cuCtxSetCurrent(context));
    loaded("retained");
    printf("reset %d\n", cuDevicePrimaryCtxReset_v2(1));
    loaded("reset");
    printf("released %d\n", cuDevicePrimaryCtxRelease_v2(1));
    loaded("released");
    printf("released %d\n", cuDevicePrimaryCtxRelease_v2(1));
    printf("primary %d\n", cuDevicePrimaryCtxRetain(&context, 1));
    loaded("retained");
}

static void kernels(void) {
    void *module, *library, *some[MOST] = {NULL};
    cuModuleLoadData(&module, ptx);
    printf("module %d", cuModuleEnumerateFunctions(some, MOST, module));
    printf(" %d\n", launch(some[0], 1));
    cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0);
    printf("library %d", cuLibraryEnumerateKernels(some, 1, library));
    printf(" %d\n", launch(some[0], 2));
    /* Calls that fail, or that were given no place, wrote nothing that could be read. */
    stub_cuda_fail("cuModuleEnumerateFunctions", 719, 1);
    printf("failing %d\n", cuModuleEnumerateFunctions((void **)8, MOST, module));
    printf("no place %d\n", cuLibraryEnumerateKernels(NULL, MOST, library));
}

static void linked(void) {
    void *state, *image, *module, *f;
    size_t size;
    char *copy = strdup(ptx);
    printf("create %d", cuLinkCreate_v2(0, NULL, NULL, &state));
    /* Not read, as the call fails. */
    printf(" nothing %d", cuLinkAddData_v2(state, 1, (void *)8, 0, "nothing", 0, NULL, NULL));
    printf(" add %d", cuLinkAddData_v2(state, 1, copy, sizeof ptx, "one", 0, NULL, NULL));
    printf(" complete %d", cuLinkComplete(state, &image, &size));
    printf(" load %d", cuModuleLoadData(&module, image));
    printf(" function %d", cuModuleGetFunction(&f, module, KERNEL_ALPHA));
    printf(" launch %d", launch(f, 1));
    printf(" destroy %d\n", cuLinkDestroy(state));
    free(copy);
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    cuInit(0);
    if (!strcmp(argv[1], "contexts")) contexts();
    else if (!strcmp(argv[1], "primary")) primary();
    else if (!strcmp(argv[1], "kernels")) kernels();
    else if (!strcmp(argv[1], "linked")) linked();
    else return 2;
    return 0;
}
