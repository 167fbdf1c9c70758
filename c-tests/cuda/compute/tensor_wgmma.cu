// Warpgroup products (wgmma) of tiles that tensor copies (TMA) bring into shared memory, with every swizzle, both
// major orders, and with the first factor in registers. Elements are small integers, so that sums are exact.
#include "../common.h"
#include <cuda.h>
#include <cuda_bf16.h>
#include <stdint.h>

const int M = 64, N = 64, K = 192;

__device__ uint32_t shared_address(const void *p) { return uint32_t(__cvta_generic_to_shared(p)); }

__device__ void load(void *to, const CUtensorMap *map, int x, int y, uint64_t *barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                     shared_address(to)),
                 "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
                 : "memory");
}

__device__ void wait(uint64_t *barrier, uint32_t parity)
{
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra AGAIN; }" ::"r"(
                     shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

// Addresses and strides are in units of 16 bytes.
__device__ uint64_t descriptor(const void *at, uint32_t leading, uint32_t stride, int mode)
{
    return (shared_address(at) & 0x3ffff) >> 4 | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 |
           uint64_t(mode) << 62;
}

#define RESULTS(d)                                                                                                      \
    "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),          \
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),           \
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),          \
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define LIST                                                                                                            \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "   \
    "%24, %25, %26, %27, %28, %29, %30, %31}"

template <int A_ACROSS, int B_ACROSS> __device__ void multiply(float *d, uint64_t a, uint64_t b, int adds)
{
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " LIST
                 ", %32, %33, p, 1, 1, %35, %36; }"
                 : RESULTS(d)
                 : "l"(a), "l"(b), "r"(adds), "n"(A_ACROSS), "n"(B_ACROSS));
}

template <int B_ACROSS> __device__ void multiply(float *d, const uint32_t *a, uint64_t b, int adds)
{
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %37, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " LIST
                 ", {%32, %33, %34, %35}, %36, p, 1, -1, %38; }"
                 : RESULTS(d)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds), "n"(B_ACROSS));
}

// WIDTH: bytes of a tile's row, and the swizzle's width. ACROSS: factors are stored with rows of K (first: columns).
template <int WIDTH, int ACROSS, int REGISTERS>
__global__ void __launch_bounds__(128) product(const __grid_constant__ CUtensorMap a_map,
                                               const __grid_constant__ CUtensorMap b_map, float *out)
{
    const int E = WIDTH / 2, STEP = ACROSS ? 16 : E, MODE = WIDTH == 128 ? 1 : WIDTH == 64 ? 2 : 3;
    __shared__ alignas(1024) __nv_bfloat16 a[64 * 64], b[64 * 64];
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.proxy.async;" ::"r"(shared_address(&barrier)) : "memory");
    }
    __syncthreads();
    float d[32];
    for (int k = 0; k < K; k += STEP) {
        if (threadIdx.x < 32) {
            uint32_t chosen;
            asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }" : "=r"(chosen));
            if (chosen) {
                uint32_t bytes = 2 * 64 * STEP * 2;
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
                             "r"(bytes)
                             : "memory");
                if (ACROSS) {
                    // Boxes of E columns and STEP rows, adjacent to each other.
                    for (int n = 0; n < 64; n += E) {
                        load(a + n * STEP, &a_map, n, k, &barrier);
                        load(b + n * STEP, &b_map, n, k, &barrier);
                    }
                } else {
                    load(a, &a_map, k, 0, &barrier);
                    load(b, &b_map, k, 0, &barrier);
                }
            }
        }
        wait(&barrier, k / STEP & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        for (int part = 0; part < STEP; part += 16) {
            uint64_t da, db;
            if (ACROSS) {
                da = descriptor(a, E * STEP * 2, 8 * WIDTH, MODE), db = descriptor(b, E * STEP * 2, 8 * WIDTH, MODE);
            } else {
                da = descriptor(a + part, 16, 8 * WIDTH, MODE), db = descriptor(b + part, 16, 8 * WIDTH, MODE);
            }
            if (REGISTERS) {
                // The swizzle decides where a row's elements are.
                uint32_t own[4];
                for (int r = 0; r < 4; r++) {
                    int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + 8 * (r & 1);
                    uint32_t at = row * WIDTH + part * 2 + threadIdx.x % 4 * 4 + 16 * (r >> 1);
                    at ^= at >> 7 << 4 & (WIDTH - 16);
                    own[r] = *(const uint32_t *)((const char *)a + at);
                }
                multiply<ACROSS>(d, own, db, k + part > 0);
            } else {
                multiply<ACROSS, ACROSS>(d, da, db, k + part > 0);
            }
        }
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
    for (int i = 0; i < 32; i++) {
        int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + (i >> 1 & 1) * 8;
        out[row * N + i / 4 * 8 + threadIdx.x % 4 * 2 + (i & 1)] = d[i];
    }
}

