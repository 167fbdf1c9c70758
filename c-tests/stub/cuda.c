/* A test-only CUDA driver, libcuda.so.1, without symbol versions as the real
   one. See cudart.c; its errors are the driver's: 1 invalid value, 400 invalid
   handle, 500 not found, 801 not supported. */
#include "inside.h"

#include <dlfcn.h>
#include <time.h>

#include "work.h"

/* The test-only CUPTI's callback for work, once it is loaded: it is called for all work of one
   call. */
void (*stub_cuda_work)(const struct stub_work *, int count);

#define LOG(...) stub_log("cuda", __func__, __VA_ARGS__)
#define CHECK_STATUS(...)                                        \
    do {                                                         \
        int asked = stub_status(__func__);                       \
        if (asked) { LOG(__VA_ARGS__); return asked; }           \
    } while (0)

/* `context` is the object's context: null for a library or a kernel, which are in all contexts. */
struct module { const void *image; int live; const int *context; };
struct function { char name[128]; struct module *module; const int *context; atomic_int loaded; };
#define MOST 4096
static struct module modules[MOST];
static struct function functions[MOST];
static atomic_int module_count, function_count;

static int is_module(const void *m) {
    return (const char *)m >= (char *)modules && (const char *)m < (char *)(modules + MOST) && ((struct module *)m)->live;
}
static struct function *find(const void *f) {
    return (const char *)f >= (char *)functions && (const char *)f < (char *)(functions + MOST) ? (void *)f : NULL;
}

int cuInit(unsigned flags) {
    /* As NVIDIA's driver: a tool that the environment names is loaded here, once. */
    static atomic_int injected;
    const char *tool = getenv("CUDA_INJECTION64_PATH");
    LOG("flags=%u", flags);
    if (tool && *tool && !injected++) {
        void *library = dlopen(tool, RTLD_NOW);
        int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
        if (initialize) initialize();
    }
    return flags ? 1 : 0;
}
int cuDriverGetVersion(int *out) { if (!out) return 1; *out = 13000; return 0; }
/* The devices' primary contexts, then those that programs create; each holds its device. A thread starts with
   the first. With STUB_CONTEXTS a call is refused if its object is in a context other than the current one. */
static int contexts[64] = {0, 1, 2, 3};
enum { PRIMARY = 4 };
static atomic_int context_count = PRIMARY;
static __thread int *current = contexts;
static int apart(const int *of) { return of && of != current && getenv("STUB_CONTEXTS"); }
/* The primary contexts are there from the beginning, as if each was retained once. */
static atomic_int retained[PRIMARY] = {1, 1, 1, 1};
int cuDevicePrimaryCtxRetain(void **out, int device) {
    CHECK_STATUS("failing");
    LOG("device=%d", device);
    if (!out || device < 0 || device >= PRIMARY) return 1;
    *out = &contexts[device];
    retained[device]++;
    return 0;
}
int cuCtxSetCurrent(void *ctx) { CHECK_STATUS("failing"); LOG("ctx=%d", !!ctx); current = ctx; return 0; }
int cuCtxGetCurrent(void **out) { if (!out) return 1; *out = current; return 0; }
int cuCtxGetDevice(int *out) { if (!out || !current) return 201; *out = *current; return 0; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    if (device < 0 || device >= PRIMARY) return 101;
    *flags = 0;
    *active = retained[device] > 0;
    return 0;
}
static char gone[64];
static int is_context(const int *c) { return c >= contexts && c < contexts + 64 && !gone[c - contexts]; }
static __thread int *below[16];
static __thread int pushed;
int cuCtxPushCurrent_v2(void *ctx) { if (!is_context(ctx) || pushed == 16) return 201; below[pushed++] = current; current = ctx; return 0; }
int cuCtxPopCurrent_v2(void **out) { if (!pushed) return 201; *out = current; current = below[--pushed]; return 0; }
/* With STUB_SAME_HANDLES it has the handle of the last one, once that is destroyed. */
int cuCtxCreate_v2(void **out, unsigned flags, int device) {
    LOG("flags=%u device=%d", flags, device);
    int same = getenv("STUB_SAME_HANDLES") && gone[context_count - 1];
    int at = same ? context_count - 1 : context_count++;
    if (!out || at >= 64) return 1;
    gone[at] = 0;
    contexts[at] = device;
    *out = current = &contexts[at];
    return 0;
}

