/* Shared by the test programs: declarations as in NVIDIA's headers,
   device images with readable PTX, and host stubs as nvcc generates them: up to 12
   with `cudaLaunchKernel`, from 13 on with `__cudaGetKernel` and `__cudaLaunchKernel`. */
#ifndef SHIM_CUDA_H
#define SHIM_CUDA_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

#ifndef MAJOR
#define MAJOR 12
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct { unsigned x, y, z; } dim3;
typedef int cudaError_t;

/* A static runtime shows what it is only by its symbols. */
#ifdef STUB_STATIC
#pragma GCC visibility push(hidden)
#endif
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, dim3 *, dim3 *, int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int);
char __cudaInitModule(void **);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void *);
cudaError_t __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);
cudaError_t __cudaGetKernel(void **, const void *);
cudaError_t __cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
cudaError_t __cudaLaunchKernel_ptsz(const void *, dim3, dim3, void **, size_t, void *);
cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
cudaError_t cudaLaunchKernel_ptsz(const void *, dim3, dim3, void **, size_t, void *);
cudaError_t cudaLaunchCooperativeKernel(const void *, dim3, dim3, void **, size_t, void *);
struct launch_attribute { unsigned id, pad; unsigned value[16]; };
struct launch_config { dim3 grid, block; size_t shared; void *stream; struct launch_attribute *attributes; unsigned count; };
cudaError_t cudaLaunchKernelExC(const struct launch_config *, const void *, void **);
struct launch_params { const void *func; dim3 grid, block; void **args; size_t shared; void *stream; };
cudaError_t cudaLaunchCooperativeKernelMultiDevice(struct launch_params *, unsigned, unsigned);
cudaError_t cudaGetFuncBySymbol(void **, const void *);
cudaError_t cudaGetKernel(void **, const void *);
cudaError_t cudaLibraryLoadData(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
cudaError_t cudaLibraryGetKernel(void **, void *, const char *);
cudaError_t cudaLibraryUnload(void *);
cudaError_t cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
cudaError_t cudaGetDriverEntryPoint(const char *, void **, unsigned long long, int *);
cudaError_t cudaMalloc(void **, size_t);
cudaError_t cudaFree(void *);
cudaError_t cudaMemcpy(void *, const void *, size_t, int);
cudaError_t cudaMemcpyAsync(void *, const void *, size_t, int, void *);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
cudaError_t cudaRuntimeGetVersion(int *);
struct node_params { const void *func; dim3 grid, block; unsigned shared; void **args; void **extra; };
cudaError_t cudaGraphCreate(void **, unsigned);
cudaError_t cudaGraphDestroy(void *);
cudaError_t cudaGraphAddKernelNode(void **, void *, void **, size_t, const struct node_params *);
cudaError_t cudaGraphKernelNodeSetParams(void *, const struct node_params *);
cudaError_t cudaGraphExecKernelNodeSetParams(void *, void *, const struct node_params *);
cudaError_t cudaGraphLaunch(void *, void *);
cudaError_t cudaGraphExecDestroy(void *);
cudaError_t cudaStreamBeginCapture(void *, int);
cudaError_t cudaStreamEndCapture(void *, void **);
#ifdef STUB_STATIC
#pragma GCC visibility pop
#endif

#define KERNEL_ALPHA "_Z5alphaPfif"
#define KERNEL_BETA "_Z4betav"
#define KERNEL_GAMMA "_Z5gamma4pairc"
#define PTX_HEAD ".version 7.0\n.target sm_52\n.address_size 64\n"
/* Variables, if a program has some; REGISTER_MORE(handle) registers them with the runtime. */
#ifndef MORE_PTX
#define MORE_PTX ""
#endif
#define PTX                                                                                        \
    PTX_HEAD MORE_PTX                                                                              \
    ".visible .entry _Z5alphaPfif(\n .param .u64 a,\n .param .u32 b,\n .param .f32 c\n)\n{ ret; }\n" \
    ".visible .entry _Z4betav()\n{ ret; }\n"                                                       \
    ".visible .entry _Z5gamma4pairc(\n .param .align 8 .b8 a[24],\n .param .u8 b\n)\n{ ret; }\n"

/* A fat binary with one uncompressed PTX entry, and its wrapper. */
#define IMAGE(name, ptx)                                                                            \
    static const struct {                                                                           \
        uint32_t magic; uint16_t version, header; uint64_t size;                                    \
        uint16_t kind, entry_version; uint32_t entry_header; uint64_t payload; uint32_t packed, z0; \
        uint16_t minor, major; uint32_t sm; uint64_t z1, flags, z2, unpacked;                       \
        char text[(sizeof(ptx) + 7) / 8 * 8];                                                       \
    } __attribute__((aligned(8))) name##_image = {                                                  \
        0xba55ed50, 1, 16, 64 + (sizeof(ptx) + 7) / 8 * 8,                                          \
        1, 0x0101, 64, (sizeof(ptx) + 7) / 8 * 8, 0, 0,                                             \
        0, 7, 52, 0, 0x11, 0, 0,                                                                    \
        ptx                                                                                         \
    };                                                                                              \
    static const struct { uint32_t magic, version; const void *data; void *list; }                  \
    name##_wrapper __attribute__((unused, section(".nvFatBinSegment"))) = {0x466243b1, 1, &name##_image, NULL}

