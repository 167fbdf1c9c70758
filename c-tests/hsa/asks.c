/* A CUDA program's requests, by runtime and driver, one after another: memory of each kind, copies, memsets, a module, launches,
   events, streams. It prints the first call that does not return 0, with its number, and then only frees its resources;
   `wrong` if all calls returned 0 but the numbers are not right. `asks FILE`: PTX or a bundle with a kernel `add(int *, int)`. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int failed;
/* Makes a call, unless one has failed already. */
#define ASK(call) do { int status = failed ? 0 : (call); if (status) printf("%s = %d\n", #call, status), failed = status; } while (0)

int main(int argc, char **argv) {
    void *runtime = dlopen("libcudart.so.12", RTLD_NOW), *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (argc < 2 || !runtime || !driver) return 2;
#define OF(library, type, name) __typeof__(type) *name = (__typeof__(type) *)dlsym(library, #name)
    OF(driver, int(unsigned), cuInit);
    OF(driver, int(void **, const char *), cuModuleLoad);
    OF(driver, int(void **, void *, const char *), cuModuleGetFunction);
    OF(driver, int(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **), cuLaunchKernel);
    OF(runtime, int(int), cudaSetDevice);
    OF(runtime, int(void **, size_t), cudaMalloc);
    OF(runtime, int(void **, size_t), cudaMallocHost);
    OF(runtime, int(void *), cudaFree);
    OF(runtime, int(void *), cudaFreeHost);
    OF(runtime, int(void *, size_t, unsigned), cudaHostRegister);
    OF(runtime, int(void *), cudaHostUnregister);
    OF(runtime, int(void *, const void *, size_t, int), cudaMemcpy);
    OF(runtime, int(void *, const void *, size_t, int, void *), cudaMemcpyAsync);
    OF(runtime, int(void *, int, size_t, void *), cudaMemsetAsync);
    OF(runtime, int(void **), cudaStreamCreate);
    OF(runtime, int(void *), cudaStreamDestroy);
    OF(runtime, int(void *), cudaStreamSynchronize);
    OF(runtime, int(void *, void *, unsigned), cudaStreamWaitEvent);
    OF(runtime, int(void **), cudaEventCreate);
    OF(runtime, int(void *, void *), cudaEventRecord);
    OF(runtime, int(float *, void *, void *), cudaEventElapsedTime);
    OF(runtime, int(void), cudaDeviceSynchronize);
    enum { N = 1024 };
    static int own[N];
    int *device = NULL, *host = NULL, more = 5;
    float time = -1;
    void *module = NULL, *function = NULL, *one = NULL, *two = NULL, *begun = NULL, *ended = NULL;
    void *args[] = {&device, &more};
    ASK(cuInit(0));
    ASK(cudaSetDevice(0));
    ASK(cudaMalloc((void **)&device, sizeof own));
    ASK(cudaMallocHost((void **)&host, sizeof own));
    ASK(cudaHostRegister(own, sizeof own, 0));
    int registered = !failed;
    ASK(cudaStreamCreate(&one));
    ASK(cudaStreamCreate(&two));
    ASK(cudaEventCreate(&begun));
    ASK(cudaEventCreate(&ended));
    ASK(cuModuleLoad(&module, argv[1]));
    ASK(cuModuleGetFunction(&function, module, "add"));
    ASK(cudaMemsetAsync(device, 0, sizeof own, one));
    ASK(cudaEventRecord(begun, one));
    ASK(cuLaunchKernel(function, N / 64, 1, 1, 64, 1, 1, 0, one, args, NULL));
    ASK(cudaEventRecord(ended, one));
    ASK(cudaStreamWaitEvent(two, ended, 0));
    ASK(cuLaunchKernel(function, N / 64, 1, 1, 64, 1, 1, 0, two, args, NULL));
    ASK(cudaMemcpyAsync(host, device, sizeof own, 2, two));
    ASK(cudaStreamSynchronize(two));
    ASK(cudaMemcpy(own, device, sizeof own, 2));
    ASK(cudaEventElapsedTime(&time, begun, ended));
    ASK(cudaDeviceSynchronize());
    for (int i = 0; !failed && i < N; i++)
        if (host[i] != 2 * (i + 5) || own[i] != host[i]) return printf("wrong at %d: %d, %d\n", i, host[i], own[i]), 1;
    /* The calls that free resources may fail, too: only their return counts. */
    if (registered) cudaHostUnregister(own);
    cudaFreeHost(host);
    cudaFree(device);
    if (one) cudaStreamDestroy(one);
    if (two) cudaStreamDestroy(two);
    printf("done\n");
    return 0;
}
