// Launches that the kernel's shape identifies: 64 threads on their own streams, on a shared stream
// and on the default stream, and a graph for each thread. `--gpu-time` must find for each
// launch the kernel of its shape, and for each launch of a graph the nodes of that thread's graph.
//
//   identity [THREADS] [LAUNCHES of each thread] [GRAPHS launched by each thread] [ROUNDS]
//
// A number of 24 bits gives grid x and y, block x and y minus one (4 bits each) and dynamic shared memory / 16
// (8 bits); its last two bits give the kernel. Thread T's numbers begin at T * 4096 (the first 8 are its graph's).
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
#include <cuda_runtime.h>

static const int NODES = 8;

template <int KIND> __global__ void shaped(unsigned *sum, int spins)
{
    long long until = clock64() + spins;
    while (clock64() < until)
        ;
    if (threadIdx.x == 0 && threadIdx.y == 0 && blockIdx.x == 0 && blockIdx.y == 0)
        atomicAdd(sum, 1);
}

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "identity: %s: %s\n", what, cudaGetErrorString(error));
        exit(2);
    }
}

static void launch(unsigned number, unsigned *sum, cudaStream_t stream)
{
    void (*const kernels[])(unsigned *, int) = {shaped<0>, shaped<1>, shaped<2>, shaped<3>};
    const dim3 grid((number & 15) + 1, (number >> 4 & 15) + 1), block((number >> 8 & 15) + 1, (number >> 12 & 15) + 1);
    kernels[number & 3]<<<grid, block, (number >> 16) * 16, stream>>>(sum, number % 7 * 100);
}

static void work(int thread, int launches, int graphs, unsigned *sum, cudaStream_t shared)
{
    cudaStream_t own;
    check(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    const unsigned first = thread * 4096u;
    cudaGraph_t graph;
    cudaGraphExec_t runs;
    check(cudaStreamBeginCapture(own, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (int i = 0; i < NODES; i++)
        launch(first + i, sum, own);
    check(cudaStreamEndCapture(own, &graph), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&runs, graph, 0), "cudaGraphInstantiate");
    const cudaStream_t streams[] = {own, shared, own, cudaStreamLegacy, own, cudaStreamPerThread};
    for (int i = 0, launched = 0; i < launches; i++) {
        launch(first + NODES + i, sum, streams[i % 6]);
        // A copy in between, which is no launch.
        if (i % 16 == 3)
            check(cudaMemsetAsync(sum + 1 + thread, 0, 4, own), "cudaMemsetAsync");
        for (; launched < graphs && launched * launches < i * graphs; launched++)
            check(cudaGraphLaunch(runs, own), "cudaGraphLaunch");
        check(cudaGetLastError(), "a launch");
    }
    check(cudaStreamSynchronize(own), "cudaStreamSynchronize");
    check(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize");
    check(cudaGraphExecDestroy(runs), "cudaGraphExecDestroy");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    check(cudaStreamDestroy(own), "cudaStreamDestroy");
}

int main(int argc, char **argv)
{
    auto given = [&](int i, int else_) { return argc > i ? atoi(argv[i]) : else_; };
    const int threads = given(1, 64), launches = given(2, 500), graphs = given(3, 20), rounds = given(4, 1);
    unsigned *sum, got = 0;
    cudaStream_t shared;
    check(cudaMalloc(&sum, 4096), "cudaMalloc");
    check(cudaMemset(sum, 0, 4096), "cudaMemset");
    check(cudaStreamCreate(&shared), "cudaStreamCreate");
    for (int round = 0; round < rounds; round++) {
        std::vector<std::thread> all;
        for (int thread = 0; thread < threads; thread++)
            all.emplace_back(work, thread, launches, graphs, sum, shared);
        for (auto &one : all)
            one.join();
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaMemcpy(&got, sum, 4, cudaMemcpyDeviceToHost), "cudaMemcpy");
    printf("%d threads ran %u kernels\n", threads, got);
    return 0;
}
