// What a launch costs the calling thread: bursts of an empty kernel with four
// arguments, ns per launch. With CUPTI in the way as asked:
//
//   launch_bench none|WORD[+WORD…] [BURSTS] [PER_BURST]
//
// callback: a subscriber with an empty callback on the runtime's and the driver's
// launches, what a tracer needs at the least; callback-driver, callback-runtime: on those
// of one. activity: CUPTI's own record of every kernel, buffers thrown away; copies,
// driver, runtime, external: also its records of copies and sets, of calls, of external
// ids. launches: of the driver's cuLaunchKernel alone. push: an external id around each
// launch; ahead: two. clock: times by the host's clock. flush: what is complete is asked for
// ten times a second. zeroed: buffers come zeroed. Prints one line: the median and the minimum.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

static bool zeroed;

static void CUPTIAPI give(uint8_t **buffer, size_t *size, size_t *records)
{
    *size = 8 << 20;
    *buffer = static_cast<uint8_t *>(zeroed ? calloc(1, *size) : aligned_alloc(8, *size));
    *records = 0;
}

static void CUPTIAPI take(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t) { free(buffer); }

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "none";
    const int bursts = argc > 2 ? atoi(argv[2]) : 200, per_burst = argc > 3 ? atoi(argv[3]) : 500;
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
    std::vector<double> ns;
    for (int burst = -20; burst < bursts; burst++) {
        cudaDeviceSynchronize();
        auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < per_burst; i++)
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
        auto end = std::chrono::steady_clock::now();
        if (burst >= 0)
            ns.push_back(std::chrono::duration<double, std::nano>(end - begin).count() / per_burst);
    }
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 2;
    std::sort(ns.begin(), ns.end());
    printf("%.1f %.1f\n", ns[ns.size() / 2], ns[0]);
    return 0;
}