/* ---- modules and libraries */

static void forget_variables(const struct module *module, const int *context);

/* A handle that was never used, or else one that was freed. */
static int module_place(void) {
    int at = module_count++;
    if (at < MOST) return at;
    for (int tries = 0; tries < MOST; tries++)
        if (!modules[at = module_count++ % MOST].live) return at;
    abort();
}
static int load(void **out, const void *image) {
    if (!out || !image) return 1;
    int at = module_place();
    modules[at] = (struct module){image, 1, NULL};
    *out = &modules[at];
    return 0;
}
/* A module, which is in the current context. */
static int load_here(void **out, const void *image) {
    int status = load(out, image);
    if (!status) ((struct module *)*out)->context = current;
    return status;
}
/* The content of a file; never freed. */
static const void *read_file(const char *path) {
    FILE *file = path ? fopen(path, "rb") : NULL;
    char *bytes = file ? calloc(1, 1 << 20) : NULL;
    size_t size = bytes ? fread(bytes, 1, (1 << 20) - 1, file) : 0;
    if (file) fclose(file);
    return size ? realloc(bytes, size + 1) : NULL;
}
/* Destroys all objects in a context. */
static void destroy_objects(const int *ctx) {
    for (int i = 0; i < MOST; i++)
        if (modules[i].context == ctx) modules[i].live = 0;
    forget_variables(NULL, ctx);
}
int cuCtxDestroy_v2(void *ctx) {
    LOG("ctx=%d", !!ctx);
    if (!is_context(ctx)) return 201;
    gone[(int *)ctx - contexts] = 1;
    destroy_objects(ctx);
    if (current == ctx) current = NULL;
    return 0;
}
int cuDevicePrimaryCtxReset_v2(int device) {
    LOG("device=%d", device);
    if (device < 0 || device >= PRIMARY) return 101;
    destroy_objects(&contexts[device]);
    return 0;
}
/* The last one destroys the objects, too. */
int cuDevicePrimaryCtxRelease_v2(int device) {
    LOG("device=%d", device);
    if (device < 0 || device >= PRIMARY) return 101;
    if (!retained[device]) return 201;
    if (!--retained[device]) destroy_objects(&contexts[device]);
    return 0;
}
static int unload(void *m) {
    if (!is_module(m)) return 400;
    ((struct module *)m)->live = 0;
    forget_variables(m, NULL);
    return 0;
}
static int get(void **out, void *m, const char *name) {
    struct signature s;
    if (!out || !name) return 1;
    if (!is_module(m)) return 400;
    if (!stub_signature(((struct module *)m)->image, name, &s)) return 500;
    if (apart(((struct module *)m)->context)) return 201;
    for (int i = 0; i < function_count; i++)
        if (functions[i].module == m && !strcmp(functions[i].name, name) && functions[i].context == ((struct module *)m)->context) { *out = &functions[i]; return 0; }
    int at = 0;
    if (getenv("STUB_SAME_HANDLES")) /* that of a function whose module is unloaded */
        while (at < function_count && functions[at].module->live) at++;
    else at = function_count;
    if (at == function_count) at = function_count++;
    if (at >= MOST) abort();
    snprintf(functions[at].name, sizeof functions[at].name, "%s", name);
    functions[at].module = m;
    functions[at].context = ((struct module *)m)->context;
    *out = &functions[at];
    return 0;
}
int cuModuleLoadData(void **out, const void *image) { CHECK_STATUS("failing"); LOG("out=%d image=%d", !!out, !!image); return load_here(out, image); }
int cuModuleLoad(void **out, const char *file) { CHECK_STATUS("failing"); LOG("out=%d file=%d", !!out, !!file); const void *image = read_file(file); return image ? load_here(out, image) : 301; }
int cuModuleLoadDataEx(void **out, const void *image, unsigned n, void *o, void *v) {
    CHECK_STATUS("failing");
    LOG("out=%d image=%d options=%u,%d,%d", !!out, !!image, n, !!o, !!v);
    return load_here(out, image);
}
int cuModuleUnload(void *m) { CHECK_STATUS("failing"); LOG("module=%d", is_module(m)); return unload(m); }
int cuModuleGetFunction(void **out, void *m, const char *name) { CHECK_STATUS("failing"); LOG("out=%d module=%d name=%s", !!out, is_module(m), name ? name : "?"); return get(out, m, name); }
int cuLibraryLoadData(void **out, const void *code, void *o, void *v, unsigned n, void *lo, void *lv, unsigned ln) {
    CHECK_STATUS("failing");
    LOG("out=%d code=%d options=%d,%d,%u library=%d,%d,%u", !!out, !!code, !!o, !!v, n, !!lo, !!lv, ln);
    return load(out, code);
}
int cuLibraryLoadFromFile(void **out, const char *file, void *o, void *v, unsigned n, void *lo, void *lv, unsigned ln) {
    CHECK_STATUS("failing");
    LOG("out=%d file=%d options=%d,%d,%u library=%d,%d,%u", !!out, !!file, !!o, !!v, n, !!lo, !!lv, ln);
    const void *image = read_file(file);
    return image ? load(out, image) : 301;
}
int cuLibraryUnload(void *m) { CHECK_STATUS("failing"); LOG("library=%d", is_module(m)); return unload(m); }
int cuLibraryGetKernel(void **out, void *m, const char *name) { CHECK_STATUS("failing"); LOG("out=%d library=%d name=%s", !!out, is_module(m), name ? name : "?"); return get(out, m, name); }
int cuLibraryGetModule(void **out, void *m) { LOG("library=%d", is_module(m)); if (!out) return 1; *out = m; return 0; }
/* A kernel's function is the kernel itself, or with STUB_CONTEXTS a function in the current context. */
int cuKernelGetFunction(void **out, void *k) {
    LOG("kernel=%s", find(k) ? find(k)->name : "?");
    if (!out) return 1;
    *out = k;
    if (!find(k) || !getenv("STUB_CONTEXTS")) return 0;
    for (int i = 0; i < function_count; i++)
        if (functions[i].module == find(k)->module && !strcmp(functions[i].name, find(k)->name) && functions[i].context == current) {
            *out = &functions[i];
            return 0;
        }
    int at = function_count++;
    if (at >= MOST) abort();
    functions[at] = *find(k);
    functions[at].context = current;
    *out = &functions[at];
    return 0;
}
int cuLibraryGetKernelCount(unsigned *out, void *m) {
    char names[64][128];
    if (!out || !is_module(m)) return 400;
    *out = (unsigned)stub_kernels(((struct module *)m)->image, names, 64);
    return 0;
}
/* With STUB_LAZY, the first launch of a kernel that is not loaded takes this much longer; with STUB_LAZY=old
   there is no call that loads it earlier. */
