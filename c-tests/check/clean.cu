// Valid code that looks like a mistake: the last bytes of allocations, memory that is freed and allocated again, reads of
// data that a copy, a memset, another kernel or an atomic wrote, inactive lanes, an error that the program checks for.
#include <cstdio>

__device__ int variable[3];
__constant__ float factor = 2;

__global__ void last(char *at, int n) { at[n - 1 - threadIdx.x] = threadIdx.x; }

__global__ void scale(float *at, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        at[i] *= factor;
}

__global__ void reduce(const float *from, float *to, int n) {
    __shared__ float room[128];
    float own = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        own += from[i];
    room[threadIdx.x] = own;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            room[threadIdx.x] += room[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        *to = room[0];
        atomicAdd(&variable[2], 1);
    }
}

__global__ void local(int *to, int n) {
    int own[16];
    for (int i = 0; i < 16; i++)
        own[(i * n) % 16] = i;
    to[threadIdx.x] = own[threadIdx.x % 16];
}

int main() {
    for (int n = 1; n < 70; n++) {
        char *at;
        cudaMalloc(&at, n);
        last<<<1, n < 32 ? n : 32>>>(at, n);
        cudaDeviceSynchronize();
        cudaFree(at);
    }
    const int n = 1001;
    static float host[n];
    for (int i = 0; i < n; i++)
        host[i] = i % 7;
    float *a, *b, *sum, got;
    int *whole;
    cudaMalloc(&a, sizeof host);
    cudaMalloc(&b, sizeof host);
    cudaMalloc(&sum, sizeof *sum);
    cudaMallocManaged(&whole, 100 * sizeof *whole);
    whole[99] = 1;
    cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemcpy(b, a, sizeof host, cudaMemcpyDeviceToDevice);
    scale<<<(n + 127) / 128, 128>>>(b, n);
    reduce<<<1, 128>>>(b, sum, n);
    local<<<1, 100>>>(whole, 5);
    cudaDeviceSynchronize();
    cudaMemcpy(&got, sum, sizeof got, cudaMemcpyDeviceToHost);
    scale<<<1, 2000>>>(a, n);
    printf("%g %d %s\n", got, whole[3], cudaGetErrorName(cudaGetLastError()));
    cudaFree(a);
    cudaFree(b);
    cudaFree(sum);
    cudaFree(whole);
}
