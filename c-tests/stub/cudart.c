/* A test-only CUDA runtime: registers, looks up, checks, logs the calls
   that reach it, and runs nothing. Built once per major (STUB_MAJOR 11, 12, 13),
   as a shared library with that major's only version node, or into a program as
   its static runtime (STUB_STATIC).

   Errors are those of NVIDIA's runtime: 98 for a stub that was not registered,
   9 for an impossible shape, 1 for a null pointer where a value is needed. */
#include <dlfcn.h>

#include "inside.h"

#define JOIN(a, b) a##b
#ifdef STUB_STATIC
#define NAME_OF(major) "static" #major
#else
#define NAME_OF(major) "cudart" #major
#endif
#define NAME_AS(major) NAME_OF(major)
#define LIBRARY NAME_AS(STUB_MAJOR)
#define LOG(...) stub_log(LIBRARY, __func__, __VA_ARGS__)
#define CHECK_STATUS(...)                                        \
    do {                                                         \
        int asked = stub_status(__func__);                       \
        if (asked) { LOG(__VA_ARGS__); return asked; }           \
    } while (0)

typedef int cudaError_t;
struct module { const void *image; void *library; int live; };
struct kernel { const void *stub; char *name; struct module *module; void *function; };

#define MOST_MODULES 4096
#define MOST_KERNELS 65536
static struct module modules[MOST_MODULES];
static struct kernel kernels[MOST_KERNELS];
static atomic_int module_count, kernel_count;

/* A handle that was never used, or else one that was freed. */
static int module_place(void) {
    int at = module_count++;
    if (at < MOST_MODULES) return at;
    for (int tries = 0; tries < MOST_MODULES; tries++)
        if (!modules[at = module_count++ % MOST_MODULES].live) return at;
    abort();
}
static struct module *new_module(const void *image) {
    int at = module_place();
    modules[at] = (struct module){image, NULL, 1};
    return &modules[at];
}

static struct kernel *new_kernel(const void *stub, const char *name, struct module *module) {
    int at = kernel_count++;
    if (at >= MOST_KERNELS) abort();
    kernels[at].name = strdup(name);
    kernels[at].module = module;
    kernels[at].stub = stub;
    return &kernels[at];
}

static int is_module(const void *handle) {
    return (const char *)handle >= (char *)modules && (const char *)handle < (char *)(modules + MOST_MODULES)
        && ((struct module *)handle)->live;
}

/* Looks up by handle or by host stub; the newest registration wins. */
static struct kernel *find(const void *func) {
    if (!func) return NULL;
    if ((const char *)func >= (char *)kernels && (const char *)func < (char *)(kernels + MOST_KERNELS))
        return ((struct kernel *)func)->module && !((struct kernel *)func)->module->live ? NULL : (struct kernel *)func;
    for (int at = kernel_count; at-- > 0;)
        if (kernels[at].stub == func) return &kernels[at];
    return NULL;
}

static const char *name_of(const struct kernel *k) { return k ? k->name : "?"; }

static const char *hex_of(const struct kernel *k, void **args, void **extra, char *to, size_t room) {
    struct signature s;
    if (!k || !stub_signature(k->module ? k->module->image : NULL, k->name, &s)) return "unknown";
    const char *hex = stub_hex(to, room, &s, args, extra);
    return *hex ? hex : "-";
}

/* ---- the driver underneath */

