/* Misuse of every kind: results, errno and outputs must be the real ones. */
#include <errno.h>

#include "cuda.h"

static void nobody(void) {}

int main(void) {
    float *p = NULL;
    int n = 1;
    float x = 2;
    void *args[] = {&p, &n, &x};
    printf("null stub %d\n", cudaLaunchKernel(NULL, d3(1, 1, 1), d3(1, 1, 1), args, 0, NULL));
    printf("unknown stub %d\n", cudaLaunchKernel((void *)nobody, d3(1, 1, 1), d3(1, 1, 1), args, 0, NULL));
    printf("unknown stub again %d\n", cudaLaunchKernel((void *)nobody, d3(1, 1, 1), d3(1, 1, 1), NULL, 0, NULL));
    printf("null config %d\n", cudaLaunchKernelExC(NULL, (void *)alpha, args));
    printf("null arguments %d\n", cudaLaunchKernel((void *)beta, d3(1, 1, 1), d3(1, 1, 1), NULL, 0, NULL));
    printf("empty grid %d\n", LAUNCH(d3(0, 1, 1), d3(1, 1, 1), 0, NULL, alpha(p, n, x)));
    printf("big block %d\n", LAUNCH(d3(1, 1, 1), d3(1025, 1, 1), 0, NULL, alpha(p, n, x)));
    printf("unbalanced pop %d\n", __cudaPopCallConfiguration((dim3 *)args, (dim3 *)args, (size_t *)args, args));

    stub_fail("cudaLaunchKernel", 719, 2);
    printf("failing %d", cudaLaunchKernel((void *)alpha, d3(1, 1, 1), d3(1, 1, 1), (void *[]){&p, &n, &x}, 0, NULL));
    printf(" %d", cudaLaunchKernel((void *)alpha, d3(1, 1, 1), d3(1, 1, 1), (void *[]){&p, &n, &x}, 0, NULL));
    printf(" %d\n", cudaLaunchKernel((void *)alpha, d3(1, 1, 1), d3(1, 1, 1), (void *[]){&p, &n, &x}, 0, NULL));

    /* A failing call leaves its outputs unchanged; the runtime handles NULL outputs. */
    void *out = (void *)0x1234;
    stub_fail("cudaMalloc", 2, 1);
    printf("malloc %d", cudaMalloc(&out, 5));
    printf(" %p\n", out);
    printf("malloc null %d\n", cudaMalloc(NULL, 5));
    out = (void *)0x1234;
    printf("by symbol %d", cudaGetFuncBySymbol(&out, (void *)nobody));
    printf(" %p\n", out);
    printf("by symbol null %d\n", cudaGetFuncBySymbol(NULL, (void *)alpha));
#if MAJOR >= 12
    printf("get kernel %d", __cudaGetKernel(&out, (void *)nobody));
    printf(" %p\n", out);
    printf("library null %d\n", cudaLibraryLoadData(&out, NULL, 0, 0, 0, 0, 0, 0));
    printf("library nowhere %d\n", cudaLibraryLoadData(NULL, &program_image, 0, 0, 0, 0, 0, 0));
    printf("kernel of nothing %d", cudaLibraryGetKernel(&out, NULL, "x"));
    printf(" %p\n", out);
    printf("unload nothing %d\n", cudaLibraryUnload(NULL));
#endif
    printf("node without params %d\n", cudaGraphAddKernelNode(NULL, NULL, NULL, 0, NULL));

    /* errno belongs to the program, and to the runtime where that sets it. */
    errno = 77;
    LAUNCH1(alpha(p, n, x));
    printf("errno %d", errno);
    stub_set_errno(33);
    LAUNCH1(alpha(p, n, x));
    printf(" %d\n", errno);
    stub_set_errno(-1);

    /* Registration with invalid handles, twice, and without kernels. */
    static int fake[8];
    __cudaRegisterFunction((void **)fake, (const char *)nobody, (char *)"stray", "stray", -1, 0, 0, 0, 0, 0);
    printf("stray %d\n", cudaLaunchKernel((void *)nobody, d3(1, 1, 1), d3(1, 1, 1), NULL, 0, NULL));
    __cudaRegisterFunction(handle_of_program, (const char *)nobody, (char *)KERNEL_BETA, KERNEL_BETA, -1, 0, 0, 0, 0, 0);
    printf("late %d\n", cudaLaunchKernel((void *)nobody, d3(1, 1, 1), d3(1, 1, 1), NULL, 0, NULL));
    __cudaRegisterFunction(handle_of_program, NULL, NULL, NULL, -1, 0, 0, 0, 0, 0);
    __cudaUnregisterFatBinary((void **)fake);
    __cudaUnregisterFatBinary(NULL);
    __cudaRegisterFatBinaryEnd(NULL);
    void **empty = __cudaRegisterFatBinary((void *)&(struct { uint32_t magic, version; const void *data; void *list; }){0x466243b1, 1, NULL, NULL});
    __cudaUnregisterFatBinary(empty);
    __cudaUnregisterFatBinary(empty);
    __cudaUnregisterFatBinary(handle_of_program);
    printf("after unregistration %d\n", cudaLaunchKernel((void *)alpha, d3(1, 1, 1), d3(1, 1, 1), args, 0, NULL));
    return 0;
}
