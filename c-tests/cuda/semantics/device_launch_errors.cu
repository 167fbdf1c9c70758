// Failing device-side launches, and the results of the device runtime.
#include "../common.h"

__global__ void child(int *p)
{
    if (p)
        atomicAdd(p, 1);
}

__global__ void __launch_bounds__(64) small(int *p)
{
    if (p)
        atomicAdd(p, 1);
}

__global__ void needs_shared(int *p)
{
    extern __shared__ int s[];
    s[threadIdx.x] = 1;
    atomicAdd(p, s[threadIdx.x]);
}

__global__ void bad_access(int *p)
{
    *p = 1;
}

__global__ void stops()
{
    asm volatile("trap;");
}

__device__ void say(const char *what, cudaError_t error)
{
    printf("%s: %s\n", what, cudaGetErrorName(error));
}

__global__ void shapes(int *p)
{
    say("nothing", cudaGetLastError());
    child<<<0, 1>>>(p);
    say("no blocks", cudaGetLastError());
    child<<<1, 0>>>(p);
    say("no threads", cudaGetLastError());
    child<<<1, 1025>>>(p);
    say("1025 threads", cudaPeekAtLastError());
    say("1025 threads", cudaGetLastError());
    say("again", cudaGetLastError());
    child<<<dim3(1, 65536), 1>>>(p);
    say("grid of y 65536", cudaGetLastError());
    child<<<1, dim3(1, 1, 65)>>>(p);
    say("block of z 65", cudaGetLastError());
    small<<<1, 65>>>(p);
    say("more than launch bounds", cudaGetLastError());
    small<<<1, 64>>>(p);
    say("launch bounds", cudaGetLastError());
    needs_shared<<<1, 32, 48 << 10>>>(p);
    say("48 KiB of shared memory", cudaGetLastError());
    needs_shared<<<1, 32, (48 << 10) + 16>>>(p);
    say("more than 48 KiB of shared memory", cudaGetLastError());
    needs_shared<<<1, 32, 300 << 10>>>(p);
    say("300 KiB of shared memory", cudaGetLastError());
    child<<<1, 1>>>(p);
    say("a good one behind", cudaGetLastError());
}

__global__ void calls(int *p)
{
    cudaStream_t stream;
    cudaEvent_t event;
    say("stream flags 0", cudaStreamCreateWithFlags(&stream, cudaStreamDefault));
    say("stream flags 2", cudaStreamCreateWithFlags(&stream, 2));
    say("last", cudaGetLastError());
    say("stream", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    say("event flags 0", cudaEventCreateWithFlags(&event, cudaEventDefault));
    say("event", cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    say("record", cudaEventRecord(event, stream));
    say("wait", cudaStreamWaitEvent(stream, event, 0));
    say("wait flags", cudaStreamWaitEvent(stream, event, 5));
    say("event destroy", cudaEventDestroy(event));
    say("stream destroy", cudaStreamDestroy(stream));
    say("last", cudaGetLastError());
    say("copy of the wrong kind", cudaMemcpyAsync(p, p + 1, 4, cudaMemcpyHostToDevice, 0));
    say("copy of kind default", cudaMemcpyAsync(p, p + 1, 4, cudaMemcpyDefault, 0));
    say("copy of nothing", cudaMemcpyAsync(p, p + 1, 0, cudaMemcpyDeviceToDevice, 0));
    say("last", cudaGetLastError());
    int value = -1;
    say("attribute", cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
    printf("warp size %d\n", value);
    say("attribute of another device", cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 100));
    say("no attribute", cudaDeviceGetAttribute(&value, (cudaDeviceAttr)99999, 0));
    say("device", cudaGetDevice(&value));
    printf("device %d\n", value);
    say("count", cudaGetDeviceCount(&value));
    printf("devices %s\n", value >= 1 ? "some" : "none");
    size_t limit = 0;
    say("heap", cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    printf("%llu\n", (unsigned long long)limit);
    say("stack", cudaDeviceGetLimit(&limit, cudaLimitStackSize));
    printf("%llu\n", (unsigned long long)limit);
    say("printf", cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
    printf("%llu\n", (unsigned long long)limit);
    say("pending", cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount));
    printf("%llu\n", (unsigned long long)limit);
    say("depth", cudaDeviceGetLimit(&limit, cudaLimitDevRuntimeSyncDepth));
    say("no limit", cudaDeviceGetLimit(&limit, (cudaLimit)77));
    say("last", cudaGetLastError());
    void *memory = nullptr;
    say("malloc", cudaMalloc(&memory, 100));
    say("free", cudaFree(memory));
    say("free of nothing", cudaFree(nullptr));
    say("malloc of 1 TiB", cudaMalloc(&memory, 1ull << 40));
    say("last", cudaGetLastError());
    cudaFuncAttributes attributes;
    say("attributes", cudaFuncGetAttributes(&attributes, small));
    printf("threads %d shared %d constant %d local %d\n", attributes.maxThreadsPerBlock, (int)attributes.sharedSizeBytes,
           (int)attributes.constSizeBytes, (int)attributes.localSizeBytes);
    int blocks = -1;
    say("occupancy", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, child, 1024, 0));
    printf("blocks %d\n", blocks);
    say("occupancy of 0 threads", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, child, 0, 0));
    say("occupancy of 2048 threads", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, child, 2048, 0));
    printf("blocks %d\n", blocks);
    say("version", cudaRuntimeGetVersion(&value));
    printf("%s: %s\n", cudaGetErrorName(cudaErrorLaunchOutOfResources),
           cudaGetErrorString(cudaErrorLaunchOutOfResources));
    printf("%s: %s\n", cudaGetErrorName((cudaError_t)12345), cudaGetErrorString((cudaError_t)12345));
}

