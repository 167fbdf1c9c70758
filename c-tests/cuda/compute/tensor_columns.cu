// Tensor copies in im2col mode: consecutive pixels of their box, moved by offsets. The expected output was recorded on a GPU.
#include "../common.h"
#include <cuda.h>
#include <stdint.h>
#include <vector>

const int SHARED = 16384;

__device__ static uint32_t shared_address(const void *p) { return uint32_t(__cvta_generic_to_shared(p)); }

// Shared memory starts as `image`; afterwards it is copied back there.
__global__ void columns(const __grid_constant__ CUtensorMap map, int w, int h, short over, short down, uint32_t bytes, uint32_t *image,
                        int *complete)
{
    __shared__ alignas(1024) uint32_t room[SHARED / 4];
    __shared__ uint64_t barrier;
    uint32_t object = shared_address(&barrier);
    for (int i = threadIdx.x; i < SHARED / 4; i += blockDim.x)
        room[i] = image[i];
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(object) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(object), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
                     "[%2], {%7, %8};" ::"r"(shared_address(room)),
                     "l"(&map), "r"(object), "r"(0), "r"(w), "r"(h), "r"(0), "h"(over), "h"(down)
                     : "memory");
        uint32_t done = 0;
        for (int n = 0; n < 200000 && !done; n++)
            asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done)
                         : "r"(object)
                         : "memory");
        *complete = done;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < SHARED / 4; i += blockDim.x)
        image[i] = room[i];
}

static uint64_t hashed(const std::vector<uint32_t> &words)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (uint32_t word : words)
        hash = (hash ^ word) * 0x100000001b3;
    return hash ^ hash >> 32;
}

typedef CUresult (*Encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const int *,
                           const int *, cuuint32_t, cuuint32_t, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

int main()
{
    void *found = nullptr;
    cudaDriverEntryPointQueryResult how;
    CK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", &found, 12000, cudaEnableDefault, &how));
    Encode encode = Encode(found);
    if (!encode)
        return finish();
    std::vector<uint32_t> numbers(1 << 15), blank(SHARED / 4, 0xeeeeeeee), got(SHARED / 4);
    for (size_t i = 0; i < numbers.size(); i++)
        numbers[i] = uint32_t(i) + 1;
    uint32_t *tensor, *image;
    int *complete;
    NEED(cudaMalloc(&tensor, numbers.size() * 4));
    NEED(cudaMalloc(&image, SHARED));
    NEED(cudaMalloc(&complete, 4));
    CK(cudaMemcpy(tensor, numbers.data(), numbers.size() * 4, cudaMemcpyHostToDevice));
    // 8 channels of 9 by 6 pixels, 3 images.
    CUtensorMap map;
    cuuint64_t sizes[] = {8, 9, 6, 3}, strides[] = {32, 288, 1728};
    cuuint32_t steps[] = {1, 1, 1, 1};
    int lower[] = {-1, -1}, upper[] = {-1, -1};
    CUresult status = encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, tensor, sizes, strides, lower, upper, 8, 32, steps,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status)
        printf("tensor map: %d\n", status);
    const short offsets[][2] = {{0, 0}, {1, 0}, {0, 2}, {2, 1}, {5, 7}, {200, 255}};
    for (int k = 0; k < 6; k++) {
        CK(cudaMemcpy(image, blank.data(), SHARED, cudaMemcpyHostToDevice));
        columns<<<1, 128>>>(map, -1, -1, offsets[k][0], offsets[k][1], 4 * 8 * 32, image, complete);
        LAUNCHED("columns");
        int done = 0;
        CK(cudaMemcpy(got.data(), image, SHARED, cudaMemcpyDeviceToHost));
        CK(cudaMemcpy(&done, complete, 4, cudaMemcpyDeviceToHost));
        printf("place 0, offsets %d: %d, %016llx\n", k, done, (unsigned long long)hashed(got));
    }
    CK(cudaFree(tensor));
    CK(cudaFree(image));
    CK(cudaFree(complete));
    return finish();
}
