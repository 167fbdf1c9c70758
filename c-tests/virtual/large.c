/* Two kernels with more basic blocks than the compiler accepts, each launched twice: prints their sums, and the error of
 * the wait. The test reads the messages on stderr. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef int (*Call)();

#define JUMPS 4096

static void *driver;

static Call named(const char *name) {
    Call call = (Call)dlsym(driver, name);
    if (!call) {
        puts(name);
        _exit(2);
    }
    return call;
}

/* A kernel that adds 1 to a number for each bit of its argument whose code no jump skips. */
static void kernel(FILE *out, const char *name) {
    fprintf(out, ".visible .entry %s(.param .u64 p) {\n.reg .u64 %%p; .reg .u32 %%r, %%t; .reg .pred %%q;\n", name);
    fprintf(out, "ld.param.u64 %%p, [p]; mov.u32 %%r, 0; mov.u32 %%t, %%tid.x;\n");
    for (int k = 0; k < JUMPS; k++)
        fprintf(out, "setp.eq.u32 %%q, %%t, %d; @%%q bra L%d; add.u32 %%r, %%r, 1; L%d:\n", k % 64, k, k);
    fprintf(out, "red.global.add.u32 [%%p], %%r; ret; }\n");
}

int main(void) {
    if (!(driver = dlopen("libcuda.so.1", RTLD_NOW))) return 2;
    char *ptx;
    size_t size;
    FILE *out = open_memstream(&ptx, &size);
    fprintf(out, ".version 7.0\n.target sm_50\n.address_size 64\n");
    kernel(out, "first");
    kernel(out, "second");
    fclose(out);
    int device, failed = named("cuInit")(0);
    void *context, *module;
    uint64_t memory;
    failed |= named("cuDeviceGet")(&device, 0);
    failed |= named("cuDevicePrimaryCtxRetain")(&context, device);
    failed |= named("cuCtxSetCurrent")(context);
    failed |= named("cuModuleLoadData")(&module, ptx);
    failed |= named("cuMemAlloc_v2")(&memory, (size_t)4);
    if (failed) return 3;
    for (int k = 0; k < 4; k++) {
        void *kernel, *values[] = {&memory};
        uint32_t sum = 0;
        named("cuMemsetD8_v2")(memory, 0, (size_t)4);
        if (named("cuModuleGetFunction")(&kernel, module, k % 2 ? "second" : "first")) return 4;
        if (named("cuLaunchKernel")(kernel, 1, 1, 1, 32, 1, 1, 0, (void *)0, values, (void *)0)) return 5;
        int error = named("cuCtxSynchronize")();
        named("cuMemcpyDtoH_v2")(&sum, memory, (size_t)4);
        printf("%d %u\n", error, sum);
    }
    return 0;
}
