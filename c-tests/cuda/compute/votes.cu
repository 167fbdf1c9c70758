// Communication between the lanes of a warp: votes, matches, reductions in one
// instruction, shuffles of every kind and width, active lanes in a branch.
#include "arrays.h"

__global__ void ask(const unsigned *v, unsigned *out)
{
    unsigned x = v[threadIdx.x], all = 0xffffffffu, *o = out + threadIdx.x * 16;
    int same = 0;
    o[0] = __ballot_sync(all, x & 1);
    o[1] = (__all_sync(all, x < 1000) != 0) + 2u * (__any_sync(all, x == 77) != 0);
    o[2] = __match_any_sync(all, x % 5);
    o[3] = __match_all_sync(all, x / 1000, &same) + (unsigned)same;
    o[4] = __reduce_add_sync(all, x);
    o[5] = __reduce_max_sync(all, x);
    o[6] = (unsigned)__reduce_min_sync(all, (int)x - 50);
    o[7] = __reduce_xor_sync(all, x) ^ __reduce_or_sync(all, x) << 8 ^ __reduce_and_sync(all, x | 64) << 16;
    o[8] = __shfl_sync(all, x, (int)x % 32);
    o[9] = __shfl_up_sync(all, x, 3, 8);
    o[10] = __shfl_down_sync(all, x, 5, 16);
    o[11] = __shfl_xor_sync(all, x, 9);
    o[12] = o[13] = o[14] = 0;
    // Each side of a branch votes by itself.
    if (x % 2) {
        unsigned mask = 0;
        for (int i = 0; i < 32; i++)
            mask |= (v[i] & 1) << i;
        o[12] = __ballot_sync(mask, x % 4 == 3);
        o[13] = __reduce_add_sync(mask, 1);
    } else {
        // The lane itself at least, and no lane of the others.
        o[14] = __activemask() >> threadIdx.x & 1;
        for (int i = 0; i < 32; i++)
            o[14] += __activemask() >> i & v[i] & 1;
    }
    __syncwarp();
    unsigned long long wide = (unsigned long long)x << 40 | threadIdx.x;
    o[15] = (unsigned)(__shfl_sync(all, wide, 31 - (int)threadIdx.x) >> 36) + (unsigned)__shfl_sync(all, (double)x, 4);
}

// Lanes leave one by one; the last one prints the number of turns.
__global__ void leaving(int *turns)
{
    unsigned left = 0xffffffffu;
    int n = 0;
    while (true) {
        n++;
        bool go = (int)threadIdx.x < n * 2 - 1;
        unsigned next = __ballot_sync(left, !go);
        if (go)
            break;
        left = next;
    }
    turns[threadIdx.x] = n;
}

int main()
{
    unsigned v[32], out[32 * 16];
    Numbers numbers(11);
    for (unsigned &x : v)
        x = numbers.below(100);
    unsigned *d_v = upload(v, 32), *d_out = zeros<unsigned>(32 * 16);
    int *d_turns = zeros<int>(32), turns[32];
    NEED(cudaGetLastError());
    ask<<<1, 32>>>(d_v, d_out);
    LAUNCHED("ask");
    download(out, d_out, 32 * 16);
    unsigned odd = 0, three = 0, sum = 0, most = 0, every_xor = 0, every_or = 0, every_and = ~0u, seen = 0;
    int least = 1000;
    for (int i = 0; i < 32; i++) {
        odd |= (v[i] & 1) << i;
        three |= (unsigned)(v[i] % 4 == 3) << i;
        sum += v[i];
        most = v[i] > most ? v[i] : most;
        least = (int)v[i] - 50 < least ? (int)v[i] - 50 : least;
        every_xor ^= v[i];
        every_or |= v[i];
        every_and &= v[i] | 64;
        seen |= 2u * (v[i] == 77);
    }
    int wrong[16] = {};
    for (int i = 0; i < 32; i++) {
        unsigned match = 0;
        for (int j = 0; j < 32; j++)
            match |= (unsigned)(v[j] % 5 == v[i] % 5) << j;
        unsigned want[16] = {odd, 1 + seen, match, 0xffffffffu + 1, sum, most, (unsigned)least,
                             every_xor ^ every_or << 8 ^ every_and << 16, v[v[i] % 32], v[i % 8 < 3 ? i : i - 3],
                             v[i % 16 + 5 > 15 ? i : i + 5], v[i ^ 9], v[i] & 1 ? three : 0,
                             v[i] & 1 ? (unsigned)__builtin_popcount(odd) : 0, (v[i] & 1) ^ 1,
                             (v[31 - i] << 4) + v[4]};
        for (int k = 0; k < 16; k++)
            wrong[k] += want[k] != out[i * 16 + k];
    }
    for (int w : wrong) {
        printf("%d ", w);
        wrong_results += w != 0;
    }
    printf("wrong\n");
    leaving<<<1, 32>>>(d_turns);
    LAUNCHED("leaving");
    download(turns, d_turns, 32);
    bool right = true;
    for (int i = 0; i < 32; i++)
        right = right && turns[i] == i / 2 + 1 + i % 2;
    expect(right, "leaving");
    printf("ballot %08x, sum %u\n", out[0], out[4]);
    return finish();
}
