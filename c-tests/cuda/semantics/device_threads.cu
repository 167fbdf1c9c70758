// Each thread has its own current device, memory belongs to the device; flags of the
// primary context.
#include <thread>
#include "../common.h"

__global__ void add(int *v, int by) { atomicAdd(v, by); }

int main()
{
    int count = 0, *d = nullptr, h = 0;
    NEED(cudaGetDeviceCount(&count));
    NEED(cudaSetDevice(count - 1));
    int in_thread = -1, after_wrong = -1;
    cudaError_t wrong = cudaSuccess;
    std::thread([&] {
        cudaGetDevice(&in_thread);
        wrong = cudaSetDevice(count + 3);
        cudaGetDevice(&after_wrong);
    }).join();
    printf("a new thread has device %d, then %d after %s\n", in_thread, after_wrong, cudaGetErrorName(wrong));
    int own = -1;
    CK(cudaGetDevice(&own));
    expect(own == count - 1, "the first thread keeps its own");
    show("the first thread's last error", cudaPeekAtLastError());

    CK(cudaSetDevice(0));
    unsigned flags = 99;
    CK(cudaGetDeviceFlags(&flags));
    printf("schedule flags %u\n", flags & cudaDeviceScheduleMask);
    show("flags that contradict", cudaSetDeviceFlags(cudaDeviceScheduleSpin | cudaDeviceScheduleYield));
    show("flags that are none", cudaSetDeviceFlags(0x8000));
    show("flags to nowhere", cudaGetDeviceFlags(nullptr));
    cudaGetLastError();

    NEED(cudaMalloc(&d, sizeof h));
    CK(cudaMemset(d, 0, sizeof h));
    cudaError_t results[4] = {};
    std::thread threads[4];
    for (int t = 0; t < 4; t++)
        threads[t] = std::thread([=, &results] {
            add<<<1, 32>>>(d, 1);
            results[t] = cudaGetLastError();
        });
    for (auto &t : threads)
        t.join();
    for (cudaError_t r : results)
        check(r, "launch in a thread");
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("sum %d\n", h);
    CK(cudaFree(d));
    return finish();
}
