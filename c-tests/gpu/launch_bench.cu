// The cost of a launch for the calling thread: bursts of an empty kernel with four
// arguments, ns per launch. With parts of CUPTI enabled:
//
//   launch_bench none|WORD[+WORD…]
//
// For each line of its input it runs BURSTS bursts of PER_BURST launches, waits until CUPTI has
// delivered its records, and prints a line: the median and the minimum of the bursts, and the
// processor time of the whole process, all in ns per launch. So several processes can take turns.
//
// callback: a subscriber with an empty callback for the runtime's and the driver's
// launches, the least that a tracer needs; callback-driver, callback-runtime: for those
// of one. activity: CUPTI's own record of every kernel, buffers discarded; copies,
// driver, runtime, external: also its records of copies and memsets, of calls, of external
// ids. launches: of the driver's cuLaunchKernel alone. push: an external id around each
// launch; ahead: two. clock: times by the host's clock. flush: asks for complete records
// ten times a second. zeroed: buffers are zeroed first. read: reads each record, as every
// client must; kept: in buffers of 1 MiB that are reused, instead of new ones of 8 MiB.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <time.h>
#include <vector>
#include <cuda_runtime.h>
#include <cupti.h>

__global__ void empty(const float *, float *, int, float) {}

static void CUPTIAPI callback(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *) {}

static uint64_t now()
{
    timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000ull + at.tv_nsec;
}

static bool zeroed, reads, kept;
static std::mutex guard;
static std::vector<uint8_t *> spare;
static volatile uint64_t seen;

static void CUPTIAPI give(uint8_t **buffer, size_t *size, size_t *records)
{
    *records = 0;
    if (kept) {
        std::lock_guard<std::mutex> held(guard);
        *size = 1 << 20;
        *buffer = spare.empty() ? static_cast<uint8_t *>(malloc(*size)) : spare.back();
        if (!spare.empty())
            spare.pop_back();
        return;
    }
    *size = 8 << 20;
    *buffer = static_cast<uint8_t *>(zeroed ? calloc(1, *size) : aligned_alloc(8, *size));
}

static void CUPTIAPI take(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
    CUpti_Activity *record = nullptr;
    while (reads && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        seen = seen + record->kind;
    if (!kept)
        return free(buffer);
    std::lock_guard<std::mutex> held(guard);
    spare.push_back(buffer);
}

// Processor time of all threads, ns.
static double spent()
{
    timespec at;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return at.tv_sec * 1e9 + at.tv_nsec;
}

static const int BURSTS = 60, PER_BURST = 500, HANDED_OVER_MS = 150;

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "none";
    const std::string words = std::string("+") + mode + "+";
    auto has = [&](const char *word) { return words.find(std::string("+") + word + "+") != std::string::npos; };
    auto must = [](CUptiResult status, const char *what) {
        if (status != CUPTI_SUCCESS) {
            fprintf(stderr, "launch_bench: %s fails with %d\n", what, status);
            exit(2);
        }
    };
    const bool on_runtime = has("callback") || has("callback-runtime"), on_driver = has("callback") || has("callback-driver");
    if (on_runtime || on_driver) {
        CUpti_SubscriberHandle subscriber;
        must(cuptiSubscribe(&subscriber, callback, nullptr), "cuptiSubscribe");
        if (on_runtime)
            cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
        if (on_driver)
            cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    }
    if (has("activity")) {
        zeroed = has("zeroed");
        reads = has("read");
        kept = has("kept");
        size_t size = 1;
        uint8_t yes = 1;
        if (zeroed)
            must(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &yes), "cuptiActivitySetAttribute");
        if (has("clock"))
            must(cuptiActivityRegisterTimestampCallback(now), "cuptiActivityRegisterTimestampCallback");
        must(cuptiActivityRegisterCallbacks(give, take), "cuptiActivityRegisterCallbacks");
        const struct { const char *word; CUpti_ActivityKind kind; } kinds[] = {
            {"external", CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION}, {"driver", CUPTI_ACTIVITY_KIND_DRIVER},
            {"runtime", CUPTI_ACTIVITY_KIND_RUNTIME}, {"copies", CUPTI_ACTIVITY_KIND_MEMCPY},
            {"copies", CUPTI_ACTIVITY_KIND_MEMSET}, {"copies", CUPTI_ACTIVITY_KIND_MEMCPY2},
            {"activity", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL}};
        for (auto &one : kinds)
            if (has(one.word))
                must(cuptiActivityEnable(one.kind), one.word);
#if CUDA_VERSION >= 12040
        if (has("launches"))
            must(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, 1), "cuptiActivityEnableDriverApi");
#endif
        if (has("flush"))
            std::thread([] {
                for (;;) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(100));
                    cuptiActivityFlushAll(0);
                }
            }).detach();
    }
    const bool push = has("push") || has("ahead"), ahead = has("ahead");
    uint64_t number = 0, last;
    float *d = nullptr;
    if (cudaMalloc(&d, 256) != cudaSuccess)
        return fprintf(stderr, "launch_bench: %s\n", cudaGetErrorString(cudaGetLastError())), 2;
    const auto burst = [&] {
        cudaDeviceSynchronize();
        auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < PER_BURST; i++)
            if (!push) {
                empty<<<1, 32>>>(d, d, i, 1.5f);
            } else {
                if (ahead)
                    cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, ++number);
                cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, ++number);
                empty<<<1, 32>>>(d, d, i, 1.5f);
                cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
                if (ahead)
                    cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
            }
        return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / PER_BURST;
    };
    for (int i = 0; i < 20; i++)
        burst();
    for (char line[64]; fgets(line, sizeof line, stdin);) {
        std::vector<double> ns;
        const double begun = spent();
        for (int i = 0; i < BURSTS; i++)
            ns.push_back(burst());
        if (cudaDeviceSynchronize() != cudaSuccess)
            return 2;
        std::this_thread::sleep_for(std::chrono::milliseconds(HANDED_OVER_MS));
        const double took = spent() - begun;
        std::sort(ns.begin(), ns.end());
        printf("%.1f %.1f %.1f\n", ns[ns.size() / 2], ns[0], took / (BURSTS * PER_BURST));
        fflush(stdout);
    }
    return 0;
}
