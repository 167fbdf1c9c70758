// The places in shared memory from which warpgroup products (wgmma) take each element of their factors, by every layout, swizzle and
// stride of a descriptor. One factor selects single elements of the other, whose value encodes their place. The expected output was recorded on a GPU.
#include "tensor_warpgroup.h"
#include <cuda_fp16.h>

const int REGION = 16384;
const int PASSES = 3;

struct Layout {
    uint32_t start, leading, stride, mode;
};

// A number from 1 to 1024 (64 for bytes): a part of an element's place.
template <class F> __device__ uint32_t number(uint32_t element, int pass)
{
    if (F::size == 1)
        return (element >> 6 * pass & 63) + 1;
    uint32_t value = (element >> 10 * pass & 1023) + 1;
    return F::size == 2 ? __half_as_ushort(__float2half(float(value))) : __float_as_uint(float(value));
}

template <class F> __device__ uint32_t one() { return F::size == 1 ? 1 : F::size == 2 ? 0x3c00 : 0x3f800000; }

__device__ static void put(char *at, uint32_t value, int size)
{
    if (size == 1)
        *(uint8_t *)at = value;
    else if (size == 2)
        *(uint16_t *)at = value;
    else
        *(uint32_t *)at = value;
}

// Row m has its only nonzero element in column m. Which of the row's stored elements that is:
template <class F> __device__ int stored(int m)
{
    if (!F::sparse)
        return m;
    return F::size == 4 ? m / 2 : 2 * (m / 4) + (m % 4 == 3);
}

// The metadata of a group of columns in a row; that of the first elements where it does not matter.
template <class F> __device__ uint32_t said(int m, int group, bool diagonal)
{
    int each = F::size == 4 ? 2 : 4;
    if (!diagonal || m >= F::columns || m / each != group)
        return 4;
    if (F::size == 4)
        return m % 2 ? 14 : 4;
    return m % 4 == 3 ? 12 : m % 4 | 12;
}

template <class F> __device__ uint32_t metadata(int selector, bool diagonal)
{
    int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    uint32_t word = 0;
    if (F::size == 1) {
        for (int n = 0; n < 8; n++)
            word |= said<F>(row + lane % 2 * 8, lane % 4 / 2 * 8 + n, diagonal) << 4 * n;
        return word;
    }
    // Lanes whose metadata is not used have other values.
    int from = lane % 4 - 2 * selector;
    if (from < 0 || from > 1)
        return 0xeeee4444;
    for (int n = 0; n < 8; n++)
        word |= said<F>(row + n / 4 * 8, 4 * from + n % 4, diagonal) << 4 * n;
    return word;
}

template <class F, int SELECTOR, int ACROSS> __global__ void __launch_bounds__(128) second(Layout l, uint32_t *out)
{
    extern __shared__ __align__(1024) char room[];
    int t = threadIdx.x, lane = t % 32;
    uint32_t a[4] = {};
    for (int q = 0; q < 4; q++) {
        int row = t / 32 * 16 + lane / 4 + q % 2 * 8;
        for (int n = 0; n < 4 / F::size; n++) {
            int column = (q / 2 * 16 + lane % 4 * 4) / F::size + n;
            if (row < F::columns && column == stored<F>(row))
                a[q] |= one<F>() << 8 * F::size * n;
        }
    }
    uint32_t meta = metadata<F>(SELECTOR, true);
    for (int pass = 0; pass < PASSES; pass++) {
        for (int i = t; i < REGION / F::size; i += 128)
            put(room + i * F::size, number<F>(i, pass), F::size);
        uint32_t d[8] = {};
        begin();
        F::template registers<SELECTOR, ACROSS>(d, a, descriptor(shared_address(room) + l.start, l.leading, l.stride, l.mode), meta, 0);
        end();
        for (int i = 0; i < 8; i++)
            out[((t / 32 * 16 + lane / 4 + i / 2 % 2 * 8) * 16 + i / 4 * 8 + lane % 4 * 2 + i % 2) * PASSES + pass] = d[i];
    }
}

