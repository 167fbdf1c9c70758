// A process that exits in a host function of a stream, while other threads launch
// and one waits: earlier output appears, and the exit status is the given one.
#include <thread>
#include <unistd.h>
#include <vector>
#include "../common.h"

__global__ void add(int *v, int by) { atomicAdd(v, by); }

static int *result;

static void end(void *)
{
    printf("the end, %s\n", *(volatile int *)result == 8 * 5 * 3 ? "all is done" : "something is missing");
    fflush(stdout);
    _exit(*(volatile int *)result == 8 * 5 * 3 ? 0 : 1);
}

int main()
{
    int *d = nullptr;
    NEED(cudaMalloc(&d, sizeof(int)));
    NEED(cudaMallocHost(&result, sizeof(int)));
    *result = 0;
    CK(cudaMemset(d, 0, sizeof(int)));
    CK(cudaDeviceSynchronize());
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; t++)
        threads.emplace_back([=] {
            cudaStream_t s = nullptr;
            CK(cudaStreamCreate(&s));
            for (int i = 0; i < 5; i++)
                add<<<1, 1, 0, s>>>(d, 3);
            CK(cudaStreamSynchronize(s));
            CK(cudaStreamDestroy(s));
        });
    for (std::thread &t : threads)
        t.join();
    CK(cudaMemcpyAsync(result, d, sizeof(int), cudaMemcpyDeviceToHost, nullptr));
    CK(cudaLaunchHostFunc(nullptr, end, nullptr));
    cudaDeviceSynchronize();
    // Never reached.
    sleep(5);
    printf("still here\n");
    return 1;
}
