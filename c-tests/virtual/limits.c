/* A kernel whose result is printed, in a process whose limits others choose; `noexec`: a sandbox that forbids executable memory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* MemorySanitizer does not see what libraries write that were built without it, as CUDA's. */
#ifdef MSAN
#include <sanitizer/msan_interface.h>
#define WRITTEN(what) __msan_unpoison(&(what), sizeof(what))
#else
#define WRITTEN(what) (void)(what)
#endif

typedef int (*Call)();

static const char ptx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry squares(.param .u64 to) {\n"
    "  .reg .u64 %p, %o; .reg .u32 %r, %s;\n"
    "  ld.param.u64 %p, [to];\n"
    "  mov.u32 %r, %tid.x; mul.lo.u32 %s, %r, %r;\n"
    "  mul.wide.u32 %o, %r, 4; add.u64 %p, %p, %o; st.global.u32 [%p], %s;\n"
    "  ret; }\n";

/* Refuses protections that let memory be executed, as SELinux or systemd do. */
static void no_code(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) exit(77);
}

static void *driver;

static Call named(const char *name) {
    Call call = (Call)dlsym(driver, name);
    if (!call) exit(2);
    return call;
}

int main(int count, char **args) {
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) return 2;
    if (count > 1 && !strcmp(args[1], "noexec")) no_code();
    int device, failed = named("cuInit")(0);
    void *context, *module, *kernel;
    uint64_t memory;
    uint32_t squares[64];
    failed |= named("cuDeviceGet")(&device, 0);
    WRITTEN(device);
    failed |= named("cuDevicePrimaryCtxRetain")(&context, device);
    WRITTEN(context);
    failed |= named("cuCtxSetCurrent")(context);
    failed |= named("cuModuleLoadData")(&module, ptx);
    WRITTEN(module);
    failed |= named("cuModuleGetFunction")(&kernel, module, "squares");
    WRITTEN(kernel);
    failed |= named("cuMemAlloc_v2")(&memory, sizeof squares);
    WRITTEN(memory);
    void *values[] = {&memory};
    failed |= named("cuLaunchKernel")(kernel, 1, 1, 1, 64, 1, 1, 0, (void *)0, values, (void *)0);
    failed |= named("cuMemcpyDtoH_v2")(squares, memory, sizeof squares);
    WRITTEN(squares);
    printf("%d %u\n", failed, failed ? 0 : squares[63]);
    return 0;
}
