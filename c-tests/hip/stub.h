/* Shared by HIP programs and the test-only libamdhip64: HIP's types as functions pass them. */
#include <stddef.h>
#include <stdint.h>

struct dim3 { uint32_t x, y, z; };
struct wrapper { uint32_t magic, version; const void *image; void *unused; };
struct launch_params { const void *func; struct dim3 grid, block; void **args; size_t shared; void *stream; };
struct function_params { void *func; struct dim3 grid, block; unsigned shared; void *stream; void **args; };
struct attribute { unsigned id, pad; unsigned value[16]; };
struct config { struct dim3 grid, block; size_t shared; void *stream; struct attribute *attributes; unsigned count; };
struct drv_config { struct dim3 grid, block; unsigned shared; void *stream; struct attribute *attributes; unsigned count; };
struct kernel_node { struct dim3 block; void **extra; void *func; struct dim3 grid; void **args; unsigned shared; };
struct node_params { int type, reserved[3]; union { long long all[29]; struct kernel_node kernel; } of; };
struct extent { size_t width, height, depth; };
struct pitched { void *ptr; size_t pitch, xsize, ysize; };

#define EXT_LAUNCH _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j
#define HCC_LAUNCH _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_

void **__hipRegisterFatBinary(const void *wrapper);
void __hipUnregisterFatBinary(void **modules);
void __hipRegisterFunction(void **modules, const void *host, char *device, const char *name, unsigned limit, void *tid, void *bid, void *block, void *grid, int *warp);
void __hipRegisterVar(void **modules, void *var, char *host, char *device, int ext, size_t size, int constant, int global);
void __hipRegisterManagedVar(void *modules, void **pointer, void *init, const char *name, size_t size, unsigned align);
int hipLaunchKernel(const void *f, struct dim3 grid, struct dim3 block, void **args, size_t shared, void *stream);
int hipLaunchKernel_spt(const void *f, struct dim3 grid, struct dim3 block, void **args, size_t shared, void *stream);
int hipExtLaunchKernel(const void *f, struct dim3 grid, struct dim3 block, void **args, size_t shared, void *stream, void *start, void *stop, int flags);
int hipLaunchCooperativeKernel(const void *f, struct dim3 grid, struct dim3 block, void **args, unsigned shared, void *stream);
int hipLaunchCooperativeKernelMultiDevice(struct launch_params *list, int count, unsigned flags);
int hipExtLaunchMultiKernelMultiDevice(struct launch_params *list, int count, unsigned flags);
int hipModuleLaunchCooperativeKernelMultiDevice(struct function_params *list, unsigned count, unsigned flags);
int hipLaunchKernelExC(const struct config *config, const void *f, void **args);
int hipDrvLaunchKernelEx(const struct drv_config *config, void *f, void **params, void **extra);
int hipGraphCreate(void **graph, unsigned flags);
int hipGraphDestroy(void *graph);
int hipGraphAddKernelNode(void **node, void *graph, void *const *before, size_t count, const struct kernel_node *params);
int hipGraphKernelNodeSetParams(void *node, const struct kernel_node *params);
int hipGraphExecKernelNodeSetParams(void *exec, void *node, const struct kernel_node *params);
int hipGraphAddNode(void **node, void *graph, void *const *before, size_t count, struct node_params *params);
int hipGraphNodeSetParams(void *node, struct node_params *params);
int hipGraphExecNodeSetParams(void *exec, void *node, struct node_params *params);
int hipGraphInstantiate(void **exec, void *graph, void **node, char *log, size_t size);
int hipGraphLaunch(void *exec, void *stream);
int hipGraphExecDestroy(void *exec);
#define JIT void *options, void **values, unsigned count, void *library_options, void **library_values, unsigned library_count
int hipLibraryLoadData(void **library, const void *code, JIT);
int hipLibraryGetKernel(void **kernel, void *library, const char *name);
int hipLibraryUnload(void *library);
int hipModuleLoadFatBinary(void **module, const void *fat);
int hipModuleLoadData(void **module, const void *image);
int hipModuleUnload(void *module);
int hipModuleGetFunction(void **function, void *module, const char *name);
#define NUMBERS void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz
int hipModuleLaunchKernel(NUMBERS, unsigned shared, void *stream, void **params, void **extra);
int EXT_LAUNCH(NUMBERS, size_t shared, void *stream, void **params, void **extra, void *start, void *stop, unsigned flags);
int HCC_LAUNCH(NUMBERS, size_t shared, void *stream, void **params, void **extra, void *start, void *stop);
int hipMalloc(void **out, size_t size);
int hipFree(void *at);
int hipMemcpy(void *to, const void *from, size_t size, int kind);
int hipMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream);
int hipMemset(void *to, int value, size_t size);
int hipMemset3D(struct pitched to, int value, struct extent extent);
int hipStreamCreate(void **out);
int hipStreamSynchronize(void *stream);
int hipGetProcAddress(const char *name, void **out, int version, uint64_t flags, void *status);