static struct {
    int (*load)(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
    int (*get)(void **, void *, const char *);
    int (*unload)(void *), (*global)(void **, size_t *, void *, const char *);
    int (*function)(void **, void *), (*retain)(void **, int), (*set_current)(void *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
    int (*launch_ptsz)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
    int (*alloc)(void **, size_t), (*free)(void *), (*up)(void *, const void *, size_t), (*down)(void *, const void *, size_t);
} driver;
static void *entry_point(const char *symbol, int version, unsigned long flags, int *status);

/* ---- registration */

static void forget_variables(const struct module *module);

void **__cudaRegisterFatBinary(void *wrapper) {
    const char *wrong = wrapper && *(uint32_t *)wrapper == 0x466243b1 ? "" : " wrong-magic";
    struct module *m = new_module(wrapper);
    LOG("handle=%d%s", (int)(m - modules), wrong);
    return (void **)m;
}

void __cudaRegisterFatBinaryEnd(void **handle) {
    LOG("handle=%d", is_module(handle) ? (int)((struct module *)handle - modules) : -1);
}

void __cudaUnregisterFatBinary(void **handle) {
    LOG("handle=%d", is_module(handle) ? (int)((struct module *)handle - modules) : -1);
    if (!is_module(handle)) return;
    struct module *m = (struct module *)handle;
    m->live = 0;
    if (m->library && stub_memory()) driver.unload(m->library);
    for (int at = 0; at < kernel_count; at++)
        if (kernels[at].module == m) kernels[at].stub = NULL;
    forget_variables(m);
}

void __cudaRegisterFunction(void **handle, const char *stub, char *device_fun, const char *name, int thread_limit,
                            void *tid, void *bid, dim3 *block, dim3 *grid, int *warp) {
    if (stub_quiet()) return;
    if (stub_logging())
        LOG("handle=%d stub=%s fun=%s name=%s limit=%d tid=%d bid=%d block=%d grid=%d warp=%d",
            is_module(handle) ? (int)((struct module *)handle - modules) : -1, stub ? "yes" : "no",
            device_fun ? device_fun : "?", name ? name : "?", thread_limit, !!tid, !!bid, !!block, !!grid, !!warp);
    if (stub && name) new_kernel(stub, name, is_module(handle) ? (struct module *)handle : NULL);
}

char __cudaInitModule(void **handle) {
    LOG("handle=%d", is_module(handle));
    return 1;
}

/* Symbols by which NVIDIA's static runtimes can be distinguished. */
#if STUB_MAJOR == 11
void __cudaRegisterTexture(void **handle, const void *host, const void **device, const char *name, int dim, int norm, int ext) {
    LOG("handle=%d host=%d device=%d name=%s dim=%d norm=%d ext=%d", is_module(handle), !!host, !!device, name, dim, norm, ext);
}
/* One of some thousand internal functions. */
int __cudart1042(void);
int __cudart1042(void) { return STUB_MAJOR; }
#elif STUB_MAJOR == 12
cudaError_t cudaGetDeviceProperties_v2(void *out, int device) {
    LOG("out=%d device=%d", !!out, device);
    return out ? 0 : 1;
}
#endif

static int driver_start(void) {
    static int done;
    if (done) return driver.launch != NULL;
    done = 1;
    int version = STUB_MAJOR == 11 ? 11080 : STUB_MAJOR == 12 ? 12040 : 13000, status;
    *(void **)&driver.load = entry_point("cuLibraryLoadData", 12000, 0, &status);
    *(void **)&driver.get = entry_point("cuLibraryGetKernel", 12000, 0, &status);
    int (*init)(unsigned);
    *(void **)&init = entry_point("cuInit", 12000, 0, &status);
    if (!init || init(0)) return 0;
    *(void **)&driver.launch_ptsz = entry_point("cuLaunchKernel", version, 2, &status);
    *(void **)&driver.launch = entry_point("cuLaunchKernel", version, 0, &status);
    *(void **)&driver.unload = entry_point("cuLibraryUnload", 12000, 0, &status);
    *(void **)&driver.global = entry_point("cuLibraryGetGlobal", 12000, 0, &status);
    *(void **)&driver.function = entry_point("cuKernelGetFunction", 12000, 0, &status);
    *(void **)&driver.retain = entry_point("cuDevicePrimaryCtxRetain", version, 0, &status);
    *(void **)&driver.set_current = entry_point("cuCtxSetCurrent", version, 0, &status);
    *(void **)&driver.alloc = entry_point("cuMemAlloc", version, 0, &status);
    *(void **)&driver.free = entry_point("cuMemFree", version, 0, &status);
    *(void **)&driver.up = entry_point("cuMemcpyHtoD", version, 0, &status);
    *(void **)&driver.down = entry_point("cuMemcpyDtoH", version, 0, &status);
    return driver.launch != NULL;
}

static void *entry_point(const char *symbol, int version, unsigned long flags, int *status) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *found = NULL;
    *status = library ? 0 : 35;
    if (!library) return NULL;
#if STUB_MAJOR == 11
    int (*get)(const char *, void **, int, unsigned long) = dlsym(library, "cuGetProcAddress");
    *status = get ? get(symbol, &found, version, flags) : 801;
#else
    int result = 0;
    int (*get)(const char *, void **, int, unsigned long, int *) = dlsym(library, "cuGetProcAddress_v2");
    *status = get ? get(symbol, &found, version, flags, &result) : 801;
#endif
    return *status ? NULL : found;
}

static int in_driver(struct kernel *k) {
    static pthread_mutex_t lazy = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lazy);
    int status = !driver_start() ? 35
        : !k->module->library && driver.load(&k->module->library, k->module->image, 0, 0, 0, 0, 0, 0) ? 209
        : !k->function && driver.get(&k->function, k->module->library, k->name) ? 500
                                                                                : 0;
    pthread_mutex_unlock(&lazy);
    return status;
}

