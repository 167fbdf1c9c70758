// 64 threads launch concurrently, 50 times each, on the default stream and on their own
// streams; they race for the first launch.
#include <thread>
#include <vector>
#include "common.h"

__global__ void add(unsigned *sum, unsigned by) { atomicAdd(sum, by); }
__global__ void add_own(unsigned *sum, unsigned by) { atomicAdd(sum, by); }

int main()
{
    const unsigned threads = 64, launches = 50;
    unsigned *d = nullptr, h = 0;
    CK(cudaMalloc(&d, sizeof h));
    CK(cudaMemset(d, 0, sizeof h));
    CK(cudaDeviceSynchronize());
    std::vector<cudaError_t> results(threads, cudaSuccess);
    std::vector<std::thread> pool;
    for (unsigned t = 0; t < threads; t++)
        pool.emplace_back([=, &results] {
            cudaStream_t own = nullptr;
            cudaError_t first = cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
            for (unsigned i = 0; i < launches; i++) {
                add<<<1, 1>>>(d, 1);
                cudaError_t e = cudaGetLastError();
                add_own<<<1, 2, 0, own>>>(d, 1);
                cudaError_t f = cudaGetLastError();
                if (first == cudaSuccess)
                    first = e != cudaSuccess ? e : f;
            }
            cudaError_t last = cudaStreamSynchronize(own);
            if (own)
                cudaStreamDestroy(own);
            results[t] = first != cudaSuccess ? first : last;
        });
    for (auto &t : pool)
        t.join();
    int failed = 0;
    for (cudaError_t r : results)
        failed += r != cudaSuccess;
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("threads failed %d, sum %u\n", failed, h);
    return finish();
}
