// options: --lines 3 --for sm_80
// Kernels whose counts can be derived from the source.
__global__ void neighbours(float *to, const float *from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i] * 2.0f;
}

__global__ void strided(float *to, const float *from) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i * 8];
}

__global__ void columns(float *to) {
    __shared__ float tile[32][32];
    tile[threadIdx.x][threadIdx.y] = threadIdx.x;
    __syncthreads();
    to[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.y][threadIdx.x];
}

__global__ void padded(float *to) {
    __shared__ float tile[32][33];
    tile[threadIdx.x][threadIdx.y] = threadIdx.x;
    __syncthreads();
    to[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.y][threadIdx.x];
}

__global__ void one_counter(unsigned *count) {
    atomicAdd(count, threadIdx.x);
}

__global__ void halves(double *to) {
    if (threadIdx.x % 2)
        to[threadIdx.x] = fma(to[threadIdx.x], 3.0, 1.0);
}

int main() {
    float *a, *b;
    cudaMalloc(&a, 1 << 20);
    cudaMalloc(&b, 1 << 20);
    cudaMemset(a, 0, 1 << 20);
    cudaMemset(b, 0, 1 << 20);
    neighbours<<<4, 128>>>(a, b);
    strided<<<4, 128>>>(a, b);
    columns<<<1, dim3(32, 32)>>>(a);
    padded<<<1, dim3(32, 32)>>>(a);
    one_counter<<<2, 64>>>((unsigned *)a);
    halves<<<1, 64>>>((double *)a);
    cudaDeviceSynchronize();
    cudaFree(a);
    cudaFree(b);
}
