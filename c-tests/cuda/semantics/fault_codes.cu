// Kernels that fail: each way has its error, which every later call of the process returns; other processes
// are not affected. The thread, the place in this file and the address go to stderr, which is not checked here.
//
//   fault_codes         runs itself for each way
//   fault_codes WAY     runs one of them
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
#include "../common.h"

__device__ __noinline__ int far_away(const int *p, long long n) { return p[n]; }
__device__ __forceinline__ void put(int *p, long long n, int v) { p[n] = v; }

template <typename T> __global__ void gather(T *p, long long n)
{
    if (threadIdx.x == 5) p[0] = p[n];
}
__global__ void scatter(int *p, long long n)
{
    if (threadIdx.x >= 40) p[n + threadIdx.x * 7 % 64] = 1;
}
__global__ void inlined(int *p, long long n)
{
    if (threadIdx.y == 3) put(p, n, threadIdx.x);
}
__global__ void calls(int *p, long long n)
{
    if (blockIdx.x == 1 && threadIdx.x == 33) p[0] = far_away(p, n);
}
__global__ void adds(int *p, long long n)
{
    if (threadIdx.x & 1) atomicAdd(p + n, 1);
}
__global__ void odd(int *p, long long)
{
    if (threadIdx.x == 6) *(int *)((char *)p + 2) = 1;
}
__global__ void ends(int *p, long long)
{
    if (threadIdx.x == 7) asm volatile("trap;");
    p[threadIdx.x] = 1;
}

int main(int argc, char **argv)
{
    const char *ways[] = {"gather", "gather_wide", "scatter", "inlined", "calls", "adds", "odd", "ends"};
    if (argc < 2) {
        for (const char *way : ways) {
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                execl("/proc/self/exe", argv[0], way, (char *)nullptr);
                _exit(99);
            }
            int status = 0;
            waitpid(child, &status, 0);
            printf("%s ended with %d\n", way, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
            cuda_errors += WIFEXITED(status) && WEXITSTATUS(status) == 3;
        }
        return finish();
    }
    const char *way = argv[1];
    int *p = nullptr;
    NEED(cudaMalloc(&p, 4096));
    CK(cudaMemset(p, 0, 4096));
    const long long far = 1ll << 36; // beyond all memory
    if (!strcmp(way, "gather")) gather<<<1, 64>>>(p, far);
    else if (!strcmp(way, "gather_wide")) gather<<<2, 64>>>((double2 *)p, far);
    else if (!strcmp(way, "scatter")) scatter<<<1, 64>>>(p, far);
    else if (!strcmp(way, "inlined")) inlined<<<1, dim3(8, 4, 2)>>>(p, far);
    else if (!strcmp(way, "calls")) calls<<<2, 64>>>(p, far);
    else if (!strcmp(way, "adds")) adds<<<1, 64>>>(p, far);
    else if (!strcmp(way, "odd")) odd<<<1, 64>>>(p, far);
    else ends<<<1, 64>>>(p, far);
    show("launch", cudaGetLastError());
    show("wait", cudaDeviceSynchronize());
    show("again", cudaDeviceSynchronize());
    int value = 0;
    show("copy", cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
    show("free", cudaFree(p));
    fflush(stdout);
    _exit(0);
}
