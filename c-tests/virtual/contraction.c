/* A product and a sum without a rounding modifier, in PTX that the program passes to the driver: loaded unchanged, and not
 * optimised. The first launch runs the quick code, the last one the optimised code. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*Call)();

static const char ptx[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry sums(.param .u64 to, .param .u32 rounds) {\n"
    "  .reg .b64 p, w; .reg .b32 n, i; .reg .pred q; .reg .f32 a, b, c, r, s, t;\n"
    "  ld.param.u64 p, [to]; ld.param.u32 n, [rounds]; mov.u32 i, %tid.x;\n"
    "  cvt.rn.f32.u32 a, i; add.rn.f32 a, a, 0f3fb504f3; mov.f32 b, a;\n"
    "  mul.rn.f32 c, a, b; neg.f32 c, c;\n"
    "L: mul.f32 t, a, b; add.f32 r, t, c; mul.rn.f32 t, a, b; add.f32 s, t, c;\n"
    "  sub.u32 n, n, 1; setp.ne.u32 q, n, 0; @q bra L;\n"
    "  mul.wide.u32 w, i, 8; add.u64 p, p, w; st.global.f32 [p], r; st.global.f32 [p+4], s;\n"
    "  ret; }\n";

static void *driver;

static Call named(const char *name) {
    Call call = (Call)dlsym(driver, name);
    if (!call) {
        puts(name);
        exit(2);
    }
    return call;
}

static void show(const char *title, uint64_t memory) {
    uint32_t got[8];
    int failed = named("cuMemcpyDtoH_v2")(got, memory, sizeof got);
    printf("%s:", title);
    for (int k = 0; k < 8; ++k) printf(" %x", got[k]);
    printf(failed ? " failed\n" : "\n");
}

int main(void) {
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) return 2;
    int device, failed = named("cuInit")(0), level[] = {7};
    void *context, *modules[2], *kernel, *none[] = {(void *)0};
    uint64_t memory;
    failed |= named("cuDeviceGet")(&device, 0);
    failed |= named("cuDevicePrimaryCtxRetain")(&context, device);
    failed |= named("cuCtxSetCurrent")(context);
    failed |= named("cuModuleLoadData")(&modules[0], ptx);
    failed |= named("cuModuleLoadDataEx")(&modules[1], ptx, 1, level, none);
    failed |= named("cuMemAlloc_v2")(&memory, (size_t)64);
    for (int m = 0; m < 2 && !failed; ++m) {
        failed |= named("cuModuleGetFunction")(&kernel, modules[m], "sums");
        for (int n = 0; n < 20 && !failed; ++n) {
            int rounds = n == 0 ? 1 : 50000;
            void *values[] = {&memory, &rounds};
            failed |= named("cuMemsetD32_v2")(memory, 7, (size_t)16);
            failed |= named("cuLaunchKernel")(kernel, 1, 1, 1, 4, 1, 1, 0, (void *)0, values, (void *)0);
            failed |= named("cuCtxSynchronize")();
            if (n == 0) show(m ? "not optimised, first" : "first", memory);
        }
        show(m ? "not optimised, last" : "last", memory);
    }
    return failed ? 3 : 0;
}
