// Launches KERNELS kernels, waits for them, sleeps a second and kills itself by SIGKILL: a
// recorder with --gpu-time then has only what it got while the program ran.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

__global__ void turn(float *of, int times)
{
    for (int i = 0; i < times; i++) of[threadIdx.x] = of[threadIdx.x] * 1.5f + 1;
}

int main(int argc, char **argv)
{
    int kernels = argc > 1 ? atoi(argv[1]) : 300;
    float *of;
    if (cudaMalloc(&of, 128 * sizeof *of)) return 1;
    for (int i = 0; i < kernels; i++) turn<<<1, 128>>>(of, 1000);
    if (cudaDeviceSynchronize()) return 1;
    printf("launched %d\n", kernels);
    fflush(stdout);
    sleep(1);
    raise(SIGKILL);
}
