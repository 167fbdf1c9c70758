// A loop over all devices, one or many: each with its own memory, stream and kernel,
// all work concurrently; peer copies bring the partial results to the first device.
#include <vector>
#include "../common.h"

__global__ void sum(const int *v, int n, unsigned long long *out)
{
    unsigned long long mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine += (unsigned long long)v[i];
    atomicAdd(out, mine);
}

int main()
{
    int devices = 0;
    NEED(cudaGetDeviceCount(&devices));
    const int n = 100000;
    std::vector<int> v(n);
    unsigned long long expected = 0, total = 0;
    for (int i = 0; i < n; i++) {
        v[i] = i % 1000;
        expected += (unsigned long long)v[i];
    }
    struct Part {
        int *in;
        unsigned long long *out;
        cudaStream_t stream;
    };
    std::vector<Part> parts(devices);
    for (int d = 0; d < devices; d++) {
        Part &p = parts[d];
        int from = (int)((long long)n * d / devices), to = (int)((long long)n * (d + 1) / devices);
        NEED(cudaSetDevice(d));
        NEED(cudaStreamCreate(&p.stream));
        NEED(cudaMalloc(&p.in, (to - from + 1) * sizeof(int)));
        NEED(cudaMalloc(&p.out, sizeof *p.out));
        CK(cudaMemsetAsync(p.out, 0, sizeof *p.out, p.stream));
        CK(cudaMemcpyAsync(p.in, v.data() + from, (to - from) * sizeof(int), cudaMemcpyHostToDevice, p.stream));
        sum<<<4, 64, 0, p.stream>>>(p.in, to - from, p.out);
        LAUNCHED("sum");
    }
    unsigned long long *on_first = nullptr, host = 0;
    NEED(cudaSetDevice(0));
    NEED(cudaMalloc(&on_first, sizeof *on_first));
    bool own = true;
    for (int d = 0; d < devices; d++) {
        CK(cudaSetDevice(d));
        CK(cudaStreamSynchronize(parts[d].stream));
        cudaPointerAttributes attributes = {};
        CK(cudaPointerGetAttributes(&attributes, parts[d].out));
        own = own && attributes.device == d && attributes.type == cudaMemoryTypeDevice;
        CK(cudaMemcpyPeer(on_first, 0, parts[d].out, d, sizeof host));
        CK(cudaMemcpy(&host, on_first, sizeof host, cudaMemcpyDeviceToHost));
        total += host;
    }
    expect(own, "each where it was made");
    expect(total == expected, "sum");
    int now = -1;
    CK(cudaGetDevice(&now));
    expect(now == devices - 1, "the device of the thread");
    for (int d = 0; d < devices; d++) {
        CK(cudaSetDevice(d));
        CK(cudaFree(parts[d].in));
        CK(cudaFree(parts[d].out));
        CK(cudaStreamDestroy(parts[d].stream));
    }
    show("one too many", cudaSetDevice(devices));
    printf("%llu\n", total);
    return finish();
}
