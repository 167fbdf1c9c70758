// Grids and blocks of three dimensions: every index once, rows of a volume, odd sizes,
// a kernel that knows its size only from its launch.
#include <vector>
#include "arrays.h"

__global__ void place(int *out, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < nx && y < ny && z < nz)
        atomicAdd(&out[(z * ny + y) * nx + x], x + 100 * y + 10000 * z);
}

__global__ void shape(int *out)
{
    int block = (int)((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
    int thread = (int)((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x);
    int i = block * (int)(blockDim.x * blockDim.y * blockDim.z) + thread;
    out[i] = block * 1000 + thread + 1000000 * (thread % warpSize == 0);
}

// Sums along z, for each column.
__global__ void project(const int *in, long long *out, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= nx)
        return;
    long long sum = 0;
    for (int z = 0; z < nz; z++)
        sum += in[(z * ny + y) * nx + x];
    out[y * nx + x] = sum;
}

int main()
{
    const int nx = 19, ny = 13, nz = 11;
    std::vector<int> out(nx * ny * nz), shapes(2 * 3 * 4 * 5 * 3 * 7);
    int *d_out = zeros<int>(out.size()), *d_shapes = zeros<int>(shapes.size());
    NEED(cudaGetLastError());
    place<<<dim3(3, 4, 3), dim3(8, 4, 4)>>>(d_out, nx, ny, nz);
    LAUNCHED("place");
    download(out.data(), d_out, out.size());
    bool right = true;
    for (int i = 0; i < nx * ny * nz; i++)
        right = right && out[i] == i % nx + 100 * (i / nx % ny) + 10000 * (i / nx / ny);
    expect(right, "every place once");
    shape<<<dim3(2, 3, 4), dim3(5, 3, 7)>>>(d_shapes);
    LAUNCHED("shape");
    download(shapes.data(), d_shapes, shapes.size());
    right = true;
    for (int i = 0; i < (int)shapes.size(); i++)
        right = right && shapes[i] == i / 105 * 1000 + i % 105 + 1000000 * (i % 105 % 32 == 0);
    expect(right, "every thread once");
    long long *d_sums = zeros<long long>(nx * ny);
    std::vector<long long> sums(nx * ny);
    project<<<dim3(1, ny), 32>>>(d_out, d_sums, nx, ny, nz);
    LAUNCHED("project");
    download(sums.data(), d_sums, sums.size());
    right = true;
    for (int i = 0; i < nx * ny; i++)
        right = right && sums[i] == 11ll * (i % nx + 100 * (i / nx)) + 550000;
    expect(right, "sums");
    printf("%d %lld\n", out[nx * ny * nz - 1], sums[nx * ny - 1]);
    return finish();
}
