// Occupancy: relations that hold on every device, and invalid arguments.
#include "../common.h"

__global__ void light(int *v) { v[threadIdx.x + blockIdx.x * blockDim.x] = 1; }
__global__ void heavy(int *v)
{
    __shared__ int tile[10000];
    for (int i = threadIdx.x; i < 10000; i += blockDim.x)
        tile[i] = i;
    __syncthreads();
    v[threadIdx.x] = tile[threadIdx.x * 3];
}

int main()
{
    int blocks = 0, fewer = 0, per_multiprocessor = 0;
    NEED(cudaDeviceGetAttribute(&per_multiprocessor, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
    NEED(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, light, 256, 0));
    expect(blocks * 256 == per_multiprocessor, "256 threads fill a multiprocessor");
    CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, light, 1024, 0));
    expect(blocks == per_multiprocessor / 1024, "1024 threads");
    CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, light, 32, 0));
    CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, light, 32, 20000));
    expect(blocks >= 16 && blocks <= 32 && fewer >= 1 && fewer < blocks, "shared memory costs blocks");
    int shared = 0;
    CK(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
    CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, heavy, 64, 0));
    expect(fewer >= 1 && fewer <= shared / 40000, "static shared memory too");

    int grid = 0, block = 0;
    CK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, light, 0, 0));
    expect(block % 32 == 0 && block >= 32 && block <= 1024 && grid >= 1, "block size");
    CK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, light, 0, 128));
    expect(block <= 128 && block % 32 == 0, "block size with a limit");
    CK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, light, [](int threads) { return threads * 16; }));
    expect(block >= 32, "block size with shared memory for each");
    size_t available = 0;
    CK(cudaOccupancyAvailableDynamicSMemPerBlock(&available, light, 2, 128));
    expect(available > 0 && available <= (size_t)shared / 2, "shared memory for two blocks");

    int kept = 77;
    CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&kept, light, 2048, 0));
    printf("2048 threads: %d blocks\n", kept);
    kept = 77;
    CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&kept, light, 128, 1 << 20));
    printf("too much shared memory: %d blocks\n", kept);
    kept = 77;
    show("no threads", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&kept, light, 0, 0));
    show("to nowhere", cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, light, 32, 0));
    show("no kernel", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&kept, (const void *)&kept, 32, 0));
    printf("untouched %d\n", kept);
    cudaGetLastError();

    int *d = nullptr, h = 0;
    CK(cudaMalloc(&d, 4096 * sizeof(int)));
    light<<<4, 128>>>(d);
    heavy<<<1, 64>>>(d);
    LAUNCHED("launches");
    CK(cudaMemcpy(&h, d + 63, sizeof h, cudaMemcpyDeviceToHost));
    printf("%d\n", h);
    return finish();
}