/* Without padding, whose bytes would be undefined. */
struct pair { double a; long b; int c, d; };

static inline dim3 d3(unsigned x, unsigned y, unsigned z) {
    dim3 d = {x, y, z};
    return d;
}

#ifndef NO_STUBS
/* The status of the last `<<<>>>`. */
static __thread cudaError_t launched;

#if MAJOR >= 13
#define SEQUENCE(stub, args)                                                             \
    do {                                                                                 \
        static void *handle;                                                             \
        static int asked; /* asked once; the result stays, a failure too */         \
        static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;                        \
        dim3 g, b; size_t s; void *st;                                                   \
        if ((launched = __cudaPopCallConfiguration(&g, &b, &s, &st)) != 0) return;       \
        pthread_mutex_lock(&first);                                                      \
        if (!asked++) __cudaGetKernel(&handle, (const void *)stub);                      \
        pthread_mutex_unlock(&first);                                                    \
        launched = __cudaLaunchKernel(handle, g, b, args, s, st);                        \
    } while (0)
#else
#define SEQUENCE(stub, args)                                                             \
    do {                                                                                 \
        dim3 g, b; size_t s; void *st;                                                   \
        if ((launched = __cudaPopCallConfiguration(&g, &b, &s, &st)) != 0) return;       \
        launched = cudaLaunchKernel((const void *)stub, g, b, args, s, st);              \
    } while (0)
#endif

/* The host stubs of three kernels; local symbols, as nvcc's are. */
static __attribute__((noinline, unused)) void alpha(float *p, int n, float x) {
    void *args[] = {&p, &n, &x};
    SEQUENCE(alpha, args);
}
/* A kernel without parameters is launched with an array of garbage. */
static __attribute__((noinline, unused)) void beta(void) {
    void *args[] = {(void *)0x10};
    SEQUENCE(beta, args);
}
static __attribute__((noinline, unused)) void gamma_(struct pair p, char c) {
    void *args[] = {&p, &c};
    SEQUENCE(gamma_, args);
}

/* stub<<<g, b, shared, stream>>>(…); returns the launch's status. */
#define LAUNCH(g, b, shared, stream, call) \
    (__cudaPushCallConfiguration(g, b, shared, stream) ? (launched = -1) : ((call), launched))
#define LAUNCH1(call) LAUNCH(d3(1, 1, 1), d3(32, 1, 1), 0, NULL, call)

static void **handle_of_program __attribute__((unused));
static void unregister_program(void) { __cudaUnregisterFatBinary(handle_of_program); }

IMAGE(program, PTX);
__attribute__((constructor)) static void register_program(void) {
    void **h = handle_of_program = __cudaRegisterFatBinary((void *)&program_wrapper);
    __cudaRegisterFunction(h, (const char *)alpha, (char *)KERNEL_ALPHA, KERNEL_ALPHA, -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(h, (const char *)beta, (char *)KERNEL_BETA, KERNEL_BETA, -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(h, (const char *)gamma_, (char *)KERNEL_GAMMA, KERNEL_GAMMA, -1, 0, 0, 0, 0, 0);
#ifdef REGISTER_MORE
    REGISTER_MORE(h);
#endif
    __cudaRegisterFatBinaryEnd(h);
    atexit(unregister_program);
}
#endif

#ifdef __cplusplus
}
#endif
#endif
