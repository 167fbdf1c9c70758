// The forms of wgmma in tensor_layouts.cu and tensor_warpgroup.cu: 16 columns, dense or sparse, the first factor in registers or in
// shared memory. Registers are raw bits.
#pragma once
#include "../common.h"
#include <stdint.h>
#include <vector>

#define D8 "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define D4 "{%0, %1, %2, %3}"
#define REGISTERS                                                                                                       \
    "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7])
#define SPARSE_ASM(WHAT, D, TAIL_A, TAIL_M)                                                                             \
    template <int SELECTOR, int B_ACROSS>                                                                               \
    __device__ static void registers(uint32_t *d, const uint32_t *a, uint64_t b, uint32_t meta, int adds)               \
    {                                                                                                                   \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %15, 0; wgmma.mma_async.sp.sync.aligned." WHAT " " D               \
                     ", {%8, %9, %10, %11}, %12, %13, %14, p" TAIL_A "; }"                                              \
                     : REGISTERS                                                                                        \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(meta), "n"(SELECTOR), "r"(adds),         \
                       "n"(B_ACROSS));                                                                                  \
    }                                                                                                                   \
    template <int SELECTOR, int A_ACROSS, int B_ACROSS>                                                                 \
    __device__ static void memory(uint32_t *d, uint64_t a, uint64_t b, uint32_t meta, int adds)                         \
    {                                                                                                                   \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %12, 0; wgmma.mma_async.sp.sync.aligned." WHAT " " D               \
                     ", %8, %9, %10, %11, p" TAIL_M "; }"                                                               \
                     : REGISTERS                                                                                        \
                     : "l"(a), "l"(b), "r"(meta), "n"(SELECTOR), "r"(adds), "n"(A_ACROSS), "n"(B_ACROSS));              \
    }
#define DENSE_ASM(WHAT, D, TAIL_A, TAIL_M)                                                                              \
    template <int SELECTOR, int B_ACROSS>                                                                               \
    __device__ static void registers(uint32_t *d, const uint32_t *a, uint64_t b, uint32_t, int adds)                    \
    {                                                                                                                   \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %14, 0; wgmma.mma_async.sync.aligned." WHAT " " D                  \
                     ", {%8, %9, %10, %11}, %12, p" TAIL_A "; }"                                                        \
                     : REGISTERS                                                                                        \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(SELECTOR), "r"(adds), "n"(0),            \
                       "n"(B_ACROSS));                                                                                  \
    }                                                                                                                   \
    template <int SELECTOR, int A_ACROSS, int B_ACROSS>                                                                 \
    __device__ static void memory(uint32_t *d, uint64_t a, uint64_t b, uint32_t, int adds)                              \
    {                                                                                                                   \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %11, 0; wgmma.mma_async.sync.aligned." WHAT " " D                  \
                     ", %8, %9, p" TAIL_M "; }"                                                                         \
                     : REGISTERS                                                                                        \
                     : "l"(a), "l"(b), "n"(SELECTOR), "r"(adds), "n"(0), "n"(A_ACROSS), "n"(B_ACROSS));                 \
    }

// Bytes of a factor's element, logical columns of the first factor, whether half of them are stored.
#define FORM(NAME, ASM, WHAT, D, TAIL_A, TAIL_M, SIZE, COLUMNS, SPARSE)                                                 \
    struct NAME {                                                                                                       \
        static constexpr int size = SIZE, columns = COLUMNS;                                                            \
        static constexpr bool sparse = SPARSE, halves = sizeof(D) < sizeof(D8);                                         \
        static constexpr const char *name = WHAT;                                                                       \
        ASM(WHAT, D, TAIL_A, TAIL_M)                                                                                    \
    };
#define HALVES(NAME, TYPES, D) FORM(NAME, SPARSE_ASM, "m64n16k32." TYPES, D, ", 1, 1, %16", ", 1, 1, %13, %14", 2, 32, true)
#define BYTES(NAME, TYPES, D) FORM(NAME, SPARSE_ASM, "m64n16k64." TYPES, D, ", 1, 1", ", 1, 1", 1, 64, true)
#define INTEGERS(NAME, TYPES) FORM(NAME, SPARSE_ASM, "m64n16k64.s32." TYPES, D8, "", "", 1, 64, true)

HALVES(F32F16, "f32.f16.f16", D8)
HALVES(F16F16, "f16.f16.f16", D4)
HALVES(F32BF16, "f32.bf16.bf16", D8)
FORM(F32TF32, SPARSE_ASM, "m64n16k16.f32.tf32.tf32", D8, ", 1, 1", ", 1, 1", 4, 16, true)
BYTES(F32E4E4, "f32.e4m3.e4m3", D8)
BYTES(F32E5E5, "f32.e5m2.e5m2", D8)
BYTES(F32E4E5, "f32.e4m3.e5m2", D8)
BYTES(F32E5E4, "f32.e5m2.e4m3", D8)
BYTES(F16E4E4, "f16.e4m3.e4m3", D4)
BYTES(F16E4E5, "f16.e4m3.e5m2", D4)
BYTES(F16E5E4, "f16.e5m2.e4m3", D4)
BYTES(F16E5E5, "f16.e5m2.e5m2", D4)
INTEGERS(S8S8, "s8.s8")
INTEGERS(S8U8, "s8.u8")
INTEGERS(U8S8, "u8.s8")
INTEGERS(U8U8, "u8.u8")
INTEGERS(S8S8SAT, "s8.s8.satfinite")
INTEGERS(U8U8SAT, "u8.u8.satfinite")
FORM(DENSE16, DENSE_ASM, "m64n16k16.f32.f16.f16", D8, ", 1, 1, %16", ", 1, 1, %13, %14", 2, 16, false)
FORM(DENSE32, DENSE_ASM, "m64n16k8.f32.tf32.tf32", D8, ", 1, 1", ", 1, 1", 4, 8, false)
FORM(DENSE8, DENSE_ASM, "m64n16k32.s32.s8.s8", D8, "", "", 1, 32, false)

__device__ static uint32_t shared_address(const void *p) { return uint32_t(__cvta_generic_to_shared(p)); }

// Addresses and strides are in units of 16 bytes.
__device__ static uint64_t descriptor(uint32_t at, uint32_t leading, uint32_t stride, uint32_t mode)
{
    return (at & 0x3ffff) >> 4 | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 | uint64_t(mode) << 62;
}

__device__ static void begin()
{
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ static void end()
{
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
}

static uint64_t hashed(const uint32_t *words, size_t n)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ words[i]) * 0x100000001b3;
    return hash ^ hash >> 32;
}

static void kept(const char *name, const std::vector<uint32_t> &words)
{
    const char *folder = getenv("CUSHIM_TEST_VERBOSE");
    if (!folder)
        return;
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    for (char *c = path + strlen(folder) + 1; *c; c++)
        *c = *c == ' ' || *c == '/' ? '_' : *c;
    if (FILE *file = fopen(path, "wb")) {
        fwrite(words.data(), 4, words.size(), file);
        fclose(file);
    }
}