#define LOADING_NS 40000000ul
int cuFuncLoad(void *f) {
    const char *lazy = getenv("STUB_LAZY");
    LOG("kernel=%s", find(f) ? find(f)->name : "?");
    if (lazy && !strcmp(lazy, "old")) return 801;
    if (!find(f)) return 400;
    find(f)->loaded = 1;
    return 0;
}
static unsigned long loading(struct function *f) { return getenv("STUB_LAZY") && !f->loaded++ ? LOADING_NS : 0; }
int cuFuncGetName(const char **out, void *f) { if (!out || !find(f)) return 400; *out = find(f)->name; return 0; }
int cuKernelGetName(const char **out, void *f) { return cuFuncGetName(out, f); }
int cuFuncGetParamInfo(void *f, size_t index, size_t *offset, size_t *size) {
    struct signature s;
    if (!find(f) || !stub_signature(find(f)->module->image, find(f)->name, &s) || index >= (size_t)s.count) return 1;
    if (offset) *offset = s.offset[index];
    if (size) *size = s.size[index];
    return 0;
}

#include "cuda_code.h"
#include "cuda_memory.h"
#include "cuda_variables.h"
#include "cuda_streams.h"

/* The effect of a kernel here. */
static void run(const struct function *f, void **params, void **extra) {
    struct signature s;
    if (!stub_signature(f->module->image, f->name, &s)) return;
    unsigned char block[1024];
    stub_block(block, &s, params, extra);
    for (int i = 0; i < s.count; i++) {
        unsigned long long address;
        memcpy(&address, block + s.offset[i], sizeof address);
        int found = s.size[i] == 8 ? allocation_of(address) : -1;
        if (found < 0) continue;
        unsigned char add = (unsigned char)stub_code(f->module->image);
        for (size_t b = 0; b < allocations[found].size; b++) allocations[found].at[b] += add;
        return;
    }
}

