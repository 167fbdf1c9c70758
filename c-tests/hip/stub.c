/* A libamdhip64 for tests: it runs nothing, prints each call on standard output, and returns 0; it refuses a launch with a
   grid of 0 blocks (9) and a copy to null (1). STUB_QUIET: it prints nothing. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "stub.h"

#define SAY(...) do { if (!getenv("STUB_QUIET")) { printf(__VA_ARGS__); fflush(stdout); } } while (0)

/* A handle for each fat binary; nothing reads through its address. */
static void *handles[64];
static int used;

void **__hipRegisterFatBinary(const void *at) {
    const struct wrapper *w = at;
    SAY("register %x %u\n", w->magic, w->version);
    return &handles[used++ % 64];
}
void __hipUnregisterFatBinary(void **modules) {
    (void)modules;
    SAY("unregister\n");
}
void __hipRegisterFunction(void **m, const void *host, char *device, const char *name, unsigned limit, void *tid, void *bid, void *block, void *grid, int *warp) {
    (void)m, (void)host, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    SAY("function %s %s %u\n", device, name, limit);
}
void __hipRegisterVar(void **m, void *var, char *host, char *device, int ext, size_t size, int constant, int global) {
    (void)m, (void)var, (void)host;
    SAY("variable %s %d %zu %d %d\n", device, ext, size, constant, global);
}
void __hipRegisterManagedVar(void *m, void **pointer, void *init, const char *name, size_t size, unsigned align) {
    (void)m, (void)pointer, (void)init;
    SAY("managed %s %zu %u\n", name, size, align);
}

/* The first argument of every kernel in the tests is an int. */
static int launched(const char *how, const unsigned *shape, size_t shared, void **args, void **extra) {
    int first = args ? *(int *)args[0] : extra ? *(int *)extra[1] : -1;
    SAY("%s <%u,%u,%u | %u,%u,%u | %zu> %d\n", how, shape[0], shape[1], shape[2], shape[3], shape[4], shape[5], shared, first);
    return shape[0] ? 0 : 9;
}
#define SHAPE(grid, block) (unsigned[]){(grid).x, (grid).y, (grid).z, (block).x, (block).y, (block).z}
#define GIVEN (unsigned[]){gx, gy, gz, bx, by, bz}
#define DIMS const void *f, struct dim3 grid, struct dim3 block, void **args
int hipLaunchKernel(DIMS, size_t shared, void *stream) { (void)f, (void)stream; return launched("kernel", SHAPE(grid, block), shared, args, 0); }
int hipLaunchKernel_spt(DIMS, size_t shared, void *stream) { (void)f, (void)stream; return launched("kernel_spt", SHAPE(grid, block), shared, args, 0); }
int hipExtLaunchKernel(DIMS, size_t shared, void *stream, void *start, void *stop, int flags) {
    (void)f, (void)stream, (void)start, (void)stop;
    SAY("flags %d\n", flags);
    return launched("ext", SHAPE(grid, block), shared, args, 0);
}
int hipLaunchCooperativeKernel(DIMS, unsigned shared, void *stream) { (void)f, (void)stream; return launched("cooperative", SHAPE(grid, block), shared, args, 0); }
int hipLaunchCooperativeKernelMultiDevice(struct launch_params *list, int count, unsigned flags) {
    for (int i = 0; i < count; i++) launched("multi", SHAPE(list[i].grid, list[i].block), list[i].shared + flags, list[i].args, 0);
    return 0;
}
int hipExtLaunchMultiKernelMultiDevice(struct launch_params *list, int count, unsigned flags) { return hipLaunchCooperativeKernelMultiDevice(list, count, flags); }
int hipModuleLaunchKernel(NUMBERS, unsigned shared, void *stream, void **params, void **extra) { (void)f, (void)stream; return launched("module", GIVEN, shared, params, extra); }
int EXT_LAUNCH(NUMBERS, size_t shared, void *stream, void **params, void **extra, void *start, void *stop, unsigned flags) {
    (void)f, (void)stream, (void)start, (void)stop;
    SAY("flags %u\n", flags);
    return launched("items", GIVEN, shared, params, extra);
}
int HCC_LAUNCH(NUMBERS, size_t shared, void *stream, void **params, void **extra, void *start, void *stop) {
    (void)f, (void)stream, (void)start, (void)stop;
    return launched("hcc", GIVEN, shared, params, extra);
}

int hipModuleLaunchCooperativeKernelMultiDevice(struct function_params *list, unsigned count, unsigned flags) {
    for (unsigned i = 0; i < count; i++) launched("functions", SHAPE(list[i].grid, list[i].block), list[i].shared + flags, list[i].args, 0);
    return 0;
}
int hipLaunchKernelExC(const struct config *c, const void *f, void **args) {
    (void)f;
    return c ? launched("configured", SHAPE(c->grid, c->block), c->shared, args, 0) : 1;
}
int hipDrvLaunchKernelEx(const struct drv_config *c, void *f, void **params, void **extra) {
    (void)f;
    return c ? launched("driver configured", SHAPE(c->grid, c->block), c->shared, params, extra) : 1;
}

