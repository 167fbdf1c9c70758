// Eight threads of a warp add to each element of a vector without any order.
#include <cstdio>

__global__ void multiply(const float *matrix, const float *from, float *to, int n) {
    int row = threadIdx.x / 8;
    for (int column = threadIdx.x % 8; column < n; column += 8)
        to[row] += matrix[row * n + column] * from[column];
}

int main() {
    const int n = 16;
    float *matrix, *from, *to;
    cudaMalloc(&matrix, n * n * sizeof(float));
    cudaMalloc(&from, n * sizeof(float));
    cudaMalloc(&to, n * sizeof(float));
    cudaMemset(matrix, 0x3f, n * n * sizeof(float));
    cudaMemset(from, 0x3f, n * sizeof(float));
    cudaMemset(to, 0, n * sizeof(float));
    multiply<<<1, 8 * n>>>(matrix, from, to, n);
    cudaDeviceSynchronize();
    cudaFree(matrix);
    cudaFree(from);
    cudaFree(to);
}
