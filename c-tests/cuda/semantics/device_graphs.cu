// Graphs that kernels launch: fire and forget, as the tail of the running graph, as a sibling, repeatedly by themselves;
// their order, and graphs that cannot be instantiated for device launch.
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

__device__ void say(const char *what, cudaError_t error)
{
    if (error != cudaSuccess)
        printf("%s: %s\n", what, cudaGetErrorName(error));
}

__global__ void leaf(Log *log, int value)
{
    note(log, value);
}

// Long enough that work which does not wait for it would come first.
__global__ void slow_leaf(Log *log, int value)
{
    for (int k = 0; k < 1000; k++)
        __nanosleep(1000);
    note(log, value);
}

__global__ void launches(Log *log, int value, cudaGraphExec_t first, cudaStream_t how, cudaGraphExec_t second, cudaStream_t how2)
{
    note(log, value);
    say("first", cudaGraphLaunch(first, how));
    if (second)
        say("second", cudaGraphLaunch(second, how2));
}

// Launches its own graph as a tail launch, until it has run this often.
__global__ void again(Log *log, int most, cudaGraphExec_t *self)
{
    *self = cudaGetCurrentGraphExec();
    note(log, log->count);
    if (log->count < most)
        say("again", cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch));
}

__global__ void wrong(Log *log)
{
    cudaGraphExec_t self = cudaGetCurrentGraphExec();
    printf("itself beside itself: %s\n", cudaGetErrorName(cudaGraphLaunch(self, cudaStreamGraphFireAndForget)));
    note(log, 1);
    if (log->count == 1) {
        say("tail", cudaGraphLaunch(self, cudaStreamGraphTailLaunch));
        printf("a second time as its tail: %s\n", cudaGetErrorName(cudaGraphLaunch(self, cudaStreamGraphTailLaunch)));
    }
}

__global__ void current(cudaGraphExec_t *out)
{
    *out = cudaGetCurrentGraphExec();
}

__global__ void doubled(int *to, const int *from)
{
    to[threadIdx.x] = 2 * from[threadIdx.x];
}

static cudaStream_t stream;

// Instantiates the captured graph; uploads it for launches by kernels.
template <class F> static cudaGraphExec_t instance(F work, unsigned long long flags)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec = nullptr;
    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    work();
    CK(cudaStreamEndCapture(stream, &graph));
    CK(cudaGraphInstantiateWithFlags(&exec, graph, flags));
    if (flags & cudaGraphInstantiateFlagDeviceLaunch)
        CK(cudaGraphUpload(exec, stream));
    CK(cudaGraphDestroy(graph));
    return exec;
}

static const unsigned long long DEVICE = cudaGraphInstantiateFlagDeviceLaunch;

// `ends` prints only the first two and the last: the others have no order.
static void run(const char *what, cudaGraphExec_t exec, Log *log, bool ends = false)
{
    memset(log, 0, sizeof *log);
    CK(cudaGraphLaunch(exec, stream));
    CK(cudaStreamSynchronize(stream));
    printf("%s:", what);
    for (int k = 0; k < log->count && k < 62; k++)
        if (!ends || k < 2 || k == log->count - 1)
            printf(" %d", log->value[k]);
    printf(ends ? " of %d\n" : "\n", log->count);
}

static void host_function(void *) {}

static void refused(const char *what, cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    cudaGraphInstantiateParams params = {};
    params.flags = DEVICE;
    cudaError_t error = cudaGraphInstantiateWithParams(&exec, graph, &params);
    printf("%s: %s\n", what, error == cudaSuccess ? "instantiated" : "refused");
    cudaGetLastError();
}