static int to_driver(struct kernel *k, int ptsz, dim3 g, dim3 b, void **args, size_t shared, void *stream) {
    int status = in_driver(k);
    if (status) return status;
    return (ptsz ? driver.launch_ptsz : driver.launch)(k->function, g.x, g.y, g.z, b.x, b.y, b.z, (unsigned)shared,
                                                       stream, args, NULL);
}

/* ---- launch */

static __thread cudaError_t last_error;

static int launch(const char *function, int ptsz, const void *func, dim3 g, dim3 b, void **args, size_t shared,
                  void *stream, const char *more) {
    if (stub_quiet()) return 0;
    int status = stub_status(function);
    int logging = stub_logging();
    int with_driver = stub_driver_wanted || getenv("STUB_DRIVER");
    struct kernel *k = NULL;
    if (!status && (logging || with_driver || !func)) {
        k = find(func);
        if (!k) status = 98;
        else if (!g.x || !g.y || !g.z || !b.x || !b.y || !b.z || (size_t)b.x * b.y * b.z > 1024) status = 9;
    }
    if (logging) {
        char hex[2100];
        if (!k) k = find(func);
        stub_log(LIBRARY, function, "kernel=%s grid=%u,%u,%u block=%u,%u,%u shared=%zu stream=%#lx args=%s%s status=%d code=%08x",
                 name_of(k), g.x, g.y, g.z, b.x, b.y, b.z, shared, (unsigned long)stream,
                 hex_of(k, args, NULL, hex, sizeof hex), more, status, k && k->module ? stub_code(k->module->image) : 0);
    }
    stub_launched();
    if (!status && with_driver) status = to_driver(k, ptsz, g, b, args, shared, stream);
    if (status) last_error = status;
    return status;
}

static __thread struct { dim3 grid, block; size_t shared; void *stream; } pushed[8];
static __thread int depth;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream) {
    if (depth >= 8) return 9;
    pushed[depth].grid = grid;
    pushed[depth].block = block;
    pushed[depth].shared = shared;
    pushed[depth++].stream = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream) {
    if (depth == 0) return 52;
    *grid = pushed[--depth].grid;
    *block = pushed[depth].block;
    *shared = pushed[depth].shared;
    *(void **)stream = pushed[depth].stream;
    return 0;
}

#define LAUNCH(name, ptsz)                                                                                     \
    cudaError_t name(const void *func, dim3 g, dim3 b, void **args, size_t shared, void *stream) {             \
        return launch(__func__, ptsz, func, g, b, args, shared, stream, "");                                   \
    }
LAUNCH(cudaLaunchKernel, 0)
LAUNCH(cudaLaunchKernel_ptsz, 1)
LAUNCH(cudaLaunchCooperativeKernel, 0)
LAUNCH(cudaLaunchCooperativeKernel_ptsz, 1)
#if STUB_MAJOR >= 12
LAUNCH(__cudaLaunchKernel, 0)
LAUNCH(__cudaLaunchKernel_ptsz, 1)
#endif

