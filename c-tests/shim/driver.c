/* Direct use of the driver, as in JAX, CuPy and Triton; with `linked` through
   the program's own references, with `opened` through dlopen, dlsym and
   cuGetProcAddress, with `default` through dlsym(RTLD_DEFAULT). */
#include <dlfcn.h>

#define NO_STUBS
#include "cuda.h"

int cuInit(unsigned);
int cuModuleLoadData(void **, const void *);
int cuModuleLoadDataEx(void **, const void *, unsigned, void *, void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuModuleUnload(void *);
int cuLibraryLoadData(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
int cuLibraryGetKernel(void **, void *, const char *);
int cuLibraryGetModule(void **, void *);
int cuKernelGetFunction(void **, void *);
int cuLibraryUnload(void *);
int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuLaunchKernel_ptsz(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuLaunchCooperativeKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **);
struct driver_config { unsigned g[3], b[3], shared; void *stream; struct launch_attribute *attributes; unsigned count; };
int cuLaunchKernelEx(const struct driver_config *, void *, void **, void **);
struct driver_node { void *func; unsigned g[3], b[3], shared; void **params, **extra; void *kern, *ctx; };
int cuGraphCreate(void **, unsigned);
int cuGraphAddKernelNode_v2(void **, void *, void **, size_t, const struct driver_node *);

static const char ptx[] = PTX;
IMAGE(fat, PTX);

#ifdef OPENED
#define F(name) ((__typeof__(&name))find(#name))
static void *find(const char *name);
#else
#define F(name) name
#endif

static int run(void) {
    void *context, *module, *library, *f, *g, *h;
    printf("init %d\n", F(cuInit)(0));
    printf("context %d", F(cuDevicePrimaryCtxRetain)(&context, 0));
    printf(" %d\n", F(cuCtxSetCurrent)(context));
    char *copy = strdup(ptx);
    printf("load %d\n", F(cuModuleLoadData)(&module, ptx));
    printf("load bad %d\n", F(cuModuleLoadData)(&module, NULL));
    free(copy);
    printf("function %d\n", F(cuModuleGetFunction)(&f, module, KERNEL_ALPHA));
    h = (void *)0x99;
    printf("no function %d", F(cuModuleGetFunction)(&h, module, "no_such"));
    printf(" %p\n", h);
    float *p = (float *)0x7f0000004000;
    int n = 3;
    float x = 4;
    void *args[] = {&p, &n, &x};
    printf("launch %d\n", F(cuLaunchKernel)(f, 1, 2, 3, 4, 5, 6, 7, (void *)0x8, args, NULL));
    unsigned char block[16] = {16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
    size_t size = sizeof block;
    void *extra[] = {(void *)1, block, (void *)2, &size, (void *)0};
    void *arxet[] = {(void *)2, &size, (void *)1, block, (void *)0};
    printf("extra %d\n", F(cuLaunchKernel)(f, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    printf("extra reversed %d\n", F(cuLaunchKernel)(f, 3, 1, 1, 32, 1, 1, 0, NULL, NULL, arxet));
    printf("both %d\n", F(cuLaunchKernel)(f, 4, 1, 1, 32, 1, 1, 0, NULL, args, extra));
    printf("neither %d\n", F(cuLaunchKernel)(f, 5, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    printf("null function %d\n", F(cuLaunchKernel)(NULL, 6, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    printf("garbage function %d\n", F(cuLaunchKernel)((void *)0x123450, 7, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    printf("empty grid %d\n", F(cuLaunchKernel)(f, 0, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    printf("ptsz %d\n", F(cuLaunchKernel_ptsz)(f, 8, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    printf("cooperative %d\n", F(cuLaunchCooperativeKernel)(f, 9, 1, 1, 32, 1, 1, 0, NULL, args));
    struct launch_attribute cluster = {4, 0, {2, 3, 1}};
    struct driver_config config = {{10, 1, 1}, {32, 1, 1}, 48, (void *)0x9, &cluster, 1};
    printf("ex %d\n", F(cuLaunchKernelEx)(&config, f, args, NULL));
    printf("ex extra %d\n", F(cuLaunchKernelEx)(&config, f, NULL, extra));
    printf("ex null %d\n", F(cuLaunchKernelEx)(NULL, f, args, NULL));
    printf("library %d\n", F(cuLibraryLoadData)(&library, &fat_wrapper, NULL, NULL, 0, NULL, NULL, 0));
    printf("kernel %d\n", F(cuLibraryGetKernel)(&g, library, KERNEL_GAMMA));
    struct pair pair = {1.0, 2, 3, 4};
    char c = 'z';
    void *pair_args[] = {&pair, &c};
    printf("kernel launch %d\n", F(cuLaunchKernel)(g, 11, 1, 1, 32, 1, 1, 0, NULL, pair_args, NULL));
    printf("its function %d\n", F(cuKernelGetFunction)(&h, g));
    printf("function launch %d\n", F(cuLaunchKernel)(h, 12, 1, 1, 32, 1, 1, 0, NULL, pair_args, NULL));
    printf("its module %d", F(cuLibraryGetModule)(&module, library));
    printf(" %d\n", F(cuModuleGetFunction)(&h, module, KERNEL_BETA));
    printf("beta %d\n", F(cuLaunchKernel)(h, 13, 1, 1, 32, 1, 1, 0, NULL, (void *[]){(void *)0x3}, NULL));
    void *graph, *node;
    struct driver_node params = {NULL, {14, 1, 1}, {32, 1, 1}, 0, pair_args, NULL, g, NULL};
    printf("graph %d %d\n", F(cuGraphCreate)(&graph, 0), F(cuGraphAddKernelNode_v2)(&node, graph, NULL, 0, &params));
    printf("node null %d\n", F(cuGraphAddKernelNode_v2)(&node, graph, NULL, 0, NULL));
    printf("unload %d %d\n", F(cuLibraryUnload)(library), F(cuModuleUnload)(NULL));
    return 0;
}

#ifdef OPENED
static void *scope;
static void *find(const char *name) {
    void *found = dlsym(scope, name);
    if (!found) { printf("%s is not found\n", name); exit(1); }
    return found;
}
int main(int argc, char **argv) {
    (void)argc;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | (strcmp(argv[1], "default") ? 0 : RTLD_GLOBAL));
    if (!library) { printf("no driver\n"); return 1; }
    scope = strcmp(argv[1], "default") ? library : RTLD_DEFAULT;
    return run();
}
#else
int main(void) { return run(); }
#endif
