// Host functions in stream order, by both APIs, between kernels and
// copies; CUDA calls inside them fail.
#include <string>
#include "../common.h"

__global__ void add(int *v, int by) { *v += by; }

struct Step {
    const char *name;
    const int *seen;
    std::string *log;
};

static void CUDART_CB note(void *data)
{
    Step *s = (Step *)data;
    *s->log += std::string(s->name) + "=" + std::to_string(*s->seen) + " ";
}

static void CUDART_CB called_back(cudaStream_t, cudaError_t status, void *data)
{
    Step *s = (Step *)data;
    *s->log += std::string(s->name) + "(" + cudaGetErrorName(status) + ")=" + std::to_string(*s->seen) + " ";
}

static void CUDART_CB forbidden(void *data)
{
    void *p = nullptr;
    *(cudaError_t *)data = cudaMalloc(&p, 16);
}

int main()
{
    int *d = nullptr, *h = nullptr;
    std::string log;
    cudaStream_t s = nullptr;
    NEED(cudaMalloc(&d, sizeof *d));
    NEED(cudaMallocHost(&h, sizeof *h));
    CK(cudaMemset(d, 0, sizeof *d));
    CK(cudaStreamCreate(&s));
    *h = -1;
    Step steps[] = {{"first", h, &log}, {"second", h, &log}, {"third", h, &log}, {"fourth", h, &log}};
    CK(cudaLaunchHostFunc(s, note, &steps[0]));
    add<<<1, 1, 0, s>>>(d, 5);
    LAUNCHED("add");
    CK(cudaMemcpyAsync(h, d, sizeof *h, cudaMemcpyDeviceToHost, s));
    CK(cudaLaunchHostFunc(s, note, &steps[1]));
    add<<<1, 1, 0, s>>>(d, 10);
    CK(cudaMemcpyAsync(h, d, sizeof *h, cudaMemcpyDeviceToHost, s));
    CK(cudaStreamAddCallback(s, called_back, &steps[2], 0));
    CK(cudaLaunchHostFunc(s, note, &steps[3]));
    CK(cudaStreamSynchronize(s));
    printf("%s\n", log.c_str());

    cudaError_t inside = cudaSuccess;
    CK(cudaLaunchHostFunc(s, forbidden, &inside));
    CK(cudaStreamSynchronize(s));
    show("a call inside", inside);
    show("no function", cudaLaunchHostFunc(s, nullptr, nullptr));
    show("callback with flags", cudaStreamAddCallback(s, called_back, &steps[2], 1));
    show("no callback", cudaStreamAddCallback(s, nullptr, nullptr, 0));
    cudaGetLastError();
    log.clear();
    *h = 0;
    for (int i = 0; i < 100; i++)
        CK(cudaLaunchHostFunc(
            s, [](void *p) { ++*(int *)p; }, h));
    CK(cudaLaunchHostFunc(nullptr, note, &steps[0]));
    CK(cudaDeviceSynchronize());
    printf("%s\n", log.c_str());
    CK(cudaStreamDestroy(s));
    return finish();
}
