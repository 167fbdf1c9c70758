// Built with the per-thread default stream: each thread has its own, none waits for
// another's, and the legacy stream waits for all.
#include <atomic>
#include <chrono>
#include <thread>
#include "../common.h"

__global__ void set(int *v, int to) { *v = to; }
__global__ void copy(int *to, const int *from) { *to = *from; }

static std::atomic<bool> gate{false};
static void wait(void *)
{
    for (int i = 0; i < 2000 && !gate; i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

int main()
{
    int *d = nullptr, h[4] = {};
    NEED(cudaMalloc(&d, sizeof h));
    CK(cudaMemset(d, 0, sizeof h));
    // A kernel's first launch loads it, which may wait for running work.
    set<<<1, 1>>>(d, 0);
    copy<<<1, 1>>>(d + 1, d);
    CK(cudaDeviceSynchronize());
    NEED(cudaLaunchHostFunc(nullptr, wait, nullptr));
    set<<<1, 1>>>(d, 1);
    LAUNCHED("set");
    show("own default stream", cudaStreamQuery(nullptr));
    show("own default stream by name", cudaStreamQuery(cudaStreamPerThread));

    int seen = -1;
    cudaError_t other = cudaErrorUnknown;
    std::thread([&] {
        other = cudaStreamQuery(nullptr);
        set<<<1, 1>>>(d + 1, 2);
        cudaMemcpyAsync(&seen, d + 1, sizeof seen, cudaMemcpyDeviceToHost, nullptr);
        cudaStreamSynchronize(nullptr);
    }).join();
    show("another thread's", other);
    printf("it saw %d while the first waits\n", seen);

    copy<<<1, 1, 0, cudaStreamLegacy>>>(d + 2, d);
    LAUNCHED("copy");
    show("legacy stream", cudaStreamQuery(cudaStreamLegacy));
    cudaGetLastError();
    gate = true;
    CK(cudaStreamSynchronize(cudaStreamLegacy));
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("legacy saw %d; %d %d\n", h[2], h[0], h[1]);
    return finish();
}