/* ---- launch */

static __thread const int *launch_context; /* the context that a node names */
static int launch(const char *name, void *f, const unsigned g[3], const unsigned b[3], unsigned shared, void *stream,
                  void **params, void **extra, const char *more) {
    int status = stub_status(name);
    struct function *known = find(f);
    if (!status) {
        if (!known || !known->module->live) status = 400;
        else if (strcmp(more, " node") && apart(known->context)) status = 201;
        else if (!g[0] || !g[1] || !g[2] || !b[0] || !b[1] || !b[2]) status = 1;
        else if (params && extra) status = 1;
    }
    if (stub_logging()) {
        char hex[2100], device[24] = "", held[600] = "";
        struct signature s;
        const char *args = "unknown";
        if (getenv("STUB_CONTEXTS")) snprintf(device, sizeof device, " device=%d", current ? *current : -1);
        if (known && stub_signature(known->module->image, known->name, &s)) {
            args = stub_hex(hex, sizeof hex, &s, params, extra);
            if (!*args) args = "-";
        }
        if (!status) variables_of(known, launch_context ? launch_context : known->context ? known->context : current, held, sizeof held);
        stub_log("cuda", name, "kernel=%s grid=%u,%u,%u block=%u,%u,%u shared=%u stream=%#lx args=%s%s%s status=%d code=%08x%s",
                 known ? known->name : "?", g[0], g[1], g[2], b[0], b[1], b[2], shared, (unsigned long)stream, args, more, device, status,
                 known ? stub_code(known->module->image) : 0, held);
    }
    stub_launched();
    if (!status && strcmp(more, " node")) work_on(!stream && strstr(name, "_ptsz") ? (void *)2 : stream, 1000ul * g[0] + loading(known));
    if (!status && strcmp(more, " node") && stub_cuda_work) {
        struct stub_work w = {10, known->name, {g[0], g[1], g[2]}, {b[0], b[1], b[2]}, shared, (unsigned)(size_t)stream, 0, 0, 0, 1000ul * g[0]};
        stub_cuda_work(&w, 1);
    }
    if (!status && stub_memory() && strcmp(more, " node")) run(known, params, extra);
    return status;
}
#define KERNEL(name)                                                                                                   \
    int name(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,   \
             void *stream, void **params, void **extra) {                                                              \
        return launch(__func__, f, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, shared, stream, params, extra, ""); \
    }
KERNEL(cuLaunchKernel)
KERNEL(cuLaunchKernel_ptsz)
int cuLaunchCooperativeKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                              unsigned shared, void *stream, void **params) {
    return launch(__func__, f, (unsigned[]){gx, gy, gz}, (unsigned[]){bx, by, bz}, shared, stream, params, NULL, "");
}
struct attribute { unsigned id, pad, value[16]; };
struct config { unsigned g[3], b[3], shared; void *stream; struct attribute *attributes; unsigned count; };
#define KERNEL_EX(form)                                                                                  \
    int form(const struct config *c, void *f, void **params, void **extra) {                             \
        char more[100] = "";                                                                             \
        if (!c) {                                                                                        \
            LOG("kernel=%s grid=0,0,0 block=0,0,0 shared=0 stream=0 args=%s status=1",                   \
                find(f) ? find(f)->name : "?", find(f) ? "none" : "unknown");                            \
            return 1;                                                                                    \
        }                                                                                                \
                                                                   \
        if (c->count) {                                                                                  \
            unsigned *v = c->attributes[0].value;                                                        \
            snprintf(more, sizeof more, " attr%u=%u,%u,%u", c->attributes[0].id, v[0], v[1], v[2]);      \
        }                                                                                                \
        return launch(__func__, f, c->g, c->b, c->shared, c->stream, params, extra, more);               \
    }
