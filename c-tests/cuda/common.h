// Shared by all programs here: checked calls, and the way to end.
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

// A call that must succeed.
#define CK(call) check((call), #call)
// A call without which the rest makes no sense.
#define NEED(call)                                                                                                     \
    do {                                                                                                               \
        if (!CK(call))                                                                                                 \
            return finish();                                                                                           \
    } while (0)
// After <<<>>>: checks the launch itself; errors at run time come with the next wait.
#define LAUNCHED(what) check(cudaGetLastError(), what)

// An expected error: prints its name and does not count it.
static inline void show(const char *what, cudaError_t error)
{
    printf("%s: %s\n", what, cudaGetErrorName(error));
    // Flushes the output that a crash would lose.
    fflush(stdout);
}

static inline void expect(bool right, const char *what)
{
    printf("%s: %s\n", what, right ? "ok" : "wrong");
    fflush(stdout);
    if (!right)
        wrong_results++;
}

// cudaGraphInstantiate has different parameters since CUDA 12.
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
