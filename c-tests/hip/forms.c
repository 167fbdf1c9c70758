/* HIP's calls in each form that cushim hooks, with different values: `forms`. `many N`: N launches. `bundle FILE`: a
   clang bundle from a file is registered, then loaded as a module, and a kernel `add` of both is launched. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "stub.h"

static char stub_a, stub_b, variable, *managed;
static int number = 42;
static void *args[] = {&number};
static struct wrapper wrapper = {0x48495046, 1, "__CLANG_OFFLOAD_BUNDLE__\0\0\0\0\0\0\0", NULL};

static void **registered(const void *image) {
    wrapper.image = image ? image : wrapper.image;
    void **m = __hipRegisterFatBinary(&wrapper);
    __hipRegisterFunction(m, &stub_a, "_Z1aPi", "_Z1aPi", -1u, NULL, NULL, NULL, NULL, NULL);
    __hipRegisterFunction(m, &stub_b, "add", "add", 256, NULL, NULL, NULL, NULL, NULL);
    __hipRegisterVar(m, &variable, "variable", "variable", 0, 16, 1, 0);
    __hipRegisterManagedVar(m, (void **)&managed, NULL, "managed", 64, 8);
    return m;
}

/* Launches by a structure: a configuration, or an array of launch parameters. */
static void configured(void *function, void *stream) {
    struct dim3 grid = {8, 2, 1}, block = {64, 2, 1};
    struct attribute attributes[] = {{8, 0, {1}}, {2, 0, {1}}};
    struct config config = {grid, block, 40, stream, attributes, 2};
    struct drv_config drv = {block, grid, 41, NULL, attributes, 1};
    int buffer = 44;
    size_t size = sizeof buffer;
    void *extra[] = {(void *)1, &buffer, (void *)2, &size, (void *)3};
    printf("%d\n", hipLaunchKernelExC(&config, &stub_a, args));
    printf("%d\n", hipLaunchKernelExC(NULL, &stub_b, args));
    printf("%d\n", hipDrvLaunchKernelEx(&drv, function, args, NULL));
    printf("%d\n", hipDrvLaunchKernelEx(&drv, function, NULL, extra));
    struct function_params list[] = {{function, grid, block, 42, stream, args}, {function, block, grid, 43, NULL, args}};
    printf("%d\n", hipModuleLaunchCooperativeKernelMultiDevice(list, 2, 0));
}

/* Kernel nodes, by their own functions and by the generic ones; the last node is no kernel node. */
static void nodes(void) {
    struct dim3 grid = {8, 2, 1}, block = {64, 2, 1};
    int buffer = 45;
    size_t size = sizeof buffer;
    void *extra[] = {(void *)1, &buffer, (void *)2, &size, (void *)3};
    struct kernel_node kernel = {block, NULL, &stub_a, grid, args, 50};
    struct node_params any = {.of.kernel = {grid, extra, &stub_b, block, NULL, 51}}, other = {.type = 2};
    void *graph, *node, *exec;
    printf("%d\n", hipGraphCreate(&graph, 0));
    printf("%d\n", hipGraphAddKernelNode(&node, graph, NULL, 0, &kernel));
    printf("%d\n", hipGraphAddKernelNode(&node, graph, NULL, 0, NULL));
    printf("%d\n", hipGraphKernelNodeSetParams(node, &kernel));
    printf("%d\n", hipGraphAddNode(&node, graph, NULL, 0, &any));
    printf("%d\n", hipGraphNodeSetParams(node, &any));
    printf("%d\n", hipGraphInstantiate(&exec, graph, NULL, NULL, 0));
    kernel.shared = 52;
    printf("%d\n", hipGraphExecKernelNodeSetParams(exec, node, &kernel));
    printf("%d\n", hipGraphExecNodeSetParams(exec, node, &any));
    printf("%d\n", hipGraphAddNode(&node, graph, NULL, 0, &other));
    printf("%d\n", hipGraphLaunch(exec, NULL));
    printf("%d\n", hipGraphExecDestroy(exec));
    printf("%d\n", hipGraphDestroy(graph));
}

