// A matrix product in tiles of shared memory, with sizes that are no multiple of a tile;
// integers in floats, so that the sums are exact.
#include "../common.h"

template <int TILE> __global__ void multiply(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float ta[TILE][TILE], tb[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < k; t += TILE) {
        ta[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : 0;
        tb[threadIdx.y][threadIdx.x] = t + threadIdx.y < k && column < n ? b[(t + threadIdx.y) * n + column] : 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++)
            sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}

template <int TILE> static bool run(int m, int n, int k)
{
    float *a = new float[m * k], *b = new float[k * n], *c = new float[m * n];
    for (int i = 0; i < m * k; i++)
        a[i] = i % 13 - 6;
    for (int i = 0; i < k * n; i++)
        b[i] = i % 7 - 3;
    float *da = nullptr, *db = nullptr, *dc = nullptr;
    bool right = CK(cudaMalloc(&da, m * k * sizeof(float))) && CK(cudaMalloc(&db, k * n * sizeof(float))) &&
                 CK(cudaMalloc(&dc, m * n * sizeof(float)));
    if (right) {
        CK(cudaMemcpy(da, a, m * k * sizeof(float), cudaMemcpyHostToDevice));
        CK(cudaMemcpy(db, b, k * n * sizeof(float), cudaMemcpyHostToDevice));
        multiply<TILE><<<dim3((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), dim3(TILE, TILE)>>>(da, db, dc, m, n, k);
        LAUNCHED("multiply");
        CK(cudaMemcpy(c, dc, m * n * sizeof(float), cudaMemcpyDeviceToHost));
        for (int y = 0; y < m; y++)
            for (int x = 0; x < n; x++) {
                int sum = 0;
                for (int i = 0; i < k; i++)
                    sum += (int)a[y * k + i] * (int)b[i * n + x];
                right = right && c[y * n + x] == sum;
            }
    }
    CK(cudaFree(da));
    CK(cudaFree(db));
    CK(cudaFree(dc));
    delete[] a;
    delete[] b;
    delete[] c;
    return right;
}

int main()
{
    NEED(cudaFree(nullptr));
    expect(run<16>(64, 64, 64), "64 by 64 by 64");
    expect(run<16>(50, 33, 70), "50 by 33 by 70");
    expect(run<8>(17, 1, 5), "17 by 1 by 5");
    expect(run<32>(40, 64, 96), "40 by 64 by 96");
    return finish();
}
