// Errors of a running kernel: the next wait returns them, they stay for the life of
// the process, and no call clears them. Each runs in a child process.
#include <cassert>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>
#include "../common.h"

__global__ void store_at(char *where, long long offset) { *(volatile int *)(where + offset) = 1; }
__global__ void fail_assert(int n) { assert(n != 7); }
__global__ void stop() { asm volatile("trap;"); }
__global__ void fine(int *v) { *v = 1; }

static int *d;

static int in_child(const char *name, const std::function<void()> &fail)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        // Another test checks the device's message for a failed assertion.
        if (!freopen("/dev/null", "w", stderr))
            exit(1);
        if (!CK(cudaMalloc(&d, 256)))
            exit(3);
        fail();
        printf("%s: launch %s,", name, cudaGetErrorName(cudaGetLastError()));
        printf(" wait %s,", cudaGetErrorName(cudaDeviceSynchronize()));
        void *more = nullptr;
        printf(" malloc %s,", cudaGetErrorName(cudaMalloc(&more, 16)));
        printf(" last %s", cudaGetErrorName(cudaGetLastError()));
        printf(" %s,", cudaGetErrorName(cudaGetLastError()));
        fine<<<1, 1>>>(d);
        printf(" launch %s,", cudaGetErrorName(cudaGetLastError()));
        printf(" free %s\n", cudaGetErrorName(cudaFree(d)));
        fflush(stdout);
        _exit(finish());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main()
{
    int worst = 0;
    auto run = [&](const char *name, const std::function<void()> &fail) {
        int status = in_child(name, fail);
        if (status > worst)
            worst = status;
    };
    run("null pointer", [] { store_at<<<1, 1>>>(nullptr, 0); });
    run("far away", [] { store_at<<<1, 1>>>((char *)d, 1ll << 45); });
    run("misaligned", [] { store_at<<<1, 1>>>((char *)d, 2); });
    run("assertion", [] { fail_assert<<<1, 1>>>(7); });
    run("trap", [] { stop<<<1, 1>>>(); });
    return worst;
}
