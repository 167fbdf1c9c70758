// What a launch costs the calling thread: bursts of an empty kernel with four
// arguments, ns per launch. With CUPTI in the way as asked:
//
//   launch_bench none|callback|activity [BURSTS] [PER_BURST]
//
// callback: a subscriber with an empty callback on the runtime's and the driver's
// launches, what a tracer needs at the least. activity: CUPTI's own record of every
// kernel, buffers thrown away. Prints one line: the median and the minimum.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>
#include <cupti.h>

__global__ void empty(const float *, float *, int, float) {}

static void CUPTIAPI callback(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *) {}

static void CUPTIAPI give(uint8_t **buffer, size_t *size, size_t *records)
{
    *size = 8 << 20;
    *buffer = static_cast<uint8_t *>(aligned_alloc(8, *size));
    *records = 0;
}

static void CUPTIAPI take(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t) { free(buffer); }

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "none";
    const int bursts = argc > 2 ? atoi(argv[2]) : 200, per_burst = argc > 3 ? atoi(argv[3]) : 500;
    CUpti_SubscriberHandle subscriber;
    if (!strcmp(mode, "callback")) {
        if (cuptiSubscribe(&subscriber, callback, nullptr) != CUPTI_SUCCESS)
            return fprintf(stderr, "launch_bench: cuptiSubscribe failed\n"), 2;
        cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
        cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    } else if (!strcmp(mode, "activity")) {
        cuptiActivityRegisterCallbacks(give, take);
        if (cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS)
            return fprintf(stderr, "launch_bench: cuptiActivityEnable failed\n"), 2;
    }
    float *d = nullptr;
    if (cudaMalloc(&d, 256) != cudaSuccess)
        return fprintf(stderr, "launch_bench: %s\n", cudaGetErrorString(cudaGetLastError())), 2;
    std::vector<double> ns;
    for (int burst = -20; burst < bursts; burst++) {
        cudaDeviceSynchronize();
        auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < per_burst; i++)
            empty<<<1, 32>>>(d, d, i, 1.5f);
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
