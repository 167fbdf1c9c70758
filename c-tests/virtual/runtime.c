/* A program that calls the runtime as compiled code does, without a toolkit: registration as in nvcc's constructors, all
   kinds of variables, each way to launch, invalid launches, threads, an image that is unregistered and registered again. Prints its
   results; runs on virtual CUDA without a GPU. */
#define NO_STUBS
#include "cuda.h"

cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
cudaError_t cudaGetDeviceCount(int *);
cudaError_t cudaFuncGetName(const char **, const void *);
cudaError_t cudaDeviceReset(void);
const char *cudaGetErrorName(cudaError_t);
const char *cudaGetErrorString(cudaError_t);
void __cudaRegisterManagedVar(void **, void **, char *, const char *, int, size_t, int, int);

#define SCALE ".visible .entry scale(.param .u64 to, .param .u32 by)\n"                         \
    "{ .reg .u64 %p; .reg .u32 %x, %t, %y;\n"                                                   \
    " ld.param.u64 %p, [to]; ld.param.u32 %y, [by]; mov.u32 %t, %tid.x;\n"                      \
    " mul.lo.u32 %x, %t, %y; mad.wide.u32 %p, %t, 4, %p; st.global.u32 [%p], %x; ret; }\n"
#define COUNT ".visible .global .align 4 .u32 counter = 40;\n"                                  \
    ".visible .global .attribute(.managed) .align 4 .u32 shared = 7;\n"                         \
    ".visible .entry count()\n"                                                                 \
    "{ .reg .u32 %x; atom.global.add.u32 %x, [counter], 1; atom.global.add.u32 %x, [shared], 10; ret; }\n"
IMAGE(program, ".version 7.0\n.target sm_52\n.address_size 64\n" SCALE COUNT);
IMAGE(other, ".version 7.0\n.target sm_52\n.address_size 64\n" SCALE);

static char scale[1], count[1], again[1], counter[4], not_a_kernel[1];
static int *shared;
static void **program;

__attribute__((constructor)) static void load(void) {
    program = __cudaRegisterFatBinary((void *)&program_wrapper);
    __cudaRegisterFunction(program, scale, "scale", "scale", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(program, count, "count", "count", -1, 0, 0, 0, 0, 0);
    __cudaRegisterVar(program, counter, "counter", "counter", 0, 4, 0, 0);
    __cudaRegisterManagedVar(program, (void **)&shared, "shared", "shared", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(program);
}
static void unload(void) { __cudaUnregisterFatBinary(program); }

static const char *name(cudaError_t error) { return cudaGetErrorName(error); }

static void show(const char *what, void *d) {
    int h[4] = {-1, -1, -1, -1};
    cudaError_t error = cudaMemcpy(h, d, sizeof h, 2);
    printf("%s: %d %d %d %d %s\n", what, h[0], h[1], h[2], h[3], name(error));
}

static cudaError_t launch(const void *stub, void *d, int by) {
    void *args[] = {&d, &by};
    if (__cudaPushCallConfiguration(d3(1, 1, 1), d3(4, 1, 1), 0, NULL)) return -1;
    dim3 grid, block;
    size_t bytes;
    void *stream;
    if (__cudaPopCallConfiguration(&grid, &block, &bytes, &stream)) return -2;
    return cudaLaunchKernel(stub, grid, block, args, bytes, stream);
}

static void *work(void *d) {
    for (int i = 0; i < 50; i++)
        if (launch(scale, d, i)) return "a launch failed";
    return cudaLaunchKernel(count, d3(2, 1, 1), d3(1, 1, 1), NULL, 0, NULL) ? "count failed" : NULL;
}

int main(void) {
    int devices = 0;
    void *d = NULL;
    atexit(unload);
    printf("shadow before %s\n", shared ? "set" : "null");
    int ready = __cudaInitModule(program);
    printf("init %d, shadow %s\n", ready, shared ? "set" : "null");
    printf("managed %d\n", *shared);
    printf("devices %s\n", name(cudaGetDeviceCount(&devices)));
    printf("malloc %s\n", name(cudaMalloc(&d, 16)));
    printf("launch %s\n", name(launch(scale, d, 3)));
    show("scaled", d);

    int by = 5;
    void *args[] = {&d, &by}, *kernel = NULL;
    struct launch_config config = {d3(1, 1, 1), d3(4, 1, 1), 0, NULL, NULL, 0};
    printf("by configuration %s\n", name(cudaLaunchKernelExC(&config, scale, args)));
    show("scaled", d);
#if MAJOR >= 12
    by = 6;
    printf("handle %s\n", name(__cudaGetKernel(&kernel, scale)));
    printf("by handle %s\n", name(__cudaLaunchKernel(kernel, d3(1, 1, 1), d3(4, 1, 1), args, 0, NULL)));
    show("scaled", d);
    const char *called = NULL;
    printf("name %s", name(cudaFuncGetName(&called, kernel)));
    printf(" %s\n", called ? called : "none");
    printf("handle of nothing %s", name(__cudaGetKernel(&kernel, not_a_kernel)));
    printf(" %s\n", kernel == not_a_kernel ? "the stub" : "another");
#endif
    cudaGetLastError();
    printf("unknown %s\n", name(launch(not_a_kernel, d, 1)));
    printf("shape %s\n", name(cudaLaunchKernel(scale, d3(0, 1, 1), d3(1, 1, 1), args, 0, NULL)));
    cudaError_t peeked = cudaPeekAtLastError(), taken = cudaGetLastError();
    printf("last %s %s %s\n", name(peeked), name(taken), name(cudaGetLastError()));
    printf("pop %s\n", name(__cudaPopCallConfiguration(NULL, NULL, NULL, NULL)));
    cudaGetLastError();

    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, d);
    for (int i = 0; i < 4; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        if (wrong) printf("thread: %s\n", (char *)wrong);
    }
    printf("wait %s\n", name(cudaDeviceSynchronize()));
    show("scaled", d);
    printf("managed %d\n", *shared);

    for (int round = 0; round < 3; round++) {
        void **h = __cudaRegisterFatBinary((void *)&other_wrapper);
        __cudaRegisterFunction(h, again, "scale", "scale", -1, 0, 0, 0, 0, 0);
        cudaError_t before = launch(again, d, 100 + round);
        show("loaded", d);
        __cudaUnregisterFatBinary(h);
        printf("%s, unloaded %s\n", name(before), name(launch(again, d, 0)));
        cudaGetLastError();
    }
    printf("free %s\n", name(cudaFree(d)));
    printf("reset %s\n", name(cudaDeviceReset()));
    printf("last %s\n", cudaGetErrorString(cudaGetLastError()));
    return 0;
}
