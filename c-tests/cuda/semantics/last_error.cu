// The last error: a failing call sets it, a successful call leaves it, cudaGetLastError
// clears it, and each thread has its own.
#include <thread>
#include "../common.h"

__global__ void nothing() {}

static void both(const char *when)
{
    cudaError_t peeked = cudaPeekAtLastError(), again = cudaPeekAtLastError();
    cudaError_t taken = cudaGetLastError(), after = cudaGetLastError();
    printf("%s: peek %s %s, get %s, then %s\n", when, cudaGetErrorName(peeked), cudaGetErrorName(again),
           cudaGetErrorName(taken), cudaGetErrorName(after));
}

int main()
{
    void *p = nullptr;
    NEED(cudaFree(nullptr));
    both("at first");
    show("free", cudaFree((void *)64));
    CK(cudaMalloc(&p, 256));
    both("after a failure and a success");
    show("set device", cudaSetDevice(1000));
    show("memcpy", cudaMemcpy(p, p, 16, (cudaMemcpyKind)42));
    both("after two failures");
    nothing<<<1, 2000>>>();
    nothing<<<1, 1>>>();
    both("after a bad launch and a good one");
    show("wrong size", cudaMalloc(&p, (size_t)1 << 50));
    both("after too much memory");

    cudaEvent_t event = nullptr;
    CK(cudaEventCreate(&event));
    CK(cudaEventQuery(event));
    both("after a query");
    CK(cudaEventDestroy(event));

    cudaFree((void *)64);
    std::thread([] {
        both("another thread");
        cudaSetDevice(1000);
    }).join();
    both("the first thread");

    cudaGetErrorString(cudaErrorInvalidValue);
    cudaGetErrorName((cudaError_t)-5);
    both("after names");
    CK(cudaDeviceSynchronize());
    return finish();
}