// An error belongs to the thread.
__global__ void threads(int *p)
{
    if (threadIdx.x == 1)
        child<<<0, 1>>>(p);
    __syncthreads();
    if (threadIdx.x == 0)
        say("thread 0", cudaGetLastError());
    __syncthreads();
    if (threadIdx.x == 1)
        say("thread 1", cudaGetLastError());
}

// One launch more than the limit of pending launches.
__global__ void pending(int *p, int *first, int *errors)
{
    int failed = 0;
    for (int k = 0; k < 2600; k++) {
        child<<<1, 1, 0, cudaStreamTailLaunch>>>(p);
        cudaError_t error = cudaGetLastError();
        if (error != cudaSuccess && !failed++)
            *first = k, *errors = error;
    }
}

__global__ void launch_bad(int which)
{
    if (which == 0)
        bad_access<<<1, 1>>>((int *)16);
    else
        stops<<<1, 1>>>();
    say("the launch", cudaGetLastError());
}

int main(int argc, char **)
{
    int *p = nullptr;
    NEED(cudaMallocManaged(&p, 64));
    memset(p, 0, 64);
    shapes<<<1, 1>>>(p);
    if (!LAUNCHED("shapes") || !CK(cudaDeviceSynchronize()))
        return finish();
    printf("threads that ran: %d\n", p[0]);
    calls<<<1, 1>>>(p);
    LAUNCHED("calls");
    CK(cudaDeviceSynchronize());
    threads<<<1, 32>>>(p);
    LAUNCHED("threads");
    CK(cudaDeviceSynchronize());
    p[0] = p[1] = p[2] = 0;
    pending<<<1, 1>>>(p, p + 1, p + 2);
    LAUNCHED("pending");
    CK(cudaDeviceSynchronize());
    if (argc > 1)
        printf("%d ran, first failure %d: %s\n", p[0], p[1], cudaGetErrorName((cudaError_t)p[2]));
    expect(p[0] >= 2048, "2048 pending launches");
    size_t limit = 0;
    show("host: pending", cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount));
    printf("%zu\n", limit);
    show("host: pending 4096", cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 4096));
    cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount);
    printf("%zu\n", limit);
    launch_bad<<<1, 1>>>(argc > 2);
    LAUNCHED("launch_bad");
    show("a child fails", cudaDeviceSynchronize());
    return finish();
}
