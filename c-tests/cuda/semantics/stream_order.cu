// The legacy default stream waits for the others and they for it; non-blocking
// streams do neither. Host functions that block a stream
// make the order visible.
#include <atomic>
#include <chrono>
#include <thread>
#include "../common.h"

__global__ void set(int *v, int to) { *v = to; }
__global__ void copy(int *to, const int *from) { *to = *from; }

struct Gate {
    std::atomic<bool> open{false};
    static void wait(void *gate)
    {
        // Ends by itself, so that a wrong order gives a wrong result and no hang.
        for (int i = 0; i < 2000 && !((Gate *)gate)->open; i++)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
};

int main()
{
    int *d = nullptr, h[4] = {};
    NEED(cudaMalloc(&d, sizeof h));
    CK(cudaMemset(d, 0, sizeof h));
    cudaStream_t blocking = nullptr, apart = nullptr;
    NEED(cudaStreamCreate(&blocking));
    NEED(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));

    // A kernel's first launch loads it, which may wait for running work.
    set<<<1, 1>>>(d, 0);
    copy<<<1, 1>>>(d + 1, d);
    CK(cudaDeviceSynchronize());
    Gate gate;
    NEED(cudaLaunchHostFunc(blocking, Gate::wait, &gate));
    set<<<1, 1, 0, blocking>>>(d, 1);
    copy<<<1, 1>>>(d + 1, d);
    set<<<1, 1, 0, apart>>>(d + 2, 5);
    LAUNCHED("launches");
    CK(cudaStreamSynchronize(apart));
    show("non-blocking stream", cudaStreamQuery(apart));
    show("blocking stream", cudaStreamQuery(blocking));
    show("default stream", cudaStreamQuery(nullptr));
    cudaGetLastError();
    gate.open = true;
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("the default stream saw %d\n", h[1]);

    Gate second;
    NEED(cudaLaunchHostFunc(cudaStreamLegacy, Gate::wait, &second));
    set<<<1, 1>>>(d, 10);
    copy<<<1, 1, 0, blocking>>>(d + 1, d);
    set<<<1, 1, 0, apart>>>(d + 3, 6);
    CK(cudaStreamSynchronize(apart));
    show("blocking stream behind the default one", cudaStreamQuery(blocking));
    show("non-blocking stream beside it", cudaStreamQuery(apart));
    cudaGetLastError();
    second.open = true;
    CK(cudaStreamSynchronize(blocking));
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("the blocking stream saw %d; beside %d %d\n", h[1], h[2], h[3]);
    CK(cudaStreamDestroy(blocking));
    CK(cudaStreamDestroy(apart));
    return finish();
}
