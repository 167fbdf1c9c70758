// Transposition: plain, through padded shared memory, in place, and of other types.
#include "../common.h"

__global__ void plain(const int *in, int *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h)
        out[x * h + y] = in[y * w + x];
}

template <typename T> __global__ void tiled(const T *in, T *out, int w, int h)
{
    __shared__ T tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += blockDim.y) {
        int y = blockIdx.y * 32 + j;
        if (x < w && y < h)
            tile[j][threadIdx.x] = in[y * w + x];
    }
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += blockDim.y) {
        int y = blockIdx.x * 32 + j;
        if (x < h && y < w)
            out[y * h + x] = tile[threadIdx.x][j];
    }
}

__global__ void in_place(int *v, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < x) {
        int old = v[y * n + x];
        v[y * n + x] = v[x * n + y];
        v[x * n + y] = old;
    }
}

template <typename T> static bool is_transposed(const T *v, int w, int h)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            if (v[x * h + y] != T(y * w + x))
                return false;
    return true;
}

int main()
{
    const int w = 100, h = 70;
    static int a[w * h], b[w * h];
    static double da[w * h], db[w * h];
    for (int i = 0; i < w * h; i++)
        da[i] = a[i] = i;
    void *in = nullptr, *out = nullptr;
    NEED(cudaMalloc(&in, sizeof da));
    NEED(cudaMalloc(&out, sizeof da));
    CK(cudaMemcpy(in, a, sizeof a, cudaMemcpyHostToDevice));
    plain<<<dim3(7, 5), dim3(16, 16)>>>((int *)in, (int *)out, w, h);
    LAUNCHED("plain");
    CK(cudaMemcpy(b, out, sizeof b, cudaMemcpyDeviceToHost));
    expect(is_transposed(b, w, h), "plain");
    CK(cudaMemset(out, 0xff, sizeof b));
    tiled<int><<<dim3(4, 3), dim3(32, 8)>>>((int *)in, (int *)out, w, h);
    LAUNCHED("tiled");
    CK(cudaMemcpy(b, out, sizeof b, cudaMemcpyDeviceToHost));
    expect(is_transposed(b, w, h), "tiled");
    CK(cudaMemcpy(in, da, sizeof da, cudaMemcpyHostToDevice));
    tiled<double><<<dim3(4, 3), dim3(32, 4)>>>((double *)in, (double *)out, w, h);
    LAUNCHED("doubles");
    CK(cudaMemcpy(db, out, sizeof db, cudaMemcpyDeviceToHost));
    expect(is_transposed(db, w, h), "doubles");
    CK(cudaMemcpy(in, a, 60 * 60 * sizeof(int), cudaMemcpyHostToDevice));
    in_place<<<dim3(4, 4), dim3(16, 16)>>>((int *)in, 60);
    LAUNCHED("in place");
    CK(cudaMemcpy(b, in, 60 * 60 * sizeof(int), cudaMemcpyDeviceToHost));
    expect(is_transposed(b, 60, 60), "in place");
    return finish();
}