template <class F, int SELECTOR, int ACROSS> __global__ void __launch_bounds__(128) first(Layout l, int part, uint32_t *out)
{
    extern __shared__ __align__(1024) char room[];
    int t = threadIdx.x, lane = t % 32;
    // Units of 16 bytes of eight rows are consecutive, then those of the other eight rows.
    char *other = room + REGION;
    const int units = F::columns * F::size / 16;
    for (int i = t; i < 256 * units / F::size; i += 128)
        put(other + i * F::size, 0, F::size);
    __syncthreads();
    int kept = part * 16 + t, column = !F::sparse ? kept : F::size == 4 ? 2 * kept : 4 * (kept / 2) + kept % 2;
    if (t < 16 && column < F::columns) {
        int byte = column * F::size;
        put(other + t / 8 * 128 * units + byte / 16 * 128 + t % 8 * 16 + byte % 16, one<F>(), F::size);
    }
    uint32_t meta = metadata<F>(SELECTOR, false);
    for (int pass = 0; pass < PASSES; pass++) {
        for (int i = t; i < REGION / F::size; i += 128)
            put(room + i * F::size, number<F>(i, pass), F::size);
        uint32_t d[8] = {};
        begin();
        F::template memory<SELECTOR, ACROSS, 0>(d, descriptor(shared_address(room) + l.start, l.leading, l.stride, l.mode),
                                                descriptor(shared_address(other), 128, 128 * units, 0), meta, 0);
        end();
        for (int i = 0; i < 8; i++)
            out[((t / 32 * 16 + lane / 4 + i / 2 % 2 * 8) * 16 + i / 4 * 8 + lane % 4 * 2 + i % 2) * PASSES + pass] = d[i];
    }
}

static uint32_t *out;

// The offsets of elements, in elements.
template <class F> static void print(const char *name)
{
    static uint32_t found[64 * 16 * PASSES];
    CK(cudaMemcpy(found, out, sizeof(found), cudaMemcpyDeviceToHost));
    std::vector<uint32_t> places;
    for (int i = 0; i < 64 * 16; i++) {
        uint32_t place = 0;
        for (int pass = 0; pass < PASSES; pass++) {
            float single;
            memcpy(&single, &found[i * PASSES + pass], 4);
            uint32_t part = F::size == 1 ? found[i * PASSES + pass] : uint32_t(int(single));
            place += (part - 1) << (F::size == 1 ? 6 : 10) * pass;
        }
        places.push_back(place);
    }
    printf("%s: %016llx\n", name, (unsigned long long)hashed(places.data(), places.size()));
    fflush(stdout);
    kept(name, places);
}

template <class F, int SELECTOR, int ACROSS> static void tried(const Layout &l)
{
    char name[160];
    CK(cudaMemset(out, 0xff, 64 * 16 * PASSES * 4));
    second<F, SELECTOR, ACROSS><<<1, 128, REGION>>>(l, out);
    LAUNCHED("second");
    CK(cudaDeviceSynchronize());
    snprintf(name, sizeof(name), "%s%s, selector %d, second factor%s, mode %d, start %d, leading %d, stride %d", F::sparse ? "sparse " : "",
             F::name, SELECTOR, ACROSS ? " across" : "", l.mode, l.start, l.leading, l.stride);
    print<F>(name);
    for (int part = 0; part < 2 / (F::size == 1 ? 1 : 2); part++) {
        CK(cudaMemset(out, 0xff, 64 * 16 * PASSES * 4));
        first<F, SELECTOR, ACROSS><<<1, 128, REGION * 2>>>(l, part, out);
        LAUNCHED("first");
        CK(cudaDeviceSynchronize());
        snprintf(name, sizeof(name), "%s%s, selector %d, first factor%s, mode %d, start %d, leading %d, stride %d, part %d",
                 F::sparse ? "sparse " : "", F::name, SELECTOR, ACROSS ? " across" : "", l.mode, l.start, l.leading, l.stride, part);
        print<F>(name);
    }
}

template <class F, int ACROSS> static void layouts()
{
    // Modes 1, 2, 3: rows of 128, 64 and 32 bytes.
    const Layout all[] = {{0, 128, 1024, 0}, {0, 2048, 256, 0},  {512, 256, 1536, 0}, {0, 16, 1024, 1},   {32, 16, 1024, 1},
                          {64, 4096, 1024, 1}, {0, 2048, 1024, 1}, {0, 16, 512, 2},     {32, 16, 512, 2},  {0, 4096, 512, 2},
                          {0, 2048, 1024, 2},  {0, 16, 256, 3},    {0, 4096, 256, 3},   {0, 2048, 512, 3}, {1024, 512, 2048, 3}};
    for (const Layout &l : all) {
        tried<F, 0, ACROSS>(l);
        if (F::sparse && F::size > 1)
            tried<F, F::size == 1 ? 0 : 1, ACROSS>(l);
    }
}

int main()
{
    NEED(cudaMalloc(&out, 64 * 16 * PASSES * 4));
    layouts<F32F16, 0>();
    layouts<F32F16, 1>();
    layouts<F32TF32, 0>();
    layouts<S8S8, 0>();
    layouts<DENSE16, 0>();
    layouts<DENSE16, 1>();
    layouts<DENSE32, 0>();
    layouts<DENSE8, 0>();
    CK(cudaFree(out));
    return finish();
}
