// Streams that wait for events of other streams: a chain, a diamond, an event that is
// recorded again after the wait, and one that was never recorded.
#include <atomic>
#include <chrono>
#include <thread>
#include "../common.h"

__global__ void append(int *list, int what) { list[++list[0]] = what; }
__global__ void store(int *v, int what) { *v = what; }

static std::atomic<bool> gate{false};
static void wait(void *)
{
    for (int i = 0; i < 2000 && !gate; i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

int main()
{
    const int n = 5;
    cudaStream_t s[n] = {};
    cudaEvent_t e[n] = {}, never = nullptr;
    int *list = nullptr, h[16] = {};
    NEED(cudaMalloc(&list, sizeof h));
    // A kernel's first launch loads it, which may wait for running work.
    append<<<1, 1>>>(list, 0);
    store<<<1, 1>>>(list, 0);
    CK(cudaMemset(list, 0, sizeof h));
    CK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++) {
        CK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
        CK(cudaEventCreateWithFlags(&e[i], cudaEventDisableTiming));
    }
    CK(cudaEventCreate(&never));

    CK(cudaLaunchHostFunc(s[0], wait, nullptr));
    for (int i = 0; i < n; i++) {
        if (i)
            CK(cudaStreamWaitEvent(s[i], e[i - 1], 0));
        append<<<1, 1, 0, s[i]>>>(list, 10 + i);
        LAUNCHED("append");
        CK(cudaEventRecord(e[i], s[i]));
    }
    show("the last of the chain", cudaStreamQuery(s[n - 1]));
    cudaGetLastError();
    // Recorded again: an earlier wait still waits for the earlier record.
    CK(cudaEventRecord(e[0], s[0]));
    gate = true;
    CK(cudaStreamSynchronize(s[n - 1]));
    CK(cudaMemcpy(h, list, sizeof h, cudaMemcpyDeviceToHost));
    for (int i = 0; i <= h[0] && i < 16; i++)
        printf("%d ", h[i]);
    printf("\n");

    // A diamond: two streams wait for one, and one waits for the two.
    CK(cudaMemset(list, 0, sizeof h));
    CK(cudaDeviceSynchronize());
    append<<<1, 1, 0, s[0]>>>(list, 1);
    CK(cudaEventRecord(e[0], s[0]));
    for (int side = 1; side <= 2; side++) {
        CK(cudaStreamWaitEvent(s[side], e[0], 0));
        store<<<1, 1, 0, s[side]>>>(list + 7 + side, 100 * side);
        CK(cudaEventRecord(e[side], s[side]));
        CK(cudaStreamWaitEvent(s[3], e[side], 0));
    }
    append<<<1, 1, 0, s[3]>>>(list, 4);
    CK(cudaMemcpyAsync(h, list, sizeof h, cudaMemcpyDeviceToHost, s[3]));
    CK(cudaStreamSynchronize(s[3]));
    printf("%d %d %d, %d %d\n", h[0], h[1], h[2], h[8], h[9]);

    CK(cudaStreamWaitEvent(s[0], never, 0));
    CK(cudaStreamSynchronize(s[0]));
    show("wait for nothing", cudaStreamWaitEvent(s[0], nullptr, 0));
    show("wait with no such flags", cudaStreamWaitEvent(s[0], e[0], 0x80));
    cudaGetLastError();
    // An event may be destroyed while something waits for it; its stream, too.
    append<<<1, 1, 0, s[0]>>>(list, 5);
    CK(cudaEventRecord(e[0], s[0]));
    CK(cudaStreamWaitEvent(s[1], e[0], 0));
    CK(cudaEventDestroy(e[0]));
    CK(cudaStreamDestroy(s[0]));
    append<<<1, 1, 0, s[1]>>>(list, 6);
    CK(cudaStreamSynchronize(s[1]));
    CK(cudaMemcpy(h, list, sizeof h, cudaMemcpyDeviceToHost));
    printf("%d: %d %d\n", h[0], h[3], h[4]);
    return finish();
}
