/* The program's side of NVTX, as far as the tests need it: the initialisation at
   an object's first call, and the calls. With -DREAL_NVTX NVIDIA's own headers. */
#ifndef SHIM_NVTX_H
#define SHIM_NVTX_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#ifdef REAL_NVTX
#include <nvtx3/nvToolsExt.h>
#else

#include <dlfcn.h>
#include <stdlib.h>

typedef struct nvtx_handle *nvtxDomainHandle_t, *nvtxStringHandle_t;
typedef uint64_t nvtxRangeId_t;
typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    union { uint64_t ullValue; int64_t llValue; double dValue; uint32_t uiValue; int32_t iValue; float fValue; } payload;
    int32_t messageType;
    union { const char *ascii; const wchar_t *unicode; nvtxStringHandle_t registered; } message;
} nvtxEventAttributes_t;
enum { NVTX_VERSION = 3, NVTX_EVENT_ATTRIB_STRUCT_SIZE = sizeof(nvtxEventAttributes_t), NVTX_COLOR_ARGB = 1 };
enum { NVTX_PAYLOAD_TYPE_DOUBLE = 3, NVTX_PAYLOAD_TYPE_INT32 = 5 };
enum { NVTX_MESSAGE_TYPE_ASCII = 1, NVTX_MESSAGE_TYPE_UNICODE = 2, NVTX_MESSAGE_TYPE_REGISTERED = 3 };

typedef void (*nvtx_function)(void);
static nvtx_function nvtx_core[16], nvtx_core2[16];

static int nvtx_table(int module, nvtx_function ***table, unsigned *size) {
    static nvtx_function *slots[2][17];
    nvtx_function *functions = module == 1 ? nvtx_core : module == 5 ? nvtx_core2 : NULL;
    if (!functions) return 0;
    for (int i = 1; i < 16; i++) slots[module == 5][i] = &functions[i];
    *table = slots[module == 5];
    *size = 16;
    return 1;
}
static void nvtx_set_version(uint32_t version) { (void)version; }
static const void *nvtx_export(uint32_t id) {
    static const struct { size_t size; int (*table)(int, nvtx_function ***, unsigned *); } callbacks = {sizeof callbacks, nvtx_table};
    static const struct { size_t size; uint32_t version, reserved; void (*set)(uint32_t); } version = {sizeof version, 3, 0, nvtx_set_version};
    return id == 1 ? (const void *)&callbacks : id == 3 ? (const void *)&version : NULL;
}
static nvtx_function nvtx_get(int module, int at) {
    static int is_ready;
    if (!is_ready) {
        const char *path = getenv("NVTX_INJECTION64_PATH");
        void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
        void *found = tool ? dlsym(tool, "InitializeInjectionNvtx2") : NULL;
        int (*start)(const void *(*)(uint32_t));
        memcpy(&start, &found, sizeof start);
        if (start && !start(nvtx_export)) abort();
        is_ready = 1;
    }
    return (module == 1 ? nvtx_core : nvtx_core2)[at];
}

#define NVTX_CALL(result, none, name, module, at, parameters, arguments)         \
    __attribute__((unused)) static result name parameters {                     \
        nvtx_function tool = nvtx_get(module, at);                               \
        return tool ? ((result(*) parameters)tool)arguments : (result)none;      \
    }
NVTX_CALL(void, 0, nvtxMarkEx, 1, 1, (const nvtxEventAttributes_t *a), (a))
NVTX_CALL(void, 0, nvtxMarkA, 1, 2, (const char *m), (m))
NVTX_CALL(void, 0, nvtxMarkW, 1, 3, (const wchar_t *m), (m))
NVTX_CALL(nvtxRangeId_t, 0, nvtxRangeStartEx, 1, 4, (const nvtxEventAttributes_t *a), (a))
NVTX_CALL(nvtxRangeId_t, 0, nvtxRangeStartA, 1, 5, (const char *m), (m))
NVTX_CALL(nvtxRangeId_t, 0, nvtxRangeStartW, 1, 6, (const wchar_t *m), (m))
NVTX_CALL(void, 0, nvtxRangeEnd, 1, 7, (nvtxRangeId_t id), (id))
NVTX_CALL(int, -2, nvtxRangePushEx, 1, 8, (const nvtxEventAttributes_t *a), (a))
NVTX_CALL(int, -2, nvtxRangePushA, 1, 9, (const char *m), (m))
NVTX_CALL(int, -2, nvtxRangePushW, 1, 10, (const wchar_t *m), (m))
NVTX_CALL(int, -2, nvtxRangePop, 1, 11, (void), ())
NVTX_CALL(void, 0, nvtxNameCategoryA, 1, 12, (uint32_t c, const char *m), (c, m))
NVTX_CALL(void, 0, nvtxDomainMarkEx, 5, 1, (nvtxDomainHandle_t d, const nvtxEventAttributes_t *a), (d, a))
NVTX_CALL(nvtxRangeId_t, 0, nvtxDomainRangeStartEx, 5, 2, (nvtxDomainHandle_t d, const nvtxEventAttributes_t *a), (d, a))
NVTX_CALL(void, 0, nvtxDomainRangeEnd, 5, 3, (nvtxDomainHandle_t d, nvtxRangeId_t id), (d, id))
NVTX_CALL(int, -2, nvtxDomainRangePushEx, 5, 4, (nvtxDomainHandle_t d, const nvtxEventAttributes_t *a), (d, a))
NVTX_CALL(int, -2, nvtxDomainRangePop, 5, 5, (nvtxDomainHandle_t d), (d))
NVTX_CALL(nvtxStringHandle_t, 0, nvtxDomainRegisterStringA, 5, 10, (nvtxDomainHandle_t d, const char *m), (d, m))
NVTX_CALL(nvtxStringHandle_t, 0, nvtxDomainRegisterStringW, 5, 11, (nvtxDomainHandle_t d, const wchar_t *m), (d, m))
NVTX_CALL(nvtxDomainHandle_t, 0, nvtxDomainCreateA, 5, 12, (const char *m), (m))
NVTX_CALL(nvtxDomainHandle_t, 0, nvtxDomainCreateW, 5, 13, (const wchar_t *m), (m))
NVTX_CALL(void, 0, nvtxDomainDestroy, 5, 14, (nvtxDomainHandle_t d), (d))
#endif

#endif