struct attribute { unsigned id, pad; unsigned value[16]; };
struct config { dim3 grid, block; size_t shared; void *stream; struct attribute *attributes; unsigned count; };

static cudaError_t launch_ex(const char *function, int ptsz, const struct config *c, const void *func, void **args) {
    char more[600] = "";
    if (!c) {
        struct kernel *k = find(func);
        stub_log(LIBRARY, function, "kernel=%s grid=0,0,0 block=0,0,0 shared=0 stream=0 args=%s status=1", name_of(k),
                 k ? "none" : "unknown");
        return 1;
    }
    for (unsigned i = 0, n = 0; i < c->count && i < 8; i++) {
        unsigned *v = c->attributes[i].value;
        n += snprintf(more + n, sizeof more - n, " attr%u=%u,%u,%u", c->attributes[i].id, v[0], v[1], v[2]);
    }
    return launch(function, ptsz, func, c->grid, c->block, args, c->shared, c->stream, more);
}
cudaError_t cudaLaunchKernelExC(const struct config *c, const void *f, void **a) { return launch_ex(__func__, 0, c, f, a); }
cudaError_t cudaLaunchKernelExC_ptsz(const struct config *c, const void *f, void **a) { return launch_ex(__func__, 1, c, f, a); }

#if STUB_MAJOR <= 12
struct params { void *func; dim3 grid, block; void **args; size_t shared; void *stream; };
cudaError_t cudaLaunchCooperativeKernelMultiDevice(struct params *list, unsigned count, unsigned flags) {
    int status = list ? 0 : 1;
    for (unsigned i = 0; list && i < count && !status; i++) {
        char more[40];
        snprintf(more, sizeof more, " flags=%u", flags);
        status = launch(__func__, 0, list[i].func, list[i].grid, list[i].block, list[i].args, list[i].shared, list[i].stream, more);
    }
    return status;
}
#endif

/* ---- kernels by handle */

static cudaError_t handle_of(const char *function, void **out, const void *stub) {
    int status = stub_status(function);
    struct kernel *k = find(stub);
    if (!status) status = !out ? 1 : !k ? 98 : 0;
    stub_log(LIBRARY, function, "kernel=%s out=%d status=%d", name_of(k), !!out, status);
    if (!status) *out = k;
    return status;
}
/* With STUB_CONTEXTS it is the driver's function, else the runtime's own handle. */
cudaError_t cudaGetFuncBySymbol(void **out, const void *stub) {
    int status = handle_of(__func__, out, stub);
    if (!status && getenv("STUB_CONTEXTS")) {
        struct kernel *k = *out;
        status = in_driver(k);
        if (!status) status = driver.function(out, k->function);
    }
    if (status) last_error = status;
    return status;
}
#if STUB_MAJOR >= 12
cudaError_t __cudaGetKernel(void **out, const void *stub) { return handle_of(__func__, out, stub); }
cudaError_t cudaGetKernel(void **out, const void *stub) { return handle_of(__func__, out, stub); }

