/* Kernels that fail, one for each mode: prints the error of the wait. The test reads the messages on stderr.
 * The PTX is as compilers write it with line numbers: files at the end, and inlined calls. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int (*Call)();

#define REGISTERS ".reg .u64 %p, %n; .reg .u32 %t, %r; .reg .pred %q; ld.param.u64 %p, [p]; ld.param.u64 %n, [n];\n"

static const char ptx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".func _Z3farPKix(.reg .u64 %p, .reg .u64 %n)\n{ .reg .u32 %r;\n"
    ".loc 1 7 52\n"
    "add.u64 %p, %p, %n; ld.u32 %r, [%p]; ret; }\n"
    ".visible .entry _Z6gatherPix(.param .u64 p, .param .u64 n)\n{\n"
    ".loc 1 12 0\n" REGISTERS
    ".loc 1 13 5\n"
    "mov.u32 %t, %tid.x; setp.ne.u32 %q, %t, 5; @%q bra L;\n"
    "add.u64 %n, %p, %n;\n"
    ".loc 1 14 9\n"
    "ld.global.u32 %r, [%n];\n"
    "st.global.u32 [%p], %r;\n"
    "L: ret; }\n"
    ".visible .entry _Z7inlinedPix(.param .u64 p, .param .u64 n)\n{\n" REGISTERS
    ".loc 1 20 5\n"
    "mov.u32 %t, %tid.y; setp.eq.u32 %q, %t, 3; add.u64 %n, %p, %n;\n"
    ".loc 2 4 3, function_name $L__info_string0, inlined_at 1 20 5\n"
    ".loc 2 9 7, function_name $L__info_string0, inlined_at 2 4 3\n"
    "@%q st.global.u32 [%n], %t; ret; }\n"
    ".visible .entry _Z5callsPix(.param .u64 p, .param .u64 n)\n{\n" REGISTERS
    "mov.u32 %t, %ctaid.x; setp.ne.u32 %q, %t, 1; @%q bra L; mov.u32 %t, %tid.x; setp.ne.u32 %q, %t, 2; @%q bra L;\n"
    ".loc 1 30 5\n"
    "call _Z3farPKix, (%p, %n);\n"
    "L: ret; }\n"
    ".visible .entry plain(.param .u64 p, .param .u64 n)\n{\n" REGISTERS
    "add.u64 %p, %p, %n; mov.u32 %t, %tid.x; mad.wide.u32 %p, %t, 8, %p;\n"
    "red.global.add.u32 [%p], 1; ret; }\n"
    ".visible .entry odd(.param .u64 p, .param .u64 n)\n{\n" REGISTERS
    "mov.u32 %t, %tid.x; setp.gt.u32 %q, %t, 4;\n"
    ".loc 1 40 3\n"
    "@%q st.global.u32 [%p+2], %t; ret; }\n"
    ".visible .entry ends(.param .u64 p, .param .u64 n)\n{\n" REGISTERS
    "mov.u32 %t, %tid.x; setp.eq.u32 %q, %t, 7;\n"
    ".loc 1 50 3\n"
    "@%q trap; ret; }\n"
    ".file 1 \"/home/user/fault.cu\"\n"
    ".file 2 \"/home/user/part.h\", 1700000000, 123\n";

static void *driver;

static Call named(const char *name) {
    Call call = (Call)dlsym(driver, name);
    if (!call) {
        puts(name);
        _exit(2);
    }
    return call;
}

int main(int count, char **args) {
    if (count < 2 || !(driver = dlopen("libcuda.so.1", RTLD_NOW))) return 2;
    int device, failed = named("cuInit")(0);
    void *context, *module, *kernel;
    uint64_t memory, further;
    failed |= named("cuDeviceGet")(&device, 0);
    failed |= named("cuDevicePrimaryCtxRetain")(&context, device);
    failed |= named("cuCtxSetCurrent")(context);
    failed |= named("cuModuleLoadData")(&module, ptx);
    failed |= named("cuMemAlloc_v2")(&memory, (size_t)1000);
    failed |= named("cuModuleGetFunction")(&kernel, module, args[1]);
    if (failed) return 3;
    further = (uint64_t)32 << 20;
    void *values[] = {&memory, &further};
    // If several blocks fail, any may be reported first.
    int blocks = strcmp(args[1], "_Z5callsPix") ? 1 : 2;
    if (named("cuLaunchKernel")(kernel, blocks, 1, 1, 8, 4, 2, 0, (void *)0, values, (void *)0)) return 4;
    printf("%d\n", named("cuCtxSynchronize")());
    return 0;
}
