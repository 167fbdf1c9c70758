// A sum and a maximum in three ways: a tree in shared memory, shuffles, atomics.
#include "../common.h"

__global__ void tree(const int *in, int *out, int n)
{
    __shared__ int part[256];
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    part[threadIdx.x] = sum;
    for (int half = blockDim.x / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0];
}

__inline__ __device__ int warp_max(int v)
{
    for (int delta = 16; delta; delta /= 2)
        v = max(v, __shfl_down_sync(0xffffffffu, v, delta));
    return v;
}

__global__ void largest(const int *in, int *out, int n)
{
    __shared__ int of_warp[32];
    int v = INT_MIN;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v = max(v, in[i]);
    v = warp_max(v);
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : INT_MIN;
        v = warp_max(v);
        if (threadIdx.x == 0)
            atomicMax(out, v);
    }
}

__global__ void atomically(const int *in, unsigned long long *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(out, (unsigned long long)in[i]);
}

int main()
{
    const int n = 100000, blocks = 16;
    int *h = new int[n], *in = nullptr, *out = nullptr, part[blocks], most = INT_MIN, expected_most = INT_MIN;
    long long expected = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        h[i] = (int)((i * 2654435761u) >> 16) % 20000;
        expected += h[i];
        expected_most = h[i] > expected_most ? h[i] : expected_most;
    }
    NEED(cudaMalloc(&in, n * sizeof(int)));
    NEED(cudaMalloc(&out, blocks * sizeof(int)));
    CK(cudaMemcpy(in, h, n * sizeof(int), cudaMemcpyHostToDevice));
    tree<<<blocks, 256>>>(in, out, n);
    LAUNCHED("tree");
    CK(cudaMemcpy(part, out, sizeof part, cudaMemcpyDeviceToHost));
    for (int p : part)
        sum += p;
    expect(sum == expected, "tree");

    CK(cudaMemcpy(out, &most, sizeof most, cudaMemcpyHostToDevice));
    largest<<<8, 128>>>(in, out, n);
    LAUNCHED("largest");
    CK(cudaMemcpy(&most, out, sizeof most, cudaMemcpyDeviceToHost));
    expect(most == expected_most, "largest");

    CK(cudaMemset(out, 0, 8));
    atomically<<<(n + 255) / 256, 256>>>(in, (unsigned long long *)out, n);
    LAUNCHED("atomically");
    CK(cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost));
    expect(sum == expected, "atomically");
    printf("sum %lld, largest %d\n", sum, most);
    delete[] h;
    return finish();
}
