// A kernel with as many bytes of arguments as every version allows: 4096.
#include "common.h"

struct Big {
    int values[1020];
};

__global__ void big(Big b, long long *out, int last, int more)
{
    long long sum = last + more;
    for (int v : b.values)
        sum += v;
    *out = sum;
}
static_assert(sizeof(Big) + 16 == 4096, "a structure, a pointer and two integers");

int main()
{
    Big b;
    for (int i = 0; i < 1020; i++)
        b.values[i] = i;
    long long *d = nullptr, h = 0;
    CK(cudaMalloc(&d, sizeof h));
    big<<<1, 1>>>(b, d, 77, 900000);
    LAUNCHED("big");
    CK(cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost));
    printf("sum %lld\n", h);
    return finish();
}
