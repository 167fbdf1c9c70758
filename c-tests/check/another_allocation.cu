// Accesses that land in another live allocation; some of them are valid.
#include <cstddef>
#include <cstdio>

struct Both {
    float *first, *second;
};

__global__ void far(float *a, int distance) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i + distance] = a[i] + 1;
}

__global__ void scattered(const float *a, const int *index, float *out) {
    int i = threadIdx.x;
    out[i] = a[index[i]];
}

__global__ void rows_of(const float *rows, float *out, int pitch) {
    const float *row = rows;
    float sum = 0;
    for (int n = 0; n < 2; n++, row += pitch) sum += row[threadIdx.x];
    out[threadIdx.x] = sum;
}

// Addresses in either allocation, and differences of the two.
__global__ void either(float *a, float *b, ptrdiff_t between, Both both, float **table) {
    int i = threadIdx.x;
    float *chosen = i % 2 ? a : b;
    chosen[i] += 1;
    a[i + (b - a)] += 1;
    a[i + between] += 1;
    (i % 3 ? both.first : both.second)[i] += 1;
    table[i % 2][i] += 1;
}

int main() {
    float *a, *b, **table;
    int *index, indices[32];
    cudaMalloc(&a, 4096);
    cudaMalloc(&b, 4096);
    cudaMalloc(&index, sizeof indices);
    cudaMalloc(&table, 2 * sizeof(float *));
    cudaMemset(a, 0, 4096);
    cudaMemset(b, 0, 4096);
    float *pair[2] = {a, b};
    cudaMemcpy(table, pair, sizeof pair, cudaMemcpyHostToDevice);
    either<<<1, 32>>>(a, b, b - a, Both{a, b}, table);
    int distance = (int)(b - a);
    far<<<2, 64>>>(a, distance);
    for (int n = 0; n < 32; n++) indices[n] = n == 17 ? distance + n : n;
    cudaMemcpy(index, indices, sizeof indices, cudaMemcpyHostToDevice);
    scattered<<<1, 32>>>(a, index, b);
    rows_of<<<1, 32>>>(a, b, distance);
    float sum[2];
    cudaMemcpy(&sum[0], b, sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(&sum[1], b + 17, sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g %g %s\n", sum[0], sum[1], cudaGetErrorName(cudaDeviceSynchronize()));
    cudaFree(a);
    cudaFree(b);
    cudaFree(index);
    cudaFree(table);
}
