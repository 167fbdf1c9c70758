// What every program here shares: checked calls and the way to end.
//
// A program prints only what is the same in every run: no pointers, no times, no
// thread order. On a GPU it prints NAME.expected and exits 0. Without a usable
// GPU it goes on after each error, so that registrations and refused launches
// still happen, prints CUDA's error for each call, and exits 3. A wrong result
// without a CUDA error exits 1.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

static int cuda_errors;
static int wrong_results;

static inline bool check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return true;
    printf("%s: %s (%s)\n", what, cudaGetErrorName(error), cudaGetErrorString(error));
    cuda_errors++;
    return false;
}

// A call that ought to succeed.
#define CK(call) check((call), #call)
// A call without which nothing that follows makes sense.
#define NEED(call)                                                                                                     \
    do {                                                                                                               \
        if (!CK(call))                                                                                                 \
            return finish();                                                                                           \
    } while (0)
// After <<<>>>: the launch itself; errors while it runs come with the next wait.
#define LAUNCHED(what) check(cudaGetLastError(), what)

// An error that is wanted: printed by name and not counted.
static inline void show(const char *what, cudaError_t error)
{
    printf("%s: %s\n", what, cudaGetErrorName(error));
    // What a crash would take along tells where it happened.
    fflush(stdout);
}

static inline void expect(bool right, const char *what)
{
    printf("%s: %s\n", what, right ? "ok" : "wrong");
    fflush(stdout);
    if (!right)
        wrong_results++;
}

// cudaGraphInstantiate has other arguments since CUDA 12.
static inline cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph)
{
#if CUDART_VERSION >= 12000
    return cudaGraphInstantiate(exec, graph, 0);
#else
    return cudaGraphInstantiate(exec, graph, nullptr, nullptr, 0);
#endif
}

static inline int finish()
{
    fflush(stdout);
    return cuda_errors ? 3 : wrong_results ? 1 : 0;
}
