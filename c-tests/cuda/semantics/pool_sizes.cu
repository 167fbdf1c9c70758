// A pool's reserved and used sizes: after allocations of many sizes, after they were
// freed, trimmed, and waited for; its high-water marks and its release threshold.
#include <vector>
#include "../common.h"

static cudaMemPool_t pool;

static unsigned long long value(cudaMemPoolAttr attribute)
{
    unsigned long long v = 77;
    CK(cudaMemPoolGetAttribute(pool, attribute, &v));
    return v;
}

static void say(const char *when)
{
    printf("%s: reserved %llu, high %llu, used %llu, high %llu\n", when, value(cudaMemPoolAttrReservedMemCurrent),
           value(cudaMemPoolAttrReservedMemHigh), value(cudaMemPoolAttrUsedMemCurrent), value(cudaMemPoolAttrUsedMemHigh));
    fflush(stdout);
}

static bool fresh(unsigned long long threshold)
{
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    return CK(cudaMemPoolCreate(&pool, &props)) && CK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
}

static void *take(size_t bytes, cudaStream_t stream = nullptr)
{
    void *p = nullptr;
    CK(cudaMallocFromPoolAsync(&p, bytes, pool, stream));
    return p;
}

int main()
{
    const size_t M = 1 << 20;
    NEED(cudaFree(nullptr));
    char text[100];
    for (size_t bytes : {(size_t)1, (size_t)16, (size_t)512, (size_t)513, (size_t)4096, (size_t)65536, M, 2 * M - 1, 2 * M, 2 * M + 1, 3 * M, 16 * M, 31 * M, 32 * M - 512,
                         32 * M - 1, 32 * M, 32 * M + 1, 33 * M, 34 * M, 48 * M, 63 * M, 64 * M, 64 * M + 1, 65 * M, 100 * M, 1000 * M}) {
        if (!fresh(0))
            return finish();
        void *p = take(bytes);
        snprintf(text, sizeof text, "%zu", bytes);
        say(text);
        CK(cudaFreeAsync(p, nullptr));
        CK(cudaStreamSynchronize(nullptr));
        say("  freed and waited for");
        CK(cudaMemPoolDestroy(pool));
    }
    // Several allocations in one pool: do they share reserved memory?
    if (!fresh(~0ull))
        return finish();
    std::vector<void *> all;
    for (size_t bytes : {M, M, 10 * M, 19 * M, M, 2 * M, 40 * M, 5 * M, 7 * M, 512 * (size_t)1, 33 * M}) {
        all.push_back(take(bytes));
        snprintf(text, sizeof text, "and %zu", bytes);
        say(text);
    }
    for (size_t i : {(size_t)1, (size_t)3, (size_t)6}) {
        CK(cudaFreeAsync(all[i], nullptr));
        all[i] = nullptr;
        snprintf(text, sizeof text, "freed number %zu", i);
        say(text);
    }
    CK(cudaStreamSynchronize(nullptr));
    say("waited for, kept");
    all.push_back(take(30 * M));
    say("30 M again");
    all.push_back(take(10 * M));
    say("10 M again");
    all.push_back(take(64 * M));
    say("64 M more");
    for (void *&p : all)
        if (p) {
            CK(cudaFreeAsync(p, nullptr));
            p = nullptr;
        }
    say("all freed");
    CK(cudaStreamSynchronize(nullptr));
    say("waited for");
    for (size_t keep : {200 * M, 100 * M, 70 * M, 33 * M, M, (size_t)1, (size_t)0}) {
        CK(cudaMemPoolTrimTo(pool, keep));
        snprintf(text, sizeof text, "trimmed to %zu", keep);
        say(text);
    }
    unsigned long long zero = 0;
    CK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &zero));
    CK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
    say("marks put back");
    CK(cudaMemPoolDestroy(pool));
    // The threshold: how much remains after a stream, an event or the device was waited for.
    for (unsigned long long threshold : {0ull, 1ull, 32ull << 20, 40ull << 20, 100ull << 20}) {
        if (!fresh(threshold))
            return finish();
        void *a = take(20 * M), *b = take(20 * M), *c = take(50 * M);
        CK(cudaFreeAsync(a, nullptr));
        CK(cudaFreeAsync(b, nullptr));
        CK(cudaFreeAsync(c, nullptr));
        snprintf(text, sizeof text, "threshold %llu, freed", threshold);
        say(text);
        CK(cudaDeviceSynchronize());
        say("  waited for the device");
        a = take(20 * M);
        say("  20 M again");
        cudaEvent_t event;
        CK(cudaEventCreate(&event));
        CK(cudaFreeAsync(a, nullptr));
        CK(cudaEventRecord(event));
        CK(cudaEventSynchronize(event));
        say("  freed and an event waited for");
        CK(cudaEventDestroy(event));
        CK(cudaMemPoolDestroy(pool));
    }
    // A trim while memory is in use, and one before the work has finished.
    if (!fresh(~0ull))
        return finish();
    void *a = take(20 * M), *b = take(40 * M);
    CK(cudaFreeAsync(a, nullptr));
    CK(cudaStreamSynchronize(nullptr));
    CK(cudaMemPoolTrimTo(pool, 0));
    say("trimmed while 40 M are in use");
    CK(cudaFreeAsync(b, nullptr));
    CK(cudaStreamSynchronize(nullptr));
    say("freed");
    CK(cudaMemPoolTrimTo(pool, 0));
    say("trimmed");
    CK(cudaMemPoolDestroy(pool));
#if CUDART_VERSION >= 12020
    for (size_t most : {(size_t)1, M, 2 * M, 32 * M, 33 * M, 64 * M}) {
        cudaMemPoolProps props = {};
        props.allocType = cudaMemAllocationTypePinned;
        props.location.type = cudaMemLocationTypeDevice;
        props.maxSize = most;
        if (!CK(cudaMemPoolCreate(&pool, &props)))
            continue;
        printf("at most %zu:", most);
        for (size_t bytes : {(size_t)512, M, 2 * M, 20 * M, 32 * M, 33 * M, 40 * M, 64 * M, 65 * M}) {
            void *p = nullptr;
            cudaError_t e = cudaMallocFromPoolAsync(&p, bytes, pool, nullptr);
            printf(" %zu %s", bytes, cudaGetErrorName(e));
            if (!e)
                cudaFreeAsync(p, nullptr);
            cudaStreamSynchronize(nullptr);
            cudaGetLastError();
        }
        printf("\n");
        CK(cudaMemPoolDestroy(pool));
    }
#endif
    return finish();
}
