// A program whose kernels bound_new.cu replaces; the replacements use the program's variables. Every printed line depends
// on both the code and the variables. c-tests/harness/bound.py knows the expected lines.
#include "../cuda/common.h"

#ifdef __clang__
// clang has no managed variables for CUDA.
#define NO_MANAGED
#endif
#ifdef NEW_SOURCE
// With -DNEW: as if the kernels had been replaced in the source.
#define SEED 1
#include "bound_new.cu"
#else
struct Pair { int a; float b; };

__constant__ float scale = 1;
__constant__ int table[16];
__constant__ Pair both;
__device__ int counter = 5;
__device__ int cells[8];
__device__ int *leads = cells + 2;
__device__ int seed = 1;
static __constant__ int inner;
#ifdef NO_MANAGED
__device__ int shared_value;
#else
__managed__ int shared_value;
#endif

extern "C" __global__ void add(const float *a, const float *b, float *c) { *c = *a + *b * scale; }
extern "C" __global__ void bump(int by) { counter += by; }
extern "C" __global__ void sum(int *v, int i, int j) { *v = table[i] + table[j]; }
extern "C" __global__ void pair(int *v) { *v = both.a * 100 + (int)(both.b * 10); }
extern "C" __global__ void follow(int *v) { v[0] = *leads; v[1] = cells[3]; }
extern "C" __global__ void hide(int *v) { *v = inner; }
extern "C" __global__ void grow(int by) { shared_value += by; }
extern "C" __global__ void seeded(int *v) { *v = seed; }
#endif

#ifdef NO_MANAGED
static void set_shared(int to) { CK(cudaMemcpyToSymbol(shared_value, &to, sizeof to)); }
static int get_shared()
{
    int now = 0;
    CK(cudaMemcpyFromSymbol(&now, shared_value, sizeof now));
    return now;
}
#else
static void set_shared(int to) { shared_value = to; }
static int get_shared() { return shared_value; }
#endif
// Not replaced: it sees the values that the others leave.
extern "C" __global__ void look(int *v) { v[0] = counter; v[1] = seed; }

static int *d;
static float *x, *y;

static int take(int at = 0)
{
    int h = -1;
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(&h, d + at, sizeof h, cudaMemcpyDeviceToHost));
    return h;
}

static int prepare()
{
    float one = 1;
    NEED(cudaMalloc(&d, 64));
    NEED(cudaMalloc(&x, 4));
    NEED(cudaMalloc(&y, 4));
    CK(cudaMemcpy(x, &one, 4, cudaMemcpyHostToDevice));
    return 0;
}

static int added(float by)
{
    float out = -1;
    CK(cudaMemcpyToSymbol(scale, &by, sizeof by));
    add<<<1, 1>>>(x, x, y);
    LAUNCHED("add");
    CK(cudaMemcpy(&out, y, 4, cudaMemcpyDeviceToHost));
    return (int)out;
}

static int counted()
{
    int now = -1;
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpyFromSymbol(&now, counter, sizeof now));
    return now;
}

int main()
{
    prepare();
    printf("scale %d", added(4));
    printf(" %d\n", added(2));
    for (int i = 0; i < 2; i++)
        bump<<<1, 1>>>(1);
    printf("counter %d", counted());
    look<<<1, 1>>>(d);
    printf(" %d\n", take());
    set_shared(50);
    grow<<<1, 1>>>(1);
    CK(cudaDeviceSynchronize());
    printf("managed %d\n", get_shared());
    int squares[16];
    for (int i = 0; i < 16; i++)
        squares[i] = i * i;
    CK(cudaMemcpyToSymbol(table, squares, sizeof squares));
    sum<<<1, 1>>>(d, 3, 4);
    printf("table %d\n", take());
    Pair p = {3, 0.5f};
    CK(cudaMemcpyToSymbol(both, &p, sizeof p));
    pair<<<1, 1>>>(d);
    printf("struct %d\n", take());
    int held[8] = {0, 0, 77, 88};
    CK(cudaMemcpyToSymbol(cells, held, sizeof held));
    follow<<<1, 1>>>(d);
    printf("addresses %d", take());
    printf(" %d\n", take(1));
    int nine = 9;
    CK(cudaMemcpyToSymbol(inner, &nine, sizeof nine));
    hide<<<1, 1>>>(d);
    printf("static %d\n", take());
    seeded<<<1, 1>>>(d);
    printf("seed %d\n", take());

    cudaStream_t stream;
    cudaGraph_t graph, second;
    cudaGraphExec_t exec;
    NEED(cudaStreamCreate(&stream));
    NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    bump<<<1, 1, 0, stream>>>(1);
    NEED(cudaStreamEndCapture(stream, &graph));
    NEED(instantiate(&exec, graph));
    for (int i = 0; i < 2; i++)
        CK(cudaGraphLaunch(exec, stream));
    printf("captured %d\n", counted());
    cudaGraphNode_t node;
    cudaKernelNodeParams q = {};
    int by = 1;
    void *args[] = {&by};
    q.func = (void *)bump;
    q.gridDim = q.blockDim = dim3(1);
    q.kernelParams = args;
    NEED(cudaGraphCreate(&second, 0));
    NEED(cudaGraphAddKernelNode(&node, second, nullptr, 0, &q));
    NEED(instantiate(&exec, second));
    CK(cudaGraphLaunch(exec, stream));
    printf("node %d\n", counted());

    CK(cudaDeviceReset());
    // The first launch after the reset is captured.
    prepare();
    NEED(cudaStreamCreate(&stream));
    NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    bump<<<1, 1, 0, stream>>>(1);
    NEED(cudaStreamEndCapture(stream, &graph));
    NEED(instantiate(&exec, graph));
    CK(cudaGraphLaunch(exec, stream));
    printf("reset %d", counted());
    printf(" %d\n", added(3));
    return finish();
}