KERNEL_EX(cuLaunchKernelEx)
KERNEL_EX(cuLaunchKernelEx_ptsz)

struct node_params { void *func; unsigned g[3], b[3], shared; void **params, **extra; };
static char nodes[64], graphs[64], execs[64];
static atomic_int node_count, graph_count, exec_count;
/* The work of any graph's launch: all nodes that were ever made. */
static struct stub_work node_work[8];
static int node_work_count;
static int node(const char *name, const struct node_params *p, void *kernel, const int *context, void **out) {
    if (!p) { stub_log("cuda", name, "params=0"); return 1; }
    launch_context = p->func ? NULL : context;
    int status = launch(name, p->func ? p->func : kernel, p->g, p->b, p->shared, NULL, p->params, p->extra, " node");
    launch_context = NULL;
    if (!status && node_work_count < 8) {
        struct function *f = find(p->func ? p->func : kernel);
        struct stub_work w = {10, f->name, {p->g[0], p->g[1], p->g[2]}, {p->b[0], p->b[1], p->b[2]}, p->shared, 0, 0, 0, 77, 1000ul * p->g[0]};
        w.graph_node += (unsigned)node_work_count;
        node_work[node_work_count++] = w;
    }
    if (!status && out) *out = &nodes[node_count++ % 64];
    return status;
}
struct node_params_v2 { struct node_params v1; void *kern, *ctx; };
int cuGraphCreate(void **out, unsigned flags) { LOG("flags=%u", flags); if (!out) return 1; *out = &graphs[graph_count++ % 64]; return 0; }
int cuGraphAddKernelNode(void **out, void *g, void **d, size_t n, const struct node_params *p) { (void)g, (void)d, (void)n; return node(__func__, p, NULL, NULL, out); }
int cuGraphAddKernelNode_v2(void **out, void *g, void **d, size_t n, const struct node_params_v2 *p) { (void)g, (void)d, (void)n; return node(__func__, (void *)p, p ? p->kern : NULL, p ? p->ctx : NULL, out); }
int cuGraphKernelNodeSetParams_v2(void *n, const struct node_params_v2 *p) { (void)n; return node(__func__, (void *)p, p ? p->kern : NULL, p ? p->ctx : NULL, NULL); }
int cuGraphExecKernelNodeSetParams_v2(void *e, void *n, const struct node_params_v2 *p) { (void)e, (void)n; return node(__func__, (void *)p, p ? p->kern : NULL, p ? p->ctx : NULL, NULL); }
int cuGraphInstantiateWithFlags(void **out, void *g, unsigned long long flags) { LOG("graph=%d flags=%llu", !!g, flags); *out = &execs[exec_count++ % 64]; return 0; }
int cuGraphLaunch(void *exec, void *stream) { CHECK_STATUS("failing"); LOG("exec=%d stream=%#lx", !!exec, (unsigned long)stream); if (exec && stub_cuda_work) stub_cuda_work(node_work, node_work_count); return exec ? 0 : 1; }

/* ---- one device */

int cuDeviceGet(int *out, int ordinal) { if (!out) return 1; *out = ordinal; return ordinal ? 101 : 0; }
int cuFuncSetAttribute(void *f, int attribute, int value) { LOG("kernel=%s attribute=%d value=%d", find(f) ? find(f)->name : "?", attribute, value); return find(f) ? 0 : 400; }

/* ---- copies that do nothing */

int cuMemcpyHtoD_v2_ptds(unsigned long long to, const void *from, size_t size) { LOG("to=%llx from=%d size=%zu", to, !!from, size); return 0; }
int cuMemcpyBatchAsync(void *d, void *s, void *z, size_t n, void *a, void *i, size_t m, size_t *fail, void *st) {
    LOG("%d%d%d n=%zu %d%d m=%zu fail=%d stream=%#lx", !!d, !!s, !!z, n, !!a, !!i, m, !!fail, (unsigned long)st);
    return 0;
}
int cuMemcpyBatchAsync_v2(void *d, void *s, void *z, size_t n, void *a, void *i, size_t m, void *st) {
    LOG("%d%d%d n=%zu %d%d m=%zu stream=%#lx", !!d, !!s, !!z, n, !!a, !!i, m, (unsigned long)st);
    return 0;
}

