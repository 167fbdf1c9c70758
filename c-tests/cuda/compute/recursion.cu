// Recursive functions: Fibonacci, Ackermann, towers of Hanoi, quicksort,
// two that call each other, a walk over a tree; each thread has its own stack.
#include <algorithm>
#include <vector>
#include "arrays.h"

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ int ackermann(int m, int n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__device__ int odd(unsigned n);
__device__ int even(unsigned n) { return n == 0 ? 1 : odd(n - 1); }
__device__ int odd(unsigned n) { return n == 0 ? 0 : even(n - 1); }

__device__ void hanoi(int n, int from, int to, unsigned *pegs, int *moves)
{
    if (n == 0)
        return;
    hanoi(n - 1, from, 3 - from - to, pegs, moves);
    pegs[from] ^= 1u << n;
    pegs[to] ^= 1u << n;
    ++*moves;
    hanoi(n - 1, 3 - from - to, to, pegs, moves);
}

__global__ void numbers(int *out)
{
    int t = threadIdx.x;
    out[t] = fibonacci(t % 16);
    out[32 + t] = ackermann(t % 3, t % 5);
    out[64 + t] = even((unsigned)t) * 2 + odd((unsigned)t);
    unsigned pegs[3] = {0, 0, 0};
    int moves = 0, disks = t % 7;
    for (int i = 1; i <= disks; i++)
        pegs[0] |= 1u << i;
    hanoi(disks, 0, 2, pegs, &moves);
    out[96 + t] = moves * 1000 + (int)pegs[2];
}

__device__ void quicksort(int *v, int from, int to)
{
    if (from >= to)
        return;
    int pivot = v[(from + to) / 2], i = from, j = to;
    while (i <= j) {
        while (v[i] < pivot)
            i++;
        while (v[j] > pivot)
            j--;
        if (i <= j) {
            int swap = v[i];
            v[i++] = v[j];
            v[j--] = swap;
        }
    }
    quicksort(v, from, j);
    quicksort(v, i, to);
}
__global__ void sort(int *v, int each) { quicksort(v + (blockIdx.x * blockDim.x + threadIdx.x) * each, 0, each - 1); }

struct Tree {
    int value, left, right;
};
__device__ long long walk(const Tree *tree, int at, int depth)
{
    if (at < 0)
        return 0;
    return walk(tree, tree[at].left, depth + 1) + walk(tree, tree[at].right, depth + 1) + (long long)tree[at].value * depth;
}
__global__ void walks(const Tree *tree, long long *out) { out[threadIdx.x] = walk(tree, (int)threadIdx.x, 1); }

static int host_ackermann(int m, int n)
{
    return m == 0 ? n + 1 : n == 0 ? host_ackermann(m - 1, 1) : host_ackermann(m - 1, host_ackermann(m, n - 1));
}
static long long host_walk(const Tree *tree, int at, int depth)
{
    return at < 0 ? 0
                  : host_walk(tree, tree[at].left, depth + 1) + host_walk(tree, tree[at].right, depth + 1) +
                        (long long)tree[at].value * depth;
}

int main()
{
    CK(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
    int out[128], *d_out = zeros<int>(128);
    NEED(cudaGetLastError());
    numbers<<<1, 32>>>(d_out);
    LAUNCHED("numbers");
    download(out, d_out, 128);
    bool right = true;
    int fib[16] = {0, 1};
    for (int i = 2; i < 16; i++)
        fib[i] = fib[i - 1] + fib[i - 2];
    for (int t = 0; t < 32; t++) {
        int disks = t % 7, all = (2 << disks) - 2;
        right = right && out[t] == fib[t % 16] && out[32 + t] == host_ackermann(t % 3, t % 5) &&
                out[64 + t] == (t % 2 ? 1 : 2) && out[96 + t] == ((1 << disks) - 1) * 1000 + all;
    }
    expect(right, "numbers");
    const int lists = 32, each = 60;
    std::vector<int> v(lists * each), sorted(v.size());
    Numbers random(15);
    for (int &x : v)
        x = (int)random.below(500);
    int *d_v = upload(v.data(), v.size());
    sort<<<2, 16>>>(d_v, each);
    LAUNCHED("sort");
    download(sorted.data(), d_v, v.size());
    for (int i = 0; i < lists; i++)
        std::sort(v.begin() + i * each, v.begin() + (i + 1) * each);
    expect(v == sorted, "quicksort");
    const int nodes = 63;
    Tree tree[nodes];
    for (int i = 0; i < nodes; i++)
        tree[i] = {i * 13 % 50, 2 * i + 1 < nodes ? 2 * i + 1 : -1, i % 5 && 2 * i + 2 < nodes ? 2 * i + 2 : -1};
    Tree *d_tree = upload(tree, nodes);
    long long sums[8], *d_sums = zeros<long long>(8);
    walks<<<1, 8>>>(d_tree, d_sums);
    LAUNCHED("walks");
    download(sums, d_sums, 8);
    right = true;
    for (int i = 0; i < 8; i++)
        right = right && sums[i] == host_walk(tree, i, 1);
    expect(right, "tree");
    printf("%d %d %lld\n", out[15], out[32 + 29], sums[0]);
    return finish();
}