int main()
{
    Log *log;
    int *numbers;
    cudaGraphExec_t *self;
    NEED(cudaMallocManaged(&log, sizeof(Log)));
    NEED(cudaMallocManaged(&numbers, 64 * sizeof(int)));
    NEED(cudaMallocManaged(&self, sizeof *self));
    NEED(cudaStreamCreate(&stream));

    const cudaStream_t tail = cudaStreamGraphTailLaunch, fire = cudaStreamGraphFireAndForget;
    const cudaStream_t sibling = cudaStreamGraphFireAndForgetAsSibling;
    cudaGraphExec_t one = instance([&] { leaf<<<1, 1, 0, stream>>>(log, 1); }, DEVICE);
    cudaGraphExec_t two = instance([&] { leaf<<<1, 1, 0, stream>>>(log, 2); }, DEVICE);
    cudaGraphExec_t slow = instance([&] { slow_leaf<<<1, 1, 0, stream>>>(log, 3); }, DEVICE);

    // A graph of the host launches graphs of the device; the next work in the stream waits for them.
    cudaGraphExec_t host = instance([&] { launches<<<1, 1, 0, stream>>>(log, 0, slow, fire, nullptr, 0); }, 0);
    run("fired off", host, log);
    host = instance([&] { launches<<<1, 1, 0, stream>>>(log, 0, slow, fire, one, tail); }, 0);
    run("tail behind what was fired off", host, log);
    host = instance([&] { launches<<<1, 1, 0, stream>>>(log, 0, one, tail, two, tail); }, 0);
    run("two tails", host, log);
    host = instance(
        [&] {
            launches<<<1, 1, 0, stream>>>(log, 0, one, tail, nullptr, 0);
            slow_leaf<<<1, 1, 0, stream>>>(log, 9);
        },
        0);
    run("tail behind the other nodes", host, log);

    // Tail launches of a tail launch come before the next tail launch.
    cudaGraphExec_t nested = instance([&] { launches<<<1, 1, 0, stream>>>(log, 10, one, tail, slow, tail); }, DEVICE);
    host = instance([&] { launches<<<1, 1, 0, stream>>>(log, 0, nested, tail, two, tail); }, 0);
    run("tails of a tail", host, log);

    // Launches of a fire-and-forget graph belong to that graph.
    cudaGraphExec_t child = instance([&] { launches<<<1, 1, 0, stream>>>(log, 20, slow, fire, two, tail); }, DEVICE);
    host = instance([&] { launches<<<1, 1, 0, stream>>>(log, 0, child, fire, one, tail); }, 0);
    run("tail of what was fired off", host, log);

    // A sibling launch belongs to the parent of the graph that launched it.
    cudaGraphExec_t brother = instance([&] { launches<<<1, 1, 0, stream>>>(log, 30, slow, sibling, one, tail); }, DEVICE);
    host = instance([&] { launches<<<1, 1, 0, stream>>>(log, 0, brother, fire, two, tail); }, 0);
    run("sibling", host, log, true);

    cudaGraphExec_t loop = instance([&] { again<<<1, 1, 0, stream>>>(log, 12, self); }, DEVICE);
    run("again and again", loop, log);
    printf("its own handle: %s\n", *self == loop ? "yes" : "no");
    run("once more", loop, log);
    host = instance([&] { current<<<1, 1, 0, stream>>>(self); }, 0);
    run("in a graph of the host", host, log);
    printf("no handle: %s\n", *self == nullptr ? "yes" : "no");

    cudaGraphExec_t errors = instance([&] { wrong<<<1, 1, 0, stream>>>(log); }, DEVICE);
    run("wrong", errors, log);

    // Copies, memsets and child graphs in a device graph.
    cudaGraph_t graph, inner;
    cudaGraphNode_t node;
    NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CK(cudaMemsetAsync(numbers, 1, 4 * sizeof(int), stream));
    CK(cudaMemcpyAsync(numbers + 32, numbers, 4 * sizeof(int), cudaMemcpyDeviceToDevice, stream));
    doubled<<<1, 4, 0, stream>>>(numbers + 16, numbers + 32);
    NEED(cudaStreamEndCapture(stream, &inner));
    NEED(cudaGraphCreate(&graph, 0));
    NEED(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, inner));
    cudaGraphExec_t work;
    NEED(cudaGraphInstantiate(&work, graph, DEVICE));
    NEED(cudaGraphUpload(work, stream));
    host = instance([&] { launches<<<1, 1, 0, stream>>>(log, 0, work, tail, nullptr, 0); }, 0);
    run("copies and sets", host, log);
    printf("%#x %#x\n", numbers[16], numbers[19]);

    // Graphs that kernels cannot launch.
    cudaGraph_t wrong_graph;
    NEED(cudaGraphCreate(&wrong_graph, 0));
    refused("an empty graph", wrong_graph);
    cudaHostNodeParams call = {host_function, nullptr};
    NEED(cudaGraphAddHostNode(&node, wrong_graph, nullptr, 0, &call));
    refused("a function of the host", wrong_graph);
    return finish();
}
