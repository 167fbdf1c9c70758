/* A region on a GPU: a small libomptarget (`-DLIBRARY`), which loads the PTX image when the first region runs and launches through
   the driver, as LLVM's does; and a program that runs its region three times and prints the results. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "abi.h"
#ifdef LIBRARY
static struct descriptor *lib;
static void *(*find)(void *, const char *) = dlsym;
#define CALL(name, types, ...) do { \
        int (*real) types = (int (*) types)find(driver, #name); \
        int status = real ? real(__VA_ARGS__) : -1; \
        if (status) return fprintf(stderr, #name " %d\n", status), -1; \
    } while (0)
void __tgt_register_lib(struct descriptor *given) { lib = given; }
void __tgt_unregister_lib(struct descriptor *given) { (void)given; }
int __tgt_target_kernel(struct ident *where, int64_t device, int32_t teams, int32_t threads, void *host, struct kernel_args *a) {
    static void *driver, *context, *module, *function;
    (void)where, (void)device, (void)teams, (void)threads, (void)host;
    if (!driver) {
        driver = dlopen("libcuda.so.1", RTLD_NOW);
        if (!driver) return fputs("no driver\n", stderr), -1;
        CALL(cuInit, (unsigned), 0);
        CALL(cuDevicePrimaryCtxRetain, (void **, int), &context, 0);
        CALL(cuCtxSetCurrent, (void *), context);
        CALL(cuModuleLoadDataEx, (void **, const void *, unsigned, void *, void *), &module, lib->image->start, 0, NULL, NULL);
        CALL(cuModuleGetFunction, (void **, void *, const char *), &function, module, ((const struct old_entry *)lib->entries)->name);
    }
    uint64_t at = 0;
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &at, 4);
    CALL(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t), at, a->pointers[0], 4);
    void *values[] = {&at};
    CALL(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **),
         function, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL);
    CALL(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), a->pointers[0], at, 4);
    CALL(cuMemFree_v2, (uint64_t), at);
    return 0;
}
#else
#define NAME "__omp_offloading_10_2a_work_l12"
#define PTX ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry " NAME "(.param .u64 p)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<3>;\n" \
    "ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1];\nadd.s32 %r1, %r1, 1;\nst.global.u32 [%rd1], %r1;\nret;\n}\n"
static char region;
static struct ident where = {0, 2, 0, 0, ";over_cuda.c;work;12;5;;"};
static struct old_entry entries[] = {{&region, NAME, 0, 0, 0}};
static const char ptx[] = PTX;
static struct image images[] = {{ptx, ptx + sizeof ptx, NULL, NULL}};
static struct descriptor lib = {1, images, entries, entries + 1};
int main(void) {
    int value = 0;
    void *pointers[] = {&value};
    int64_t sizes[] = {4}, types[] = {TO | FROM | PARAM};
    struct kernel_args a = {3, 1, pointers, pointers, sizes, types, NULL, NULL, 0, 0, {-1, 0, 0}, {0}, 0};
    __tgt_register_lib(&lib);
    for (int i = 0; i < 3; i++) {
        int status = __tgt_target_kernel(&where, -1, -1, 0, &region, &a);
        printf("%d %d\n", status, value);
    }
    __tgt_unregister_lib(&lib);
    return 0;
}
#endif
