// Atomic operations of every kind and type, on global and shared memory, with block
// and system scope; their return values; floats by compare-and-swap.
#include <algorithm>
#include <vector>
#include "arrays.h"

const int N = 1000;

struct Totals {
    unsigned add, sub, most, least, both, either, differ, up, down, swapped;
    int signed_most, signed_least;
    unsigned long long wide_add, wide_most, wide_least, wide_differ;
    float real;
    double twice;
};

__global__ void all(const unsigned *v, Totals *t, int *returned, unsigned short *halves)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N)
        return;
    unsigned x = v[i];
    atomicAdd(&t->add, x);
    atomicSub(&t->sub, x);
    atomicMax(&t->most, x);
    atomicMin(&t->least, x);
    atomicAnd(&t->both, x | 0xf0u);
    atomicOr(&t->either, 1u << x % 32);
    atomicXor(&t->differ, x);
    // A counter returns each of its values once.
    atomicAdd(&returned[atomicInc(&t->up, 99)], 1);
    atomicAdd(&returned[100 + atomicDec(&t->down, 49)], 1);
    atomicExch(&t->swapped, x);
    atomicMax(&t->signed_most, (int)x - 5000);
    atomicMin(&t->signed_least, (int)x - 5000);
    atomicAdd(&t->wide_add, (unsigned long long)x << 30);
    atomicMax(&t->wide_most, (unsigned long long)x << 33);
    atomicMin(&t->wide_least, (unsigned long long)x << 33);
    atomicXor(&t->wide_differ, (unsigned long long)x << 20);
    // Integers: the order does not matter.
    atomicAdd(&t->real, (float)(x % 16));
    atomicAdd(&t->twice, (double)x * 0.5);
    unsigned short seen = halves[x % 8], before;
    do {
        before = seen;
        seen = atomicCAS(&halves[x % 8], before, (unsigned short)(before + 3));
    } while (seen != before);
}

__global__ void shared_ones(const unsigned *v, unsigned *out)
{
    __shared__ unsigned count[16], most;
    __shared__ unsigned long long sum;
    __shared__ float real;
    if (threadIdx.x < 16)
        count[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        most = 0;
        sum = 0;
        real = 0;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < N; i += blockDim.x) {
        atomicAdd_block(&count[v[i] % 16], 1);
        atomicMax(&most, v[i]);
        atomicAdd(&sum, (unsigned long long)v[i]);
        atomicAdd(&real, (float)(v[i] % 4));
    }
    __syncthreads();
    if (threadIdx.x < 16)
        out[threadIdx.x] = count[threadIdx.x];
    if (threadIdx.x == 0) {
        out[16] = most;
        out[17] = (unsigned)sum;
        out[18] = (unsigned)real;
    }
}

__device__ float atomic_max(float *at, float v)
{
    int *bits = (int *)at, old = *bits, seen;
    do {
        seen = old;
        if (__int_as_float(seen) >= v)
            break;
        old = atomicCAS(bits, seen, __float_as_int(v));
    } while (old != seen);
    return __int_as_float(old);
}

__global__ void by_hand(const unsigned *v, float *most, unsigned long long *first, unsigned *of_system)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N)
        return;
    atomic_max(most, (float)v[i] * 0.25f - 100);
    // The value and its index in one word: the smallest index of the smallest value.
    atomicMin(first, (unsigned long long)v[i] << 32 | (unsigned)i);
    atomicAdd_system(of_system, 2);
    atomicCAS_system(of_system + 1, 0u, v[i] + 1);
}

int main()
{
    std::vector<unsigned> v(N);
    Numbers numbers(12);
    Totals want = {}, got;
    want.least = ~0u;
    want.both = ~0u;
    want.signed_most = -100000;
    want.signed_least = 100000;
    want.wide_least = ~0ull;
    Totals *d_totals = upload(&want, 1);
    int returned[150], *d_returned = zeros<int>(150);
    unsigned short halves[8], counted[8] = {};
    unsigned short *d_halves = zeros<unsigned short>(8);
    for (unsigned &x : v) {
        x = numbers.below(10000);
        want.add += x;
        want.sub -= x;
        want.most = std::max(want.most, x);
        want.least = std::min(want.least, x);
        want.both &= x | 0xf0;
        want.either |= 1u << x % 32;
        want.differ ^= x;
        want.signed_most = std::max(want.signed_most, (int)x - 5000);
        want.signed_least = std::min(want.signed_least, (int)x - 5000);
        want.wide_add += (unsigned long long)x << 30;
        want.wide_most = std::max(want.wide_most, (unsigned long long)x << 33);
        want.wide_least = std::min(want.wide_least, (unsigned long long)x << 33);
        want.wide_differ ^= (unsigned long long)x << 20;
        want.real += (float)(x % 16);
        want.twice += x * 0.5;
        counted[x % 8] = (unsigned short)(counted[x % 8] + 3);
    }
    unsigned *d_v = upload(v.data(), N);
    NEED(cudaGetLastError());
    all<<<8, 128>>>(d_v, d_totals, d_returned, d_halves);
    LAUNCHED("all");
    download(&got, d_totals, 1);
    download(returned, d_returned, 150);
    download(halves, d_halves, 8);
    expect(got.add == want.add && got.sub == want.sub, "add and subtract");
    expect(got.most == want.most && got.least == want.least, "extremes");
    expect(got.signed_most == want.signed_most && got.signed_least == want.signed_least, "signed extremes");
    expect(got.both == want.both && got.either == want.either && got.differ == want.differ, "bits");
    expect(got.wide_add == want.wide_add && got.wide_most == want.wide_most && got.wide_least == want.wide_least &&
               got.wide_differ == want.wide_differ, "of 64 bits");
    expect(got.real == want.real && got.twice == want.twice, "floats");
    expect(std::find(v.begin(), v.end(), got.swapped) != v.end(), "the last one in");
    bool right = got.up == N % 100 && memcmp(halves, counted, sizeof halves) == 0;
    for (int i = 0; i < 150; i++)
        right = right && returned[i] == (i < 100 ? 10 : 20);
    expect(right, "each value once");

    unsigned out[19], counts[19] = {}, *d_out = zeros<unsigned>(19);
    shared_ones<<<1, 256>>>(d_v, d_out);
    LAUNCHED("shared_ones");
    download(out, d_out, 19);
    for (unsigned x : v) {
        counts[x % 16]++;
        counts[18] += x % 4;
    }
    counts[16] = want.most;
    counts[17] = want.add;
    expect(memcmp(out, counts, sizeof out) == 0, "in shared memory");

    float most = -1e30f, *d_most = upload(&most, 1);
    unsigned long long first = ~0ull, *d_first = upload(&first, 1);
    unsigned system[2], *d_system = zeros<unsigned>(2);
    by_hand<<<8, 128>>>(d_v, d_most, d_first, d_system);
    LAUNCHED("by_hand");
    download(&most, d_most, 1);
    download(&first, d_first, 1);
    download(system, d_system, 2);
    size_t place = std::min_element(v.begin(), v.end()) - v.begin();
    expect(most == want.most * 0.25f - 100, "greatest float");
    expect(first == ((unsigned long long)want.least << 32 | place), "the least and its place");
    expect(system[0] == 2 * N && std::find(v.begin(), v.end(), system[1] - 1) != v.end(), "of the system");
    printf("%u %llu %g\n", got.add, got.wide_add, got.twice);
    return finish();
}