static void libraries(void) {
    void *library, *kernel, *module;
    printf("%d\n", hipLibraryLoadData(&library, wrapper.image, NULL, NULL, 0, NULL, NULL, 0));
    printf("%d\n", hipLibraryGetKernel(&kernel, library, "_Z1ci"));
    printf("%d\n", hipModuleLaunchKernel(kernel, 6, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    printf("%d\n", hipLibraryUnload(library));
    printf("%d\n", hipModuleLoadFatBinary(&module, wrapper.image));
    printf("%d\n", hipModuleUnload(module));
}

static void forms(void) {
    struct dim3 grid = {8, 2, 1}, block = {64, 2, 1}, none = {0, 1, 1};
    int buffer = 43;
    size_t size = sizeof buffer;
    void *extra[] = {(void *)1, &buffer, (void *)2, &size, (void *)3};
    void *stream, *module, *function, *memory;
    void **m = registered(NULL);
    printf("%d\n", hipStreamCreate(&stream));
    printf("%d\n", hipLaunchKernel(&stub_a, grid, block, args, 16, stream));
    printf("%d\n", hipLaunchKernel(&stub_a, none, block, args, 0, NULL));
    printf("%d\n", hipLaunchKernel_spt(&stub_b, grid, block, args, 17, NULL));
    printf("%d\n", hipExtLaunchKernel(&stub_a, grid, block, args, 18, stream, stream, stream, 3));
    printf("%d\n", hipLaunchCooperativeKernel(&stub_b, grid, block, args, 19, stream));
    struct launch_params list[] = {{&stub_a, grid, block, args, 20, stream}, {&stub_b, block, grid, args, 21, NULL}};
    printf("%d\n", hipLaunchCooperativeKernelMultiDevice(list, 2, 0));
    printf("%d\n", hipExtLaunchMultiKernelMultiDevice(list, 1, 1));
    printf("%d\n", hipModuleLoadData(&module, wrapper.image));
    printf("%d\n", hipModuleGetFunction(&function, module, "_Z1bi"));
    printf("%d\n", hipModuleLaunchKernel(function, 4, 3, 2, 32, 2, 1, 22, stream, args, NULL));
    /* A buffer with the arguments instead of an array of pointers. */
    printf("%d\n", hipModuleLaunchKernel(function, 5, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    /* The grid in work-items: 4 and 7 blocks. */
    printf("%d\n", EXT_LAUNCH(function, 256, 1, 1, 64, 1, 1, 23, stream, args, NULL, NULL, NULL, 5));
    printf("%d\n", HCC_LAUNCH(function, 700, 1, 1, 100, 1, 1, 24, NULL, args, NULL, NULL, NULL));
    /* C++ exports this function: its name here is not the symbol's. */
    __typeof__(EXT_LAUNCH) *by_items = NULL;
    printf("%d\n", hipGetProcAddress("hipExtModuleLaunchKernel", (void **)&by_items, 60000000, 0, NULL));
    printf("%d\n", by_items(function, 64, 1, 1, 32, 1, 1, 25, stream, args, NULL, NULL, NULL, 0));
    configured(function, stream);
    printf("%d\n", hipModuleUnload(module));
    nodes();
    libraries();
    printf("%d\n", hipMalloc(&memory, 4096));
    printf("%d\n", hipMemcpy(memory, &number, 4, 1));
    printf("%d\n", hipMemcpy(NULL, memory, 4, 2));
    printf("%d\n", hipMemcpyAsync(memory, &number, 4, 4, stream));
    printf("%d\n", hipMemset(memory, 3, 256));
    printf("%d\n", hipMemset3D((struct pitched){memory, 64, 60, 4}, 7, (struct extent){32, 4, 2}));
    printf("%d\n", hipFree(memory));
    int (*launch)(const void *, struct dim3, struct dim3, void **, size_t, void *) = NULL;
    for (unsigned flags = 0; flags < 2; flags++) {
        printf("%d\n", hipGetProcAddress("hipLaunchKernel", (void **)&launch, 60000000, flags, NULL));
        printf("%d\n", launch(&stub_a, grid, block, args, 30 + flags, NULL));
    }
    launch = dlsym(RTLD_DEFAULT, "hipLaunchKernel");
    printf("%d\n", launch ? launch(&stub_a, grid, block, args, 32, NULL) : -1);
    printf("%d\n", hipStreamSynchronize(stream));
    __hipUnregisterFatBinary(m);
}

static void *contents(const char *file) {
    FILE *f = fopen(file, "rb");
    if (!f) exit(3);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    void *at = malloc(size);
    rewind(f);
    if (fread(at, 1, size, f) != (size_t)size) exit(4);
    fclose(f);
    return at;
}

int main(int argc, char **argv) {
    struct dim3 grid = {1, 1, 1}, block = {64, 1, 1};
    if (argc > 2 && !strcmp(argv[1], "many")) {
        void **m = registered(NULL);
        int failed = 0;
        for (int i = 0; i < atoi(argv[2]); i++) failed += hipLaunchKernel(&stub_a, grid, block, args, 0, NULL) != 0;
        __hipUnregisterFatBinary(m);
        return failed != 0;
    }
    if (argc > 2 && !strcmp(argv[1], "bundle")) {
        void *image = contents(argv[2]), *module, *function;
        /* add(const float *, const float *, float *, int) */
        void *a = (void *)0x1000, *b = (void *)0x2000, *c = (void *)0x3000;
        void *given[] = {&a, &b, &c, &number};
        void **m = registered(image);
        printf("%d\n", hipLaunchKernel(&stub_b, grid, block, given, 0, NULL));
        printf("%d\n", hipModuleLoadData(&module, image));
        free(image);
        printf("%d\n", hipModuleGetFunction(&function, module, "add"));
        printf("%d\n", hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, NULL, given, NULL));
        __hipUnregisterFatBinary(m);
        return 0;
    }
    forms();
    return 0;
}