cudaError_t cudaLibraryLoadData(void **out, const void *code, void *o, void *v, unsigned n, void *lo, void *lv, unsigned ln) {
    CHECK_STATUS("failing");
    LOG("out=%d code=%d options=%d,%d,%u library=%d,%d,%u", !!out, !!code, !!o, !!v, n, !!lo, !!lv, ln);
    if (!out || !code) return 1;
    *out = new_module(code);
    return 0;
}
cudaError_t cudaLibraryUnload(void *library) {
    CHECK_STATUS("failing");
    LOG("library=%d", is_module(library));
    if (!is_module(library)) return 400;
    ((struct module *)library)->live = 0;
    return 0;
}
cudaError_t cudaLibraryGetKernel(void **out, void *library, const char *name) {
    CHECK_STATUS("failing");
    struct signature s;
    int there = is_module(library) && name && stub_signature(((struct module *)library)->image, name, &s);
    LOG("out=%d library=%d name=%s there=%d", !!out, is_module(library), name ? name : "?", there);
    if (!out || !is_module(library)) return 1;
    if (!there) return 500;
    /* A library at the address of another has kernels at the addresses of the other's kernels. */
    for (int at = 0; at < kernel_count; at++)
        if (kernels[at].module == library && !kernels[at].stub && !strcmp(kernels[at].name, name)) {
            *out = &kernels[at];
            return 0;
        }
    *out = new_kernel(NULL, name, library);
    return 0;
}
#endif

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **out, unsigned long flags, int *result) {
    int status, version = STUB_MAJOR == 11 ? 11080 : STUB_MAJOR == 12 ? 12040 : 13000;
    void *found = entry_point(symbol, version, flags, &status);
    LOG("symbol=%s flags=%lu status=%d", symbol, flags, status);
    if (!out) return 1;
    *out = found;
#if STUB_MAJOR >= 12
    if (result) *result = status ? 1 : 0;
#else
    (void)result;
#endif
    return status == 500 ? 0 : status;
}
#if STUB_MAJOR >= 12
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **out, unsigned version, unsigned long flags, int *result) {
    int status;
    void *found = entry_point(symbol, version, flags, &status);
    LOG("symbol=%s version=%u flags=%lu status=%d", symbol, version, flags, status);
    if (!out) return 1;
    *out = found;
    if (result) *result = status ? 1 : 0;
    return status == 500 ? 0 : status;
}
#endif

#include "cudart_graphs.h"

#include "cudart_variables.h"

/* ---- the rest a test program needs */

cudaError_t cudaProfilerStart(void) { CHECK_STATUS("failing"); LOG("-"); return 0; }
cudaError_t cudaProfilerStop(void) { CHECK_STATUS("failing"); LOG("-"); return 0; }
cudaError_t cudaDeviceSynchronize(void) { CHECK_STATUS("failing"); return forbidden(__func__); }
cudaError_t cudaStreamSynchronize(void *stream) { (void)stream; return forbidden(__func__); }
cudaError_t cudaEventQuery(void *event) { (void)event; return forbidden(__func__); }
cudaError_t cudaMalloc(void **out, size_t size) {
    CHECK_STATUS("failing");
    LOG("out=%d size=%zu", !!out, size);
    if (!out) return 1;
    *out = (void *)0x7f0000001000;
    return stub_memory() && driver_start() ? driver.alloc(out, size) : 0;
}
cudaError_t cudaFree(void *at) {
    CHECK_STATUS("failing");
    LOG("at=%p", stub_memory() ? NULL : at);
    return stub_memory() && driver_start() ? driver.free(at) : 0;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t size, int kind) {
    CHECK_STATUS("failing");
    LOG("to=%d from=%d size=%zu kind=%d", !!to, !!from, size, kind);
    if (stub_memory() && driver_start()) return kind == 1 ? driver.up(to, from, size) : driver.down(to, from, size);
    return 0;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream) {
    CHECK_STATUS("failing");
    LOG("to=%d from=%d size=%zu kind=%d stream=%#lx", !!to, !!from, size, kind, (unsigned long)stream);
    return 0;
}
/* Launches set it. */
cudaError_t cudaPeekAtLastError(void) { return last_error; }
cudaError_t cudaGetLastError(void) {
    cudaError_t last = last_error;
    last_error = 0;
    return last;
}
/* From 12 on the device's primary context is current at once, in 11 at the next launch. */
static __thread int device;
cudaError_t cudaSetDevice(int to) {
    LOG("device=%d", to);
    void *context;
    device = to;
    return driver_start() && !driver.retain(&context, to) ? driver.set_current(context) : 0;
}
cudaError_t cudaGetDevice(int *out) { *out = device; return 0; }
cudaError_t cudaDeviceReset(void) { LOG("device=%d", device); return 0; }
const char *cudaGetErrorName(cudaError_t error) { return error ? "cudaErrorOfStub" : "cudaSuccess"; }
const char *cudaGetErrorString(cudaError_t error) { return error ? "an error" : "no error"; }
cudaError_t cudaMemset(void *at, int value, size_t size) { (void)at; LOG("value=%d size=%zu", value, size); return 0; }
cudaError_t cudaRuntimeGetVersion(int *out) {
    if (!out) return 1;
    *out = STUB_MAJOR * 1000;
    return 0;
}
