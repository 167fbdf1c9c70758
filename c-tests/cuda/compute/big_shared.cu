// More than 48 KiB of shared memory, which a kernel must request: a histogram with
// 14,000 bins for a block, and a launch without the request.
#include <vector>
#include "arrays.h"

__global__ void histogram(const unsigned *v, int n, unsigned *out, int bins)
{
    extern __shared__ unsigned count[];
    for (int i = threadIdx.x; i < bins; i += blockDim.x)
        count[i] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(&count[v[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += blockDim.x)
        out[i] = count[i];
}

// Static and dynamic shared memory together.
__global__ void both(int *out)
{
    __shared__ int fixed[1024];
    extern __shared__ int rest[];
    for (int i = threadIdx.x; i < 10000; i += blockDim.x)
        rest[i] = i;
    for (int i = threadIdx.x; i < 1024; i += blockDim.x)
        fixed[i] = -i;
    __syncthreads();
    int sum = 0;
    for (int i = threadIdx.x; i < 10000; i += blockDim.x)
        sum += rest[9999 - i] + fixed[i % 1024];
    atomicAdd(out, sum);
}

int main()
{
    const int n = 20000, bins = 14000;
    const size_t bytes = bins * sizeof(unsigned);
    std::vector<unsigned> v(n), out(bins), expected(bins, 0);
    Numbers numbers(14);
    for (unsigned &x : v) {
        x = numbers.below(bins);
        expected[x]++;
    }
    unsigned *d_v = upload(v.data(), n), *d_out = zeros<unsigned>(bins);
    NEED(cudaGetLastError());
    histogram<<<1, 256, bytes>>>(d_v, n, d_out, bins);
    show("not asked for", cudaGetLastError());
    CK(cudaFuncSetAttribute(histogram, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    histogram<<<1, 256, bytes>>>(d_v, n, d_out, bins);
    LAUNCHED("histogram");
    download(out.data(), d_out, bins);
    expect(out == expected, "histogram");
    int *d_sum = zeros<int>(1), sum = 0, want = 0;
    CK(cudaFuncSetAttribute(both, cudaFuncAttributeMaxDynamicSharedMemorySize, 50000));
    both<<<1, 256, 50000>>>(d_sum);
    LAUNCHED("both");
    download(&sum, d_sum, 1);
    for (int i = 0; i < 10000; i++)
        want += 9999 - i - i % 1024;
    expect(sum == want, "static and dynamic");
    printf("%d\n", sum);
    return finish();
}
