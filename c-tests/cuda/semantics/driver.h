// Shared by the programs of the driver API: checked calls and a device.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>

static int cuda_errors;

static inline const char *name_of(CUresult r)
{
    const char *name = nullptr;
    return cuGetErrorName(r, &name) == CUDA_SUCCESS && name ? name : "no name";
}

static inline bool check(CUresult r, const char *what)
{
    if (r == CUDA_SUCCESS)
        return true;
    printf("%s: %s\n", what, name_of(r));
    cuda_errors++;
    return false;
}

static inline int finish()
{
    fflush(stdout);
    return cuda_errors ? 3 : 0;
}

#define CK(call) check((call), #call)
#define NEED(call)                                                                                                     \
    do {                                                                                                               \
        if (!CK(call))                                                                                                 \
            return finish();                                                                                           \
    } while (0)

// An expected error.
static inline void show(const char *what, CUresult r)
{
    printf("%s: %s\n", what, name_of(r));
    fflush(stdout);
}

static inline void expect(bool right, const char *what)
{
    printf("%s: %s\n", what, right ? "ok" : "wrong");
    if (!right)
        cuda_errors++;
}

// cuCtxCreate has different parameters since CUDA 13.
static inline CUresult create_context(CUcontext *context, unsigned flags, CUdevice device)
{
#if CUDA_VERSION >= 13000
    return cuCtxCreate(context, nullptr, flags, device);
#else
    return cuCtxCreate(context, flags, device);
#endif
}
