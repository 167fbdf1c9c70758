// printf in a kernel: every kind of conversion, widths and precisions, strings, its
// return value, a loop of one thread, and the order of kernels.
#include "../common.h"

__device__ const char *words[] = {"zero", "one", "two"};

__global__ void kinds()
{
    printf("plain\n");
    printf("%d %i %u %x %X %o %c %%\n", -5, 7, 4000000000u, 0xbeef, 0xBEEF, 8, 'q');
    printf("%lld %llu %llx %ld\n", -5000000000ll, 18000000000000000000ull, 0x123456789abcdefull, 123456789012l);
    printf("[%5d] [%-5d] [%05d] [%+d] [% d] [%#x]\n", 42, 42, 42, 42, 42, 42);
    printf("%f %.2f %10.3f|%-10.1f|%e %g %g\n", 1.5, 2.345, -3.14159, 9.99, 12345.678, 0.0001, 1e20);
    printf("%s %10s|%-6s|%.2s\n", words[1], "right", "left", "shortened");
    printf("%d %d %d %d %d %d %d %d %d %d %d %d\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    printf("%hd %c%c\n", (short)-300, 'o', 'k');
    float single = 0.1f;
    printf("%.9g %s\n", single, single < 0.5 ? words[0] : words[2]);
}

__global__ void returned(int *out)
{
    out[0] = printf("no argument\n");
    out[1] = printf("%d and %d\n", 1, 2);
}

__global__ void loop(int n)
{
    if (blockIdx.x == 1 && threadIdx.x == 3)
        for (int i = 0; i < n; i++)
            printf("turn %d of thread %d\n", i, threadIdx.x);
}

__global__ void say(const char *what, double x) { printf("%s %g\n", what, x); }

int main()
{
    int *d = nullptr, h[2] = {};
    NEED(cudaMalloc(&d, sizeof h));
    fflush(stdout);
    kinds<<<1, 1>>>();
    LAUNCHED("kinds");
    CK(cudaDeviceSynchronize());
    returned<<<1, 1>>>(d);
    LAUNCHED("returned");
    CK(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
    CK(cudaDeviceSynchronize());
    printf("returned %d %d\n", h[0], h[1]);
    fflush(stdout);
    loop<<<2, 32>>>(2);
    LAUNCHED("loop");
    CK(cudaDeviceSynchronize());
    char text[] = "from the host";
    char *d_text = nullptr;
    CK(cudaMalloc(&d_text, sizeof text));
    CK(cudaMemcpy(d_text, text, sizeof text, cudaMemcpyHostToDevice));
    for (int i = 0; i < 3; i++)
        say<<<1, 1>>>(d_text, i * 0.5);
    LAUNCHED("say");
    CK(cudaDeviceSynchronize());
    return finish();
}
