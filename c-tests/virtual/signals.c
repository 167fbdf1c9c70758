/* A kernel that never ends, or one that touches unmapped memory, in a program with its own signal handlers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int (*Call)();

static const char ptx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry forever(.param .u64 to) {\n"
    "  .reg .u64 %p; .reg .u32 %r; .reg .pred %q;\n"
    "  ld.param.u64 %p, [to];\n"
    "L: ld.volatile.global.u32 %r, [%p]; setp.eq.u32 %q, %r, 0; @%q bra L;\n"
    "  ret; }\n"
    ".visible .entry load(.param .u64 from) {\n"
    "  .reg .u64 %p; .reg .u32 %r;\n"
    "  ld.param.u64 %p, [from];\n"
    "  ld.global.u32 %r, [%p]; add.u32 %r, %r, 1; st.global.u32 [%p], %r;\n"
    "  ret; }\n";

static void interrupted(int signal) { _exit(signal == SIGINT ? 5 : 6); }

static void touched(int signal, siginfo_t *info, void *context) {
    (void)context;
    _exit(signal == SIGSEGV && info->si_addr == (void *)64 ? 7 : 8);
}

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
    const char *mode = count > 1 ? args[1] : "";
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) return 2;
    int device, failed = named("cuInit")(0);
    void *context, *module, *kernel;
    uint64_t memory;
    failed |= named("cuDeviceGet")(&device, 0);
    failed |= named("cuDevicePrimaryCtxRetain")(&context, device);
    failed |= named("cuCtxSetCurrent")(context);
    failed |= named("cuModuleLoadData")(&module, ptx);
    failed |= named("cuMemAlloc_v2")(&memory, (size_t)64);
    failed |= named("cuMemsetD32_v2")(memory, 0, (size_t)16);
    struct sigaction segv = {.sa_sigaction = touched, .sa_flags = SA_SIGINFO};
    if (!strcmp(mode, "handled")) signal(SIGINT, interrupted);
    if (!strcmp(mode, "fault-before")) sigaction(SIGSEGV, &segv, 0);
    int fault = !strncmp(mode, "fault", 5);
    failed |= named("cuModuleGetFunction")(&kernel, module, fault ? "load" : "forever");
    if (failed) return 3;
    // Far beyond the allocation, where no memory is mapped.
    uint64_t at = fault ? memory + ((uint64_t)32 << 20) : memory;
    void *values[] = {&at};
    if (named("cuLaunchKernel")(kernel, 1, 1, 1, 32, 1, 1, 0, (void *)0, values, (void *)0)) return 4;
    puts("launched");
    fflush(stdout);
    int result = named("cuCtxSynchronize")();
    printf("%d\n", result);
    fflush(stdout);
    if (!strcmp(mode, "fault-after")) sigaction(SIGSEGV, &segv, 0);
    if (fault) *(volatile int *)64 = 1;
    return 0;
}