static char graph, node, exec;
static int kernel_node(const char *how, const struct kernel_node *p) { return p ? launched(how, SHAPE(p->grid, p->block), p->shared, p->args, p->extra) : 1; }
static int any_node(const char *how, const struct node_params *p) { SAY("type %d\n", p->type); return p->type ? 0 : kernel_node(how, &p->of.kernel); }
int hipGraphCreate(void **out, unsigned flags) { SAY("graph %u\n", flags); *out = &graph; return 0; }
int hipGraphDestroy(void *g) { SAY("destroy %d\n", g == &graph); return 0; }
int hipGraphAddKernelNode(void **out, void *g, void *const *before, size_t count, const struct kernel_node *p) { (void)before; SAY("node %d %zu\n", g == &graph, count); *out = &node; return kernel_node("add", p); }
int hipGraphKernelNodeSetParams(void *n, const struct kernel_node *p) { SAY("set %d\n", n == &node); return kernel_node("set", p); }
int hipGraphExecKernelNodeSetParams(void *e, void *n, const struct kernel_node *p) { SAY("set %d %d\n", e == &exec, n == &node); return kernel_node("exec set", p); }
int hipGraphAddNode(void **out, void *g, void *const *before, size_t count, struct node_params *p) { (void)before; SAY("any node %d %zu\n", g == &graph, count); *out = &node; return any_node("any add", p); }
int hipGraphNodeSetParams(void *n, struct node_params *p) { SAY("any set %d\n", n == &node); return any_node("any set", p); }
int hipGraphExecNodeSetParams(void *e, void *n, struct node_params *p) { SAY("any set %d %d\n", e == &exec, n == &node); return any_node("any exec set", p); }
int hipGraphInstantiate(void **out, void *g, void **n, char *log, size_t size) { (void)n, (void)log; SAY("instantiate %d %zu\n", g == &graph, size); *out = &exec; return 0; }
int hipGraphLaunch(void *e, void *s) { (void)s; SAY("launch %d\n", e == &exec); return 0; }
int hipGraphExecDestroy(void *e) { SAY("destroy %d\n", e == &exec); return 0; }

static char library, kernel;
int hipLibraryLoadData(void **out, const void *code, JIT) {
    (void)code, (void)options, (void)values, (void)library_options, (void)library_values;
    SAY("library %u %u\n", count, library_count);
    *out = &library;
    return 0;
}
int hipLibraryGetKernel(void **out, void *l, const char *name) { SAY("kernel %s of %d\n", name, l == &library); *out = &kernel; return 0; }
int hipLibraryUnload(void *l) { SAY("unload library %d\n", l == &library); return 0; }

static char module, function, stream;
int hipModuleLoadData(void **out, const void *image) { (void)image; *out = &module; return 0; }
int hipModuleLoadFatBinary(void **out, const void *fat) { (void)fat; *out = &module; return 0; }
int hipModuleUnload(void *m) { SAY("unload %d\n", m == &module); return 0; }
int hipModuleGetFunction(void **out, void *m, const char *name) { SAY("function %s of %d\n", name, m == &module); *out = &function; return 0; }
int hipMalloc(void **out, size_t size) { *out = malloc(size); return 0; }
int hipFree(void *at) { free(at); return 0; }
int hipMemcpy(void *to, const void *from, size_t size, int kind) { SAY("copy %zu %d\n", size, kind); return to ? (memcpy(to, from, size), 0) : 1; }
int hipMemcpyAsync(void *to, const void *from, size_t size, int kind, void *s) { SAY("copy async %zu %d %d\n", size, kind, s == &stream); return to ? (memcpy(to, from, size), 0) : 1; }
int hipMemset(void *to, int value, size_t size) { memset(to, value, size); return 0; }
int hipMemset3D(struct pitched to, int value, struct extent e) { SAY("set %zu %zu %zu: %d, %zu %zu %zu\n", to.pitch, to.xsize, to.ysize, value, e.width, e.height, e.depth); return 0; }
int hipStreamCreate(void **out) { *out = &stream; return 0; }
int hipStreamSynchronize(void *s) { SAY("wait %d\n", s == &stream); return 0; }
int hipGetProcAddress(const char *name, void **out, int version, uint64_t flags, void *status) {
    (void)version, (void)status;
    void *kernel = flags ? (void *)hipLaunchKernel_spt : (void *)hipLaunchKernel;
    *out = !strcmp(name, "hipLaunchKernel") ? kernel : !strcmp(name, "hipExtModuleLaunchKernel") ? (void *)EXT_LAUNCH : NULL;
    return *out ? 0 : 500;
}