typedef CUresult (*Encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
                           const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static CUtensorMap tensor_map(Encode encode, void *at, int columns, int rows, int box_columns, int box_rows, int width)
{
    CUtensorMap map;
    cuuint64_t sizes[] = {cuuint64_t(columns), cuuint64_t(rows)}, strides[] = {cuuint64_t(columns) * 2};
    cuuint32_t box[] = {cuuint32_t(box_columns), cuuint32_t(box_rows)}, steps[] = {1, 1};
    CUtensorMapSwizzle swizzle = width == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                 : width == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                               : CU_TENSOR_MAP_SWIZZLE_32B;
    CUresult status = encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, at, sizes, strides, box, steps,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status)
        printf("tensor map: %d\n", status);
    return map;
}

static int a_value(int m, int k) { return (m * 7 + k * 13) % 17 - 8; }
static int b_value(int k, int n) { return (k * 5 + n * 11) % 19 - 9; }

template <int WIDTH, int ACROSS, int REGISTERS> static void multiplied(Encode encode, const char *what)
{
    static __nv_bfloat16 a[M * K], b[K * N];
    for (int k = 0; k < K; k++) {
        for (int m = 0; m < M; m++)
            a[ACROSS ? k * M + m : m * K + k] = __float2bfloat16(float(a_value(m, k)));
        for (int n = 0; n < N; n++)
            b[ACROSS ? k * N + n : n * K + k] = __float2bfloat16(float(b_value(k, n)));
    }
    void *da, *db;
    float *out;
    CK(cudaMalloc(&da, sizeof(a)));
    CK(cudaMalloc(&db, sizeof(b)));
    CK(cudaMalloc(&out, M * N * sizeof(float)));
    CK(cudaMemcpy(da, a, sizeof(a), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(db, b, sizeof(b), cudaMemcpyHostToDevice));
    int columns = ACROSS ? 64 : K, rows = ACROSS ? K : 64, box_rows = ACROSS ? 16 : 64;
    CUtensorMap a_map = tensor_map(encode, da, columns, rows, WIDTH / 2, box_rows, WIDTH);
    CUtensorMap b_map = tensor_map(encode, db, columns, rows, WIDTH / 2, box_rows, WIDTH);
    product<WIDTH, ACROSS, REGISTERS><<<1, 128>>>(a_map, b_map, out);
    LAUNCHED(what);
    CK(cudaDeviceSynchronize());
    static float found[M * N];
    CK(cudaMemcpy(found, out, sizeof(found), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int m = 0; m < M; m++) {
        for (int n = 0; n < N; n++) {
            int sum = 0;
            for (int k = 0; k < K; k++)
                sum += a_value(m, k) * b_value(k, n);
            wrong += found[m * N + n] != float(REGISTERS ? -sum : sum);
        }
    }
    char line[80];
    snprintf(line, sizeof(line), "%s, %d bytes", what, WIDTH);
    expect(wrong == 0, line);
    CK(cudaFree(da));
    CK(cudaFree(db));
    CK(cudaFree(out));
}

int main()
{
    void *found = nullptr;
    cudaDriverEntryPointQueryResult how;
    CK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &how));
    Encode encode = Encode(found);
    if (!encode)
        return finish();
    multiplied<128, 0, 0>(encode, "rows along K");
    multiplied<64, 0, 0>(encode, "rows along K");
    multiplied<32, 0, 0>(encode, "rows along K");
    multiplied<128, 1, 0>(encode, "rows across K");
    multiplied<64, 1, 0>(encode, "rows across K");
    multiplied<32, 1, 0>(encode, "rows across K");
    multiplied<128, 0, 1>(encode, "first factor in registers");
    multiplied<64, 0, 1>(encode, "first factor in registers");
    multiplied<32, 0, 1>(encode, "first factor in registers");
    return finish();
}
