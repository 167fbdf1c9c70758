// Tensor copies with maps of every mode: rows narrower than the swizzle, interleaved layouts, NaN fill, and elements that the copy
// rounds or flushes. Each case prints the number of bytes that the copy reported, and the source of each 16 bytes. A failing case
// ends its process, so cases run in children. The expected output must be recorded on a GPU.
#include "../common.h"
#include <cuda.h>
#include <stdint.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

const int SHARED = 32768, TENSOR = 1 << 20, ALL = 1 << 16;
enum What { LOAD, COLUMNS, STORE, ADD, MIN, MAX };

struct Order {
    int what, axes, at[5];
    unsigned short offsets[3];
};

__device__ static uint32_t shared_address(const void *p) { return uint32_t(__cvta_generic_to_shared(p)); }

#define AT1 "{%3}"
#define AT2 "{%3, %4}"
#define AT3 "{%3, %4, %5}"
#define AT4 "{%3, %4, %5, %6}"
#define AT5 "{%3, %4, %5, %6, %7}"
#define OPERANDS                                                                                                                              \
    "r"(room), "l"(map), "r"(object), "r"(o.at[0]), "r"(o.at[1]), "r"(o.at[2]), "r"(o.at[3]), "r"(o.at[4]), "h"(o.offsets[0]),                    \
        "h"(o.offsets[1]), "h"(o.offsets[2])
#define CASE(KIND, N, TEXT)                                                                                                                   \
    case KIND * 8 + N:                                                                                                                        \
        asm volatile(TEXT ::OPERANDS : "memory");                                                                                             \
        break;
#define LOADS(N)                                                                                                                              \
    CASE(LOAD, N, "cp.async.bulk.tensor." #N "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " AT##N "], [%2];")
#define COLUMN(N, LIST)                                                                                                                       \
    CASE(COLUMNS, N,                                                                                                                          \
         "cp.async.bulk.tensor." #N "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, " AT##N "], [%2], " LIST ";")
#define STORES(N) CASE(STORE, N, "cp.async.bulk.tensor." #N "d.global.shared::cta.tile.bulk_group [%1, " AT##N "], [%0];")
#define REDUCES(KIND, OP, N) CASE(KIND, N, "cp.reduce.async.bulk.tensor." #N "d.global.shared::cta." OP ".tile.bulk_group [%1, " AT##N "], [%0];")

__device__ static void begin(uint32_t room, const CUtensorMap *map, uint32_t object, const Order &o)
{
    switch (o.what * 8 + o.axes) {
        LOADS(1)
        LOADS(2)
        LOADS(3)
        LOADS(4)
        LOADS(5)
        COLUMN(3, "{%8}")
        COLUMN(4, "{%8, %9}")
        COLUMN(5, "{%8, %9, %10}")
        STORES(1)
        STORES(2)
        STORES(3)
        STORES(4)
        STORES(5)
        REDUCES(ADD, "add", 1)
        REDUCES(ADD, "add", 2)
        REDUCES(ADD, "add", 3)
        REDUCES(ADD, "add", 4)
        REDUCES(MIN, "min", 2)
        REDUCES(MAX, "max", 2)
    }
}

__device__ static bool passed(uint32_t object)
{
    uint32_t done;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(object)
                 : "memory");
    return done;
}

// Shared memory starts as `image`, and is copied back there; `counted` gets the bytes that the copy reported to its barrier.
__global__ void copy(const __grid_constant__ CUtensorMap map, const Order o, uint32_t *image, int *counted)
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
        bool load = o.what == LOAD || o.what == COLUMNS;
        if (load)
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(object), "r"(ALL) : "memory");
        begin(shared_address(room), &map, object, o);
        if (load) {
            // Time enough for any copy; then this code reports the missing bytes to the barrier.
            bool done = false;
            for (int n = 0; n < 3000 && !done; n++)
                done = passed(object);
            int left = 0;
            for (; left < ALL && !passed(object); left += 16)
                asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 16;" ::"r"(object) : "memory");
            *counted = ALL - left;
        } else {
            asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
            *counted = 0;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < SHARED / 4; i += blockDim.x)
        image[i] = room[i];
}

typedef CUresult (*Tiled)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
                          const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                          CUtensorMapFloatOOBfill);
typedef CUresult (*Im2col)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const int *,
                           const int *, cuuint32_t, cuuint32_t, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// How memory is filled and printed: consecutive words, printed as places; or bits of numbers, printed as they are.
enum Show { PLACES, BITS, FEW };

struct Case {
    std::string name;
    Show show = PLACES;
    int type = CU_TENSOR_MAP_DATA_TYPE_UINT32, rank = 2;
    cuuint64_t sizes[5] = {64, 16, 4, 4, 4}, strides[4] = {256, 4096, 16384, 65536};
    cuuint32_t box[5] = {4, 4, 1, 1, 1}, steps[5] = {1, 1, 1, 1, 1};
    int interleave = 0, swizzle = 0, fill = 0;
    int lower[3] = {-1, -1, -1}, upper[3] = {-1, -1, -1};
    cuuint32_t pixels = 8;
    Order order = {LOAD, 2, {0, 0, 0, 0, 0}, {0, 0, 0}};
};
#include "tensor_modes.h"

