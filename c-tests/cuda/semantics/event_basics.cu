// Events: created, recorded, queried, timed; without timing, and never recorded.
#include <atomic>
#include <chrono>
#include <thread>
#include "../common.h"

__global__ void work(int *v) { *v += 1; }

static std::atomic<bool> gate{false};
static void wait(void *)
{
    for (int i = 0; i < 2000 && !gate; i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

int main()
{
    cudaEvent_t start = nullptr, middle = nullptr, end = nullptr, untimed = nullptr, blocking = nullptr, fresh = nullptr;
    int *d = nullptr;
    cudaStream_t s = nullptr;
    NEED(cudaMalloc(&d, sizeof *d));
    CK(cudaStreamCreate(&s));
    NEED(cudaEventCreate(&start));
    CK(cudaEventCreate(&middle));
    CK(cudaEventCreateWithFlags(&end, cudaEventDefault));
    CK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    CK(cudaEventCreateWithFlags(&blocking, cudaEventBlockingSync));
    CK(cudaEventCreate(&fresh));

    // A kernel's first launch loads it, which may wait for running work.
    work<<<1, 1>>>(d);
    CK(cudaDeviceSynchronize());
    show("query before a record", cudaEventQuery(fresh));
    show("wait before a record", cudaEventSynchronize(fresh));
    CK(cudaEventRecord(start, s));
    CK(cudaLaunchHostFunc(s, wait, nullptr));
    work<<<1, 1, 0, s>>>(d);
    LAUNCHED("work");
    CK(cudaEventRecord(middle, s));
    CK(cudaEventRecord(untimed, s));
    work<<<1, 1, 0, s>>>(d);
    CK(cudaEventRecord(end, s));
    CK(cudaEventRecord(blocking, s));
    float ms = -1;
    show("query while held back", cudaEventQuery(end));
    show("time while held back", cudaEventElapsedTime(&ms, start, end));
    cudaGetLastError();
    printf("untouched %g\n", ms);
    // Longer than other processes delay the GPU, so that the start is not yet recorded when the wait ends.
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    gate = true;
    CK(cudaEventSynchronize(end));
    CK(cudaEventSynchronize(blocking));
    show("query after", cudaEventQuery(end));
    float first = -1, whole = -1, back = 1;
    CK(cudaEventElapsedTime(&first, start, middle));
    CK(cudaEventElapsedTime(&whole, start, end));
    CK(cudaEventElapsedTime(&back, end, start));
    expect(first >= 0 && whole >= first, "times in order");
    expect(whole >= 4 && whole < 5000, "the wait is in it");
    expect(back <= 0, "time backwards");

    show("time without timing", cudaEventElapsedTime(&ms, start, untimed));
    show("time of what was not recorded", cudaEventElapsedTime(&ms, start, fresh));
    show("time to nowhere", cudaEventElapsedTime(nullptr, start, end));
    show("record nothing", cudaEventRecord(nullptr, s));
    show("query nothing", cudaEventQuery(nullptr));
    show("no such flags", cudaEventCreateWithFlags(&fresh, 0x100));
    show("event to nowhere", cudaEventCreate(nullptr));
    show("destroy nothing", cudaEventDestroy(nullptr));
    cudaGetLastError();

    // A second record replaces the first.
    CK(cudaEventRecord(start, s));
    CK(cudaEventRecordWithFlags(end, s, cudaEventRecordDefault));
    CK(cudaStreamSynchronize(s));
    CK(cudaEventElapsedTime(&ms, start, end));
    expect(ms >= 0 && ms < whole + 1000, "recorded again");
    for (cudaEvent_t e : {start, middle, end, untimed, blocking})
        CK(cudaEventDestroy(e));
    return finish();
}
