// A library with kernels and a variable, which several threads load and unload repeatedly:
//
//   nvcc -shared -Xcompiler -fPIC -DPLUGIN reload.cu -o libreload.so
//   reload ROUNDS LIBRARY…      a thread for each library
//   reload SECONDSs LIBRARY…    as often as that time allows; the file $RELOAD_COUNT holds the count, also while it runs
//
// If $RELOAD_HOLD names a library, that one stays loaded, and with it the GPU's context: without any context
// the driver creates a new one, which takes long and keeps memory.
#include <cstdio>
#include <cstdlib>

#ifdef PLUGIN
#include <cuda_runtime.h>

__device__ int counter;

__global__ void count(int *out, int by)
{
    out[0] = counter += by;
}

// The variable's value after ten launches: 10 * by in a library that was just loaded; -1 on errors.
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
#include <atomic>
#include <chrono>
#include <dlfcn.h>
#include <string>
#include <thread>
#include <vector>

static std::atomic<long> loads;
static std::atomic<bool> over;

static void again(const char *library, int rounds, int thread, int *wrong)
{
    for (int round = 0; (rounds < 0 || round < rounds) && !over; round++) {
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
        loads++;
    }
}

// The file is replaced atomically: a reader finds a whole number.
static void tell_loads(const char *file)
{
    const std::string beside = std::string(file) + ".new";
    if (FILE *out = fopen(beside.c_str(), "w")) {
        fprintf(out, "%ld\n", loads.load());
        if (!fclose(out))
            rename(beside.c_str(), file);
    }
}

int main(int argc, char **argv)
{
    const std::string much = argc > 1 ? argv[1] : "10";
    const bool timed = much.back() == 's';
    const int rounds = timed ? -1 : atoi(much.c_str());
    std::vector<int> wrong(argc, 0);
    std::vector<std::thread> threads;
    if (const char *held = getenv("RELOAD_HOLD")) {
        void *handle = dlopen(held, RTLD_NOW | RTLD_LOCAL);
        auto run = handle ? (int (*)(int))dlsym(handle, "run") : nullptr;
        if (!run || run(1) != 10) {
            fprintf(stderr, "reload: %s: %s\n", held, run ? "it does not run" : dlerror());
            return 2;
        }
    }
    for (int i = 2; i < argc; i++)
        threads.emplace_back(again, argv[i], rounds, i, &wrong[i]);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(atoi(much.c_str()));
    const char *file = getenv("RELOAD_COUNT");
    while (timed && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        if (file)
            tell_loads(file);
    }
    over = timed;
    for (auto &thread : threads)
        thread.join();
    int all = 0;
    for (int one : wrong)
        all += one;
    if (timed)
        printf("%d libraries, %d wrong\n", argc - 2, all);
    else
        printf("%d libraries, %d rounds, %d wrong\n", argc - 2, rounds, all);
    return all != 0;
}
#endif