static uint64_t hashed(const std::vector<uint32_t> &words)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (uint32_t word : words)
        hash = (hash ^ word) * 0x100000001b3;
    return hash ^ hash >> 32;
}

// Changed units of 16 bytes: their place, and the new content: places of words (of another memory), `0`, or bits.
static void shown(const std::vector<uint32_t> &before, const std::vector<uint32_t> &after, uint32_t from, Show show)
{
    int lines = 0, most = show == PLACES ? 96 : show == BITS ? 24 : 4;
    for (size_t unit = 0; unit < before.size() / 4; unit++) {
        const uint32_t *old = &before[unit * 4], *now = &after[unit * 4];
        if (!memcmp(old, now, 16) || lines++ >= most)
            continue;
        bool run = true, zero = true;
        for (int k = 0; k < 4; k++)
            run &= now[k] == now[0] + k, zero &= now[k] == 0;
        printf(" %zu=", unit);
        if (zero)
            printf("0");
        else if (show == PLACES && run && (now[0] - from) % 4 == 0)
            printf("%u", (now[0] - from) / 4);
        else
            printf("%08x,%08x,%08x,%08x", now[0], now[1], now[2], now[3]);
    }
    printf("%s\n", lines > most ? " ..." : "");
}

static void run(const Case &c, Tiled tiled, Im2col im2col)
{
    std::vector<uint32_t> numbers(TENSOR / 4), blank(SHARED / 4), got(SHARED / 4), stored(TENSOR / 4);
    bool load = c.order.what == LOAD || c.order.what == COLUMNS;
    for (size_t i = 0; i < numbers.size(); i++)
        numbers[i] = c.show == PLACES ? 0x10000000 + uint32_t(i) : element(c.type, i, load);
    for (size_t i = 0; i < blank.size(); i++)
        blank[i] = load ? 0xeeeeeeee : c.show == PLACES ? 0x20000000 + uint32_t(i) : element(c.type, i, true);
    uint32_t *tensor, *image;
    int *counted, count = 0;
    CK(cudaMalloc(&tensor, TENSOR));
    CK(cudaMalloc(&image, SHARED));
    CK(cudaMalloc(&counted, 4));
    CK(cudaMemcpy(tensor, numbers.data(), TENSOR, cudaMemcpyHostToDevice));
    CK(cudaMemcpy(image, blank.data(), SHARED, cudaMemcpyHostToDevice));
    CUtensorMap map;
    CUtensorMapDataType t = CUtensorMapDataType(c.type);
    CUtensorMapInterleave i = CUtensorMapInterleave(c.interleave);
    CUtensorMapSwizzle w = CUtensorMapSwizzle(c.swizzle);
    CUtensorMapFloatOOBfill f = CUtensorMapFloatOOBfill(c.fill);
    CUresult status = c.order.what == COLUMNS
                          ? im2col(&map, t, c.rank, tensor, c.sizes, c.strides, c.lower, c.upper, c.box[0], c.pixels, c.steps, i, w,
                                   CU_TENSOR_MAP_L2_PROMOTION_NONE, f)
                          : tiled(&map, t, c.rank, tensor, c.sizes, c.strides, c.box, c.steps, i, w, CU_TENSOR_MAP_L2_PROMOTION_NONE, f);
    printf("%s: map %d", c.name.c_str(), status);
    if (status) {
        printf("\n");
        return;
    }
    fflush(stdout);
    copy<<<1, 128>>>(map, c.order, image, counted);
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) {
        printf(", error %d\n", error);
        fflush(stdout);
        _exit(7);
    }
    CK(cudaMemcpy(got.data(), image, SHARED, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(stored.data(), tensor, TENSOR, cudaMemcpyDeviceToHost));
    CK(cudaMemcpy(&count, counted, 4, cudaMemcpyDeviceToHost));
    printf(", %d bytes, %016llx:", count, (unsigned long long)hashed(load ? got : stored));
    load ? shown(blank, got, 0x10000000, c.show) : shown(numbers, stored, 0x20000000, c.show);
    CK(cudaFree(tensor));
    CK(cudaFree(image));
    CK(cudaFree(counted));
}

int main()
{
    std::vector<Case> all = cases();
    // The next case to run, shared with the children.
    int *next = (int *)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    while (*next < int(all.size())) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            void *tiled = nullptr, *im2col = nullptr;
            cudaDriverEntryPointQueryResult how;
            CK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &tiled, 12000, cudaEnableDefault, &how));
            CK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", &im2col, 12000, cudaEnableDefault, &how));
            if (!tiled || !im2col || cuda_errors) {
                *next = 1 << 30;
                _exit(finish());
            }
            while (*next < int(all.size()))
                run(all[(*next)++], Tiled(tiled), Im2col(im2col));
            _exit(finish());
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status))
            printf("signal %d\n", WTERMSIG(status));
        else if (WEXITSTATUS(status) && WEXITSTATUS(status) != 7)
            return WEXITSTATUS(status);
    }
    return finish();
}
