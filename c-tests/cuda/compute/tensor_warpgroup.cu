// Sparse products of four warps (wgmma.mma_async.sp) of random numbers, all types, with the first factor in registers and in memory, both
// selectors. The expected output was recorded on a GPU.
#include "tensor_warpgroup.h"

// CUSHIM_TEST_VERBOSE names a folder that gets every result.
const int CASES = 16;
// Per case: registers of the first factor, the second factor, the accumulator, the metadata.
const int A = 4 * 128, B = 16 * 16, C = 8 * 128, META = 128, ALL = A + B + C + META;

template <class F, int SELECTOR, int IN_MEMORY> __global__ void __launch_bounds__(128) product(const uint32_t *in, uint32_t *out, int adds)
{
    __shared__ alignas(1024) uint32_t first[A], second[B];
    int t = threadIdx.x, lane = t % 32;
    in += blockIdx.x * ALL;
    // Units of 16 bytes of eight rows are adjacent; a row of the first factor has two units, of the second four.
    for (int i = t; i < B; i += 128)
        second[i] = in[A + i];
    uint32_t a[4], d[8], meta = in[A + B + C + t];
    for (int q = 0; q < 4; q++) {
        a[q] = in[q * 128 + t];
        int row = t / 32 * 16 + lane / 4 + q % 2 * 8;
        first[row / 8 * 64 + q / 2 * 32 + row % 8 * 4 + lane % 4] = a[q];
    }
    for (int i = 0; i < 8; i++)
        d[i] = in[A + B + i * 128 + t];
    begin();
    uint64_t b = descriptor(shared_address(second), 128, 512, 0);
    if (IN_MEMORY)
        F::template memory<SELECTOR, 0, 0>(d, descriptor(shared_address(first), 128, 256, 0), b, meta, adds);
    else
        F::template registers<SELECTOR, 0>(d, a, b, meta, adds);
    end();
    for (int i = 0; i < 8; i++)
        out[(blockIdx.x * 8 + i) * 128 + t] = d[i];
}

static uint32_t state;

static uint32_t next()
{
    state = state * 1664525 + 1013904223;
    uint32_t x = state ^ state >> 15;
    return (x * 0x2c1b3c6d) ^ x >> 12;
}

// Bits of numbers: random, or finite numbers of similar sizes.
template <class F> static uint32_t word(bool any, bool integers)
{
    uint32_t x = next();
    if (any || integers)
        return x;
    switch (F::size) {
    case 4: return (x & 0x87ffffff) | 0x38000000;
    case 2: return strstr(F::name, "bf16") ? (x & 0x83ff83ff) | 0x3c003c00 : (x & 0x9fff9fff) | 0x20002000;
    default: return x & 0xbfbfbfbf;
    }
}

static const uint32_t TWO_OF_FOUR[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};

template <class F> static std::vector<uint32_t> input()
{
    state = 12345;
    bool integers = strstr(F::name, "s32"), halves = F::halves;
    std::vector<uint32_t> all;
    for (int n = 0; n < CASES; n++) {
        bool any = n % 4 == 3;
        for (int i = 0; i < A + B; i++)
            all.push_back(word<F>(any, integers));
        for (int i = 0; i < C; i++) {
            uint32_t x = next();
            all.push_back(any || integers ? x : halves ? (x & 0x9fff9fff) | 0x20002000 : (x & 0x87ffffff) | 0x38000000);
        }
        for (int i = 0; i < META; i++) {
            uint32_t said = 0;
            for (int k = 0; k < 32; k += 4)
                said |= (F::size == 4 ? (next() >> 8 & 1 ? 14 : 4) : TWO_OF_FOUR[(next() >> 8) % 6]) << k;
            all.push_back(said);
        }
    }
    return all;
}

static uint32_t *in, *out;

template <class F, int SELECTOR, int IN_MEMORY> static void tried(int adds)
{
    char name[120];
    static uint32_t found[CASES * C];
    CK(cudaMemset(out, 0, sizeof(found)));
    product<F, SELECTOR, IN_MEMORY><<<CASES, 128>>>(in, out, adds);
    LAUNCHED(F::name);
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(found, out, sizeof(found), cudaMemcpyDeviceToHost));
    // Four kinds of inputs, in turn.
    printf("%s, selector %d, first factor in %s, %s:", F::name, SELECTOR, IN_MEMORY ? "memory" : "registers", adds ? "added" : "alone");
    for (int n = 0; n < 4; n++) {
        uint64_t hash = 0;
        for (int k = n; k < CASES; k += 4)
            hash = hash * 0x100000001b3 + hashed(found + k * C, C);
        printf(" %016llx", (unsigned long long)hash);
    }
    printf("\n");
    fflush(stdout);
    snprintf(name, sizeof(name), "%s, %d, %d, %d", F::name, SELECTOR, IN_MEMORY, adds);
    kept(name, std::vector<uint32_t>(found, found + CASES * C));
}

template <class F> static void form()
{
    std::vector<uint32_t> all = input<F>();
    CK(cudaMemcpy(in, all.data(), all.size() * 4, cudaMemcpyHostToDevice));
    tried<F, 0, 0>(1);
    tried<F, 0, 1>(1);
    tried<F, 0, 0>(0);
    if constexpr (F::size > 1) {
        tried<F, 1, 0>(1);
        tried<F, 1, 1>(1);
    }
}

int main()
{
    NEED(cudaMalloc(&in, CASES * ALL * 4));
    NEED(cudaMalloc(&out, CASES * C * 4));
    form<F32F16>(), form<F16F16>(), form<F32BF16>(), form<F32TF32>();
    form<F32E4E4>(), form<F32E4E5>(), form<F32E5E4>(), form<F32E5E5>();
    form<F16E4E4>(), form<F16E4E5>(), form<F16E5E4>(), form<F16E5E5>();
    form<S8S8>(), form<S8U8>(), form<U8S8>(), form<U8U8>(), form<S8S8SAT>(), form<U8U8SAT>();
    CK(cudaFree(in));
    CK(cudaFree(out));
    return finish();
}
