// Kernels that launch kernels: the parent's writes that a child sees, the order of one block's launches, streams of
// a block, tail and fire-and-forget launches, and when the parent's grid is complete.
#include "../common.h"

struct Log {
    int count;
    int value[62];
};

__device__ void note(Log *log, int value)
{
    __threadfence();
    int at = atomicAdd(&log->count, 1);
    if (at < 62)
        log->value[at] = value;
}

__global__ void leaf(Log *log, int value)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        note(log, value);
}

__global__ void add(int *sum, int value)
{
    atomicAdd(sum, value + threadIdx.x);
}

// The child reads the writes of all threads of its parent's block before the barrier.
__global__ void read_all(const int *from, int n, int *sum)
{
    int mine = 0;
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        mine += from[k];
    atomicAdd(sum, mine);
}

__global__ void visible(int *scratch, int *sum)
{
    scratch[blockIdx.x * blockDim.x + threadIdx.x] = threadIdx.x + 1;
    __syncthreads();
    if (threadIdx.x == 0)
        read_all<<<1, 32>>>(scratch + blockIdx.x * blockDim.x, blockDim.x, sum);
}

// A block's launches into its NULL stream run one after the other.
__global__ void in_order(Log *log)
{
    for (int k = 0; k < 10; k++)
        leaf<<<3, 64>>>(log, k);
}

// A child's own children complete before the next launch of the same stream begins.
__global__ void nested(Log *log, int depth)
{
    if (depth > 0)
        nested<<<1, 1>>>(log, depth - 1);
    else
        note(log, 1);
}

__global__ void depths(Log *log)
{
    nested<<<1, 1>>>(log, 5);
    leaf<<<1, 1>>>(log, 2);
}

// Tail launches run in order, after the grid and all its launches are complete.
__global__ void tails(Log *log)
{
    if (threadIdx.x == 0) {
        leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 100);
        leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 101);
        nested<<<1, 1>>>(log, 3);
        nested<<<1, 1, 0, cudaStreamFireAndForget>>>(log, 4);
        note(log, 0);
    }
}

// A tail launch of a tail launch runs before later work of the host's stream, and before the next tail launch.
__global__ void tail_of_tail(Log *log, int n)
{
    note(log, n);
    if (n < 3) {
        leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 10 + n);
        tail_of_tail<<<1, 1, 0, cudaStreamTailLaunch>>>(log, n + 1);
        leaf<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 20 + n);
    }
}

// Streams of the block: each is in order by itself; an event orders work of two streams.
__global__ void streams(Log *first, Log *second)
{
    cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    for (int k = 0; k < 5; k++) {
        leaf<<<1, 32, 0, a>>>(first, k);
        leaf<<<1, 32, 0, b>>>(second, k);
    }
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
}

__global__ void events(Log *log)
{
    cudaStream_t a, b;
    cudaEvent_t done;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    nested<<<1, 1, 0, a>>>(log, 4);
    cudaEventRecord(done, a);
    cudaStreamWaitEvent(b, done, 0);
    leaf<<<1, 1, 0, b>>>(log, 2);
    cudaEventDestroy(done);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
}

// Many blocks and threads launch.
__global__ void everyone(int *sum)
{
    add<<<2, 8>>>(sum, blockIdx.x);
}

// Arguments of all sizes, dynamic shared memory, three dimensions.
struct Wide {
    char text[40];
    double factor;
};

__global__ void shapes(Wide wide, char c, short s, long long l, float *out)
{
    extern __shared__ float dynamic[];
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    dynamic[thread] = thread * wide.factor;
    __syncthreads();
    int threads = blockDim.x * blockDim.y * blockDim.z;
    out[block * threads + thread] = dynamic[threads - 1 - thread] + c + s + l + wide.text[block % 40];
}

__global__ void launch_shapes(float *out)
{
    Wide wide;
    for (int k = 0; k < 40; k++)
        wide.text[k] = k;
    wide.factor = 0.5;
    shapes<<<dim3(2, 3, 2), dim3(4, 2, 3), 24 * sizeof(float)>>>(wide, 3, -20, 1000, out);
}

// Device-side copies.
__global__ void copies(int *to, const int *from, int n)
{
    cudaMemcpyAsync(to, from, n * sizeof(int), cudaMemcpyDeviceToDevice, 0);
    cudaMemcpy2DAsync(to + 3 * n, 4 * sizeof(int), from, 2 * sizeof(int), 2 * sizeof(int), 3,
                      cudaMemcpyDeviceToDevice, 0);
}

static void print(const char *what, const Log *log)
{
    printf("%s:", what);
    for (int k = 0; k < log->count && k < 62; k++)
        printf(" %d", log->value[k]);
    printf("\n");
}

int main()
{
    Log *log = nullptr, *other = nullptr;
    int *scratch = nullptr, *sum = nullptr;
    float *out = nullptr;
    NEED(cudaMallocManaged(&log, sizeof(Log)));
    NEED(cudaMallocManaged(&other, sizeof(Log)));
    NEED(cudaMallocManaged(&sum, sizeof(int)));
    NEED(cudaMallocManaged(&out, 288 * sizeof(float)));
    NEED(cudaMallocManaged(&scratch, 4096 * sizeof(int)));
    auto ran = [&](const char *what) {
        bool launched = LAUNCHED(what);
        if (launched && CK(cudaDeviceSynchronize()))
            print(what, log);
        memset(log, 0, sizeof *log);
    };
    memset(log, 0, sizeof *log);
    memset(other, 0, sizeof *other);

    *sum = 0;
    visible<<<4, 128>>>(scratch, sum);
    if (!LAUNCHED("visible") || !CK(cudaDeviceSynchronize()))
        return finish();
    printf("visible: %d\n", *sum);

    in_order<<<1, 1>>>(log);
    ran("in order");
    depths<<<1, 1>>>(log);
    ran("depths");
    tails<<<1, 32>>>(log);
    LAUNCHED("tails");
    CK(cudaDeviceSynchronize());
    // Launches that are no tail launches may run in any order.
    printf("tails: %d %d of %d\n", log->value[3], log->value[4], log->count);
    memset(log, 0, sizeof *log);
    tail_of_tail<<<1, 1>>>(log, 0);
    leaf<<<1, 1>>>(log, 99);
    ran("tail of tail");
    streams<<<1, 1>>>(log, other);
    LAUNCHED("streams");
    CK(cudaDeviceSynchronize());
    print("one stream", log);
    print("other stream", other);
    memset(log, 0, sizeof *log);
    events<<<1, 1>>>(log);
    ran("events");

    *sum = 0;
    everyone<<<16, 32>>>(sum);
    LAUNCHED("everyone");
    CK(cudaDeviceSynchronize());
    printf("everyone: %d\n", *sum);

    launch_shapes<<<1, 1>>>(out);
    LAUNCHED("launch_shapes");
    CK(cudaDeviceSynchronize());
    double total = 0;
    for (int k = 0; k < 288; k++)
        total += out[k];
    printf("shapes: %g %g %g\n", out[0], out[287], total);

    for (int k = 0; k < 4096; k++)
        scratch[k] = k < 64 ? k + 1 : 0;
    copies<<<1, 1>>>(scratch + 1024, scratch, 16);
    LAUNCHED("copies");
    CK(cudaDeviceSynchronize());
    printf("copies: %d %d %d %d %d %d\n", scratch[1024], scratch[1039], scratch[1072], scratch[1073], scratch[1074],
           scratch[1076]);
    return finish();
}