/* ---- ways to a function */

/* Not exported: only cuGetProcAddress returns it. */
static int hidden_function(int n) { LOG("n=%d", n); return n + 1; }

int cuGetProcAddress(const char *symbol, void **out, int version, unsigned long flags);
int cuGetProcAddress_v2(const char *symbol, void **out, int version, unsigned long flags, int *result);

static void *resolve(const char *symbol, int version, unsigned long flags) {
    /* By name: the version from which a form is returned, and whether it is a per-thread one. */
    static const struct { const char *name; int from; int ptsz; void *pointer; } forms[] = {
#define PLAIN(f, from) {#f, from, 0, (void *)f}
        {"cuGetProcAddress", 12000, 0, (void *)cuGetProcAddress_v2},
        {"cuGetProcAddress", 11030, 0, (void *)cuGetProcAddress},
        {"cuLaunchKernel", 7000, 1, (void *)cuLaunchKernel_ptsz},
        {"cuLaunchKernel", 4000, 0, (void *)cuLaunchKernel},
        {"cuLaunchKernelEx", 11060, 1, (void *)cuLaunchKernelEx_ptsz},
        {"cuLaunchKernelEx", 11060, 0, (void *)cuLaunchKernelEx},
        {"cuMemAlloc", 3020, 0, (void *)cuMemAlloc_v2},
        {"cuMemAlloc", 2000, 0, (void *)cuMemAlloc},
        {"cuMemFree", 3020, 0, (void *)cuMemFree_v2},
        {"cuMemcpyHtoD", 7000, 1, (void *)cuMemcpyHtoD_v2_ptds},
        {"cuMemcpyHtoD", 3020, 0, (void *)cuMemcpyHtoD_v2},
        {"cuMemcpyBatchAsync", 13000, 0, (void *)cuMemcpyBatchAsync_v2},
        {"cuMemcpyBatchAsync", 12080, 0, (void *)cuMemcpyBatchAsync},
        {"cuGraphAddKernelNode", 12000, 0, (void *)cuGraphAddKernelNode_v2},
        {"cuGraphAddKernelNode", 10000, 0, (void *)cuGraphAddKernelNode},
        {"cuSecret", 1, 0, (void *)hidden_function},
        PLAIN(cuInit, 2000), PLAIN(cuDriverGetVersion, 2020), PLAIN(cuModuleLoadData, 2000), PLAIN(cuModuleGetFunction, 2000),
        PLAIN(cuModuleUnload, 2000), PLAIN(cuLibraryLoadData, 12000), PLAIN(cuLibraryGetKernel, 12000),
        PLAIN(cuLibraryUnload, 12000), PLAIN(cuLaunchCooperativeKernel, 9000), PLAIN(cuCtxSynchronize, 2000),
        PLAIN(cuGraphLaunch, 10000), PLAIN(cuFuncGetName, 12030), PLAIN(cuLibraryGetGlobal, 12000), PLAIN(cuCtxSetCurrent, 4000), PLAIN(cuCtxGetCurrent, 4000),
        PLAIN(cuDevicePrimaryCtxRetain, 7000), PLAIN(cuKernelGetFunction, 12000), {"cuMemcpyDtoH", 3020, 0, (void *)cuMemcpyDtoH_v2},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (!strcmp(forms[i].name, symbol) && version >= forms[i].from && (!forms[i].ptsz || (flags & 2)))
            return forms[i].pointer;
    return NULL;
}

int cuGetProcAddress(const char *symbol, void **out, int version, unsigned long flags) {
    LOG("symbol=%s version=%d flags=%lu", symbol ? symbol : "?", version, flags);
    if (!symbol || !out) return 1;
    *out = resolve(symbol, version, flags);
    return *out ? 0 : 500;
}
int cuGetProcAddress_v2(const char *symbol, void **out, int version, unsigned long flags, int *result) {
    LOG("symbol=%s version=%d flags=%lu result=%d", symbol ? symbol : "?", version, flags, !!result);
    if (!symbol || !out) return 1;
    *out = resolve(symbol, version, flags);
    if (result) *result = *out ? 0 : 1;
    return *out ? 0 : 500;
}
