// A library with kernels and a variable, loaded and unloaded again and again by several threads:
//
//   nvcc -shared -Xcompiler -fPIC -DPLUGIN reload.cu -o libreload.so
//   reload ROUNDS LIBRARY…      a thread for each library
#include <cstdio>
#include <cstdlib>

#ifdef PLUGIN
#include <cuda_runtime.h>

__device__ int counter;

__global__ void count(int *out, int by)
{
    out[0] = counter += by;
}

// What the variable is after ten launches: 10 * by in a library that was just loaded; -1 on errors.
extern "C" int run(int by)
{
    int *out, got = -1;
    cudaStream_t stream;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) || cudaMallocAsync((void **)&out, 4, stream))
        return -1;
    for (int i = 0; i < 10; i++)
        count<<<1, 1, 0, stream>>>(out, by);
    cudaMemcpyAsync(&got, out, 4, cudaMemcpyDeviceToHost, stream);
    cudaFreeAsync(out, stream);
    if (cudaStreamSynchronize(stream) || cudaStreamDestroy(stream))
        return -1;
    return got;
}
#else
#include <dlfcn.h>
#include <thread>
#include <vector>

static void again(const char *library, int rounds, int thread, int *wrong)
{
    for (int round = 0; round < rounds; round++) {
        void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        auto run = handle ? (int (*)(int))dlsym(handle, "run") : nullptr;
        if (!run) {
            fprintf(stderr, "reload: %s\n", dlerror());
            exit(2);
        }
        const int by = round % 7 + thread + 1, got = run(by);
        if (got != 10 * by && !(*wrong)++)
            fprintf(stderr, "reload: round %d of %s: %d, expected %d\n", round, library, got, 10 * by);
        dlclose(handle);
    }
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 10;
    std::vector<int> wrong(argc, 0);
    std::vector<std::thread> threads;
    for (int i = 2; i < argc; i++)
        threads.emplace_back(again, argv[i], rounds, i, &wrong[i]);
    for (auto &thread : threads)
        thread.join();
    int all = 0;
    for (int one : wrong)
        all += one;
    printf("%d libraries, %d rounds, %d wrong\n", argc - 2, rounds, all);
    return all != 0;
}
#endif
