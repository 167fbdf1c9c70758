/* Images with a variable, through the driver: in several contexts, unloaded and loaded again, and as graph nodes, whose
   kernels run in the context that the node names. The log shows the values that launches and nodes see (variables=).
   With `again`: kernels that may have the handle of one that was unloaded. */
#define NO_STUBS
#include "cuda.h"

#define IMAGE_TEXT PTX_HEAD ".visible .const .align 4 .u32 scale = 1;\n.visible .entry _Z5alphaPfif(\n .param .u64 a,\n .param .u32 b,\n .param .f32 c\n)\n{ ret; }\n.visible .entry one()\n{ ret; }\n.visible .entry two()\n{ ret; }\n"
int cuInit(unsigned);
int cuCtxCreate_v2(void **, unsigned, int);
int cuCtxDestroy_v2(void *);
int cuCtxSetCurrent(void *);
int cuModuleLoadData(void **, const void *);
int cuModuleUnload(void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuModuleGetGlobal_v2(unsigned long long *, size_t *, void *, const char *);
int cuLibraryLoadData(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
int cuLibraryGetKernel(void **, void *, const char *);
int cuLibraryGetGlobal(unsigned long long *, size_t *, void *, const char *);
int cuLibraryUnload(void *);
int cuKernelGetFunction(void **, void *);
int cuMemcpyHtoD_v2(unsigned long long, const void *, size_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
struct driver_node { void *func; unsigned g[3], b[3], shared; void **params, **extra; void *kern, *ctx; };
int cuGraphCreate(void **, unsigned);
int cuGraphAddKernelNode_v2(void **, void *, void **, size_t, const struct driver_node *);
int cuGraphKernelNodeSetParams_v2(void *, const struct driver_node *);

static unsigned long long a;
static int b;
static float c;
static void *arguments[] = {&a, &b, &c};

#define MUST(call)                                                              \
    do {                                                                        \
        int status = call;                                                      \
        if (status) { printf("%s: %d\n", #call, status); exit(1); }             \
    } while (0)

static void *module(int value, void **function) {
    void *module;
    unsigned long long at;
    MUST(cuModuleLoadData(&module, IMAGE_TEXT));
    MUST(cuModuleGetFunction(function, module, KERNEL_ALPHA));
    MUST(cuModuleGetGlobal_v2(&at, NULL, module, "scale"));
    MUST(cuMemcpyHtoD_v2(at, &value, 4));
    return module;
}
static int launch(void *function) { return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL); }
static void set(void *library, int value) {
    unsigned long long at;
    MUST(cuLibraryGetGlobal(&at, NULL, library, "scale"));
    MUST(cuMemcpyHtoD_v2(at, &value, 4));
}

static int again(void) {
    void *context, *f, *g[2], *second;
    MUST(cuCtxCreate_v2(&context, 0, 0));
    void *first = module(0x31, &f);
    printf("first %d\n", launch(f));
    MUST(cuModuleUnload(first));
    MUST(cuModuleLoadData(&second, IMAGE_TEXT));
    MUST(cuModuleGetFunction(&g[0], second, "one"));
    MUST(cuModuleGetFunction(&g[1], second, "two"));
    for (int i = 0; i < 2; i++) printf("%d ", cuLaunchKernel(g[i], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    printf("again %d\n", f == g[0] || f == g[1]);
    return 0;
}

int main(int argc, char **argv) {
    void *one, *two, *f, *g, *h;
    (void)argv;
    MUST(cuInit(0));
    if (argc > 1) return again();
    MUST(cuCtxCreate_v2(&one, 0, 0));
    void *first = module(0x31, &f);
    MUST(cuCtxCreate_v2(&two, 0, 0));
    module(0x32, &g);
    printf("two %d\n", launch(g));
    MUST(cuCtxSetCurrent(one));
    printf("one %d\n", launch(f));
    void *same = module(0x33, &h);
    printf("twice %d", launch(h));
    printf(" %d\n", launch(f));
    MUST(cuModuleUnload(first));
    printf("unloaded %d", launch(h));
    printf(" %d\n", launch(f));
    MUST(cuModuleUnload(same));
    module(0x34, &f);
    printf("again %d\n", launch(f));

    /* A library is in all contexts; a node's kernel runs in the context that the node names. */
    void *library, *kernel, *graph, *node;
    MUST(cuLibraryLoadData(&library, IMAGE_TEXT, NULL, NULL, 0, NULL, NULL, 0));
    MUST(cuLibraryGetKernel(&kernel, library, KERNEL_ALPHA));
    set(library, 0x51);
    MUST(cuCtxSetCurrent(two));
    set(library, 0x52);
    MUST(cuGraphCreate(&graph, 0));
    struct driver_node params = {NULL, {1, 1, 1}, {1, 1, 1}, 0, arguments, NULL, kernel, one};
    printf("node in one %d\n", cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
    params.ctx = two;
    printf("node in two %d\n", cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
    params.ctx = NULL;
    printf("node here %d\n", cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
    params.ctx = one;
    printf("node changed %d\n", cuGraphKernelNodeSetParams_v2(node, &params));
    printf("launched %d\n", launch(kernel));
    /* A function runs in its own context. */
    void *other;
    MUST(cuLibraryLoadData(&other, IMAGE_TEXT, NULL, NULL, 0, NULL, NULL, 0));
    MUST(cuLibraryGetKernel(&h, other, KERNEL_ALPHA));
    set(other, 0x62);
    MUST(cuCtxSetCurrent(one));
    set(other, 0x61);
    MUST(cuKernelGetFunction(&params.func, h));
    MUST(cuCtxSetCurrent(two));
    params.kern = NULL;
    params.ctx = NULL;
    printf("function in one %d\n", cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
    MUST(cuCtxSetCurrent(one));
    printf("launched %d\n", launch(kernel));
    MUST(cuCtxDestroy_v2(two));
    printf("destroyed %d\n", launch(kernel));
    MUST(cuLibraryUnload(library));
    printf("unloaded %d\n", launch(kernel));
    return 0;
}
